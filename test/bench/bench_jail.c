/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* bench_jail: what a jail costs, as ratios to vfork + execve + wait of the same program in the same round.
 *
 * Shape    bench_jail [ROUNDS]. Inside one locked cell, a jail and a plain process take turns.
 */
#include "sandbox/cell.h"
#include "sandbox/jail.h"
#include "sandbox/namespace.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#define ROUNDS_MAX 100000

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double floor_us(void)
{
	char *const argv[] = { "/bin/true", NULL }, *const env[] = { NULL };
	double start = now_us();
	pid_t pid = vfork();

	if (pid == 0) {
		execve(argv[0], argv, env);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	return now_us() - start;
}

static double jail_us(struct jails *jails, const char *cwd)
{
	static const char *const argv[] = { "/bin/true", NULL };
	struct jail_spec spec = { .class = jail_class_find(JOB_COMMAND), .argv = argv, .cwd = cwd, .in_fd = -1,
		.out_fd = -1, .err_fd = -1 };
	struct jail_status st = { 0 };
	struct err err = { 0 };
	struct jail jail;
	double start = now_us();

	if (jail_spawn(jails, &spec, &jail, &err) < 0 || jail.exec_errno != 0 || jail_reap(&jail, &st, &err) < 0 ||
		st.code != 0) {
		fprintf(stderr, "bench_jail: %s\n", err.msg);
		exit(1);
	}
	return now_us() - start;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int bench(const struct cell *cell, void *self)
{
	size_t n = *(size_t *)self;
	double *plain = mem_grow(NULL, n, sizeof(*plain)), *jailed = mem_grow(NULL, n, sizeof(*jailed));
	struct jails *jails = NULL;
	struct err err = { 0 };

	if (jails_open(cell, &jails, &err) < 0)
		return 1;
	jail_us(jails, cell->spec->root.workspace); /* compiles filters and rules */
	for (size_t i = 0; i < n; i++) {
		plain[i] = floor_us();
		jailed[i] = jail_us(jails, cell->spec->root.workspace);
	}
	qsort(plain, n, sizeof(*plain), by_value);
	qsort(jailed, n, sizeof(*jailed), by_value);
	printf("floor   min %6.0f us  p50 %6.0f us\n", plain[0], plain[n / 2]);
	printf("jailed  min %6.0f us  p50 %6.0f us  %.2f x (min), %.2f x (p50), bound 2.5 x\n", jailed[0],
		jailed[n / 2], jailed[0] / plain[0], jailed[n / 2] / plain[n / 2]);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	bool root = ns_is_real_root();
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 300;
	char ws[] = "/var/tmp/bench_jail.XXXXXX";
	struct cell_proc cell;
	struct err err = { 0 };
	int st = 0;

	if (rounds == 0 || rounds > ROUNDS_MAX || !mkdtemp(ws))
		return 2;
	struct cell_spec spec = { .lock = true, .root = { .workspace = ws,
		.uid = root ? POLICY_ROOT_UID : geteuid(), .gid = root ? POLICY_ROOT_UID : getegid(), .idmap = root } };
	if (cell_start(&spec, bench, &rounds, &cell, &err) < 0)
		fprintf(stderr, "bench_jail: %s\n", err.msg);
	else
		waitpid(cell.pid, &st, 0);
	rmdir(ws);
	return err.code != ERR_NONE || st != 0;
}
