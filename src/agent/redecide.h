/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* redecide: what the loop decided, decided again from the record: the nudges and stops of watch.c, the gate, and how the run
 * ended. Each turn lies between two checkpoints; what was counted stands in them, and what was said about it in the journal.
 *
 * Shape    redecide_begin at each leg; redecide_event for each event and redecide_call for each call of a turn; redecide_turn
 *          with the checkpoint after it; redecide_end with the end of the run and the last checkpoint.
 * Memory   Two states are held. Texts that are returned live until the next turn.
 * Errors   A difference is no error: found is false, or the rest of struct redecided says what it is.
 * Source   docs/loop.md; docs/architecture.md, "Replay".
 */
#ifndef AGENT_REDECIDE_H
#define AGENT_REDECIDE_H

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

struct redecide {
	struct arena *mem[2]; /* of the states, by turns */
	int at;               /* which of them `before` lies in */
	bool known, looks;    /* there is a state this turn began with; the mode changes nothing */
	struct loop_state before, after;
	struct {
		bool there;
		int64_t streak, level; /* -1: not said */
		struct journal_line line;
	} seen[REDECIDE_RULES];
	struct {
		bool ran, green;
		struct journal_line line;
	} gate;
	struct journal_line call; /* the newest */
	int64_t same_call, same_call_streak;
	int64_t ncalls;
	bool waited, finish;
};

void redecide_begin(struct redecide *d, bool looks);
void redecide_fini(struct redecide *d);
void redecide_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct jval ev);
void redecide_call(struct redecide *d, const struct journal_line *line, const struct reply_call *c);
/* went_on: another turn came, so everything that was due in this one was said. */
struct redecided redecide_turn(struct redecide *d, struct str state, bool went_on);
struct redecided redecide_end(struct redecide *d, const struct journal_line *line, struct jval end);

#endif
