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

/* It lies beneath its own read-only copy, where no path leads. */
static int cover_proc(int *beneath, struct err *err)
{
	autoclose int under = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	autoclose int over = mnt_clone(AT_FDCWD, "/proc", 0);

	if (under < 0 || over < 0 || mnt_move(over, AT_FDCWD, "/proc") < 0)
		return err_sys(err, errno, "cover /proc");
	*beneath = take_fd(&under);
	return 0;
}

int procmask_lock(int *writable, struct err *err)
{
	if (writable)
		TRY(cover_proc(writable, err));
	for (const struct procmask *m = procmasks; m->path; m++)
		if (mount(m->dir ? ROOT_MASK_DIR : ROOT_MASK_FILE, m->path, NULL, MS_BIND, NULL) < 0 && errno != ENOENT)
			return err_sys(err, errno, "mask %s", m->path);
	if (mnt_attr(AT_FDCWD, "/proc", AT_RECURSIVE, MNT_FLOOR | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, -1) < 0)
		return err_sys(err, errno, "make /proc read-only");
	return 0;
}
