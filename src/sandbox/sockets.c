/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Sockets on paths: whoever listens there works outside of the cell, with rights of its own, and neither a mount's flags nor
 * Landlock before ABI 9 keep anybody from connecting. What is bound when the cell is built, by an absolute name, is covered. */
#include "sandbox/root_priv.h"
#include "sandbox/side.h"
#include "sys/chan.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#define TABLE     "/proc/self/net/unix"
#define TABLE_MAX (16 * 1024 * 1024)
#define COLUMNS   7 /* before the name */
#define NEAR      '+' /* a grant may show it */
#define FAR       '-' /* only one that has another mount in it */
#ifndef BTRFS_SUPER_MAGIC
#define BTRFS_SUPER_MAGIC 0x9123683E
#endif
#define BCACHEFS_MAGIC 0xca451a4e

/* "Num: RefCount Protocol Flags Type St Inode Path": false where a line is the rest of a name with an end of line in it. */
static bool name_of_line(struct str line, struct str *out)
{
	for (int i = 0; i < COLUMNS; i++) {
		while (line.n > 0 && line.p[0] == ' ')
			line = str_skip(line, 1);
		struct str word = str_cut(&line, ' ');

		if (word.n == 0 || (i == 0 && word.p[word.n - 1] != ':'))
			return false;
	}
	*out = line;
	return true;
}

struct socket_names sockets_decode(struct str text, struct arena *mem)
{
	struct socket_names found = { 0 };
	size_t lines = 1;

	for (size_t i = 0; i < text.n; i++)
		lines += text.p[i] == '\n';
	found.p = arena_array(mem, lines, sizeof(*found.p));
	while (text.n > 0) {
		struct str name, line = str_trim_suffix(str_line(&text), STR("\n"));

		if (name_of_line(line, &name))
			found.p[found.n++] = name;
		else if (found.n > 0) /* the bytes between are those of the table: the name goes on */
			found.p[found.n - 1].n = (size_t)(line.p + line.n - found.p[found.n - 1].p);
	}
	lines = found.n;
	found.n = 0;
	for (size_t i = 0; i < lines; i++)
		if (str_starts(found.p[i], STR("/")) && (found.n == 0 || !str_eq(found.p[i], found.p[found.n - 1])))
			found.p[found.n++] = found.p[i];
	return found;
}

/* A file system whose directories may say another device than the one it is mounted by. */
static bool has_volumes(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) < 0 || (unsigned long)fs.f_type == BTRFS_SUPER_MAGIC || (unsigned long)fs.f_type == BCACHEFS_MAGIC;
}

/* May a grant show what lies in that directory? Where nothing is mounted in a grant it has one device. */
static bool is_near(const struct root *r, const char *dir)
{
	struct stat st;

	if (stat(dir, &st) < 0)
		return true;
	for (size_t i = 0; i < r->mounts.n; i++)
		if (r->mounts.p[i].st.st_dev == st.st_dev || has_volumes(r->mounts.p[i].path))
			return true;
	return false;
}

static int cover_names(struct root *r, const struct stat *st, const char *path, struct err *err)
{
	struct mounts all;

	TRY(mounts_load(r->mem, &all, err));
	const struct mount_names names = mounts_names(&all, path, r->mem);
	for (size_t i = 0; i < names.n; i++) {
		const struct grant g = { .path = names.p[i], .kind = GRANT_HIDE, .st = *st, .tree = -1, .userns = -1,
			.found = "a socket of a process of the host" };

		if (!root_shows(r, g.path) || root_hides(r, g.path))
			continue;
		TRY(pin_ancestors(r, g.path, "cover", err));
		*vec_new(&r->covers) = g;
	}
	return 0;
}

static int cover(struct root *r, const char *name, struct err *err)
{
	autoclose int fd = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char real[PATH_MAX], self[64];
	struct stat st;
	ssize_t n;

	if (fd < 0 && errno == EACCES && root_shows(r, name)) /* a directory that a command may open again */
		return err_sys(err, errno, "cover the socket %s", name);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, real, sizeof(real) - 1);
	if (n <= 0)
		return err_sys(err, errno, "find the socket %s", name);
	real[n] = '\0';
	return cover_names(r, &st, str_dupz(r->mem, str_from(real)), err);
}

/* What is given of them: for each whether it is near, then its name, ended by NUL. */
static int write_names(const struct root *r, struct str table, struct buf *out, struct err *err)
{
	const struct socket_names found = sockets_decode(table, r->mem);

	for (size_t i = 0; i < found.n; i++) {
		struct str name = found.p[i], dir = str_head(name, str_rfind(name, '/'));

		if (memchr(name.p, '\0', name.n))
			continue;
		TRY(buf_addc(out, is_near(r, dir.n > 0 ? str_dupz(r->mem, dir) : "/") ? NEAR : FAR, err));
		TRY(buf_add(out, name, err));
		TRY(buf_addc(out, '\0', err));
	}
	return 0;
}

int root_find_sockets(const struct root *r, int *out, struct err *err)
{
	auto_buf struct buf table = BUF_MAX(TABLE_MAX), names = BUF_MAX(TABLE_MAX);

	if (file_read(AT_FDCWD, TABLE, &table, err) < 0)
		return err_wrap(err, "which sockets are bound");
	TRY(write_names(r, buf_str(&table), &names, err));
	return memfd_seal("sockets", buf_str(&names), out, err);
}

int sockets_cover(struct root *r, const struct side *side, struct err *err)
{
	auto_buf struct buf names = BUF_MAX(TABLE_MAX);
	autoclose int fd = -1;

	TRY(side_take(side, &fd, err));
	TRY(memfd_read(fd, &names, err));
	for (struct str rest = buf_str(&names); rest.n > 0;) {
		struct str one = str_cut(&rest, '\0');

		if (one.p[0] == NEAR || r->mounts_inside)
			TRY(cover(r, &one.p[1], err)); /* ended as it was given */
	}
	return 0;
}
