/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/spawner.h"

#include "fmt/pack.h"
#include "fmt/wire.h"
#include "sys/chan.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 300 /* a spawner that says nothing fails the test instead of hanging it */

/* The spawner is a process of its own; the test is the monitor, and the client that asks for tokens. */
struct bench {
	pid_t spawner;
	int monitor, client;
	struct chan_msg msg;
};

static void be_spawner(int chan)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (chan != 3 && dup2(chan, 3) < 0) /* where it looks for the monitor's channel */
		_exit(1);
	_exit(role_spawner_main());
}

static void start(struct bench *b, const struct endpoint_table *t)
{
	const struct timeval patience = { PATIENCE_S, 0 };
	struct err err = { 0 };
	int pair[2];

	CHECK_OK(chan_pair(pair, &err));
	b->spawner = fork();
	CHECK(b->spawner >= 0);
	if (b->spawner == 0)
		be_spawner(pair[1]);
	close(pair[1]);
	b->monitor = pair[0];
	CHECK_OK(spawner_tokens(b->monitor, t, &b->client, &err));
	CHECK(setsockopt(b->client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
}

static void finish(struct bench *b)
{
	int status;

	close(b->client);
	close(b->monitor);
	CHECK_INT(waitpid(b->spawner, &status, 0), b->spawner);
	CHECK_INT(status, 0);
}

/* Whether a token came; *text, which lives until the next one: the token, or why there is none. */
static bool token(struct bench *b, uint8_t endpoint, struct str *text)
{
	struct err err = { 0 };
	struct unpack u;

	CHECK_OK(chan_send(b->client, WIRE_TOKEN_WANTED, str_of((const char *)&endpoint, 1), NULL, 0, &err));
	CHECK_OK(chan_recv(b->client, &b->msg, &err));
	CHECK_OK(wire_check(LINK_CLIENT_SPAWNER, WIRE_DOWN, b->msg.type, b->msg.body.n, b->msg.nfds, &err));
	u = unpack_from(b->msg.body);
	CHECK_INT(unpack_u8(&u), endpoint);
	bool ok = unpack_u8(&u) == 1;

	*text = unpack_str(&u);
	CHECK(unpack_done(&u));
	return ok;
}

static struct endpoint of_command(const struct str *argv, size_t n)
{
	struct endpoint e;

	endpoint_init(&e);
	e.key_from = KEY_COMMAND;
	e.token_argv = argv;
	e.ntoken_argv = n;
	return e;
}

/* Every program is really run, and says so in a file: a byte each. All providers of a run count together, and so does
 * one that fails. */
TEST(spawner_runs_token_commands_1000_times_in_a_run_and_no_more)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf ran = BUF_MAX(4096);
	const struct str good[] = { STR("/bin/sh"), STR("-c"), STR("printf g >>\"$0\"; echo t"), str_printf(mem, "%s/ran", d.path) };
	const struct str bad[] = { STR("/bin/sh"), STR("-c"), STR("printf b >>\"$0\"; exit 7"), good[3] };
	struct endpoint p[] = { of_command(good, COUNT(good)), of_command(bad, COUNT(bad)) };
	struct bench b;
	struct str said;
	struct err err = { 0 };

	start(&b, &(struct endpoint_table){ .p = p, .n = COUNT(p) });
	for (int i = 0; i < 1000; i++) {
		bool wanted = i % 2 == 0;

		CHECK_INT(token(&b, wanted ? 0 : 1, &said), wanted);
		CHECK_STR(said, wanted ? STR("t") : STR("token_command ended with status 7; run it by hand to see why"));
		CHECK(!token(&b, 9, &said)); /* whom no command is for costs none */
	}
	for (int i = 0; i < 3; i++) {
		CHECK(!token(&b, (uint8_t)(i % 2), &said));
		CHECK_STR(said, STR("token_command ran 1000 times already"));
	}
	CHECK_OK(file_read(d.fd, "ran", &ran, &err));
	CHECK_INT(ran.n, 1000);
	finish(&b);
}
