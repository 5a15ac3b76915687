/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* tasks: the task list and the notes of a run, as the loop sees them.
 *
 * Shape    tasks_open once the conversation is there; tasks_turn after a turn's calls: what changed goes on record,
 *          and what is next to the model; tasks_gate when it wants to finish.
 * Memory   The graph is the run's, from tasks_open to tasks_fini; a text for the model lives in the turn's arena.
 * Errors   Those of the channel to the recorder. What tasks_host_graph is given, the graph has taken already.
 * Source   docs/tasks.md, docs/memory.md.
 */
#ifndef AGENT_TASKS_H
#define AGENT_TASKS_H

#include "agent/run_priv.h"

int tasks_open(struct run *r, struct str journal, struct err *err) CHECKED; /* journal: of an earlier leg, or empty */
void tasks_fini(struct run *r);
int tasks_turn(struct run *r, struct turn *t, struct err *err) CHECKED;
/* An operation of ours: the focus moves, a plan's steps become tasks, one of them is under way. */
int tasks_apply(struct run *r, const struct graph_op *op, struct err *err) CHECKED;
/* Open tasks: the finish is sent back, a few times. True: it was. */
bool tasks_gate(struct run *r, struct turn *t);

void tasks_note_update(struct note *n, const struct graph *g); /* the members of graph.update */

/* tool_host */
int tasks_host_graph(void *self, const struct graph_op *op, int64_t version, struct err *err) CHECKED;
int tasks_host_note(void *self, enum note_how how, struct str id, struct str json, struct err *err) CHECKED;

#endif
