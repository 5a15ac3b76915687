/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* json: jansson at the edges, with our limits and our errors.
 *
 * Shape    json_decode a whole text, read it into typed structs with fmt/field.h, forget it. A raw
 *          json_t never leaves the file that decodes it, except a conversation's own messages.
 * Memory   auto_json releases. json_view borrows from the value.
 * Errors   -ERR_SYNTAX with "line:col: what was wrong"; -ERR_LIMIT past 64 MiB or 200 levels.
 * Source   RFC 8259; jansson 2.14. Duplicate keys are refused. "\u0000" is accepted. With
 *          JSON_REPAIR a lone surrogate escape becomes U+FFFD and invalid UTF-8 is replaced.
 */
#ifndef FMT_JSON_H
#define FMT_JSON_H

#include "base/buf.h"

#include <jansson.h>

static inline void json_decref_ptr(json_t **j)
{
	json_decref(*j);
}
#define auto_json CLEANUP(json_decref_ptr)

enum json_mode { JSON_EXACT, JSON_REPAIR };

int json_decode(struct str text, enum json_mode mode, json_t **out, struct err *err) CHECKED;
struct str json_view(const json_t *s); /* bytes of a string value; the empty view for anything else */
struct str json_get_str(const json_t *obj, const char *key); /* the same for a member */
int64_t json_get_int(const json_t *obj, const char *key, int64_t dflt);
json_t *json_text(struct str s); /* a new string value; invalid UTF-8 is replaced, so it never fails */

int json_add(struct buf *b, const json_t *j, struct err *err) CHECKED;      /* compact, keys as inserted */
/* How many bytes at the head of s stand for themselves in a string: ASCII that is no control, quote or backslash. Up to
 * seven such bytes may follow. */
size_t json_plain(struct str s);
int json_add_quoted(struct buf *b, struct str s, struct err *err) CHECKED;  /* "..." escaped and cleaned */
int json_add_member(struct buf *b, const char *key, struct str s, struct err *err) CHECKED; /* ,"key":"..." ; no comma after '{' or in front */

#endif
