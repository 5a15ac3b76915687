/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* bare: a command with nothing around it: profile "none".
 *
 * Shape    bare_run as once_run, which calls it.
 * Memory   At most 64 MiB of each stream are held until the command ends; out keeps what capture.h keeps.
 * Errors   A program that is not there, may not be executed or takes too long is a result. What kept us from starting it is an error.
 */
#ifndef SANDBOX_BARE_H
#define SANDBOX_BARE_H

#include "sandbox/once.h"

int bare_run(const struct sandbox_policy *p, struct once_result *out, struct err *err) CHECKED;

#endif
