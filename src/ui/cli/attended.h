/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* attended: a run with a person at the terminal: leg after leg, each in a process of its own, as long as they have
 * something to say.
 *
 * Shape    run_attended where run_has_person, else app_run.
 * Errors   As app_run.
 * Source   docs/steering.md.
 */
#ifndef UI_CLI_ATTENDED_H
#define UI_CLI_ATTENDED_H

#include "app/run.h"
#include "ui/cli/command.h"

bool run_has_person(const struct run_request *rq);
/* app_run, and what there is to say after it. */
int run_session(struct run_request *rq, struct err *err) CHECKED;
int run_attended(struct command_ctx *ctx, struct run_request *rq, struct err *err) CHECKED;

#endif
