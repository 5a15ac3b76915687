/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* choose: a person at a terminal picks one of a server's models.
 *
 * Shape    choose_model shows the list, numbered, and asks until there is a choice: a number, a name, or a part of
 *          names that narrows the list. A name that is not in it is taken when it is typed twice.
 * Memory   The name is in the arena or the list's.
 * Errors   As prompt.h: -ERR_STOPPED, -ERR_CLOSED.
 */
#ifndef UI_CLI_CHOOSE_H
#define UI_CLI_CHOOSE_H

#include "app/models.h"

int choose_model(const struct model_list *list, struct arena *mem, struct str *out, struct err *err) CHECKED;

#endif
