/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/meta.h"
#include "sandbox/root_priv.h"
#include "sandbox/sysnr.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <utime.h>

#define SET_ID_BITS (S_ISUID | S_ISGID)
#define NAME_ROOM   (XATTR_NAME_ROOM + 1)
#define XATTR_NAME_ROOM 255
#define VALUE_MAX   65536
#define NO_ARG      (-1)

enum what { WHAT_MODE, WHAT_UTIME, WHAT_TIMEVAL, WHAT_TIMESPEC, WHAT_SETX, WHAT_REMOVEX };

/* Where in its arguments a call names the object, and where the rest starts. */
static const struct call {
	int nr;
	enum what what;
	int dirfd, path; /* argument numbers; path NO_ARG: dirfd is the object itself */
	int rest;        /* first argument after the name */
	int flags;       /* argument with AT_SYMLINK_NOFOLLOW */
	bool nofollow;
} calls[] = {
	{ __NR_chmod, WHAT_MODE, NO_ARG, 0, 1, NO_ARG, false },
	{ __NR_fchmod, WHAT_MODE, 0, NO_ARG, 1, NO_ARG, false },
	{ __NR_fchmodat, WHAT_MODE, 0, 1, 2, NO_ARG, false },
	{ __NR_fchmodat2, WHAT_MODE, 0, 1, 2, 3, false },
	{ __NR_utime, WHAT_UTIME, NO_ARG, 0, 1, NO_ARG, false },
	{ __NR_utimes, WHAT_TIMEVAL, NO_ARG, 0, 1, NO_ARG, false },
	{ __NR_futimesat, WHAT_TIMEVAL, 0, 1, 2, NO_ARG, false },
	{ __NR_utimensat, WHAT_TIMESPEC, 0, 1, 2, 3, false },
	{ __NR_setxattr, WHAT_SETX, NO_ARG, 0, 1, NO_ARG, false },
	{ __NR_lsetxattr, WHAT_SETX, NO_ARG, 0, 1, NO_ARG, true },
	{ __NR_fsetxattr, WHAT_SETX, 0, NO_ARG, 1, NO_ARG, false },
	{ __NR_removexattr, WHAT_REMOVEX, NO_ARG, 0, 1, NO_ARG, false },
	{ __NR_lremovexattr, WHAT_REMOVEX, NO_ARG, 0, 1, NO_ARG, true },
	{ __NR_fremovexattr, WHAT_REMOVEX, 0, NO_ARG, 1, NO_ARG, false },
};

struct request {
	const struct call *call;
	pid_t pid;
	const uint64_t *args;
	int target;
	bool is_link;
};

/* 0, or minus an errno for the command, from here to the end of the file. */
static int read_bytes(const struct request *rq, uint64_t from, void *to, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)(uintptr_t)from, n };

	return process_vm_readv(rq->pid, &local, 1, &remote, 1, 0) == (ssize_t)n ? 0 : -EFAULT;
}

/* A string may end just before memory that is not there: page by page. */
static int read_string(const struct request *rq, uint64_t from, char *to, size_t room, int too_long)
{
	size_t n = 0;

	while (n < room) {
		size_t step = 4096 - (size_t)((from + n) & 4095);

		step = step < room - n ? step : room - n;
		if (read_bytes(rq, from + n, to + n, step) < 0)
			return -EFAULT;
		if (memchr(to + n, '\0', step))
			return 0;
		n += step;
	}
	return too_long;
}

static int open_base(const struct request *rq, int dirfd)
{
	char path[64];

	if (dirfd == AT_FDCWD)
		snprintf(path, sizeof(path), "/proc/%d/cwd", (int)rq->pid);
	else
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)rq->pid, dirfd);
	int fd = open(path, O_PATH | O_CLOEXEC);
	return fd >= 0 ? fd : dirfd == AT_FDCWD ? -EACCES : -EBADF;
}

static int open_target(struct request *rq)
{
	const struct call *c = rq->call;
	int dirfd = c->dirfd == NO_ARG ? AT_FDCWD : (int)rq->args[c->dirfd];
	bool nofollow = c->nofollow || (c->flags != NO_ARG && (rq->args[c->flags] & AT_SYMLINK_NOFOLLOW));
	char path[PATH_MAX];
	autoclose int base = -1;
	struct stat st;
	int r;

	base = open_base(rq, dirfd);
	if (base < 0)
		return take_fd(&base);
	if (c->path == NO_ARG || (c->what != WHAT_MODE && rq->args[c->path] == 0)) {
		rq->target = take_fd(&base);
		return 0;
	}
	if ((r = read_string(rq, rq->args[c->path], path, sizeof(path), -ENAMETOOLONG)) < 0)
		return r;
	if (path[0] == '\0')
		return -ENOENT;
	/* No magic link: "self" would be the guardian. */
	rq->target = file_openat2(base, path, O_PATH | O_CLOEXEC | (nofollow ? O_NOFOLLOW : 0), 0, RESOLVE_NO_MAGICLINKS);
	if (rq->target < 0)
		return -errno;
	if (fstat(rq->target, &st) < 0)
		return -errno;
	rq->is_link = S_ISLNK(st.st_mode);
	return 0;
}

/* Where the object is now; nothing can carry one in from outside, because moving and linking are Landlock's. */
static bool is_granted(int fd, const struct policy_list *roots)
{
	char self[64], real[PATH_MAX];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(self, real, sizeof(real) - 1);
	if (n <= 0 || real[0] != '/')
		return false;
	real[n] = '\0';
	for (size_t i = 0; i < roots->n; i++)
		if (path_beneath(real, roots->p[i]))
			return true;
	return false;
}

static int set_times(const struct request *rq, const char *self, const struct timespec ts[2])
{
	int r = rq->is_link ? utimensat(rq->target, "", ts, AT_EMPTY_PATH) : utimensat(AT_FDCWD, self, ts, 0);

	return r < 0 ? -errno : 0;
}

static int change_times(const struct request *rq, const char *self)
{
	uint64_t from = rq->args[rq->call->rest];
	struct timespec ts[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };
	struct timeval tv[2];
	struct utimbuf ut;

	if (from == 0)
		return set_times(rq, self, ts);
	switch (rq->call->what) {
	case WHAT_UTIME:
		if (read_bytes(rq, from, &ut, sizeof(ut)) < 0)
			return -EFAULT;
		ts[0] = (struct timespec){ ut.actime, 0 };
		ts[1] = (struct timespec){ ut.modtime, 0 };
		break;
	case WHAT_TIMEVAL:
		if (read_bytes(rq, from, tv, sizeof(tv)) < 0)
			return -EFAULT;
		for (int i = 0; i < 2; i++) {
			if (tv[i].tv_usec < 0 || tv[i].tv_usec >= 1000000)
				return -EINVAL;
			ts[i] = (struct timespec){ tv[i].tv_sec, tv[i].tv_usec * 1000 };
		}
		break;
	default:
		if (read_bytes(rq, from, ts, sizeof(ts)) < 0)
			return -EFAULT;
	}
	return set_times(rq, self, ts);
}

static int change_xattr(const struct request *rq, const char *self)
{
	const uint64_t *a = rq->args + rq->call->rest;
	char name[NAME_ROOM];
	int r = read_string(rq, a[0], name, sizeof(name), -ERANGE);

	if (r < 0)
		return r;
	if (strncmp(name, "system.", 7) == 0) /* access lists: cp -p and tar then take the mode */
		return -EOPNOTSUPP;
	if (rq->is_link || strncmp(name, "user.", 5) != 0) /* security.* and trusted.* are not for commands */
		return -EPERM;
	if (rq->call->what == WHAT_REMOVEX)
		return removexattr(self, name) < 0 ? -errno : 0;
	if (a[2] > VALUE_MAX)
		return -E2BIG;
	autofree char *value = mem_alloc((size_t)a[2] + 1);
	if (a[2] > 0 && read_bytes(rq, a[1], value, (size_t)a[2]) < 0)
		return -EFAULT;
	return setxattr(self, name, value, (size_t)a[2], (int)a[3]) < 0 ? -errno : 0;
}

static int change(const struct request *rq)
{
	char self[64];
	uint64_t mode = rq->args[rq->call->rest];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", rq->target);
	switch (rq->call->what) {
	case WHAT_MODE:
		if (mode & SET_ID_BITS)
			return -EPERM;
		if (rq->is_link)
			return -EOPNOTSUPP;
		return chmod(self, (mode_t)(mode & 01777)) < 0 ? -errno : 0;
	case WHAT_UTIME:
	case WHAT_TIMEVAL:
	case WHAT_TIMESPEC:
		return change_times(rq, self);
	case WHAT_SETX:
	case WHAT_REMOVEX:
		return change_xattr(rq, self);
	}
	BUG_IF(true);
}

static int answer(int listener, const struct seccomp_notif *n, const struct policy_list *roots)
{
	struct request rq = { .pid = (pid_t)n->pid, .args = (const uint64_t *)n->data.args, .target = -1 };
	int r;

	for (size_t i = 0; i < COUNT(calls); i++)
		if (calls[i].nr == n->data.nr && calls[i].nr >= 0)
			rq.call = &calls[i];
	if (!rq.call)
		return -EPERM;
	r = open_target(&rq);
	/* Until the object is open its process must still be the one that asked. */
	if (r == 0 && ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &n->id) < 0)
		r = -EINTR;
	if (r == 0)
		r = is_granted(rq.target, roots) ? change(&rq) : -EACCES;
	base_close_fd(&rq.target);
	return r;
}

int meta_serve(int listener, const struct policy_list *roots, struct err *err)
{
	struct seccomp_notif n = { 0 };
	struct seccomp_notif_resp resp = { 0 };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0) {
		if (errno == ENOENT || errno == EINTR) /* it died while asking */
			return 0;
		return err_sys(err, errno, "receive a system call to answer");
	}
	resp.id = n.id;
	resp.error = answer(listener, &n, roots);
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 && errno != ENOENT)
		return err_sys(err, errno, "answer a system call");
	return 0;
}
