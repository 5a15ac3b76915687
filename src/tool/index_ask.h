/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* index_ask: one request to the index worker, and its answer row by row.
 *
 * Shape    The worker reads hostile files, so its lines are taken as hostile too: each must be one JSON object, the
 *          last one says that it is done. `row` is called for each of the others.
 * Memory   The note lives in ctx->mem; a row is valid during the call.
 * Errors   Begin with `tool`: "grep failed: ...". -ERR_INVALID is what the worker says of the request itself.
 */
#ifndef TOOL_INDEX_ASK_H
#define TOOL_INDEX_ASK_H

#include "fmt/json.h"
#include "tool/search.h"
#include "tool/tool.h"

typedef int index_row_fn(void *self, const json_t *row, struct err *err);

struct index_answer {
	bool truncated;
	struct str source; /* of symbols: who told them, best first */
	struct str note; /* what the model should know about the answer, or empty */
};

int index_ask(struct tool_ctx *ctx, const char *tool, const struct search_request *s, index_row_fn *row, void *self,
	struct index_answer *out, struct err *err) CHECKED;

#endif
