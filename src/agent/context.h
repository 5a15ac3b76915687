/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* context: keeps the conversation within the model's window, in two tiers, and what the person pinned in it.
 *
 * Shape    context_keep before each model call; context_overflow when the provider refused a request as too
 *          long; context_pin for "/pin". Between two of these the conversation only grows at its end, so
 *          that a provider's cache keeps all of it.
 * Memory   Lives in the run. The focus of a request for compaction is copied.
 * Errors   -ERR_STOPPED when the operator wants out meanwhile; what the record refuses.
 * Units    Characters are bytes of JSON text, as sent; a window is tokens. How many bytes are a token is what
 *          the last answered request says.
 * Source   docs/context.md.
 */
#ifndef AGENT_CONTEXT_H
#define AGENT_CONTEXT_H

#include "base/buf.h"

struct run;
struct turn;

struct context {
	bool asked;       /* the person wants it smaller now */
	struct buf focus; /* ... and what shall be kept in mind */
	size_t look_at;   /* bytes of the conversation at which the results may be too many again */
	int refused;      /* overflows of the call that is to be made, so far */
};

/* Where the tiers begin, in bytes. */
struct context_limits {
	size_t drop_at;      /* of tool results */
	size_t summarise_at; /* of everything */
};

void context_init(struct context *c);
void context_fini(struct context *c);
int context_ask(struct context *c, struct str focus, struct err *err) CHECKED;

struct context_limits context_limits_of(const struct run *r);
int64_t context_window(const struct run *r); /* tokens; 0: not known */

bool context_is_due(const struct run *r); /* context_keep would look for something to do */
int context_keep(struct run *r, struct turn *t, struct err *err) CHECKED;
/* *again: there is less to send now. After a few times there is not. */
int context_overflow(struct run *r, struct turn *t, bool *again, struct err *err) CHECKED;
void context_answered(struct run *r, const struct turn *t); /* what the request counted as */

int context_pin(struct run *r, struct turn *t, struct str text, struct err *err) CHECKED;
int context_put_restored(struct run *r, struct err *err) CHECKED; /* a leg goes on with what was set aside and pinned before */
/* What is pinned, as the model is told; empty when nothing is. */
struct str context_pins_text(const struct run *r, struct arena *mem);

#endif
