/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* match: finds the one place in a file that a model meant by quoting it.
 *
 * Shape    match_plan says which bytes to take out and which to put in; the caller splices.
 *          A quotation with LF matches a text with CRLF; one that is indented differently matches when the
 *          same shift explains every line. Whatever matches must match once, overlaps counted.
 * Memory   plan.ins lives in mem.
 * Errors   -ERR_AMBIGUOUS with the number of places. -ERR_NOENT: `why` tells what is on disk instead.
 */
#ifndef TOOL_MATCH_H
#define TOOL_MATCH_H

#include "base/arena.h"
#include "base/buf.h"

struct match_plan {
	size_t at, del;
	struct str ins;
	bool reindented;
};

int match_plan(struct str text, struct str old, struct str new, struct arena *mem, struct match_plan *out,
	struct buf *why, struct err *err) CHECKED;

/* Lone LF and CRLF both become LF. */
struct str match_to_lf(struct arena *mem, struct str text);
struct str match_to_crlf(struct arena *mem, struct str lf);
/* The line that holds byte `at`, or the nearest one that ends, ends in CRLF. */
bool match_is_crlf_at(struct str text, size_t at);
struct str match_indent(struct str line); /* its leading blanks and tabs */
bool match_is_blank(struct str line);
/* What turns the indent of one line into that of the other, without what both end in: it then fits lines
 * that are indented less than this one. */
void match_shift(struct str want, struct str have, struct str *from, struct str *to);

/* What the text holds near to `old`, for a message. first_line numbers text's first line. */
int match_explain(struct str text, struct str old, struct buf *why, struct err *err) CHECKED;

#endif
