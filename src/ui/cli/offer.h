/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* offer: nothing is configured, but there may be a model on this machine.
 *
 * Shape    offer_local before a run. It looks only when no provider and no model are configured. What a person
 *          chooses is configured as `agent6 connect` and `agent6 model` would.
 * Errors   -ERR_DENIED with the commands to type where nobody can be asked; as prompt.h otherwise. 0 when
 *          there is nothing to offer: the run says itself that it has no model.
 */
#ifndef UI_CLI_OFFER_H
#define UI_CLI_OFFER_H

#include "ui/cli/command.h"

int offer_local(struct command_ctx *ctx, bool can_ask, struct err *err) CHECKED;

#endif
