/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/repo_priv.h"

#include <string.h>

struct merge {
	struct repo *r;
	const struct repo_merge *ask;
	struct arena *mem;
	struct str from, old; /* commits; old is empty when the branch is unborn */
	struct str sha, tree; /* the result */
	struct repo_merged done;
	struct err *err;
};

static int resolve(struct merge *m, struct str rev, const char *what, struct str *sha)
{
	int found = repo_read_ref(m->r, rev, m->mem, sha, m->err);

	if (found == 0)
		return err_set(m->err, ERR_NOENT, "%s \"" STR_FMT "\" does not exist", what, STR_ARG(rev));
	return found < 0 ? found : 0;
}

static int tree_of(struct merge *m, struct str commit, struct str *tree)
{
	if (commit.n == 0) {
		*tree = repo_no_tree(m->from);
		return 0;
	}
	return repo_sha(m->r, "read a commit", GIT_TREE_OF, &commit, 1, STR(""), m->mem, tree, m->err);
}

static int merge_failed(struct merge *m, const struct git_result *res)
{
	int r = repo_failed(res, "merge", m->err);

	for (size_t i = 0; i < m->r->drivers.n; i++)
		if (str_starts(m->r->drivers.p[i], STR(GIT_MERGER_PREFIX)))
			err_hint(m->err, "the repository names a merge driver of its own, and agent6 runs none; merge by hand: "
				"git merge " STR_FMT, STR_ARG(m->from));
	return r;
}

/* 1: merged into m->tree; 0: conflicts, in done.paths. */
static int merge_trees(struct merge *m)
{
	const struct str args[] = { m->old, m->from };
	struct name_list paths = { 0 };
	struct git_result res;
	struct str rest;

	TRY(repo_run(m->r, GIT_MERGE_TREE, args, 2, STR(""), m->mem, &res, m->err));
	if (res.code > 1 || res.code < 0)
		return merge_failed(m, &res);
	rest = res.out;
	m->tree = str_cut(&rest, '\0');
	if (!git_sha_ok(m->tree))
		return repo_failed(&res, "merge", m->err);
	while (res.code == 1 && rest.n > 0) {
		struct str name = str_cut(&rest, '\0');

		if (name.n > 0)
			*vec_new(&paths) = name;
	}
	m->done.paths = names_take(&paths, m->mem);
	return res.code == 0;
}

static int commit_result(struct merge *m)
{
	struct str args[3] = { m->tree };
	size_t n = 1;

	if (m->old.n > 0)
		args[n++] = m->old;
	if (m->ask->how == REPO_MERGE)
		args[n++] = m->from;
	return repo_sha(m->r, "commit the merge", GIT_COMMIT, args, n, m->ask->message, m->mem, &m->sha, m->err);
}

/* Sets m->sha, or done.outcome when nothing is to be done. 1: go on. */
static int decide(struct merge *m)
{
	struct str before;
	int inside;

	m->done.outcome = REPO_NOOP;
	if (m->old.n > 0) {
		inside = repo_is_ancestor(m->r, m->from, m->old, m->err);
		if (inside != 0)
			return inside < 0 ? inside : 0;
	}
	if (m->ask->how == REPO_FF || m->old.n == 0) {
		inside = m->old.n == 0 ? 1 : repo_is_ancestor(m->r, m->old, m->from, m->err);
		TRY(inside);
		m->done.outcome = inside ? REPO_MERGED : REPO_DIVERGED;
		m->sha = m->from;
		TRY(tree_of(m, m->from, &m->tree));
		return inside;
	}
	int clean = merge_trees(m);

	TRY(clean);
	if (!clean) {
		m->done.outcome = REPO_CONFLICTS;
		return 0;
	}
	TRY(tree_of(m, m->old, &before));
	if (str_eq(m->tree, before))
		return 0;
	TRY(commit_result(m));
	m->done.outcome = REPO_MERGED;
	return 1;
}

static int move_branch(struct merge *m)
{
	const struct str args[] = { m->ask->into, m->sha, m->old.n > 0 ? m->old : repo_zeros(m->sha) };
	struct git_result res;

	TRY(repo_run(m->r, GIT_MOVE_BRANCH, args, 3, STR(""), m->mem, &res, m->err));
	if (res.code == 0)
		return 0;
	repo_failed(&res, "move the branch", m->err);
	m->err->code = ERR_CONFLICT;
	return -ERR_CONFLICT;
}

/* The person may have gone to another branch while we looked; its index and files are not for us. */
static int still_here(struct merge *m)
{
	struct git_result res;

	TRY(repo_run(m->r, GIT_HEAD, NULL, 0, STR(""), m->mem, &res, m->err));
	return res.code == 0 &&
		str_eq(str_trim(res.out), str_printf(m->mem, "refs/heads/" STR_FMT, STR_ARG(m->ask->into)));
}

static int half_done(struct merge *m)
{
	err_wrap(m->err, "the branch moved, but its checkout could not be brought forward");
	err_hint(m->err, "git reset -q makes the index that of the branch again and keeps your files; what you had staged "
		"is then to be staged again");
	return -m->err->code;
}

/* Moves the branch, and with it what the checkout has of it. */
static int land(struct merge *m)
{
	CLEANUP(carry_fini) struct carry c = { .r = m->r, .mem = m->mem, .result = m->tree, .err = m->err };
	struct name_list kept = { 0 }, staged = { 0 };
	int here;

	if (!m->done.checked_out)
		return move_branch(m);
	TRY(tree_of(m, m->old, &c.old));
	TRY(carry_plan(&c));
	TRY(move_branch(m));
	here = still_here(m);
	m->done.checked_out = here > 0;
	if (here == 0)
		return 0;
	if (here < 0 || carry_apply(&c) < 0)
		return half_done(m);
	carry_names(&c, &kept, &staged);
	m->done.paths = names_take(&kept, m->mem);
	m->done.staged = names_take(&staged, m->mem);
	return 0;
}

int repo_is_checked_out(struct repo *r, struct str branch, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	struct str line = str_printf(tmp, "branch refs/heads/" STR_FMT, STR_ARG(branch));
	struct git_result res;

	TRY(repo_must(r, "list worktrees", GIT_WORKTREES, NULL, 0, STR(""), tmp, &res, err));
	for (struct str rest = res.out; rest.n > 0;)
		if (str_eq(str_cut(&rest, '\0'), line))
			return 1;
	return 0;
}

/* In another linked worktree the branch must not move away under its files. */
static int check_worktrees(struct merge *m)
{
	struct str branch = str_printf(m->mem, "branch refs/heads/" STR_FMT, STR_ARG(m->ask->into)), at = STR("");
	struct str where = STR("");
	struct git_result res;
	size_t n = 0;

	TRY(repo_must(m->r, "list worktrees", GIT_WORKTREES, NULL, 0, STR(""), m->mem, &res, m->err));
	for (struct str rest = res.out; rest.n > 0;) {
		struct str line = str_cut(&rest, '\0');

		if (str_starts(line, STR("worktree ")))
			at = str_skip(line, 9);
		if (!str_eq(line, branch))
			continue;
		where = n++ == 0 ? at : str_printf(m->mem, STR_FMT " and " STR_FMT, STR_ARG(where), STR_ARG(at));
	}
	if (n <= (m->done.checked_out ? 1u : 0u))
		return 0;
	err_set(m->err, ERR_CONFLICT, "branch \"" STR_FMT "\" is checked out in " STR_FMT
		", and its files there would stay behind", STR_ARG(m->ask->into), STR_ARG(where));
	err_hint(m->err, "merge into a branch of your own with --into, or switch that worktree to another branch first");
	return -ERR_CONFLICT;
}

int repo_merge(struct repo *r, const struct repo_merge *ask, struct arena *mem, struct repo_merged *out,
	struct err *err)
{
	struct merge m = { .r = r, .ask = ask, .mem = mem, .err = err };
	struct repo_status st;
	int go;

	if (!git_branch_ok(ask->into))
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not a branch name", STR_ARG(ask->into));
	TRY(repo_status(r, mem, &st, err));
	m.done.branch = st.head.branch;
	m.done.dirty = st.dirty.n > 0;
	m.done.checked_out = st.head.branch.n > 0 && str_eq(st.head.branch, ask->into);
	TRY(resolve(&m, ask->from, "the run's chain", &m.from));
	if (!(m.done.checked_out && st.head.unborn))
		TRY(resolve(&m, str_printf(mem, "refs/heads/" STR_FMT, STR_ARG(ask->into)), "the branch", &m.old));
	m.sha = m.old;
	TRY(check_worktrees(&m));
	go = decide(&m);
	TRY(go);
	if (go)
		TRY(land(&m));
	m.done.sha = go ? m.sha : m.old;
	m.done.old = m.old;
	*out = m.done;
	return 0;
}
