/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* repo: what we read from a repository and what we add to it.
 *
 * Shape    repo_open over a git_host (the agent's channel to the git zygote, or app/gitbox.h on the host), then
 *          the calls below; one handle per run, it remembers the run's own index.
 *          HEAD, the person's index and the checkout are never touched, except by repo_merge of a checked-out
 *          branch, and there only index entries and files that still are what the old tip says.
 * Memory   Results live in the arena that is passed in. Names are bytes, relative to the work tree.
 * Errors   git's own complaint in one line, with what was being done. -ERR_CONFLICT when a ref moved under us.
 * Source   docs/git.md.
 */
#ifndef GIT_REPO_H
#define GIT_REPO_H

#include "fmt/field.h"
#include "git/discover.h"
#include "git/gitop.h"
#include "git/message.h"

#define REPO_BIG_FILE (64u << 20) /* larger files are left out of steps, and named */

struct git_result {
	int code; /* exit status */
	struct str out, errs;
};

/* Runs one operation to its end. -ERR_... when it could not be run at all; a git that failed is a result. */
struct git_host {
	void *self;
	int (*run)(void *self, enum git_op op, const struct str *args, size_t n, struct str in, struct arena *mem,
		struct git_result *out, struct err *err);
	/* Begins one that takes no input; the next run of the same words takes what comes of it. NULL: it cannot. */
	int (*begin)(void *self, enum git_op op, const struct str *args, size_t n, struct err *err);
	/* The repository's files, for who may read what others wrote there (git/plain.h): git is not asked what they tell.
	 * NULL: it is asked everything. */
	const struct discovered *files;
};

struct repo;

/* workspace_fd: the top of the work tree, borrowed. run_id: "" when nothing will be recorded. */
int repo_open(const struct git_host *host, int workspace_fd, struct str run_id, struct repo **out, struct err *err)
	CHECKED;
void repo_close(struct repo *r);

struct repo_head {
	bool unborn;       /* the branch has no commit yet; sha is empty */
	struct str sha;
	struct str branch; /* "main"; empty: detached */
};

struct repo_status {
	struct repo_head head;
	struct str_list dirty;      /* tracked files that differ from HEAD, staged or not, without submodules */
	struct str_list untracked;  /* every file, ignored ones left out; nested repositories end in '/' */
	bool unmerged;              /* a merge or rebase stopped at a conflict */
};

/* Of what the calls below will ask for anyway: git begins to find it out now, one beside the other where the host can.
 * What the calls then say is how it was at that time. */
enum repo_ahead {
	AHEAD_STATUS = 1, /* repo_status, repo_head */
	AHEAD_CHAIN = 2,  /* repo_chain */
	AHEAD_FILES = 4,  /* repo_files */
	AHEAD_COMMITS = 8 /* repo_commits of HEAD, REPO_COMMITS_AHEAD of them */
};
#define REPO_COMMITS_AHEAD 8
int repo_ahead(struct repo *r, unsigned what, struct err *err) CHECKED;
/* Of what a step, or the question whether there is one, will need: the run's own index is set to the commit it will stand on, as
 * far as that is known (base: where a chain without a step stands); then, when that has been done, the tree is compared with it. */
struct repo_step;
int repo_ahead_index(struct repo *r, struct str base, struct err *err) CHECKED;
int repo_ahead_scan(struct repo *r, const struct repo_step *step, struct err *err) CHECKED;

int repo_head(struct repo *r, struct arena *mem, struct repo_head *out, struct err *err) CHECKED;
int repo_status(struct repo *r, struct arena *mem, struct repo_status *out, struct err *err) CHECKED;
/* At most max tracked files; total says how many there are. */
int repo_files(struct repo *r, size_t max, struct arena *mem, struct str_list *out, size_t *total, struct err *err)
	CHECKED;

struct repo_commit {
	struct str sha, subject;
	int64_t time_s; /* author's */
};
/* Commits reachable from `to` but not from `from` (may be empty), newest first, at most max. */
int repo_commits(struct repo *r, struct str from, struct str to, size_t max, struct arena *mem,
	struct repo_commit **out, size_t *n, struct err *err) CHECKED;

/* What each of the newest max commits changed, as GIT_LOG_NAMES says it. */
int repo_log_names(struct repo *r, struct str to, size_t max, struct arena *mem, struct str *out, struct err *err) CHECKED;

/* rev: an object name, "HEAD", "refs/heads/NAME" or "refs/agent6/ID/head". Found 1, absent 0. */
int repo_read_ref(struct repo *r, struct str rev, struct arena *mem, struct str *sha, struct err *err) CHECKED;
/* expr: whatever git takes for one commit ("HEAD~3", "v1", "@{u}"); -ERR_INVALID with the reason for what is never asked. */
int repo_resolve(struct repo *r, struct str expr, struct arena *mem, struct str *sha, struct err *err) CHECKED; /* 1, 0 */
int repo_merge_base(struct repo *r, struct str a, struct str b, struct arena *mem, struct str *sha, struct err *err)
	CHECKED; /* two object names; 1, 0: they have nothing in common */
/* The tip of the run's own chain, as it was when it was asked for first. Found 1, absent 0. */
int repo_chain(struct repo *r, struct arena *mem, struct str *sha, struct err *err) CHECKED;
/* Of all runs, the chain with the newest commit: its run and its tip. Found 1, there is none 0. */
int repo_newest_chain(struct repo *r, struct arena *mem, struct str *run_id, struct str *sha, struct err *err) CHECKED;
int repo_branch_exists(struct repo *r, struct str name, struct err *err) CHECKED; /* 1, 0 */
int repo_is_ancestor(struct repo *r, struct str a, struct str b, struct err *err) CHECKED; /* 1, 0 */
/* An empty `from` is the empty tree. */
int repo_diff(struct repo *r, struct str from, struct str to, const struct str_list *paths, struct arena *mem,
	struct str *patch, struct err *err) CHECKED;
int repo_diff_stat(struct repo *r, struct str from, struct str to, const struct str_list *paths, struct arena *mem,
	struct str *text, struct err *err) CHECKED;

/* Tracked files of the work tree against a commit, or against where HEAD's history left it. */
int repo_diff_work(struct repo *r, struct str from, bool merge_base, struct arena *mem, struct str *patch, struct err *err)
	CHECKED;

/* The names of files that are not on disk as that commit has them, each read and compared. What git does not track is
 * not looked at. */
int repo_differs(struct repo *r, struct str commit, struct arena *mem, struct str_list *out, struct err *err) CHECKED;
/* The paths that two trees or commits differ in; an empty `from` is the empty tree. */
int repo_changed(struct repo *r, struct str from, struct str to, struct arena *mem, struct message_path **out, size_t *n,
	struct err *err) CHECKED;

struct repo_step {
	struct str base;              /* commit the run started at; empty: the branch was unborn */
	const struct str_list *skip;  /* untracked when the run started; NULL: none */
	struct str message;           /* whole, with its trailer */
	/* Instead of message, when not NULL: called once it is known what the step changes, between two trees. */
	int (*say)(void *self, struct str from, struct str to, struct arena *mem, struct str *message, struct err *err);
	void *self;
	bool branch;                  /* refs/heads/agent6/<id> moves along */
	uint64_t big_file;            /* 0: REPO_BIG_FILE */
};
struct repo_stepped {
	bool committed;         /* false: the tree is what the chain already has */
	struct str sha, parent; /* the chain's tip afterwards and before; empty: none */
	struct str_list paths;  /* what was looked at */
	struct str_list left_out; /* "name: why", when first left out and whenever it changed since */
	bool branch_kept;       /* somebody moved or removed the branch, or it cannot be: it was left alone */
	struct str branch_why;
};
/* Everything that changed in the work tree becomes one commit on the run's chain. Identity comes from the
 * environment of the git zygote. */
int repo_commit_step(struct repo *r, const struct repo_step *step, struct arena *mem, struct repo_stepped *out,
	struct err *err) CHECKED;
/* Whether a step would have something to commit, or to leave out that it did not before; message is not needed. 1, 0. */
int repo_is_changed(struct repo *r, const struct repo_step *step, struct err *err) CHECKED;
/* What a step would commit. */
struct repo_changes {
	struct str_list paths; /* at most as many as were wanted, removed ones first */
	size_t total;
	size_t left_out; /* and so many it would leave out that it did not before */
};
int repo_changes(struct repo *r, const struct repo_step *step, size_t max, struct arena *mem, struct repo_changes *out,
	struct err *err) CHECKED;

enum repo_how { REPO_SQUASH, REPO_MERGE, REPO_FF };
enum repo_outcome {
	REPO_MERGED,
	REPO_NOOP,      /* already contained, or the same content */
	REPO_CONFLICTS, /* paths says where; nothing moved */
	REPO_DIVERGED,  /* ff only: the target moved */
};
struct repo_merge {
	struct str from; /* rev */
	struct str into; /* branch name, "main" */
	enum repo_how how;
	struct str message;
};
struct repo_merged {
	enum repo_outcome outcome;
	struct str sha, old;   /* the target's tip now and before */
	struct str_list paths; /* conflicts; or files of the checkout that are the person's and stayed */
	struct str_list staged; /* what the person had staged and stayed so; a commit of it takes the merge back there */
	struct str branch;     /* what HEAD names; empty: detached */
	bool checked_out;      /* the target is what HEAD names */
	bool dirty;            /* there were changes that are not committed, at the start */
};
int repo_merge(struct repo *r, const struct repo_merge *m, struct arena *mem, struct repo_merged *out,
	struct err *err) CHECKED;
/* Whether a work tree, this one or another, stands on that branch. 1, 0. For who may merge. */
int repo_is_checked_out(struct repo *r, struct str branch, struct err *err) CHECKED;
/* What is not committed of tracked files becomes a commit of the shape that git stash makes (its parents are HEAD and the
 * index) under refs/agent6-stash/<id>, and then index and files are HEAD's. 1; 0 where there is nothing, or no commit yet to go
 * back to, or a merge that stopped. On failure all is as it was. A kill leaves the ref, or everything in its place. For who may merge. */
struct repo_stashed {
	struct str sha;
	struct str_list names;
};
int repo_stash_save(struct repo *r, struct str message, struct arena *mem, struct repo_stashed *out, struct err *err) CHECKED;

enum repo_unstash {
	REPO_UNSTASHED, /* index and files are back, the ref is gone */
	REPO_UNSTASH_CONFLICTS, /* names says where; nothing changed, the ref stays */
	REPO_UNSTASH_GONE, /* the ref is not there, or is another commit: somebody else saw to it */
};
/* Brings it back over where HEAD is now. May be repeated after a kill, in either direction. */
int repo_stash_restore(struct repo *r, struct str sha, struct arena *mem, enum repo_unstash *out, struct str_list *names,
	struct err *err) CHECKED;
/* A chain (and a branch agent6/<id>, when asked for) that begins at a commit of another run. -ERR_CONFLICT when
 * there is one; *branch_kept: the branch could not be made, the chain stands all the same. */
int repo_begin_chain(struct repo *r, struct str sha, bool branch, bool *branch_kept, struct err *err) CHECKED;
/* Removes the chain of this handle's run if it is still at `old`. */
int repo_drop_chain(struct repo *r, struct str old, struct err *err) CHECKED;
/* Removes the branch agent6/<id> of this handle's run if it is still at `old`. */
int repo_drop_branch(struct repo *r, struct str old, struct err *err) CHECKED;

#endif
