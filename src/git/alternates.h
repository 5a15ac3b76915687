/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* alternates: where else a repository has its objects, by reading, without running git.
 *
 * Shape    alternates_find: every object directory that objects/info/alternates names, and those that these name.
 * Memory   Canonical paths, in the arena. One that does not exist is left out, as git leaves it out.
 * Errors   -ERR_LIMIT when there are more than ALTERNATES_MAX, or they go deeper than git follows them.
 * Source   gitrepository-layout(5).
 */
#ifndef GIT_ALTERNATES_H
#define GIT_ALTERNATES_H

#include "base/arena.h"
#include "fmt/field.h"

#define ALTERNATES_MAX 64

int alternates_find(const char *common_dir, struct arena *mem, struct str_list *out, struct err *err) CHECKED;

#endif
