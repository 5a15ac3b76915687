/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* plain: what the files of an ordinary repository tell whoever may read hostile bytes, so that git need not be asked.
 *
 * Shape    plain_config first: whether the repository's own configuration is one that leaves the other files their usual
 *          meaning and names no program. A word that could change the answer, wherever it stands, what git would not read to
 *          its end, an unknown version, and the repository is not plain. Then plain_files and plain_ref.
 * Memory   Results live in the arena.
 * Errors   None: what cannot be told with certainty is git's to answer.
 * Source   git-config(1), "CONFIGURATION FILE"; gitrepository-layout(5); gitformat-index(5).
 */
#ifndef GIT_PLAIN_H
#define GIT_PLAIN_H

#include "fmt/field.h"
#include "git/discover.h"

/* No filter or merge driver, no sharing among users, no further file, no extension of the format. */
bool plain_config(const struct discovered *d);
/* As git ls-files --cached --deduplicate has them, the first max. False: git must be asked. */
bool plain_files(const struct discovered *d, size_t max, struct arena *mem, struct str_list *out, size_t *total);
/* refs/...: 1 and what it holds, which nobody has looked at; 0: there is none; -1: git must be asked. */
int plain_ref(const struct discovered *d, struct str ref, struct arena *mem, struct str *sha);
/* What came before this commit was not fetched: the clone is shallow. */
bool plain_is_cut(const struct discovered *d, struct str sha, struct arena *mem);
/* How many digits the name of an object has there; 0: the files do not tell, or not all refs are files. */
size_t plain_names(const struct discovered *d, struct arena *mem);

#endif
