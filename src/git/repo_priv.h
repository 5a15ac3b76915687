/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* repo_priv: what the files of this room share about a repository handle. */
#ifndef GIT_REPO_PRIV_H
#define GIT_REPO_PRIV_H

#include "git/repo.h"

#include "base/vec.h"

#define SHA_SPACE 65

struct repo {
	const struct git_host *host;
	int workspace_fd;
	struct arena *mem;  /* what follows lives as long as the handle */
	struct str run_id;
	struct str_list drivers; /* "driver:NAME" */
	/* The run's own index, the chain and its tip's tree, as far as we know them; empty: not known. */
	bool index_known, tip_known;
	char index_at[SHA_SPACE]; /* commit whose tree the index holds; empty: the empty tree */
	char tip[SHA_SPACE];      /* empty: no commit on the chain yet */
	char tip_tree[SHA_SPACE];
	/* The last skip list, sorted: it is the same one at every step. */
	const struct str_list *skip_of;
	struct str_list skip;
};

/* Runs an operation with the drivers switched off. */
int repo_run(struct repo *r, enum git_op op, const struct str *args, size_t n, struct str in, struct arena *mem,
	struct git_result *out, struct err *err) CHECKED;
/* The same, and an exit status other than 0 is an error: "doing: what git said". */
int repo_must(struct repo *r, const char *doing, enum git_op op, const struct str *args, size_t n, struct str in,
	struct arena *mem, struct git_result *out, struct err *err) CHECKED;
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

/* One entry of `status --porcelain=v2 -z`. */
struct status_entry {
	char kind;        /* '1', 'u', '?' */
	char index, disk; /* X and Y */
	struct str name;
};
bool status_next(struct str *rest, struct status_entry *e, struct repo_head *head);

#endif
