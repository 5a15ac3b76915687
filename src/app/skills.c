/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/skills.h"

#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES_MAX 2000
#define DEPTH_MAX   6
#define ORIGINS     ".origin" /* no name of a skill */
#define ORIGIN_MAX  4096

const char *skills_dir(const struct paths *paths, struct arena *mem)
{
	return str_printf(mem, "%s/skills", paths->data).p;
}

static void note(struct skills_found *f, struct arena *mem, struct str text)
{
	struct str *bigger = arena_array(mem, f->notes.n + 1, sizeof(*bigger));

	if (f->notes.n > 0)
		memcpy(bigger, f->notes.p, f->notes.n * sizeof(*bigger));
	bigger[f->notes.n++] = text;
	f->notes.p = bigger;
}

/* ------------------------------------------------------------------ one skill */

struct walk {
	struct arena *mem;
	struct skill *skill;
	size_t *total; /* bytes of all skills so far */
};

static int read_file(int dirfd, const char *name, struct str path, struct walk *w, struct err *err)
{
	auto_buf struct buf bytes = BUF_MAX(SKILL_FILE_MAX);
	struct skill_file *f;
	int r;

	if (w->skill->nfiles == SKILL_FILES_MAX)
		return err_set(err, ERR_LIMIT, "it has more than %d files", SKILL_FILES_MAX);
	autoclose int fd = file_openat2(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0,
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		return err_sys(err, errno, "open " STR_FMT, STR_ARG(path));
	r = file_read_fd(fd, &bytes, err);
	if (r < 0 && r != -ERR_LIMIT)
		return err_wrap(err, STR_FMT, STR_ARG(path));
	f = &w->skill->files[w->skill->nfiles++];
	*f = (struct skill_file){ .path = path, .left_out = r == -ERR_LIMIT };
	if (f->left_out)
		return 0;
	*w->total += bytes.n;
	if (*w->total > SKILL_BUNDLE_MAX)
		return err_set(err, ERR_LIMIT, "all skills together are larger than %zu KiB", SKILL_BUNDLE_MAX / 1024);
	f->bytes = str_dup(w->mem, buf_str(&bytes));
	return 0;
}

/* Regular files below the directory; links, pipes and hidden directories are not looked at. */
static int walk(int dirfd, struct str prefix, int depth, struct walk *w, struct err *err)
{
	struct dir_entry *e;
	size_t n;

	TRY(dir_list(dirfd, w->mem, ENTRIES_MAX, &e, &n, err));
	for (size_t i = 0; i < n; i++) {
		const char *name = str_dupz(w->mem, e[i].name);
		struct str path = prefix.n > 0 ? str_printf(w->mem, STR_FMT "/%s", STR_ARG(prefix), name) : e[i].name;
		autoclose int sub = -1;

		if (!utf8_valid(e[i].name))
			continue;
		if (e[i].type == DT_REG)
			TRY(read_file(dirfd, name, path, w, err));
		if (e[i].type != DT_DIR || name[0] == '.' || depth == DEPTH_MAX)
			continue;
		sub = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub < 0)
			return err_sys(err, errno, "open " STR_FMT, STR_ARG(path));
		TRY(walk(sub, path, depth + 1, w, err));
	}
	return 0;
}

static int read_skill(int dirfd, struct skill *out, size_t *total, struct arena *mem, struct err *err)
{
	struct walk w = { mem, out, total };

	out->files = arena_array(mem, SKILL_FILES_MAX, sizeof(*out->files));
	TRY(walk(dirfd, STR(""), 0, &w, err));
	return skill_file(out, STR("SKILL.md")) ? 0 : err_set(err, ERR_NOENT, "there is no SKILL.md in it");
}

/* ------------------------------------------------------------------ all of them */

static bool listed(const struct str_list *list, struct str name)
{
	for (size_t i = 0; list && i < list->n; i++)
		if (str_eq(list->p[i], name))
			return true;
	return false;
}

static bool have(const struct skills_found *f, struct str name)
{
	for (size_t i = 0; i < f->skills.n; i++)
		if (str_eq(f->skills.p[i].name, name))
			return true;
	return false;
}

struct collect {
	const struct config *c;
	bool all;
	struct arena *mem;
	struct skills_found *out;
	size_t total;
	bool managed; /* the directory is agent6's own */
};

static void take_dir(struct collect *k, int dirfd, const char *dir, struct str name)
{
	const struct config_skills *wish = k->c ? &k->c->skills : NULL;
	bool disabled = wish && listed(&wish->disabled, name);
	struct skill s = { .name = name, .always = wish && listed(&wish->always, name) };
	struct err why = { 0 };
	size_t before = k->total, i = k->out->skills.n;
	autoclose int sub = -1;

	if ((disabled && !k->all) || have(k->out, name))
		return;
	if (i == SKILLS_MAX) {
		note(k->out, k->mem, str_printf(k->mem, "skill " STR_FMT " is left out: there are more than %d", STR_ARG(name), SKILLS_MAX));
		return;
	}
	/* The operator may link a skill into the managed directory; elsewhere somebody else might have. */
	sub = openat(dirfd, str_dupz(k->mem, name), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (k->managed ? 0 : O_NOFOLLOW));
	if (sub < 0 || faccessat(sub, "SKILL.md", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return; /* no skill */
	if (read_skill(sub, &s, &k->total, k->mem, &why) < 0) {
		k->total = before;
		note(k->out, k->mem, str_printf(k->mem, "skill " STR_FMT " is left out: %s", STR_ARG(name), why.msg));
		return;
	}
	k->out->skills.p[i] = s;
	k->out->dirs[i] = str_printf(k->mem, "%s/" STR_FMT, dir, STR_ARG(name)).p;
	k->out->disabled[i] = disabled;
	k->out->skills.n++;
}

static int collect_dir(struct collect *k, const char *dir, struct err *err)
{
	autoclose int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dir_entry *e;
	size_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "open %s", dir);
	TRY(dir_list(fd, k->mem, ENTRIES_MAX, &e, &n, err));
	for (size_t i = 0; i < n; i++)
		if (skill_name_ok(e[i].name))
			take_dir(k, fd, dir, e[i].name);
	return 0;
}

int skills_collect(const struct paths *paths, const struct config *c, bool all, struct arena *mem, struct skills_found *out,
	struct err *err)
{
	struct collect k = { .c = c, .all = all, .mem = mem, .out = out };

	*out = (struct skills_found){ 0 };
	out->skills.p = arena_array(mem, SKILLS_MAX, sizeof(*out->skills.p));
	out->dirs = arena_array(mem, SKILLS_MAX, sizeof(*out->dirs));
	out->disabled = arena_array(mem, SKILLS_MAX, sizeof(*out->disabled));
	k.managed = true;
	TRY(collect_dir(&k, skills_dir(paths, mem), err));
	k.managed = false;
	for (size_t i = 0; c && i < c->skills.extra_dirs.n; i++)
		TRY(collect_dir(&k, str_dupz(mem, c->skills.extra_dirs.p[i]), err));
	return 0;
}

/* ------------------------------------------------------------------ install, remove */

static int write_file(int root, const struct skill_file *f, struct arena *mem, struct err *err)
{
	struct str rest = f->path, part = str_cut(&rest, '/');
	autoclose int dir = dup(root);

	if (dir < 0)
		return err_sys(err, errno, "dup");
	for (; rest.n > 0; part = str_cut(&rest, '/')) {
		const char *name = str_dupz(mem, part);
		int sub;

		if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
			return err_sys(err, errno, "make %s", name);
		sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub < 0)
			return err_sys(err, errno, "open %s", name);
		close(dir);
		dir = sub;
	}
	return file_replace(dir, str_dupz(mem, part), f->bytes, 0644, err);
}

static int write_skill(int dir, const char *name, const struct skill *s, struct arena *mem, struct err *err)
{
	autoclose int root = -1;

	if (mkdirat(dir, name, 0755) < 0)
		return err_sys(err, errno, "make %s", name);
	TRY(dir_open(dir, name, &root, err));
	for (size_t i = 0; i < s->nfiles; i++)
		TRY(write_file(root, &s->files[i], mem, err));
	return 0;
}

/* The new one is written whole beside the old one and takes its place by one rename each. */
static int put_in_place(int dir, const struct skill *s, struct arena *mem, struct err *err)
{
	const char *name = str_dupz(mem, s->name);
	const char *new = str_printf(mem, ".new-%s-%d", name, (int)getpid()).p, *old = str_printf(mem, ".old-%s-%d", name, (int)getpid()).p;
	bool there = faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	int r;

	r = write_skill(dir, new, s, mem, err);
	if (r == 0 && there && renameat(dir, name, dir, old) < 0)
		r = err_sys(err, errno, "move the old %s away", name);
	if (r == 0 && renameat(dir, new, dir, name) < 0)
		r = err_sys(err, errno, "put %s in its place", name);
	if (r < 0) {
		if (dir_remove_tree(dir, new, ERR_DISCARD) < 0)
			err_hint(err, "%s is left over", new);
		return r;
	}
	return there ? dir_remove_tree(dir, old, err) : 0;
}

static int read_source(const struct skill_source *from, struct skill *s, size_t *total, struct arena *mem, struct err *err)
{
	s->name = from->name;
	if (!skill_name_ok(s->name))
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\": a skill's directory is named with letters, digits, '-' and '_', at most %d of "
						 "them", STR_ARG(str_head(s->name, 80)), SKILL_NAME_MAX);
	if (read_skill(from->dirfd, s, total, mem, err) < 0)
		return err_wrap(err, STR_FMT, STR_ARG(s->name));
	for (size_t i = 0; i < s->nfiles; i++)
		if (s->files[i].left_out)
			return err_set(err, ERR_LIMIT, STR_FMT "/" STR_FMT " is larger than %zu KiB", STR_ARG(s->name), STR_ARG(s->files[i].path),
				SKILL_FILE_MAX / 1024);
	return 0;
}

/* <data>/skills/.origin/NAME, one line. */
static int put_origin(int dir, struct str name, struct str origin, struct arena *mem, struct err *err)
{
	auto_buf struct buf line = BUF_MAX(ORIGIN_MAX);
	autoclose int fd = -1;

	if (buf_addf(&line, err, STR_FMT "\n", STR_ARG(origin)) < 0)
		return err_wrap(err, "the address of the skill");
	if (mkdirat(dir, ORIGINS, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "make " ORIGINS);
	fd = openat(dir, ORIGINS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "open " ORIGINS);
	return file_replace(fd, str_dupz(mem, name), buf_str(&line), 0600, err);
}

int skills_origin(const struct paths *paths, struct str name, struct arena *mem, struct str *out, struct err *err)
{
	auto_buf struct buf line = BUF_MAX(ORIGIN_MAX);
	int r;

	*out = STR("");
	if (!skill_name_ok(name))
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is no name of a skill", STR_ARG(str_head(name, 80)));
	r = file_read(AT_FDCWD, str_printf(mem, "%s/" ORIGINS "/" STR_FMT, skills_dir(paths, mem), STR_ARG(name)).p, &line, err);
	if (r == -ERR_NOENT)
		return 0;
	TRY(r);
	*out = str_dup(mem, str_trim(buf_str(&line)));
	return 0;
}

bool skills_same(const struct paths *paths, const struct skill_source *with, struct arena *mem)
{
	struct skill a = { 0 }, b = { 0 };
	size_t total = 0, other = 0;
	autoclose int fd = -1;

	if (dir_open(AT_FDCWD, str_printf(mem, "%s/" STR_FMT, skills_dir(paths, mem), STR_ARG(with->name)).p, &fd, ERR_DISCARD) < 0)
		return false;
	if (read_skill(fd, &a, &total, mem, ERR_DISCARD) < 0 || read_skill(with->dirfd, &b, &other, mem, ERR_DISCARD) < 0 ||
		a.nfiles != b.nfiles)
		return false;
	for (size_t i = 0; i < a.nfiles; i++) {
		const struct skill_file *f = skill_file(&b, a.files[i].path);

		if (!f || f->left_out || a.files[i].left_out || !str_eq(f->bytes, a.files[i].bytes))
			return false;
	}
	return true;
}

int skills_install(const struct paths *paths, const struct skill_source *from, size_t n, struct str origin, bool replace,
	struct arena *mem, struct err *err)
{
	struct skill *s = arena_array(mem, n, sizeof(*s));
	const char *managed = skills_dir(paths, mem);
	autoclose int dir = -1;
	size_t total = 0;
	int r;

	TRY(dir_make(managed, 0700, err));
	TRY(dir_open(AT_FDCWD, managed, &dir, err));
	for (size_t i = 0; i < n; i++) {
		TRY(read_source(&from[i], &s[i], &total, mem, err));
		if (replace || faccessat(dir, str_dupz(mem, s[i].name), F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		r = err_set(err, ERR_EXIST, "there is a skill \"" STR_FMT "\" already; nothing was installed", STR_ARG(s[i].name));
		err_hint(err, "--force replaces it");
		return r;
	}
	for (size_t i = 0; i < n; i++) {
		TRY(put_in_place(dir, &s[i], mem, err));
		TRY(put_origin(dir, s[i].name, origin, mem, err));
	}
	return 0;
}

int skills_remove(const struct paths *paths, struct str name, struct arena *mem, struct err *err)
{
	const char *managed = skills_dir(paths, mem);
	autoclose int dir = -1;

	if (!skill_name_ok(name))
		return err_set(err, ERR_INVALID, "\"" STR_FMT "\" is no name of a skill", STR_ARG(name));
	if (access(str_printf(mem, "%s/" STR_FMT, managed, STR_ARG(name)).p, F_OK) < 0)
		return err_set(err, ERR_NOENT, "there is no skill \"" STR_FMT "\" in %s", STR_ARG(name), managed);
	TRY(dir_open(AT_FDCWD, managed, &dir, err));
	if (unlinkat(dir, str_printf(mem, ORIGINS "/" STR_FMT, STR_ARG(name)).p, 0) < 0 && errno != ENOENT)
		return err_sys(err, errno, "forget where " STR_FMT " came from", STR_ARG(name));
	return dir_remove_tree(dir, str_dupz(mem, name), err);
}
