/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* err: a failure as a value that travels to whoever can act on it.
 *
 * Shape    A function that can fail returns 0 or a count, or -ERR_...; the struct err beside it
 *          is for people, and both always agree. `return err_set(err, ERR_X, "...")`.
 * Memory   Inline storage: failing never allocates, there is nothing to free.
 * Errors   err is never NULL; pass ERR_DISCARD when nobody will read it.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/base.h"

/* One list: the code and the word that names it in JSON and in the record. */
#define ERR_CODES(X)                                                                                         \
	X(ERR_NONE, "none")           /* no failure */                                                       \
	X(ERR_SYS, "system")          /* an errno that has no row of its own; see err.sys */                 \
	X(ERR_NOENT, "not_found")     /* the named thing does not exist */                                   \
	X(ERR_EXIST, "exists")        /* it exists already */                                                \
	X(ERR_PERM, "permission")     /* the kernel said EACCES, EPERM or EROFS */                           \
	X(ERR_BUSY, "busy")           /* somebody else holds it */                                           \
	X(ERR_LIMIT, "limit")         /* larger than the stated maximum */                                   \
	X(ERR_SYNTAX, "syntax")       /* bytes that do not parse; err.at says where */                       \
	X(ERR_INVALID, "invalid")     /* parsed, but not one of the values that are right */                 \
	X(ERR_AMBIGUOUS, "ambiguous") /* more than one thing fits */                                         \
	X(ERR_UNSUPPORTED, "unsupported") /* this host or build cannot do it */                              \
	X(ERR_DENIED, "denied")       /* policy or the operator said no */                                   \
	X(ERR_CLOSED, "closed")       /* the peer is gone, or the stream ended */                            \
	X(ERR_TIMEOUT, "timeout")     /* the deadline passed */                                              \
	X(ERR_CONFLICT, "conflict")   /* the world changed under us */                                       \
	X(ERR_STOPPED, "stopped")     /* the operator asked to stop */                                       \
	X(ERR_PROTOCOL, "protocol")   /* a peer broke the rules of a channel */                              \
	X(ERR_REMOTE, "remote")       /* a server answered with a failure */

enum err_code {
#define X(code, word) code,
	ERR_CODES(X)
#undef X
	ERR_COUNT
};

struct err_place {
	char file[256]; /* empty: no file */
	int line, col;  /* 1-based; line 0 means no place */
};

struct err {
	enum err_code code;  /* what a caller may branch on */
	int sys;             /* the errno behind it, or 0 */
	struct err_place at;
	char msg[768];       /* "outer: inner: cause", one line, no full stop */
	char hint[192];      /* what to do about it, may be empty */
};

#define ERR_DISCARD (&(struct err){ .code = ERR_NONE })

int err_set(struct err *err, enum err_code code, const char *fmt, ...) FORMAT(3, 4);
int err_sys(struct err *err, int sys, const char *fmt, ...) FORMAT(3, 4); /* "what: strerror"; of EMFILE with a hint */
int err_wrap(struct err *err, const char *fmt, ...) FORMAT(2, 3);         /* "outer: " in front */
void err_hint(struct err *err, const char *fmt, ...) FORMAT(2, 3);
void err_at(struct err *err, const char *file, int line, int col);
const char *err_code_name(enum err_code code);

#endif
