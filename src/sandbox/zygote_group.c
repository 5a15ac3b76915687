/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The control group of a zygote. The process that made it stays outside, does nothing but wait, and takes it away: also
 * when whoever started us was killed, for which it outlives its parent by the moment that takes. */
#include "sandbox/caps.h"
#include "sandbox/group.h"
#include "sandbox/zygote_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The one inside is asked first: under "hardened" it has something to clean up too. */
static int wait_inside(pid_t pid, int term)
{
	struct pollfd p[2] = { { (int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0 }, { term, POLLIN, 0 } };
	struct signalfd_siginfo info;
	int st = 0;

	while (p[0].fd >= 0 && !p[0].revents)
		if (poll(p, COUNT(p), -1) > 0 && p[1].revents && read(term, &info, sizeof(info)) > 0)
			kill(pid, SIGTERM);
	while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
		;
	base_close_fd(&p[0].fd);
	return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

static int keep(struct zygote *z, struct group *g, pid_t inside, int term)
{
	struct err err = { 0 };
	int status;

	base_close_fd(&z->monitor); /* their end is to be seen by both peers */
	base_close_fd(&z->asker);
	base_close_fd(&z->exe);
	status = wait_inside(inside, term);
	if (group_end(g, &err) < 0)
		fprintf(stderr, "agent6-jail: %s\n", err.msg);
	return status;
}

/* Its parent's end is a word for it from here on, and no blow: there is something to be cleaned up first. */
static int watch_parent(pid_t parent, int *term, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0)
		return err_sys(err, errno, "watch for the end of the parent");
	if (getppid() != parent)
		return err_set(err, ERR_CLOSED, "the process that wanted the cell is gone");
	*term = signalfd(-1, &set, SFD_CLOEXEC);
	return *term < 0 ? err_sys(err, errno, "watch for the end of the parent") : 0;
}

static int go_in(struct zygote *z, struct group *g, pid_t keeper, struct err *err)
{
	int r = group_events(g, &z->events, err);

	z->memory_mb = g->memory_mb;
	group_close(g);
	z->ooms = group_ooms(z->events);
	return r < 0 ? r : caps_die_with_parent(keeper, err);
}

int zygote_in_group(struct zygote *z, int *status, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	const struct group_host host = GROUP_HOST;
	struct group g = GROUP_NONE;
	struct group_place place;
	autoclose int term = -1;
	pid_t self = getpid(), parent = getppid(), inside;

	if (z->spec.memory_max_mb == 0 || z->spec.kind == ZYGOTE_GIT || z->spec.policy.profile == PROFILE_NONE)
		return 0;
	/* `check sandbox` says why not; what the operator asked for by name is kept by an rlimit as well. */
	if (group_find(&host, mem, &place, ERR_DISCARD) < 0 ||
		group_make(&place, z->spec.memory_max_mb, &g, ERR_DISCARD) < 0)
		return 0;
	if (group_fork(&g, &inside, ERR_DISCARD) < 0) /* a filter around us does not know the call */
		return group_end(&g, err);
	if (inside == 0)
		return go_in(z, &g, self, err);
	if (watch_parent(parent, &term, err) < 0)
		kill(inside, SIGTERM);
	*status = keep(z, &g, inside, term);
	return 1;
}

int zygote_tell_kills(struct zygote *z, struct buf *note, struct err *err)
{
	const char *who = z->spec.kind == ZYGOTE_SERVER ? "this server and what it started used" : "the run's commands used";

	if (!group_limit_killed(&z->ooms, group_ooms(z->events)))
		return 0;
	TRY(buf_addf(note, err, "the kernel killed a program because %s more than %lld MiB of memory together; ", who, (long long)z->memory_mb));
	return buf_addz(note, z->memory_mb < z->spec.memory_max_mb ? "agent6 was started where no more is allowed; "
								   : "the operator's sandbox.memory_limit_mb decides; ", err);
}
