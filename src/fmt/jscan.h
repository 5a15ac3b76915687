/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* jscan: JSON text walked in place, for texts that must come out as they went in.
 *
 * Shape    jval_from a text; jval_get members, jval_next over a container; jval_add writes a value
 *          back as strict JSON. fmt/json.h is the other reader: a tree, for values we own.
 * Memory   A jval is a view into the text. Nothing is allocated but for what is added to a buf.
 * Errors   A text that is not JSON gives a value of type JSCAN_NONE; every accessor takes one and
 *          answers "absent". Deeper than 200 levels is not JSON.
 * Source   RFC 8259, and what servers send beyond it: NaN and Infinity read as null, control
 *          characters may stand raw in strings, of equal keys the last counts. Numbers keep their
 *          spelling: 64-bit ids and 1.0 survive a round trip, which they would not as doubles.
 */
#ifndef FMT_JSCAN_H
#define FMT_JSCAN_H

#include "base/buf.h"

enum jscan_type {
	JSCAN_NONE,
	JSCAN_NULL,
	JSCAN_FALSE,
	JSCAN_TRUE,
	JSCAN_NUMBER,
	JSCAN_STRING,
	JSCAN_ARRAY,
	JSCAN_OBJECT,
};

struct jval {
	enum jscan_type type;
	struct str text; /* the value alone, quotes and brackets included */
};

struct jval jval_from(struct str text); /* the whole text is one value, blanks around it */
struct jval jval_head(struct str text); /* the value it begins with; anything may follow */

struct jval jval_get(struct jval object, const char *key);
/* The same of several keys, n of them, in one walk; out has room for n. */
void jval_pick(struct jval object, const char *const *keys, size_t n, struct jval *out);
/* *pos starts at 0. False at the end. key is JSCAN_NONE for arrays; may be NULL. */
bool jval_next(struct jval container, size_t *pos, struct jval *key, struct jval *value);

bool jval_is(struct jval string, const char *want); /* a string of exactly this content */
bool jval_to_i64(struct jval v, int64_t *out);      /* a number without a fraction that fits, 3.0 too */
bool jval_to_f64(struct jval v, double *out);

/* Content of a string, added as UTF-8. Invalid bytes become U+FFFD; an escaped half of a surrogate
 * pair stays as three bytes, so that halves from two texts can still meet. jtext_repair then pairs
 * them, puts U+FFFD for those left alone, and with NUL_REPLACE for NUL too. */
enum jtext_nul { NUL_KEEP, NUL_REPLACE };
int jval_add_text(struct buf *b, struct jval string, enum jtext_nul nul, struct err *err) CHECKED;
void jtext_repair(struct buf *b, size_t from); /* the bytes from `from` on */
/* Length without a first half at the end that may yet meet its second. */
size_t jtext_whole(struct str s);

/* The value as strict JSON: what is valid is copied byte for byte. */
int jval_add(struct buf *b, struct jval v, enum jtext_nul nul, struct err *err) CHECKED;

#endif
