/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* bench_zygote: what a jailed /bin/true costs with the zygote warm, over vfork + execve + wait of it.
 *
 * Shape    bench_zygote AGENT6_JAIL [ROUNDS [strict|hardened]]. A block of plain launches, a block of jails with a plain
 *          launch that nobody measures before each, since an agent takes longer than that between two commands, and a
 *          block of jails back to back take turns, so that all see the same machine; medians are compared. What a jail
 *          does when its result is out is charged to no plain launch that counts. The bound is printed beside the ratio,
 *          nothing fails.
 */
#include "fmt/pack.h"
#include "sandbox/zygote.h"
#include "sandbox/zygote_client.h"
#include "sys/chan.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define BLOCK      20
#define ROUNDS_MAX 1000

struct bench {
	const char *jail, *workspace;
	enum policy_profile profile;
	double bound;
	int monitor, asker;
	struct proc proc;
	struct zygote_client client;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int start(struct bench *b, struct err *err)
{
	const char *const argv[] = { "agent6-jail", "--zygote", NULL };
	struct zygote_spec spec = { .git_dir = "", .common_dir = "", .run_id = "", .nlimits = 1,
		.limits = { { JOB_COMMAND, 60000, false } },
		.policy = { .profile = b->profile, .cwd = b->workspace, .root_as_uid = POLICY_ROOT_UID } };
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf text = BUF_MAX(ZYGOTE_BYTES_MAX);
	autoclose int exe = open(b->jail, O_PATH | O_CLOEXEC);
	autoclose int ceiling = -1;
	int up[2], side[2];

	if (exe < 0)
		return err_sys(err, errno, "%s", b->jail);
	policy_list_add(&spec.policy.env, mem, "PATH=/usr/bin:/bin");
	TRY(chan_pair(up, err));
	TRY(chan_pair(side, err));
	const int fds[] = { up[1], side[1] };
	const struct proc_spec ps = { .argv = argv, .exe_fd = exe, .fds = fds, .nfds = 2, .die_with_parent = true };

	TRY(proc_spawn(&ps, &b->proc, err));
	close(up[1]);
	close(side[1]);
	b->monitor = up[0];
	b->asker = side[0];
	zygote_client_init(&b->client, b->asker);
	TRY(zygote_spec_encode(&spec, &text, err));
	TRY(memfd_seal("ceiling", buf_str(&text), &ceiling, err));
	TRY(chan_send(b->monitor, WIRE_CEILING, STR(""), &ceiling, 1, err));
	TRY(chan_recv(b->monitor, b->client.msg, err));
	if (b->client.msg->type != WIRE_CELL_READY)
		return err_set(err, ERR_UNSUPPORTED, "no cell: " STR_FMT, STR_ARG(str_skip(b->client.msg->body, 4)));
	return chan_nonblock(b->monitor, err);
}

/* vfork + execve + wait and nothing else: the floor that every figure is a multiple of. */
static int floor_once(void)
{
	static char *const argv[] = { "true", NULL }, *const env[] = { NULL };
	pid_t pid = vfork();
	int st;

	if (pid == 0) {
		execve("/bin/true", argv, env);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &st, 0) == pid && st == 0 ? 0 : -1;
}

static int jailed_once(struct bench *b, struct err *err)
{
	static const struct str argv[] = { { "/bin/true", 9 } };
	auto_buf struct buf out = BUF_MAX(64), errs = BUF_MAX(1024);
	struct zygote_answer a;

	TRY(zygote_call(&b->client, &(struct zygote_call){ .class = JOB_COMMAND, .args = argv, .nargs = 1 }, &out, &errs,
		&a, err));
	while (chan_recv(b->monitor, b->client.msg, ERR_DISCARD) == 0)
		;
	return a.why == JOB_EXITED && a.code == 0 ? 0 : err_set(err, ERR_REMOTE, "the job failed: %s", a.note);
}

/* A whole zygote with one command in it, from nothing to nothing. */
static int cold_once(struct bench *b, struct err *err)
{
	struct bench c = { .jail = b->jail, .workspace = b->workspace, .profile = b->profile };
	struct proc_status st;

	TRY(start(&c, err));
	TRY(jailed_once(&c, err));
	close(c.monitor);
	close(c.asker);
	zygote_client_fini(&c.client);
	return proc_wait(&c.proc, &st, err);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double median(int64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return (double)v[n / 2] / 1000;
}

struct series {
	int64_t took[ROUNDS_MAX * BLOCK];
	size_t n;
};

static void add(struct series *s, int64_t since)
{
	s->took[s->n++] = now_ns() - since;
}

/* between: 0, or how many plain launches come before each jail. */
static int jails(struct bench *b, int between, struct series *s, struct err *err)
{
	for (size_t i = 0; i < BLOCK; i++) {
		for (int k = 0; k < between; k++)
			if (floor_once() < 0)
				return err_set(err, ERR_SYS, "/bin/true does not run");
		int64_t since = now_ns();

		TRY(jailed_once(b, err));
		add(s, since);
	}
	return 0;
}

static int floors(struct series *s, struct err *err)
{
	for (size_t i = 0; i < BLOCK; i++) {
		int64_t since = now_ns();

		if (floor_once() < 0)
			return err_set(err, ERR_SYS, "/bin/true does not run");
		add(s, since);
	}
	return 0;
}

static double least(const struct series *s)
{
	return (double)s->took[0] / 1000; /* sorted by now */
}

static int measure(struct bench *b, size_t rounds, struct err *err)
{
	static struct series floor, warm, dense, cold;

	for (size_t r = 0; r < rounds; r++) {
		TRY(floors(&floor, err));
		TRY(jails(b, 1, &warm, err));
		TRY(jails(b, 0, &dense, err));
		int64_t since = now_ns();

		TRY(cold_once(b, err));
		add(&cold, since);
	}
	double f = median(floor.took, floor.n), w = median(warm.took, warm.n), d = median(dense.took, dense.n),
	       c = median(cold.took, cold.n);

	printf("zygote, %s: floor %.0f us; one jailed /bin/true, warm: %.0f us, %.2f x (bound %.2f); cold zygote and one: "
	       "%.0f us, %.1f x; least: %.0f and %.0f us, %.2f x; back to back: %.0f us, %.2f x, least %.2f x; p90 over p50: %.2f\n",
		policy_profile_name(b->profile), f, w, w / f, b->bound, c, c / f, least(&floor), least(&warm),
		least(&warm) / least(&floor), d, d / f, least(&dense) / least(&floor), (double)warm.took[warm.n * 9 / 10] / 1000 / w);
	return 0;
}

int main(int argc, char **argv)
{
	char workspace[] = "/tmp/agent6-bench-XXXXXX";
	struct bench b = { .jail = argc > 1 ? argv[1] : "build/agent6-jail", .monitor = -1, .asker = -1,
		.profile = PROFILE_STRICT, .bound = 2.5 };
	int64_t rounds = 10;
	struct err err = { 0 };
	int r;

	if (argc > 2 && str_to_i64(str_from(argv[2]), &rounds, &err) < 0)
		rounds = 10;
	if (argc > 3 && strcmp(argv[3], "hardened") == 0) {
		b.profile = PROFILE_HARDENED;
		b.bound = 1.45;
	}
	rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
	b.workspace = mkdtemp(workspace);
	if (!b.workspace)
		return 1;
	r = start(&b, &err);
	r = r < 0 ? r : measure(&b, (size_t)rounds, &err);
	base_close_fd(&b.monitor);
	base_close_fd(&b.asker);
	rmdir(workspace);
	if (r < 0)
		fprintf(stderr, "bench_zygote: %s\n", err.msg);
	return r < 0;
}
