/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/repo_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int by_bytes(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static bool is_skipped(const struct repo *r, struct str name)
{
	return r->skip.n > 0 && bsearch(&name, r->skip.p, r->skip.n, sizeof(name), by_bytes);
}

static void sort_skip(struct repo *r, const struct str_list *skip)
{
	if (!skip || r->skip_of == skip)
		return;
	r->skip = (struct str_list){ arena_array(r->mem, skip->n + 1, sizeof(struct str)), skip->n };
	for (size_t i = 0; i < skip->n; i++)
		r->skip.p[i] = str_dup(r->mem, skip->p[i]);
	qsort(r->skip.p, r->skip.n, sizeof(struct str), by_bytes);
	r->skip_of = skip;
}

/* The commit the next step stands on: the chain's tip, else where the run started, else nothing. */
static int find_parent(struct repo *r, struct str base, struct arena *mem, struct str *parent, struct err *err)
{
	struct str tip = base;

	if (base.n > 0 && !git_sha_ok(base))
		return err_set(err, ERR_INVALID, "the base \"" STR_FMT "\" is not a commit", STR_ARG(base));
	TRY(repo_chain(r, mem, &tip, err));
	*parent = str_dup(mem, tip);
	return 0;
}

/* The run's own index holds the parent's tree. Entries that the person's index shared keep what it knew
 * about the files, so nothing unchanged is read again. */
static int stand_at(struct repo *r, struct str parent, struct arena *mem, struct err *err)
{
	struct git_result res;

	TRY(repo_settle(r, err));
	if (r->index_known && str_eqz(parent, r->index_at))
		return 0;
	r->index_known = false;
	if (parent.n > 0)
		TRY(repo_must(r, "set the run's index", GIT_INDEX_RESET, &parent, 1, STR(""), mem, &res, err));
	else
		TRY(repo_must(r, "set the run's index", GIT_INDEX_EMPTY, NULL, 0, STR(""), mem, &res, err));
	repo_keep_sha(r->index_at, parent);
	r->index_known = true;
	return 0;
}

int repo_settle(struct repo *r, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	struct str at = str_dup(tmp, str_from(r->index_ahead));
	struct git_result res;

	if (at.n == 0)
		return 0;
	r->index_ahead[0] = '\0';
	TRY(repo_run(r, GIT_INDEX_RESET, &at, 1, STR(""), tmp, &res, err));
	r->index_known = res.code == 0; /* else whoever needs it will ask again, and be told why */
	repo_keep_sha(r->index_at, at);
	return 0;
}

int repo_ahead_index(struct repo *r, struct str base, struct err *err)
{
	struct str at = r->tip_known && r->tip[0] ? str_from(r->tip) : base;

	if (!r->host->begin || !git_sha_ok(at))
		return 0;
	TRY(repo_begin(r, GIT_INDEX_RESET, &at, 1, err));
	repo_keep_sha(r->index_ahead, at);
	return 0;
}

int repo_ahead_scan(struct repo *r, const struct repo_step *step, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	struct str parent;

	if (!r->host->begin)
		return 0;
	TRY(find_parent(r, step->base, tmp, &parent, err));
	TRY(stand_at(r, parent, tmp, err));
	return repo_begin(r, GIT_INDEX_SCAN, NULL, 0, err);
}

struct scan {
	struct name_list add, gone;
	struct name_list left_out; /* "name: why", those that are new or changed since they were left out last */
	struct left_marks left;    /* of all of them */
};

static void scan_fini(struct scan *s)
{
	vec_fini(&s->add);
	vec_fini(&s->gone);
	vec_fini(&s->left_out);
	vec_fini(&s->left);
}

static void leave(struct repo *r, struct str name, struct str why, struct arena *mem, struct scan *s)
{
	uint64_t mark = repo_left_mark(r, name);

	*vec_new(&s->left) = mark;
	if (!repo_left_knows(r, mark))
		*vec_new(&s->left_out) = str_printf(mem, STR_FMT ": " STR_FMT, STR_ARG(name), STR_ARG(why));
}

/* Whether a file can and should go into a commit; what should have but cannot is named. */
static void consider(struct repo *r, struct str name, uint64_t big, struct arena *mem, struct scan *s)
{
	const char *path = str_dupz(mem, name);
	struct stat st;

	if (name.p[name.n - 1] == '/' || fstatat(r->workspace_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return; /* a nested repository; or it went away meanwhile */
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return;
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > big)
		leave(r, name, str_printf(mem, "%llu MB, larger than %llu MB", (unsigned long long)st.st_size >> 20,
			(unsigned long long)big >> 20), mem, s);
	else if (S_ISREG(st.st_mode) && faccessat(r->workspace_fd, path, R_OK, AT_EACCESS) < 0)
		leave(r, name, STR("cannot be read"), mem, s);
	else
		*vec_new(&s->add) = name;
}

static int leave_filtered(struct repo *r, struct arena *mem, struct scan *s, struct err *err)
{
	struct name_list filtered = { 0 };
	int rc = repo_take_filtered(r, &s->add, mem, &filtered, err);

	for (size_t i = 0; i < filtered.n && rc == 0; i++)
		leave(r, filtered.p[i], STR("it has a content filter, and none runs here"), mem, s);
	vec_fini(&filtered);
	return rc;
}

static int scan_tree(struct repo *r, const struct repo_step *step, struct arena *mem, struct scan *s, struct err *err)
{
	uint64_t big = step->big_file > 0 ? step->big_file : REPO_BIG_FILE;
	struct repo_head unused = { 0 };
	struct status_entry e;
	struct git_result res;

	sort_skip(r, step->skip);
	TRY(repo_must(r, "look for changes", GIT_INDEX_SCAN, NULL, 0, STR(""), mem, &res, err));
	for (struct str rest = res.out; status_next(&rest, &e, &unused);) {
		if (e.name.n == 0)
			continue;
		if (e.kind == '?' ? is_skipped(r, e.name) : e.disk == '.')
			continue;
		if (e.kind == '1' && e.disk == 'D')
			*vec_new(&s->gone) = e.name;
		else
			consider(r, e.name, big, mem, s);
	}
	return leave_filtered(r, mem, s, err);
}

/* Entries to remove go first: what stands in a removed file's place may then come in. */
static int update_index(struct repo *r, const struct scan *s, struct str parent, struct arena *mem, struct err *err)
{
	auto_buf struct buf in = BUF_MAX(64 << 20);
	struct git_result res;

	r->index_known = false;
	for (size_t i = 0; i < s->gone.n; i++)
		TRY(buf_addf(&in, err, "0 " STR_FMT "\t" STR_FMT "%c", STR_ARG(repo_zeros(parent)), STR_ARG(s->gone.p[i]),
			'\0'));
	if (in.n > 0)
		TRY(repo_must(r, "record removed files", GIT_INDEX_INFO, NULL, 0, buf_str(&in), mem, &res, err));
	buf_clear(&in);
	for (size_t i = 0; i < s->add.n; i++) {
		TRY(buf_add(&in, s->add.p[i], err));
		TRY(buf_addc(&in, '\0', err));
	}
	if (in.n > 0)
		TRY(repo_must(r, "record changed files", GIT_INDEX_ADD, NULL, 0, buf_str(&in), mem, &res, err));
	return 0;
}

static int tree_of_tip(struct repo *r, struct str parent, struct arena *mem, struct str *tree, struct err *err)
{
	*tree = repo_no_tree(parent);
	if (parent.n == 0)
		return 0;
	if (r->tip_tree[0]) {
		*tree = str_dup(mem, str_from(r->tip_tree));
		return 0;
	}
	return repo_sha(r, "read the last step", GIT_TREE_OF, &parent, 1, STR(""), mem, tree, err);
}

/* In words of our own for the one that a person can do something about. */
static struct str why_kept(struct repo *r, const struct git_result *res, struct arena *mem)
{
	struct err why = { 0 };

	if (repo_branch_exists(r, STR("agent6"), ERR_DISCARD) == 1)
		return STR("a branch is called \"agent6\", so none can be called \"agent6/...\"; rename it with git branch -m");
	repo_failed(res, "git", &why);
	return str_dup(mem, str_from(why.msg));
}

static int move_refs(struct repo *r, const struct repo_step *step, struct str sha, struct arena *mem,
	struct repo_stepped *done, struct err *err)
{
	const struct str args[] = { r->run_id, sha, r->tip[0] ? str_dup(mem, str_from(r->tip)) : repo_zeros(sha) };
	struct git_result res;

	TRY(repo_run(r, GIT_STEP_REF, args, 3, STR(""), mem, &res, err));
	if (res.code != 0) {
		r->tip_known = false;
		repo_failed(&res, "move the run's chain", err);
		err->code = ERR_CONFLICT;
		return -ERR_CONFLICT;
	}
	if (!step->branch)
		return 0;
	TRY(repo_run(r, GIT_STEP_BRANCH, args, 3, STR(""), mem, &res, err));
	done->branch_kept = res.code != 0;
	if (done->branch_kept)
		done->branch_why = why_kept(r, &res, mem);
	return 0;
}

int repo_commit_step(struct repo *r, const struct repo_step *step, struct arena *mem, struct repo_stepped *out,
	struct err *err)
{
	CLEANUP(scan_fini) struct scan s = { 0 };
	struct repo_stepped done = { 0 };
	struct str parent, tree, before, args[2], message = step->message;

	TRY(find_parent(r, step->base, mem, &parent, err));
	TRY(stand_at(r, parent, mem, err));
	TRY(scan_tree(r, step, mem, &s, err));
	done.parent = done.sha = parent;
	done.left_out = names_take(&s.left_out, mem);
	vec_fini(&r->left);
	r->left = s.left;
	s.left = (struct left_marks){ 0 };
	repo_left_sort(r);
	r->left_known = true;
	if (s.add.n + s.gone.n > 0) {
		TRY(update_index(r, &s, parent, mem, err));
		TRY(repo_sha(r, "write the tree", GIT_INDEX_TREE, NULL, 0, STR(""), mem, &tree, err));
		TRY(tree_of_tip(r, parent, mem, &before, err));
		done.committed = !str_eq(tree, before);
	}
	if (done.committed) {
		args[0] = tree;
		args[1] = parent;
		if (step->say)
			TRY(step->say(step->self, before, tree, mem, &message, err));
		TRY(repo_sha(r, "commit", GIT_COMMIT, args, parent.n > 0 ? 2 : 1, message, mem, &done.sha, err));
		TRY(move_refs(r, step, done.sha, mem, &done, err));
		repo_keep_sha(r->tip, done.sha);
		repo_keep_sha(r->tip_tree, tree);
	}
	repo_keep_sha(r->index_at, done.sha); /* with nothing committed its tree is the parent's still */
	r->index_known = true;
	for (size_t i = 0; i < s.gone.n; i++)
		*vec_new(&s.add) = s.gone.p[i];
	done.paths = names_take(&s.add, mem);
	*out = done;
	return 0;
}

int repo_is_changed(struct repo *r, const struct repo_step *step, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	CLEANUP(scan_fini) struct scan s = { 0 };
	struct str parent;

	TRY(find_parent(r, step->base, tmp, &parent, err));
	TRY(stand_at(r, parent, tmp, err));
	TRY(scan_tree(r, step, tmp, &s, err));
	return s.add.n + s.gone.n + s.left_out.n > 0;
}

int repo_changes(struct repo *r, const struct repo_step *step, size_t max, struct arena *mem, struct repo_changes *out,
	struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	CLEANUP(scan_fini) struct scan s = { 0 };
	struct str_list *l = &out->paths;
	struct str parent;
	size_t n;

	TRY(find_parent(r, step->base, tmp, &parent, err));
	TRY(stand_at(r, parent, tmp, err));
	TRY(scan_tree(r, step, tmp, &s, err));
	out->total = s.gone.n + s.add.n;
	out->left_out = s.left_out.n;
	n = out->total < max ? out->total : max;
	*l = (struct str_list){ arena_array(mem, n + 1, sizeof(*l->p)), n };
	for (size_t i = 0; i < n; i++)
		l->p[i] = str_dup(mem, i < s.gone.n ? s.gone.p[i] : s.add.p[i - s.gone.n]);
	return 0;
}

int repo_drop_branch(struct repo *r, struct str old, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	const struct str args[] = { r->run_id, old };
	struct git_result res;

	return repo_must(r, "remove the run's branch", GIT_DROP_BRANCH, args, 2, STR(""), tmp, &res, err);
}

int repo_begin_chain(struct repo *r, struct str sha, bool branch, bool *branch_kept, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	const struct str args[] = { r->run_id, sha, repo_zeros(sha) };
	struct git_result res;

	*branch_kept = false;
	TRY(repo_run(r, GIT_STEP_REF, args, COUNT(args), STR(""), tmp, &res, err));
	if (res.code != 0) {
		repo_failed(&res, "begin the run's chain", err);
		err->code = ERR_CONFLICT;
		return -ERR_CONFLICT;
	}
	r->tip_known = false;
	if (!branch)
		return 0;
	TRY(repo_run(r, GIT_STEP_BRANCH, args, COUNT(args), STR(""), tmp, &res, err));
	*branch_kept = res.code != 0;
	return 0;
}

int repo_drop_chain(struct repo *r, struct str old, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	const struct str args[] = { r->run_id, old };
	struct git_result res;

	r->tip_known = false;
	return repo_must(r, "remove the run's chain", GIT_DROP_CHAIN, args, COUNT(args), STR(""), tmp, &res, err);
}
