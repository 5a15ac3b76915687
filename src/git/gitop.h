/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* gitop: every git command this program can ever run, in one table.
 *
 * Shape    An operation and its arguments become the words of one git command. Each argument has a kind and
 *          is checked against it; operations on the person's branches need may_merge; a run moves its own
 *          refs only. There is no operation that pushes, forces, rewrites or resets.
 * Memory   Words live in the arena.
 * Errors   -ERR_INVALID naming the operation, the argument and what it must be; -ERR_DENIED for an operation
 *          that this caller may not ask for.
 * Source   git 2.38 and later: git(1), git-read-tree(1), git-update-index(1), git-merge-tree(1);
 *          docs/git.md.
 */
#ifndef GIT_GITOP_H
#define GIT_GITOP_H

#include "sandbox/zygote.h"

/* X(op, words, stdin, rights, arguments)   what it prints
 * Words with a '%' take the next argument; kinds: s object name, z object name or zeros, S object name or
 * nothing (then the word before it goes too), v revision, r run id, b branch name, n number, w words of
 * several revisions (-p each), P paths after "--". "@index" runs on the run's own index, else on the person's. */
enum git_op {
	GIT_STATUS = 1,    /* -                     porcelain v2, NUL separated, with branch; untracked files one by one */
	GIT_DRIVERS,       /* -                     names of filter and merge settings in the repository's config */
	GIT_RESOLVE,       /* rev                   its commit */
	GIT_TREE_OF,       /* rev                   its tree */
	GIT_FILES,         /* -                     tracked files, NUL separated */
	GIT_LOG,           /* number, to [, from]   sha NUL author time NUL subject NUL, newest first */
	GIT_DIFF,          /* from, to, paths...    a patch */
	GIT_DIFF_STAT,     /* from, to, paths...    --stat */
	GIT_DIFF_NUMSTAT,  /* from, to, paths...    added, deleted, path; NUL separated */
	GIT_DIFF_RAW,      /* from, to              raw, NUL separated, no renames */
	GIT_IS_ANCESTOR,   /* rev, rev              exit status */
	GIT_MERGE_TREE,    /* ours, theirs          tree, NUL, conflicting paths */
	GIT_REFS,          /* -                     every ref of runs: "name sha\n" */
	GIT_INDEX_RESET,   /* tree or commit        the run's own index becomes that tree */
	GIT_INDEX_EMPTY,   /* -                     ... becomes empty */
	GIT_INDEX_SCAN,    /* -                     what differs from it on disk, and what is not in it */
	GIT_INDEX_ADD,     /* stdin: paths, NUL     takes them in as they are on disk, or out when gone */
	GIT_INDEX_INFO,    /* stdin: index lines    sets entries */
	GIT_INDEX_TREE,    /* -                     its tree */
	GIT_COMMIT,        /* tree, parents...; stdin: message     the commit */
	GIT_STEP_REF,      /* run id, new, old or zeros            moves refs/agent6/<id>/head if it is at old */
	GIT_STEP_BRANCH,   /* run id, new, old or zeros            the same for the branch agent6/<id> */
	GIT_DROP_REFS,     /* run id, old                          removes the branch agent6/<id> if it is at old */
	/* host only */
	GIT_MOVE_BRANCH,   /* branch, new, old      moves the person's branch if it is at old */
	GIT_STAGED,        /* commit                paths whose entry in the person's index differs from it */
	GIT_UNSTAGED,      /* -                     paths that differ on disk from the person's index */
	GIT_CARRY,         /* from, to              brings the person's index and files from one tree to another */
	GIT_WORKTREES,     /* -                     porcelain list, NUL separated */
	GIT_OP_END
};

/* Every operation also takes, after its own arguments, "driver:NAME" words: content filters and merge drivers
 * of the repository by that name are switched off for this command. */
#define GIT_DRIVER_PREFIX "driver:"
#define GIT_DRIVERS_MAX   64

int gitop_words(const struct zygote_git_request *rq, struct arena *mem, struct zygote_words *out, struct err *err)
	CHECKED;
const char *gitop_name(enum git_op op); /* "?" when unknown */

bool git_sha_ok(struct str s);      /* 40 or 64 lower-case hex digits */
bool git_run_id_ok(struct str s);
bool git_branch_ok(struct str s);   /* what git check-ref-format --branch takes, and no surprises */

#endif
