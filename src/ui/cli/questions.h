/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* questions: what a plan leaves open, as text for a person.
 *
 * Shape    questions_text adds what questions.json of a record asks, cleaned for a terminal, and how to answer it;
 *          nothing when it asks nothing.
 * Memory   *fd is the caller's; scratch in the arena.
 * Errors   Those of reading. A file that is no such JSON asks nothing: the plan is shown all the same.
 * Source   docs/modes.md, "Context".
 */
#ifndef UI_CLI_QUESTIONS_H
#define UI_CLI_QUESTIONS_H

#include "base/arena.h"
#include "base/buf.h"

/* The file of --questions-file, for writing and with what was in it: the session empties it when it begins. No part of
 * the path may be a symbolic link, and the file is a regular one with no second name. path empty: fd stays. */
int questions_open(struct str path, struct arena *mem, int *fd, struct err *err) CHECKED;
int questions_text(int record, const char *id, struct buf *out, struct err *err) CHECKED;

#endif
