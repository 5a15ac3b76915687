/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* redecide: what the loop decided, decided again from the record by the code that decided it. Each turn lies between two
 * checkpoints; what was counted stands in them, and what was said about it in the journal.
 *
 * Shape    redecide_begin at each leg; redecide_event for each event, redecide_answer for each answer of a model and
 *          redecide_call for each call of a turn; redecide_turn with the checkpoint after it; redecide_end with the end of the
 *          run and the last checkpoint.
 * Files    redecide.c the counters, the gate and the ends; redecide_budget.c the budget and the clock; redecide_context.c
 *          compaction; redecide_work.c tasks, the metric, the steps of a plan; redecide_review.c reviews.
 * Memory   Two states are held. Texts that are returned live until the next turn.
 * Errors   A difference is no error: differs is false, or the rest of struct redecided says what it is.
 * Source   docs/loop.md; docs/architecture.md, "Replay".
 */
#ifndef AGENT_REDECIDE_H
#define AGENT_REDECIDE_H

#include "agent/settings.h"
#include "agent/state.h"
#include "fmt/jscan.h"
#include "provider/reply.h"
#include "session/chain.h"
#include "session/event.h"

struct redecided {
	bool differs;
	bool at_event; /* it is an event of the turn that is another one: this; else where the turn, or the run, ends */
	struct journal_line line;
	const char *what;
	struct str was, now; /* as recorded, as decided again */
};

#define REDECIDE_RULES 7
#define REDECIDE_SEATS 64 /* answers of reviewers that one panel has, with those that could not be used */

struct conversation;
struct run;
struct graph;

/* An answer of a model, or a fault in place of one. */
struct redecide_answer {
	struct str seat, model;
	int64_t endpoint, transcript;
	struct str outcome;        /* "ok", or the fault */
	bool read;                 /* the answer is here, as far as it came */
	bool turn;                 /* it is one that came whole */
	const struct reply *reply; /* with what it took */
	struct str sent;           /* the request */
	size_t weighed;            /* its length, with a picture as PICTURE_BYTES */
	/* worker: the conversation that was sent, and how it was before it was made shorter; NULL: it was not */
	struct conversation *conv;
	const struct str *before;
	size_t nbefore;
	struct str system, tools;
};

/* An event that was seen in this turn. */
struct redecide_seen {
	bool there;
	struct journal_line line;
	struct str text; /* the whole line, in the journal */
};

struct redecide {
	struct arena *mem[2]; /* of the states, by turns */
	int at;               /* which of them `before` lies in */
	struct arena *leg, *turn; /* what lives as long */
	bool known, looks;    /* there is a state this turn began with; the mode changes nothing */
	struct loop_state before, after;
	struct loop_state began; /* the newest turn, once it is over */
	struct {
		bool there;
		int64_t streak, level; /* -1: not said */
		struct journal_line line;
	} seen[REDECIDE_RULES];
	struct redecide_seen last[EVENT_COUNT]; /* of this turn, the newest of each */
	struct {
		bool ran, green, brief; /* the newest */
		struct journal_line line;
	} gate;
	struct journal_line call; /* the newest */
	int64_t same_call, same_call_streak;
	int64_t ncalls, iteration;
	bool waited, finish;
	int64_t left_out;      /* what the record does not hold enough of to be decided again */

	/* the leg */
	bool has_settings;
	struct settings settings;
	struct run *run;       /* owned: a run that nothing comes out of, for the code that decides */
	bool stop_asked, stop_now;

	/* the budget; its ledgers are the run's */
	bool counted;          /* every answer of this leg could be read */
	int64_t in_flight;
	double left;           /* of it, when the worker had answered; below 0: not known */

	/* compaction */
	struct {
		VEC(struct redecide_seen);
	} compact;             /* events since the last request was right */
	bool fresh;            /* the first request of the turn is still to come */
	bool by_hand, waited_for, gave_up, overflowed;
	struct str note;       /* of the summarizer, or empty */
	bool pending;          /* the person asked for it, and it was not done yet, */
	struct str focus;      /* with this in mind */
	bool has_note;

	/* tasks */
	struct str graph_lines; /* what is still to be applied */
	struct str graph_all;
	struct graph *graph;    /* owned */

	/* the metric; its samples are the run's */
	bool measured, full;

	/* a plan */
	struct str planner, critic; /* the newest answers */
	bool has_reviewed, asked_for_fixes;
	int64_t reviewed, steps_ended;

	/* a panel */
	struct {
		struct str persona, model, text, diff;
		int64_t transcript;
		bool read, cut;
	} answers[REDECIDE_SEATS];
	size_t nanswers;
	int64_t blocks, abstains;
	bool panel_known; /* every seat of it could be read again */
	bool blocked;
};

/* graph: the text of graph.jsonl, which outlives it, or empty. */
void redecide_open(struct redecide *d, struct str graph);
void redecide_begin(struct redecide *d, bool looks);
void redecide_fini(struct redecide *d);
struct redecided redecide_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct str text);
struct redecided redecide_answer(struct redecide *d, const struct journal_line *line, const struct redecide_answer *a);
void redecide_call(struct redecide *d, const struct journal_line *line, const struct reply_call *c);
/* went_on: another turn came, so everything that was due in this one was said. */
struct redecided redecide_turn(struct redecide *d, struct str state, bool went_on);
struct redecided redecide_end(struct redecide *d, const struct journal_line *line, struct jval end);

/* Results were set aside since the last request: its conversation was another one before the last cut. */
bool redecide_set_aside(const struct redecide *d);

/* The members of `made` as the event has them, and as they were made again. */
struct redecided redecide_same(struct arena *mem, const struct journal_line *line, struct str event, struct str made, const char *what);

#endif
