/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* manual: agent6(1), printed from the tables of commands and of configuration keys.
 *
 * Shape    man(7) macros that groff and mandoc both read. Words of the tables are escaped, so that none of them
 *          is taken for a request.
 * Errors   Of the buffer.
 * Source   man(7), groff_char(7).
 */
#ifndef UI_CLI_MANUAL_H
#define UI_CLI_MANUAL_H

#include "ui/cli/args.h"

int manual_print(struct buf *out, struct err *err) CHECKED;

#endif
