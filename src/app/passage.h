/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* passage: what a command writes into a pipe, passed on to a descriptor of ours as it comes, without bound.
 *
 * Shape    passage_open; put passage_poll into a poll set; passage_step with what poll said; passage_over when the
 *          command's side ended and all was written. passage_last once the command is gone: what is in the pipe
 *          is still passed on, and nobody who may hold its other end is waited for.
 * Memory   Owns `from`, borrows `to`. At most one block is held, and what passage_keep asked for.
 * Errors   A write that fails. Nothing here blocks: a reader that is slow is waited for in poll.
 */
#ifndef APP_PASSAGE_H
#define APP_PASSAGE_H

#include "base/buf.h"

#include <poll.h>

struct passage {
	int from; /* -1: at its end */
	int to;
	bool clean;    /* `to` is a terminal: what could steer it is shown instead (sys/term.h) */
	bool last;
	bool moves;    /* `to` is a pipe too: the kernel moves pages, nothing is copied */
	bool full;     /* moves: the other pipe was full */
	bool end_only; /* passage_keep_end */
	struct buf kept; /* passage_keep: the last bytes that came, as they came */
	struct buf in;  /* clean: the beginning of a character, or a CR that LF may follow */
	struct buf out; /* not written yet, from `at` on */
	size_t at;
};

void passage_open(struct passage *p, int from, int to, bool clean);
void passage_fini(struct passage *p);
/* After passage_open: the last n bytes stay in `kept` as well. They are copied for that, where the kernel might move them. */
void passage_keep(struct passage *p, size_t n);
/* The same, and where the kernel moves what comes, all but the last n bytes of a piece are moved and no more in `kept`: it holds
 * the end of what came, at most n bytes, and perhaps only of its last piece. */
void passage_keep_end(struct passage *p, size_t n);
void passage_last(struct passage *p);
struct pollfd passage_poll(const struct passage *p);
bool passage_waits(const struct passage *p); /* false: passage_step has something to do whatever poll says */
bool passage_over(const struct passage *p);
int passage_step(struct passage *p, short revents, struct err *err) CHECKED;

#endif
