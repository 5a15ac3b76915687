/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* revise: the task restated by a model before the run begins. The person's own words stay and decide.
 *
 * Shape    revise_task before the conversation is opened; what it came to is in the run.
 * Errors   Everything that goes wrong ends the run before its first turn: prompt_revision_failed.
 * Source   docs/loop.md, "Prompt revision".
 */
#ifndef AGENT_REVISE_H
#define AGENT_REVISE_H

#include "base/err.h"

struct run;

int revise_task(struct run *r, struct err *err) CHECKED;

#endif
