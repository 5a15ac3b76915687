/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* repo_priv: what the files of this room share about a repository handle. */
#ifndef GIT_REPO_PRIV_H
#define GIT_REPO_PRIV_H

#include "git/repo.h"

#include "base/vec.h"

#define SHA_SPACE 65

/* One for each file that is in no step, of its name and of how it stood: it is told once, and again when it changed. */
struct left_marks {
	VEC(uint64_t);
};

struct repo {
	const struct git_host *host;
	int workspace_fd;
	struct arena *mem;  /* what follows lives as long as the handle */
	struct str run_id;
	struct str_list drivers; /* "driver:NAME", "merger:NAME" */
	const struct discovered *files; /* plain ones; NULL: git is asked */
	/* The run's own index, the chain and its tip's tree, as far as we know them; empty: not known. */
	bool index_known, tip_known;
	char index_at[SHA_SPACE]; /* commit whose tree the index holds; empty: the empty tree */
	char index_ahead[SHA_SPACE]; /* commit that the index is being set to; empty: nobody is at it */
	char tip[SHA_SPACE];      /* empty: no commit on the chain yet */
	char tip_tree[SHA_SPACE];
	/* The last skip list, sorted: it is the same one at every step. */
	const struct str_list *skip_of;
	struct str_list skip;
	struct left_marks left; /* what was left out by the last step; before the first, what looked changed at the start */
	bool left_known;
};

/* Runs an operation with the drivers switched off. */
int repo_run(struct repo *r, enum git_op op, const struct str *args, size_t n, struct str in, struct arena *mem,
	struct git_result *out, struct err *err) CHECKED;
/* The same, and an exit status other than 0 is an error: "doing: what git said". */
int repo_must(struct repo *r, const char *doing, enum git_op op, const struct str *args, size_t n, struct str in,
	struct arena *mem, struct git_result *out, struct err *err) CHECKED;
/* Begins what a later repo_run of the same words will take, where the host can. */
int repo_begin(struct repo *r, enum git_op op, const struct str *args, size_t n, struct err *err) CHECKED;
/* Waits for an index that was begun to be set. */
int repo_settle(struct repo *r, struct err *err) CHECKED;
int repo_failed(const struct git_result *res, const char *doing, struct err *err);
/* As repo_must, for an operation that prints one object name. */
int repo_sha(struct repo *r, const char *doing, enum git_op op, const struct str *args, size_t n, struct str in,
	struct arena *mem, struct str *sha, struct err *err) CHECKED;
struct str repo_no_tree(struct str like); /* the empty tree, of the same hash as `like` */
struct str repo_zeros(struct str like);
void repo_keep_sha(char to[SHA_SPACE], struct str sha);

struct name_list {
	VEC(struct str);
};
struct str_list names_take(struct name_list *l, struct arena *mem); /* moved into the arena */

/* The mark of a file as it stands now, and whether it was left out like that already. */
uint64_t repo_left_mark(struct repo *r, struct str name);
void repo_left_sort(struct repo *r); /* after r->left was changed */
bool repo_left_knows(const struct repo *r, uint64_t mark);
/* Takes the names out of `l` that have a content filter, and appends them to `filtered`: what git stores of such a file is not
 * what is on disk, and the program that would tell runs nowhere here. repo_filter.c. */
int repo_take_filtered(struct repo *r, struct name_list *l, struct arena *mem, struct name_list *filtered, struct err *err)
	CHECKED;

/* One entry of `status --porcelain=v2 -z`. */
struct status_entry {
	char kind;        /* '1', 'u', '?' */
	char index, disk; /* X and Y */
	struct str name;
	struct str mode, sha; /* of the index; kind '1' only */
};
bool status_next(struct str *rest, struct status_entry *e, struct repo_head *head);

/* Bringing the checkout from one tree to another, the person's work excepted; repo_carry.c.
 * carry_plan reads and refuses, carry_apply writes; between the two the branch moves. */
enum carry_fate {
	CARRY_STAYS, /* the person staged something here, or the result */
	CARRY_FILE,  /* index and file are the old tip's: both come */
	CARRY_LATE,  /* a new file in the place of a directory that goes: looked at again then */
	CARRY_INDEX, /* the index is the old tip's, the file is not: the entry comes, the file stays */
	CARRY_ENTRY, /* the same for a name that was only announced (git add -N) */
};
struct change {
	struct str mode_old, mode, sha, name;
	enum carry_fate fate;
	bool asked; /* whether the file is the result's must be found out */
	bool differs; /* the file stays and is not the result's */
	bool staged;  /* the person staged something else */
};
struct carry {
	struct repo *r;
	struct arena *mem;
	bool links; /* they come as files do: the person made them */
	struct str old, result; /* trees */
	struct {
		VEC(struct change);
	} changes;
	struct {
		VEC(struct status_entry);
	} entries; /* sorted by name */
	struct name_list flagged; /* assume-unchanged or skip-worktree, sorted */
	struct str cleared;       /* old without the files that go away */
	struct err *err;
};
enum way { WAY_FREE, WAY_TAKEN, WAY_DIRECTORY };
/* What stands where a new file would come. Every directory above is looked at without following links, and
 * ignored files count: git itself would remove them. WAY_DIRECTORY: it may be gone when others went. */
enum way repo_way_of(struct repo *r, struct str name, struct arena *mem);
/* The next of what GIT_DIFF_RAW printed. 1, 0 at the end. */
int change_next(struct str *rest, struct change *out, struct err *err) CHECKED;
int carry_plan(struct carry *c) CHECKED;
int carry_apply(struct carry *c) CHECKED;
/* What stayed as it was: unstaged and staged work of the person. */
void carry_names(const struct carry *c, struct name_list *kept, struct name_list *staged);
void carry_fini(struct carry *c);

#endif
