/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* sides: what the models that are asked beside a conversation are told, for whoever wants to read it.
 *
 * Shape    Each file that asks such a question exports the row it asks with; sides lists them, NULL at the end. A reviewer's
 *          prompt hangs on what it looks for: side_review.
 * Memory   Rows are static; side_review's system text lives in the arena.
 * Errors   side_prompt: -ERR_LIMIT when out is full.
 */
#ifndef AGENT_SIDES_H
#define AGENT_SIDES_H

#include "config/config.h"

struct side {
	const char *name;      /* in events and transcripts */
	enum config_role role; /* whose model answers */
	const char *when, *shown; /* in words */
	const char *system;    /* NULL: the prompt, the tools and the conversation of the session itself */
	const struct field *fields; /* of a typed answer */
	size_t nfields;
};

extern const struct side side_planner, side_critic, side_reviewer, side_gate, side_reviser, side_subject, side_summarizer, side_btw;
extern const struct side *const sides[];

/* persona: one of ours, or what to look for in the operator's words. */
struct side side_review(struct str persona, struct arena *mem);
const char *side_persona(size_t i); /* of ours; NULL behind the last one */
/* All of the system prompt, with the schema of the answer: as the model gets it. */
int side_prompt(const struct side *s, struct buf *out, struct err *err) CHECKED;

#endif
