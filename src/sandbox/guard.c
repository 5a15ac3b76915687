/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/guard.h"
#include "sandbox/meta.h"
#include "sandbox/sweep.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

int guard_enter(struct guard *g, struct err *err)
{
	sigset_t chld;

	if (setsid() < 0)
		return err_sys(err, errno, "start a session");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(err, errno, "become a subreaper");
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return err_sys(err, errno, "ignore SIGPIPE"); /* who started us may be gone; then there is to be swept all the same */
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &chld, NULL) < 0)
		return err_sys(err, errno, "block SIGCHLD");
	g->children = sweep_open();
	g->ended = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	return g->ended < 0 ? err_sys(err, errno, "watch for children") : 0;
}

void guard_sweep(struct guard *g)
{
	sweep_all(g->children, NULL, 0);
}

static int take_listener(int from, int *out, struct err *err)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != 1 || !(c = CMSG_FIRSTHDR(&msg)) ||
		c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
		return err_set(err, ERR_SYS, "the command's filter gave no listener");
	memcpy(out, CMSG_DATA(c), sizeof(int));
	return 0;
}

/* A process at a post may still fail on the way there: then it closes its end. */
static long hear_of(struct guard *g, struct launch *l, int mine, long child, struct err *err)
{
	if (take_listener(mine, &g->listener, err) == 0)
		return child;
	guard_sweep(g);
	return l->result->step == LAUNCH_OK ? -(long)err->code : launch_err(l, err);
}

long guard_launch(struct guard *g, struct launch *l, struct err *err)
{
	int pair[2];
	long child;

	/* Not before the end of the last command was told: the kernel takes a filter apart when nobody listens any more. */
	base_close_fd(&g->listener);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, errno, "make a socket pair");
	autoclose int mine = pair[0];
	autoclose int theirs = pair[1];
	autoclose int to = -1, rules = -1;
	TRY(launch_lift(theirs, &to, err));
	TRY(launch_lift(l->ruleset, &rules, err));
	l->listener_to = to;
	l->ruleset = rules;
	l->die_with = getpid();
	child = launch_run(l);
	base_close_fd(&theirs);
	base_close_fd(&to);
	if (child >= 0)
		return hear_of(g, l, mine, child, err);
	if (l->result->step != LAUNCH_EXEC)
		return launch_err(l, err);
	guard_sweep(g);
	return 0;
}

/* Reaps what has ended. The command's group dies while its number is still its own, by one signal that no member
 * can outrun; what left the group is swept. */
static bool reap(pid_t command, int *st)
{
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
			return false;
		if (info.si_pid == command)
			kill(-command, SIGKILL);
		if (waitpid(info.si_pid, st, 0) == command)
			return true;
	}
}

int guard_watch(struct guard *g, pid_t command)
{
	struct pollfd p[3] = { { g->stop, POLLIN, 0 }, { g->ended, POLLIN, 0 }, { g->listener, POLLIN, 0 } };
	struct signalfd_siginfo info;
	int st;

	for (;;) {
		if (reap(command, &st))
			return st;
		if (poll(p, COUNT(p), -1) < 0) {
			if (errno == EINTR)
				continue; /* nothing of p was filled in */
			break;
		}
		if (p[0].revents && (!g->ends || g->ends(g->self)))
			break;
		if (p[1].revents && read(g->ended, &info, sizeof(info)) < 0 && errno != EAGAIN && errno != EINTR)
			break;
		if (p[2].revents & POLLIN) {
			g->read_memory = true;
			if (meta_serve(g->listener, g->written, ERR_DISCARD) < 0)
				break;
		}
		if (p[2].revents & (POLLHUP | POLLERR | POLLNVAL))
			p[2].fd = -1; /* nobody is left under the filter */
	}
	kill(-command, SIGKILL);
	return -1;
}
