/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fold: the lines of a journal become the state that every front-end shows, and one item per line for
 * those that show a conversation.
 *
 * Shape    view_new; view_line for every line, oldest first; view_state at any time; view_free.
 * Memory   Bounded, however long the run: lists keep their newest entries, texts their beginning or
 *          their end. An item's texts die at the next view_line. Nothing here is cleaned for a terminal.
 * Errors   A line that is no journal line or of no known event gives VIEW_NOTHING; a delta that is not
 *          marked as one, or an event dressed as a delta, too.
 * Source   docs/events.md.
 */
#ifndef VIEW_FOLD_H
#define VIEW_FOLD_H

#include "fmt/field.h"
#include "session/event.h"
#include "session/layout.h"

#define VIEW_CALLS   50
#define VIEW_PROMPTS 32
#define VIEW_OPTIONS 16
#define VIEW_BACKGROUND 16

enum view_kind {
	VIEW_NOTHING,
	VIEW_START,    /* a leg begins: text the task, resumed */
	VIEW_THINKING, /* a piece of it: text */
	VIEW_TEXT,     /* a piece of an answer: text */
	VIEW_REPLY,    /* the whole answer: text; streamed: it came in pieces before */
	VIEW_CALL,     /* name, arg */
	VIEW_RESULT,   /* name, arg, ok, code of a command, text the summary, detail the tail of its output */
	VIEW_VERIFY,   /* the gate ran: arg the command, code, seconds, timed_out, detail the tail */
	VIEW_COMMIT,   /* name the sha, text the subject */
	VIEW_MARKER,   /* something worth a line: text */
	VIEW_WARNING,  /* the same, and somebody should care */
	VIEW_PROMPT,   /* an approval is asked for: name the id, text the prompt */
	VIEW_QUESTION, /* the agent asks: name the id; the state has the questions */
	VIEW_ANSWER,   /* answered: name the id, text how */
	VIEW_STEER,    /* the operator's words, as the monitor heard them: text */
	VIEW_PAUSED,   /* the run waits for the person: text */
	VIEW_ASIDE,    /* a question beside the work: arg; its answer: text */
	VIEW_END,      /* the leg ended: state->end */
};

struct view_item {
	enum view_kind kind;
	struct str ts, role, name, arg, text, detail;
	struct str errs;  /* of a result or the gate: the tail of standard error, where detail has that of standard output */
	struct str whole; /* of a call or the gate: arg as long as it is, within what one screen can take */
	bool command;     /* of a call: it runs what whole says */
	bool ok, streamed, resumed;
	bool standing; /* of an answer: given earlier, for everything of the kind */
	bool timed_out; /* of the gate */
	int64_t code;
	double seconds;
};

enum tri { TRI_NULL, TRI_FALSE, TRI_TRUE };

struct view_call {
	char name[64], id[80], arg[128];
	bool done, ok;
};

struct view_prompt {
	char id[64];
	bool question;
	bool of_tool;    /* an approval of a call of a server's tool; else of a command */
	struct buf text; /* the prompt, or the questions: each "question\n option\n option\n", one after another */
	size_t nquestions;
};

struct view_background { /* a command that runs in the background */
	char id[16], command[160];
};

struct view_budget {
	int64_t input, output, input_cap, output_cap; /* tokens of this leg; caps -1: none */
	double usd, usd_cap;                          /* below 0: not known, none */
	double usd_before;                            /* of earlier legs */
	int64_t input_before, output_before;
	bool usd_partial;                             /* some calls had no price */
};

struct view_end {
	bool seen;
	struct buf reason, message, summary, verified, branch, base_branch, head_sha, usage, stale_gate, files;
	struct buf edited_untracked, deleted_untracked, gate_touched; /* a name each line, as it is shown */
	enum tri all_passed;
	int64_t iterations, commits, uncommitted, exit_code; /* -1: not said */
	bool gated;                                          /* there is a gate */
};

struct view_state {
	char run_id[SESSION_ID_MAX + 1], mode[16], last_ts[32], start_ts[32];
	struct buf task, model, isolation, preset; /* preset: of this leg */
	bool started;
	int legs;
	int64_t ncalls, ncommits;        /* of all legs */
	struct view_call calls[VIEW_CALLS]; /* a ring: call i of the run is calls[i % VIEW_CALLS] */
	struct view_prompt prompts[VIEW_PROMPTS]; /* unanswered, oldest first */
	size_t nprompts;
	struct view_background background[VIEW_BACKGROUND]; /* oldest first */
	size_t nbackground;
	struct view_budget budget;
	bool verify_seen, verify_running;
	int64_t verify_code;
	bool torn;                       /* a part of the record was lost in a crash */
	bool streaming;                  /* pieces of an answer came since the last role.call */
	bool paused;                     /* the run waits for the person */
	bool detached;                   /* this leg left its terminal */
	int64_t context_tokens, window_tokens, elided, pins; /* window 0: not known */
	struct buf pinned;               /* a line each */
	struct buf said, reply;          /* the person's last words, the model's last ones */
	int64_t said_calls, said_commits; /* ncalls and ncommits when they were said */
	int64_t review_seats;            /* that were asked in the newest review of this leg */
	int64_t unjudged;                /* the same, where all of them abstained; 0: somebody judged, or nobody was asked */
	struct view_end end;             /* of the newest leg */
};

struct view;

enum view_mode { VIEW_ALL, VIEW_STATE_ONLY }; /* STATE_ONLY skips deltas unread */
struct view *view_new(enum view_mode mode);
void view_free(struct view *v); /* NULL is fine */
static inline void view_free_ptr(struct view **v)
{
	view_free(*v);
}
#define auto_view CLEANUP(view_free_ptr)

/* line: with or without its newline. */
struct view_item view_line(struct view *v, struct str line);
const struct view_state *view_state(const struct view *v);
/* For who reads only the end of a journal: its run.start was before. */
void view_assume_started(struct view *v);

/* The word for how a run stands: running, waiting, passed, failed, stopped, finished, stale, ... and a
 * reason or NULL. One place, so that every front-end says the same. */
struct view_status {
	const char *word;
	const char *reason; /* "no_progress" as recorded, "needs answer", or NULL */
};
struct view_status view_status(const struct view_state *s, bool live);
/* What the person must know of an ended run that had a gate, and neither green nor red says: or NULL. */
const char *view_gate_unasked(const struct view_state *s);
/* The lines of a list that the state holds. */
struct str_list view_names(const struct buf *lines, struct arena *mem);
/* "no progress": a recorded reason as a person says it. */
const char *view_reason(struct str reason);

#endif
