/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* owner: whose a repository is, as git asks before it believes in one.
 *
 * Shape    owner_foreign looks; when it finds something, owner_is_safe says whether the person has named the place.
 * Memory   The path is borrowed from d.
 * Errors   None. What cannot be looked at is not ours.
 * Source   git-config(1), "safe.directory", in its newest meaning: a link in what the person wrote is followed, "DIR" followed
 *          by a slash and a star is everything below it, "." is the current directory, an empty value forgets the ones before.
 */
#ifndef GIT_OWNER_H
#define GIT_OWNER_H

#include "git/discover.h"

#include <sys/types.h>

/* Of the work tree, its ".git" and where that leads as a file: what belongs to somebody else, and to whom; NULL: all is ours. For
 * root what belongs to whoever called sudo is ours too. */
const char *owner_foreign(const struct discovered *d, uid_t *whose);
/* values: each ends with a NUL, in the order of git's files; "~" is written out. */
bool owner_is_safe(struct str values, const char *top);

#endif
