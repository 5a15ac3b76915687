/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* settings: what a leg decides by, on record: the part of its parameters that the loop reads, and the models with their prices.
 *
 * Shape    settings_put once a leg, before the first request; settings_read gives replay the same parameters back.
 * Memory   Strings of what was read live in the arena.
 * Errors   -ERR_INVALID names the member that is not there or is of another type.
 * Source   docs/architecture.md, "Replay". The list below is the only place where a member is named.
 */
#ifndef AGENT_SETTINGS_H
#define AGENT_SETTINGS_H

#include "agent/params.h"
#include "fmt/jscan.h"
#include "provider/model.h"

#define SETTINGS_MODELS 16

/* X(kind, member), of RUN_PARAMS */
#define SETTINGS(X)                                                                                          \
	X(STR, mode) X(STR, workflow) X(STR, run_commands) X(INT, interactive)                               \
	X(INT, require_verify_to_finish) X(INT, max_iterations)                                              \
	X(INT, max_input_tokens) X(INT, max_output_tokens) X(NUM, max_usd)                                   \
	X(INT, context_tokens) X(INT, drop_at_chars) X(INT, summarise_at_chars) X(INT, keep_recent_chars)    \
	X(INT, keep_thinking_turns) X(INT, summary_max_tokens) X(INT, elision_gists)                         \
	X(STRS, metric_command) X(STR, metric_goal)                                                          \
	X(STR, review_decision) X(STR, review_trigger) X(INT, review_quorum) X(INT, review_period)           \
	X(INT, review_max_rejections) X(NUM, review_budget_fraction)

/* A model as it was counted. */
struct settings_model {
	uint8_t endpoint;
	struct str model;
	struct model_facts facts;
	int64_t max_tokens;
};

struct settings {
	struct run_params params; /* the members of the list alone */
	struct settings_model models[SETTINGS_MODELS]; /* first the one that leads */
	size_t n;
};

struct run;
int settings_put(struct run *r, struct err *err) CHECKED;
int settings_read(struct jval event, struct arena *mem, struct settings *out, struct err *err) CHECKED;
/* NULL: no such model was named. */
const struct settings_model *settings_model_of(const struct settings *s, int64_t endpoint, struct str model);

#endif
