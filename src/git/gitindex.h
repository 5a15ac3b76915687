/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* gitindex: what an index names, and which of its paths are repositories of their own, read without running git.
 *
 * Shape    gitindex_links calls found once per entry of mode 160000, in the index's order, whatever its stage.
 *          gitindex_digest is one number of what makes git enter a directory as a repository or pass over a changed file:
 *          those entries, and marks such as assume-unchanged. What is staged, and what git remembers of files, is not in it.
 * Memory   The path is borrowed for the call. It is relative, and clean: no "..", no empty name.
 * Errors   -ERR_INVALID: not an index of version 2 to 4, or not whole, or a split or sparse one, which does not name every
 *          path; links may have been found before. What found returned.
 * Source   gitformat-index(5).
 */
#ifndef GIT_GITINDEX_H
#define GIT_GITINDEX_H

#include "fmt/field.h"

typedef int gitindex_found_fn(void *self, struct str path, struct err *err);

/* key: unknown to who wrote it, so that no other index can be made to have the same number. */
int gitindex_digest(struct str bytes, const uint64_t key[2], uint64_t *out, struct err *err) CHECKED;
/* digits: of an object's name there, 40 or 64. Every path once, in the index's order: the first max of them, and how many there are. */
int gitindex_names(struct str bytes, size_t digits, size_t max, struct arena *mem, struct str_list *out, size_t *total,
	struct err *err) CHECKED;
int gitindex_links(struct str bytes, gitindex_found_fn *found, void *self, struct err *err) CHECKED;

#endif
