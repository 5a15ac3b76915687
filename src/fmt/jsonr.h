/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* jsonr: a strict pull reader of JSON for programs that link nothing but libc.
 *
 * Shape    jsonr_init; then the jsonr_* calls in the order the schema expects; jsonr_end. Objects:
 *          jsonr_object, then `while (jsonr_key(r, &key) > 0)` and exactly one value each. Arrays:
 *          jsonr_array, then `while (jsonr_item(r) > 0)`.
 * Memory   Strings are copied into the arena, NUL ended. The text is borrowed.
 * Errors   The first failure sticks: everything after it answers the same code, so loops end.
 *          -ERR_SYNTAX with line and column for malformed bytes, invalid UTF-8, U+0000, a duplicate
 *          key; -ERR_LIMIT past depth or length; -ERR_INVALID for a value of another type.
 * Source   RFC 8259. Stricter than it: no NUL, no duplicate key, no lone surrogate.
 */
#ifndef FMT_JSONR_H
#define FMT_JSONR_H

#include "base/arena.h"
#include "base/buf.h"

#define JSONR_DEPTH    16
#define JSONR_KEYS_MAX 64  /* members of one object */
#define JSONR_KEY_MAX  256 /* bytes of one key */

struct jsonr_level {
	bool object, first;
	size_t nkeys;
	struct str keys[JSONR_KEYS_MAX]; /* seen so far, to refuse a duplicate */
};

struct jsonr {
	struct str text;
	size_t at;
	int depth;
	int failed; /* 0, or the -ERR_... that sticks */
	size_t string_max;
	struct arena *mem;
	struct err *err;
	struct jsonr_level level[JSONR_DEPTH];
};

void jsonr_init(struct jsonr *r, struct str text, size_t string_max, struct arena *mem, struct err *err);
int jsonr_object(struct jsonr *r) CHECKED;
int jsonr_key(struct jsonr *r, struct str *key) CHECKED; /* 1: a member, read its value; 0: the object ended */
int jsonr_array(struct jsonr *r) CHECKED;
int jsonr_item(struct jsonr *r) CHECKED; /* 1: read an item; 0: the array ended */
int jsonr_string(struct jsonr *r, struct str *out) CHECKED;
int jsonr_int(struct jsonr *r, int64_t *out) CHECKED; /* no fraction, no exponent */
int jsonr_num(struct jsonr *r, double *out) CHECKED;  /* finite */
int jsonr_bool(struct jsonr *r, bool *out) CHECKED;
int jsonr_end(struct jsonr *r) CHECKED; /* nothing but white space may follow */
/* For a schema's own complaint about the value just read: fails with the place of it. */
int jsonr_fail(struct jsonr *r, enum err_code code, const char *fmt, ...) FORMAT(3, 4);

/* Writing, for the few programs that answer in JSON: a quoted string, cleaned to valid UTF-8. */
int jsonw_quoted(struct buf *b, struct str s, struct err *err) CHECKED;

#endif
