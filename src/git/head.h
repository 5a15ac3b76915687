/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* head: where a repository stands, by reading its files, without running git.
 *
 * Who starts a run notes the branch and the commit it begins at before anybody who reads hostile bytes is there; what
 * `runs merge` changes and what `runs diff` begins with is then nobody else's word.
 *
 * Shape    head_read: 1 and *out, or 0 where the files do not tell (refs that are not kept as files, a HEAD or a branch
 *          that is itself a link): ask git then.
 * Memory   In the arena.
 * Errors   A file that cannot be read.
 * Source   gitrepository-layout(5); git-pack-refs(1).
 */
#ifndef GIT_HEAD_H
#define GIT_HEAD_H

#include "git/discover.h"
#include "git/repo.h"

int head_read(const struct discovered *d, struct arena *mem, struct repo_head *out, struct err *err) CHECKED;

#endif
