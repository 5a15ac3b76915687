/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* result: what goes back to the model, within bounds.
 *
 * Shape    Tools write one JSON object. result_cap is the last word: whatever is too long travels as the
 *          head of itself inside an envelope that says so.
 * Errors   -ERR_LIMIT when the caller's buf is too small.
 * Units    Bounds count encoded bytes: what escapes cost is part of them.
 */
#ifndef TOOL_RESULT_H
#define TOOL_RESULT_H

#include "tool/tool.h"

int result_error(struct buf *out, struct str text, struct err *err) CHECKED; /* {"error":"..."} */
int result_cap(const char *tool, struct str json, struct buf *out, struct err *err) CHECKED;

/* ,"key":"..." of a stream whose middle may be missing: at most max encoded bytes, head and tail kept. */
int result_add_stream(struct buf *out, const char *key, struct str kept, size_t gap_at, uint64_t total, size_t max,
	struct err *err) CHECKED;

/* How many bytes json_add_quoted makes of s, quotes included. */
size_t result_quoted_size(struct str s);
/* The longest prefix of s, whole characters, that needs at most max encoded bytes. */
size_t result_fit(struct str s, size_t max);

#endif
