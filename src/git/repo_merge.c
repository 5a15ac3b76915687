/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/repo_priv.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct merge {
	struct repo *r;
	const struct repo_merge *ask;
	struct arena *mem;
	struct str from, old; /* commits; old is empty when the branch is unborn */
	struct str sha, tree; /* the result */
	struct repo_merged done;
	struct err *err;
};

static int by_bytes(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

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

/* 1: merged into m->tree; 0: conflicts, in done.paths. */
static int merge_trees(struct merge *m)
{
	const struct str args[] = { m->old, m->from };
	struct name_list paths = { 0 };
	struct git_result res;
	struct str rest;

	TRY(repo_run(m->r, GIT_MERGE_TREE, args, 2, STR(""), m->mem, &res, m->err));
	if (res.code > 1 || res.code < 0)
		return repo_failed(&res, "merge", m->err);
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

struct change {
	struct str mode_old, mode, sha, name;
	bool added;
};

/* ":100644 100644 sha sha M" NUL path NUL */
static bool next_change(struct str *rest, struct change *c)
{
	struct str meta = str_cut(rest, '\0');

	if (meta.n == 0 || meta.p[0] != ':')
		return false;
	meta = str_skip(meta, 1);
	c->mode_old = str_cut(&meta, ' ');
	c->mode = str_cut(&meta, ' ');
	str_cut(&meta, ' ');
	c->sha = str_cut(&meta, ' ');
	c->added = str_eqz(c->mode_old, "000000");
	c->name = str_cut(rest, '\0');
	return c->name.n > 0;
}

static bool is_gone(const struct change *c)
{
	return str_eqz(c->mode, "000000");
}

static bool is_plain(struct str mode)
{
	return str_starts(mode, STR("100")) || str_eqz(mode, "000000");
}

/* Names that differ from HEAD, which is the old tip here, sorted: on disk alone, or in the person's index too. */
struct touched {
	struct name_list disk, index;
};

static void sort_names(struct name_list *l)
{
	if (l->n > 0)
		qsort(l->p, l->n, sizeof(struct str), by_bytes);
}

static bool holds(const struct name_list *l, struct str name)
{
	return l->n > 0 && bsearch(&name, l->p, l->n, sizeof(name), by_bytes);
}

static int touched_names(struct merge *m, struct touched *to)
{
	struct repo_head unused = { 0 };
	struct status_entry e;
	struct git_result res;

	TRY(repo_must(m->r, "compare the checkout", GIT_STATUS, NULL, 0, STR(""), m->mem, &res, m->err));
	for (struct str rest = res.out; status_next(&rest, &e, &unused);)
		if (e.kind != '?')
			*vec_new(e.kind == '1' && e.index == '.' ? &to->disk : &to->index) = e.name;
	sort_names(&to->disk);
	sort_names(&to->index);
	return 0;
}

static bool is_there(const struct merge *m, struct str name)
{
	struct stat st;

	return fstatat(m->r->workspace_fd, str_dupz(m->mem, name), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Names whose file on disk is not what the merge's tree says, sorted. */
static int unlike_result(struct merge *m, struct name_list *to)
{
	struct repo_head unused = { 0 };
	struct status_entry e;
	struct git_result res;

	m->r->index_known = false;
	TRY(repo_must(m->r, "set our own index", GIT_INDEX_RESET, &m->tree, 1, STR(""), m->mem, &res, m->err));
	TRY(repo_must(m->r, "compare the checkout", GIT_INDEX_SCAN, NULL, 0, STR(""), m->mem, &res, m->err));
	for (struct str rest = res.out; status_next(&rest, &e, &unused);)
		if (e.kind != '?' && e.disk != '.')
			*vec_new(to) = e.name;
	sort_names(to);
	return 0;
}

static int add_entry(struct buf *lines, const struct change *c, struct err *err)
{
	return buf_addf(lines, err, STR_FMT " " STR_FMT "\t" STR_FMT "%c",
		STR_ARG(is_gone(c) ? STR("0") : c->mode), STR_ARG(c->sha), STR_ARG(c->name), '\0');
}

/* What becomes of each path that the merge changes. */
struct carry {
	struct buf lines;      /* entries of the tree that the checkout is brought to */
	struct buf adopted;    /* of these, the ones whose file is there already, as a run leaves it */
	struct name_list kept; /* the person's own: left as they are */
};

static void carry_fini(struct carry *c)
{
	buf_fini(&c->lines);
	buf_fini(&c->adopted);
	vec_fini(&c->kept);
}

static int sort_changes(struct merge *m, struct str changes, const struct touched *t, struct carry *to)
{
	struct name_list unlike = { 0 };
	bool scanned = false;
	struct change c;
	int r = 0;

	while (r >= 0 && next_change(&changes, &c)) {
		bool moved = holds(&t->disk, c.name) || (c.added && is_there(m, c.name));

		if (!is_plain(c.mode) || !is_plain(c.mode_old) || holds(&t->index, c.name)) {
			*vec_new(&to->kept) = c.name;
			continue;
		}
		if (moved && !scanned) {
			r = unlike_result(m, &unlike);
			scanned = true;
		}
		if (moved && (is_gone(&c) ? is_there(m, c.name) : holds(&unlike, c.name))) {
			*vec_new(&to->kept) = c.name;
			continue;
		}
		if (r >= 0)
			r = add_entry(&to->lines, &c, m->err);
		if (r >= 0 && moved)
			r = add_entry(&to->adopted, &c, m->err);
	}
	vec_fini(&unlike);
	return r;
}

/* The tree that the checkout is brought to: the old tip with every change whose file still is what the old tip
 * says, or already is what the new one says. */
static int carry_tree(struct merge *m, struct str old_tree, struct carry *to, struct str *tree)
{
	const struct str args[] = { old_tree, m->tree };
	struct touched touched = { 0 };
	struct git_result res;
	int r;

	r = touched_names(m, &touched);
	r = r < 0 ? r : repo_must(m->r, "compare trees", GIT_DIFF_RAW, args, 2, STR(""), m->mem, &res, m->err);
	r = r < 0 ? r : sort_changes(m, res.out, &touched, to);
	vec_fini(&touched.disk);
	vec_fini(&touched.index);
	TRY(r);
	m->r->index_known = false;
	TRY(repo_must(m->r, "set our own index", GIT_INDEX_RESET, &old_tree, 1, STR(""), m->mem, &res, m->err));
	if (to->lines.n > 0)
		TRY(repo_must(m->r, "set our own index", GIT_INDEX_INFO, NULL, 0, buf_str(&to->lines), m->mem, &res, m->err));
	return repo_sha(m->r, "write a tree", GIT_INDEX_TREE, NULL, 0, STR(""), m->mem, tree, m->err);
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

/* Moves the branch, and with it what the checkout has of it. */
static int land(struct merge *m)
{
	CLEANUP(carry_fini) struct carry carry = { .lines = BUF_MAX(64 << 20), .adopted = BUF_MAX(64 << 20) };
	struct str args[2];
	struct git_result res;

	if (!m->done.checked_out)
		return move_branch(m);
	TRY(tree_of(m, m->old, &args[0]));
	TRY(carry_tree(m, args[0], &carry, &args[1]));
	m->done.paths = names_take(&carry.kept, m->mem);
	/* A file rewritten with the same bytes would stop the last step, and a locked index too: before the branch
	 * moves, not after. */
	TRY(repo_run(m->r, GIT_REFRESH, NULL, 0, STR(""), m->mem, &res, m->err));
	if (res.code > 1)
		return repo_failed(&res, "read the checkout", m->err);
	TRY(move_branch(m));
	if (carry.adopted.n > 0)
		TRY(repo_must(m->r, "the branch moved, but the index could not be brought forward", GIT_ADOPT, NULL, 0,
			buf_str(&carry.adopted), m->mem, &res, m->err));
	if (str_eq(args[0], args[1]))
		return 0;
	return repo_must(m->r, "the branch moved, but its files could not be brought forward", GIT_CARRY, args, 2, STR(""),
		m->mem, &res, m->err);
}

/* In another linked worktree the branch must not move away under its files. */
static int check_worktrees(struct merge *m)
{
	struct str branch = str_printf(m->mem, "branch refs/heads/" STR_FMT, STR_ARG(m->ask->into)), at = STR("");
	struct git_result res;

	TRY(repo_must(m->r, "list worktrees", GIT_WORKTREES, NULL, 0, STR(""), m->mem, &res, m->err));
	for (struct str rest = res.out; rest.n > 0;) {
		struct str line = str_cut(&rest, '\0');

		if (str_starts(line, STR("worktree ")))
			at = str_skip(line, 9);
		if (str_eq(line, branch) && !m->done.checked_out)
			return err_set(m->err, ERR_CONFLICT, "branch \"" STR_FMT "\" is checked out in " STR_FMT,
				STR_ARG(m->ask->into), STR_ARG(at));
	}
	return 0;
}

int repo_merge(struct repo *r, const struct repo_merge *ask, struct arena *mem, struct repo_merged *out,
	struct err *err)
{
	struct merge m = { .r = r, .ask = ask, .mem = mem, .err = err };
	struct repo_head head;
	int go;

	if (!git_branch_ok(ask->into))
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is not a branch name", STR_ARG(ask->into));
	TRY(repo_head(r, mem, &head, err));
	m.done.checked_out = str_eq(head.branch, ask->into);
	TRY(resolve(&m, ask->from, "the run's chain", &m.from));
	if (!(m.done.checked_out && head.unborn))
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
