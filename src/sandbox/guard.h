/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* guard: a command under Landlock and a filter alone, and the process that watches over it: profile "hardened".
 *
 * Shape    guard_start forks the guardian; it starts the command, writes a struct once_verdict, answers metadata
 *          calls, and when the command ends, or the life descriptor is closed by whoever holds it, kills
 *          everything the command left, removes its private directory and exits with the command's status.
 * Errors   What Landlock cannot express is refused: hiding, protecting.
 */
#ifndef SANDBOX_GUARD_H
#define SANDBOX_GUARD_H

#include "sandbox/cell.h"
#include "sandbox/once_priv.h"

/* *life is the caller's: closing it ends the command. */
int guard_start(const struct once *o, struct cell_proc *out, int *life, struct err *err) CHECKED;

#endif
