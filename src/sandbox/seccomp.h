/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* seccomp: which system calls a process may make, one table per role.
 *
 * Shape    seccomp_build compiles a profile into a filter, seccomp_enter installs it. Build once, enter in
 *          every child.
 * Memory   The filter is inline.
 * Errors   -ERR_UNSUPPORTED on a machine without a table (x86_64 and aarch64 have one).
 * Units    A refused call answers EPERM; a call unknown to us ENOSYS, so that libraries fall back;
 *          a call of a foreign architecture kills the process.
 * Source   seccomp(2); docs/sandbox.md, "System calls".
 */
#ifndef SANDBOX_SECCOMP_H
#define SANDBOX_SECCOMP_H

#include "base/err.h"

#include <linux/filter.h>

enum seccomp_profile {
	/* closed world, deny-list: runs programs we did not write */
	SECCOMP_COMMAND,
	SECCOMP_COMMAND_INET,     /* in the host's network, and nothing else keeps its abstract unix sockets away */
	SECCOMP_COMMAND_HARDENED, /* no namespaces around it: no socket, metadata through the guardian */
	SECCOMP_COMMAND_HOSTNET,  /* the same with the host's network, less its unix sockets */
	SECCOMP_GIT,              /* command without sockets */
	SECCOMP_INDEX,            /* index worker, and the agent until it narrows itself: no sockets, but openat2 */
	SECCOMP_GIT_HARDENED,     /* git without namespaces around it, and without a second process */
	SECCOMP_INDEX_HARDENED,   /* likewise the index worker and the agent */
	SECCOMP_ZYGOTE,           /* deny-list less what making jails needs */
	SECCOMP_ZYGOTE_HARDENED,  /* makes no namespace, no socket; reads the memory of its jails for the guardians */
	SECCOMP_ZYGOTE_HOSTNET,   /* the same, but its commands may have TCP and UDP */
	/* allow-lists: our own programs, entered by themselves */
	SECCOMP_AGENT,
	SECCOMP_MONITOR,
	SECCOMP_RECORDER,
	SECCOMP_CLIENT,   /* pairs of sockets only */
	SECCOMP_CLIENT_OPEN, /* agent_network = open: dials directly */
	SECCOMP_BROKER,   /* dials TCP, and opens no file */
	SECCOMP_RESOLVER, /* asks name servers, reads where Landlock lets it */
	SECCOMP_VIEW,
	SECCOMP_COUNT
};

#define SECCOMP_INSNS_MAX 256

struct seccomp_filter {
	uint16_t n;
	struct sock_filter insn[SECCOMP_INSNS_MAX];
};

int seccomp_build(enum seccomp_profile profile, struct seccomp_filter *out, struct err *err) CHECKED;
int seccomp_enter(const struct seccomp_filter *f, struct err *err) CHECKED; /* needs NO_NEW_PRIVS */
const char *seccomp_name(enum seccomp_profile profile);
/* What the table says about one call with these arguments: 0 allowed, an errno, -1 kills, -2 the guardian answers,
 * SECCOMP_NOTHING not made and said to have succeeded. Interprets the compiled filter, so tests compare tables with what the
 * kernel would run. */
#define SECCOMP_NOTHING (-3)
int seccomp_judge(const struct seccomp_filter *f, uint32_t arch, int nr, const uint64_t args[6]);

#endif
