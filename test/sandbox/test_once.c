/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/time.h"
#include "sandbox/namespace.h"
#include "sandbox/once.h"
#include "sys/file.h"
#include "test/sandbox/jailed.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct sandbox_policy policy(const struct test_dir *ws, struct arena *mem, const char *script)
{
	struct sandbox_policy p = { .profile = PROFILE_STRICT, .cwd = ws->path, .timeout_ms = 120000,
		.root_as_uid = POLICY_ROOT_UID };

	policy_list_add(&p.argv, mem, "/bin/sh");
	policy_list_add(&p.argv, mem, "-c");
	policy_list_add(&p.argv, mem, script);
	policy_list_add(&p.env, mem, "PATH=/usr/bin:/bin");
	return p;
}

static void check_result(const struct once_result *r, const char *want)
{
	auto_buf struct buf out = BUF_MAX(1 << 20);
	struct err err = { 0 };

	CHECK_OK(once_encode(r, &out, &err));
	CHECK_STR(buf_str(&out), str_from(want));
}

static void check_answer(const struct sandbox_policy *p, const char *want)
{
	auto_once struct once_result r = { 0 };
	struct err err = { 0 };

	CHECK_OK(once_run(p, &r, &err));
	check_result(&r, want);
}

TEST(once_answers_in_one_line)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();

	if (!jailed_possible())
		return;
	struct sandbox_policy p = policy(&ws, mem, "printf 'a\\377\\n'; echo b >&2; exit 3");
	check_answer(&p, "{\"returncode\":3,\"stdout\":\"a\xef\xbf\xbd\\n\",\"stderr\":\"b\\n\",\"exec_failed\":false,"
			 "\"timed_out\":false}\n");
	p = policy(&ws, mem, "kill -KILL $$");
	check_answer(&p, "{\"returncode\":137,\"stdout\":\"\",\"stderr\":\"\",\"exec_failed\":false,"
			 "\"timed_out\":false}\n");
}

/* What is granted there lies on top of what a cell has anyway. */
TEST(once_grants_in_etc_lie_on_what_every_cell_has_there)
{
	static const char *const granted[] = { "/etc/ssl", "/etc/passwd", "/etc/ld.so.conf.d", "/etc/login.defs",
		"/etc/services", "/etc/terminfo", "/etc/timezone" };
	static const char script[] = "cat /etc/passwd; test -e /etc/ssl/certs && test -e /etc/ld.so.cache && test -e /etc/group";
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf host = BUF_MAX(1 << 20);
	struct err err = { 0 };

	if (!jailed_possible())
		return;
	CHECK_OK(file_read(AT_FDCWD, "/etc/passwd", &host, &err));
	struct sandbox_policy p = policy(&ws, mem, script);
	for (size_t i = 0; i < COUNT(granted); i++)
		policy_list_add(&p.extra_ro_paths, mem, granted[i]);
	for (int i = 0; i < 5; i++) {
		auto_once struct once_result r = { 0 };

		CHECK_OK(once_run(&p, &r, &err));
		CHECK_STR(buf_str(&r.out.head), buf_str(&host));
		CHECK_INT(r.code, 0);
	}
}

TEST(once_tells_what_cannot_be_executed_from_what_fails)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = policy(&ws, mem, "");

	p.argv.p[0] = "no-such-program";
	if (!jailed_possible())
		return;
	check_answer(&p, "{\"returncode\":127,\"stdout\":\"\",\"stderr\":\"child execution failed: no-such-program: No such "
			 "file or directory\",\"exec_failed\":true,\"timed_out\":false}\n");
}

TEST(once_ends_a_command_that_takes_too_long)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = policy(&ws, mem, "trap '' TERM; echo started; setsid sleep 1000 & sleep 1000");

	if (!jailed_possible())
		return;
	for (p.timeout_ms = 3000;; p.timeout_ms *= 10) {
		auto_once struct once_result r = { 0 };
		struct err err = { 0 };

		CHECK_OK(once_run(&p, &r, &err));
		if (r.out.total == 0 && p.timeout_ms < 100000)
			continue; /* its time was over before it could say a word */
		check_result(&r, "{\"returncode\":124,\"stdout\":\"started\\n\",\"stderr\":\"\\n[agent6-jail] timeout\","
				 "\"exec_failed\":false,\"timed_out\":true}\n");
		break;
	}
}

TEST(once_does_not_wait_for_who_holds_the_pipe)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = policy(&ws, mem, "setsid sleep 1000 & echo done");
	int64_t start = time_mono_ms();

	if (!jailed_possible())
		return;
	check_answer(&p, "{\"returncode\":0,\"stdout\":\"done\\n\",\"stderr\":\"\",\"exec_failed\":false,"
			 "\"timed_out\":false}\n");
	CHECK(time_mono_ms() - start < 60000);
}

TEST(once_limits_memory)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = policy(&ws, mem, "ulimit -d; ulimit -c; umask");

	p.memory_limit_mb = 64;
	if (!jailed_possible())
		return;
	check_answer(&p, "{\"returncode\":0,\"stdout\":\"65536\\n0\\n0022\\n\",\"stderr\":\"\",\"exec_failed\":false,"
			 "\"timed_out\":false}\n");
}

/* There is no jail around it that mounts one of its own: it is the cell's, masked and for good. */
TEST(once_shows_processes_and_nothing_of_the_kernel)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = policy(&ws, mem,
		"awk '$5 == \"/proc\" { o = $6 } END { split(o, f, \",\"); print f[1], f[2], f[3], f[4] }' /proc/self/mountinfo\n"
		"for f in kallsyms keys key-users acpi bus irq fs scsi; do test ! -e /proc/$f || grep -q \" /proc/$f \" /proc/self/mountinfo || echo $f; done\n"
		"cat /proc/sys/user/max_user_namespaces; ls /proc/1/fd >/dev/null 2>&1 || echo closed; umount /proc 2>/dev/null || echo stays");

	if (!jailed_possible())
		return;
	check_answer(&p, "{\"returncode\":0,\"stdout\":\"ro nosuid nodev noexec\\n0\\nclosed\\nstays\\n\",\"stderr\":\"\",\"exec_failed\":false,"
			 "\"timed_out\":false}\n");
}

TEST(once_killed_takes_its_command_along)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = policy(&ws, mem, "echo x > started; setsid sh -c 'exec 9>fifo; sleep 1000' & sleep 1000");
	char path[256];

	if (!jailed_possible())
		return;
	snprintf(path, sizeof(path), "%s/fifo", ws.path);
	CHECK(mkfifoat(ws.fd, "fifo", 0666) == 0);
	CHECK(fchmodat(ws.fd, "fifo", 0666, 0) == 0);
	pid_t launcher = fork();
	if (launcher == 0) {
		auto_once struct once_result r = { 0 };

		_exit(once_run(&p, &r, ERR_DISCARD) < 0);
	}
	/* Opens when the daemon inside has opened the other end, and ends when the daemon is dead. */
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(kill(launcher, SIGKILL) == 0 && waitpid(launcher, NULL, 0) == launcher);
	struct pollfd wait = { fd, POLLIN, 0 };
	CHECK_INT(poll(&wait, 1, 60000), 1);
	CHECK(wait.revents & POLLHUP);
	close(fd);
}

static bool closed_within(int fd, int ms)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, ms) == 1 && (p.revents & POLLHUP);
}

TEST(namespace_is_held_until_it_is_released_and_no_longer)
{
	struct ns_held held = { -1, -1 };
	int ends[2];

	ns_release(&held);
	CHECK(pipe2(ends, O_CLOEXEC) == 0); /* what is held matters to nobody; the end of a pipe tells when it is let go */
	ns_hold(&ends[1], &held);
	CHECK(ends[1] == -1 && held.queue >= 0 && held.feed >= 0);
	CHECK(!closed_within(ends[0], 0));
	ns_release(&held);
	CHECK(held.queue == -1 && held.feed == -1);
	CHECK(closed_within(ends[0], 60000));
	close(ends[0]);
}

/* A file system is gone when nothing has it mounted any more, which whoever watches a file of it is told. */
static int watch_a_workspace_go(const struct test_dir *ws)
{
	auto_arena struct arena *mem = arena_new();
	auto_once struct once_result r = { 0 };
	struct sandbox_policy p = policy(ws, mem, "exit 0");
	struct inotify_event told = { 0 };
	bool root = ns_is_real_root();
	uid_t uid = geteuid();
	gid_t gid = getegid();
	struct err err = { 0 };

	if (unshare(CLONE_NEWNS | (root ? 0 : CLONE_NEWUSER)) < 0 || (!root && ns_map_self(uid, gid, &err) < 0) ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("tmpfs", ws->path, "tmpfs", 0, "mode=755") < 0)
		return 1;
	autoclose int watch = inotify_init1(IN_CLOEXEC);
	if (inotify_add_watch(watch, ws->path, IN_ATTRIB) < 0)
		return 2;
	if (once_run(&p, &r, &err) < 0 || r.code != 0)
		return 3;
	if (umount2(ws->path, 0) < 0)
		return 4;
	struct pollfd poll_for = { .fd = watch, .events = POLLIN };
	if (poll(&poll_for, 1, 60000) != 1 || read(watch, &told, sizeof(told)) != (ssize_t)sizeof(told))
		return 5;
	return told.mask & IN_UNMOUNT ? 0 : 6;
}

TEST(once_leaves_no_mount_of_the_workspace)
{
	auto_dir struct test_dir ws = test_dir_new();
	int st = 0;
	pid_t pid;

	if (!jailed_possible())
		return;
	pid = fork();
	if (pid == 0)
		_exit(watch_a_workspace_go(&ws));
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 0);
}

TEST(once_without_a_jail_runs_too)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p = policy(&ws, mem, "pwd >&2; exit 4");
	char want[512];

	p.profile = PROFILE_NONE;
	snprintf(want, sizeof(want),
		"{\"returncode\":4,\"stdout\":\"\",\"stderr\":\"%s\\n\",\"exec_failed\":false,\"timed_out\":false}\n", ws.path);
	check_answer(&p, want);
}

TEST(capture_keeps_head_and_tail_and_counts_the_rest)
{
	static const size_t sizes[] = { 0, 1, CAPTURE_HEAD, CAPTURE_HEAD + 1, CAPTURE_HEAD + CAPTURE_TAIL,
		CAPTURE_HEAD + CAPTURE_TAIL + 1, 3 * (CAPTURE_HEAD + CAPTURE_TAIL) + 7 };
	static const size_t steps[] = { 1 << 20, 4096, 1000 };

	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t k = 0; k < COUNT(steps); k++) {
			auto_capture struct capture c;
			auto_buf struct buf in = BUF_MAX(1 << 22);
			auto_buf struct buf out = BUF_MAX(1 << 20);
			auto_buf struct buf want = BUF_MAX(1 << 20);
			struct err err = { 0 };

			for (size_t n = 0; in.n < sizes[i]; n++)
				CHECK_OK(buf_addf(&in, &err, "%zu ", n));
			buf_shrink(&in, sizes[i]);
			capture_init(&c);
			for (struct str rest = buf_str(&in); rest.n > 0; rest = str_skip(rest, steps[k]))
				capture_feed(&c, str_head(rest, steps[k]));
			CHECK_OK(capture_add(&c, &out, &err));
			if (sizes[i] <= CAPTURE_HEAD + CAPTURE_TAIL) {
				CHECK(str_eq(buf_str(&out), buf_str(&in)));
				continue;
			}
			CHECK_OK(buf_add(&want, str_head(buf_str(&in), CAPTURE_HEAD), &err));
			CHECK_OK(buf_addf(&want, &err, "\n[%zu bytes are missing here]\n",
				sizes[i] - CAPTURE_HEAD - CAPTURE_TAIL));
			CHECK_OK(buf_add(&want, str_tail(buf_str(&in), CAPTURE_TAIL), &err));
			CHECK(str_eq(buf_str(&out), buf_str(&want)));
		}
}
