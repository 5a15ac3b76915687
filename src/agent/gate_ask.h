/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* gate_ask: a model is asked for the command that tests this repository, where no rule of gate.h knows one.
 *
 * Shape    gate_ask once, when a run begins; the caller knows that models.reviewer is set. It asks only where there is something to read: a build file or AGENTS.md.
 *          The answer is words of a program that the jail can find and that can fail; it is never stored, it runs where
 *          every command runs, and the operator is shown it before it does.
 * Memory   The command lives in the run's arena.
 * Errors   No answer, or none that can be used, is no gate, and the person is told; what ends the run is in r->reason.
 * Source   docs/loop.md, "The gate".
 */
#ifndef AGENT_GATE_ASK_H
#define AGENT_GATE_ASK_H

#include "agent/gate.h"

struct run;
int gate_ask(struct run *r, struct gate_found *out, struct err *err) CHECKED;

/* Why these words are no gate; NULL: they may be one. */
const char *gate_objection(int root_fd, const struct str_list *path, const struct str_list *command);

#endif
