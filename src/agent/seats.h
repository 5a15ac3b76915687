/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* seats: the models of the roles, and questions that want a typed answer.
 *
 * Shape    seats_open once; seat_text or seat_typed for one question, which is no part of the conversation. A typed
 *          answer is one JSON object, decoded through a table of fields; an answer that does not decode goes back
 *          with the error, twice at most.
 * Memory   Answers live in the arena of the call.
 * Errors   As caller_ask; -ERR_INVALID when the model gave no usable answer.
 * Source   docs/modes.md.
 */
#ifndef AGENT_SEATS_H
#define AGENT_SEATS_H

#include "agent/call.h"
#include "agent/params.h"
#include "config/config.h"

struct run;

struct seat {
	bool played; /* it has a model of its own, or the leading one's */
	struct model_spec spec;
	struct model_facts facts;
	uint8_t endpoint;
	struct str provider;
};

struct seats {
	struct seat role[CONFIG_ROLES];
};

int seat_from(const struct seat_params *p, struct seat *out, struct err *err) CHECKED;
int seats_open(struct run *r, struct err *err) CHECKED; /* after the leading model was set */

/* What a seat may look at before it answers: tools that only read. */
struct seat_tools {
	struct str schema;
	int64_t requests, ms; /* at most, with the one that is answered without a call */
	/* One call's result, as JSON. -ERR_CLOSED, -ERR_STOPPED: the run ends over it. */
	int (*call)(void *self, const struct reply_call *c, struct arena *mem, struct buf *out, struct err *err);
	void *self;
};

struct seat_ask {
	enum config_role role;
	const char *name;   /* in events and transcripts: "critic", "review:security" */
	struct str system, user;
	int64_t max_tokens; /* of the answer; 0: the seat's own */
	/* typed: what the object holds */
	const struct field *fields;
	size_t nfields, size;
	const struct seat_tools *tools; /* typed: NULL: it has none */
};

int seat_system(const struct seat_ask *ask, struct buf *out, struct err *err) CHECKED; /* what the model is told first */
int seat_text(struct run *r, const struct seat_ask *ask, struct arena *mem, struct str *out, struct err *err) CHECKED;
int seat_typed(struct run *r, const struct seat_ask *ask, struct arena *mem, void *out, struct err *err) CHECKED;
/* Several of them, at_once in flight (at most CALLS_AT_ONCE). rc is 0, -ERR_INVALID or -ERR_REMOTE, with why; what ends
 * the run is what the call returns. */
struct seat_got {
	void *out;
	int64_t transcript; /* of the answer that was used */
	int rc;
	struct err why;
};
int seat_typed_all(struct run *r, const struct seat_ask *ask, size_t n, size_t at_once, struct arena *mem, struct seat_got *got,
	struct err *err) CHECKED;
struct str seat_model(const struct run *r, enum config_role role); /* its id */

/* An answer as the fields of its object. */
int seat_decode(const struct seat_ask *ask, struct str answer, struct arena *mem, void *out, struct err *err) CHECKED;
/* The one JSON object of an answer that may have prose or a fence around it; empty when there is none. */
struct str seat_object(struct str answer);

#endif
