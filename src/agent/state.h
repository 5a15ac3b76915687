/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* state: what the loop knows between two turns, beside the conversation; and the numbers it decides by.
 *
 * Shape    loop_state_write before each model call; loop_state_read when a run goes on. The list below is
 *          the only place where a member is named.
 * Memory   Strings live in the arena of the run.
 * Errors   -ERR_INVALID for a state of another version or with a member of the wrong type.
 * Source   docs/loop.md.
 */
#ifndef AGENT_STATE_H
#define AGENT_STATE_H

#include "fmt/field.h"

#define STATE_VERSION 2

enum tri { TRI_UNKNOWN, TRI_NO, TRI_YES };

/* X(kind, member)   INT, STR, STRS, TRI */
#define LOOP_STATE(X)                                                                                        \
	X(STR, original_task)                                                                                \
	X(INT, next_iteration)                                                                               \
	X(INT, leg_start)  /* the iteration this leg began with */                                           \
	X(INT, transcript) /* number of the next transcript */                                               \
	X(INT, tool_calls)                                                                                   \
	X(INT, ok_tool_calls)                                                                                \
	X(STR, base_sha)                                                                                     \
	X(STR, base_branch)                                                                                  \
	X(STR, head_sha) /* the chain's tip; empty: no step yet */                                           \
	X(STR, left_head)   /* HEAD when this leg began, and its branch; empty: unborn, detached */          \
	X(STR, left_branch)                                                                                  \
	X(INT, commits)                                                                                      \
	/* the gate */                                                                                       \
	X(STRS, verify_command) /* empty: gateless */                                                        \
	X(STR, verify_origin)   /* configured, inferred, adopted, "" */                                      \
	X(TRI, last_verify_ok)                                                                               \
	X(INT, edited_since_verify)                                                                          \
	X(TRI, baseline_ok)                                                                                  \
	X(INT, verify_ever_passed)                                                                           \
	X(INT, gateless_ever_committed)                                                                      \
	X(INT, ever_changed) /* the run changed a file */                                                    \
	X(INT, step_open)    /* something may have changed since the last step */                            \
	X(INT, forked)       /* 1: the record begins here, in the middle of another one (session/fork.h) */  \
	X(INT, ended)        /* 1: the leg came to its end, and this is what it left in no step */           \
	X(STRS, edited_untracked) /* by the tools; untracked when the run began, so in no step: as they are shown */ \
	X(STRS, changed_untracked) /* the like, by whatever else: how they lay there when a leg began was compared */ \
	X(STRS, deleted_untracked) /* by whatever */                                                          \
	X(STRS, left_behind)                                                                                 \
	/* the context */                                                                                    \
	X(STRS, pins)             /* of the person: said again after every restart */                        \
	X(INT, context_bytes)     /* of the last request that was answered, and the tokens it was counted as */ \
	X(INT, context_tokens)                                                                               \
	X(INT, context_ceiling)   /* bytes of a request that was refused as too long; 0: none was */         \
	X(INT, context_restarted) /* bytes right after the last restart; 0: there was none */                \
	X(INT, context_elided)    /* results set aside since then */                                         \
	X(INT, background_last)  /* number of the newest background command */                               \
	X(STRS, background)      /* those that ran: a kill takes them along */                               \
	X(INT, background_nudged)                                                                            \
	/* the task list */                                                                                  \
	X(INT, graph_version) /* operations this checkpoint knows of */                                      \
	X(STR, focus)         /* the task the model was last told of */                                      \
	X(INT, focus_turns)                                                                                  \
	X(INT, focus_nudges)                                                                                 \
	X(INT, task_gated)                                                                                   \
	X(INT, memory_nudged)                                                                                \
	X(INT, plan_nudged)                                                                                  \
	/* workflow implement */                                                                             \
	X(STR, plan)         /* the planner's answer, JSON */                                                \
	X(INT, plan_step)    /* the one that is in work, from 0 */                                           \
	X(STR, step_from)    /* the chain when it began */                                                   \
	X(INT, step_began)   /* the turn it began at */                                                      \
	X(INT, step_reds)                                                                                    \
	X(INT, step_reviews)                                                                                 \
	X(INT, review_streak)     /* finishes that a review sent back, in a row */                           \
	X(INT, review_rejections) /* and in all, one less for each that passed */                            \
	X(INT, review_capped)     /* that the person decides was said */                                     \
	X(STRS, review_raised)    /* findings that were told, newest last */                                 \
	X(STRS, metric_samples)    /* the newest ones, as they are shown */                                  \
	X(STR, metric_best)                                                                                  \
	X(INT, metric_count)                                                                                 \
	X(INT, metric_stale)       /* samples since the best one */                                          \
	X(INT, metric_nudged)                                                                                \
	X(INT, metric_gated)                                                                                 \
	X(STR, standing)           /* the goal the run goes on with when its task is done */                  \
	X(INT, standing_rounds)    /* how often it did */                                                    \
	X(INT, standing_fruitless) /* ... in a row without any work */                                       \
	X(INT, standing_mark)      /* tool_calls at the last time */                                         \
	/* patience */                                                                                       \
	X(INT, quiet_streak)                                                                                 \
	X(INT, silent_nudges)                                                                                \
	X(INT, question_nudged)                                                                              \
	X(INT, finish_gated)                                                                                 \
	X(INT, budget_nudged)                                                                                \
	X(INT, stagnation_nudged)                                                                            \
	X(INT, idle_ms)         /* since an edit or a verify, by the clock at the end of the last turn with calls */ \
	X(INT, broken_nudged)                                                                                \
	X(INT, idle)            /* turns without a change since the tree was found good */                   \
	X(INT, same_call)       /* hash of the last call, and how often it came in a row */                  \
	X(INT, same_call_noted) /* the call that a notice was given for */                                   \
	X(INT, same_call_streak)                                                                             \
	X(INT, same_result) /* hash of its result */                                                         \
	X(INT, error_signature)                                                                              \
	X(INT, error_refused)                                                                                \
	X(INT, error_streak)                                                                                 \
	X(INT, verify_signature)                                                                             \
	X(INT, verify_streak)

#define STATE_FIELD_STR(m)  struct str m;
#define STATE_FIELD_INT(m)  int64_t m;
#define STATE_FIELD_TRI(m)  enum tri m;
#define STATE_FIELD_STRS(m) struct str_list m;
struct loop_state {
#define X(kind, member) STATE_FIELD_##kind(member)
	LOOP_STATE(X)
#undef X
};

int loop_state_write(const struct loop_state *s, struct buf *out, struct err *err) CHECKED;
int loop_state_read(struct str json, struct arena *mem, struct loop_state *out, struct err *err) CHECKED;

/* Every number the loop decides by. */
struct loop_limits {
	int64_t max_tokens;    /* of one answer */
	int64_t quiet_nudges;  /* empty answers in a row that get another chance */
	int64_t silent_nudges; /* prose without any work done */
	int64_t silent_until;  /* ... in this many first turns */
	int64_t same_call_notice, same_call_stop;
	int64_t error_nudge, error_escalate, error_stop;
	int64_t verify_nudge, verify_escalate, verify_stop;
	int64_t settled_nudge, settled_stop;
	int64_t finish_patience; /* finishes without a green gate, or over open tasks, that are sent back */
	int64_t step_turns, step_reds, step_reviews; /* of one step of a plan: turns, red gates, reviews that ask for more */
	int64_t task_turns, task_nudges; /* turns in one task before a word about it, and how many of them */
	int64_t stagnation_ms;
	double budget_nudge; /* fraction that is left */
	double plan_budget;  /* ... when a plan is asked for, */
	int64_t plan_turns;  /* or after so many turns */
	size_t stub_min;     /* a repeated result longer than this is not sent again */
	size_t notices;      /* in one message */
	size_t files_named;  /* left uncommitted, in the summary */
	size_t patch_bytes;  /* of a step, in its event */
	size_t tail_bytes;   /* of output, in an event */
};
extern const struct loop_limits loop_limits;

#endif
