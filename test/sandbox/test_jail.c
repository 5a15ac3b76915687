/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/namespace.h"
#include "sandbox/landlock.h"
#include "test/sandbox/jailed.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

static bool said(const struct jailed *j, const char *what)
{
	return str_find(buf_str(&j->out), str_from(what)) < j->out.n;
}

TEST(jail_gives_back_status_and_output)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);

	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND, "echo out; echo err >&2; echo $SAID; exit 7");
	CHECK_STR(buf_str(&j.out), STR("out\nerr\nso\n"));
	CHECK_INT(j.code, 7);
	CHECK_INT(j.signal, 0);
}

TEST(jail_tells_a_signal_from_a_status)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);

	if (!jailed_possible())
		return;
	auto_jailed struct jailed killed = jailed_sh(&spec, JOB_COMMAND, "kill -SEGV $$");
	CHECK_INT(killed.code, 128 + SIGSEGV);
	CHECK_INT(killed.signal, SIGSEGV);
	auto_jailed struct jailed exited = jailed_sh(&spec, JOB_COMMAND, "exit 139");
	CHECK_INT(exited.code, 139);
	CHECK_INT(exited.signal, 0);
}

TEST(jail_says_why_a_command_cannot_be_executed)
{
	static const struct {
		const char *why, *argv0;
		int want;
	} cases[] = {
		{ "not on PATH", "no-such-program", ENOENT },
		{ "no such path", "/usr/bin/no-such-program", ENOENT },
		{ "a directory", "/usr", EACCES },
		{ "not executable", "/etc/passwd", EACCES },
		{ "here is no place to look for programs, whatever PATH says", "local", ENOENT },
	};
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);

	test_write(&ws, "local", STR("#!/bin/sh\n"));
	CHECK(fchmodat(ws.fd, "local", 0755, 0) == 0);
	if (!jailed_possible())
		return;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *const argv[] = { cases[i].argv0, NULL };
		auto_jailed struct jailed j = jailed_argv(&spec, JOB_COMMAND, argv);

		CHECK_INT(j.exec_errno, cases[i].want);
		CHECK_INT(j.out.n, 0);
	}
}

/* One line per attempt: "name yes" when it worked, "name no" when it did not. */
#define TRY_SH(name, cmd) "if (" cmd ") >/dev/null 2>&1; then echo " name " yes; else echo " name " no; fi\n"

static const char attempts[] =
	TRY_SH("write_ws", "echo x > f") TRY_SH("read_ws", "cat given") TRY_SH("exec_ws", "./tool")
	TRY_SH("write_tmp", "echo x > /tmp/f") TRY_SH("write_shm", "echo x > /dev/shm/f")
	TRY_SH("write_usr", "echo x > /usr/f") TRY_SH("write_etc", "echo x > /etc/f")
	TRY_SH("write_root", "mkdir /d") TRY_SH("read_proc", "cat /proc/self/status")
	TRY_SH("write_proc", "echo 0 > /proc/self/oom_score_adj") TRY_SH("list_root", "ls /")
	TRY_SH("read_mask", "test -s /proc/kallsyms || test -s /proc/keys")
	TRY_SH("userns", "unshare -U true") TRY_SH("mount", "mount -t tmpfs x /tmp")
	TRY_SH("suid", "chmod 4755 tool") TRY_SH("chmod", "chmod 700 tool")
	TRY_SH("tcp", "python3 -c 'import socket; socket.socket()'")
	TRY_SH("listen", "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen()'")
	TRY_SH("signal_stub", "kill -0 1 && kill -9 1 && sleep 0.01 && test ! -d /proc/1");

static void check_attempts(enum job_class class, const char *const *yes)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);
	char want[2048];
	size_t n = 0;

	test_write(&ws, "given", STR("here\n"));
	test_write(&ws, "tool", STR("#!/bin/sh\nexit 0\n"));
	CHECK(fchmodat(ws.fd, "tool", 0755, 0) == 0);
	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, class, attempts);
	CHECK_INT(j.code, 0);
	struct str rest = buf_str(&j.out);
	for (struct str line = str_line(&rest); line.n > 0; line = str_line(&rest)) {
		struct str name = str_cut(&line, ' ');
		bool may = false;

		for (size_t i = 0; yes[i]; i++)
			may |= str_eqz(name, yes[i]);
		n += (size_t)snprintf(want + n, sizeof(want) - n, STR_FMT " %s\n", STR_ARG(name), may ? "yes" : "no");
	}
	CHECK(n > 200);
	CHECK_STR(buf_str(&j.out), str_from(want));
}

TEST(jail_of_a_command_allows_work_and_nothing_else)
{
	static const char *const yes[] = { "write_ws", "read_ws", "exec_ws", "write_tmp", "write_shm", "read_proc",
		"list_root", "chmod", "tcp", "listen", NULL };

	check_attempts(JOB_COMMAND, yes);
}

TEST(jail_of_the_index_worker_reads_only)
{
	static const char *const yes[] = { "read_ws", NULL };

	check_attempts(JOB_INDEX, yes);
}

TEST(jail_of_the_agent_writes_the_workspace_and_executes_nothing_there)
{
	static const char *const yes[] = { "write_ws", "read_ws", "chmod", NULL };

	check_attempts(JOB_AGENT, yes);
}

/* A write grant below /tmp lies where Landlock lets every class write: its mount is narrowed there, as the workspace's is. */
TEST(jail_in_a_grant_does_what_its_class_may)
{
	static const struct {
		enum job_class class;
		const char *want;
	} cases[] = {
		{ JOB_COMMAND, "write yes\nexec yes\n" },
		{ JOB_INDEX, "write no\nexec no\n" },
		{ JOB_LANGUAGE, "write no\nexec no\n" },
		{ JOB_AGENT, "write yes\nexec no\n" },
	};
	auto_dir struct test_dir ws = test_dir_new();
	auto_dir struct test_dir grant = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct cell_spec spec = jailed_cell(&ws);

	test_write(&grant, "tool", STR("#!/bin/sh\n"));
	CHECK(fchmodat(grant.fd, "tool", 0755, 0) == 0);
	policy_list_add(&spec.root.rw_paths, mem, grant.path);
	if (!jailed_possible())
		return;
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_jailed struct jailed j = jailed_sh(&spec, cases[i].class,
			str_printf(mem, "cd %s\n" TRY_SH("write", "echo x > f") TRY_SH("exec", "./tool"), grant.path).p);

		CHECK_STR(buf_str(&j.out), str_from(cases[i].want));
	}
}

/* What leads to the grant in the cell's /tmp is the commands' to move. Root's grant is another user's there: it stays. */
TEST(jail_in_a_grant_that_a_command_moved_does_what_its_class_may)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_dir struct test_dir grant = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct cell_spec spec = jailed_cell(&ws);
	const char *path = str_printf(mem, "%s/in", grant.path).p;

	CHECK(mkdirat(grant.fd, "in", 0755) == 0);
	test_write(&grant, "in/tool", STR("#!/bin/sh\n"));
	CHECK(fchmodat(grant.fd, "in/tool", 0755, 0) == 0);
	policy_list_add(&spec.root.rw_paths, mem, path);
	if (!jailed_possible())
		return;
	const char *first = ns_is_real_root() ? "true" : str_printf(mem, "mv %s /tmp/moved && mkdir -p %s", grant.path, path).p;
	auto_jailed struct jailed j = jailed_after(&spec, first, JOB_LANGUAGE,
		str_printf(mem, "cd /tmp/moved/in 2>/dev/null || cd %s\n" TRY_SH("write", "echo x > f") TRY_SH("exec", "./tool")
			TRY_SH("beside", "cd /tmp && echo x > f"), path).p);

	CHECK_STR(buf_str(&j.out), STR("write no\nexec no\nbeside yes\n"));
}

TEST(jail_in_a_read_only_cell_writes_nothing)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);

	spec.root.workspace_ro = true;
	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND, TRY_SH("write", "echo x > f") TRY_SH("make", "mkdir d"));
	CHECK_STR(buf_str(&j.out), STR("write no\nmake no\n"));
}

/* The host's network has the host's abstract sockets in it, and only newer kernels keep them away by Landlock. */
TEST(jail_in_the_hosts_network_has_no_unix_socket_where_nothing_else_holds_it)
{
	static const struct {
		int abi;
		const char *want;
	} cases[] = { { LL_SCOPES_ABI, "unix yes\ntcp yes\n" }, { LL_SCOPES_ABI - 1, "unix no\ntcp yes\n" } };
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);

	spec.root.host_network = true;
	if (!jailed_possible())
		return;
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_jailed struct jailed j = jailed_under(&spec, cases[i].abi,
			TRY_SH("unix", "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'")
				TRY_SH("tcp", "python3 -c 'import socket; socket.socket()'"));

		CHECK_STR(buf_str(&j.out), str_from(cases[i].want));
	}
}

TEST(jail_of_git_executes_git_alone)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);
	const char *const git[] = { "git", "init", "-q", ".", NULL }, *const sh[] = { "/bin/sh", "-c", "true", NULL };

	if (!jailed_possible())
		return;
	auto_jailed struct jailed works = jailed_argv(&spec, JOB_GIT, git);
	CHECK_STR(buf_str(&works.out), STR(""));
	CHECK_INT(works.code, 0);
	auto_jailed struct jailed refused = jailed_argv(&spec, JOB_GIT, sh);
	CHECK_INT(refused.exec_errno, EACCES);
}

TEST(jail_takes_everything_along_when_its_command_ends)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);

	if (!jailed_possible())
		return;
	/* The pipe closes only when the last process that holds it is gone: this returns because they died. */
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND, "setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & exit 3");
	CHECK_INT(j.code, 3);
}

TEST(jail_shows_no_environment_and_no_descriptor_of_ours)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);

	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND,
		"ls /proc/self/fd | tr '\\n' ' '; cat /proc/1/environ 2>&1; ls /proc/1/fd 2>&1; env | sort");
	CHECK(said(&j, "0 1 2 3 ")); /* 3 is ls's own */
	CHECK(!said(&j, "4 "));
	CHECK(said(&j, "/proc/1/environ: Permission denied"));
	CHECK(said(&j, "'/proc/1/fd': Permission denied"));
	CHECK(!said(&j, "HOME="));
}

TEST(jail_is_refused_by_name_when_its_directory_is_gone)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);
	static char nowhere[256];

	snprintf(nowhere, sizeof(nowhere), "%s/nowhere", ws.path);
	spec.root.workspace = nowhere;
	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND, "true");
	CHECK_INT(j.code, -1);
	CHECK(strstr(j.err.msg, "workspace") && strstr(j.err.msg, "No such file"));
}

/* A command's own process, and the first one of its jail, which outlives what it becomes. */
TEST(jail_holds_each_of_its_processes)
{
	static const char script[] =
		"grep -E '^(SigBlk|SigIgn|Cap|NoNew|Seccomp:)' /proc/self/status; grep -E '^(Cap|NoNew)' /proc/1/status\n"
		"python3 -c 'import ctypes, os; print(\"securebits\", ctypes.CDLL(None).prctl(27), os.getsid(0) == os.getppid())'\n"
		"umask; ulimit -c; cat /proc/sys/user/max_user_namespaces";
#define NO_CAPS                                                                                                      \
	"CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n" \
	"CapAmb:\t0000000000000000\nNoNewPrivs:\t1\n"
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);

	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND, script);
	CHECK_STR(buf_str(&j.out), STR("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n" NO_CAPS "Seccomp:\t2\n" NO_CAPS
				       "securebits 207 True\n0022\n0\n0\n"));
}

/* The options of what was mounted last at path, each with its ','; "" where nothing is. */
static struct str mounted(struct str table, const char *path, struct arena *mem)
{
	struct str found = STR("");

	for (struct str rest = table; rest.n > 0;) {
		struct str line = str_line(&rest);

		for (int field = 0; field < 4; field++)
			str_cut(&line, ' ');
		struct str at = str_cut(&line, ' '), options = str_cut(&line, ' ');
		if (str_eqz(at, path))
			found = str_printf(mem, STR_FMT ",", STR_ARG(options));
	}
	return found;
}

/* Who reads /proc in a jail whose workspace is narrowed: a language server. */
TEST(jail_mounts_are_as_narrow_as_what_stands_in_them)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec plain = jailed_cell(&ws), git = plain, reading = plain;
	const struct {
		const char *why;
		const struct cell_spec *spec;
		enum job_class class;
		const char *path, *want;
	} cases[] = {
		{ "the root", &plain, JOB_COMMAND, "/", "ro,nosuid,nodev," },
		{ "a system directory", &plain, JOB_COMMAND, "/usr", "ro,nosuid,nodev," },
		{ "the workspace", &plain, JOB_COMMAND, ws.path, "rw,nosuid,nodev," },
		{ "git's", &git, JOB_COMMAND, ws.path, "rw,nosuid,nodev,noexec," },
		{ "of who asks", &reading, JOB_COMMAND, ws.path, "ro,nosuid,nodev," },
		{ "of who reads it", &plain, JOB_LANGUAGE, ws.path, "ro,nosuid,nodev,noexec," },
		{ "what is shared", &plain, JOB_COMMAND, "/tmp", "rw,nosuid,nodev," },
		{ "memory that is shared", &plain, JOB_COMMAND, "/dev/shm", "rw,nosuid,nodev," },
		{ "a device", &plain, JOB_COMMAND, "/dev/null", "ro,nosuid,noexec," },
		{ "processes", &plain, JOB_COMMAND, "/proc", "ro,nosuid,nodev,noexec," },
	};
	auto_arena struct arena *mem = arena_new();

	git.root.workspace_noexec = true;
	reading.root.workspace_ro = true;
	if (!jailed_possible())
		return;
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_jailed struct jailed j = jailed_sh(cases[i].spec, cases[i].class, "exec cat /proc/self/mountinfo");
		struct str found = mounted(buf_str(&j.out), cases[i].path, mem); /* a jail's /proc lies over its cell's */

		if (!str_starts(found, str_from(cases[i].want)))
			CHECK_STR(str_printf(mem, "%s: " STR_FMT, cases[i].why, STR_ARG(found)), str_from(cases[i].want));
	}
}

/* Of every mount, whatever it is. */
TEST(jail_mounts_spread_nowhere_and_hold_so_much)
{
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);

	if (!jailed_possible())
		return;
	auto_jailed struct jailed j = jailed_sh(&spec, JOB_COMMAND,
		"grep -E ' (shared|master):' /proc/self/mountinfo; grep -v ' /dev/[a-z]* .* - devtmpfs' /proc/self/mountinfo | "
		"grep -vE ' [^ ]*nosuid,nodev' | grep -v ' /dev/'; grep -c ' /tmp .* - tmpfs .*size=1327104k,nr_inodes=524288' /proc/self/mountinfo\n"
		"for f in kallsyms keys key-users acpi bus irq fs scsi; do test ! -e /proc/$f || grep -q \" /proc/$f \" /proc/self/mountinfo || echo $f; done");
	CHECK_STR(buf_str(&j.out), STR("1\n"));
}
