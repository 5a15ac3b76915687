/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/pack.h"
#include "role/hooks.h"
#include "session/ending.h"
#include "sys/chan.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE_MS 300000

static struct str_list words(struct arena *mem, const char *a, const char *b, const char *c)
{
	const char *all[] = { a, b, c };
	struct str_list l = { arena_array(mem, COUNT(all), sizeof(struct str)), 0 };

	for (size_t i = 0; i < COUNT(all) && all[i]; i++)
		l.p[l.n++] = str_from(all[i]);
	return l;
}

/* Told over a channel, as the spawner is told. */
static struct hooks told(struct arena *mem, const struct hooks_spec *spec)
{
	auto_buf struct buf body = BUF_MAX(1 << 20);
	struct hooks h = { .mem = mem };
	struct chan_msg m;
	struct err err = { 0 };
	int pair[2];

	CHECK_OK(chan_pair(pair, &err));
	CHECK_OK(hooks_tell(pair[0], spec, &err));
	CHECK_OK(chan_recv(pair[1], &m, &err));
	CHECK_OK(wire_check(LINK_MONITOR_SPAWNER, WIRE_DOWN, m.type, m.body.n, m.nfds, &err));
	autoclose int table = chan_take_fd(&m, 0);
	CHECK_OK(memfd_read(table, &body, &err));
	chan_msg_fini(&m);
	CHECK_OK(hooks_take(&h, buf_str(&body), &err));
	close(pair[0]);
	close(pair[1]);
	return h;
}

static int wait_for(struct hooks *h, int kind, struct err *err)
{
	for (;;) {
		struct pollfd p = { h->running[kind].proc.pidfd, POLLIN, 0 };

		CHECK(poll(&p, 1, hooks_poll_ms(h)) >= 0);
		hooks_due(h);
		if (p.revents)
			return hooks_ended(&h->running[kind], h->spec.timeout_ms, err);
	}
}

TEST(hooks_say_how_a_session_ended_in_words_of_ours_alone)
{
	auto_arena struct arena *mem = arena_new();
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf said = BUF_MAX(65536);
	const char *out = str_printf(mem, "env | grep ^AGENT6_SESSION | sort > %s/said", dir.path).p;
	struct hooks h = told(mem, &(struct hooks_spec){ .on_complete = words(mem, "/bin/sh", "-c", out), .timeout_ms = 60000,
		.id = STR("calm-sea-ABC"), .mode = STR("run"), .dir = STR("/state/x") });
	struct err err = { 0 };

	/* Whatever an agent gives as a reason is a word of the table, or none. */
	CHECK_INT(hooks_start(&h, SPAWN_ENDED, hook_end_index(4, STR("x\nAGENT6_SESSION_OK=1")), &err), 1);
	CHECK_OK(wait_for(&h, HOOK_COMPLETE, &err));
	CHECK_OK(file_read(dir.fd, "said", &said, &err));
	CHECK_STR(buf_str(&said), STR("AGENT6_SESSION_DIR=/state/x\nAGENT6_SESSION_EVENT=end\nAGENT6_SESSION_EXIT=4\n"
				      "AGENT6_SESSION_ID=calm-sea-ABC\nAGENT6_SESSION_MODE=run\nAGENT6_SESSION_OK=0\n"
				      "AGENT6_SESSION_REASON=other\n"));
}

TEST(hooks_that_wait_know_for_what_and_are_not_called_twice_at_once)
{
	auto_arena struct arena *mem = arena_new();
	auto_dir struct test_dir dir = test_dir_new();
	auto_buf struct buf said = BUF_MAX(65536);
	const char *out = str_printf(mem, "echo $AGENT6_SESSION_EVENT $AGENT6_SESSION_EXIT >> %s/said; read x < %s/gate", dir.path, dir.path).p;
	struct hooks h = told(mem, &(struct hooks_spec){ .on_wait = words(mem, "/bin/sh", "-c", out), .timeout_ms = 60000 });
	struct err err = { 0 };

	test_write(&dir, "gate", STR(""));
	CHECK_INT(hooks_start(&h, SPAWN_ENDED, 0, &err), 0); /* nothing is configured for it */
	CHECK_INT(hooks_start(&h, SPAWN_APPROVAL, 0, &err), 1);
	CHECK_INT(hooks_start(&h, SPAWN_QUESTION, 0, &err), 0);
	CHECK(wait_for(&h, HOOK_WAIT, &err) < 0); /* read at the end of a file is 1 */
	CHECK_STR(str_from(err.msg), STR("it ended with status 1"));
	CHECK_INT(hooks_start(&h, SPAWN_QUESTION, 0, &err), 1);
	CHECK(wait_for(&h, HOOK_WAIT, &err) < 0);
	CHECK_OK(file_read(dir.fd, "said", &said, &err));
	CHECK_STR(buf_str(&said), STR("approval\nquestion\n"));
	for (h.waits = HOOK_WAITS_MOST - 1; hooks_start(&h, SPAWN_QUESTION, 0, &err) == 1;)
		CHECK(wait_for(&h, HOOK_WAIT, &err) < 0);
	CHECK_INT(h.waits, HOOK_WAITS_MOST + 1);
}

TEST(hooks_that_hang_die_with_what_they_started)
{
	auto_arena struct arena *mem = arena_new();
	auto_dir struct test_dir dir = test_dir_new();
	const char *fifo = str_printf(mem, "%s/pid", dir.path).p;
	const char *loop = str_printf(mem, "sleep 600 & echo $! > %s; wait", fifo).p;
	struct hooks h = told(mem, &(struct hooks_spec){ .on_complete = words(mem, "/bin/sh", "-c", loop), .timeout_ms = 60000 });
	auto_buf struct buf pid = BUF_MAX(64);
	struct err err = { 0 };
	int64_t n = 0;

	CHECK(mkfifo(fifo, 0600) == 0);
	CHECK_INT(hooks_start(&h, SPAWN_ENDED, 0, &err), 1);
	autoclose int from = open(fifo, O_RDONLY | O_CLOEXEC);
	CHECK_OK(file_read_fd(from, &pid, &err)); /* it has started what it starts */
	CHECK_OK(str_to_i64(str_trim(buf_str(&pid)), &n, &err));
	autoclose int child = (int)syscall(SYS_pidfd_open, (pid_t)n, 0);
	CHECK(child >= 0);
	CHECK(hooks_poll_ms(&h) > 0);
	h.running[HOOK_COMPLETE].until_ms = 0; /* its time is over */
	CHECK_INT(wait_for(&h, HOOK_COMPLETE, &err), -ERR_TIMEOUT);
	CHECK_STR(str_from(err.msg), STR("it did not end within 60 s and was killed"));
	struct pollfd p = { child, POLLIN, 0 };
	CHECK_INT(poll(&p, 1, PATIENCE_MS), 1);
}

TEST(hooks_that_cannot_be_started_say_why)
{
	auto_arena struct arena *mem = arena_new();
	struct hooks h = told(mem, &(struct hooks_spec){ .on_complete = words(mem, "/nonexistent/bell", NULL, NULL), .timeout_ms = 1000 });
	struct err err = { 0 };

	CHECK(hooks_start(&h, SPAWN_ENDED, 0, &err) < 0);
	CHECK(strstr(err.msg, "/nonexistent/bell") && strstr(err.msg, "No such file"));
	CHECK_INT(hooks_start(&h, SPAWN_GIT_IDENTITY, 0, &err), -ERR_PROTOCOL);
	CHECK_INT(hooks_take(&h, STR("x"), &err), -ERR_PROTOCOL); /* told once */
	struct hooks fresh = { .mem = mem };

	CHECK_INT(hooks_take(&fresh, STR("x"), &err), -ERR_PROTOCOL);
}

TEST(endings_are_numbers_and_words_and_strangers_are_other)
{
	for (int i = 1; ending_number(str_from(ending_word((uint8_t)i))) != 0; i++) {
		CHECK_INT(ending_number(str_from(ending_word((uint8_t)i))), i);
		CHECK(i < 255);
	}
	CHECK_STR(str_from(ending_word(0)), STR("other"));
	CHECK_STR(str_from(ending_word(255)), STR("other"));
	CHECK_INT(ending_number(STR("")), 0);
	CHECK_INT(ending_number(STR("finish_run\n")), 0);
}
