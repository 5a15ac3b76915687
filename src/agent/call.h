/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* call: one answer of the model, asked for again where that makes sense.
 *
 * Shape    caller_init once; caller_ask per turn. Each attempt is counted, put into the record (request,
 *          status, answer; there are no headers on this side) and waited for.
 * Memory   The reply lives in the arena of the call. Params, totals and links are borrowed.
 * Errors   -ERR_REMOTE and a fault when no turn came; -ERR_LIMIT when the budget is spent; -ERR_STOPPED
 *          when the operator wants out; -ERR_CLOSED when the record or the client is gone. In every one
 *          of these cases nothing of the answer is in the conversation.
 * Source   docs/providers.md, "Trying again".
 */
#ifndef AGENT_CALL_H
#define AGENT_CALL_H

#include "agent/keep.h"
#include "provider/provider.h"

struct call_live; /* the call in flight */

struct caller {
	struct links *links;
	struct keep *keep;
	struct model_spec spec;
	struct model_facts facts;
	struct budget budget;
	struct usage_totals totals;
	struct usage_forecast forecast;
	bool reached;                  /* the endpoint has answered once, with whatever */
	bool over_budget;              /* why the last call ended with -ERR_LIMIT */
	bool told_estimates, told_cut; /* the operator knows */
	uint8_t endpoint;
	struct str provider; /* its configured name, for people */
	bool no_calls; /* the tools are named but may not be called */
	uint32_t last_id;
	uint32_t transcript; /* number of the next one */
	struct buf request;  /* the last request, so that the record keeps only what is new */
	size_t unweighed;    /* request_unweighed of it */
	struct buf previous;
	struct call_live *live; /* nlive of them; NULL between calls */
	size_t nlive;
	/* Messages of the client about posts to MCP servers, whose ids begin at CALLER_IDS. */
	int (*on_post)(void *self, struct chan_msg *m, uint32_t id, struct err *err);
	void *post_self;
	/* Replay: answers come from a record, and nothing is sent. NULL else. */
	int (*play)(void *self, const char *role, struct arena *mem, struct reply *out, struct err *err);
	void *play_self;
};

#define CALLER_IDS 0x40000000u

void caller_fini(struct caller *c);
#define auto_caller CLEANUP(caller_fini)
/* Sets up all but spec, facts, budget, endpoint and provider, which the owner fills in. */
void caller_init(struct caller *c, struct links *l, struct keep *k);

/* Says on record why there is no answer. caller_ask does so by itself, except for a request that was too
 * long: who knows how to make it shorter decides whether that is the end. */
int caller_put_fatal(struct caller *c, const struct provider_fault *f, struct err *err) CHECKED;

/* Books what an answer to a request of so many bytes took; a part of one too, when the server counted it. */
void caller_book(struct caller *c, struct str model, const struct model_facts *facts, const struct reply *r, size_t sent, bool whole);
/* The members of budget.update. */
void caller_note_budget(struct note *n, const struct usage_totals *t, const struct budget *b);

/* What the server did not count of an answer to a request of so many bytes is estimated; false: it counted all. */
bool caller_estimate(struct reply *r, size_t sent);
/* The members of role.result that follow from the answer alone; f: NULL, or why there is none. */
void caller_note_result(struct note *n, struct str role, const struct reply *r, const struct provider_fault *f);

int caller_ask(struct caller *c, const char *role, struct conversation *conv, struct str tools,
	struct arena *mem, struct reply *out, struct provider_fault *fault, struct err *err) CHECKED;

/* Several questions at once, none of them part of the conversation. swap(self, i) is called in pairs and puts the model
 * of question i in and out again. Each is sent at once; what fails is tried again one after the other. one[i].rc is 0,
 * or -ERR_REMOTE with why; what ends the run is what the call returns. */
#define CALLS_AT_ONCE 4 /* as many as the client serves (net/client.h) */
struct call_one {
	const char *role;
	struct conversation *conv;
	struct reply reply;
	struct provider_fault fault;
	struct err why;
	uint32_t transcript; /* of the answer */
	int rc;
};
struct call_round {
	struct call_one one[CALLS_AT_ONCE];
	size_t n;
	void (*swap)(void *self, size_t i);
	void *self;
};
int caller_ask_round(struct caller *c, struct call_round *q, struct arena *mem, struct err *err) CHECKED;

#endif
