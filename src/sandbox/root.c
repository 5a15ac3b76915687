/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/root.h"
#include "sandbox/mnt.h"
#include "sandbox/root_priv.h"
#include "sys/file.h"

#include <errno.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define SAFE (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

#define TMP_SIZE  ROOT_TMP_MIB "m"
#define TMP_NODES "524288"

static const char *const devices[] = { "null", "zero", "full", "random", "urandom" };
static const struct {
	const char *name, *to;
} dev_links[] = { { "fd", "/proc/self/fd" }, { "stdin", "/proc/self/fd/0" }, { "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" } };

int root_write_file(int dir, const char *name, struct str bytes, struct err *err)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return err_sys(err, errno, "make %s in the cell", name);
	if (bytes.n > 0 && write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n)
		return err_sys(err, errno, "write %s in the cell", name);
	return 0;
}

int root_place_file(const struct root *r, int dir, const char *name)
{
	return linkat(r->top, &ROOT_MASK_FILE[1], dir, name, 0);
}

static int make_dir(int at, const char *name, mode_t mode, struct err *err)
{
	if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return err_sys(err, errno, "make /%s in the cell", name);
	return 0;
}

/* A fresh tmpfs, not yet anywhere. */
static int tmpfs_new(int *out, struct err *err)
{
	autoclose int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "size", TMP_SIZE, 0) < 0 ||
		syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "nr_inodes", TMP_NODES, 0) < 0 ||
		syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "mode", "755", 0) < 0 ||
		syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_sys(err, errno, "make a tmpfs");
	*out = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MNT_FLOOR);
	if (*out < 0)
		return err_sys(err, errno, "mount a tmpfs");
	return 0;
}

/* The first directory of the cell's own making: mounted over "/", so nothing is made on the host for it. Its file system has
 * everything that is made here, so that it holds what may be written to it as well. */
static int place_top(struct root *r, struct err *err)
{
	struct stat st;

	TRY(tmpfs_new(&r->top, err));
	if (fstat(r->top, &st) < 0)
		return err_sys(err, errno, "look at the new root");
	r->top_dev = st.st_dev;
	if (syscall(SYS_move_mount, r->top, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, errno, "mount the new root");
	return 0;
}

/* A mount of its own, which stays writable when the root around it becomes read-only. */
static int place_writable(const struct root *r, const char *name, struct err *err)
{
	TRY(make_dir(r->top, name, 01777, err));

	autoclose int tree = mnt_clone(r->top, name, 0);
	if (tree < 0 || mnt_move(tree, r->top, name) < 0)
		return err_sys(err, errno, "mount /%s in the cell", name);
	return 0;
}

/* Opens path beneath the new root; what is missing is made, but only in the file systems made here. */
static int open_target(const struct root *r, const char *path, bool dir, int *out, struct err *err)
{
	char part[NAME_MAX + 1];
	struct str rest = str_from(path + 1);
	autoclose int at = file_openat2(r->top, path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, SAFE | RESOLVE_BENEATH);

	if (at >= 0 || errno != ENOENT) {
		if (at < 0)
			return err_sys(err, errno, "find %s in the cell", path);
		*out = take_fd(&at);
		return 0;
	}
	at = fcntl(r->top, F_DUPFD_CLOEXEC, 3);
	while (rest.n > 0) {
		struct str name = str_cut(&rest, '/');
		bool is_dir = rest.n > 0 || dir;
		struct stat st;

		if (name.n > NAME_MAX)
			return err_set(err, ERR_INVALID, "find %s in the cell: a name is too long", path);
		memcpy(part, name.p, name.n);
		part[name.n] = '\0';
		int next = file_openat2(at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, SAFE | RESOLVE_BENEATH);
		if (next < 0 && errno == ENOENT) {
			if (fstat(at, &st) < 0 || st.st_dev != r->top_dev)
				return err_set(err, ERR_CONFLICT, "find %s in the cell: it vanished", path);
			/* Not writable: beside a workspace below /tmp a write must fail, not vanish with the cell. */
			if (is_dir)
				TRY(make_dir(at, part, 0555, err));
			else
				TRY(root_write_file(at, part, STR(""), err));
			next = file_openat2(at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, SAFE | RESOLVE_BENEATH);
		}
		if (next < 0)
			return err_sys(err, errno, "find %s in the cell", path);
		close(at);
		at = next;
	}
	*out = take_fd(&at);
	return 0;
}

static uint64_t grant_attr(const struct root *r, enum grant_kind kind)
{
	switch (kind) {
	case GRANT_SYSTEM:
	case GRANT_RO:
	case GRANT_TOOL:
	case GRANT_PROTECT:
	case GRANT_HIDE:
		return MNT_FLOOR | MOUNT_ATTR_RDONLY;
	case GRANT_WORKSPACE:
		return MNT_FLOOR | (r->spec.workspace_noexec ? MOUNT_ATTR_NOEXEC : 0) |
			(r->spec.workspace_ro ? MOUNT_ATTR_RDONLY : 0);
	case GRANT_RW:
	case GRANT_PIN:
		return MNT_FLOOR;
	}
	BUG_IF(true);
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && (a->st_mode & S_IFMT) == (b->st_mode & S_IFMT);
}

static int map_ids(const struct root *r, const struct grant *g, struct err *err)
{
	int sys;

	if (mnt_attr(g->tree, "", AT_EMPTY_PATH | AT_RECURSIVE, 0, g->userns) == 0)
		return 0;
	sys = errno;
	TRY(beneath_unmapped(r, g, err));
	if (g->kind == GRANT_TOOL) /* nobody asked for it by name: it shows what everybody may read, as the system's places do */
		return 0;
	err_sys(err, sys, "map the owner of %s", g->path);
	err_hint(err, "its file system cannot show files under another owner: run as an ordinary user, "
		      "or keep the workspace on ext4, xfs or btrfs, or, from Linux 6.3 on, tmpfs");
	err->code = ERR_UNSUPPORTED;
	return -ERR_UNSUPPORTED;
}

/* Sources are resolved in this mount namespace, since a descriptor from another cannot be cloned; that it is the
 * object which was pinned is compared. Attributes are set before anybody can see the tree. */
static int take_source(const struct root *r, struct grant *g, struct err *err)
{
	autoclose int fd = file_openat2(AT_FDCWD, g->path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, SAFE);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "open %s", g->path);
	if (!same(&st, &g->st))
		return err_set(err, ERR_CONFLICT, "open %s: it was exchanged for something else", g->path);
	g->tree = mnt_clone_attr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, grant_attr(r, g->kind));
	return g->tree < 0 ? err_sys(err, errno, "copy and restrict the mount of %s", g->path) : 0;
}

static int copy_link(const struct root *r, const struct grant *g, struct err *err)
{
	char to[256];
	ssize_t n = readlink(g->path, to, sizeof(to) - 1);

	if (n <= 0 || (size_t)n >= sizeof(to) - 1)
		return err_sys(err, n < 0 ? errno : ENAMETOOLONG, "read the link %s", g->path);
	to[n] = '\0';
	if (symlinkat(to, r->top, g->path + 1) < 0)
		return err_sys(err, errno, "make the link %s in the cell", g->path);
	return 0;
}

static int place(struct root *r, struct grant *g, struct err *err)
{
	autoclose int target = -1;

	if (g->userns >= 0)
		TRY(map_ids(r, g, err));
	TRY(open_target(r, g->path, S_ISDIR(g->st.st_mode), &target, err));
	if (mnt_move(g->tree, target, "") < 0)
		return err_sys(err, errno, "mount %s in the cell", g->path);
	r->mounts_inside |= beneath_mounted(g->tree);
	base_close_fd(&g->tree);
	return 0;
}

/* Links among the system directories are those of a merged /usr; a grant is never one. */
static int take_sources(struct root *r, struct err *err)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, errno, "keep mounts from spreading");
	for (size_t i = 0; i < r->mounts.n; i++)
		if (!S_ISLNK(r->mounts.p[i].st.st_mode))
			TRY(take_source(r, &r->mounts.p[i], err));
	return 0;
}

static int place_mounts(struct root *r, struct err *err)
{
	for (size_t i = 0; i < r->mounts.n; i++) {
		struct grant *g = &r->mounts.p[i];

		TRY(S_ISLNK(g->st.st_mode) ? copy_link(r, g, err) : place(r, g, err));
	}
	return 0;
}

static int make_masks(const struct root *r, struct err *err)
{
	TRY(make_dir(r->top, ".mask", 0755, err));
	TRY(make_dir(r->top, &ROOT_MASK_DIR[1], 0555, err));
	return root_write_file(r->top, &ROOT_MASK_FILE[1], STR(""), err);
}

/* What lies over a place, made from the new root itself, so that mounts already there come along. */
static int cover_tree(const struct root *r, const struct grant *g, int at, int *out, struct err *err)
{
	const char *mask = S_ISDIR(g->st.st_mode) ? &ROOT_MASK_DIR[1] : &ROOT_MASK_FILE[1];
	uint64_t attr = grant_attr(r, g->kind);

	if (g->gitfile) {
		int r2 = root_write_file(r->top, ".mask/gitfile", str_from(g->gitfile), err);

		TRY(r2);
		*out = mnt_clone(r->top, ".mask/gitfile", 0);
	} else if (g->kind == GRANT_HIDE) {
		*out = mnt_clone(r->top, mask, 0);
		attr |= MOUNT_ATTR_NOEXEC;
	} else {
		*out = mnt_clone(at, "", AT_EMPTY_PATH | AT_RECURSIVE);
	}
	if (*out < 0)
		return err_sys(err, errno, "make the cover of %s", g->path);
	if (mnt_attr(*out, "", AT_EMPTY_PATH | AT_RECURSIVE, attr, -1) < 0)
		return err_sys(err, errno, "restrict the cover of %s", g->path);
	return 0;
}

static int place_covers(struct root *r, struct err *err)
{
	for (size_t i = 0; i < r->covers.n; i++) {
		const struct grant *g = &r->covers.p[i];
		autoclose int at = -1, tree = -1;
		struct stat st;

		at = file_openat2(r->top, g->path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, SAFE | RESOLVE_BENEATH);
		if (at < 0 || fstat(at, &st) < 0)
			return err_sys(err, errno, "find %s in the cell", g->path);
		if (!same(&st, &g->st))
			return err_set(err, ERR_CONFLICT, "cover %s: it was exchanged for something else", g->path);
		TRY(cover_tree(r, g, at, &tree, err));
		if (mnt_move(tree, at, "") < 0)
			return err_sys(err, errno, "cover %s in the cell", g->path);
		if (g->gitfile) /* the mount holds it; the name is free for the next */
			unlinkat(r->top, ".mask/gitfile", 0);
	}
	return 0;
}

static int place_device(const struct root *r, int dev, const char *name, struct err *err)
{
	char path[32];
	autoclose int tree = -1;
	struct stat st;

	snprintf(path, sizeof(path), "/dev/%s", name);
	/* A read-only mount of a device keeps its inode as it is; the device itself stays writable. */
	tree = mnt_clone_attr(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (tree < 0 || fstat(tree, &st) < 0)
		return err_sys(err, errno, "copy and restrict the mount of %s", path);
	if (!S_ISCHR(st.st_mode))
		return err_set(err, ERR_INVALID, "%s is not a device", path);
	if (root_place_file(r, dev, name) < 0 || mnt_move(tree, dev, name) < 0)
		return err_sys(err, errno, "mount %s in the cell", path);
	return 0;
}

static int build_dev(struct root *r, struct err *err)
{
	autoclose int dev = -1;

	TRY(make_dir(r->top, "dev", 0755, err));
	dev = openat(r->top, "dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dev < 0)
		return err_sys(err, errno, "open /dev in the cell");
	for (size_t i = 0; i < COUNT(devices); i++)
		TRY(place_device(r, dev, devices[i], err));
	for (size_t i = 0; i < COUNT(dev_links); i++)
		if (symlinkat(dev_links[i].to, dev, dev_links[i].name) < 0)
			return err_sys(err, errno, "make /dev/%s in the cell", dev_links[i].name);
	return place_writable(r, "dev/shm", err);
}

/* The kernel gives a new /proc only to who already sees a whole one: before the old root goes. In a container that
 * masks parts of its own it stays empty; the host's is never shown. */
static int build_proc(struct root *r, struct err *err)
{
	autoclose int fs = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);
	autoclose int tree = -1;

	TRY(make_dir(r->top, "proc", 0555, err));
	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return 0;
	tree = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MNT_FLOOR | MOUNT_ATTR_NOEXEC);
	if (tree < 0)
		return 0;
	if (mnt_move(tree, r->top, "proc") < 0)
		return err_sys(err, errno, "mount /proc in the cell");
	r->has_proc = true;
	return 0;
}

static int build_etc(struct root *r, struct err *err)
{
	autoclose int etc = -1;

	TRY(make_dir(r->top, "etc", 0755, err));
	etc = openat(r->top, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (etc < 0)
		return err_sys(err, errno, "open /etc in the cell");
	return etc_build(r, etc, err);
}

/* "/" is the new root from here on; the old one is stacked on it, where no path leads but "/..". */
static int enter_top(struct root *r, struct err *err)
{
	if (fchdir(r->top) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return err_sys(err, errno, "move into the new root");
	if (chdir("/") < 0)
		return err_sys(err, errno, "enter the new root");
	if (mnt_attr(r->top, "", AT_EMPTY_PATH, MNT_FLOOR | MOUNT_ATTR_RDONLY, -1) < 0)
		return err_sys(err, errno, "make the new root read-only");
	base_close_fd(&r->top);
	return 0;
}

/* umount(2) takes what lies on top of "/". Until that is gone this process counts as chrooted, and may make no user namespace. */
int root_let_go(struct err *err)
{
	if (umount2("/", MNT_DETACH) < 0)
		return err_sys(err, errno, "build the cell: let go of the old root");
	return 0;
}

static int build(struct root *r, const struct side *side, struct err *err)
{
	TRY(take_sources(r, err));
	TRY(place_top(r, err));
	TRY(make_masks(r, err));
	TRY(place_writable(r, "tmp", err));
	TRY(build_etc(r, err));
	TRY(build_dev(r, err));
	TRY(root_take_maps(r, side, err)); /* as late as it can be */
	TRY(place_mounts(r, err));
	if (r->mounts_inside)
		TRY(beneath_cover(r, err));
	TRY(sockets_cover(r, side, err));
	TRY(place_covers(r, err));
	TRY(build_proc(r, err));
	return enter_top(r, err);
}

int root_build(struct root *r, const struct side *side, struct err *err)
{
	mode_t before = umask(0);
	int got = build(r, side, err);

	umask(before);
	return got < 0 ? err_wrap(err, "build the cell") : 0;
}

bool root_has_proc(const struct root *r)
{
	return r->has_proc;
}
