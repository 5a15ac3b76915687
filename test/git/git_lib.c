/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/git/git_lib.h"

#include "fmt/pack.h"
#include "sys/chan.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *const person_env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
	"GIT_AUTHOR_NAME=Person", "GIT_AUTHOR_EMAIL=p@example.invalid", "GIT_COMMITTER_NAME=Person",
	"GIT_COMMITTER_EMAIL=p@example.invalid", "LC_ALL=C", NULL };

static const char *const identity[] = { "GIT_AUTHOR_NAME=Agent", "GIT_AUTHOR_EMAIL=a@example.invalid",
	"GIT_COMMITTER_NAME=Agent", "GIT_COMMITTER_EMAIL=a@example.invalid" };

static int run_person(struct fixture *f, const char *const *words, struct buf *out)
{
	auto_buf struct buf errs = BUF_MAX(65536);
	struct proc_spec spec = { .argv = words, .env = person_env, .cwd = f->dir.path };
	struct proc_status st = { 0, 0 };
	struct err err = { 0 };

	CHECK_OK(proc_run(&spec, STR(""), 60000, out, &errs, &st, &err));
	if (st.code != 0)
		print_message("%s: " STR_FMT "\n", words[1], STR_ARG(buf_str(&errs)));
	return st.code;
}

int git_status_of(struct fixture *f, const char *const *words)
{
	auto_buf struct buf out = BUF_MAX(1 << 20);

	return run_person(f, words, &out);
}

struct str git(struct fixture *f, const char *const *words)
{
	auto_buf struct buf out = BUF_MAX(4 << 20);

	CHECK_INT(run_person(f, words, &out), 0);
	return str_dup(f->mem, str_trim(buf_str(&out)));
}

struct str shell(struct fixture *f, const char *lines)
{
	return git(f, (const char *const[]){ "sh", "-ec", lines, NULL });
}

/* ---- git as a plain process ---- */

static int run_plain(void *self, enum git_op op, const struct str *args, size_t n, struct str in, struct arena *mem,
	struct git_result *out, struct err *err)
{
	struct fixture *f = self;
	auto_buf struct buf text = BUF_MAX(64 << 20), errs = BUF_MAX(65536);
	const char *dot_git = str_printf(mem, "%s/.git", f->dir.path).p;
	struct zygote_git_request rq = { .op = (uint8_t)op, .args = args, .nargs = n, .has_stdin = in.n > 0,
		.work_tree = f->dir.path, .git_dir = dot_git, .common_dir = dot_git,
		.index = str_printf(mem, "%s.index", f->dir.path).p, .run_id = RUN_ID, .may_merge = true };
	struct zygote_words w;
	struct proc_status st;
	const char **env;
	size_t k = 0;

	TRY(gitop_words(&rq, mem, &w, err));
	while (w.env[k])
		k++;
	env = arena_array(mem, k + COUNT(identity) + 1, sizeof(*env));
	memcpy(env, w.env, k * sizeof(*env));
	memcpy(env + k, identity, sizeof(identity));
	struct proc_spec spec = { .argv = w.argv, .env = env, .cwd = f->dir.path };

	TRY(proc_run(&spec, in, 60000, &text, &errs, &st, err));
	*out = (struct git_result){ st.code, str_dup(mem, buf_str(&text)), str_dup(mem, buf_str(&errs)) };
	return 0;
}

static void open_plain(struct fixture *f)
{
	f->host = arena_alloc(f->mem, sizeof(*f->host));
	*f->host = (struct git_host){ f, run_plain };
}

/* ---- git in its cell ---- */

static const char *jail_bin(struct arena *mem)
{
	char self[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	CHECK(n > 0);
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	return str_printf(mem, "%s/agent6-jail", self).p;
}

static int drain(void *self, struct err *err)
{
	struct fixture *f = self;
	struct chan_msg *m = f->zygote->client.msg;
	int r;

	while ((r = chan_recv(f->monitor, m, err)) == 0)
		chan_msg_fini(m);
	return r == -ERR_BUSY ? 0 : r;
}

static void start_zygote(struct fixture *f)
{
	static const char *const argv[] = { "agent6-jail", "--zygote", NULL };
	int up[2], side[2];
	struct err err = { 0 };
	autoclose int exe = open(jail_bin(f->mem), O_PATH | O_CLOEXEC);

	CHECK(exe >= 0);
	CHECK_OK(chan_pair(up, &err));
	CHECK_OK(chan_pair(side, &err));
	const int fds[] = { up[1], side[1] };
	struct proc_spec spec = { .argv = argv, .exe_fd = exe, .fds = fds, .nfds = 2, .die_with_parent = true };

	f->proc = arena_alloc(f->mem, sizeof(*f->proc));
	CHECK_OK(proc_spawn(&spec, f->proc, &err));
	close(up[1]);
	close(side[1]);
	f->monitor = up[0];
	f->asker = side[0];
}

static void send_ceiling(struct fixture *f)
{
	const char *dot_git = str_printf(f->mem, "%s/.git", f->dir.path).p;
	struct zygote_spec z = { .kind = ZYGOTE_GIT, .git_dir = dot_git, .common_dir = dot_git, .run_id = RUN_ID,
		.may_merge = f->may_merge, .nlimits = 1, .limits = { { JOB_GIT, f->timeout_ms > 0 ? f->timeout_ms : 60000, false } },
		.policy = { .profile = PROFILE_STRICT, .cwd = f->dir.path, .git_cell = true, .memory_limit_mb = f->memory_mb,
			.root_as_uid = POLICY_ROOT_UID } };
	auto_buf struct buf b = BUF_MAX(ZYGOTE_BYTES_MAX);
	autoclose int fd = -1;
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(identity); i++)
		policy_list_add(&z.policy.env, f->mem, identity[i]);
	CHECK_OK(zygote_spec_encode(&z, &b, &err));
	CHECK_OK(memfd_seal("ceiling", buf_str(&b), &fd, &err));
	CHECK_OK(chan_send(f->monitor, WIRE_CEILING, STR(""), &fd, 1, &err));
}

static void open_jailed(struct fixture *f)
{
	struct err err = { 0 };
	struct chan_msg *m;

	start_zygote(f);
	f->zygote = arena_alloc(f->mem, sizeof(*f->zygote));
	git_zygote_init(f->zygote, f->asker);
	f->zygote->after = drain;
	f->zygote->after_self = f;
	m = f->zygote->client.msg;
	send_ceiling(f);
	CHECK_OK(chan_recv(f->monitor, m, &err));
	if (m->type != WIRE_CELL_READY) {
		struct unpack u = unpack_from(m->body);
		struct str why = unpack_str(&u);

		print_message("no cell: " STR_FMT "\n", STR_ARG(why));
	}
	CHECK_INT(m->type, WIRE_CELL_READY);
	CHECK_OK(chan_nonblock(f->monitor, &err));
	f->host = &f->zygote->host;
}

/* ---- */

void fixture_host(struct fixture *f)
{
	if (!f->host)
		(f->jailed ? open_jailed : open_plain)(f);
}

void fixture_repo(struct fixture *f)
{
	struct err err = { 0 };

	fixture_host(f);
	/* One of the two reads what the files tell, the other one asks git for everything. */
	if (!f->jailed && discover_repo(f->dir.path, f->mem, &f->found, ERR_DISCARD) == 0)
		f->host->files = &f->found;
	repo_close(f->repo);
	f->repo = NULL;
	CHECK_OK(repo_open(f->host, f->dir.fd, STR(RUN_ID), &f->repo, &err));
}

static void fixture_fini(struct fixture *f)
{
	struct proc_status st;

	repo_close(f->repo);
	if (f->zygote) {
		git_zygote_fini(f->zygote);
		close(f->monitor);
		close(f->asker);
		CHECK_INT(proc_wait(f->proc, &st, ERR_DISCARD), 0);
	}
	unlink(str_printf(f->mem, "%s.index", f->dir.path).p);
	test_dir_fini(&f->dir);
	arena_free(f->mem);
}

void each_host(scenario_fn *fn)
{
	each_host_for(fn, NULL);
}

void each_host_for(scenario_fn *fn, void *row)
{
	for (int jailed = 0; jailed < 2; jailed++) {
		struct fixture f = { .dir = test_dir_new(), .mem = arena_new(), .jailed = jailed,
			.may_merge = true, .row = row };

		if (jailed && access(jail_bin(f.mem), X_OK) < 0) {
			fixture_fini(&f);
			test_skip("agent6-jail is not built beside the tests", __FILE__, __LINE__);
			return;
		}
		fn(&f);
		fixture_fini(&f);
	}
}

void repo_with_commit(struct fixture *f)
{
	GIT(f, "init", "-q", "-b", "main");
	test_write(&f->dir, "a.txt", STR("a\n"));
	test_write(&f->dir, "d/b.txt", STR("b\n"));
	GIT(f, "add", "-A");
	GIT(f, "commit", "-q", "-m", "first");
}

struct str sha_of(struct fixture *f, const char *rev)
{
	return GIT(f, "rev-parse", "--verify", rev);
}

struct repo_step step_from_head(struct fixture *f)
{
	return (struct repo_step){ .base = sha_of(f, "HEAD"), .message = STR("agent6 iter 1: work\n"), .branch = true };
}

struct repo_stepped step(struct fixture *f, const struct repo_step *s)
{
	struct repo_stepped out = { 0 };
	struct err err = { 0 };

	CHECK_OK(repo_commit_step(f->repo, s, f->mem, &out, &err));
	return out;
}

bool has_name(const struct str_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_starts(l->p[i], str_from(name)))
			return true;
	return false;
}
