/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* str: a view of bytes, not owned and not terminated.
 *
 * Shape    Pass and return by value. Functions that shorten a view never copy.
 * Memory   A view lives as long as what it points into. str_dup copies into an arena.
 * Errors   Numbers: -ERR_SYNTAX for what is none, -ERR_LIMIT for what does not fit.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/err.h"

#include <limits.h>

struct str {
	const char *p;
	size_t n;
};

#define STR(lit)   ((struct str){ "" lit "", sizeof(lit) - 1 })
#define STR_FMT    "%.*s"
#define STR_ARG(s) ((s).n > INT_MAX ? INT_MAX : (int)(s).n), ((s).p ? (s).p : "")

struct str str_from(const char *z);       /* of a C string; NULL gives the empty view */
struct str str_of(const void *p, size_t n);

bool str_eq(struct str a, struct str b);
bool str_eqz(struct str a, const char *z);
int str_cmp(struct str a, struct str b);  /* memcmp order, a prefix sorts first */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);

size_t str_find(struct str s, struct str needle);   /* offset of the first, s.n when absent */
size_t str_find_any(struct str s, struct str bytes); /* offset of the first of these bytes, or s.n */
size_t str_rfind(struct str s, char c);              /* offset of the last, or s.n */
struct str str_head(struct str s, size_t n);         /* at most the first n bytes */
struct str str_skip(struct str s, size_t n);         /* all but the first n bytes */
struct str str_tail(struct str s, size_t n);         /* at most the last n bytes */
struct str str_trim(struct str s);                   /* without space, \t, \r, \n at both ends */
struct str str_trim_prefix(struct str s, struct str prefix); /* without it, if it is there */
struct str str_trim_suffix(struct str s, struct str suffix);
struct str str_cut(struct str *rest, char sep);      /* up to sep; rest starts after it, or is empty */
struct str str_line(struct str *rest);               /* next line with its '\n' (if any); rest moves on */

/* Whole view as a number: refuses "", "12x", " 1", "+1" and overflow. */
int str_to_i64(struct str s, int64_t *out, struct err *err) CHECKED;
int str_to_f64(struct str s, double *out, struct err *err) CHECKED;

/* UTF-8. utf8_next reads one code point at s.p[*i], moves *i on; -1 for an invalid byte (moves one). */
int32_t utf8_next(struct str s, size_t *i);
bool utf8_valid(struct str s);
/* What a reader sees of it. */
enum utf8_sight {
	UTF8_SEEN,
	UTF8_BLANK,  /* a blank that is no space: looks like one and parts no words */
	UTF8_JOINS,  /* nothing by itself: a joiner or a variant, which emoji and some scripts need */
	UTF8_HIDDEN, /* a control, nothing, or a change of what stands around it */
};
enum utf8_sight utf8_sight(int32_t c); /* -1 is hidden */
size_t utf8_head(struct str s, size_t max); /* longest prefix of at most max bytes that cuts no character */

/* Edit distance for "did you mean"; large when either is longer than 64 bytes. */
size_t str_distance(struct str a, struct str b);

#endif
