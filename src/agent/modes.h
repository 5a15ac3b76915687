/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* modes: what a session that only looks (ask, plan, review) leaves: its result.
 *
 * Shape    modes_begin clears what an earlier leg left; modes_put_result when the session ends well.
 *          record/result.md is for people, result.json for scripts; a plan is also plan.md, an ask transcript.md,
 *          and what a plan leaves open questions.json.
 * Errors   Those of the channel to the recorder; -ERR_LIMIT when a result is larger than one of its files may be.
 * Source   docs/modes.md.
 */
#ifndef AGENT_MODES_H
#define AGENT_MODES_H

#include "tool/tool.h"

struct run;
struct turn;

bool mode_looks(const struct run *r); /* nothing may be changed: any mode but run */
int modes_begin(struct run *r, struct err *err) CHECKED;
int modes_put_result(struct run *r, struct err *err) CHECKED;
/* Questions that only the person can answer and nobody does: they go into questions.json, and the run ends with them. */
int modes_open_questions(struct run *r, const struct str *questions, size_t n, struct err *err) CHECKED;
/* A turn in prose, or finish_planning. */
int modes_quiet(struct run *r, struct turn *t, struct str prose, bool *done, struct err *err) CHECKED;
int modes_turn(struct run *r, struct turn *t, struct err *err) CHECKED; /* nudges of a plan */

#endif
