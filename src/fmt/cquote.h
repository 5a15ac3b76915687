/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* cquote: file names are bytes; this is how they look in text, as git does it.
 *
 * Shape    cquote_add shows a name: as it is when it can be, else "..." with C escapes and octal bytes.
 *          cquote_read takes either spelling back to bytes.
 * Memory   What cquote_dup, cquote_read and cquote_take give lives in the arena.
 * Errors   cquote_read: -ERR_SYNTAX for an opening quote without an end, or an escape that is none.
 * Source   git quote.c's documented format (git-config, core.quotePath=false); names that start with a
 *          quote are quoted as well, so that reading is never in doubt.
 */
#ifndef FMT_CQUOTE_H
#define FMT_CQUOTE_H

#include "base/arena.h"
#include "base/buf.h"

bool cquote_needed(struct str name); /* not UTF-8, a control character, a leading quote */
int cquote_add(struct buf *out, struct str name, struct err *err) CHECKED;
struct str cquote_dup(struct arena *mem, struct str name);
int cquote_read(struct str text, struct arena *mem, struct str *out, struct err *err) CHECKED;
/* The quoted string at the start of text, and what follows it. */
int cquote_take(struct str *text, struct arena *mem, struct str *out, struct err *err) CHECKED;

#endif
