/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/side.h"
#include "sandbox/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK (16 * 1024)

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

struct run {
	const struct side *side;
	side_fn *fn;
	void *self;
	int life;
};

int side_open(struct side *s, struct err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(err, errno, "make a socket pair");
	*s = (struct side){ .give = ends[0], .take = ends[1] };
	return 0;
}

/* Its end must be seen by the cell when that of the process is that wanted the cell: it lets go of `life` first. */
static int run_main(void *self)
{
	const struct run *run = self;
	struct err err = { 0 };

	close(run->life);
	if (run->fn(run->side, run->self, &err) < 0)
		(void)!send(run->side->give, &err, sizeof(err), MSG_NOSIGNAL); /* whoever is gone needs no reason */
	_exit(0);
}

int side_run(const struct side *s, int life, side_fn *fn, void *self, struct err *err)
{
	struct run run = { .side = s, .fn = fn, .self = self, .life = life };
	_Alignas(16) char stack[STACK]; /* this process waits meanwhile */
	long pid = launch_clone(run_main, stack + STACK, CLONE_VFORK | SIGCHLD, &run, NULL);

	if (pid < 0)
		return err_sys(err, (int)-pid, "start a process beside the cell's first");
	while (waitpid((pid_t)pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

int side_give(const struct side *s, int fd, struct err *err)
{
	union control control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	char byte = '!';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (sendmsg(s->give, &msg, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
		return err_sys(err, errno, "hand a descriptor to the cell");
	return 0;
}

int side_not_entered(int sys, const char *what, struct err *err)
{
	int r = err_sys(err, sys, "enter %s namespace", what);

	if (sys == EACCES || sys == EPERM)
		err_hint(err, "a policy around agent6 refuses setns (AppArmor, SELinux, a container's seccomp profile): have it allow that for "
			"agent6-jail, or use profile = \"hardened\"");
	return r;
}

int side_enter_users(int cell, struct err *err)
{
	return setns(cell, CLONE_NEWUSER) < 0 ? side_not_entered(errno, "the cell's user", err) : 0;
}

int side_give_net(const struct side *s, int proc, struct err *err)
{
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	autoclose int sock = -1, net = -1, ipc = -1;

	if (unshare(CLONE_NEWNET | CLONE_NEWIPC) < 0)
		return err_sys(err, errno, "make a network and an IPC namespace");
	ipc = openat(proc, "self/ns/ipc", O_RDONLY | O_CLOEXEC);
	if (ipc < 0)
		return err_sys(err, errno, "open /proc/self/ns/ipc");
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return err_sys(err, errno, "open a socket to raise lo");
	if (ioctl(sock, SIOCSIFFLAGS, &req) < 0)
		return err_sys(err, errno, "raise lo");
	net = ioctl(sock, SIOCGSKNS);
	if (net < 0)
		return err_sys(err, errno, "open the network namespace");
	TRY(side_give(s, net, err));
	return side_give(s, ipc, err);
}

/* fd: NULL where none is to come. 0: the other one, and who started it, hold its end no more. */
static ssize_t hear(const struct side *s, int *fd, struct err *err)
{
	union control control = { .room = { 0 } };
	struct err told;
	struct iovec iov = { &told, sizeof(told) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	ssize_t n;

	do
		n = recvmsg(s->take, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(err, errno, "hear from the process beside the cell's first");
	if (n == (ssize_t)sizeof(told)) {
		*err = told;
		return -(int)told.code;
	}
	if (fd && n == 1 && msg.msg_controllen >= CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(&control.head), sizeof(*fd));
	else if (fd)
		return err_set(err, ERR_CLOSED, "the process beside the cell's first died");
	return n;
}

int side_take(const struct side *s, int *fd, struct err *err)
{
	ssize_t n = hear(s, fd, err);

	return n < 0 ? (int)n : 0;
}

int side_end(const struct side *s, struct err *err)
{
	ssize_t n = hear(s, NULL, err);

	if (n > 0)
		return err_set(err, ERR_SYS, "the process beside the cell's first gave more than was taken");
	return (int)n;
}
