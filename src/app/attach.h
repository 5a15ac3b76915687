/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* attach: what a person puts before a task: files, an earlier session, a plan, answers to its questions.
 *
 * Shape    Each call adds one block to the context of a struct run_request. Blocks are data for the model and are
 *          told before the person's own words.
 * Memory   Appends to out.
 * Errors   -ERR_NOENT, -ERR_INVALID, -ERR_LIMIT naming the file or the session.
 * Units    ATTACH_MAX bytes in all: what does not fit one message to the agent's start is refused.
 * Source   docs/modes.md.
 */
#ifndef APP_ATTACH_H
#define APP_ATTACH_H

#include "app/place.h"
#include "session/layout.h"

#define ATTACH_MAX      (1024 * 1024)
#define ATTACH_FILE_MAX (64 * 1024)

int attach_file(struct str path, struct buf *out, struct err *err) CHECKED;
/* Task, state and outcome of a session, and how it ended. */
int attach_session(const struct place *place, const struct session_ref *ref, struct arena *mem, struct buf *out,
	struct err *err) CHECKED;
/* plan.md; what: how it is introduced. The task of the plan, when task is not NULL. */
int attach_plan(const struct place *place, const struct session_ref *ref, const char *what, struct arena *mem,
	struct buf *out, struct str *task, struct err *err) CHECKED;
/* {"questions":[{"id","question","answer"}]}, as --questions-file wrote it and a person filled it in. */
int attach_answers(struct str path, struct buf *out, struct err *err) CHECKED;

#endif
