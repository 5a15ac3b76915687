/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* term_view: a run as lines on a terminal or in a pipe.
 *
 * Shape    term_view_init; term_view_item for what view_line gave; term_view_flush writes what gathered.
 * Memory   Gathers at most TERM_VIEW_BYTES between two flushes; it flushes by itself before it overflows.
 * Errors   Those of write(2), from the flush.
 * Source   docs/architecture.md, "The view". Every byte that is not ours passes term_clean.
 */
#ifndef UI_CLI_TERM_VIEW_H
#define UI_CLI_TERM_VIEW_H

#include "sys/term.h"
#include "view/fold.h"

#define TERM_VIEW_BYTES (1024 * 1024)
#define TERM_NO_COLUMNS (1 << 20) /* no terminal: nothing is cut and nothing is wrapped */

struct term_view {
	int fd;      /* -1: nothing is written, text gathers in out (tests) */
	struct term_style style;
	int cols;
	struct buf out;
	bool mid_line;   /* the cursor stands behind unfinished text */
	bool thinking;   /* that text is thinking */
	bool held_cr;    /* a carriage return came last: the next piece says what it means */
	bool open_call;  /* that text is a call whose outcome fits behind it */
	int call_cols;
	char open_id[200]; /* name and argument of that call */
	bool gate_told;  /* what the gate printed in that call stands above its outcome */
};

void term_view_init(struct term_view *t, int fd, struct term_style style, int cols);
void term_view_fini(struct term_view *t);
#define auto_term_view CLEANUP(term_view_fini)

int term_view_item(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err) CHECKED;
/* A line of our own, finished and marked as a note. */
int term_view_note(struct term_view *t, const char *text, struct err *err) CHECKED;
/* Question and choices; the cursor stays behind them. nth counts from 0. */
int term_view_ask(struct term_view *t, const struct view_prompt *p, size_t nth, struct err *err) CHECKED;
/* What the run left and what to type next. */
int term_view_end(struct term_view *t, const struct view_state *s, struct err *err) CHECKED;
/* term_say.c: what the view says by itself. The pause leaves the cursor behind its prompt. */
int term_view_pause(struct term_view *t, struct err *err) CHECKED;
int term_view_status(struct term_view *t, const struct view_state *s, struct err *err) CHECKED;
int term_view_restate(struct term_view *t, const struct view_state *s, struct err *err) CHECKED;
int term_view_preset(struct term_view *t, const struct view_state *s, struct err *err) CHECKED;
int term_view_pins(struct term_view *t, const struct view_state *s, struct err *err) CHECKED;
int term_view_shells(struct term_view *t, const struct view_state *s, struct err *err) CHECKED;
int term_view_help(struct term_view *t, struct err *err) CHECKED;
int term_view_flush(struct term_view *t, struct err *err) CHECKED;

#endif
