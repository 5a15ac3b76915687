/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* run_priv: one run of the agent, shared by the files that drive it. */
#ifndef AGENT_RUN_PRIV_H
#define AGENT_RUN_PRIV_H

#include "agent/asks.h"
#include "agent/background.h"
#include "agent/call.h"
#include "agent/context.h"
#include "agent/gate.h"
#include "agent/jobs.h"
#include "agent/keep.h"
#include "agent/lsp.h"
#include "agent/mcp.h"
#include "agent/params.h"
#include "agent/prompt.h"
#include "agent/seats.h"
#include "agent/state.h"
#include "git/repo.h"
#include "memory/skill.h"
#include "session/fork.h"

#include <sys/types.h>
#include <time.h>

#define ROOTS_MAX 64

/* How a text of the harness begins that gives the person's words; no other text does. */
#define PERSON_SAYS FORK_STEER

/* Why a run ends: the word of the record, whether it is a deliberate end, the exit status (-1: by the
 * state of the gate), and whether what is not on the chain yet goes there as a checkpoint. */
#define RUN_REASONS(X)                                                                                       \
	X(REASON_NONE, "", false, 1, false)                                                                  \
	X(REASON_FINISH, "finish_run", true, -1, true)                                                       \
	X(REASON_SILENT_FINISH, "silent_finish", true, -1, true)                                             \
	X(REASON_SETTLED, "settled", true, -1, true)                                                         \
	X(REASON_VERIFY_SETTLED, "verify_settled", true, -1, true)                                           \
	X(REASON_RED_AT_BASE, "gate_red_at_base", true, -1, true)                                            \
	X(REASON_GATE_STALE, "gate_stale", true, -1, true)                                                   \
	X(REASON_ANSWERED, "answered", true, 0, false)                                                       \
	X(REASON_PLANNED, "finish_planning", true, 0, false)                                                 \
	X(REASON_REVIEWED, "reviewed", true, 0, false)                                                       \
	X(REASON_BLOCKED, "review_blocked", true, 2, false)                                                  \
	X(REASON_INCONCLUSIVE, "review_inconclusive", true, 1, false)                                        \
	X(REASON_QUESTIONS, "open_questions", false, 2, true)                                                \
	X(REASON_PLAN_REJECTED, "plan_rejected", false, 2, false)                                            \
	X(REASON_PLAN_DECLINED, "plan_declined", false, 2, false)                                            \
	X(REASON_METRIC_PLATEAU, "metric_plateau", true, -1, true)                                           \
	X(REASON_REVISION, "prompt_revision_failed", false, 1, false)                                        \
	X(REASON_WENT_QUIET, "went_quiet", false, 1, true)                                                   \
	X(REASON_BUDGET, "budget_exhausted", false, 3, true)                                                 \
	X(REASON_PROVIDER, "provider_error", false, 1, true)                                                 \
	X(REASON_NO_PROGRESS, "no_progress", false, 1, true)                                                 \
	X(REASON_TOOL_ERROR, "tool_error_stuck", false, 1, true)                                             \
	X(REASON_UNEXECUTABLE, "verify_command_unexecutable", false, 1, true)                                \
	X(REASON_LOOP_GUARD, "loop_guard_killed", false, 1, true)                                            \
	X(REASON_MAX_ITERATIONS, "max_iterations", false, 1, true)                                           \
	X(REASON_STEER_ABORT, "steer_abort", false, 130, false)                                              \
	X(REASON_INTERRUPTED, "interrupted", false, 130, false)                                              \
	X(REASON_RECORD_LOST, "record_lost", false, 1, false)                                                \
	X(REASON_JAIL_LOST, "jail_lost", false, 1, false)                                                    \
	X(REASON_GIT_OVERDUE, "git_overdue", false, 1, false)                                                \
	X(REASON_CRASHED, "crashed", false, 1, false)                                                        \
	X(REASON_REFUSED, "refused", false, 2, false) /* before anything was kept */

enum run_reason {
#define X(value, word, completed, code, checkpoint) value,
	RUN_REASONS(X)
#undef X
		REASON_COUNT
};

struct run {
	const struct run_params *p; /* in mem */
	struct arena *mem;          /* owned; the run's life */
	struct links *links;        /* borrowed, as the next three */
	struct keep *keep;
	struct asks asks;
	struct jobs commands, git;
	struct background background;
	struct mcp mcp;             /* its servers' tools */
	struct lsp lsp;             /* language servers */
	struct buf index_cache;     /* of the index worker; not of the record */
	struct str_list cut_short; /* background commands that the end of a leg ended: kept for the next */
	struct caller caller;
	struct seats seats;            /* the models of the other roles */
	struct tool_host host;
	struct tool_root roots[ROOTS_MAX];
	struct tool_ctx tools;
	struct graph *graph;           /* owned; the task list */
	bool graph_changed;            /* since it was last put on record */
	size_t notes_written;          /* for later runs */
	struct buf tools_json;
	struct skills skills;          /* in mem */
	struct git_host git_host;
	struct git_begun {
		uint32_t number; /* of the job; 0: none */
		struct str words;
	} git_begun[4];
	struct str git_late; /* why none is asked any more in this leg: one did not end in its time */
	struct repo *repo;             /* owned; NULL: steps are not recorded */
	struct conversation *conv;     /* owned */
	struct context context;
	struct loop_state st;          /* strings in mem */
	struct str_list untracked;     /* at the start: never committed */
	struct str_list untracked_now; /* resume: ... when this leg began */
	struct str unrecorded;    /* why the newest step is not on the chain, or empty */
	bool branch_kept;         /* the run's branch does not move along; said once */
	struct str_list left_out; /* untracked, and what the person added between two legs; empty: the same */
	struct untracked_mark {
		struct str name;
		dev_t dev;
		ino_t ino;
		off_t size;
		struct timespec changed; /* of the inode */
	} *marks; /* files that no step takes, as they were when this leg began */
	size_t nmarks;
	bool unborn;
	bool gate_swapped;    /* at a resume */
	struct repo_head head;       /* at a resume: where HEAD is now */
	struct str_list said; /* resume: what the model is told first, in mem */
	int64_t last_work_ms; /* of an edit or a verify, for the stagnation notice */
	struct str_list unreachable; /* programs that a jail did not have, in mem */
	struct buf gate_tail; /* of what the gate printed last */

	/* how it ends */
	enum run_reason reason;
	struct str message;                          /* for a person, in mem */
	struct str summary, result_json, stale_gate; /* of finish_run */
	struct str guard_tool;                       /* of loop_guard_killed */
	struct str result;                           /* of a session that only looks: the answer, the plan, the report */
	struct str_list questions;                   /* that a plan leaves open */
	struct str review_json;
	struct str opening, restated;                /* what the first message would be; the task in a model's words */
	int64_t iterations;
};

/* One turn: what the model asked for and what came of it. Everything lives in mem. */
struct turn {
	struct arena *mem;
	int64_t iteration;
	struct reply reply;
	struct call_result *results;
	size_t answered;  /* bytes of the results so far: one message of the record holds them all */
	struct str *notices;
	size_t nnotices;
	bool changed;     /* an edit, or a command that may have changed files */
	bool worked;      /* an edit or a run of the gate */
	bool green;       /* the gate passed, and nothing changed since */
	bool was_good;    /* when the turn began, the tree was found good and nothing was left to record */
	bool red;         /* the gate ran and failed */
	bool did_not_run; /* the gate's runner is broken */
	bool baseline;    /* the gate was observed on the untouched tree for the first time */
	bool measured;    /* the metric was taken */
	bool metric_full; /* and is all there is */
	bool waited;      /* for a background command: that nothing changed meanwhile says nothing */
	bool finish;
	struct str prose; /* its last line of text, for the step's subject */
};

/* step.c: the repository */
int step_begin(
	struct run *r, struct err *err) CHECKED; /* looks at the tree; REASON_REFUSED when it may not start */
int step_commit(struct run *r, struct turn *t, const char *fallback, struct err *err) CHECKED;
/* step_say.c: the message of a step; as the say of struct repo_step. */
struct step_saying {
	struct run *r;
	const struct turn *t; /* NULL: of the run's end */
	const char *fallback;
	struct str message;   /* as it was said, in the arena of the call; empty: not yet */
	int rc;               /* what ends the run, once the step is recorded: a stop, the budget */
	struct err why;
};
int step_say(void *self, struct str from, struct str to, struct arena *mem, struct str *message, struct err *err) CHECKED;
/* Resume: files that came into the tree after the last leg ended are the person's. *changed: as step_is_changed has it then. */
int step_exclude_new(struct run *r, bool *changed, struct err *err) CHECKED;
/* The first leg of a fork: new files that are not on its chain came after the turn it begins with, and are not its own. */
int step_exclude_later(struct run *r, bool *changed, struct err *err) CHECKED;
/* Resume: whether the chain is what the record says; REASON_REFUSED when it is not. */
int step_check_chain(struct run *r, struct err *err) CHECKED;
/* Resume: begins what step_exclude_new will look at; nobody is asked anything between the two. */
int step_scan_ahead(struct run *r, struct err *err) CHECKED;
int step_put_untracked(struct run *r, struct err *err) CHECKED;
bool step_is_recorded(const struct run *r);
const struct str_list *step_never_takes(const struct run *r);
int step_is_changed(struct run *r, bool *changed, struct err *err) CHECKED;
int step_uncommitted(
	struct run *r, struct arena *mem, struct str_list *files, int64_t *total, struct err *err) CHECKED;

/* untracked.c: what became of the files that no step takes */
struct untracked_left {
	struct str_list edited, deleted; /* as they are shown */
};
void untracked_begin(struct run *r); /* a leg: how they lie there now */
void untracked_note_edits(struct run *r, const struct str_list *paths); /* by the tools, as these show them */
void untracked_end(struct run *r, struct arena *mem, struct untracked_left *out);

/* The new files of another run that lie here, of the newest one there is and as its newest step has them; its id with the first. */
int untracked_theirs(struct run *r, struct arena *mem, struct str_list *out, struct str *run_id, struct err *err) CHECKED;
bool untracked_is_made(const struct message_path *paths, size_t n, struct str name); /* one of them is that file, and new */

/* resume.c */
int resume_ask(struct run *r, struct err *err) CHECKED;  /* the recorder brings the record up meanwhile */
int resume_load(struct run *r, struct err *err) CHECKED; /* the conversation and the state */
void resume_say(struct run *r, struct str text); /* the person and the model hear it */
int resume_gate(struct run *r, struct err *err) CHECKED;

/* turn.c */
int turn_note_call(struct note *n, const struct reply_call *c, struct err *err) CHECKED; /* tool.call */
int turn_dispatch(struct run *r, struct turn *t, struct err *err) CHECKED;
/* The gate, run by the harness itself, with all that follows from it. */
int turn_gate(struct run *r, struct turn *t, struct buf *out, struct tool_outcome *oc, struct err *err) CHECKED;
int turn_background(struct run *r, struct turn *t, struct err *err) CHECKED; /* they may have changed files */
void turn_notice(struct turn *t,
	struct str text); /* kept until the results go back; empty ones and too many are dropped */

/* watch.c: streaks, gates and patience */
bool watch_is_good(
	const struct run *r); /* the gate is green on this very tree; gateless: every change is a step */
int watch_turn(
	struct run *r, struct turn *t, struct err *err) CHECKED; /* after the calls: notices and stops */
int watch_quiet(struct run *r, struct turn *t, struct err *err) CHECKED;  /* a turn without calls */
int watch_finish(struct run *r, struct turn *t, struct err *err) CHECKED; /* finish_run was called */
void watch_call(struct run *r, const struct reply_call *c);               /* before it runs */
void watch_result(struct run *r, struct str tool, struct str text, const struct tool_outcome *oc);

/* metric.c: a number that the run makes better */
bool metric_is_set(const struct run *r);
int metric_sample(struct run *r, struct turn *t, const struct tool_outcome *oc, struct err *err) CHECKED;
int metric_starts(struct run *r, struct err *err) CHECKED; /* on record, before it runs */
int metric_auto(struct run *r, struct turn *t, struct err *err) CHECKED;  /* after a green gate */
int metric_watch(struct run *r, struct turn *t, struct err *err) CHECKED; /* a plateau */
/* What they decide by; left: the fraction of the budget. */
enum metric_says { METRIC_GOES_ON, METRIC_CEILING, METRIC_STOP, METRIC_NUDGE };
bool metric_book(struct run *r, struct turn *t, double score, bool full); /* it is the best so far */
enum metric_says metric_judge(const struct run *r, const struct turn *t, double left);
bool metric_would_hold(const struct run *r, double left);
bool metric_holds_finish(struct run *r, struct turn *t);

/* boundary.c: what the person said between two turns */
int boundary(struct run *r, struct turn *t, struct err *err) CHECKED;
int boundary_steers(struct run *r, struct turn *t, struct err *err) CHECKED; /* their words become notices */

/* loop.c */
int loop_turns(struct run *r, struct err *err) CHECKED; /* until r->reason says why it ends */
void run_stop_asked(struct run *r);                     /* the operator wants out: the reason that says how */
void run_stop(struct run *r, enum run_reason why, struct str message); /* the first reason stays */
int loop_put_state(struct run *r, int64_t next_iteration, struct err *err) CHECKED;
uint64_t run_hash(struct str a, struct str b);

/* A question beside the conversation got no answer: what that means for the run; errors that say nothing about it stay. */
int loop_gave_up(struct run *r, int rc, struct err *err) CHECKED;
int loop_failed(struct run *r, int rc, const struct err *why, struct err *err) CHECKED; /* a question that got no answer */

/* review.c */
int review_open(struct run *r, struct err *err) CHECKED;    /* the diff becomes the conversation */
int review_session(struct run *r, struct err *err) CHECKED; /* the panel, and how it ends */
/* New files of the work tree, as a diff has them; skip: names that are somebody else's. */
int review_untracked(struct run *r, const struct str_list *skip, struct arena *mem, struct buf *out, struct err *err) CHECKED;

/* review_gate.c: the run's own change */
int review_turn(struct run *r, struct turn *t, struct err *err) CHECKED; /* on_verify_fail, periodic: advice */
/* before_finish; silent: the model said so in prose */
int review_gate(struct run *r, struct turn *t, bool silent, bool *rejected, struct err *err) CHECKED;

/* end.c */
enum gate_verdict { VERDICT_NOT_APPLICABLE, VERDICT_PASSED, VERDICT_FAILED, VERDICT_UNVERIFIED };
#define EXIT_UNVERIFIED  4
#define EXIT_UNCOMMITTED 5

const char *run_reason_word(enum run_reason why);
bool run_reason_from(struct str word, enum run_reason *out);
/* What the gate says of the files as they are now; looks: nothing may be changed. */
enum gate_verdict gate_verdict_of(const struct loop_state *st, bool looks);
const char *gate_verdict_word(enum gate_verdict v);
/* The exit status where all that was done is in a step, or need not be. */
int run_exit_code(enum run_reason why, enum gate_verdict v);
int run_end(struct run *r, struct err *err) CHECKED; /* checkpoint, run.end, WIRE_DONE */

#endif
