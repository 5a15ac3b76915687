/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/sandbox/zygote_lib.h"

#include "fmt/pack.h"
#include "sandbox/landlock.h"
#include "sandbox/probe.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ORDINARY 64123

static const char *const base_env[] = { "PATH=/usr/bin:/bin", ("HOME=" ZYGOTE_HOME), "LANG=C.UTF-8" };

static const char *jail_bin(struct arena *mem)
{
	char self[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	CHECK(n > 0);
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	return str_printf(mem, "%s/agent6-jail", self).p;
}

/* As another user by a program that changes its ids and executes ours. */
static void spawn(struct zy *z, const int *fds, size_t n)
{
	char uid[32], gid[32];
	const char *bin = jail_bin(z->mem);
	struct err err = { 0 };

	snprintf(uid, sizeof(uid), "--reuid=%u", (unsigned)z->uid);
	snprintf(gid, sizeof(gid), "--regid=%u", (unsigned)z->uid);
	const char *const as_other[] = { "/usr/bin/setpriv", uid, gid, "--clear-groups", bin, "--zygote", NULL };
	const char *const as_self[] = { bin, "--zygote", NULL };
	struct proc_spec spec = { .argv = z->uid == geteuid() ? as_self : as_other, .fds = fds, .nfds = n,
		.own_session = true, .die_with_parent = true };

	CHECK_OK(proc_spawn(&spec, &z->proc, &err));
}

static void send_ceiling(struct zy *z)
{
	auto_buf struct buf b = BUF_MAX(ZYGOTE_BYTES_MAX);
	autoclose int fd = -1;
	struct err err = { 0 };

	CHECK_OK(zygote_spec_encode(&z->spec, &b, &err));
	CHECK_OK(memfd_seal("ceiling", buf_str(&b), &fd, &err));
	CHECK_OK(chan_send(z->monitor, WIRE_CEILING, STR(""), &fd, 1, &err));
}

struct chan_msg *zy_start_raw(struct zy *z)
{
	int up[2], side[2];
	struct err err = { 0 };
	autoclose int program = z->program ? open(z->program, O_PATH | O_CLOEXEC) : -1;

	CHECK_OK(chan_pair(up, &err));
	CHECK_OK(chan_pair(side, &err));
	const int fds[] = { up[1], side[1], program, program };

	spawn(z, fds, program >= 0 ? 4 : 2);
	close(up[1]);
	close(side[1]);
	z->monitor = up[0];
	z->asker = side[0];
	zygote_client_init(&z->client, z->asker);
	send_ceiling(z);
	return zy_from_monitor_side(z);
}

void zy_start(struct zy *z)
{
	struct chan_msg *m = zy_start_raw(z);

	if (m->type == WIRE_CELL_FAIL) {
		struct unpack u = unpack_from(m->body);
		struct str why = unpack_str(&u);

		print_error("no cell: " STR_FMT "\n", STR_ARG(why));
	}
	CHECK_INT(m->type, WIRE_CELL_READY);
}

static void zy_close(struct zy *z)
{
	base_close_fd(&z->monitor);
	base_close_fd(&z->asker);
}

void zy_stop(struct zy *z)
{
	struct proc_status st = { -1, 0 };
	struct err err = { 0 };

	zy_close(z);
	CHECK_OK(proc_wait(&z->proc, &st, &err));
	z->proc.pid = 0;
	CHECK_INT(st.code, 0);
}

static void own(const struct zy *z, const char *path)
{
	CHECK_INT(chown(path, z->uid, z->uid), 0);
}

static void zy_init(struct zy *z, uid_t uid)
{
	*z = (struct zy){ .dir = test_dir_new(), .mem = arena_new(), .uid = uid, .monitor = -1, .asker = -1,
		.msg = mem_alloc(sizeof(*z->msg)), .text = BUF_MAX(8 << 20), .errs = BUF_MAX(1 << 20) };
	z->ws = str_printf(z->mem, "%s/ws", z->dir.path).p;
	z->out = str_printf(z->mem, "%s/out", z->dir.path).p;
	test_write(&z->dir, "ws/file", STR("in\n"));
	test_write(&z->dir, "ws/.git/config", STR("[core]\n"));
	test_write(&z->dir, "ws/.git/hooks/x", STR("x\n"));
	test_write(&z->dir, "ws/secret/key", STR("hidden key\n"));
	test_write(&z->dir, "out/file", STR("outside\n"));
	const char *const paths[] = { "", "/ws", "/ws/file", "/ws/.git", "/ws/.git/config", "/ws/.git/hooks",
		"/ws/secret", "/ws/secret/key", "/out", "/out/file" };

	for (size_t i = 0; i < COUNT(paths); i++)
		own(z, str_printf(z->mem, "%s%s", z->dir.path, paths[i]).p);
	z->spec = (struct zygote_spec){ .kind = ZYGOTE_COMMAND, .git_dir = "", .common_dir = "", .run_id = "",
		.limits = { { JOB_COMMAND, 60000, false }, { JOB_VERIFY, 60000, true }, { JOB_INDEX, 60000, false } },
		.nlimits = 3,
		.policy = { .profile = PROFILE_STRICT, .cwd = z->ws, .root_as_uid = POLICY_ROOT_UID } };
	for (size_t i = 0; i < COUNT(base_env); i++)
		policy_list_add(&z->spec.policy.env, z->mem, base_env[i]);
	policy_list_add(&z->spec.policy.extra_protect_paths, z->mem, str_printf(z->mem, "%s/.git", z->ws).p);
	policy_list_add(&z->spec.policy.hide_paths, z->mem, str_printf(z->mem, "%s/secret", z->ws).p);
}

static void zy_fini(struct zy *z)
{
	struct proc_status st;

	zy_close(z);
	if (z->proc.pid > 0)
		CHECK_INT(proc_wait(&z->proc, &st, ERR_DISCARD), 0);
	zygote_client_fini(&z->client);
	buf_fini(&z->text);
	buf_fini(&z->errs);
	free(z->msg);
	test_dir_fini(&z->dir);
	arena_free(z->mem);
}

void as_each_user(void (*fn)(struct zy *z))
{
	const uid_t users[] = { geteuid(), ORDINARY };
	struct probe p;
	struct err err = { 0 };
	struct zy z;

	CHECK_OK(probe_host(&p, &err));
	if (!p.userns)
		TEST_SKIP("this host makes no user namespaces");
	for (size_t i = 0; i < (geteuid() == 0 ? 2 : 1); i++) {
		zy_init(&z, users[i]);
		fn(&z);
		zy_fini(&z);
	}
}

void on_ground(void (*fn)(struct zy *z))
{
	const uid_t users[] = { geteuid() == 0 ? ORDINARY : geteuid(), 0 };
	struct zy z;

	if (landlock_abi() < PROBE_LANDLOCK_MIN)
		TEST_SKIP("profile hardened needs Landlock ABI 3");
	for (size_t i = 0; i < (geteuid() == 0 ? 2 : 1); i++) {
		zy_init(&z, users[0]);
		z.uid = users[i];
		z.spec.policy.profile = PROFILE_HARDENED;
		z.spec.policy.extra_protect_paths = z.spec.policy.hide_paths = (struct policy_list){ 0 };
		z.spec.git_dir = z.spec.common_dir = str_printf(z.mem, "%s/.git", z.ws).p;
		fn(&z);
		zy_fini(&z);
	}
}

/* The monitor's side must be read now and then, or the zygote waits for us. */
static void drain_monitor(struct zy *z)
{
	int flags = fcntl(z->monitor, F_GETFL);

	fcntl(z->monitor, F_SETFL, flags | O_NONBLOCK);
	while (chan_recv(z->monitor, z->msg, ERR_DISCARD) == 0)
		chan_msg_fini(z->msg);
	fcntl(z->monitor, F_SETFL, flags);
}

int zy_argv(struct zy *z, const struct zygote_call *call)
{
	struct err err = { 0 };

	buf_clear(&z->text);
	buf_clear(&z->errs);
	CHECK_OK(zygote_call(&z->client, call, &z->text, &z->errs, &z->answer, &err));
	drain_monitor(z);
	return (int)z->answer.code;
}

int zy_run(struct zy *z, enum job_class class, const char *line)
{
	const struct str argv[] = { STR("/bin/sh"), STR("-c"), str_from(line) };

	return zy_argv(z, &(struct zygote_call){ .class = class, .args = argv, .nargs = 3 });
}

struct str zy_out(const struct zy *z)
{
	return str_trim(buf_str(&z->text));
}

void zy_send_run(struct zy *z, uint32_t job, enum job_class class, const char *line)
{
	zy_send_run_in(z, job, class, "", line);
}

void zy_send_run_in(struct zy *z, uint32_t job, enum job_class class, const char *dir, const char *line)
{
	const struct str argv[] = { STR("/bin/sh"), STR("-c"), str_from(line) };
	auto_buf struct buf b = BUF_MAX(CHAN_BODY);
	struct err err = { 0 };

	pack_u32(&b, job);
	pack_u8(&b, (uint8_t)class);
	pack_u32(&b, 0);
	pack_str(&b, str_from(dir));
	pack_strs(&b, argv, 3);
	pack_strs(&b, NULL, 0);
	CHECK_OK(chan_send(z->asker, WIRE_RUN, buf_str(&b), NULL, 0, &err));
}

void zy_order(struct zy *z, enum wire_type type, uint32_t job)
{
	auto_buf struct buf b = BUF_MAX(8);
	struct err err = { 0 };

	if (type != WIRE_STOP_ALL)
		pack_u32(&b, job);
	CHECK_OK(chan_send(type == WIRE_KILL ? z->asker : z->monitor, type, buf_str(&b), NULL, 0, &err));
}

void zy_verdict(struct zy *z, uint32_t job, bool allowed, const char *reason)
{
	auto_buf struct buf b = BUF_MAX(256);
	struct err err = { 0 };

	pack_u32(&b, job);
	pack_u8(&b, allowed);
	pack_str(&b, str_from(reason));
	CHECK_OK(chan_send(z->monitor, WIRE_VERDICT, buf_str(&b), NULL, 0, &err));
}

static struct chan_msg *receive(struct zy *z, int fd, enum wire_link link, enum wire_dir dir)
{
	struct err err = { 0 };

	CHECK_OK(chan_recv(fd, z->msg, &err));
	CHECK_OK(wire_check(link, dir, z->msg->type, z->msg->body.n, z->msg->nfds, &err));
	chan_msg_fini(z->msg);
	return z->msg;
}

struct chan_msg *zy_from_asker_side(struct zy *z)
{
	return receive(z, z->asker, LINK_ZYGOTE_AGENT, WIRE_DOWN);
}

struct chan_msg *zy_from_monitor_side(struct zy *z)
{
	return receive(z, z->monitor, LINK_MONITOR_ZYGOTE, WIRE_UP);
}

struct zygote_answer zy_exit_of(struct zy *z, uint32_t job)
{
	struct zygote_answer a = { 0 };
	struct chan_msg *m;

	do
		m = zy_from_asker_side(z);
	while (m->type == WIRE_STARTED);
	struct unpack u = unpack_from(m->body);

	CHECK_INT(m->type, WIRE_EXIT);
	CHECK_INT(unpack_u32(&u), job);
	a.code = unpack_u32(&u);
	a.why = (enum job_end)unpack_u8(&u);
	a.wall_us = unpack_u64(&u);
	struct str note = unpack_str(&u);

	CHECK(unpack_done(&u));
	snprintf(a.note, sizeof(a.note), STR_FMT, STR_ARG(note));
	return a;
}
