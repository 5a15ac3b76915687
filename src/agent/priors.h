/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* priors: what a newcomer would learn of a repository by looking around: where files are, and which change together.
 *
 * Shape    priors_map and priors_pairs append lines; nothing when there is nothing worth a line.
 * Memory   Scratch in the arena.
 * Errors   -ERR_LIMIT when out is full. priors_symbols: -ERR_STOPPED and -ERR_CLOSED as from below; an index worker that fails
 *          otherwise is one that has nothing to say.
 * Units    PRIORS_MAP, PRIORS_PAIRS, PRIORS_HOT and PRIORS_NAMES bytes at most: they are paid for with every request of the run.
 * Source   docs/loop.md, "Priors".
 */
#ifndef AGENT_PRIORS_H
#define AGENT_PRIORS_H

#include "fmt/field.h"

#define PRIORS_MAP     1536
#define PRIORS_PAIRS   768
#define PRIORS_HOT     448
#define PRIORS_NAMES   1024
#define PRIORS_COMMITS 200 /* looked at for what changes together */

/* files: tracked names. Directories below the top, shallow ones first, each with its first files. */
int priors_map(const struct str_list *files, struct arena *mem, struct buf *out, struct err *err) CHECKED;
/* log: GIT_LOG_NAMES. Pairs of tracked files that at least two commits changed both, most often first. */
int priors_pairs(struct str log, const struct str_list *files, struct arena *mem, struct buf *out, struct err *err) CHECKED;
/* Names of the code: those that most files use, and what the files define whose names are used most. */
struct tool_ctx;
int priors_symbols(const struct tool_ctx *whom, const struct str_list *files, struct arena *mem, struct buf *out, struct err *err) CHECKED;

#endif
