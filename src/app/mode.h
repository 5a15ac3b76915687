/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* mode: what kinds of session there are, and what each may do, in one table.
 *
 * Shape    A session's mode follows from the directory it lies in, never from what its record says: an agent writes
 *          the record, and a resumed `ask` must not come back as a `run`.
 * Source   docs/modes.md.
 */
#ifndef APP_MODE_H
#define APP_MODE_H

#include "config/config.h"
#include "session/layout.h"

struct app_mode {
	const char *word;        /* "run": as agent and manifest say it */
	enum session_kind kind;
	enum config_role driver; /* whose model leads the conversation */
	bool writes;             /* the workspace, the run's refs, notes; else every cell is read-only */
	bool commands;           /* may run any at all */
	bool needs_repo;
};

const struct app_mode *app_mode_find(const char *word);             /* NULL: there is none */
const struct app_mode *app_mode_of_kind(enum session_kind kind);    /* NULL: not one that app_run drives */

#endif
