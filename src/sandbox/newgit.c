/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/newgit.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX 1000 /* a command that fills them all up has its last .git reported as in the way */

static bool is_there(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int open_dir(const char *path)
{
	return file_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
}

/* Whether git could believe that this directory is a repository. It asks no more of objects and refs than that they can be
 * entered or executed, and looks for them where commondir says; a link may lead somewhere that only the person sees. So the
 * names alone count. */
static bool is_like(int dir)
{
	return is_there(dir, "HEAD") && (is_there(dir, "commondir") || (is_there(dir, "objects") && is_there(dir, "refs")));
}

static bool is_like_below(int dir, const char *name)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && is_like(fd);
}

bool newgit_is_like(const char *dir)
{
	autoclose int fd = open_dir(dir);

	return fd >= 0 && is_like(fd);
}

int newgit_open(const struct policy_list *dirs, struct newgit *out, struct err *err)
{
	struct newgit g = { .n = 0 };
	struct stat st;

	if (dirs->n > NEWGIT_DIRS_MAX)
		return err_set(err, ERR_LIMIT, "%zu directories without a repository, at most %d", dirs->n, NEWGIT_DIRS_MAX);
	for (size_t i = 0; i < dirs->n; i++) {
		autoclose int fd = open_dir(dirs->p[i]);

		struct newgit_dir *d = &g.dirs[g.n++];

		*d = (struct newgit_dir){ .path = dirs->p[i] };
		if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
			continue;
		if (fd < 0)
			return err_sys(err, errno, "open %s", dirs->p[i]);
		d->was_like = is_like(fd);
		d->inner_was_like = is_like_below(fd, ".git");
		d->had_git = fstatat(fd, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0;
		d->git_ino = d->had_git ? st.st_ino : 0;
	}
	*out = g;
	return 0;
}

/* ---- setting aside ---- */

/* The first name that is free. */
static int move_away(int dir, const char *name, char *to, size_t to_size)
{
	for (int i = 1; i <= NAMES_MAX; i++) {
		snprintf(to, to_size, "%s.quarantined-%d", name, i);
		if (file_rename(dir, name, dir, to, RENAME_NOREPLACE) == 0)
			return 0;
		/* A file system that cannot promise it: nobody is hurt by what we replace, our own names. */
		if (errno == EINVAL && !is_there(dir, to))
			return renameat(dir, name, dir, to);
		if (errno != EEXIST && errno != EINVAL)
			return -1;
	}
	return -1;
}

/* A directory that was made read-only, so that nothing in it can be moved, is made writable: it is its owner's. */
static int move_even_if(int dir, const char *name, char *to, size_t to_size)
{
	struct stat st;

	if (move_away(dir, name, to, to_size) == 0)
		return 0;
	if (errno == EACCES && fstat(dir, &st) == 0 && fchmod(dir, (st.st_mode & 07777) | S_IRWXU) == 0)
		return move_away(dir, name, to, to_size);
	return -1;
}

/* Somebody who looks into what was set aside must not stand in a bare repository. */
static void spoil(int dir, const char *name)
{
	char to[64];
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return;
	(void)!move_even_if(fd, "HEAD", to, sizeof(to));
	close(fd);
}

static int set_aside(const struct newgit_dir *d, int fd, const char *name, newgit_fn *found, void *self, struct err *err)
{
	char to[64];

	if (move_even_if(fd, name, to, sizeof(to)) < 0)
		return errno == ENOENT ? 0 : found(self, d->path, name, NULL, strerror(errno), err);
	spoil(fd, to);
	return found(self, d->path, name, to, NULL, err);
}

/* What lay there at the start was no repository. It may stay until it is another thing, or has become one. */
static bool git_appeared(const struct newgit_dir *d, int fd)
{
	struct stat st;

	if (fstatat(fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (!d->had_git || st.st_ino != d->git_ino || S_ISREG(st.st_mode))
		return true;
	return !d->inner_was_like && is_like_below(fd, ".git");
}

int newgit_look(const struct newgit *g, newgit_fn *found, void *self, struct err *err)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct newgit_dir *d = &g->dirs[i];
		autoclose int fd = open_dir(d->path);

		if (fd < 0)
			continue;
		if (git_appeared(d, fd))
			TRY(set_aside(d, fd, ".git", found, self, err));
		if (!d->was_like && is_like(fd))
			TRY(set_aside(d, fd, "HEAD", found, self, err));
	}
	return 0;
}
