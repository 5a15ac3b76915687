/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/time.h"
#include "sandbox/landlock.h"
#include "sandbox/once.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static struct sandbox_policy hardened(const struct test_dir *ws, struct arena *mem, const char *script)
{
	struct sandbox_policy p = { .profile = PROFILE_HARDENED, .cwd = ws->path, .timeout_ms = 120000 };

	policy_list_add(&p.argv, mem, "/bin/sh");
	policy_list_add(&p.argv, mem, "-c");
	policy_list_add(&p.argv, mem, script);
	policy_list_add(&p.env, mem, "PATH=/usr/bin:/bin");
	return p;
}

static bool possible(void)
{
	if (landlock_abi() >= 3)
		return true;
	test_skip("profile hardened needs Landlock ABI 3", __FILE__, __LINE__);
	return false;
}

/* What the script printed, compared. */
static void check_says(const struct sandbox_policy *p, const char *want)
{
	auto_once struct once_result r = { 0 };
	auto_buf struct buf out = BUF_MAX(1 << 20);
	struct err err = { 0 };

	CHECK_OK(once_run(p, &r, &err));
	CHECK_OK(capture_add(&r.out, &out, &err));
	CHECK_STR(buf_str(&out), str_from(want));
}

#define TRY_SH(name, cmd) "if (" cmd ") >/dev/null 2>&1; then echo " name " yes; else echo " name " no; fi\n"

TEST(guard_lets_a_command_work_in_its_workspace_only)
{
	static const char script[] = TRY_SH("write", "echo x > f") TRY_SH("exec", "./tool") TRY_SH("tmp", "echo x > $TMPDIR/f")
		TRY_SH("outside", "echo x > ../agent6-outside") TRY_SH("host_tmp", "echo x > /tmp/agent6-outside")
		TRY_SH("read", "cat $OTHER/file") TRY_SH("socket", "python3 -c 'import socket; socket.socket()'")
		TRY_SH("pair", "python3 -c 'import socket; socket.socketpair()'")
		TRY_SH("shm", "echo x > /dev/shm/agent6-outside") TRY_SH("signal", "kill -0 $PPID");
	auto_dir struct test_dir ws = test_dir_new();
	auto_dir struct test_dir other = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = hardened(&ws, mem, script);

	test_write(&other, "file", STR("x"));
	test_write(&ws, "tool", STR("#!/bin/sh\n"));
	CHECK(fchmodat(ws.fd, "tool", 0755, 0) == 0);
	policy_list_add(&p.env, mem, str_printf(mem, "OTHER=%s", other.path).p);
	if (!possible())
		return;
	check_says(&p, "write yes\nexec yes\ntmp yes\noutside no\nhost_tmp no\nread no\nsocket no\npair yes\nshm no\nsignal no\n");
}

TEST(guard_changes_metadata_beneath_the_workspace_only)
{
	static const char script[] =
		TRY_SH("mode", "chmod 700 f") TRY_SH("mode_deep", "chmod 600 d/f") TRY_SH("mode_abs", "chmod 640 $PWD/f")
		TRY_SH("time", "touch -t 200001010000 f") TRY_SH("now", "touch f") TRY_SH("link_time", "touch -h -t 200001010000 l")
		TRY_SH("xattr", "python3 -c 'import os; os.setxattr(\"f\", \"user.a\", b\"b\")'")
		TRY_SH("fd", "python3 -c 'import os; os.fchmod(os.open(\"f\", os.O_RDONLY), 0o711)'")
		TRY_SH("set_id", "chmod 4755 f") TRY_SH("owner", "chown 1 f")
		TRY_SH("out_mode", "chmod 777 $OTHER/f") TRY_SH("out_rel", "chmod 777 ../$NAME/f")
		TRY_SH("out_link", "chmod 777 l") TRY_SH("out_magic", "chmod 777 /proc/self/root/$OTHER/f")
		TRY_SH("out_time", "touch -c -t 200001010000 $OTHER/f") TRY_SH("missing", "chmod 700 nothing")
		TRY_SH("out_fd", "python3 -c 'import os,sys; os.fchmod(os.open(os.environ[\"RO\"] + \"/f\", os.O_RDONLY), 0o777)'")
		TRY_SH("in_magic", "chmod 700 /proc/self/root/$PWD/f")
		TRY_SH("too_long", "python3 -c 'import ctypes; exit(ctypes.CDLL(None).setxattr(b\"f\", b\"user.a\", b\"b\", ctypes.c_size_t(1 << 62), 0) != 0)'")
		TRY_SH("ro_read", "cat $RO/f");
	auto_dir struct test_dir ws = test_dir_new();
	auto_dir struct test_dir other = test_dir_new();
	auto_dir struct test_dir ro = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = hardened(&ws, mem, script);
	struct stat st;

	test_write(&ws, "f", STR("x"));
	test_write(&ws, "d/f", STR("x"));
	test_write(&other, "f", STR("x"));
	test_write(&ro, "f", STR("x"));
	CHECK(fchmodat(other.fd, "f", 0604, 0) == 0 && fchmodat(ro.fd, "f", 0604, 0) == 0);
	CHECK(symlinkat(str_printf(mem, "%s/f", other.path).p, ws.fd, "l") == 0);
	policy_list_add(&p.env, mem, str_printf(mem, "OTHER=%s", other.path).p);
	policy_list_add(&p.env, mem, str_printf(mem, "RO=%s", ro.path).p);
	policy_list_add(&p.env, mem, str_printf(mem, "NAME=%s", strrchr(other.path, '/') + 1).p);
	policy_list_add(&p.extra_ro_paths, mem, ro.path);
	if (!possible())
		return;
	check_says(&p, "mode yes\nmode_deep yes\nmode_abs yes\ntime yes\nnow yes\nlink_time yes\nxattr yes\nfd yes\nset_id no\n"
		       "owner no\nout_mode no\nout_rel no\nout_link no\nout_magic no\nout_time no\nmissing no\nout_fd no\n"
		       "in_magic no\ntoo_long no\nro_read yes\n");
	CHECK(fstatat(other.fd, "f", &st, 0) == 0 && (st.st_mode & 07777) == 0604);
	CHECK(fstatat(ro.fd, "f", &st, 0) == 0 && (st.st_mode & 07777) == 0604);
	CHECK(fstatat(ws.fd, "f", &st, 0) == 0 && (st.st_mode & 07777) == 0711);
	CHECK(fstatat(ws.fd, "l", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime < 1000000000);
}

TEST(guard_leaves_no_process_and_no_directory)
{
	static const struct {
		const char *why, *script;
		int64_t timeout_ms;
		int code;
	} cases[] = {
		{ "ends with a daemon behind it", "echo $TMPDIR > where; setsid sh -c 'exec 9>fifo; trap \"\" TERM HUP; sleep 1000' & exit 3", 120000, 3 },
		{ "does not end", "echo $TMPDIR > where; exec 9>fifo; trap '' TERM; setsid sleep 1000 & sleep 1000", 5000, 124 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir ws = test_dir_new();
		auto_arena struct arena *mem = arena_new();
		auto_once struct once_result r = { 0 };
		struct sandbox_policy p = hardened(&ws, mem, cases[i].script);
		auto_buf struct buf where = BUF_MAX(256);
		struct stat st;
		struct err err = { 0 };
		char byte;

		if (!possible())
			return;
		p.timeout_ms = cases[i].timeout_ms;
		CHECK(mkfifoat(ws.fd, "fifo", 0600) == 0);
		int fd = openat(ws.fd, "fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		CHECK_OK(once_run(&p, &r, &err));
		CHECK_INT(r.code, cases[i].code);
		CHECK_INT(read(fd, &byte, 1), 0); /* end of file: nobody holds the other end any more */
		close(fd);
		CHECK_OK(file_read(ws.fd, "where", &where, &err));
		buf_shrink(&where, where.n - 1);
		CHECK(str_starts(buf_str(&where), STR("/tmp/agent6-")));
		CHECK(lstat(where.p, &st) < 0 && errno == ENOENT);
	}
}

TEST(guard_outlives_the_launcher_and_cleans_up)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = hardened(&ws, mem, "setsid sh -c 'exec 9>fifo; sleep 1000' & sleep 1000");
	char path[256];

	if (!possible())
		return;
	snprintf(path, sizeof(path), "%s/fifo", ws.path);
	CHECK(mkfifoat(ws.fd, "fifo", 0600) == 0);
	pid_t launcher = fork();
	if (launcher == 0) {
		auto_once struct once_result r = { 0 };

		_exit(once_run(&p, &r, ERR_DISCARD) < 0);
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC); /* opens when the daemon has opened its end */
	CHECK(fd >= 0);
	CHECK(kill(launcher, SIGKILL) == 0 && waitpid(launcher, NULL, 0) == launcher);
	struct pollfd wait = { fd, POLLIN, 0 };
	CHECK_INT(poll(&wait, 1, 60000), 1);
	CHECK(wait.revents & POLLHUP);
	close(fd);
}

/* Nobody is left then to sweep: the command itself goes with it. */
TEST(guard_takes_its_command_along_when_it_is_killed)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = hardened(&ws, mem, "echo $PPID > guardian; exec 9>fifo; exec sleep 1000");
	auto_buf struct buf guardian = BUF_MAX(64);
	struct err err = { 0 };
	struct stat st;
	char path[32];
	int64_t pid;

	if (!possible())
		return;
	CHECK(mkfifoat(ws.fd, "fifo", 0600) == 0);
	pid_t launcher = fork();
	if (launcher == 0) {
		auto_once struct once_result r = { 0 };

		_exit(once_run(&p, &r, ERR_DISCARD) < 0);
	}
	autoclose int fd = openat(ws.fd, "fifo", O_RDONLY | O_CLOEXEC); /* opens when the command has opened its end */
	CHECK_OK(file_read(ws.fd, "guardian", &guardian, &err));
	CHECK_OK(str_to_i64(str_trim(buf_str(&guardian)), &pid, &err));
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	CHECK(stat(path, &st) == 0 && st.st_uid == 0); /* undumpable: nobody's to look into */
	CHECK(kill((pid_t)pid, SIGKILL) == 0);
	struct pollfd wait = { fd, POLLIN, 0 };
	CHECK_INT(poll(&wait, 1, 60000), 1);
	CHECK(wait.revents & POLLHUP);
	CHECK(waitpid(launcher, NULL, 0) == launcher);
}

/* What a command and its guardian hold: nothing of whoever started them, and no way back to it. */
TEST(guard_and_command_hold_nothing_they_were_not_given)
{
	static const char script[] =
		"grep -E '^(CapPrm|CapEff|NoNew|Seccomp:)' /proc/self/status; grep -E '^(CapPrm|CapEff|NoNew)' /proc/$PPID/status\n"
		"echo $((0x$(sed -n 's/^SigIgn:\t//p' /proc/$PPID/status) & 0x1000))\n" /* SIGPIPE: whoever started it may be gone */
		"[ $(id -u) != 0 ] || grep CapBnd /proc/$PPID/status\n" /* nobody else may empty it */
		"umask; ulimit -c; ls /proc/self/fd | wc -l; readlink /proc/$PPID/fd/0 || echo closed\n"
		"cat /etc/machine-id >/dev/null 2>&1 || echo not all of /etc; python3 -c 'import os; os.truncate(os.environ[\"RO\"] + \"/f\", 0)' 2>/dev/null"
		" || echo not cut";
#define HELD_AS_NOBODY "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n"
	auto_dir struct test_dir ws = test_dir_new();
	auto_dir struct test_dir ro = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = hardened(&ws, mem, script);
	int left = open("/dev/null", O_RDONLY); /* one that somebody forgot to mark */

	test_write(&ro, "f", STR("x"));
	policy_list_add(&p.extra_ro_paths, mem, ro.path);
	policy_list_add(&p.env, mem, str_printf(mem, "RO=%s", ro.path).p);
	if (!possible())
		return;
	check_says(&p, str_printf(mem, "%s%s%s", HELD_AS_NOBODY "Seccomp:\t2\n" HELD_AS_NOBODY "4096\n",
			geteuid() == 0 ? "CapBnd:\t0000000000000000\n" : "", "0022\n0\n4\nclosed\nnot all of /etc\nnot cut\n").p);
	CHECK(file_is(ro.fd, "f", STR("x")));
	close(left);
}

TEST(guard_refuses_what_landlock_cannot_say)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = hardened(&ws, mem, "true"), q = p;
	auto_once struct once_result r = { 0 };
	struct err err = { 0 };

	test_write(&ws, "secret/key", STR("x"));
	policy_list_add(&p.hide_paths, mem, str_printf(mem, "%s/secret", ws.path).p);
	CHECK_INT(once_run(&p, &r, &err), -ERR_UNSUPPORTED);
	CHECK(strstr(err.msg, "hide ") && strstr(err.hint, "strict"));
	policy_list_add(&q.extra_protect_paths, mem, str_printf(mem, "%s/secret", ws.path).p);
	CHECK_INT(once_run(&q, &r, &err), -ERR_UNSUPPORTED);
	CHECK(strstr(err.msg, "protect "));
}

/* What is not there either: a command could make it. What is granted around a place that is written is no such thing. */
TEST(guard_refuses_to_read_alone_what_lies_where_it_writes)
{
	static const struct {
		const char *ro, *rw;
		bool refused;
	} cases[] = {
		{ "ws/vendor", NULL, true }, { "ws/vendor/f", NULL, true }, { "ws/absent", NULL, true }, { "out/ro", "out", true },
		{ "out", NULL, false }, { "out", "out/rw", false }, { "wsx", NULL, false },
	};
	auto_dir struct test_dir top = test_dir_new();
	auto_arena struct arena *mem = arena_new();

	if (!possible())
		return;
	test_write(&top, "ws/vendor/f", STR("x"));
	test_write(&top, "wsx/f", STR("x"));
	test_write(&top, "out/ro/f", STR("x"));
	test_write(&top, "out/rw/f", STR("x"));
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct sandbox_policy p = hardened(&top, mem, "true");
		auto_once struct once_result r = { 0 };
		struct err err = { 0 };
		int got;

		p.cwd = str_printf(mem, "%s/ws", top.path).p;
		policy_list_add(&p.extra_ro_paths, mem, str_printf(mem, "%s/%s", top.path, cases[i].ro).p);
		if (cases[i].rw)
			policy_list_add(&p.extra_rw_paths, mem, str_printf(mem, "%s/%s", top.path, cases[i].rw).p);
		got = once_run(&p, &r, &err);
		CHECK_INT(got, cases[i].refused ? -ERR_UNSUPPORTED : 0);
		CHECK(!cases[i].refused || (strstr(err.msg, "read-only") && strstr(err.msg, cases[i].ro) && strstr(err.hint, "strict")));
	}
}
