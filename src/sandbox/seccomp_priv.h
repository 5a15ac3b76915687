/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* seccomp_priv: the tables that seccomp.c compiles. Inside sandbox/ only. */
#ifndef SANDBOX_SECCOMP_PRIV_H
#define SANDBOX_SECCOMP_PRIV_H

#include "sandbox/seccomp.h"
#include "sandbox/sysnr.h"

/* What happens to one call. From VERDICT_CHECKS on, its arguments decide. */
enum verdict {
	V_ALLOW,
	V_EPERM,
	V_EACCES,
	V_ENOSYS,
	V_EAFNOSUPPORT,
	V_NOTHING, /* not made, and said to have succeeded */
	V_NOTIFY, /* the guardian answers; sandbox/meta.h */
	V_KILL,
	VERDICT_CHECKS,
	V_CLONE = VERDICT_CHECKS, /* no new namespace */
	V_THREAD,                 /* a thread, no process */
	V_MODE1,                  /* no set-id bit in the mode, argument 1, 2 */
	V_MODE2,
	V_OPEN,                   /* the same where the flags create */
	V_OPENAT,
	V_MKNOD1,                 /* nor a device */
	V_MKNOD2,
	V_IOCTL,                  /* all but the listed */
	V_IOCTL_OWN,              /* only the listed */
	V_FCNTL,
	V_SOCKET,                 /* unix; TCP and UDP; route netlink */
	V_SOCKET_UNIX,
	V_SOCKET_INET,            /* TCP and UDP; route netlink */
	V_SOCKET_IP,              /* TCP and UDP */
	V_SOCKET_TCP,
	V_PAIR,                   /* a pair of unix sockets that stays a pair: a datagram socket may be connected anew */
	V_PAIR_STREAM,            /* of streams only */
	V_PERSONALITY,
	V_NOEXEC,                 /* memory protection, argument 2, without execute */
	V_SELF0,                  /* argument 0 is this process: zero */
	V_SELF1,
	V_SELF_PID,               /* argument 0 is this process: its number */
	V_ONE_PROCESS,            /* pidfd_send_signal without flags: to that process, not to its group */
	V_SOCKOPT,                /* getsockopt, but for the peer as a pidfd */
	V_SEND2,                  /* flags, argument 2, 3: no MSG_FASTOPEN, which connects; no MSG_OOB, rare and often wrong in kernels */
	V_SEND3,
	V_PRCTL_OWN,
	VERDICT_COUNT
};

struct seccomp_row {
	int nr;
	enum verdict verdict;
};

struct seccomp_set {
	const struct seccomp_row *rows;
	size_t n;
};

#define SECCOMP_SETS_MAX 8

struct seccomp_table {
	const char *name;
	enum verdict dflt;
	const struct seccomp_set *sets[SECCOMP_SETS_MAX]; /* in order, a later row wins; NULL ended */
};

extern const struct seccomp_table seccomp_tables[SECCOMP_COUNT];

#endif
