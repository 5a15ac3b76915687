/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/namespace.h"
#include "base/str.h"
#include "sandbox/caps.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

bool ns_is_real_root(void)
{
	char map[128];
	unsigned long inside, outside, count;
	autoclose int fd = -1;

	if (geteuid() != 0)
		return false;
	fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, map, sizeof(map) - 1);
	if (n <= 0)
		return true; /* uid 0 that cannot be told apart is treated as the dangerous one */
	map[n] = '\0';
	return sscanf(map, "%lu %lu %lu", &inside, &outside, &count) != 3 || (outside == 0 && count == UINT32_MAX);
}

int ns_clone(unsigned long flags, pid_t *pid, int *pidfd, struct err *err)
{
	int fd = -1;
	/* Not unshare: a child of clone is single-threaded by construction, and the first in its pid namespace. */
	long r = syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL, &fd, NULL, NULL);

	if (r < 0)
		return err_sys(err, errno, "make namespaces");
	if (r == 0)
		return 0;
	*pid = (pid_t)r;
	*pidfd = fd;
	return 1;
}

/* Below /proc, or below what is open as `proc`. */
static int write_proc(int proc, const char *path, const char *text, struct err *err)
{
	autoclose int fd = openat(proc >= 0 ? proc : AT_FDCWD, proc >= 0 ? path + sizeof("/proc/") - 1 : path, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);

	if (fd < 0)
		return err_sys(err, errno, "open %s", path);
	if (write(fd, text, n) != (ssize_t)n)
		return err_sys(err, errno, "write \"%s\" to %s", text, path);
	return 0;
}

static int map_self(int proc, uid_t uid, gid_t gid, struct err *err)
{
	char line[64];

	TRY(write_proc(proc, "/proc/self/setgroups", "deny", err));
	snprintf(line, sizeof(line), "%u %u 1", (unsigned)uid, (unsigned)uid);
	TRY(write_proc(proc, "/proc/self/uid_map", line, err));
	snprintf(line, sizeof(line), "%u %u 1", (unsigned)gid, (unsigned)gid);
	return write_proc(proc, "/proc/self/gid_map", line, err);
}

int ns_map_self(uid_t uid, gid_t gid, struct err *err)
{
	return map_self(-1, uid, gid, err);
}

int ns_lo_up(struct err *err)
{
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(err, errno, "open a socket to raise lo");
	if (ioctl(fd, SIOCSIFFLAGS, &req) < 0)
		return err_sys(err, errno, "raise lo");
	return 0;
}

int ns_lock(uid_t uid, gid_t gid, struct err *err)
{
	/* Mounts that come along into a mount namespace of a younger user namespace are locked together: none can
	 * be unmounted, moved, or lose a flag, with whatever capabilities there. */
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return err_sys(err, errno, "make the locking namespaces");
	return ns_map_self(uid, gid, err);
}

int ns_own_users(int proc, uid_t uid, gid_t gid, struct err *err)
{
	if (unshare(CLONE_NEWUSER) < 0)
		return err_sys(err, errno, "make a user namespace for the cell");
	return map_self(proc, uid, gid, err);
}

void ns_no_more_users(int proc)
{
	int r = write_proc(proc, "/proc/sys/user/max_user_namespaces", "0", ERR_DISCARD);

	(void)r; /* the filter refuses the calls as well; this covers the flags it cannot read */
}
