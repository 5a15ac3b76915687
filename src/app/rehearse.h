/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* rehearse: what a session would send first, without sending it.
 *
 * Shape    The session is started for real, by all its processes and with an empty recording for a model, and ends
 *          before its first request; its record, which says what it would have been told, is read and removed.
 *          Whatever is wrong here is wrong there too, and nothing is composed a second time.
 * Memory   In the arena.
 * Errors   Those that starting the session would have had, but for the model, its key, uncommitted changes and
 *          whether somebody can answer.
 */
#ifndef APP_REHEARSE_H
#define APP_REHEARSE_H

#include "app/run.h"

struct rehearsal {
	struct str system;
	struct str tools;  /* JSON: [{"name","description","input_schema"}] */
	struct str first;  /* the opening message */
};

/* rq: mode (run, plan, ask), task, config, preset and what else decides about the session. */
int app_rehearse(const struct run_request *rq, struct arena *mem, struct rehearsal *out, struct err *err) CHECKED;

#endif
