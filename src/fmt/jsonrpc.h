/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* jsonrpc: what a server writes, in any pieces, as messages: one JSON object a line.
 *
 * Shape    rpc_feed with whatever came; on_message runs inside it, once per message. What is no message is skipped
 *          and counted: servers print banners, progress and log lines between them.
 * Memory   One line, at most `max` bytes; a longer one is drained and dropped. The views in rpc_message die when
 *          on_message returns.
 * Errors   Whatever on_message returned; afterwards only rpc_fini is legal. -ERR_PROTOCOL after RPC_JUNK_MAX lines in
 *          a row that are no message, and when a line goes on past RPC_DROP_MAX.
 * Source   JSON-RPC 2.0 as the Model Context Protocol uses it: no batches, ids are strings or integers.
 */
#ifndef FMT_JSONRPC_H
#define FMT_JSONRPC_H

#include "fmt/jscan.h"

#define RPC_JUNK_MAX 100
#define RPC_DROP_MAX ((size_t)64 * 1024 * 1024) /* of one line that was too long */

enum rpc_kind { RPC_RESULT, RPC_ERROR, RPC_REQUEST, RPC_NOTIFICATION };

struct rpc_message {
	enum rpc_kind kind;
	bool id_known;      /* it has an id that is an integer: `id`; ours all are */
	int64_t id;
	struct jval id_raw; /* of a request: a number or a string */
	struct jval method; /* of a request and a notification: a string */
	struct jval body;   /* params, result or error; may be absent */
};

typedef int rpc_message_fn(void *self, const struct rpc_message *m, struct err *err);

struct rpc_reader {
	rpc_message_fn *on_message;
	void *self;      /* borrowed, passed to on_message */
	struct buf line;
	bool dropping;   /* the rest of a line that was too long */
	size_t dropped;  /* of it, so far */
	bool begun;      /* only the very first line may carry a BOM */
	unsigned junk;   /* lines in a row that are no message */
	uint64_t skipped; /* of them all, lines that are no message ... */
	uint64_t too_long; /* ... and those of them that were too long */
};

void rpc_init(struct rpc_reader *r, size_t max, rpc_message_fn *on_message, void *self);
void rpc_fini(struct rpc_reader *r);
#define auto_rpc CLEANUP(rpc_fini)
int rpc_feed(struct rpc_reader *r, struct str bytes, struct err *err) CHECKED;
/* One text that is a message, whole; -ERR_SYNTAX: it is none. */
int rpc_decode(struct str text, struct rpc_message *out, struct err *err) CHECKED;

#endif
