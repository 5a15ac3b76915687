/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/target_priv.h"
#include "sys/file.h"
#include "sys/ours.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>

void target_close(struct target *t)
{
	free(t->name);
	if (t->dir >= 0)
		close(t->dir);
	*t = (struct target){ .dir = -1 };
}

/* The path behind all links; the path itself when nothing is there yet. */
static int resolve(const char *path, char **out, struct err *err)
{
	struct stat st;
	int sys;

	*out = realpath(path, NULL);
	if (*out)
		return 0;
	sys = errno;
	if (sys == ENOENT && lstat(path, &st) == 0)
		return err_set(err, ERR_NOENT, "%s is a link to nothing; remove it or make its target", path);
	if (sys != ENOENT)
		return err_sys(err, sys, "%s", path);
	*out = mem_strdup(path);
	return 0;
}

int target_foreign(const char *path, uid_t owner, struct err *err)
{
	err_set(err, ERR_DENIED, "%s belongs to somebody else (user %u)", path, (unsigned)owner);
	err_hint(err, "start agent6 as that user; or read what it says and make it yours: sudo chown %u that file", (unsigned)geteuid());
	return -ERR_DENIED;
}

int target_open(const char *path, struct target *out, struct err *err)
{
	auto_target struct target t = { .dir = -1, .mode = 0600 };
	autofree char *real = NULL;
	struct stat st;

	TRY(ours_check(path, err));
	TRY(resolve(path, &real, err));
	char *slash = strrchr(real, '/');
	BUG_IF(!slash); /* every path of ours is absolute */
	t.name = mem_strdup(slash + 1);
	slash[slash == real] = '\0';
	TRY(dir_make(real, 0700, err));
	TRY(dir_open(AT_FDCWD, real, &t.dir, err));
	/* The directory is the lock: a lock file would be one more thing that stays behind. */
	while (syscall(SYS_flock, t.dir, LOCK_EX) < 0) /* its header hides behind our own sys/file.h */
		if (errno != EINTR)
			return err_sys(err, errno, "lock %s", real);
	if (fstatat(t.dir, t.name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (st.st_uid != geteuid() && geteuid() != 0)
			return target_foreign(path, st.st_uid, err);
		t.exists = true;
		t.mode = st.st_mode & 0777;
	} else if (errno != ENOENT) {
		return err_sys(err, errno, "%s", path);
	}
	*out = t;
	t = (struct target){ .dir = -1 };
	return 0;
}
