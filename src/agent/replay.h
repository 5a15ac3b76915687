/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* replay: a recorded run made again from its transcripts, without a model and without a tool.
 *
 * Shape    replay_run over the descriptor of record/, in a process that is confined to it: every byte may be
 *          hostile. What follows from the record is made anew by the code that made it, and compared:
 *          the prompt with its hash in the chain; each request with the conversation of that moment; from each
 *          answer what the journal says of it, the message that was kept, and the calls; from each turn the nudges, what the gate
 *          meant, and why the run stopped (agent/redecide.h). What came from outside (results of tools, git, the clock, the
 *          operator) is taken from the record.
 * Memory   The report is inline.
 * Errors   Only what keeps it from reading. A difference is no error: it is in the report.
 * Source   docs/architecture.md, "Replay".
 */
#ifndef AGENT_REPLAY_H
#define AGENT_REPLAY_H

#include "base/err.h"

struct replay_report {
	int64_t events, requests, answers, calls; /* compared */
	int64_t left_out;   /* requests whose text was too large to be kept */
	int64_t seq;        /* the first event that differs; 0: none */
	int64_t turn;       /* in which turn; 0: before the first */
	char type[64];
	char what[192];     /* what of it */
	char was[256], now[256]; /* around the first byte that differs: as recorded, as made anew */
};

int replay_run(int record_fd, struct replay_report *out, struct err *err) CHECKED;

#endif
