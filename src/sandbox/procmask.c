/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/procmask.h"
#include "sandbox/mnt.h"
#include "sandbox/root.h"

#include <errno.h>
#include <sys/mount.h>

/* What only root may read (kcore, kmsg, timer_list, slabinfo, sysrq-trigger) needs no cover: no jail's id is root's,
 * and each cover costs a hundredth of a jail. */
const struct procmask procmasks[] = {
	{ "/proc/kallsyms", false }, { "/proc/keys", false }, { "/proc/key-users", false }, { "/proc/acpi", true },
	{ "/proc/bus", true }, { "/proc/irq", true }, { "/proc/fs", true }, { "/proc/scsi", true }, { NULL, false },
};

int procmask_lock(struct err *err)
{
	for (const struct procmask *m = procmasks; m->path; m++)
		if (mount(m->dir ? ROOT_MASK_DIR : ROOT_MASK_FILE, m->path, NULL, MS_BIND, NULL) < 0 && errno != ENOENT)
			return err_sys(err, errno, "mask %s", m->path);
	if (mnt_attr(AT_FDCWD, "/proc", AT_RECURSIVE, MNT_FLOOR | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, -1) < 0)
		return err_sys(err, errno, "make /proc read-only");
	return 0;
}
