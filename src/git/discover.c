/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/discover.h"
#include "base/buf.h"
#include "git/gitconfig.h"
#include "git/gitindex.h"
#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define POINTER_MAX 8192
#define CONFIG_MAX  (1 << 20)
#define INDEX_MAX   (256 << 20)

/* The canonical path, in the arena; NULL when it does not exist. */
static const char *canonical(const char *path, struct arena *mem)
{
	autofree char *real = realpath(path, NULL);

	return real ? str_dup(mem, str_from(real)).p : NULL;
}

static const char *below(const char *dir, const char *name, struct arena *mem)
{
	return str_printf(mem, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name).p;
}

static const char *from_dir(const char *dir, struct str path, struct arena *mem)
{
	if (path.n > 0 && path.p[0] == '/')
		return str_dup(mem, path).p;
	return str_printf(mem, "%s/" STR_FMT, dir, STR_ARG(path)).p;
}

static bool exists(const char *path, mode_t type)
{
	struct stat st;

	return stat(path, &st) == 0 && (type == 0 || (st.st_mode & S_IFMT) == type);
}

/* One line of text after a prefix, as git writes it into gitfiles, commondir and gitdir. 0 when absent. */
static int read_pointer(const char *path, const char *prefix, struct arena *mem, struct str *out, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(POINTER_MAX);
	struct str s;
	int r = file_read(AT_FDCWD, path, &b, err);

	if (r == -ERR_NOENT)
		return 0;
	TRY(r);
	s = str_trim(str_trim_prefix(buf_str(&b), str_from(prefix)));
	if (!str_starts(buf_str(&b), str_from(prefix)) || s.n == 0 || memchr(s.p, '\n', s.n) || memchr(s.p, '\0', s.n))
		return err_set(err, ERR_INVALID, "%s holds no line \"%sPATH\"", path, prefix);
	*out = str_dup(mem, s);
	return 1;
}

static int find_common(const char *git_dir, struct arena *mem, const char **out, struct err *err)
{
	const char *file = below(git_dir, "commondir", mem);
	struct str where;
	int r = read_pointer(file, "", mem, &where, err);

	TRY(r);
	*out = r == 0 ? git_dir : canonical(from_dir(git_dir, where, mem), mem);
	return *out ? 0 : err_set(err, ERR_INVALID, "%s names a directory that is not there", file);
}

/* What git itself asks of a directory before it believes in it. */
static bool is_git_dir(const char *dir, const char *common, struct arena *mem)
{
	struct stat st;

	return lstat(below(dir, "HEAD", mem), &st) == 0 && exists(below(common, "objects", mem), S_IFDIR) &&
		exists(below(common, "refs", mem), S_IFDIR);
}

/* core.worktree of the repository's own configuration: a submodule's has it. The last one counts, as for git; NULL: it is not
 * set, or names nothing. */
static const char *configured_top(const char *git_dir, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(CONFIG_MAX);
	const char *named = NULL;

	if (file_read(AT_FDCWD, below(git_dir, "config", mem), &b, ERR_DISCARD) < 0)
		return NULL;
	auto_gitconfig struct gitconfig c = gitconfig_from(buf_str(&b));

	while (gitconfig_next(&c) > 0)
		if (gitconfig_is(&c, "core", "worktree") && c.value.n > 0)
			named = canonical(from_dir(git_dir, buf_str(&c.value), mem), mem);
	return named;
}

static bool config_names(const char *git_dir, const char *top, struct arena *mem)
{
	const char *named = configured_top(git_dir, mem);

	return named && strcmp(named, top) == 0;
}

/* A repository that keeps its files elsewhere: git here would mean those, we would mean these. */
static int check_work_tree(const struct discovered *d, struct arena *mem, struct err *err)
{
	const char *named = configured_top(d->git_dir, mem);

	if (!named || strcmp(named, d->top) == 0)
		return 0;
	err_set(err, ERR_INVALID, "%s says that its work tree is %s (core.worktree), not %s", d->dot_git, named, d->top);
	err_hint(err, "git -C %s config --unset core.worktree, when it is not so", d->top);
	return -ERR_INVALID;
}

/* A .git that leads elsewhere could name any repository of this person. The one it names must say the same. */
static int check_points_back(const struct discovered *d, struct arena *mem, struct err *err)
{
	struct str where;
	const char *named = NULL;
	int r = read_pointer(below(d->git_dir, "gitdir", mem), "", mem, &where, err);

	TRY(r);
	if (r > 0)
		named = canonical(from_dir(d->git_dir, str_trim_suffix(where, STR("/.git")), mem), mem);
	if ((named && strcmp(named, d->top) == 0) || config_names(d->git_dir, d->top, mem))
		return 0;
	err_set(err, ERR_INVALID, "%s leads to %s, which is not the repository of this work tree", d->dot_git, d->git_dir);
	err_hint(err, "if it is: git -C %s config core.worktree %s", d->top, d->top);
	return -ERR_INVALID;
}

/* A directory that shares another one's objects and refs is a work tree's own, which git keeps inside of that one.
 * Anything else could be a directory that a command left here, to lay hands on another repository of this person. */
static int check_shares(const struct discovered *d, struct arena *mem, struct err *err)
{
	struct str inside = str_printf(mem, "%s/worktrees/", d->common_dir);

	if (strcmp(d->git_dir, d->common_dir) == 0 || str_starts(str_from(d->git_dir), inside))
		return 0;
	err_set(err, ERR_INVALID, "%s shares the repository %s, which does not keep it among its work trees", d->git_dir,
		d->common_dir);
	err_hint(err, "git worktree makes what agent6 can use; remove %s/commondir if it should be a repository of its own",
		d->git_dir);
	return -ERR_INVALID;
}

/* A bare repository, or a place inside ".git": what is written there, git would run and believe. */
static int refuse_git_dir(const char *dir, struct arena *mem, struct err *err)
{
	if (!is_git_dir(dir, dir, mem) || !exists(below(dir, "config", mem), S_IFREG))
		return 0;
	err_set(err, ERR_INVALID, "%s is a repository without a work tree", dir);
	err_hint(err, "work in a clone of it, or in a work tree: git -C %s worktree add DIR", dir);
	return -ERR_INVALID;
}

/* 1: a repository, 0: nothing here. */
static int look_at(const char *dir, struct arena *mem, struct discovered *d, struct err *err)
{
	struct str where;
	struct stat st;

	*d = (struct discovered){ .top = dir, .dot_git = below(dir, ".git", mem) };
	if (lstat(d->dot_git, &st) < 0)
		return refuse_git_dir(dir, mem, err);
	d->is_link = S_ISLNK(st.st_mode);
	d->is_file = exists(d->dot_git, S_IFREG);
	d->git_dir = canonical(d->dot_git, mem);
	if (d->is_file) {
		const char *file = d->git_dir;

		TRY(read_pointer(file, "gitdir: ", mem, &where, err));
		d->git_dir = canonical(from_dir(dir, where, mem), mem);
		if (!d->git_dir)
			return err_set(err, ERR_INVALID, "%s leads to " STR_FMT ", which is not there", file, STR_ARG(where));
	}
	if (!d->git_dir || !exists(d->git_dir, S_IFDIR))
		return err_set(err, ERR_INVALID, "%s is neither a directory nor a file that names one", d->dot_git);
	TRY(find_common(d->git_dir, mem, &d->common_dir, err));
	TRY(check_shares(d, mem, err));
	if (!is_git_dir(d->git_dir, d->common_dir, mem))
		return d->is_file ? err_set(err, ERR_INVALID, "%s leads to %s, which is no repository", d->dot_git,
					    d->git_dir)
				  : refuse_git_dir(dir, mem, err); /* git passes over it, and so do we */
	if (d->is_link || d->is_file)
		TRY(check_points_back(d, mem, err));
	else
		TRY(check_work_tree(d, mem, err));
	return 1;
}

int discover_repo(const char *from, struct arena *mem, struct discovered *out, struct err *err)
{
	const char *dir = canonical(from, mem);
	struct discovered d;

	if (!dir)
		return err_sys(err, errno, "%s", from);
	for (;;) {
		int r = look_at(dir, mem, &d, err);

		TRY(r);
		if (r > 0)
			break;
		if (strcmp(dir, "/") == 0)
			return err_set(err, ERR_NOENT, "%s is not in a git repository", from);
		struct str up = str_head(str_from(dir), str_rfind(str_from(dir), '/'));

		dir = up.n == 0 ? "/" : str_dup(mem, up).p;
	}
	*out = d;
	return 0;
}

/* ---- work trees inside ---- */

#define NAMES_MAX 4096
#define DEEP_MAX  8 /* of names with slashes, and of submodules of submodules */

static void add_inner(const struct discovered *d, const char *dir, struct discovered_inner *out)
{
	if (!dir || strcmp(dir, d->top) == 0 || !path_is_within(dir, d->top) || path_is_within(dir, d->common_dir))
		return;
	for (size_t i = 0; i < out->n; i++)
		if (strcmp(out->dirs[i], dir) == 0)
			return;
	if (out->n == DISCOVER_INNER_MAX)
		out->more = true;
	else
		out->dirs[out->n++] = dir;
}

/* The directories in a directory that need not be there. */
static int names_in(const char *dir, struct arena *mem, struct dir_entry **out, size_t *n, struct err *err)
{
	autoclose int fd = -1;

	*n = 0;
	if (dir_open(AT_FDCWD, dir, &fd, ERR_DISCARD) < 0)
		return 0;
	return dir_list(fd, mem, NAMES_MAX, out, n, err);
}

struct links {
	const struct discovered *d;
	const char *top; /* of the index */
	struct arena *mem;
	struct discovered_inner *out;
	size_t first; /* found here: from this one on */
};

static int add_link(void *self, struct str path, struct err *err)
{
	struct links *l = self;

	(void)err;
	add_inner(l->d, str_printf(l->mem, "%s/" STR_FMT, strcmp(l->top, "/") == 0 ? "" : l->top, STR_ARG(path)).p, l->out);
	return 0;
}

static int look_in_modules(const struct discovered *d, const char *dir, const char *name, int depth, struct arena *mem,
	struct discovered_inner *out, struct err *err);

/* Git enters what its index calls a repository, whether it was ever cloned or not. One that keeps its own files where it
 * is may have others in it. */
static int look_in_index(const struct discovered *d, const char *git_dir, const char *top, int depth, struct arena *mem,
	struct discovered_inner *out, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(INDEX_MAX);
	struct links l = { d, top, mem, out, out->n };
	int r = file_read(AT_FDCWD, below(git_dir, "index", mem), &b, ERR_DISCARD);

	if (r == -ERR_NOENT)
		return 0;
	if (r < 0 || gitindex_links(buf_str(&b), add_link, &l, ERR_DISCARD) < 0)
		out->more = true;
	for (size_t i = l.first, end = out->n; i < end; i++) {
		const char *own = below(out->dirs[i], ".git", mem), *real = canonical(out->dirs[i], mem);

		if (!real || strcmp(real, out->dirs[i]) != 0 || !exists(below(own, "HEAD", mem), 0))
			continue;
		if (depth == DEEP_MAX) {
			out->more = true;
			continue;
		}
		TRY(look_in_index(d, own, out->dirs[i], depth + 1, mem, out, err));
		TRY(look_in_modules(d, below(own, "modules", mem), NULL, depth + 1, mem, out, err));
	}
	return 0;
}

/* modules/NAME is a repository, or a directory of such: names may hold slashes. name: of dir so far, "" or ending in '/'; NULL:
 * these are submodules of a submodule. */
static int look_in_modules(const struct discovered *d, const char *dir, const char *name, int depth, struct arena *mem,
	struct discovered_inner *out, struct err *err)
{
	struct dir_entry *list;
	size_t n;

	TRY(names_in(dir, mem, &list, &n, err));
	for (size_t i = 0; i < n && depth < DEEP_MAX; i++) {
		const char *path = below(dir, list[i].name.p, mem);

		if (list[i].type != DT_DIR)
			continue;
		if (!exists(below(path, "HEAD", mem), 0)) {
			TRY(look_in_modules(d, path, name ? str_printf(mem, "%s%s/", name, list[i].name.p).p : NULL, depth + 1, mem, out,
				err));
			continue;
		}
		const char *top = configured_top(path, mem);

		if (!top && name) /* deinitialised: its name is its path unless somebody chose another */
			top = canonical(str_printf(mem, "%s/%s%s", d->top, name, list[i].name.p).p, mem);
		add_inner(d, top, out);
		if (top && path_is_within(top, d->top))
			TRY(look_in_index(d, path, top, depth + 1, mem, out, err));
		TRY(look_in_modules(d, below(path, "modules", mem), NULL, depth + 1, mem, out, err));
	}
	return 0;
}

int discover_inner(const struct discovered *d, struct arena *mem, struct discovered_inner *out, struct err *err)
{
	const char *linked = below(d->common_dir, "worktrees", mem);
	struct discovered_inner all = { .n = 0 };
	struct dir_entry *list;
	size_t n;

	TRY(look_in_index(d, d->git_dir, d->top, 0, mem, &all, err));
	TRY(look_in_modules(d, below(d->common_dir, "modules", mem), "", 0, mem, &all, err));
	if (strcmp(d->git_dir, d->common_dir) != 0) /* a linked work tree has its submodules beside its HEAD */
		TRY(look_in_modules(d, below(d->git_dir, "modules", mem), "", 0, mem, &all, err));
	TRY(names_in(linked, mem, &list, &n, err));
	for (size_t i = 0; i < n; i++) {
		const char *dir = below(linked, list[i].name.p, mem);
		struct str where;

		if (list[i].type != DT_DIR || read_pointer(below(dir, "gitdir", mem), "", mem, &where, ERR_DISCARD) <= 0)
			continue;
		const char *top = canonical(from_dir(dir, str_trim_suffix(where, STR("/.git")), mem), mem);

		add_inner(d, top, &all);
		if (top && strcmp(top, d->top) != 0 && path_is_within(top, d->top))
			TRY(look_in_index(d, dir, top, 0, mem, &all, err));
	}
	*out = all;
	return 0;
}
