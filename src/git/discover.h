/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* discover: finds the repository around a directory by reading, without running git.
 *
 * Shape    discover_repo from a directory upward; the first `.git` that is a repository wins.
 * Memory   Paths are absolute, canonical, and live in the arena.
 * Errors   -ERR_NOENT when there is none up to the root. A `.git` that is there but broken is
 *          -ERR_INVALID and says what is wrong with it.
 * Source   gitrepository-layout(5).
 */
#ifndef GIT_DISCOVER_H
#define GIT_DISCOVER_H

#include "base/arena.h"

struct discovered {
	const char *top;        /* the work tree */
	const char *dot_git;    /* top/.git: a directory, a file, or a link */
	const char *git_dir;    /* HEAD and index */
	const char *common_dir; /* objects, refs and config; equal to git_dir unless a linked worktree */
	bool is_link, is_file;  /* what dot_git is; neither: a directory */
};

int discover_repo(const char *from, struct arena *mem, struct discovered *out, struct err *err) CHECKED;

/* The other work trees that a repository knows of, beneath its own top: submodules, places of its index that are repositories
 * of their own, and work trees that were linked. Read from the repository's own files, which no command writes. */
#define DISCOVER_INNER_MAX 128
struct discovered_inner {
	const char *dirs[DISCOVER_INNER_MAX]; /* one may be absent, or reached by a link: git enters it once it is there */
	size_t n;
	bool more; /* there are others, or may be: an index could not be read */
};
int discover_inner(const struct discovered *d, struct arena *mem, struct discovered_inner *out, struct err *err) CHECKED;

#endif
