/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* untracked: what became of the files that no step takes. What the edit tools do to them is known; a command's work is seen by
 * comparing them with how they lay there when the leg began. */
#include "agent/run_priv.h"
#include "fmt/cquote.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define LOOKED_MAX  16384 /* files that are compared */
#define NAMES_BYTES 16384 /* of one list of the last event */

static bool lists(const struct str_list *l, struct str name)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(l->p[i], name))
			return true;
	return false;
}

/* It, or the directory with a repository of its own that it lies in. */
static bool covers(const struct str_list *l, struct str name)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(l->p[i], name) || (str_ends(l->p[i], STR("/")) && str_starts(name, l->p[i])))
			return true;
	return false;
}

static void add(struct str_list *l, struct str shown, struct arena *mem)
{
	size_t bytes = shown.n;
	struct str *next;

	for (size_t i = 0; i < l->n; i++)
		bytes += l->p[i].n;
	if (lists(l, shown) || l->n >= (size_t)loop_limits.files_named || bytes > NAMES_BYTES)
		return;
	next = arena_array(mem, l->n + 1, sizeof(*next));
	if (l->n > 0)
		memcpy(next, l->p, l->n * sizeof(*next));
	next[l->n] = str_dup(mem, shown);
	*l = (struct str_list){ next, l->n + 1 };
}

void untracked_note_edits(struct run *r, const struct str_list *paths)
{
	auto_arena struct arena *mem = arena_new();
	struct str name;

	for (size_t i = 0; step_is_recorded(r) && i < paths->n; i++)
		if (cquote_read(paths->p[i], mem, &name, ERR_DISCARD) == 0 && covers(step_never_takes(r), name))
			add(&r->st.edited_untracked, paths->p[i], r->mem);
}

/* 1, 0: nothing has that name, -1: it cannot be said. */
static int look(const struct run *r, struct str name, struct arena *mem, struct stat *st)
{
	if (fstatat(r->roots[0].dirfd, str_dupz(mem, name), st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

static bool is_gone(const struct run *r, struct str shown)
{
	auto_arena struct arena *mem = arena_new();
	struct stat st;
	struct str name;

	return cquote_read(shown, mem, &name, ERR_DISCARD) == 0 && look(r, name, mem, &st) == 0;
}

static void forget_changed(struct run *r, struct str_list *l)
{
	size_t n = 0;
	struct str name;

	for (size_t i = 0; i < l->n; i++)
		if (cquote_read(l->p[i], r->mem, &name, ERR_DISCARD) == 0 && covers(&r->untracked_now, name) &&
			!lists(&r->st.deleted_untracked, l->p[i]))
			l->p[n++] = l->p[i];
	l->n = n;
}

static void keep_gone(struct run *r)
{
	struct str_list *l = &r->st.deleted_untracked;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (is_gone(r, l->p[i]))
			l->p[n++] = l->p[i];
	l->n = n;
}

/* Between two legs the person may have committed what they had not, removed it, or brought it back. */
static void forget(struct run *r)
{
	forget_changed(r, &r->st.edited_untracked);
	forget_changed(r, &r->st.changed_untracked);
	keep_gone(r);
}

void untracked_begin(struct run *r)
{
	auto_arena struct arena *mem = arena_new();
	const struct str_list *l = step_never_takes(r);
	struct untracked_mark *m;

	if (!step_is_recorded(r))
		return;
	if (r->p->resume)
		forget(r);
	m = arena_array(r->mem, l->n < LOOKED_MAX ? l->n : LOOKED_MAX, sizeof(*m));
	r->nmarks = 0;
	for (size_t i = 0; i < l->n && r->nmarks < LOOKED_MAX; i++) {
		struct stat st;

		/* In a directory with a repository of its own only the edit tools are heard of. */
		if (str_ends(l->p[i], STR("/")) || look(r, l->p[i], mem, &st) != 1)
			continue;
		m[r->nmarks++] = (struct untracked_mark){ .name = l->p[i], .dev = st.st_dev, .ino = st.st_ino, .size = st.st_size,
			.changed = st.st_ctim };
	}
	r->marks = m;
}

bool untracked_is_made(const struct message_path *paths, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (paths[i].added && str_eq(paths[i].name, name))
			return true;
	return false;
}

/* That git cannot tell stops nobody. */
int untracked_theirs(struct run *r, struct arena *mem, struct str_list *out, struct str *run_id, struct err *err)
{
	struct str_list differ, l = { arena_array(mem, r->untracked.n, sizeof(*l.p)), 0 };
	struct message_path *made;
	size_t n = 0;
	struct str tip;
	int rc;

	*out = (struct str_list){ 0 };
	if (!step_is_recorded(r) || r->untracked.n == 0)
		return 0;
	rc = repo_newest_chain(r->repo, mem, run_id, &tip, err);
	if (rc == 1)
		rc = repo_changed(r->repo, r->st.base_sha, tip, mem, &made, &n, err) < 0 ? -(int)err->code : 1;
	for (size_t i = 0; rc == 1 && i < r->untracked.n; i++)
		if (untracked_is_made(made, n, r->untracked.p[i]))
			l.p[l.n++] = r->untracked.p[i];
	if (rc == 1 && l.n > 0)
		rc = repo_differs(r->repo, tip, mem, &differ, err) < 0 ? -(int)err->code : 1;
	if (rc != 1 || l.n == 0)
		return rc == -ERR_CLOSED ? rc : 0;
	n = 0;
	for (size_t i = 0; i < l.n; i++)
		if (!lists(&differ, l.p[i]))
			l.p[n++] = l.p[i];
	l.n = n;
	*out = l;
	return 0;
}

/* By the time of the inode, which nobody can set: a command that puts the old time of a file back has changed it all the same. */
static bool is_as_it_was(const struct untracked_mark *m, const struct stat *st)
{
	return m->dev == st->st_dev && m->ino == st->st_ino && m->size == st->st_size && m->changed.tv_sec == st->st_ctim.tv_sec &&
		m->changed.tv_nsec == st->st_ctim.tv_nsec;
}

static void compare(struct run *r, const struct untracked_mark *m, struct arena *mem)
{
	struct stat st;
	int there = look(r, m->name, mem, &st);

	if (there == 0)
		add(&r->st.deleted_untracked, cquote_dup(mem, m->name), r->mem);
	else if (there == 1 && !is_as_it_was(m, &st))
		add(&r->st.changed_untracked, cquote_dup(mem, m->name), r->mem);
}

void untracked_end(struct run *r, struct arena *mem, struct untracked_left *out)
{
	const struct str_list *const changed[] = { &r->st.edited_untracked, &r->st.changed_untracked };

	*out = (struct untracked_left){ 0 };
	for (size_t i = 0; i < r->nmarks; i++)
		compare(r, &r->marks[i], mem);
	for (size_t k = 0; k < COUNT(changed); k++)
		for (size_t i = 0; i < changed[k]->n; i++) {
			if (is_gone(r, changed[k]->p[i]))
				add(&r->st.deleted_untracked, changed[k]->p[i], r->mem);
			else
				add(&out->edited, changed[k]->p[i], mem);
		}
	keep_gone(r);
	out->deleted = r->st.deleted_untracked;
}
