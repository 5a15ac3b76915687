/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* implement: a run driven by a plan: planner, critic, then per step a worker, the gate and a reviewer.
 *
 * Shape    implement_begin before the first turn: the plan becomes a message and a task list. When the worker says that
 *          it is done, implement_done decides: the gate, then the reviewer, then the next step. The worker is the one
 *          conversation of the run; the others are asked once each, with typed answers (seats.h).
 * Memory   What is read from an answer lives in the arena or in the answer.
 * Errors   -ERR_CLOSED and -ERR_STOPPED as from below; everything else ends the run with a reason.
 * Source   docs/modes.md, "Implement". What is known between turns stands in loop_state: a resume goes on in its step.
 */
#ifndef AGENT_IMPLEMENT_H
#define AGENT_IMPLEMENT_H

#include "base/err.h"
#include "base/str.h"

struct run;
struct turn;

bool implement_is_on(const struct run *r);
int implement_begin(struct run *r, struct err *err) CHECKED;
/* *more: there is something left to do, and the model hears what. */
int implement_done(struct run *r, struct turn *t, bool *more, struct err *err) CHECKED;
/* Answers of the other roles, as the workflow reads them; replay reads them again. */
struct note;
struct arena;
#define IMPLEMENT_AGAIN "not understood: y or n. " /* before the question when it is put again */
bool implement_asks_for_yes(struct str question); /* it is the one before the first step */
struct str implement_question(struct str answer, struct arena *mem); /* that one, about the planner's plan; empty: it is no plan */
enum implement_says { SAYS_NOTHING, SAYS_YES, SAYS_NO, SAYS_QUESTIONS };
bool implement_note_plan(struct str answer, struct arena *mem, struct note *n); /* plan.ready; false: it is none */
enum implement_says implement_critic(struct str answer, struct arena *mem);
enum implement_says implement_reviewer(struct str answer, struct arena *mem);
struct str implement_step_title(struct str plan, int64_t step, struct arena *mem); /* empty: there is no such step */
int implement_turn(struct run *r, struct turn *t, struct err *err) CHECKED; /* the step's own budget */

#endif
