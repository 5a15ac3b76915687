/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/caps.h"
#include "sandbox/namespace.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define SECUREBITS                                                                                           \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |     \
		SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

int caps_no_new_privs(struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, errno, "set NO_NEW_PRIVS");
	return 0;
}

/* Needs CAP_SETPCAP; who does not have it keeps a bounding set that NO_NEW_PRIVS makes useless. */
int caps_drop_bounding(struct err *err)
{
	for (int cap = 0; cap < 64; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL || errno == EPERM) /* past the last one, or not ours to drop */
			return 0;
		return err_sys(err, errno, "drop capability %d from the bounding set", cap);
	}
	return 0;
}

int caps_drop_all(struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	TRY(caps_drop_bounding(err));
	if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0 && errno != EPERM)
		return err_sys(err, errno, "set the securebits");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return err_sys(err, errno, "clear the ambient capabilities");
	if (syscall(SYS_capset, &head, none) < 0)
		return err_sys(err, errno, "drop every capability");
	return caps_no_new_privs(err);
}

int caps_undumpable(struct err *err)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(err, errno, "become undumpable");
	return 0;
}

int caps_die_with_parent(pid_t parent, struct err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_sys(err, errno, "tie this process to its parent");
	if (parent != 0 && getppid() != parent)
		return err_set(err, ERR_CLOSED, "the parent process is gone");
	return 0;
}

int caps_become(uid_t uid, gid_t gid, struct err *err)
{
	uid_t r, e, s;

	if (gid == 0)
		gid = uid;
	if (setgroups(0, NULL) < 0)
		return err_sys(err, errno, "leave every group");
	if (setresgid(gid, gid, gid) < 0)
		return err_sys(err, errno, "become group %u", (unsigned)gid);
	if (setresuid(uid, uid, uid) < 0)
		return err_sys(err, errno, "become user %u", (unsigned)uid);
	if (getresuid(&r, &e, &s) < 0 || r != uid || e != uid || s != uid)
		return err_set(err, ERR_SYS, "the kernel did not make this process user %u", (unsigned)uid);
	return 0;
}

int caps_become_owner(int fd, struct err *err)
{
	struct stat st;

	if (!ns_is_real_root())
		return 0;
	if (fstat(fd, &st) < 0)
		return err_sys(err, errno, "see whose it is");
	return st.st_uid == 0 ? 0 : caps_become(st.st_uid, st.st_gid, err);
}
