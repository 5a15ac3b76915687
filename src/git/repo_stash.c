/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* repo_stash: what the person had not committed is set aside and brought back.
 *
 * The order is what makes a kill harmless. Setting aside: objects, then the ref that holds them, and only then the index and
 * the files. Bringing back: files, index, and only then the ref goes. What is half done in between is either in its place or
 * behind the ref, and bringing back takes a file that is back already for what it is. */
#include "git/repo_priv.h"

#include <stdlib.h>
#include <string.h>

struct stash {
	struct repo *r;
	struct arena *mem;
	struct str head, head_tree;   /* of HEAD: commit, tree */
	struct str index, work;       /* trees */
	struct str index_commit, sha; /* commits */
	struct name_list names;
	struct err *err;
};

static void stash_fini(struct stash *s)
{
	vec_fini(&s->names);
}

/* ---- setting aside ---- */

static int cannot(struct stash *s, struct str name, const char *why)
{
	return err_set(s->err, ERR_UNSUPPORTED, STR_FMT " cannot be set aside: %s", STR_ARG(name), why);
}

/* A file with a content filter is not touched: what git has of it is not what would stand there. Where only the filter could
 * tell whether it changed, it counts as unchanged, as everywhere here. */
static int drop_filtered(struct stash *s, const struct name_list *staged)
{
	struct name_list filtered = { 0 };
	int r = repo_take_filtered(s->r, &s->names, s->mem, &filtered, s->err);

	for (size_t i = 0; i < filtered.n && r == 0; i++)
		for (size_t k = 0; k < staged->n && r == 0; k++)
			if (str_eq(staged->p[k], filtered.p[i]))
				r = cannot(s, filtered.p[i], "it has a content filter, and none runs here; commit it first");
	vec_fini(&filtered);
	return r;
}

/* 1: there is something to set aside. */
static int look(struct stash *s)
{
	struct repo_head head = { .unborn = true };
	struct name_list staged = { 0 };
	struct status_entry e;
	struct git_result res;
	int r = 1;

	TRY(repo_must(s->r, "read the state of the repository", GIT_STATUS, NULL, 0, STR(""), s->mem, &res, s->err));
	while (r > 0 && status_next(&res.out, &e, &head)) {
		if (e.kind == '?')
			continue;
		if (e.kind == 'u')
			r = 0;
		else if (e.index == '.' && e.disk == 'A')
			r = cannot(s, e.name, "it is only announced (git add -N); add it whole, or not at all");
		if (e.index != '.')
			*vec_new(&staged) = e.name;
		*vec_new(&s->names) = e.name;
	}
	if (r > 0)
		r = drop_filtered(s, &staged) < 0 ? -(int)s->err->code : head.unborn || s->names.n == 0 ? 0 : 1;
	s->head = head.sha;
	vec_fini(&staged);
	return r;
}

/* Our own index is a copy of the person's: its tree is what they staged, and with what is on disk the other. */
static int write_trees(struct stash *s)
{
	auto_buf struct buf names = BUF_MAX(64 << 20);
	struct git_result res;

	s->r->index_known = false;
	TRY(repo_sha(s->r, "read a commit", GIT_TREE_OF, &s->head, 1, STR(""), s->mem, &s->head_tree, s->err));
	TRY(repo_sha(s->r, "write what is staged", GIT_INDEX_TREE, NULL, 0, STR(""), s->mem, &s->index, s->err));
	for (size_t i = 0; i < s->names.n; i++) {
		TRY(buf_add(&names, s->names.p[i], s->err));
		TRY(buf_addc(&names, '\0', s->err));
	}
	TRY(repo_must(s->r, "keep what is changed", GIT_INDEX_ADD, NULL, 0, buf_str(&names), s->mem, &res, s->err));
	return repo_sha(s->r, "write what is changed", GIT_INDEX_TREE, NULL, 0, STR(""), s->mem, &s->work, s->err);
}

static int by_bytes(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* A file that goes away itself may stand where a directory comes. */
static bool stands_below(const struct name_list *gone, struct str name)
{
	for (size_t i = 0; i < name.n && gone->n > 0; i++) {
		struct str above = str_head(name, i);

		if (name.p[i] == '/' && bsearch(&above, gone->p, gone->n, sizeof(above), by_bytes))
			return true;
	}
	return false;
}

static int check_names(struct stash *s, struct name_list *come, struct name_list *gone)
{
	if (gone->n > 0)
		qsort(gone->p, gone->n, sizeof(struct str), by_bytes);
	for (size_t i = 0; i < come->n; i++)
		if (!stands_below(gone, come->p[i]) && repo_way_of(s->r, come->p[i], s->mem) != WAY_FREE)
			return cannot(s, come->p[i], "something else stands in its place; move that away first");
	return 0;
}

/* Nothing may stand where a file of HEAD's comes back, and a submodule is nobody's to move. */
static int check_way(struct stash *s)
{
	const struct str args[] = { s->work, s->head_tree };
	struct name_list come = { 0 }, gone = { 0 };
	struct git_result res;
	struct change ch;
	int r;

	TRY(repo_must(s->r, "compare trees", GIT_DIFF_RAW, args, 2, STR(""), s->mem, &res, s->err));
	while ((r = change_next(&res.out, &ch, s->err)) > 0) {
		if (str_eqz(ch.mode, "160000") || str_eqz(ch.mode_old, "160000"))
			r = cannot(s, ch.name, "it is a submodule; commit it first");
		if (r < 0)
			break;
		if (str_eqz(ch.mode_old, "000000"))
			*vec_new(&come) = ch.name;
		else if (str_eqz(ch.mode, "000000"))
			*vec_new(&gone) = ch.name;
	}
	r = r < 0 ? r : check_names(s, &come, &gone);
	vec_fini(&come);
	vec_fini(&gone);
	return r;
}

static int write_commits(struct stash *s, struct str message)
{
	struct str index_message = str_printf(s->mem, "index of: " STR_FMT, STR_ARG(message));
	const struct str index[] = { s->index, s->head };

	TRY(repo_sha(s->r, "keep what is staged", GIT_COMMIT, index, 2, index_message, s->mem, &s->index_commit, s->err));
	const struct str work[] = { s->work, s->head, s->index_commit };
	return repo_sha(s->r, "keep what is changed", GIT_COMMIT, work, 3, message, s->mem, &s->sha, s->err);
}

static int step_to(struct stash *s, enum git_op op, struct str from, struct str to)
{
	const struct str args[] = { from, to };
	struct git_result res;

	if (str_eq(from, to))
		return 0;
	return repo_must(s->r, "set aside what is not committed", op, args, 2, STR(""), s->mem, &res, s->err);
}

static int refresh(struct stash *s)
{
	struct git_result res;

	TRY(repo_run(s->r, GIT_REFRESH, NULL, 0, STR(""), s->mem, &res, s->err));
	return res.code > 1 ? repo_failed(&res, "read the checkout", s->err) : 0;
}

/* The index first takes in all that is on disk, so that git knows each file it is to change, and refuses as a whole where one is
 * not what was kept. */
static int clear(struct stash *s)
{
	TRY(step_to(s, GIT_CARRY_INDEX, s->index, s->work));
	if (refresh(s) < 0 || step_to(s, GIT_CARRY, s->work, s->head_tree) < 0) {
		const struct str back[] = { s->work, s->index };
		struct git_result res;

		(void)!repo_run(s->r, GIT_CARRY_INDEX, back, 2, STR(""), s->mem, &res, ERR_DISCARD);
		return -(int)s->err->code;
	}
	return 0;
}

int repo_stash_save(struct repo *r, struct str message, struct arena *mem, struct repo_stashed *out, struct err *err)
{
	CLEANUP(stash_fini) struct stash s = { .r = r, .mem = mem, .err = err };
	struct git_result res;
	int there = look(&s);

	TRY(there);
	if (there == 0)
		return 0;
	TRY(write_trees(&s));
	if (str_eq(s.index, s.head_tree) && str_eq(s.work, s.head_tree))
		return 0;
	TRY(check_way(&s));
	TRY(write_commits(&s, message));
	const struct str keep[] = { r->run_id, s.sha, repo_zeros(s.sha) };
	const struct str drop[] = { r->run_id, s.sha };

	TRY(repo_must(r, "keep what is not committed", GIT_STASH_REF, keep, 3, STR(""), mem, &res, err));
	if (clear(&s) < 0) {
		(void)!repo_run(r, GIT_DROP_STASH, drop, 2, STR(""), mem, &res, ERR_DISCARD);
		return -(int)err->code;
	}
	out->sha = s.sha;
	out->names = names_take(&s.names, mem);
	return 1;
}

/* ---- bringing back ---- */

/* HEAD's tree with what a commit changed since HEAD was there. 1; 0: conflicts. */
static int over_head(struct stash *s, struct str commit, struct str *tree, struct name_list *paths)
{
	const struct str args[] = { s->head, commit };
	struct git_result res;
	struct str rest;

	TRY(repo_run(s->r, GIT_MERGE_TREE, args, 2, STR(""), s->mem, &res, s->err));
	rest = res.out;
	*tree = str_cut(&rest, '\0');
	if (res.code < 0 || res.code > 1 || !git_sha_ok(*tree))
		return repo_failed(&res, "bring back what was set aside", s->err);
	while (res.code == 1 && rest.n > 0) {
		struct str name = str_cut(&rest, '\0');

		if (name.n > 0)
			*vec_new(paths) = name;
	}
	return res.code == 0;
}

static int find(struct stash *s, struct str sha, enum repo_unstash *out)
{
	struct str ref = str_printf(s->mem, "refs/agent6-stash/" STR_FMT, STR_ARG(s->r->run_id)), at;
	int found = repo_read_ref(s->r, ref, s->mem, &at, s->err);

	TRY(found);
	if (found == 0 || !str_eq(at, sha)) {
		*out = REPO_UNSTASH_GONE;
		return 0;
	}
	TRY(found = repo_read_ref(s->r, STR("HEAD"), s->mem, &s->head, s->err));
	if (found == 0)
		return err_set(s->err, ERR_NOENT, "bring back what was set aside: HEAD has no commit");
	TRY(repo_sha(s->r, "read a commit", GIT_TREE_OF, &s->head, 1, STR(""), s->mem, &s->head_tree, s->err));
	TRY(repo_sha(s->r, "read what was set aside", GIT_STASH_INDEX, &sha, 1, STR(""), s->mem, &s->index_commit, s->err));
	s->sha = sha;
	return 1;
}

/* 1: all of it is where it belongs. */
static int bring_files(struct stash *s)
{
	CLEANUP(carry_fini) struct carry c = { .r = s->r, .mem = s->mem, .links = true, .old = s->head_tree, .result = s->work,
		.err = s->err };
	struct name_list *n = &s->names;

	TRY(carry_plan(&c));
	carry_names(&c, n, n);
	if (n->n > 0)
		return 0;
	TRY(carry_apply(&c));
	carry_names(&c, n, n); /* somebody was faster with a file */
	return n->n == 0;
}

/* A kill may leave an index that has what was staged, or all that was set aside: HEAD's again, it says of each file which one it
 * is. Our own index is a copy of it. was: its tree then; empty where it is something else, and stays. */
static int unstage(struct stash *s, struct str *was)
{
	struct git_result res;
	struct str tree;

	*was = STR("");
	s->r->index_known = false;
	TRY(repo_run(s->r, GIT_INDEX_TREE, NULL, 0, STR(""), s->mem, &res, s->err));
	tree = str_trim(res.out);
	if (res.code != 0 || str_eq(tree, s->head_tree) || (!str_eq(tree, s->work) && !str_eq(tree, s->index)))
		return 0;
	TRY(step_to(s, GIT_CARRY_INDEX, tree, s->head_tree));
	*was = tree;
	return refresh(s);
}

static int find_trees(struct stash *s)
{
	struct name_list unused = { 0 };
	int r = over_head(s, s->sha, &s->work, &s->names);

	if (r <= 0)
		return r;
	r = over_head(s, s->index_commit, &s->index, &unused);
	vec_fini(&unused);
	TRY(r);
	if (r == 0) /* what was staged does not fit any more: it comes back as changes that are not staged */
		s->index = s->head_tree;
	return 1;
}

static int bring_back(struct stash *s)
{
	struct git_result res;
	struct str was;
	int r = find_trees(s);

	if (r <= 0)
		return r;
	TRY(unstage(s, &was));
	r = bring_files(s);
	if (r <= 0 && was.n > 0) {
		const struct str args[] = { s->head_tree, was };

		(void)!repo_run(s->r, GIT_CARRY_INDEX, args, 2, STR(""), s->mem, &res, ERR_DISCARD);
	}
	if (r <= 0)
		return r;
	TRY(step_to(s, GIT_CARRY_INDEX, s->work, s->index));
	TRY(refresh(s));
	const struct str drop[] = { s->r->run_id, s->sha };

	TRY(repo_must(s->r, "let go of what is back", GIT_DROP_STASH, drop, 2, STR(""), s->mem, &res, s->err));
	return 1;
}

int repo_stash_restore(struct repo *r, struct str sha, struct arena *mem, enum repo_unstash *out, struct str_list *names,
	struct err *err)
{
	CLEANUP(stash_fini) struct stash s = { .r = r, .mem = mem, .err = err };
	int there = find(&s, sha, out), back;

	*names = (struct str_list){ 0 };
	if (there <= 0)
		return there;
	TRY(back = bring_back(&s));
	*out = back ? REPO_UNSTASHED : REPO_UNSTASH_CONFLICTS;
	*names = names_take(&s.names, mem);
	return 0;
}
