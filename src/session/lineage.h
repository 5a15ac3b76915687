/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* lineage: which run was forked from which: <repo>/lineage.jsonl, one line a fork, only ever appended to.
 *
 * Shape    lineage_add when a fork stands; lineage_load for all.
 * Memory   What was loaded lives in the arena.
 * Errors   A line that is none of ours is left out: the file tells where runs came from and decides nothing.
 * Source   {"child","parent","turn","sha","ts"}
 */
#ifndef SESSION_LINEAGE_H
#define SESSION_LINEAGE_H

#include "base/arena.h"
#include "base/err.h"

#define LINEAGE_NAME "lineage.jsonl"

struct lineage {
	struct str child, parent, sha, ts;
	int64_t turn;
};

int lineage_add(const char *repo_dir, const struct lineage *l, struct err *err) CHECKED; /* ts is set by it */
int lineage_load(const char *repo_dir, struct arena *mem, struct lineage **out, size_t *n, struct err *err) CHECKED;

#endif
