/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* bare: a command with nothing around it: profile "none".
 *
 * Shape    bare_run as once_run, which calls it.
 */
#ifndef SANDBOX_BARE_H
#define SANDBOX_BARE_H

#include "sandbox/once.h"

int bare_run(const struct sandbox_policy *p, struct once_result *out, struct err *err) CHECKED;

#endif
