/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* gitwatch: what of a repository decides which programs git runs and where its branches are, compared before and after.
 *
 * Landlock cannot take .git out of a workspace. So its configuration, hooks and refs are looked at around each command,
 * and its configuration and hooks also against the start of the run, since another process may write them in between.
 *
 * Shape    gitwatch_open at the start, before a hostile byte is read. gitwatch_look whenever something ended, with refs:
 *          when commands ran; gitwatch_mark when none runs and one is to start: refs count from here on.
 * Memory   Names and hashes; gitwatch_close frees. No descriptor stays open.
 * Errors   gitwatch_open: a repository that cannot be read. Later what cannot be read has changed.
 * Limit    Objects, logs and the run's own refs are not compared. Of the index only
 *          what makes git enter a directory or pass over a file is, around commands as refs are; what is staged is not, and
 *          neither is an index that is split or sparse.
 *          On a file system whose clock is behind ours by seconds a change that leaves size and times is not seen. A repository with more than
 *          GITWATCH_MAX names is compared without its refs, and `partial` says so.
 * Source   gitrepository-layout(5).
 */
#ifndef SANDBOX_GITWATCH_H
#define SANDBOX_GITWATCH_H

#include "base/buf.h"
#include "sandbox/policy.h"

#define GITWATCH_MAX 20000

struct gitwatch;

/* One number of what counts in the bytes of an index: gitindex_digest of git/gitindex.h, which lies above this room. */
typedef int gitwatch_digest_fn(struct str bytes, const uint64_t key[2], uint64_t *out, struct err *err);

struct gitwatch_spec { /* borrowed; C strings that outlive the watch */
	const struct policy_list *inner; /* the .git of other repositories, submodules above all; or NULL */
	gitwatch_digest_fn *digest;      /* NULL: the index is not looked at */
	const char *dot_git;             /* the entry in the workspace; NULL: only the inner ones are looked at */
	const char *git_dir, *common_dir;
	const char *run_id;              /* whose refs may move; "": nobody's */
};

int gitwatch_open(const struct gitwatch_spec *spec, struct gitwatch **out, bool *partial, struct err *err) CHECKED;
void gitwatch_close(struct gitwatch *w); /* NULL is fine */
void gitwatch_mark(struct gitwatch *w);
/* Adds what changed since the last look, a name a line, to `changed`; what does not fit is counted there. */
void gitwatch_look(struct gitwatch *w, bool refs, struct buf *changed);

#endif
