/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* guards: the guardians of a zygote without namespaces, one for each command at a time.
 *
 * Shape    guards_open once; guards_spawn per command: a guardian that is free takes it, or a new one is forked. When all
 *          of a command is gone and that was told, its guardian makes the process of the next one, which waits confined.
 *          Its `pidfd` is readable when the command and everything it left are gone; then guards_reap. guards_kill at
 *          any time before. A guardian that read a command's memory serves no second one.
 * Memory   A struct jail of guards has its guardian until guards_reap; guards_close ends them all.
 * Errors   As jail_spawn. A guardian that was killed is a command that was killed: its orphans are found and ended.
 * Source   docs/sandbox.md, "Hardened".
 */
#ifndef SANDBOX_GUARDS_H
#define SANDBOX_GUARDS_H

#include "sandbox/ground.h"
#include "sandbox/jail.h"

/* ground is borrowed. exe, index_exe: the programs that the agent and the index class execute, or -1. */
int guards_open(const struct ground *ground, int exe, int index_exe, struct guards **out, struct err *err) CHECKED;
void guards_close(struct guards *g);
int guards_spawn(struct guards *g, const struct jail_spec *spec, struct jail *out, struct err *err) CHECKED;
void guards_kill(const struct jail *j);
int guards_reap(struct jail *j, struct jail_status *out, struct err *err) CHECKED;

#endif
