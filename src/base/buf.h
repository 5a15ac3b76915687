/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* buf: owned bytes that grow up to a stated maximum.
 *
 * Shape    struct buf b = BUF_MAX(bytes); add; read with buf_str; buf_fini or auto_buf.
 * Memory   Owns p. p[n] is '\0' whenever p is not NULL. buf_str dies at the next change.
 * Errors   -ERR_LIMIT "longer than N bytes" when an addition would pass max; nothing changes then.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/str.h"

struct buf {
	char *p;
	size_t n, cap, max;
};

#define BUF_MAX(bytes) ((struct buf){ .max = (bytes) })

void buf_fini(struct buf *b);
#define auto_buf CLEANUP(buf_fini)

void buf_clear(struct buf *b); /* keeps the storage */
int buf_add(struct buf *b, struct str s, struct err *err) CHECKED;
int buf_addz(struct buf *b, const char *z, struct err *err) CHECKED;
int buf_addc(struct buf *b, char c, struct err *err) CHECKED;
int buf_addi(struct buf *b, int64_t v, struct err *err) CHECKED; /* in decimal; printf would cost twenty times as much */
int buf_addf(struct buf *b, struct err *err, const char *fmt, ...) FORMAT(3, 4) CHECKED;
int buf_reserve(struct buf *b, size_t more, struct err *err) CHECKED; /* room for more; n unchanged */
int buf_splice(struct buf *b, size_t at, size_t del, struct str ins, struct err *err) CHECKED;
void buf_shrink(struct buf *b, size_t n);                             /* drop all beyond n */
struct str buf_str(const struct buf *b);
int buf_cstr(struct buf *b, const char **out, struct err *err) CHECKED; /* refuses an embedded NUL */
char *buf_take(struct buf *b);                                        /* the bytes, NUL ended; b is empty */

/* Adds s with every invalid UTF-8 sequence and NUL replaced by U+FFFD. */
int buf_add_utf8(struct buf *b, struct str s, struct err *err) CHECKED;
/* Keeps head and tail of s, with a line between that says how many bytes are missing. */
int buf_add_clipped(struct buf *b, struct str s, size_t head, size_t tail, struct err *err) CHECKED;

#endif
