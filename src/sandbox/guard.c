/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/guard.h"
#include "sandbox/landlock.h"
#include "sandbox/meta.h"
#include "sandbox/sweep.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#define SPARE_PART 8   /* of what the user may have in all, the least part that is left to that user */
#define SPARE_MAX  256

/* Without a namespace the kernel counts all that the user runs, and compares with the limit of who forks: what is counted already is
 * added, and who has a higher limit can still start something. Everybody's processes are counted, which costs one call. */
int64_t guard_processes_max(void)
{
	struct rlimit own = { RLIM_INFINITY, RLIM_INFINITY };
	struct sysinfo now = { 0 };
	int64_t max, room, spare;

	sysinfo(&now);
	getrlimit(RLIMIT_NPROC, &own);
	max = now.procs + LAUNCH_PROCESSES_MAX;
	if (own.rlim_cur > INT64_MAX)
		return max;
	room = (int64_t)own.rlim_cur;
	spare = room / SPARE_PART;
	room -= spare < SPARE_MAX ? spare : SPARE_MAX;
	return room < max ? room : max;
}

/* A domain of its own for signals, around all its commands. That it stands is tried on who made us: kill(-1) comes after it. */
static int wall_in(struct guard *g, struct err *err)
{
	static const struct ll_rule scopes[] = { { .kind = LL_FS_FREE }, { .kind = LL_NET_FREE } };
	pid_t above = getppid();

	if (landlock_abi() < LL_SCOPES_ABI)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, errno, "gain no privileges");
	bool could = kill(above, 0) == 0;
	TRY(landlock_confine(scopes, COUNT(scopes), err));
	g->walled = could && kill(above, 0) < 0 && errno == EPERM;
	return 0;
}

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
	return g->ended < 0 ? err_sys(err, errno, "watch for children") : wall_in(g, err);
}

void guard_sweep(struct guard *g)
{
	if (g->walled)
		sweep_domain(g->children);
	else
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
