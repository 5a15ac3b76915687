/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/sandbox/zygote_lib.h"

#include "fmt/pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void runs(struct zy *z)
{
	zy_start(z);
	CHECK_INT(zy_run(z, JOB_COMMAND, "pwd; echo $HOME; cat file; echo no >&2; exit 7"), 7);
	CHECK_INT(z->answer.why, JOB_EXITED);
	CHECK_STR(buf_str(&z->text), str_printf(z->mem, "%s\n" ZYGOTE_HOME "\nin\n", z->ws));
	CHECK_STR(buf_str(&z->errs), STR("no\n"));
	CHECK(z->answer.wall_us > 0);

	CHECK_INT(zy_run(z, JOB_COMMAND, "touch $HOME/x && echo made > made && kill -TERM $$"), 128 + SIGTERM);
	CHECK_INT(z->answer.why, JOB_SIGNALED);
	CHECK(file_is(z->dir.fd, "ws/made", STR("made\n")));

	/* /tmp is the run's, processes are the command's. */
	CHECK_INT(zy_run(z, JOB_COMMAND, "test -f $HOME/x && ls /proc | grep -c '^[0-9]'"), 0);
	const struct str cat[] = { STR("cat") };

	CHECK_INT(zy_argv(z, &(struct zygote_call){ .class = JOB_COMMAND, .args = cat, .nargs = 1 }), 0);
	CHECK_STR(zy_out(z), STR("")); /* no input is the end of file at once */
	CHECK_INT(zy_argv(z, &(struct zygote_call){ .class = JOB_COMMAND, .args = cat, .nargs = 1, .in = STR("text in") }), 0);
	CHECK_STR(zy_out(z), STR("text in"));

	const struct str none[] = { STR("no-such-program") };

	CHECK_INT(zy_argv(z, &(struct zygote_call){ .class = JOB_COMMAND, .args = none, .nargs = 1 }), 127);
	CHECK_INT(z->answer.why, JOB_UNRUNNABLE);
	CHECK_STR(str_from(z->answer.note), STR("no-such-program: No such file or directory"));
	zy_stop(z);
}

TEST(zygote_runs_commands_in_its_cell)
{
	as_each_user(runs);
}

static void confines(struct zy *z)
{
	static const struct {
		const char *why, *line;
		int code;
	} cases[] = {
		{ ".git can be read", "cat .git/config", 0 },
		{ ".git cannot be written", "echo x > .git/config", 2 },
		{ "nor added to", "touch .git/hooks/post-commit", 1 },
		{ "nor renamed", "mv .git git", 1 },
		{ "nor removed", "rm -rf .git", 1 },
		{ "outside cannot be read", "cat ../out/file", 1 },
		{ "nor written", "echo x > ../out/new", 2 },
		{ "a hidden file cannot be read", "cat secret/key", 1 },
		{ "nor found", "ls secret | grep .", 1 },
		{ "nor written beside", "touch secret/new", 1 },
		{ "/etc/shadow is not there", "cat /etc/shadow", 1 },
		{ "/usr cannot be written", "touch /usr/x", 1 },
		{ "no mount", "mount -t tmpfs x /mnt", 32 },
		{ "no other namespace", "unshare -U true", 1 },
		{ "no network", "exec 3<>/dev/tcp/1.1.1.1/80", 2 },
		{ "the workspace can be written", "mkdir d && echo x > d/f && rm -r d", 0 },
		{ "and executed", "printf '#!/bin/sh\\nexit 3' > x; chmod +x x; ./x", 3 },
	};

	zy_start(z);
	for (size_t i = 0; i < COUNT(cases); i++) {
		int code = zy_run(z, JOB_COMMAND, cases[i].line);

		if (code != cases[i].code)
			print_error("%s: %s: " STR_FMT "\n", cases[i].why, cases[i].line, STR_ARG(buf_str(&z->errs)));
		CHECK_INT(code, cases[i].code);
	}
	CHECK(file_is(z->dir.fd, "ws/.git/config", STR("[core]\n")));
	CHECK(file_is(z->dir.fd, "ws/secret/key", STR("hidden key\n")));
	CHECK(faccessat(z->dir.fd, "out/new", F_OK, 0) < 0);
	zy_stop(z);
}

TEST(zygote_commands_reach_the_workspace_and_nothing_else)
{
	as_each_user(confines);
}

static void asks(struct zy *z)
{
	struct zygote_answer a;
	struct chan_msg *m;
	struct unpack u;
	size_t n;

	zy_start(z);
	zy_send_run(z, 1, JOB_VERIFY, "echo checked >> asked");
	m = zy_from_monitor_side(z);
	CHECK_INT(m->type, WIRE_APPROVE);
	u = unpack_from(m->body);
	CHECK_INT(unpack_u32(&u), 1);
	CHECK_INT(unpack_u8(&u), JOB_VERIFY);
	CHECK_STR(unpack_str(&u), STR("")); /* the workspace itself */
	const struct str *argv = unpack_strs(&u, z->mem, 10, &n);

	CHECK_INT(n, 3);
	CHECK_STR(argv[2], STR("echo checked >> asked"));
	CHECK(faccessat(z->dir.fd, "ws/asked", F_OK, 0) < 0);
	zy_verdict(z, 1, true, "");
	zy_verdict(z, 1, true, ""); /* a second yes starts nothing again */
	a = zy_exit_of(z, 1);
	CHECK_INT(a.why, JOB_EXITED);
	CHECK(file_is(z->dir.fd, "ws/asked", STR("checked\n")));
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_JOB_END);

	zy_send_run(z, 2, JOB_VERIFY, "echo denied > denied");
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_APPROVE);
	zy_verdict(z, 2, false, "the operator said no");
	a = zy_exit_of(z, 2);
	CHECK_INT(a.why, JOB_DENIED);
	CHECK_STR(str_from(a.note), STR("the operator said no"));
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_JOB_END);

	/* The operator sees its words and not its input. */
	const struct str cat[] = { STR("sh") };

	z->client.last_job = 2;
	zy_argv(z, &(struct zygote_call){ .class = JOB_VERIFY, .args = cat, .nargs = 1, .in = STR("echo unseen > denied\n") });
	CHECK_INT(z->answer.why, JOB_REFUSED);

	/* Taken back while it was asked about; the late yes meets nothing. */
	zy_send_run(z, 4, JOB_VERIFY, "echo late > denied");
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_APPROVE);
	zy_order(z, WIRE_KILL, 4);
	CHECK_INT(zy_exit_of(z, 4).why, JOB_STOPPED);
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_JOB_END);
	zy_verdict(z, 4, true, "");
	z->client.last_job = 4;
	CHECK_INT(zy_run(z, JOB_COMMAND, "true"), 0);
	CHECK(faccessat(z->dir.fd, "ws/denied", F_OK, 0) < 0);

	zy_send_run_in(z, 6, JOB_VERIFY, ".git/hooks", "test -f x");
	while ((m = zy_from_monitor_side(z))->type != WIRE_APPROVE)
		;
	u = unpack_from(m->body);
	CHECK(unpack_u32(&u) == 6 && unpack_u8(&u) == JOB_VERIFY);
	CHECK_STR(unpack_str(&u), STR(".git/hooks"));
	zy_verdict(z, 6, true, "");
	CHECK_INT(zy_exit_of(z, 6).code, 0);
	zy_stop(z);
}

TEST(zygote_starts_nothing_before_the_monitor_said_yes)
{
	as_each_user(asks);
}

/* flock(2), whose header has the name of one of ours. */
static long lock_file(int fd, int how)
{
	return syscall(SYS_flock, fd, how);
}

static void ends(struct zy *z)
{
	const struct str sleeper[] = { STR("/bin/sh"), STR("-c"), STR("echo begun; trap '' TERM; while :; do sleep 9; done") };
	autoclose int lock = -1;
	uint32_t first;

	z->spec.limits[0].timeout_ms = 300;
	zy_start(z);
	CHECK_INT(zy_argv(z, &(struct zygote_call){ .class = JOB_COMMAND, .args = sleeper, .nargs = 3 }), 124);
	CHECK_INT(z->answer.why, JOB_TIMEOUT);
	CHECK_STR(zy_out(z), STR("begun"));
	/* Who asks for more than the ceiling gets the ceiling. */
	CHECK_INT(zy_argv(z, &(struct zygote_call){ .class = JOB_COMMAND, .args = sleeper, .nargs = 3, .timeout_ms = 600000 }),
		124);
	zy_stop(z);

	z->spec.limits[0].timeout_ms = 0;
	z->client.last_job = 0;
	zygote_client_fini(&z->client);
	zy_start(z);
	CHECK_INT(zy_run(z, JOB_COMMAND, "sed -n 's/^Max processes *\\([0-9]*\\) .*/\\1/p' /proc/self/limits"), 0); /* of this cell's, whoever else the user's are */
	CHECK_STR(zy_out(z), STR("4096"));
	/* A daemon in a session of its own, holding the pipe and a lock, is gone when the call is. */
	test_write(&z->dir, "ws/lock", STR(""));
	CHECK_INT(chown(str_printf(z->mem, "%s/lock", z->ws).p, z->uid, z->uid), 0);
	CHECK_INT(zy_run(z, JOB_COMMAND, "setsid flock lock sh -c 'echo > locked; sleep 1000' & while ! [ -f locked ]; do :; done; "
					 "echo out"), 0);
	CHECK_STR(zy_out(z), STR("out"));
	lock = openat(z->dir.fd, "ws/lock", O_RDWR | O_CLOEXEC);
	CHECK_INT(lock_file(lock, LOCK_EX | LOCK_NB), 0);
	base_close_fd(&lock);

	first = z->client.last_job + 1;
	for (uint32_t i = 0; i < ZYGOTE_JOBS_MAX; i++)
		zy_send_run(z, first + i, JOB_COMMAND, "sleep 1000");
	zy_send_run(z, first + ZYGOTE_JOBS_MAX, JOB_COMMAND, "true");
	CHECK_INT(zy_exit_of(z, first + ZYGOTE_JOBS_MAX).why, JOB_REFUSED);
	zy_order(z, WIRE_KILL, first);
	CHECK_INT(zy_exit_of(z, first).why, JOB_STOPPED);
	zy_order(z, WIRE_KILL_JOB, first + 1);
	CHECK_INT(zy_exit_of(z, first + 1).why, JOB_STOPPED);
	zy_order(z, WIRE_STOP_ALL, 0);
	for (uint32_t i = 2; i < ZYGOTE_JOBS_MAX; i++)
		CHECK_INT(zy_from_asker_side(z)->type, WIRE_EXIT);
	z->client.last_job = first + ZYGOTE_JOBS_MAX;
	CHECK_INT(zy_run(z, JOB_COMMAND, "true"), 0);
	zy_stop(z);
}

/* What stays behind is bounded apart from the rest, and sees the network of the commands after it. */
static void backgrounds(struct zy *z)
{
	uint32_t first;

	z->spec.limits[0].timeout_ms = 300; /* a command's limit is not a background command's */
	z->spec.limits[z->spec.nlimits++] = (struct zygote_limit){ JOB_BACKGROUND, 0, false };
	zy_start(z);
	first = z->client.last_job + 1;
	for (uint32_t i = 0; i < ZYGOTE_BACKGROUND_MAX; i++)
		zy_send_run(z, first + i, JOB_BACKGROUND, "setsid sleep 1000 & exec sleep 1000");
	zy_send_run(z, first + ZYGOTE_BACKGROUND_MAX, JOB_BACKGROUND, "true");
	CHECK_INT(zy_exit_of(z, first + ZYGOTE_BACKGROUND_MAX).why, JOB_REFUSED);
	z->client.last_job = first + ZYGOTE_BACKGROUND_MAX;
	CHECK_INT(zy_run(z, JOB_COMMAND, "while :; do :; done"), 124);
	zy_order(z, WIRE_KILL, first);
	CHECK_INT(zy_exit_of(z, first).why, JOB_STOPPED);
	z->client.last_job++;
	zy_send_run(z, z->client.last_job, JOB_BACKGROUND, "exit 3"); /* its place is free again */
	CHECK_INT(zy_exit_of(z, z->client.last_job).code, 3);
	zy_stop(z);
}

TEST(zygote_keeps_background_jobs_apart_and_bounded)
{
	as_each_user(backgrounds);
}

TEST(zygote_ends_a_job_with_everything_it_started)
{
	as_each_user(ends);
}

static void floods(struct zy *z)
{
	struct err err = { 0 };

	zy_start(z);
	CHECK_INT(zy_run(z, JOB_COMMAND, "head -c 50000000 /dev/zero; head -c 3000000 /dev/zero >&2"), 0);
	CHECK_INT(z->text.n + z->answer.lost_out, 50000000);
	CHECK_INT(z->errs.n + z->answer.lost_err, 3000000);
	/* Nobody reads this one: it waits for its pipe, and the next is served all the same. */
	uint32_t job = z->client.last_job + 1;

	zy_send_run(z, job, JOB_COMMAND, "yes");
	CHECK_OK(chan_recv(z->asker, z->msg, &err));
	CHECK_INT(z->msg->type, WIRE_STARTED);
	autoclose int out = chan_take_fd(z->msg, 0);
	autoclose int errs = chan_take_fd(z->msg, 1);
	(void)out;
	(void)errs;

	z->client.last_job = job;
	CHECK_INT(zy_run(z, JOB_COMMAND, "echo served"), 0);
	CHECK_STR(zy_out(z), STR("served"));
	zy_stop(z);
}

TEST(zygote_is_not_held_up_by_output)
{
	as_each_user(floods);
}

/* What could block whoever reads it, or change meanwhile, is no input. */
static void refuses_input(struct zy *z)
{
	const struct str cat[] = { STR("cat") };
	struct err err = { 0 };
	int ends[2];

	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	autoclose int loose = memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const int given[] = { ends[0], loose };

	for (size_t i = 0; i < COUNT(given); i++) {
		auto_buf struct buf b = BUF_MAX(4096);
		uint32_t job = ++z->client.last_job;

		pack_u32(&b, job);
		pack_u8(&b, JOB_COMMAND);
		pack_u32(&b, 0);
		pack_str(&b, STR(""));
		pack_strs(&b, cat, 1);
		pack_strs(&b, NULL, 0);
		CHECK_OK(chan_send(z->asker, WIRE_RUN, buf_str(&b), &given[i], 1, &err));
		CHECK_INT(zy_exit_of(z, job).why, JOB_REFUSED);
	}
	close(ends[0]);
	close(ends[1]);
}

static void refuses(struct zy *z)
{
	const struct {
		const char *why;
		struct zygote_call call;
		const char *note;
	} cases[] = {
		{ "the agent's class", { .class = JOB_AGENT, .args = (struct str[]){ { "true", 4 } }, .nargs = 1 },
			"class 6 cannot be asked for here" },
		{ "a class without a limit", { .class = JOB_METRIC, .args = (struct str[]){ { "true", 4 } }, .nargs = 1 },
			"jobs of class 3 are not started here" },
		{ "git in a command cell", { .class = JOB_GIT, .op = 1 }, "git does not run in this cell" },
		{ "no words", { .class = JOB_COMMAND }, "a command needs at least one word" },
		{ "words for the index worker", { .class = JOB_INDEX, .args = (struct str[]){ { "x", 1 } }, .nargs = 1 },
			"the index worker takes no words" },
		{ "the index worker without a program", { .class = JOB_INDEX }, "this zygote has no agent6-index to run" },
		{ "a directory above", { .class = JOB_COMMAND, .args = (struct str[]){ { "true", 4 } }, .nargs = 1,
			.cwd = { "d/../..", 7 } }, NULL },
		{ "a directory elsewhere", { .class = JOB_COMMAND, .args = (struct str[]){ { "true", 4 } }, .nargs = 1,
			.cwd = { "/etc", 4 } }, NULL },
		{ "a NUL in a word", { .class = JOB_COMMAND, .args = (struct str[]){ { "true\0x", 6 } }, .nargs = 1 },
			"word 1 holds a NUL byte" },
		{ "a variable that chooses programs", { .class = JOB_COMMAND, .args = (struct str[]){ { "true", 4 } },
			.nargs = 1, .env = (struct str[]){ { "PATH=/x", 7 } }, .nenv = 1 },
			"the variable \"PATH\" may not be set" },
	};

	zy_start(z);
	for (size_t i = 0; i < COUNT(cases); i++) {
		zy_argv(z, &cases[i].call);
		if (z->answer.why != JOB_REFUSED)
			print_error("%s\n", cases[i].why);
		CHECK_INT(z->answer.why, JOB_REFUSED);
		if (cases[i].note)
			CHECK_STR(str_from(z->answer.note), str_from(cases[i].note));
	}
	refuses_input(z);
	const struct str argv[] = { STR("/bin/sh"), STR("-c"), STR("pwd; echo $TERM") }, env[] = { STR("TERM=dumb") };

	CHECK_INT(zy_run(z, JOB_COMMAND, "mkdir -p d/e"), 0);
	CHECK_INT(zy_argv(z, &(struct zygote_call){ .class = JOB_COMMAND, .args = argv, .nargs = 3, .cwd = STR("d/e"), .env = env,
				      .nenv = 1 }), 0);
	CHECK_STR(buf_str(&z->text), str_printf(z->mem, "%s/d/e\ndumb\n", z->ws));
	CHECK_INT(zy_argv(z, &(struct zygote_call){ .class = JOB_COMMAND, .args = argv, .nargs = 3, .cwd = str_from(z->ws) }), 0);
	zy_stop(z);
}

TEST(zygote_refuses_what_is_not_in_the_ceiling_and_goes_on)
{
	as_each_user(refuses);
}

/* Sends something that breaks a rule; the zygote ends, and with it the job that ran. */
static void breaks(struct zy *z)
{
	enum { UNKNOWN_TYPE, USED_NUMBER, MANGLED, CUT, EXTRA_FD, WRONG_DIRECTION, WAYS };
	struct err err = { 0 };

	for (int way = 0; way < WAYS; way++) {
		zy_start(z);
		zy_send_run(z, 5, JOB_COMMAND, "sleep 1000");
		CHECK_INT(zy_from_asker_side(z)->type, WIRE_STARTED);
		if (way == UNKNOWN_TYPE)
			CHECK_OK(chan_send(z->asker, 999, STR(""), NULL, 0, &err));
		if (way == USED_NUMBER)
			zy_send_run(z, 5, JOB_COMMAND, "echo again");
		if (way == MANGLED)
			CHECK_OK(chan_send(z->asker, WIRE_RUN, STR("\xff\xff"), NULL, 0, &err));
		if (way == CUT) /* a number that would do, and nothing behind it */
			CHECK_OK(chan_send(z->asker, WIRE_RUN, STR("\6\0\0\0"), NULL, 0, &err));
		if (way == EXTRA_FD)
			CHECK_OK(chan_send(z->asker, WIRE_KILL, STR("\5\0\0\0"), (int[]){ 0 }, 1, &err));
		if (way == WRONG_DIRECTION)
			CHECK_OK(chan_send(z->asker, WIRE_VERDICT, STR("\5\0\0\0\1\0\0\0\0"), NULL, 0, &err));
		CHECK_INT(chan_recv(z->asker, z->msg, &err), -ERR_CLOSED);
		CHECK_INT(chan_recv(z->monitor, z->msg, &err), -ERR_CLOSED);
		zy_stop(z);
		zygote_client_fini(&z->client);
	}
}

TEST(zygote_drops_an_asker_that_breaks_a_rule)
{
	as_each_user(breaks);
}

/* A shell plays the agent: its words are builtins, since the agent executes nothing. */
static void starts_agent(struct zy *z)
{
	static const char *const script =
		"echo up >&3; echo x 2>/dev/null > .git/config && echo git >&3; "
		"read k 2>/dev/null < secret/key && echo secret >&3; read l < file; echo $l >&3; echo w > written; "
		"echo env${HOME-none} >&3; read w <&4; exit 9";
	const struct str argv[] = { STR("agent6"), STR("-c"), str_from(script) };
	auto_buf struct buf b = BUF_MAX(4096);
	struct err err = { 0 };
	struct chan_msg *m;
	char got[64];
	int up[2], others[2];

	z->program = "/bin/dash";
	zy_start(z);
	CHECK_OK(chan_pair(up, &err));
	CHECK_OK(chan_pair(others, &err));
	pack_strs(&b, argv, 3);
	const int fds[] = { up[1], others[1], others[1], others[1], others[1] };

	CHECK_OK(chan_send(z->monitor, WIRE_START_AGENT, buf_str(&b), fds, 5, &err));
	close(up[1]);
	close(others[1]);
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_AGENT_UP);
	static const char *const want[] = { "up\n", "in\n", "envnone\n" };

	for (size_t i = 0; i < COUNT(want); i++) {
		ssize_t n = recv(up[0], got, sizeof(got), 0);

		CHECK_STR(str_of(got, n > 0 ? (size_t)n : 0), str_from(want[i]));
	}
	CHECK(file_is(z->dir.fd, "ws/written", STR("w\n")));

	/* It ends when its own other channels do; the zygote says how, and ends too. */
	close(others[0]);
	m = zy_from_monitor_side(z);
	CHECK_INT(m->type, WIRE_AGENT_EXIT);
	struct unpack u = unpack_from(m->body);

	CHECK_INT(unpack_u32(&u), 9);
	CHECK_INT(unpack_u32(&u), 0);
	CHECK_INT(chan_recv(z->monitor, z->msg, &err), -ERR_CLOSED);
	close(up[0]);
	zy_stop(z);
}

TEST(zygote_starts_the_agent_as_a_jail_and_says_how_it_ended)
{
	as_each_user(starts_agent);
}

/* A process that plays the monitor, is killed, and takes everything along. */
static void dies_with_monitor(struct zy *z)
{
	autoclose int lock = -1;
	int ready[2];
	char c;

	test_write(&z->dir, "ws/lock", STR(""));
	CHECK_INT(chown(str_printf(z->mem, "%s/lock", z->ws).p, z->uid, z->uid), 0);
	CHECK_INT(pipe2(ready, O_CLOEXEC), 0);
	pid_t monitor = fork();

	if (monitor == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		zy_start(z);
		zy_send_run(z, 1, JOB_COMMAND, "setsid flock lock sh -c 'echo > locked; sleep 1000' & sleep 1000");
		zy_from_asker_side(z);
		while (faccessat(z->dir.fd, "ws/locked", F_OK, 0) < 0)
			sched_yield();
		_exit(write(ready[1], "r", 1) == 1 ? pause() : 1);
	}
	close(ready[1]);
	CHECK_INT(read(ready[0], &c, 1), 1);
	close(ready[0]);
	lock = openat(z->dir.fd, "ws/lock", O_RDWR | O_CLOEXEC);
	CHECK(lock_file(lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
	kill(monitor, SIGKILL);
	CHECK_INT(waitpid(monitor, NULL, 0), monitor);
	CHECK_INT(lock_file(lock, LOCK_EX), 0); /* returns when the last holder is gone */
}

TEST(zygote_and_everything_in_it_die_with_the_monitor)
{
	as_each_user(dies_with_monitor);
}

static size_t count_dir(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	CHECK(d != NULL);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* The cell's first process is the only child of the process we started. */
static size_t open_files_of_cell(const struct zy *z)
{
	char path[128], children[64] = "";
	autoclose int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)z->proc.pid, (int)z->proc.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && read(fd, children, sizeof(children) - 1) > 0);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)strtol(children, NULL, 10));
	return count_dir(path);
}

static void leaks_nothing(struct zy *z)
{
	if (geteuid() != 0)
		return; /* not dumpable: only root may look into the zygote, and the tests run as root too */
	zy_start(z);
	for (int i = 0; i < 3; i++)
		CHECK_INT(zy_run(z, JOB_COMMAND, "true"), 0);
	size_t before = open_files_of_cell(z);

	for (int i = 0; i < 1000; i++) {
		const struct str argv[] = { i % 50 == 7 ? STR("no-such-program") : STR("/bin/true") };

		zy_argv(z, &(struct zygote_call){ .class = i % 50 == 9 ? JOB_AGENT : JOB_COMMAND, .args = argv, .nargs = 1,
				.in = i % 10 == 3 ? STR("x") : STR("") });
	}
	CHECK_INT(open_files_of_cell(z), before);
	zy_stop(z);
}

TEST(zygote_leaks_no_descriptor_in_1000_commands)
{
	as_each_user(leaks_nothing);
}

static void says_why_not(struct zy *z)
{
	struct chan_msg *m;
	struct unpack u;
	struct proc_status st;

	z->spec.policy.cwd = str_printf(z->mem, "%s/none", z->dir.path).p;
	m = zy_start_raw(z);
	CHECK_INT(m->type, WIRE_CELL_FAIL);
	u = unpack_from(m->body);
	struct str why = unpack_str(&u);

	CHECK(str_find(why, str_from(z->spec.policy.cwd)) < why.n);
	CHECK_INT(proc_wait(&z->proc, &st, ERR_DISCARD), 0);
	z->proc.pid = 0;
	CHECK_INT(st.code, 2);
}

TEST(zygote_says_why_its_cell_cannot_be_built)
{
	as_each_user(says_why_not);
}

static void unconfined(struct zy *z)
{
	z->spec.policy.profile = PROFILE_NONE;
	zy_start(z);
	CHECK_INT(zy_run(z, JOB_COMMAND, "cat ../out/file; exit 3"), 3);
	CHECK_STR(zy_out(z), STR("outside"));
	/* Not the fixed name, which on the host another user may have taken. */
	CHECK_INT(zy_run(z, JOB_COMMAND, "touch \"$HOME/x\" && stat -c %a \"$HOME\" && printf %s \"$HOME\""), 0);
	struct str home = zy_out(z), mode = str_line(&home);

	CHECK_STR(mode, STR("700\n"));
	CHECK(!str_eqz(home, ZYGOTE_HOME));
	const char *made = str_dup(z->mem, home).p;
	const struct str none[] = { STR("no-such-program") };

	CHECK_INT(zy_argv(z, &(struct zygote_call){ .class = JOB_COMMAND, .args = none, .nargs = 1 }), 127);
	CHECK_INT(z->answer.why, JOB_UNRUNNABLE);
	zy_send_run(z, z->client.last_job + 1, JOB_COMMAND, "sleep 1000");
	CHECK_INT(zy_from_asker_side(z)->type, WIRE_STARTED);
	zy_order(z, WIRE_KILL, z->client.last_job + 1);
	CHECK_INT(zy_exit_of(z, z->client.last_job + 1).why, JOB_STOPPED);
	zy_stop(z);
	CHECK(access(made, F_OK) < 0);
}

TEST(zygote_without_a_sandbox_serves_the_same_words)
{
	as_each_user(unconfined);
}

static void spec_odd_name(struct zygote_spec *s, struct arena *mem)
{
	(void)mem;
	s->run_id = "../../other";
}

static void spec_git_for_commands(struct zygote_spec *s, struct arena *mem)
{
	(void)mem;
	s->policy.git_cell = true;
}

static void spec_server_with_workspace(struct zygote_spec *s, struct arena *mem)
{
	(void)mem;
	s->kind = ZYGOTE_SERVER;
}

static void spec_without_git_dir(struct zygote_spec *s, struct arena *mem)
{
	(void)mem;
	s->kind = ZYGOTE_GIT;
	s->policy.git_cell = true;
}

static void spec_quarantine_outside(struct zygote_spec *s, struct arena *mem)
{
	policy_list_add(&s->no_git, mem, "/other");
}

static void spec_inner_outside(struct zygote_spec *s, struct arena *mem)
{
	policy_list_add(&s->inner_git, mem, "/wider/.git");
}

TEST(zygote_spec_refuses_what_does_not_fit_together)
{
	static const struct {
		const char *why;
		void (*change)(struct zygote_spec *s, struct arena *mem);
		const char *says;
	} cases[] = {
		{ "a name that leads elsewhere", spec_odd_name, "run_id must be" },
		{ "git where commands run", spec_git_for_commands, "kind and git_cell disagree" },
		{ "a workspace for a server", spec_server_with_workspace, "kind and bare disagree" },
		{ "no directory of git's for git", spec_without_git_dir, "must be absolute paths" },
		{ "a place outside that is set aside", spec_quarantine_outside, "is not in the workspace" },
		{ "a repository inside that lies elsewhere", spec_inner_outside, "is not in the workspace, nor granted" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf b = BUF_MAX(ZYGOTE_BYTES_MAX);
		struct zygote_spec s = { .kind = ZYGOTE_COMMAND, .git_dir = "", .common_dir = "", .run_id = "calm-fox-1", .git_config = "",
			.policy = { .profile = PROFILE_STRICT, .cwd = "/w", .root_as_uid = 64006 } }, got;
		struct err err = { 0 };

		CHECK_OK(zygote_spec_encode(&s, &b, &err));
		CHECK_OK(zygote_spec_decode(buf_str(&b), mem, &got, &err));
		cases[i].change(&s, mem);
		buf_clear(&b);
		CHECK_OK(zygote_spec_encode(&s, &b, &err));
		CHECK_INT(zygote_spec_decode(buf_str(&b), mem, &got, &err), -ERR_INVALID);
		if (!strstr(err.msg, cases[i].says))
			CHECK_STR(str_from(err.msg), str_from(cases[i].says));
	}
}

TEST(zygote_spec_survives_its_encoding)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf b = BUF_MAX(ZYGOTE_BYTES_MAX);
	struct zygote_spec s = { .kind = ZYGOTE_GIT, .git_dir = "/w/.git", .common_dir = "/c\"x", .run_id = "calm-fox-1",
		.git_config = "[core]\n\teol = \"lf\"\n", .may_merge = true, .nlimits = 2, .limits = { { JOB_GIT, 5000, false }, { JOB_VERIFY, 0, true } },
		.policy = { .profile = PROFILE_STRICT, .cwd = "/w", .git_cell = true, .root_as_uid = 64006,
			.memory_limit_mb = 77 } }, got;
	struct err err = { 0 };

	policy_list_add(&s.policy.env, mem, "A=b");
	CHECK_OK(zygote_spec_encode(&s, &b, &err));
	CHECK_OK(zygote_spec_decode(buf_str(&b), mem, &got, &err));
	CHECK_INT(got.kind, s.kind);
	CHECK_STR(str_from(got.common_dir), str_from(s.common_dir));
	CHECK_STR(str_from(got.run_id), str_from(s.run_id));
	CHECK_STR(str_from(got.git_config), str_from(s.git_config));
	CHECK(got.may_merge);
	CHECK_INT(got.nlimits, 2);
	CHECK_INT(got.limits[0].timeout_ms, 5000);
	CHECK(got.limits[1].ask);
	CHECK_INT(got.policy.memory_limit_mb, 77);
	CHECK_STR(str_from(got.policy.env.p[0]), STR("A=b"));
	for (size_t n = 0; n < b.n; n++) /* cut anywhere, it is refused */
		CHECK(zygote_spec_decode(str_head(buf_str(&b), n), mem, &got, &err) < 0 || n == b.n - 1);
	CHECK(zygote_spec_decode(STR("{\"kind\":\"command\",\"more\":1}\n{}"), mem, &got, &err) < 0);
}
