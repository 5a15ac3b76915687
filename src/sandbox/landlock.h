/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* landlock: which files, ports and peers a process may reach, said by itself, for good.
 *
 * Shape    landlock_confine with a table of rules. Everything the running kernel can handle is handled;
 *          what no rule grants is refused. Or landlock_ruleset once and landlock_enter per child.
 * Errors   -ERR_UNSUPPORTED when the kernel has no Landlock, with a hint. A rule whose path does not exist is
 *          skipped when .optional, else an error.
 * Source   landlock(7); Documentation/userspace-api/landlock.rst.
 */
#ifndef SANDBOX_LANDLOCK_H
#define SANDBOX_LANDLOCK_H

#include "base/buf.h"
#include "base/err.h"

/* Access rights, the kernel's bits (ABI in brackets). */
#define LL_EXECUTE     (1ULL << 0)
#define LL_WRITE_FILE  (1ULL << 1)
#define LL_READ_FILE   (1ULL << 2)
#define LL_READ_DIR    (1ULL << 3)
#define LL_REMOVE_DIR  (1ULL << 4)
#define LL_REMOVE_FILE (1ULL << 5)
#define LL_MAKE_CHAR   (1ULL << 6)
#define LL_MAKE_DIR    (1ULL << 7)
#define LL_MAKE_REG    (1ULL << 8)
#define LL_MAKE_SOCK   (1ULL << 9)
#define LL_MAKE_FIFO   (1ULL << 10)
#define LL_MAKE_BLOCK  (1ULL << 11)
#define LL_MAKE_SYM    (1ULL << 12)
#define LL_REFER       (1ULL << 13) /* 2 */
#define LL_TRUNCATE    (1ULL << 14) /* 3 */
#define LL_IOCTL_DEV   (1ULL << 15) /* 5 */
#define LL_RESOLVE_UNIX (1ULL << 16) /* 9 */

#define LL_RO (LL_READ_FILE | LL_READ_DIR)
#define LL_RX (LL_RO | LL_EXECUTE)
#define LL_RW                                                                                                \
	(LL_RO | LL_WRITE_FILE | LL_REMOVE_DIR | LL_REMOVE_FILE | LL_MAKE_DIR | LL_MAKE_REG | LL_MAKE_SOCK | \
		LL_MAKE_FIFO | LL_MAKE_SYM | LL_REFER | LL_TRUNCATE | LL_RESOLVE_UNIX)
#define LL_RWX     (LL_RW | LL_EXECUTE)
#define LL_DEVICE  (LL_READ_FILE | LL_WRITE_FILE)
/* What a rule on something that is no directory may carry; the rest is dropped by us. */
#define LL_FILE_RIGHTS (LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE | LL_IOCTL_DEV | LL_RESOLVE_UNIX)

#define LL_UNIX_ABI   9 /* from here on sockets on paths are out of reach where no rule says otherwise */
#define LL_SCOPES_ABI 6 /* from here on abstract unix sockets and signals outside of the domain are out of reach */

enum ll_kind {
	LL_PATH,        /* .path; a last link is not followed, and gets no rule */
	LL_FD,          /* .fd */
	LL_CONNECT,     /* .port: TCP connect */
	LL_BIND,        /* .port: TCP bind */
	LL_FS_FREE,     /* files are free, moves between directories too, which every domain refuses that does not allow them. As any
			 * domain that handles something of files it can mount nothing, and neither can what is started in it */
	LL_NET_FREE,    /* TCP is not handled at all: the network is confined by other means, or meant to be open */
	LL_SIGNAL_FREE, /* signals leave the domain: for who must end processes that were there before it, and is kept from all others by
			 * other means. Elsewhere not even the death of a parent is heard by who stands outside of the parent's domain */
};

struct ll_rule {
	enum ll_kind kind;
	const char *path;
	int fd;
	uint64_t access;
	uint16_t port;
	bool optional; /* a path that is not there is no error */
	bool follow;   /* a last link is followed: for paths that nothing hostile can write */
};

int landlock_abi(void); /* 0: none */
int landlock_needed(struct err *err) CHECKED; /* -ERR_UNSUPPORTED where there is none, with what helps */
int landlock_lacks(int abi, struct buf *out, struct err *err) CHECKED; /* what such a kernel cannot confine, as a list */
bool landlock_forbidden(void); /* no ABI, since a filter refuses the question */
const char *landlock_remedy(bool forbidden); /* what helps where it is absent, or forbidden */
/* -1 or the descriptor of a ruleset that handles everything this kernel can and grants `rules`. */
int landlock_ruleset(const struct ll_rule *rules, size_t n, int *out, struct err *err) CHECKED;
int landlock_enter(int ruleset, struct err *err) CHECKED; /* needs NO_NEW_PRIVS */
int landlock_confine(const struct ll_rule *rules, size_t n, struct err *err) CHECKED; /* both */

#endif
