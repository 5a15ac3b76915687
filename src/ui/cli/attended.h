/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* attended: a run with a person at the terminal: leg after leg, each in a process of its own, as long as they have
 * something to say.
 *
 * Shape    run_go; or run_session for one leg that nothing comes after, run_leg for one that something does.
 * Errors   As app_run.
 * Source   docs/steering.md.
 */
#ifndef UI_CLI_ATTENDED_H
#define UI_CLI_ATTENDED_H

#include "app/leash.h"
#include "ui/cli/command.h"

/* app_run, and what there is to say after it. */
int run_session(struct run_request *rq, struct err *err) CHECKED;
/* One leg in a process of its own. 0: it is over, as *end says. 1: this is that process, and *status is its own to end with. */
int run_leg(struct run_request *rq, struct leash_end *end, int *status, struct err *err) CHECKED;
/* The run of a request to its end, with a person or without; and the merge that git.auto_merge wants after it. */
int run_go(struct command_ctx *ctx, struct run_request *rq, struct err *err) CHECKED;

#endif
