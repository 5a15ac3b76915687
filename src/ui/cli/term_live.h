/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* term_live: follows a run on a terminal or into a pipe and takes the operator's answers.
 *
 * Shape    term_live_open before the process confines itself, term_live_run after it.
 * Memory   The handle owns what it opens; the descriptors of the spec are borrowed.
 * Errors   What keeps it from reading the journal or writing the terminal. A run that failed is none.
 * Source   docs/steering.md. Nothing polls: inotify for the journal, epoll for the keyboard and the run's end.
 */
#ifndef UI_CLI_TERM_LIVE_H
#define UI_CLI_TERM_LIVE_H

#include "sys/term.h"

struct term_live_spec {
	const char *run_id;
	int record_fd;
	int answers_fd;  /* -1: nothing can be answered here */
	int out_fd;
	int in_fd;       /* the keyboard, or -1 */
	int over_fd;     /* becomes readable when nothing more will come: a channel or a pidfd; -1: it is over */
	int stop_fd;     /* a signalfd that ends the view, or -1 */
	int signals_fd;  /* a signalfd for SIGINT and SIGTSTP, which mean something at the terminal of the run; or -1 */
	bool over_is_terminal; /* it shows the run on the terminal it was started from, and ends when that is left */
	const char *since; /* events before this moment, as a journal writes it, are not shown; NULL: all are */
	struct term_style style;
};

struct term_live;

int term_live_open(const struct term_live_spec *spec, struct term_live **out, struct err *err) CHECKED;
void term_live_close(struct term_live *l); /* NULL is fine */
static inline void term_live_close_ptr(struct term_live **l)
{
	term_live_close(*l);
}
#define auto_term_live CLEANUP(term_live_close_ptr)

int term_live_note(struct term_live *l, const char *text, struct err *err) CHECKED;

enum term_live_end {
	LIVE_ENDED, /* the run's end was shown */
	LIVE_GONE,  /* the run is gone and never said how it ended */
	LIVE_LEFT,  /* the person left */
};
int term_live_run(struct term_live *l, enum term_live_end *out, struct err *err) CHECKED;

#endif
