/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "sys/chan.h"
#include "sys/crash.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Deep enough for any stack; the compiler cannot tell. */
static volatile int depth_limit = 1 << 30;

__attribute__((noinline)) static int dig(int depth) /* NOLINT(misc-no-recursion): that is what it is for */
{
	volatile char room[4096];

	room[0] = (char)depth;
	return depth < depth_limit ? dig(depth + 1) + room[0] : room[0];
}

static void fault(int how)
{
	struct rlimit small = { 1 << 20, 1 << 20 };
	volatile int *volatile wild = (volatile int *)(uintptr_t)depth_limit; /* nothing is mapped there */

	switch (how) {
	case 0:
		*wild = 1;
		break;
	case 1:
		setrlimit(RLIMIT_STACK, &small);
		dig(0);
		break;
	case 2:
		abort();
	default:
		raise(SIGFPE);
	}
	_exit(0);
}

static const struct {
	const char *why;
	int how, signal;
	bool placed; /* in our own program */
} cases[] = {
	{ "a wild pointer", 0, SIGSEGV, true },
	{ "a stack that is full", 1, SIGSEGV, true },
	{ "a broken promise", 2, SIGABRT, false },
	{ "a signal that was sent", 3, SIGFPE, false },
};

static int die(int how, int chan, const struct crash_keep *keep)
{
	pid_t pid = fork();
	int st = 0;

	if (pid == 0) {
		struct rlimit none = { 0, 0 };
		int null = open("/dev/null", O_WRONLY);

		for (size_t i = 0; i < COUNT(cases); i++) /* whatever the test program made of it */
			signal(cases[i].signal, SIG_DFL);
		setrlimit(RLIMIT_CORE, &none);
		dup2(null, STDERR_FILENO);
		crash_watch(chan);
		if (keep)
			crash_keep(keep);
		fault(how);
	}
	CHECK(waitpid(pid, &st, 0) == pid);
	return WIFSIGNALED(st) ? WTERMSIG(st) : -WEXITSTATUS(st);
}

TEST(crash_tells_the_monitor_which_signal_and_where)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct chan_msg m;
		struct err err = { 0 };
		int pair[2];

		CHECK_OK(chan_pair(pair, &err));
		CHECK_INT(die(cases[i].how, pair[1], NULL), cases[i].signal);
		CHECK_OK(chan_recv(pair[0], &m, &err));
		CHECK_OK(wire_check(LINK_MONITOR_AGENT, WIRE_UP, m.type, m.body.n, m.nfds, &err));
		CHECK_INT(m.type, WIRE_CRASH);
		struct unpack u = unpack_from(m.body);
		CHECK_INT(unpack_u32(&u), cases[i].signal);
		CHECK((unpack_u64(&u) != 0) == cases[i].placed);
		CHECK(unpack_done(&u));
		chan_msg_fini(&m);
		close(pair[0]);
		close(pair[1]);
	}
}

TEST(crash_leaves_a_line_of_fixed_words_where_there_is_no_monitor)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf text = BUF_MAX(65536);
	struct err err = { 0 };
	int fd = openat(dir.fd, "crashes", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	const struct crash_keep keep = { fd, "monitor", "calm-sea-ABC" };

	CHECK_INT(die(0, -1, &keep), SIGSEGV);
	crash_note(&keep, "agent", &(struct crash){ SIGKILL, 0 });
	close(fd);
	CHECK_OK(file_read(dir.fd, "crashes", &text, &err));
	struct str rest = buf_str(&text);
	static const struct {
		const char *process, *name;
		int signal;
	} want[] = { { "monitor", "SIGSEGV", SIGSEGV }, { "agent", "SIGKILL", SIGKILL } };

	for (size_t i = 0; i < COUNT(want); i++) {
		auto_json json_t *j = NULL;

		CHECK_OK(json_decode(str_trim(str_line(&rest)), JSON_EXACT, &j, &err));
		CHECK_STR(json_get_str(j, "process"), str_from(want[i].process));
		CHECK_STR(json_get_str(j, "name"), str_from(want[i].name));
		CHECK_INT(json_get_int(j, "signal", 0), want[i].signal);
		CHECK_STR(json_get_str(j, "run_id"), STR("calm-sea-ABC"));
		CHECK_STR(json_get_str(j, "version"), STR(AGENT6_VERSION));
		CHECK(json_get_int(j, "time_s", 0) > 1700000000);
		CHECK((strcmp(json_get_str(j, "at").p, "0x0") == 0) == (i == 1));
	}
	CHECK_INT(rest.n, 0);
}

TEST(crash_leaves_signals_alone_that_somebody_else_handles)
{
	struct sigaction now;
	pid_t pid = fork();
	int st = 0;

	if (pid == 0) {
		signal(SIGSEGV, SIG_IGN);
		crash_watch(-1);
		_exit(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == SIG_IGN ? 0 : 1);
	}
	CHECK(waitpid(pid, &st, 0) == pid && st == 0);
}
