/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* gitindex: which paths of an index are repositories of their own, read without running git.
 *
 * Shape    gitindex_links calls found once per entry of mode 160000, in the index's order, whatever its stage.
 * Memory   The path is borrowed for the call. It is relative, and clean: no "..", no empty name.
 * Errors   -ERR_INVALID: not an index of version 2 to 4, or not whole, or a split or sparse one, which does not name every
 *          path; links may have been found before. What found returned.
 * Source   gitformat-index(5).
 */
#ifndef GIT_GITINDEX_H
#define GIT_GITINDEX_H

#include "base/err.h"
#include "base/str.h"

typedef int gitindex_found_fn(void *self, struct str path, struct err *err);

int gitindex_links(struct str bytes, gitindex_found_fn *found, void *self, struct err *err) CHECKED;

#endif
