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

/* Links count: git follows them here. */
static bool is_dir(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static int open_dir(const char *path)
{
	return file_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
}

int newgit_open(const struct policy_list *dirs, struct newgit *out, struct err *err)
{
	struct newgit g = { .n = 0 };

	if (dirs->n > NEWGIT_DIRS_MAX)
		return err_set(err, ERR_LIMIT, "%zu directories without a repository, at most %d", dirs->n, NEWGIT_DIRS_MAX);
	for (size_t i = 0; i < dirs->n; i++) {
		autoclose int fd = open_dir(dirs->p[i]);

		if (fd < 0)
			return err_sys(err, errno, "open %s", dirs->p[i]);
		g.dirs[g.n++] = (struct newgit_dir){ dirs->p[i], !is_there(fd, "HEAD") };
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
		if (renameat2(dir, name, dir, to, RENAME_NOREPLACE) == 0)
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

int newgit_look(const struct newgit *g, newgit_fn *found, void *self, struct err *err)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct newgit_dir *d = &g->dirs[i];
		autoclose int fd = open_dir(d->path);

		if (fd < 0)
			continue;
		if (is_there(fd, ".git"))
			TRY(set_aside(d, fd, ".git", found, self, err));
		if (d->bare && is_there(fd, "HEAD") && is_dir(fd, "objects") && is_dir(fd, "refs"))
			TRY(set_aside(d, fd, "HEAD", found, self, err));
	}
	return 0;
}
