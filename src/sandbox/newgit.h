/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* newgit: a repository that appears where there was none is set aside before any git believes in it.
 *
 * Whoever enters a directory with git runs what its .git says: hooks, an fsmonitor, filters. In a workspace without a
 * .git nothing is mounted over the name, since that would create it; so the directory is looked at instead, whenever
 * something that could write there has ended. Both forms are seen: a .git of any kind (directory, file, link), and the
 * directory itself becoming a bare repository: HEAD, and either commondir or objects and refs, whatever these are. A .git
 * that was there at the start and is no repository stays until it is exchanged or becomes one.
 *
 * Limit    A process that is killed looks no more: what appears in the moment of a kill -9 of the whole run stays. A
 *          directory that had all these names at the start is not looked at for them: newgit_is_like, and refuse it.
 *
 * Shape    newgit_open at the start, before a hostile byte is read; newgit_look whenever something ended: found is
 *          called once per thing that was set aside, or that could not be.
 * Memory   Paths live as long as the list that was opened.
 * Errors   newgit_open: a directory that is there and cannot be opened; one that is not there may come. newgit_look: what found returned; a rename that fails is told
 *          to found. A directory that is not there any more, or is a link, is passed over: git does not enter it either.
 * Source   gitrepository-layout(5); renameat2(2).
 */
#ifndef SANDBOX_NEWGIT_H
#define SANDBOX_NEWGIT_H

#include "sandbox/policy.h"

#include <sys/types.h>

#define NEWGIT_DIRS_MAX 64

struct newgit {
	struct newgit_dir {
		const char *path;       /* looked up anew each time: the directory may have been exchanged */
		bool was_like;          /* at the start, itself */
		bool had_git;           /* at the start there was a .git, and this is what it was */
		ino_t git_ino;
		bool inner_was_like;
	} dirs[NEWGIT_DIRS_MAX];
	size_t n;
};

/* name is what appeared (".git" or "HEAD"), moved_to its name now, in the same directory; NULL: it is where it was, and why
 * says what was in the way. */
typedef int newgit_fn(void *self, const char *dir, const char *name, const char *moved_to, const char *why,
	struct err *err);

/* Whether git could take this directory itself, not what is in it, for a repository. */
bool newgit_is_like(const char *dir);
int newgit_open(const struct policy_list *dirs, struct newgit *out, struct err *err) CHECKED;
int newgit_look(const struct newgit *g, newgit_fn *found, void *self, struct err *err) CHECKED;

#endif
