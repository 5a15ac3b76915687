/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Programs that stay: MCP servers in cells of their own, language servers in the command cell. */
#include "test/sandbox/zygote_lib.h"

#include "fmt/mcp.h"
#include "fmt/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

static struct zygote_server *add_server(struct zy *z, const char *line, bool composed, bool ask)
{
	struct zygote_server *s = &z->spec.servers[z->spec.nservers++];
	const char *const argv[] = { "/bin/sh", "-c", line };

	*s = (struct zygote_server){ .name = "srv", .composed = composed, .ask = ask };
	for (size_t i = 0; i < COUNT(argv); i++)
		policy_list_add(&s->argv, z->mem, argv[i]);
	return s;
}

static void as_server_cell(struct zy *z)
{
	z->spec.kind = ZYGOTE_SERVER;
	z->spec.policy.bare = true;
	z->spec.git_dir = z->spec.common_dir = "";
	z->spec.policy.extra_protect_paths = z->spec.policy.hide_paths = (struct policy_list){ 0 };
	z->spec.limits[0] = (struct zygote_limit){ JOB_MCP, 0, false };
	z->spec.nlimits = 1;
}

static void serve(struct zy *z, uint32_t job, uint8_t place)
{
	auto_buf struct buf b = BUF_MAX(16);
	struct err err = { 0 };

	pack_u32(&b, job);
	pack_u8(&b, place);
	CHECK_OK(chan_send(z->asker, WIRE_SERVE, buf_str(&b), NULL, 0, &err));
}

static void say(struct zy *z, uint32_t server, const struct mcp_say *words)
{
	auto_buf struct buf b = BUF_MAX(8192);
	autoclose int fd = -1;
	struct err err = { 0 };

	pack_u32(&b, words->id);
	pack_u32(&b, server);
	mcp_say_pack(words, &b);
	if (words->args.n > 0)
		CHECK_OK(memfd_seal("args", words->args, &fd, &err));
	CHECK_OK(chan_send(z->asker, WIRE_SAY, buf_str(&b), &fd, fd >= 0, &err));
}

static void call(struct zy *z, uint32_t server, uint32_t id, const char *tool, const char *args)
{
	say(z, server, &(struct mcp_say){ MCP_CALL, MCP_ERA_LEGACY, id, .text = str_from(tool), .args = str_from(args) });
}

struct started {
	int out, errs, in; /* in: -1 when there is none */
};

static struct started take_started(struct zy *z, uint32_t job)
{
	struct err err = { 0 };
	struct started s;

	CHECK_OK(chan_recv(z->asker, z->msg, &err));
	CHECK_INT(z->msg->type, WIRE_STARTED);
	struct unpack u = unpack_from(z->msg->body);
	CHECK_INT(unpack_u32(&u), job);
	s = (struct started){ chan_take_fd(z->msg, 0), chan_take_fd(z->msg, 1), chan_take_fd(z->msg, 2) };
	chan_msg_fini(z->msg);
	return s;
}

static void close_started(struct started *s)
{
	base_close_fd(&s->out);
	base_close_fd(&s->errs);
	base_close_fd(&s->in);
}

/* Waits for a whole line. */
static struct str read_line(struct zy *z, int fd)
{
	auto_buf struct buf b = BUF_MAX(1 << 20);
	struct err err = { 0 };

	for (char c; read(fd, &c, 1) == 1 && c != '\n';)
		CHECK_OK(buf_addc(&b, c, &err));
	return str_dup(z->mem, buf_str(&b));
}

static void composed(struct zy *z)
{
	struct started s;

	as_server_cell(z);
	policy_list_add(&add_server(z, "while read -r l; do printf '%s\\n' \"$l\"; done; echo over", true, false)->tools, z->mem, "echo");
	zy_start(z);
	serve(z, 1, 0);
	s = take_started(z, 1);
	CHECK_INT(s.in, -1); /* no way to it but words that were composed */
	call(z, 1, 2, "echo", "{ \"a\" : 1 }");
	CHECK_INT(zy_exit_of(z, 2).why, JOB_EXITED);
	CHECK_STR(read_line(z, s.out), STR("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
					   "\"arguments\":{\"a\":1},\"_meta\":{\"progressToken\":2}}}"));

	/* What breaks a rule reaches nobody. */
	call(z, 1, 3, "echo", "{}\n{\"jsonrpc\":\"2.0\"}");
	struct zygote_answer a = zy_exit_of(z, 3);

	CHECK_INT(a.why, JOB_REFUSED);
	CHECK_STR(str_from(a.note), STR("the arguments: byte 3: more than one JSON object"));
	call(z, 9, 4, "echo", "{}");
	CHECK_INT(zy_exit_of(z, 4).why, JOB_LOST); /* no such server */
	call(z, 1, 5, "echo2", "{}");
	a = zy_exit_of(z, 5);
	CHECK_INT(a.why, JOB_REFUSED);
	CHECK_STR(str_from(a.note), STR("mcp.srv.tools does not name this tool"));
	serve(z, 6, 0);
	CHECK_STR(str_from(zy_exit_of(z, 6).note), STR("this server runs already"));
	serve(z, 7, 1);
	CHECK_STR(str_from(zy_exit_of(z, 7).note), STR("this cell has no server 1"));
	zy_send_run(z, 8, JOB_COMMAND, "true");
	CHECK_INT(zy_exit_of(z, 8).why, JOB_REFUSED); /* nothing else runs in its cell */

	/* Killed, it can be started anew. */
	zy_order(z, WIRE_KILL, 1);
	CHECK_INT(zy_exit_of(z, 1).why, JOB_STOPPED);
	call(z, 1, 9, "echo", "{}");
	CHECK_INT(zy_exit_of(z, 9).why, JOB_LOST);
	close_started(&s);
	serve(z, 10, 0);
	s = take_started(z, 10);
	close_started(&s);
	zy_stop(z);
}

TEST(zygote_says_to_a_server_what_was_composed_and_nothing_else)
{
	as_each_user(composed);
	on_ground(composed);
}

/* A number that was used, of the server itself, of what was said to it, or below both, ends the asker and with it the cell. */
static void repeated(struct zy *z)
{
	struct err err = { 0 };

	as_server_cell(z);
	add_server(z, "while read -r l; do :; done", true, false);
	for (uint32_t id = 4; id <= 6; id++) {
		zy_start(z);
		serve(z, 5, 0);
		struct started s = take_started(z, 5);

		call(z, 5, 6, "t", "{}");
		CHECK_INT(zy_exit_of(z, 6).why, JOB_EXITED);
		call(z, 5, id, "t", "{}");
		CHECK_INT(chan_recv(z->asker, z->msg, &err), -ERR_CLOSED);
		close_started(&s);
		zy_stop(z);
		zygote_client_fini(&z->client);
	}
}

TEST(zygote_says_nothing_by_a_number_that_was_used)
{
	as_each_user(repeated);
}

static void asked(struct zy *z)
{
	struct started s;
	struct chan_msg *m;
	struct unpack u;

	as_server_cell(z);
	add_server(z, "while read -r l; do printf '%s\\n' \"$l\"; done", true, true);
	zy_start(z);
	serve(z, 1, 0);
	s = take_started(z, 1);
	say(z, 1, &(struct mcp_say){ MCP_LIST, MCP_ERA_LEGACY, 2 }); /* nothing that needs to be allowed */
	CHECK_INT(zy_exit_of(z, 2).why, JOB_EXITED);
	CHECK(str_find(read_line(z, s.out), STR("tools/list")) > 0);

	call(z, 1, 3, "write it", "{ \"path\": \"x\" }");
	m = zy_from_monitor_side(z);
	CHECK_INT(m->type, WIRE_APPROVE_CALL);
	u = unpack_from(m->body);
	CHECK_INT(unpack_u32(&u), 3);
	CHECK_STR(unpack_str(&u), STR("write it"));
	CHECK_STR(unpack_str(&u), STR("{\"path\":\"x\"}")); /* as it will be sent */
	struct pollfd p = { s.out, POLLIN, 0 };

	CHECK_INT(poll(&p, 1, 50), 0); /* nothing was said yet */
	zy_verdict(z, 3, true, "");
	CHECK_INT(zy_exit_of(z, 3).why, JOB_EXITED);
	CHECK(str_find(read_line(z, s.out), STR("\"id\":3")) > 0);
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_JOB_END);

	call(z, 1, 4, "t", "{}");
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_APPROVE_CALL);
	zy_verdict(z, 4, false, "the operator said no");
	struct zygote_answer a = zy_exit_of(z, 4);

	CHECK_INT(a.why, JOB_DENIED);
	CHECK_STR(str_from(a.note), STR("the operator said no"));
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_JOB_END);

	/* Taken back while it was asked about; the late yes meets nothing. */
	call(z, 1, 5, "t", "{}");
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_APPROVE_CALL);
	zy_order(z, WIRE_KILL, 5);
	CHECK_INT(zy_exit_of(z, 5).why, JOB_STOPPED);
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_JOB_END);
	zy_verdict(z, 5, true, "");
	say(z, 1, &(struct mcp_say){ MCP_LIST, MCP_ERA_LEGACY, 6 });
	CHECK_INT(zy_exit_of(z, 6).why, JOB_EXITED);
	CHECK(str_find(read_line(z, s.out), STR("\"id\":6")) > 0);
	close_started(&s);
	zy_stop(z);
}

TEST(zygote_asks_before_a_server_is_called)
{
	as_each_user(asked);
}

static void confined(struct zy *z)
{
	static const char script[] = "for p in %s/file /etc/shadow %s/file; do cat $p >/dev/null 2>&1 && echo read $p; done;"
				     "(exec 3<>/dev/tcp/127.0.0.1/9) 2>/dev/null && echo net;"
				     "echo x > $HOME/x && cat $HOME/x; pwd | grep -c agent6; echo x > %s/new; cat %s/granted;"
				     "echo $NAME; read l";
	struct started s;
	struct zygote_server *v;
	const char *grant = str_printf(z->mem, "%s/out", z->dir.path).p;

	as_server_cell(z);
	test_write(&z->dir, "out/granted", STR("given\n"));
	policy_list_add(&z->spec.policy.extra_ro_paths, z->mem, grant);
	v = add_server(z, str_printf(z->mem, script, z->ws, z->dir.path, grant, grant).p, true, false);
	policy_list_add(&v->env, z->mem, "NAME=of the server");
	zy_start(z);
	serve(z, 1, 0);
	s = take_started(z, 1);
	CHECK_STR(read_line(z, s.out), STR("x")); /* neither the workspace nor a file beside it nor the network */
	CHECK_STR(read_line(z, s.out), STR("1"));
	CHECK_STR(read_line(z, s.out), STR("given"));
	CHECK_STR(read_line(z, s.out), STR("of the server"));
	CHECK(faccessat(z->dir.fd, "out/new", F_OK, 0) < 0);
	close_started(&s);
	zy_stop(z);
}

TEST(zygote_shows_a_server_what_was_granted_to_it_and_nothing_of_the_workspace)
{
	as_each_user(confined);
	on_ground(confined);
}

static void deaf(struct zy *z)
{
	struct started s;
	struct err err = { 0 };
	auto_buf struct buf big = BUF_MAX(1 << 20);
	enum job_end why;
	uint32_t id = 1;

	as_server_cell(z);
	add_server(z, "sleep 1000", true, false);
	zy_start(z);
	serve(z, id++, 0);
	s = take_started(z, 1);
	CHECK_OK(buf_addz(&big, "{\"a\":\"", &err));
	while (big.n < 500000)
		CHECK_OK(buf_addz(&big, "0123456789", &err));
	CHECK_OK(buf_addz(&big, "\"}", &err));
	do { /* it never reads: what waits for it is bounded */
		call(z, 1, id, "t", big.p);
		why = zy_exit_of(z, id++).why;
	} while (why == JOB_EXITED && id < 20);
	CHECK_INT(why, JOB_LOST);
	CHECK(id < 8);
	close_started(&s);
	zy_stop(z); /* and it does not hold up the end */
}

TEST(zygote_keeps_little_for_a_server_that_does_not_read)
{
	as_each_user(deaf);
}

static void hangs_up(struct zy *z)
{
	struct started s;

	as_server_cell(z);
	policy_list_add(&z->spec.policy.extra_rw_paths, z->mem, z->out);
	add_server(z, str_printf(z->mem, "while read -r l; do :; done; echo kept > %s/kept", z->out).p, true, false);
	zy_start(z);
	serve(z, 1, 0);
	s = take_started(z, 1);
	close(z->asker); /* the run is over: it hears so, and may finish */
	z->asker = -1;
	while (read(s.out, &(char){ 0 }, 1) > 0)
		;
	CHECK_INT(zy_from_monitor_side(z)->type, WIRE_JOB_END);
	close_started(&s);
	zy_stop(z);
	CHECK(file_is(z->dir.fd, "out/kept", STR("kept\n")));
}

TEST(zygote_lets_a_server_end_by_itself_when_the_run_is_over)
{
	as_each_user(hangs_up);
}

static void language(struct zy *z)
{
	struct started s;

	z->spec.limits[z->spec.nlimits++] = (struct zygote_limit){ JOB_LANGUAGE, 0, false };
	add_server(z, "cat file; echo x > new; read -r l; echo got $l", false, false);
	zy_start(z);
	serve(z, 1, 0);
	s = take_started(z, 1);
	CHECK_STR(read_line(z, s.out), STR("in"));
	CHECK(s.in >= 0); /* spoken to directly */
	CHECK_INT(write(s.in, "hello\n", 6), 6);
	CHECK_STR(read_line(z, s.out), STR("got hello"));
	CHECK_INT(zy_exit_of(z, 1).why, JOB_EXITED);
	CHECK(faccessat(z->dir.fd, "ws/new", F_OK, 0) < 0); /* the workspace is read-only for it */
	say(z, 1, &(struct mcp_say){ MCP_LIST, MCP_ERA_LEGACY, 2 });
	CHECK_INT(zy_exit_of(z, 2).why, JOB_LOST);
	close_started(&s);
	zy_stop(z);
}

TEST(zygote_gives_the_way_to_a_language_server_that_cannot_write)
{
	as_each_user(language);
	on_ground(language);
}
