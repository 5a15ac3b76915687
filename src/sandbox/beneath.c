/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What comes along with a directory that was granted and nobody meant to grant: windows into the kernel that are mounted in it.
 * They are covered. */
#include "sandbox/root_priv.h"
#include "sys/file.h"

#include <errno.h>
#include <linux/magic.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMED_MAX   8 /* in the notice */

/* File systems that are windows into the kernel, wherever they are mounted. 0: its number is another file system's too. */
static const struct {
	const char *name;
	unsigned long magic;
} kernel_fs[] = {
	{ "proc", PROC_SUPER_MAGIC }, { "sysfs", SYSFS_MAGIC }, { "devpts", DEVPTS_SUPER_MAGIC }, { "devtmpfs", 0 },
	{ "cgroup", CGROUP_SUPER_MAGIC }, { "cgroup2", CGROUP2_SUPER_MAGIC }, { "cpuset", 0 }, { "debugfs", DEBUGFS_MAGIC },
	{ "tracefs", TRACEFS_MAGIC }, { "securityfs", SECURITYFS_MAGIC }, { "selinuxfs", SELINUX_MAGIC },
	{ "smackfs", SMACK_MAGIC }, { "bpf", BPF_FS_MAGIC }, { "efivarfs", EFIVARFS_MAGIC }, { "pstore", PSTOREFS_MAGIC },
	{ "nsfs", 0x6e736673 }, { "mqueue", 0x19800202 }, { "configfs", 0x62656570 }, { "fusectl", 0x65735543 },
	{ "binfmt_misc", 0x42494e4d }, { "resctrl", 0x7655821 }, { "binder", 0x6c6f6f70 }, { "rpc_pipefs", 0x67596969 },
	{ "nfsd", 0x6e667364 }, { "xenfs", 0xabba1974 }, { "functionfs", 0xa647361 }, { "usbfs", 0x9fa2 },
};

const char *kernel_fs_of(unsigned long magic)
{
	for (size_t i = 0; i < COUNT(kernel_fs); i++)
		if (kernel_fs[i].magic != 0 && kernel_fs[i].magic == magic)
			return kernel_fs[i].name;
	return NULL;
}

static bool is_kernel_fs(const char *type)
{
	for (size_t i = 0; i < COUNT(kernel_fs); i++)
		if (strcmp(kernel_fs[i].name, type) == 0)
			return true;
	return false;
}

/* A place below another one that is covered is not there. */
bool root_hides(const struct root *r, const char *path)
{
	for (size_t i = 0; i < r->covers.n; i++)
		if (r->covers.p[i].kind == GRANT_HIDE && path_beneath(path, r->covers.p[i].path))
			return true;
	return false;
}

/* The last grant that holds it decides; they are sorted. NULL: none shows it. */
const struct grant *root_shows(const struct root *r, const char *path)
{
	const struct grant *last = NULL;

	for (size_t i = 0; i < r->mounts.n; i++)
		if (path_beneath(path, r->mounts.p[i].path))
			last = &r->mounts.p[i];
	return last;
}

static int refuse(const char *path, const struct mount *m, const char *why, struct err *err)
{
	int r = err_set(err, ERR_UNSUPPORTED, "%s: a %s file system is mounted at %s, %s", path, m->type, m->point, why);

	err_hint(err, "unmount it (umount %s), or grant something smaller", m->point);
	return r;
}

static int cover(struct root *r, const struct grant *in, const struct mount *m, struct err *err)
{
	struct grant g = { .path = m->point, .kind = GRANT_HIDE, .tree = -1, .userns = -1,
		.found = str_printf(r->mem, "a %s file system", m->type).p };

	if (strcmp(in->path, m->point) == 0)
		return refuse(in->path, m, "which no command may see", err);
	if (lstat(m->point, &g.st) < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "cover the %s file system at %s", m->type, m->point);
	*vec_new(&r->covers) = g;
	return 0;
}

int beneath_cover(struct root *r, struct err *err)
{
	struct mounts all;

	TRY(mounts_load(r->mem, &all, err));
	for (size_t i = 0; i < all.n; i++) {
		const struct mount *m = &all.p[i];
		const struct grant *in = is_kernel_fs(m->type) ? root_shows(r, m->point) : NULL;

		if (in && !root_hides(r, m->point) && mount_holds(m, m->point))
			TRY(cover(r, in, m, err));
	}
	return 0;
}

/* A mount is mapped with all that is mounted in it. */
int beneath_unmapped(const struct root *r, const struct grant *g, struct err *err)
{
	struct mounts all;

	TRY(mounts_load(r->mem, &all, err));
	for (size_t i = 0; i < all.n; i++)
		if (is_kernel_fs(all.p[i].type) && path_beneath(all.p[i].point, g->path))
			return refuse(g->path, &all.p[i], "whose files cannot be shown under another owner, as root's are", err);
	return 0;
}

/* The kernel's structs: headers of the oldest supported system have neither, nor the calls (Linux 6.8). */
struct list_ask {
	uint32_t size, spare;
	uint64_t mount, param;
};
struct look {
	uint32_t mask;
	char between[140];
	uint64_t mount;
	char rest[104];
};
#define NR_LISTMOUNT 458
#define WANT_UNIQUE  0x4000U

bool beneath_mounted(int tree)
{
	struct look l = { 0 };
	uint64_t first;

	if (syscall(SYS_statx, tree, "", AT_EMPTY_PATH, WANT_UNIQUE, &l) < 0 || !(l.mask & WANT_UNIQUE))
		return true;
	const struct list_ask ask = { .size = sizeof(ask), .mount = l.mount };
	return syscall(NR_LISTMOUNT, &ask, &first, (size_t)1, 0) != 0;
}

void root_notice(const struct root *r, char *out, size_t max)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; i < r->covers.n && at < max; i++) {
		const struct grant *g = &r->covers.p[i];

		if (g->found && n++ < NAMED_MAX)
			at += (size_t)snprintf(out + at, max - at, "%s%s at %s", n > 1 ? ", " : "covered in the cell: ", g->found, g->path);
	}
	if (n > NAMED_MAX && at < max)
		snprintf(out + at, max - at, " and %zu more", n - NAMED_MAX);
}
