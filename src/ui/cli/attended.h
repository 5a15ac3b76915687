/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* attended: a run with a person at the terminal: leg after leg, each in a process of its own, as long as they have
 * something to say.
 *
 * Shape    run_go; or run_session for one leg that nothing comes after.
 * Errors   As app_run.
 * Source   docs/steering.md.
 */
#ifndef UI_CLI_ATTENDED_H
#define UI_CLI_ATTENDED_H

#include "app/run.h"
#include "ui/cli/command.h"

/* app_run, and what there is to say after it. */
int run_session(struct run_request *rq, struct err *err) CHECKED;
/* The run of a request to its end, with a person or without; and the merge that git.auto_merge wants after it. */
int run_go(struct command_ctx *ctx, struct run_request *rq, struct err *err) CHECKED;

#endif
