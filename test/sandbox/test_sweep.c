/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/sweep.h"
#include "test/lib/test.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that ends with this signal, or with none; flags: whose it is. */
static pid_t child(unsigned long flags)
{
	return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
}

/* It lives until it is killed: the other end of `alive` is closed by its death alone. */
static void live(int alive)
{
	if (write(alive, "x", 1) == 1)
		for (;;)
			pause();
	_exit(1);
}

/* Its children: one of its own, one whose parent died, one that a child of its own made in its name. */
static void make_all(unsigned long signal_at_end, int alive)
{
	pid_t parent;

	if (child(signal_at_end) == 0)
		live(alive);
	parent = fork();
	if (parent == 0) {
		if (child(signal_at_end) == 0)
			live(alive);
		_exit(0);
	}
	CHECK(waitpid(parent, NULL, 0) == parent);
	parent = child(signal_at_end);
	if (parent == 0) {
		if (child(CLONE_PARENT | signal_at_end) == 0)
			live(alive);
		_exit(0);
	}
	CHECK(waitpid(parent, NULL, __WALL) == parent);
}

/* The exit status of a subreaper: 0 when nobody is left, and nobody of them lives. */
static int sweep_them(unsigned long signal_at_end, int list)
{
	int alive[2], ready = 0;
	char said;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || pipe(alive) < 0 || signal(SIGUSR1, SIG_IGN) == SIG_ERR)
		return 1;
	make_all(signal_at_end, alive[1]);
	close(alive[1]);
	while (ready < 3)
		ready += read(alive[0], &said, 1) == 1;
	sweep_all(list < 0 ? -1 : sweep_open(), NULL, 0);
	if (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 || errno != ECHILD)
		return 2;
	return read(alive[0], &said, 1) == 0 ? 0 : 3;
}

TEST(sweep_ends_whoever_is_left_whatever_signal_it_was_to_end_with)
{
	static const unsigned long signals[] = { SIGCHLD, 0, SIGUSR1 };

	for (size_t i = 0; i < 2 * COUNT(signals); i++) {
		int st = 0;
		pid_t reaper = fork();

		if (reaper == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(sweep_them(signals[i / 2], i % 2 ? -1 : 0));
		}
		CHECK(waitpid(reaper, &st, 0) == reaper);
		CHECK_INT(WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st), 0);
	}
}
