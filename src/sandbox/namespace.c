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
#include <sys/uio.h>

#define GET_MOUNTS _IO(0xff, 3) /* PIDFD_GET_MNT_NAMESPACE, which older headers do not have */

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

static int map_self(int proc, const struct ns_ids *ids, struct err *err)
{
	char line[64];

	TRY(write_proc(proc, "/proc/self/setgroups", "deny", err));
	snprintf(line, sizeof(line), "%u %u 1", (unsigned)ids->seen_uid, (unsigned)ids->uid);
	TRY(write_proc(proc, "/proc/self/uid_map", line, err));
	snprintf(line, sizeof(line), "%u %u 1", (unsigned)ids->seen_gid, (unsigned)ids->gid);
	return write_proc(proc, "/proc/self/gid_map", line, err);
}

int ns_map_self(uid_t uid, gid_t gid, struct err *err)
{
	return map_self(-1, &(struct ns_ids){ uid, gid, uid, gid }, err);
}

int ns_mounts_of(int pidfd)
{
	return ioctl(pidfd, GET_MOUNTS, 0);
}

/* A socket that lies in its own queue, beside the namespace: once its descriptor is closed nobody can receive either, and the
 * kernel's collector for such messages (unix(7), "SCM_RIGHTS") drops both when the next socket is closed. */
void ns_hold(int *mounts, struct ns_held *out)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	char byte = '!';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	int ends[2];

	if (*mounts >= 0 && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == 0) {
		*out = (struct ns_held){ .queue = ends[0], .feed = ends[1] };
		memcpy(CMSG_DATA(&control.head), (const int[]){ ends[0], *mounts }, 2 * sizeof(int));
		if (sendmsg(out->feed, &msg, MSG_NOSIGNAL) < 0)
			ns_release(out);
	}
	base_close_fd(mounts);
}

void ns_release(struct ns_held *h)
{
	base_close_fd(&h->queue); /* first: closing the other one wakes the collector */
	base_close_fd(&h->feed);
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

int ns_lock(int proc, const struct ns_ids *ids, struct err *err)
{
	/* Mounts that come along into a mount namespace of a younger user namespace are locked together: none can
	 * be unmounted, moved, or lose a flag, with whatever capabilities there. */
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return err_sys(err, errno, "make the locking namespaces");
	return map_self(proc, ids, err);
}

int ns_own_users(int proc, const struct ns_ids *ids, struct err *err)
{
	if (unshare(CLONE_NEWUSER) < 0)
		return err_sys(err, errno, "make a user namespace for the cell");
	return map_self(proc, ids, err);
}

void ns_no_more_users(int proc)
{
	int r = write_proc(proc, "/proc/sys/user/max_user_namespaces", "0", ERR_DISCARD);

	(void)r; /* the filter refuses the calls as well; this covers the flags it cannot read */
}
