/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* ongoing: whether a branch is in the middle of something that git will finish later: a merge, a rebase, a
 * cherry-pick, a revert, a bisection, here or in another worktree. Moving it then would break what the person does.
 *
 * Shape    ongoing_check before a branch moves. Reads what git leaves in its directories; runs nothing.
 * Memory   Scratch goes into the arena.
 * Errors   -ERR_CONFLICT naming what is going on, where, and how it ends.
 * Source   gitrepository-layout(5); git-merge(1), git-rebase(1), git-bisect(1).
 */
#ifndef GIT_ONGOING_H
#define GIT_ONGOING_H

#include "git/discover.h"

int ongoing_check(const struct discovered *d, struct str branch, struct arena *mem, struct err *err) CHECKED;

#endif
