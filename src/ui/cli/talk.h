/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* talk: a conversation on a terminal, question after question, as one ask session.
 *
 * Shape    talk_run until the person ends it. Each question is a leg of the session, in a process of its own (app/leash.h);
 *          this one holds the terminal in between and reads nothing of the record.
 * Errors   As app_run. The exit status is the last leg's.
 * Source   docs/modes.md, "A conversation".
 */
#ifndef UI_CLI_TALK_H
#define UI_CLI_TALK_H

#include "app/run.h"
#include "ui/cli/command.h"

/* rq->task is the first question, or empty; rq->context opens each conversation. */
int talk_run(struct command_ctx *ctx, struct run_request *rq, struct err *err) CHECKED;

#endif
