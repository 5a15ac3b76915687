/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* bench_time: how long programs take from vfork to wait, side by side.
 *
 * Shape    bench_time ROUNDS [-s STDIN] PROGRAM WORD... [-- [-s STDIN] PROGRAM WORD...]...
 *          Every round runs every program once, each round beginning one further on, so that what the
 *          machine does meanwhile hits all alike. One line each on stdout: median and least, microseconds, then for each
 *          program the median of its time over that one's of the same round.
 *          bench_time -t FILE PROGRAM WORD...: writes the time of day, then becomes the program.
 */
#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX   100000
#define PROGRAMS_MAX 16

struct program {
	char **argv;
	int in;
	int64_t *times;
};

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int fail(const char *what)
{
	fprintf(stderr, "bench_time: %s\n", what);
	return 1;
}

static int stamp(char **argv)
{
	FILE *f = fopen(argv[0], "w");

	if (!f)
		return fail("the file cannot be written");
	fprintf(f, "%.6f\n", (double)now_ns(CLOCK_REALTIME) / 1e9);
	if (fclose(f) != 0)
		return fail("the file cannot be written");
	execv(argv[1], argv + 1);
	return fail(argv[1]);
}

static int run_once(const struct program *p, int null, int64_t *took)
{
	int64_t at = now_ns(CLOCK_MONOTONIC);
	int status;
	pid_t pid;

	lseek(p->in, 0, SEEK_SET);
	pid = vfork();
	if (pid == 0) {
		dup2(p->in, 0);
		dup2(null, 1);
		execv(p->argv[0], p->argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return -1;
	*took = now_ns(CLOCK_MONOTONIC) - at;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Splits the words at "--"; 0 when there is nothing to run. */
static size_t read_programs(char **argv, int null, struct program *out)
{
	size_t n = 0;

	while (*argv && n < PROGRAMS_MAX) {
		struct program *p = &out[n++];

		p->in = null;
		if (strcmp(argv[0], "-s") == 0 && argv[1]) {
			p->in = open(argv[1], O_RDONLY | O_CLOEXEC);
			argv += 2;
		}
		p->argv = argv;
		while (*argv && strcmp(*argv, "--") != 0)
			argv++;
		if (*argv)
			*argv++ = NULL;
		if (p->in < 0 || !p->argv[0])
			return 0;
	}
	return n;
}

/* In millionths, so that one order serves both. */
static double median_over(const struct program *p, const struct program *floor, size_t rounds, int64_t *room)
{
	for (size_t r = 0; r < rounds; r++)
		room[r] = floor ? (int64_t)((double)p->times[r] * 1e6 / (double)floor->times[r]) : p->times[r];
	qsort(room, rounds, sizeof(*room), by_value);
	return (double)room[rounds / 2] / (floor ? 1e6 : 1e3);
}

static void print(const struct program *p, size_t n, size_t rounds)
{
	int64_t *room = mem_alloc(rounds * sizeof(*room));

	for (size_t i = 0; i < n; i++) {
		printf("%.1f", median_over(&p[i], NULL, rounds, room));
		printf(" %.1f", (double)room[0] / 1000);
		for (size_t k = 0; k < n; k++)
			printf(" %.4f", median_over(&p[i], &p[k], rounds, room));
		printf("\n");
	}
	free(room);
}

static int measure(struct program *p, size_t n, size_t rounds, int null)
{
	for (size_t i = 0; i < n; i++)
		p[i].times = mem_alloc(rounds * sizeof(int64_t));
	for (size_t r = 0; r < rounds; r++)
		for (size_t k = 0; k < n; k++) {
			struct program *one = &p[(r + k) % n];

			if (run_once(one, null, &one->times[r]) < 0)
				return fail(one->argv[0]);
		}
	print(p, n, rounds);
	for (size_t i = 0; i < n; i++)
		free(p[i].times);
	return 0;
}

int main(int argc, char **argv)
{
	struct program programs[PROGRAMS_MAX] = { 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int64_t rounds;
	size_t n;

	if (argc > 3 && strcmp(argv[1], "-t") == 0)
		return stamp(argv + 2);
	if (argc < 3 || null < 0 || str_to_i64(str_from(argv[1]), &rounds, ERR_DISCARD) < 0 || rounds < 1 ||
		rounds > ROUNDS_MAX)
		return fail("ROUNDS PROGRAM WORD... [-- PROGRAM WORD...]");
	n = read_programs(argv + 2, null, programs);
	return n > 0 ? measure(programs, n, (size_t)rounds, null) : fail("nothing to run");
}
