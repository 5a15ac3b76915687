/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
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
		{ "an empty PATH word is not here", "local", ENOENT },
	};
	auto_dir struct test_dir ws = test_dir_new();
	struct cell_spec spec = jailed_cell(&ws);

	test_write(&ws, "local", STR("#!/bin/sh\n"));
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
