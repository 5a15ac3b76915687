/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* history: what a run left in the repository: its commits, its diff, and bringing them to a branch.
 *
 * Shape    history_open for one run, then the calls, then history_close. git runs in a cell of its own
 *          (app/gitbox.h), so nothing the repository chose is executed.
 * Memory   Results live in the arena that was given at the opening.
 * Errors   -ERR_NOENT a run without commits where some are needed, a branch that is not there; -ERR_BUSY
 *          a run that is still going; -ERR_DENIED no identity for a commit; git's own in one line.
 * Source   docs/git.md.
 */
#ifndef APP_HISTORY_H
#define APP_HISTORY_H

#include "app/place.h"
#include "git/repo.h"
#include "session/layout.h"
#include "session/manifest.h"

struct history;

/* MERGE: the run is locked and may write branches. DROP: it is locked and its own refs may go. */
enum history_use { HISTORY_READ, HISTORY_MERGE, HISTORY_DROP };

/* Brings back what git.auto_stash set aside before a run, whether there is a record of that run or not. sha: as the run told
 * before it began; whoever moved the ref since is told nothing by us. */
int history_unstash(const struct place *place, const char *run_id, struct str sha, struct arena *mem, enum repo_unstash *out,
	struct str_list *names, struct err *err) CHECKED;

int history_open(const struct place *place, const struct session_ref *ref, enum history_use use, struct arena *mem,
	struct history **out, struct err *err) CHECKED;
void history_close(struct history *h); /* NULL is fine */
static inline void history_close_ptr(struct history **h)
{
	history_close(*h);
}
#define auto_history CLEANUP(history_close_ptr)

const struct config_git *history_config(const struct history *h);
const struct manifest *history_manifest(const struct history *h);
struct str history_branch(const struct history *h); /* "agent6/<id>"; empty: no branch was kept */

/* What was set aside before the run and is still so: its commit; empty: there is nothing. */
int history_stash(struct history *h, struct str *sha, struct err *err) CHECKED;
/* The run's commits, oldest first; none is no error. */
int history_commits(struct history *h, struct repo_commit **out, size_t *n, struct err *err) CHECKED;
/* From where the run began to where it is. Empty: no changes. */
int history_diff(struct history *h, const struct str_list *paths, bool stat, struct str *out, struct err *err) CHECKED;

/* The files of the work tree that are not what the run's last commit has; none when it made none. */
int history_differs(struct history *h, struct str_list *out, struct err *err) CHECKED;

/* What the newest end of the run says: files that it changed and that are in no commit, as they are shown. */
struct str_list history_edited_untracked(const struct history *h);
struct str_list history_deleted_untracked(const struct history *h);
/* Files that the gate's command names and the run changed, as they are shown (agent/gate_files.h). The gates that
 * the configuration sets and that the run used count; words: another one, or none. */
int history_gate_touched(struct history *h, struct str_list words, struct str_list *out, struct err *err) CHECKED;
/* The same of files that lie there and are in no commit: whether they are as they were nobody can say. */
int history_gate_untracked(struct history *h, struct str_list words, struct str_list *out, struct err *err) CHECKED;

struct history_merge {
	enum repo_how how;
	struct str into;    /* empty: the branch the run began on */
	struct str message; /* empty: made from the task and the steps, as git.commit.squash.message says */
};
struct history_merged {
	struct repo_merged git;
	struct str into;
	bool recorded; /* the run's manifest says so now */
	bool pruned;   /* the run's branch is gone (git.auto_prune) */
};
int history_merge(struct history *h, const struct history_merge *ask, struct history_merged *out, struct err *err)
	CHECKED;

/* Whether all that it committed is in the branch it was merged into, in the one it began on, or in HEAD; true too
 * when it committed nothing. where: which; or empty. */
int history_is_merged(struct history *h, bool *merged, struct str *where, struct err *err) CHECKED;
/* Its branch, where it is as the run left it, and its chain. -ERR_DENIED while the branch is checked out. */
int history_drop(struct history *h, bool *branch_kept, struct err *err) CHECKED;

#endif
