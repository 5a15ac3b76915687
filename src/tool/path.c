/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/path.h"

#include "fmt/cquote.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <strings.h>

#define LINKS_MAX 40 /* as the kernel's own limit */
#define BENEATH   (RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS)

/* ------------------------------------------------------------------ names */

/* Compared without case everywhere: a file system may fold it, and a look-alike has no honest use. */
static bool same_name(struct str a, const char *b)
{
	return a.n == strlen(b) && strncasecmp(a.p, b, a.n) == 0;
}

/* path is dir or lies beneath it; both absolute. */
static bool is_beneath(struct str path, struct str dir, bool fold)
{
	if (dir.n == 1)
		return true;
	if (path.n < dir.n || (path.n > dir.n && path.p[dir.n] != '/'))
		return false;
	return fold ? strncasecmp(path.p, dir.p, dir.n) == 0 : memcmp(path.p, dir.p, dir.n) == 0;
}

static struct str absolute(struct arena *mem, const struct tool_root *root, struct str rel)
{
	if (str_eqz(rel, "."))
		return root->path;
	return str_printf(mem, STR_FMT "%s" STR_FMT, STR_ARG(root->path), root->path.n == 1 ? "" : "/", STR_ARG(rel));
}

static struct str shown(const struct tool_ctx *ctx, const struct tool_root *root, struct str rel)
{
	return cquote_dup(ctx->mem, root == ctx->roots ? rel : absolute(ctx->mem, root, rel));
}

static const struct str *hidden_root(const struct tool_ctx *ctx, struct str abs)
{
	for (size_t i = 0; ctx->hide_paths && i < ctx->hide_paths->n; i++)
		if (is_beneath(abs, ctx->hide_paths->p[i], true))
			return &ctx->hide_paths->p[i];
	return NULL;
}

bool path_is_hidden(const struct tool_ctx *ctx, const struct tool_path *dir, struct str name)
{
	struct str base = absolute(ctx->mem, dir->root, dir->rel);

	return hidden_root(ctx, str_printf(ctx->mem, STR_FMT "/" STR_FMT, STR_ARG(base), STR_ARG(name))) != NULL;
}

struct str_list path_hidden_beneath(const struct tool_ctx *ctx, const struct tool_path *dir)
{
	struct str base = absolute(ctx->mem, dir->root, dir->rel);
	size_t all = ctx->hide_paths ? ctx->hide_paths->n : 0;
	struct str_list list = { arena_array(ctx->mem, all + 1, sizeof(struct str)), 0 };

	for (size_t i = 0; i < all; i++)
		if (is_beneath(ctx->hide_paths->p[i], base, true))
			list.p[list.n++] = str_trim_prefix(str_skip(ctx->hide_paths->p[i], dir->root->path.n), STR("/"));
	return list;
}

/* ------------------------------------------------------------------ resolving */

struct walk {
	const struct tool_ctx *ctx;
	struct str text;              /* what the model wrote, for messages */
	const struct tool_root *root;
	struct buf rel;               /* so far, without links */
	struct buf rest;              /* still to go */
	int links;
	struct str link, target;      /* the last one followed, for messages */
	bool missing;                 /* nothing exists from here on */
	struct stat st;
};

static void walk_fini(struct walk *w)
{
	buf_fini(&w->rel);
	buf_fini(&w->rest);
}

static const struct tool_root *root_of(const struct tool_ctx *ctx, struct str abs)
{
	const struct tool_root *best = NULL;

	for (size_t i = 0; i < ctx->nroots; i++)
		if (is_beneath(abs, ctx->roots[i].path, false) && (!best || ctx->roots[i].path.n > best->path.n))
			best = &ctx->roots[i];
	return best;
}

static int outside(const struct walk *w, struct err *err)
{
	err_set(err, ERR_DENIED, STR_FMT " is outside the workspace", STR_ARG(cquote_dup(w->ctx->mem, w->text)));
	err_hint(err, "use a path relative to the workspace");
	return -ERR_DENIED;
}

static int link_out(const struct walk *w, struct err *err)
{
	return err_set(err, ERR_DENIED, STR_FMT ": the link " STR_FMT " -> " STR_FMT " leads outside the workspace",
		STR_ARG(cquote_dup(w->ctx->mem, w->text)), STR_ARG(w->link), STR_ARG(w->target));
}

static void pop(struct buf *rel)
{
	struct str s = buf_str(rel);
	size_t slash = str_rfind(s, '/');

	buf_shrink(rel, slash < s.n ? slash : 0);
}

static int open_beneath(const struct tool_root *root, const char *rel, int flags)
{
	return file_openat2(root->dirfd, rel, flags | O_CLOEXEC | O_NOFOLLOW, 0, BENEATH);
}

static int follow(struct walk *w, int fd, struct err *err)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(fd, "", text, sizeof(text));
	struct str target = str_of(text, n > 0 ? (size_t)n : 0);

	if (n <= 0)
		return err_sys(err, errno, "read the link " STR_FMT, STR_ARG(buf_str(&w->rel)));
	w->link = shown(w->ctx, w->root, buf_str(&w->rel));
	w->target = cquote_dup(w->ctx->mem, target);
	if (++w->links > LINKS_MAX)
		return err_set(err, ERR_INVALID, STR_FMT ": more than %d links",
			STR_ARG(cquote_dup(w->ctx->mem, w->text)), LINKS_MAX);
	if (target.p[0] == '/') {
		const struct tool_root *root = root_of(w->ctx, target);

		if (!root)
			return link_out(w, err);
		w->root = root;
		buf_clear(&w->rel);
		target = str_skip(target, root->path.n);
	} else {
		pop(&w->rel);
	}
	TRY(buf_splice(&w->rest, 0, 0, STR("/"), err));
	return buf_splice(&w->rest, 0, 0, target, err);
}

/* One component beyond w->rel, which is a directory. */
static int step(struct walk *w, struct str name, struct err *err)
{
	size_t before = w->rel.n;

	if (before > 0)
		TRY(buf_addc(&w->rel, '/', err));
	TRY(buf_add(&w->rel, name, err));
	if (w->missing)
		return 0;

	autoclose int fd = open_beneath(w->root, w->rel.p, O_PATH);
	if (fd < 0 && errno == ENOENT) {
		w->missing = true;
		return 0;
	}
	if (fd < 0 && errno == ELOOP)
		return err_set(err, ERR_CONFLICT, STR_FMT " turned into a link meanwhile",
			STR_ARG(cquote_dup(w->ctx->mem, w->text)));
	if (fd < 0 && errno == ENOTDIR)
		return err_set(err, ERR_INVALID, STR_FMT ": " STR_FMT " is not a directory",
			STR_ARG(cquote_dup(w->ctx->mem, w->text)),
			STR_ARG(shown(w->ctx, w->root, str_head(buf_str(&w->rel), before))));
	if (fd < 0 || fstat(fd, &w->st) < 0)
		return err_sys(err, errno, "open " STR_FMT, STR_ARG(cquote_dup(w->ctx->mem, w->text)));
	return S_ISLNK(w->st.st_mode) ? follow(w, fd, err) : 0;
}

static int walk_links(struct walk *w, struct err *err)
{
	while (w->rest.n > 0) {
		struct str rest = buf_str(&w->rest), name = str_cut(&rest, '/');
		struct str part = str_dup(w->ctx->mem, name);

		TRY(buf_splice(&w->rest, 0, w->rest.n - rest.n, STR(""), err));
		if (part.n == 0 || str_eqz(part, "."))
			continue;
		if (!str_eqz(part, "..")) {
			TRY(step(w, part, err));
		} else if (w->rel.n == 0) { /* only a link's text holds "..", see take_text */
			return link_out(w, err);
		} else {
			pop(&w->rel);
		}
	}
	return 0;
}

/* The model's text without "" and "." components, into w->rest; ".." is refused. */
static int take_text(struct walk *w, struct err *err)
{
	struct str text = w->text;

	if (text.n == 0)
		return err_set(err, ERR_INVALID, "the path is empty; \".\" is the workspace");
	if (memchr(text.p, '\0', text.n))
		return err_set(err, ERR_INVALID, "a path cannot hold a NUL byte");
	if (text.n >= PATH_MAX)
		return err_set(err, ERR_LIMIT, "the path is longer than %d bytes", PATH_MAX - 1);
	if (text.p[0] == '/') {
		w->root = root_of(w->ctx, text);
		if (!w->root)
			return outside(w, err);
		text = str_skip(text, w->root->path.n);
	}
	while (text.n > 0) {
		struct str part = str_cut(&text, '/');

		if (str_eqz(part, ".."))
			return outside(w, err);
		if (part.n == 0 || str_eqz(part, "."))
			continue;
		TRY(buf_addz(&w->rest, w->rest.n > 0 ? "/" : "", err));
		TRY(buf_add(&w->rest, part, err));
	}
	return 0;
}

/* The usual path holds no link and exists: one call finds that out. */
static bool walk_plain(struct walk *w)
{
	const char *name = w->rest.n > 0 ? w->rest.p : ".";
	autoclose int fd = open_beneath(w->root, name, O_PATH);

	if (fd < 0 || fstat(fd, &w->st) < 0 || S_ISLNK(w->st.st_mode))
		return false;
	return buf_add(&w->rel, buf_str(&w->rest), ERR_DISCARD) == 0;
}

/* ------------------------------------------------------------------ writing */

static int protected(const struct tool_path *p, const char *why, struct err *err)
{
	return err_set(err, ERR_DENIED, STR_FMT " may not be written: %s", STR_ARG(p->shown), why);
}

/* The same directory under whatever name: a case-folding file system has many spellings. */
static bool is_git_dir(const struct tool_root *root, struct str first)
{
	autofree char *name = mem_alloc(first.n + 1);
	struct stat a, b;

	if (same_name(first, ".git"))
		return true;
	memcpy(name, first.p, first.n);
	return fstatat(root->dirfd, name, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
		fstatat(root->dirfd, ".git", &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev &&
		a.st_ino == b.st_ino;
}

static bool holds_venv(const struct tool_path *p, struct str dir)
{
	auto_buf struct buf name = BUF_MAX(2 * PATH_MAX);

	if (buf_addf(&name, ERR_DISCARD, STR_FMT "%spyvenv.cfg", STR_ARG(dir), dir.n > 0 ? "/" : "") < 0)
		return false;
	autoclose int fd = open_beneath(p->root, name.p, O_PATH);
	return fd >= 0;
}

static int check_write(const struct tool_ctx *ctx, struct str text, const struct tool_path *p, struct err *err)
{
	struct str rest = p->rel, given = text;

	if (!p->root->writable)
		return protected(p, "this place is granted for reading only", err);
	if (str_eqz(p->rel, "."))
		return err_set(err, ERR_INVALID, STR_FMT " is a directory", STR_ARG(p->shown));
	while (str_starts(given, STR("./")) || str_starts(given, STR("/")))
		given = str_skip(given, given.p[0] == '/' ? 1 : 2);
	if (p->root == ctx->roots &&
		(is_git_dir(p->root, str_cut(&rest, '/')) || same_name(str_cut(&given, '/'), ".git")))
		return protected(p, "agent6 keeps the repository's own .git", err);
	for (size_t i = 0, start = 0; i < p->rel.n; i++) {
		if (p->rel.p[i] != '/')
			continue;
		if (same_name(str_of(p->rel.p + start, i - start), "site-packages"))
			return protected(p, "installed packages are not part of the project", err);
		if (holds_venv(p, str_head(p->rel, i)))
			return protected(p, "it belongs to a Python virtual environment", err);
		start = i + 1;
	}
	if (holds_venv(p, STR("")))
		return protected(p, "it belongs to a Python virtual environment", err);
	return 0;
}

/* ------------------------------------------------------------------ the door */

int path_resolve(const struct tool_ctx *ctx, struct str text, enum path_use use, struct tool_path *out,
	struct err *err)
{
	CLEANUP(walk_fini) struct walk w = { .ctx = ctx, .root = ctx->roots, .rel = BUF_MAX(PATH_MAX - 1),
		.rest = BUF_MAX(2 * PATH_MAX) };
	struct tool_path p = { 0 };

	TRY(cquote_read(text, ctx->mem, &w.text, err));
	TRY(take_text(&w, err));
	if (!walk_plain(&w))
		TRY(walk_links(&w, err));
	p.root = w.root;
	p.rel = w.rel.n > 0 ? str_dup(ctx->mem, buf_str(&w.rel)) : STR(".");
	p.shown = shown(ctx, p.root, p.rel);
	p.exists = !w.missing;

	const struct str *hidden = hidden_root(ctx, absolute(ctx->mem, p.root, p.rel));
	if (hidden)
		return err_set(err, ERR_DENIED, STR_FMT " is hidden by the operator (" STR_FMT ")", STR_ARG(p.shown),
			STR_ARG(*hidden));
	if (use == PATH_WRITE)
		TRY(check_write(ctx, w.text, &p, err));
	if (p.exists) {
		autoclose int fd = open_beneath(p.root, p.rel.p, O_PATH);

		if (fd < 0 || fstat(fd, &p.st) < 0)
			return err_sys(err, errno, "open " STR_FMT, STR_ARG(p.shown));
	}
	*out = p;
	return 0;
}

static int open_failed(const struct tool_path *p, int sys, struct err *err)
{
	if (sys == ELOOP)
		return err_set(err, ERR_CONFLICT, STR_FMT " turned into a link meanwhile", STR_ARG(p->shown));
	if (sys == ENXIO) /* a socket */
		return err_set(err, ERR_INVALID, STR_FMT " is not a regular file", STR_ARG(p->shown));
	return err_sys(err, sys, "open " STR_FMT, STR_ARG(p->shown));
}

int path_open_file(const struct tool_path *p, int *out, struct err *err)
{
	struct stat st;

	if (p->exists && S_ISDIR(p->st.st_mode))
		return err_set(err, ERR_INVALID, STR_FMT " is a directory, not a regular file", STR_ARG(p->shown));
	if (p->exists && !S_ISREG(p->st.st_mode))
		return err_set(err, ERR_INVALID, STR_FMT " is not a regular file", STR_ARG(p->shown));
	autoclose int fd = open_beneath(p->root, p->rel.p, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return open_failed(p, errno, err);
	if (fstat(fd, &st) < 0)
		return err_sys(err, errno, "stat " STR_FMT, STR_ARG(p->shown));
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, STR_FMT " is not a regular file", STR_ARG(p->shown));
	*out = take_fd(&fd);
	return 0;
}

int path_open_dir(const struct tool_path *p, int *out, struct err *err)
{
	int fd = open_beneath(p->root, p->rel.p, O_RDONLY | O_DIRECTORY);

	if (fd < 0 && errno == ENOTDIR)
		return err_set(err, ERR_INVALID, STR_FMT " is not a directory", STR_ARG(p->shown));
	if (fd < 0)
		return open_failed(p, errno, err);
	*out = fd;
	return 0;
}

int path_open_parent(const struct tool_path *p, int *out, const char **leaf, struct err *err)
{
	size_t slash = str_rfind(p->rel, '/');
	bool top = slash == p->rel.n;
	autofree char *dir = mem_alloc(slash + 2);

	memcpy(dir, top ? "." : p->rel.p, top ? 1 : slash);
	int fd = open_beneath(p->root, dir, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return open_failed(p, errno, err);
	*out = fd;
	*leaf = top ? p->rel.p : p->rel.p + slash + 1;
	return 0;
}
