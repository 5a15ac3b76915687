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

/* X(op, value, who may ask, index, stdin, words)
 * What moves a ref or makes a commit leaves something (zygote_words.leaves).
 * {x} stands for the next argument, checked by its kind:
 *   s object name   z object name or zeros   v revision   e any expression that git resolves   r the run's id   b branch name   n number
 *   p... parents, each after -p   P... paths after "--"   o revision or nothing, then the word goes away */
#define GIT_OPS(X)                                                                                           \
	/* porcelain v2 with branch, NUL separated; untracked files one by one */                            \
	X(GIT_STATUS, 1, ANY, PERSON, 0,                                                                     \
		"status --porcelain=v2 --branch -z --untracked-files=all --ignore-submodules=all --no-renames") \
	/* KEY LF VALUE NUL: what could name a program, and what the cell cannot do */                                                    \
	X(GIT_DRIVERS, 2, ANY, PERSON, 0, "config --null --get-regexp ^(filter\\.|merge\\.|core\\.sharedrepository$)")       \
	X(GIT_RESOLVE, 3, ANY, PERSON, 0, "rev-parse --verify --quiet --end-of-options {v}^{commit}")        \
	X(GIT_TREE_OF, 4, ANY, PERSON, 0, "rev-parse --verify --quiet --end-of-options {v}^{tree}")          \
	X(GIT_FILES, 5, ANY, PERSON, 0, "ls-files -z --cached --deduplicate")                                \
	/* sha NUL author time NUL subject NUL, newest first */                                              \
	X(GIT_LOG, 6, ANY, PERSON, 0,                                                                        \
		"log -z --no-color --no-show-signature --no-mailmap --format=%H%x00%at%x00%s --max-count={n} {v} ^{o} --") \
	X(GIT_DIFF, 7, ANY, PERSON, 0,                                                                       \
		"diff --no-ext-diff --no-textconv --no-color --src-prefix=a/ --dst-prefix=b/ --submodule=short " \
		"--ignore-submodules=all {v} {v} -- {P}")                                                    \
	X(GIT_DIFF_STAT, 8, ANY, PERSON, 0,                                                                  \
		"diff --no-ext-diff --no-textconv --no-color --ignore-submodules=all --stat=100 {v} {v} -- {P}") \
	X(GIT_DIFF_RAW, 9, ANY, PERSON, 0,                                                                   \
		"diff-tree -r -z --raw --no-abbrev --no-renames --no-ext-diff --no-textconv {v} {v} --")     \
	X(GIT_IS_ANCESTOR, 10, ANY, PERSON, 0, "merge-base --is-ancestor {v} {v}")                           \
	/* tree NUL, then conflicting paths, each NUL; exit status 1 on conflicts */                         \
	X(GIT_MERGE_TREE, 11, ANY, PERSON, 0, "merge-tree --write-tree -z --name-only --no-messages {v} {v}") \
	/* the run's own index: set, compared with the disk (as GIT_STATUS), changed, written */             \
	X(GIT_INDEX_RESET, 12, ANY, OWN, 0, "read-tree --reset {s}")                                         \
	X(GIT_INDEX_EMPTY, 13, ANY, OWN, 0, "read-tree --empty")                                             \
	X(GIT_INDEX_SCAN, 15, ANY, OWN, 0,                                                                   \
		"status --porcelain=v2 -z --untracked-files=all --ignore-submodules=all --no-renames")       \
	X(GIT_INDEX_ADD, 16, ANY, OWN, 1, "update-index -z --add --remove --replace --stdin")                \
	X(GIT_INDEX_INFO, 17, ANY, OWN, 1, "update-index -z --add --replace --index-info")                   \
	X(GIT_INDEX_TREE, 18, ANY, OWN, 0, "write-tree")                                                     \
	/* which of its files are not on disk as it says; the first one exits 1 when some are not */         \
	X(GIT_INDEX_REFRESH, 23, ANY, OWN, 0, "update-index --unmerged --ignore-submodules --refresh")       \
	X(GIT_INDEX_DIFF, 24, ANY, OWN, 0,                                                                   \
		"diff-files --name-only -z --no-renames --no-ext-diff --ignore-submodules=all")              \
	X(GIT_COMMIT, 19, ANY, PERSON, 1, "commit-tree {s} {p} -F -")                                        \
	/* a commit, or where HEAD's history left it, against the work tree */                                \
	X(GIT_DIFF_WORK, 25, ANY, PERSON, 0,                                                                 \
		"diff --no-ext-diff --no-textconv --no-color --src-prefix=a/ --dst-prefix=b/ --submodule=short " \
		"--ignore-submodules=all {v} --")                                                            \
	X(GIT_DIFF_BASE, 26, ANY, PERSON, 0,                                                                 \
		"diff --merge-base --no-ext-diff --no-textconv --no-color --src-prefix=a/ --dst-prefix=b/ --submodule=short " \
		"--ignore-submodules=all {v} --")                                                            \
	/* \1, then the names a commit changed, NUL separated; newest commit first */                       \
	X(GIT_LOG_NAMES, 27, ANY, PERSON, 0,                                                                 \
		"log -z --no-color --no-show-signature --no-mailmap --no-merges --no-renames --no-ext-diff --no-textconv " \
		"--ignore-submodules=all --name-only --format=%x01 --max-count={n} {v} --")                  \
	/* NAME NUL "filter" NUL VALUE NUL for each name; the work tree's attributes come first */           \
	X(GIT_FILTERS, 28, ANY, OWN, 1, "check-attr -z --stdin filter")                                      \
	/* what a person typed for a commit; a merge base of two */                                          \
	X(GIT_REVISION, 29, ANY, PERSON, 0, "rev-parse --verify --quiet --end-of-options {e}^{commit}")      \
	X(GIT_MERGE_BASE, 30, ANY, PERSON, 0, "merge-base {s} {s}")                                          \
	/* object name and ref of the chain with the newest commit */                                         \
	X(GIT_NEWEST, 31, ANY, PERSON, 0,                                                                     \
		"for-each-ref --sort=-committerdate --count=1 --format=%(objectname)%(refname) refs/agent6/*/head") \
	X(GIT_STEP_REF, 20, ANY, PERSON, 0, "update-ref --no-deref refs/agent6/{r}/head {s} {z}")            \
	X(GIT_STEP_BRANCH, 21, ANY, PERSON, 0,                                                               \
		"update-ref --no-deref -m agent6-step refs/heads/agent6/{r} {s} {z}")                        \
	X(GIT_DROP_BRANCH, 22, ANY, PERSON, 0, "update-ref --no-deref -d refs/heads/agent6/{r} {s}")         \
	/* what a person asked for, on the person's branches */                                              \
	X(GIT_MOVE_BRANCH, 40, MERGE, PERSON, 0,                                                             \
		"update-ref --no-deref -m agent6-merge refs/heads/{b} {s} {z}")                              \
	/* the person's index, written anew with which files are unchanged; exit status 1: some are not */ \
	X(GIT_REFRESH, 41, MERGE, PERSON, 0, "update-index --force-write-index --unmerged --ignore-submodules --refresh") \
	/* brings the person's index and files from one tree to another, or fails and changes nothing */     \
	X(GIT_CARRY, 43, MERGE, PERSON, 0, "read-tree -m -u --no-recurse-submodules {s} {s}")                \
	/* the same for the index alone, whatever the files are */                                           \
	X(GIT_CARRY_INDEX, 45, MERGE, PERSON, 0, "read-tree -m -i --no-recurse-submodules {s} {s}")          \
	X(GIT_CARRY_ENTRIES, 46, MERGE, PERSON, 1, "update-index -z --index-info")                           \
	X(GIT_WORKTREES, 44, MERGE, PERSON, 0, "worktree list --porcelain -z")                               \
	/* every name with its tag: lower case is assume-unchanged, S is skip-worktree */                    \
	X(GIT_FLAGS, 47, MERGE, PERSON, 0, "ls-files -z -v --cached")                                        \
	X(GIT_HEAD, 48, MERGE, PERSON, 0, "symbolic-ref --quiet HEAD")                                        \
	/* a run that the person removes: its own chain, never for an agent */                               \
	X(GIT_DROP_CHAIN, 49, MERGE, PERSON, 0, "update-ref --no-deref -d refs/agent6/{r}/head {s}")       \
	/* what the person had not committed, set aside before the run; the index of such a commit is its second parent */ \
	X(GIT_STASH_REF, 50, MERGE, PERSON, 0, "update-ref --no-deref -m agent6-stash refs/agent6-stash/{r} {s} {z}") \
	X(GIT_DROP_STASH, 51, MERGE, PERSON, 0, "update-ref --no-deref -d refs/agent6-stash/{r} {s}")      \
	X(GIT_STASH_INDEX, 52, MERGE, PERSON, 0, "rev-parse --verify --quiet --end-of-options {v}^2^{commit}")

enum git_op {
#define X(op, value, who, index, in, words) op = (value),
	GIT_OPS(X)
#undef X
};

/* Every operation also takes, before its own arguments, "driver:NAME" and "merger:NAME" words: the content
 * filter or merge driver of the repository by that name is switched off for this command. A merge that needs the
 * driver fails then: without a program git would take one side and say nothing. */
#define GIT_DRIVER_PREFIX "driver:"
#define GIT_MERGER_PREFIX "merger:"
#define GIT_DRIVERS_MAX   64

int gitop_words(const struct zygote_git_request *rq, struct arena *mem, struct zygote_words *out, struct err *err)
	CHECKED;
const char *gitop_name(enum git_op op); /* "?" when unknown */

/* What one git may take: a command can leave what git waits for, or reads whole. */
#define GIT_TIMEOUT_MS (600 * 1000)
#define GIT_MEMORY_MB  4096
/* For one that was killed when its time was up: -ERR_TIMEOUT, with what may be the cause. */
int gitop_overdue(int64_t wall_ms, struct err *err);

bool git_sha_ok(struct str s);      /* 40 or 64 lower-case hex digits */
bool git_run_id_ok(struct str s);
/* Why a text is no expression for one commit that git is asked about: "it begins with \"-\""; NULL: it may be one. */
#define GIT_EXPR_MAX 250
const char *git_expr_wrong(struct str s);
bool git_branch_ok(struct str s);   /* what git check-ref-format --branch takes, and no surprises */

#endif
