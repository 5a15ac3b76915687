/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* call_priv: one request in flight, shared by the file that asks one question and the one that asks several.
 *
 * Shape    call_begin with what the request is made of in c, v being one of c->live; call_await for all of them; then
 *          keep_barrier_await and call_end for each. Whatever happened, call_fini.
 */
#ifndef AGENT_CALL_PRIV_H
#define AGENT_CALL_PRIV_H

#include "agent/call.h"

struct call_live {
	uint32_t id; /* 0: nothing was sent */
	const char *role;
	struct reply_stream *stream;
	struct buf request;
	size_t unweighed; /* request_unweighed of it */
	struct buf raw, text, thinking; /* text and thinking: what waits to be shown */
	int status;
	int64_t retry_after_ms;
	bool over;
	enum reply_over how;
	uint64_t beats; /* signs of life that were counted, and since when none came */
	int64_t beat_ms;
	bool unreached; /* no connection came about */
	struct buf detail;
	uint64_t total;
	int64_t started_ms;
};

void call_fini(struct call_live *v);
int call_begin(struct caller *c, struct call_live *v, const char *role, struct conversation *conv, struct str tools,
	struct arena *mem, struct err *err) CHECKED;
/* Until each answer is whole, the client gives up, the operator wants out, or time is up. */
int call_await(struct caller *c, struct err *err) CHECKED;
/* 0: a turn; -ERR_REMOTE: a fault; *again: the server refused something that we now leave out. */
int call_end(struct caller *c, struct call_live *v, struct reply *out, struct provider_fault *fault, bool *again,
	struct err *err) CHECKED;
/* From a first attempt that failed, as caller_ask goes on. */
int call_again(struct caller *c, const char *role, struct conversation *conv, struct str tools, struct arena *mem,
	struct reply *out, struct provider_fault *fault, bool again, struct err *err) CHECKED;

#endif
