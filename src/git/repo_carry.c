/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* repo_carry: the index and the files of the checkout follow their branch; the person's work stays.
 *
 * The index and the file of a name are two questions. An index entry that is the old tip's always follows:
 * left behind, it would be a staged change that takes the merge back at the next commit. A file follows only
 * when it is the old tip's too. */
#include "git/repo_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int by_bytes(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static int by_name(const void *a, const void *b)
{
	return str_cmp(((const struct status_entry *)a)->name, ((const struct status_entry *)b)->name);
}

static bool is_none(struct str mode)
{
	return str_eqz(mode, "000000");
}

/* What comes by itself; a link that a run made does not. */
static bool is_plain(const struct carry *c, struct str mode)
{
	return str_starts(mode, STR("100")) || is_none(mode) || (c->links && str_eqz(mode, "120000"));
}

static bool is_submodule(const struct change *ch)
{
	return str_eqz(ch->mode, "160000") || str_eqz(ch->mode_old, "160000");
}

static bool lists(const struct name_list *l, struct str name)
{
	return l->n > 0 && bsearch(&name, l->p, l->n, sizeof(name), by_bytes);
}

/* ---- what there is ---- */

/* ":100644 100644 sha sha M" NUL path NUL */
int change_next(struct str *rest, struct change *out, struct err *err)
{
	struct str meta = str_cut(rest, '\0');
	struct change ch = { 0 };

	if (meta.n == 0 && rest->n == 0)
		return 0;
	if (!str_starts(meta, STR(":")))
		return err_set(err, ERR_REMOTE, "compare trees: git printed something else");
	meta = str_skip(meta, 1);
	ch.mode_old = str_cut(&meta, ' ');
	ch.mode = str_cut(&meta, ' ');
	str_cut(&meta, ' ');
	ch.sha = str_cut(&meta, ' ');
	ch.name = str_cut(rest, '\0');
	*out = ch;
	return 1;
}

static int read_changes(struct carry *c)
{
	const struct str args[] = { c->old, c->result };
	struct git_result res;
	struct change ch;
	int r;

	TRY(repo_must(c->r, "compare trees", GIT_DIFF_RAW, args, 2, STR(""), c->mem, &res, c->err));
	while ((r = change_next(&res.out, &ch, c->err)) > 0)
		*vec_new(&c->changes) = ch;
	return r;
}

/* Every name that differs from HEAD in the person's index or on disk. HEAD is the old tip here. */
static int read_entries(struct carry *c)
{
	struct repo_head unused = { 0 };
	struct status_entry e;
	struct git_result res;

	TRY(repo_must(c->r, "compare the checkout", GIT_STATUS, NULL, 0, STR(""), c->mem, &res, c->err));
	for (struct str rest = res.out; status_next(&rest, &e, &unused);) {
		if (e.kind == 'u')
			return err_set(c->err, ERR_CONFLICT, "a merge stopped at a conflict in " STR_FMT
				"; finish or abort it first", STR_ARG(e.name));
		if (e.kind == '1')
			*vec_new(&c->entries) = e;
	}
	if (c->entries.n > 0)
		qsort(c->entries.p, c->entries.n, sizeof(e), by_name);
	return 0;
}

static int read_flags(struct carry *c)
{
	struct git_result res;

	TRY(repo_must(c->r, "read the index", GIT_FLAGS, NULL, 0, STR(""), c->mem, &res, c->err));
	for (struct str rest = res.out; rest.n > 0;) {
		struct str line = str_cut(&rest, '\0');

		if (line.n > 2 && (line.p[0] == 'S' || (line.p[0] >= 'a' && line.p[0] <= 'z')))
			*vec_new(&c->flagged) = str_skip(line, 2);
	}
	if (c->flagged.n > 0)
		qsort(c->flagged.p, c->flagged.n, sizeof(struct str), by_bytes);
	return 0;
}

enum way repo_way_of(struct repo *r, struct str name, struct arena *mem)
{
	char *path = (char *)str_dupz(mem, name);
	struct stat st;

	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int rc = fstatat(r->workspace_fd, path, &st, AT_SYMLINK_NOFOLLOW);

		if (rc < 0)
			return errno == ENOENT ? WAY_FREE : WAY_TAKEN;
		if (!S_ISDIR(st.st_mode))
			return WAY_DIRECTORY;
		*slash = '/';
	}
	if (fstatat(r->workspace_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? WAY_FREE : WAY_TAKEN;
	return S_ISDIR(st.st_mode) ? WAY_DIRECTORY : WAY_TAKEN;
}

static enum way way_of(const struct carry *c, struct str name)
{
	return repo_way_of(c->r, name, c->mem);
}

/* ---- deciding ---- */

static const struct status_entry *entry_of(const struct carry *c, struct str name)
{
	const struct status_entry key = { .name = name };

	return c->entries.n > 0 ? bsearch(&key, c->entries.p, c->entries.n, sizeof(key), by_name) : NULL;
}

static void decide_new(const struct carry *c, struct change *ch)
{
	enum way way = way_of(c, ch->name);

	ch->fate = way == WAY_FREE ? CARRY_FILE : way == WAY_DIRECTORY ? CARRY_LATE : CARRY_INDEX;
	ch->asked = way == WAY_TAKEN;
}

static void decide(const struct carry *c, struct change *ch)
{
	const struct status_entry *e = entry_of(c, ch->name);

	if (e && e->index != '.') {
		ch->fate = CARRY_STAYS;
		ch->staged = !str_eq(e->mode, ch->mode) || !str_eq(e->sha, ch->sha);
		ch->differs = !ch->staged && e->disk != '.';
	} else if (e && e->disk == 'A') {
		ch->fate = CARRY_ENTRY;
		ch->asked = true;
	} else if (lists(&c->flagged, ch->name)) {
		ch->fate = CARRY_INDEX; /* a sparse checkout lacks files on purpose */
		ch->asked = way_of(c, ch->name) == WAY_TAKEN;
	} else if (e || !is_plain(c, ch->mode) || !is_plain(c, ch->mode_old)) {
		ch->fate = CARRY_INDEX;
		ch->asked = true;
	} else if (is_none(ch->mode_old)) {
		decide_new(c, ch);
	} else {
		ch->fate = CARRY_FILE;
	}
}

static int add_line(struct buf *lines, const struct change *ch, struct err *err)
{
	return buf_addf(lines, err, STR_FMT " " STR_FMT "\t" STR_FMT "%c",
		STR_ARG(is_none(ch->mode) ? STR("0") : ch->mode), STR_ARG(ch->sha), STR_ARG(ch->name), '\0');
}

static bool is_absent(const struct carry *c, struct str name)
{
	return way_of(c, name) != WAY_TAKEN;
}

/* Whether files that stay are the result's already: an index of just these entries is compared with the disk,
 * by git's own rules for modes, links and line ends. */
static int find_same(struct carry *c)
{
	auto_buf struct buf lines = BUF_MAX(64 << 20);
	struct name_list differ = { 0 };
	struct git_result res;

	for (size_t i = 0; i < c->changes.n; i++) {
		struct change *ch = &c->changes.p[i];

		if (ch->asked && (is_submodule(ch) || is_none(ch->mode)))
			ch->differs = is_submodule(ch) || !is_absent(c, ch->name);
		else if (ch->asked)
			TRY(add_line(&lines, ch, c->err));
	}
	if (lines.n == 0)
		return 0;
	c->r->index_known = false;
	TRY(repo_must(c->r, "set our own index", GIT_INDEX_EMPTY, NULL, 0, STR(""), c->mem, &res, c->err));
	TRY(repo_must(c->r, "set our own index", GIT_INDEX_INFO, NULL, 0, buf_str(&lines), c->mem, &res, c->err));
	TRY(repo_run(c->r, GIT_INDEX_REFRESH, NULL, 0, STR(""), c->mem, &res, c->err));
	TRY(repo_must(c->r, "compare files", GIT_INDEX_DIFF, NULL, 0, STR(""), c->mem, &res, c->err));
	for (struct str rest = res.out; rest.n > 0;)
		*vec_new(&differ) = str_cut(&rest, '\0');
	if (differ.n > 0)
		qsort(differ.p, differ.n, sizeof(struct str), by_bytes);
	for (size_t i = 0; i < c->changes.n; i++) {
		struct change *ch = &c->changes.p[i];

		if (ch->asked && !is_submodule(ch) && !is_none(ch->mode))
			ch->differs = lists(&differ, ch->name);
	}
	vec_fini(&differ);
	return 0;
}

/* ---- trees ---- */

static bool goes(const struct change *ch)
{
	return ch->fate == CARRY_FILE && is_none(ch->mode);
}

static bool comes(const struct change *ch)
{
	return ch->fate == CARRY_FILE;
}

static bool in_index(const struct change *ch)
{
	return ch->fate != CARRY_STAYS && ch->fate != CARRY_ENTRY;
}

/* The tree `from` with the chosen changes. Removed names first: what stands in their place may then come. */
static int tree_with(struct carry *c, struct str from, bool (*chosen)(const struct change *ch), struct str *tree)
{
	auto_buf struct buf lines = BUF_MAX(64 << 20);
	struct git_result res;

	for (int adds = 0; adds < 2; adds++)
		for (size_t i = 0; i < c->changes.n; i++)
			if (chosen(&c->changes.p[i]) && is_none(c->changes.p[i].mode) == !adds)
				TRY(add_line(&lines, &c->changes.p[i], c->err));
	*tree = from;
	if (lines.n == 0)
		return 0;
	c->r->index_known = false;
	TRY(repo_must(c->r, "set our own index", GIT_INDEX_RESET, &c->old, 1, STR(""), c->mem, &res, c->err));
	TRY(repo_must(c->r, "set our own index", GIT_INDEX_INFO, NULL, 0, buf_str(&lines), c->mem, &res, c->err));
	return repo_sha(c->r, "write a tree", GIT_INDEX_TREE, NULL, 0, STR(""), c->mem, tree, c->err);
}

int carry_plan(struct carry *c)
{
	struct git_result res;

	TRY(read_changes(c));
	TRY(read_entries(c));
	TRY(read_flags(c));
	for (size_t i = 0; i < c->changes.n; i++)
		decide(c, &c->changes.p[i]);
	TRY(find_same(c));
	TRY(tree_with(c, c->old, goes, &c->cleared));
	/* A file rewritten with the same bytes would stop the next steps, and so would a locked index: found out
	 * before the branch moves, not after. */
	TRY(repo_run(c->r, GIT_REFRESH, NULL, 0, STR(""), c->mem, &res, c->err));
	return res.code > 1 ? repo_failed(&res, "read the checkout", c->err) : 0;
}

/* ---- doing ---- */

/* 1: brought forward; 0: git refused, since something changed meanwhile, and left everything as it was. */
static int step_to(struct carry *c, enum git_op op, struct str *at, struct str to, struct git_result *res)
{
	const struct str args[] = { *at, to };

	if (str_eq(*at, to))
		return 1;
	TRY(repo_run(c->r, op, args, 2, STR(""), c->mem, res, c->err));
	if (res->code != 0)
		return 0;
	*at = to;
	return 1;
}

static void leave_files(struct carry *c, bool cleared)
{
	for (size_t i = 0; i < c->changes.n; i++) {
		struct change *ch = &c->changes.p[i];

		if ((ch->fate == CARRY_FILE && !(cleared && goes(ch))) || ch->fate == CARRY_LATE) {
			ch->fate = CARRY_INDEX;
			ch->differs = true;
		}
	}
}

static void decide_late(struct carry *c)
{
	for (size_t i = 0; i < c->changes.n; i++) {
		struct change *ch = &c->changes.p[i];

		if (ch->fate != CARRY_LATE)
			continue;
		ch->fate = way_of(c, ch->name) == WAY_FREE ? CARRY_FILE : CARRY_INDEX;
		ch->differs = ch->fate == CARRY_INDEX;
	}
}

static int carry_files(struct carry *c, struct str *at)
{
	struct git_result res;
	struct str files;
	int r = step_to(c, GIT_CARRY, at, c->cleared, &res);

	TRY(r);
	if (r > 0) {
		decide_late(c);
		TRY(tree_with(c, c->old, comes, &files));
		TRY(r = step_to(c, GIT_CARRY, at, files, &res));
	}
	if (r == 0) /* a file or entry changed since we looked: it is the person's now, and so are its neighbours */
		leave_files(c, str_eq(*at, c->cleared));
	return 0;
}

static int carry_entries(struct carry *c)
{
	auto_buf struct buf lines = BUF_MAX(64 << 20);
	struct git_result res;

	for (size_t i = 0; i < c->changes.n; i++)
		if (c->changes.p[i].fate == CARRY_ENTRY)
			TRY(add_line(&lines, &c->changes.p[i], c->err));
	if (lines.n == 0)
		return 0;
	return repo_must(c->r, "bring the index forward", GIT_CARRY_ENTRIES, NULL, 0, buf_str(&lines), c->mem, &res, c->err);
}

int carry_apply(struct carry *c)
{
	struct str at = c->old, index;
	struct git_result res;
	int r;

	TRY(carry_files(c, &at));
	TRY(tree_with(c, c->old, in_index, &index));
	TRY(r = step_to(c, GIT_CARRY_INDEX, &at, index, &res));
	if (r == 0)
		return repo_failed(&res, "bring the index forward", c->err);
	TRY(carry_entries(c));
	/* Files that are the result's already are told from changed ones now, not at the next look. */
	return repo_run(c->r, GIT_REFRESH, NULL, 0, STR(""), c->mem, &res, c->err);
}

void carry_names(const struct carry *c, struct name_list *kept, struct name_list *staged)
{
	for (size_t i = 0; i < c->changes.n; i++)
		if (c->changes.p[i].staged)
			*vec_new(staged) = c->changes.p[i].name;
		else if (c->changes.p[i].differs)
			*vec_new(kept) = c->changes.p[i].name;
}

void carry_fini(struct carry *c)
{
	vec_fini(&c->changes);
	vec_fini(&c->entries);
	vec_fini(&c->flagged);
}
