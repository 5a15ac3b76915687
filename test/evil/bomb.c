/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* bomb LIMIT TOTAL: forks without an end, in every way that makes it hard to be ended: children of children whose parents leave,
 * sessions of their own, some of them stopped, every signal ignored that can be. It is bounded by itself all the same, so that a
 * jail that does not hold costs a test and not the machine: LIMIT is its RLIMIT_NPROC (0: what it is given), TOTAL how many
 * processes it makes in all (the limit says nothing to root). Each holds a lock on the file "lock" here, and says first that it is up. */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PER_CENT 100

static _Noreturn void burn(atomic_long *left, unsigned seed)
{
	for (;;) {
		int what = rand_r(&seed) % PER_CENT;
		pid_t pid;

		if (atomic_fetch_sub(left, 1) <= 0)
			for (;;)
				pause();
		pid = fork();
		if (pid < 0)
			atomic_fetch_add(left, 1);
		if (pid == 0) {
			seed ^= (unsigned)getpid() << 8;
			if (what < 50)
				setsid();
			if (what < 3)
				raise(SIGSTOP);
		} else if (pid > 0 && what < 30) {
			_exit(0); /* the child goes on with nobody above it */
		}
	}
}

int main(int argc, char **argv)
{
	struct rlimit limit = { 0 };
	atomic_long *left;
	int lock = open("lock", O_RDWR | O_CREAT, 0600);

	if (argc != 3 || lock < 0 || flock(lock, LOCK_EX) < 0)
		return 2;
	limit.rlim_cur = limit.rlim_max = strtoul(argv[1], NULL, 10);
	if (limit.rlim_cur > 0 && setrlimit(RLIMIT_NPROC, &limit) < 0)
		return 2;
	left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (left == MAP_FAILED)
		return 2;
	atomic_init(left, strtol(argv[2], NULL, 10));
	for (int s = 1; s < SIGRTMIN; s++)
		if (s != SIGKILL && s != SIGSTOP)
			signal(s, SIG_IGN);
	puts("up");
	fflush(stdout);
	if (fork() == 0)
		burn(left, (unsigned)getpid());
	for (;;)
		pause();
}
