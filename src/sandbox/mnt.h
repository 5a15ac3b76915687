/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* mnt: the mount API that works on descriptors, which not every libc knows.
 *
 * Shape    mnt_clone, mnt_attr while it is detached, mnt_move to where it is to be seen; the descriptor is the caller's to close.
 * Errors   As the system call: -1 and errno.
 * Source   open_tree(2), move_mount(2), fsopen(2), mount_setattr(2).
 */
#ifndef SANDBOX_MNT_H
#define SANDBOX_MNT_H

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MOUNT_ATTR_NOSYMFOLLOW
#define MOUNT_ATTR_NOSYMFOLLOW 0x00200000
#endif
#define MNT_FLOOR (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) /* on every mount but the device nodes */

/* A detached copy of what fd is open on, with everything mounted below it. */
static inline int mnt_clone(int fd, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
}

static inline int mnt_attr(int fd, const char *path, unsigned flags, uint64_t set, int userns)
{
	struct mount_attr attr = { .attr_set = set | (userns >= 0 ? MOUNT_ATTR_IDMAP : 0),
		.userns_fd = userns >= 0 ? (uint64_t)userns : 0 };

	return (int)syscall(SYS_mount_setattr, fd, path, flags, &attr, sizeof(attr));
}

#define NR_OPEN_TREE_ATTR 467

/* Both at once where the kernel can (Linux 6.15): nobody else could see the copy meanwhile, but each call counts. */
static inline int mnt_clone_attr(int fd, const char *path, unsigned flags, uint64_t set)
{
	struct mount_attr attr = { .attr_set = set };
	int tree = (int)syscall(NR_OPEN_TREE_ATTR, fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags, &attr, sizeof(attr));

	if (tree >= 0)
		return tree;
	tree = mnt_clone(fd, path, flags);
	if (tree >= 0 && mnt_attr(tree, "", AT_EMPTY_PATH | (flags & AT_RECURSIVE), set, -1) < 0) {
		int sys = errno;

		close(tree);
		errno = sys;
		return -1;
	}
	return tree;
}

static inline int mnt_move(int from, int to, const char *name)
{
	unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (name[0] ? 0 : MOVE_MOUNT_T_EMPTY_PATH);

	return (int)syscall(SYS_move_mount, from, "", to, name, flags);
}

#endif
