/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/side.h"
#include "sandbox/launch.h"
#include "sandbox/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum side_step { SIDE_NET, SIDE_SOCKET, SIDE_RAISE, SIDE_NAME, SIDE_WAIT, SIDE_LEAVE, SIDE_DONE };

static const char *const step_names[] = { [SIDE_NET] = "make a network namespace",
	[SIDE_SOCKET] = "open a socket to raise lo",
	[SIDE_RAISE] = "raise lo",
	[SIDE_NAME] = "open the network namespace",
	[SIDE_WAIT] = "wait for the new root",
	[SIDE_LEAVE] = "let go of the old root",
	[SIDE_DONE] = "" };

struct answer {
	int net; /* the namespace's descriptor, or -1 */
	int step, sys;
};

static long make_net(struct answer *a)
{
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	long sock, r;

	a->step = SIDE_NET;
	if ((r = raw(SYS_unshare, CLONE_NEWNET)) < 0)
		return r;
	a->step = SIDE_SOCKET;
	if ((sock = raw(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0)
		return sock;
	a->step = SIDE_RAISE;
	if ((r = raw(SYS_ioctl, sock, SIOCSIFFLAGS, &req)) < 0)
		return r;
	a->step = SIDE_NAME;
	if ((r = raw(SYS_ioctl, sock, SIOCGSKNS)) < 0)
		return r;
	a->net = (int)r;
	return raw(SYS_close, sock);
}

static long leave(const struct side *s, struct answer *a)
{
	char byte;
	long r;

	a->step = SIDE_WAIT;
	do
		r = raw(SYS_read, s->left[0], &byte, 1);
	while (r == -EINTR);
	if (r != 1)
		return r < 0 ? r : -EPIPE;
	a->step = SIDE_LEAVE;
	return raw(SYS_umount2, "/", MNT_DETACH);
}

/* Shares memory and descriptors with the process that joins it. */
static int side_main(void *self)
{
	const struct side *s = self;
	struct answer a = { .net = -1 };
	long r = s->net ? make_net(&a) : 0;

	if (r >= 0)
		r = leave(s, &a);
	if (r >= 0)
		a.step = SIDE_DONE;
	else
		a.sys = (int)-r;
	raw(SYS_write, s->answer[1], &a, sizeof(a));
	raw(SYS_exit, 0);
	return 0;
}

int side_begin(struct side *s, bool net, struct err *err)
{
	long pid;

	/* Both ends of the answer are in one table, so its end never comes: it is read when the child is
	 * dead. */
	if (pipe2(s->answer, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(s->left, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	s->net = net;
	pid = launch_clone(side_main, s->stack + sizeof(s->stack), CLONE_FILES | SIGCHLD, s, NULL);
	if (pid < 0)
		return err_sys(err, (int)-pid, "start a process beside the cell's first");
	s->pid = (pid_t)pid;
	return 0;
}

int side_leave(struct side *s, struct err *err)
{
	return write(s->left[1], "!", 1) == 1 ? 0 : err_sys(err, errno, "say that the new root stands");
}

int side_join(struct side *s, struct err *err)
{
	struct answer a = { .net = -1 };
	ssize_t n;

	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	n = read(s->answer[0], &a, sizeof(a));
	for (int i = 0; i < 2; i++) {
		base_close_fd(&s->answer[i]);
		base_close_fd(&s->left[i]);
	}
	if (n != (ssize_t)sizeof(a))
		return err_set(err, ERR_SYS, "the process beside the cell's first died");

	autoclose int ns = a.net;
	if (a.step != SIDE_DONE)
		return err_sys(err, a.sys, "%s", step_names[a.step]);
	if (s->net && setns(ns, CLONE_NEWNET) < 0)
		return err_sys(err, errno, "enter the network namespace");
	return 0;
}
