/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* An MCP server whose calls somebody would have to allow, and nobody can: every way to it that there is. */
#include "evil.h"

#include "fmt/mcp.h"
#include "fmt/pack.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 10000

/* The next message about this number; its descriptors in fds. */
static bool next(struct evil *e, uint32_t number, int fds[3], uint8_t *why, char note[512])
{
	struct err err = { 0 };

	for (;;) {
		struct pollfd p = { .fd = 3 + PEER_SERVER, .events = POLLIN };

		if (poll(&p, 1, PATIENCE_MS) <= 0 || chan_recv(p.fd, e->msg, &err) < 0)
			return false;
		struct unpack u = unpack_from(e->msg->body);
		uint32_t about = unpack_u32(&u);

		if (about == number && e->msg->type == WIRE_STARTED) {
			for (size_t i = 0; i < 3; i++)
				fds[i] = chan_take_fd(e->msg, i);
			return true;
		}
		unpack_u32(&u);
		*why = unpack_u8(&u);
		unpack_u64(&u);
		struct str text = unpack_str(&u);

		snprintf(note, 512, STR_FMT, STR_ARG(text));
		chan_msg_fini(e->msg);
		if (about == number)
			return true;
	}
}

static void say(struct evil *e, const char *name, uint32_t server, struct mcp_say words)
{
	auto_buf struct buf b = BUF_MAX(8192);
	int fds[3] = { -1, -1, -1 }, args = words.args.n > 0 ? evil_memfd(words.args, true) : -1;
	uint8_t why = 0;
	char note[512] = "";

	words.id = ++e->job;
	pack_u32(&b, words.id);
	pack_u32(&b, server);
	mcp_say_pack(&words, &b);
	evil_send(e, PEER_SERVER, WIRE_SAY, buf_str(&b), &args, args >= 0);
	if (next(e, words.id, fds, &why, note))
		evil_say(e, "said %s: why %d %s", name, why, note);
	else
		evil_say(e, "said %s: no answer", name);
	base_close_fd(&args);
}

/* Until the server has answered the last one, so that it has read all before. */
static void hear(struct evil *e, int fd)
{
	auto_buf struct buf all = BUF_MAX(1 << 20);
	char id[32], bytes[4096];
	ssize_t n;

	snprintf(id, sizeof(id), "\"id\": %u,", e->job);
	while (str_find(buf_str(&all), str_from(id)) == all.n) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, PATIENCE_MS) <= 0 || (n = read(fd, bytes, sizeof(bytes))) <= 0 ||
			buf_add(&all, str_of(bytes, (size_t)n), ERR_DISCARD) < 0) {
			evil_say(e, "FAIL the server does not answer");
			return;
		}
	}
}

static const struct str none = { "{}", 2 };

void evil_server(struct evil *e)
{
	auto_buf struct buf b = BUF_MAX(256), v = BUF_MAX(256);
	int fds[3] = { -1, -1, -1 };
	uint8_t why = 0;
	char note[512] = "";
	uint32_t server = ++e->job;

	pack_u32(&b, server);
	pack_u8(&b, 0);
	evil_send(e, PEER_SERVER, WIRE_SERVE, buf_str(&b), NULL, 0);
	if (!next(e, server, fds, &why, note) || fds[0] < 0) {
		evil_say(e, "FAIL the server does not start: why %d %s", why, note);
		return;
	}
	evil_say(e, "stdin %s", fds[2] >= 0 ? "GIVEN" : "kept");
	for (size_t i = 0; i < 2; i++) /* the pipes are for reading */
		evil_say(e, "pipe %zu %s", i, write(fds[i], "x", 1) < 0 ? "closed to us" : "WRITTEN");
	say(e, "call", server, (struct mcp_say){ MCP_CALL, MCP_ERA_LEGACY, .text = STR("look"), .args = none });
	say(e, "another era", server, (struct mcp_say){ MCP_CALL, MCP_ERA_MODERN, .text = STR("look"), .args = none });
	say(e, "another name", server, (struct mcp_say){ MCP_CALL, MCP_ERA_LEGACY, .text = STR("echo\",\"x\":\""), .args = none });
	say(e, "two messages", server, (struct mcp_say){ MCP_CALL, MCP_ERA_LEGACY, .text = STR("look"),
		.args = STR("{}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"look\",\"arguments\":{}}}") });
	say(e, "a call as a cursor", server, (struct mcp_say){ MCP_LIST, MCP_ERA_LEGACY,
		.text = STR("\"},\"method\":\"tools/call\",\"params\":{\"name\":\"look\",\"arguments\":{}") });
	say(e, "a call as an id", server, (struct mcp_say){ MCP_PONG, MCP_ERA_LEGACY, .is_text = true,
		.text = STR("\",\"method\":\"tools/call\",\"params\":{\"name\":\"look\",\"arguments\":{}},\"x\":\"") });
	say(e, "no method", server, (struct mcp_say){ 99, MCP_ERA_LEGACY });
	say(e, "no server", server + 1000, (struct mcp_say){ MCP_LIST, MCP_ERA_LEGACY });
	say(e, "the last", server, (struct mcp_say){ MCP_LIST, MCP_ERA_LEGACY });
	hear(e, fds[0]);
	pack_u32(&v, e->job);
	pack_u8(&v, 1);
	pack_str(&v, STR(""));
	evil_send(e, PEER_SERVER, WIRE_VERDICT, buf_str(&v), NULL, 0);
	evil_say(e, "zygote %s", evil_dropped(PEER_SERVER, 3000) ? "dropped" : "KEPT");
}

/* ---- a server over HTTP ---- */

static void over(struct evil *e, const char *name, uint32_t id)
{
	struct err err = { 0 };

	for (;;) {
		struct pollfd p = { .fd = 3 + PEER_CLIENT, .events = POLLIN };

		if (poll(&p, 1, PATIENCE_MS) <= 0 || chan_recv(p.fd, e->msg, &err) < 0) {
			evil_say(e, "said %s: no answer", name);
			return;
		}
		struct unpack u = unpack_from(e->msg->body);
		bool end = e->msg->type == WIRE_END && unpack_u32(&u) == id;
		uint8_t outcome = end ? unpack_u8(&u) : 0;
		struct str text = end ? unpack_str(&u) : STR("");

		if (end)
			evil_say(e, "said %s: outcome %d " STR_FMT, name, outcome, STR_ARG(text));
		chan_msg_fini(e->msg);
		if (end)
			return;
	}
}

static void post(struct evil *e, const char *name, uint8_t endpoint, struct mcp_say words)
{
	auto_buf struct buf b = BUF_MAX(8192);
	int args = words.args.n > 0 ? evil_memfd(words.args, true) : -1;
	uint32_t id = ++e->job;

	pack_u32(&b, id);
	pack_u8(&b, endpoint);
	mcp_say_pack(&words, &b);
	evil_send(e, PEER_CLIENT, WIRE_POST, buf_str(&b), &args, args >= 0);
	over(e, name, id);
	base_close_fd(&args);
}

/* A number that was used before: an answer of the operator's to the first call could meet the second. */
void evil_remote_again(struct evil *e)
{
	const struct mcp_say list = { MCP_LIST, MCP_ERA_LEGACY };
	struct server_params p = { 0 };
	struct err err = { 0 };

	BUG_IF(e->params.servers.n != 1 || server_params_unpack(e->params.servers.p[0], e->mem, &p, &err) < 0);
	post(e, "a list", (uint8_t)p.endpoint, list);
	e->job--;
	post(e, "its number again", (uint8_t)p.endpoint, list);
	evil_say(e, "client %s", evil_dropped(PEER_CLIENT, 3000) ? "dropped" : "KEPT");
}

/* Asks until nothing is asked any more, and then a model. */
void evil_remote_many(struct evil *e)
{
	auto_buf struct buf b = BUF_MAX(64);
	int body = evil_memfd(STR("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}"), true);
	struct server_params p = { 0 };
	struct err err = { 0 };
	uint32_t id;

	BUG_IF(e->params.servers.n != 1 || server_params_unpack(e->params.servers.p[0], e->mem, &p, &err) < 0);
	for (int i = 0; i < 202; i++)
		post(e, "one of many", (uint8_t)p.endpoint, (struct mcp_say){ MCP_LIST, MCP_ERA_LEGACY });
	id = ++e->job;
	pack_u32(&b, id);
	pack_u8(&b, 0);
	pack_u8(&b, ROUTE_CHAT);
	evil_send(e, PEER_CLIENT, WIRE_REQ, buf_str(&b), &body, 1);
	over(e, "to a model", id);
	close(body);
}

void evil_remote(struct evil *e)
{
	auto_buf struct buf b = BUF_MAX(64), v = BUF_MAX(64);
	int body = evil_memfd(STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{}}}"), true);
	struct server_params p = { 0 };
	struct err err = { 0 };
	uint32_t id;

	BUG_IF(e->params.servers.n != 1 || server_params_unpack(e->params.servers.p[0], e->mem, &p, &err) < 0);
	const uint8_t at = (uint8_t)p.endpoint;

	post(e, "call", at, (struct mcp_say){ MCP_CALL, MCP_ERA_MODERN, .text = STR("echo"), .args = none });
	post(e, "two messages", at, (struct mcp_say){ MCP_CALL, MCP_ERA_LEGACY, .text = STR("echo"), .args = STR("{}\n{}") });
	post(e, "the model's endpoint", 0, (struct mcp_say){ MCP_CALL, MCP_ERA_LEGACY, .text = STR("echo"), .args = none });
	post(e, "no endpoint", 77, (struct mcp_say){ MCP_LIST, MCP_ERA_LEGACY });
	id = ++e->job;
	pack_u32(&b, id);
	pack_u8(&b, at);
	pack_u8(&b, ROUTE_CHAT);
	evil_send(e, PEER_CLIENT, WIRE_REQ, buf_str(&b), &body, 1);
	over(e, "a body of its own", id);
	post(e, "a stream with words", at, (struct mcp_say){ MCP_LISTEN, MCP_ERA_LEGACY, .text = STR("x") });
	post(e, "an end with arguments", at, (struct mcp_say){ MCP_END, MCP_ERA_LEGACY, .args = none });
	post(e, "a modern end", at, (struct mcp_say){ MCP_END, MCP_ERA_MODERN });
	post(e, "the end of no session", at, (struct mcp_say){ MCP_END, MCP_ERA_LEGACY });
	post(e, "a version too far", at, (struct mcp_say){ MCP_LISTEN, MCP_ERA_LEGACY, .version = 200 });
	post(e, "a list", at, (struct mcp_say){ MCP_LIST, MCP_ERA_LEGACY });
	pack_u32(&v, e->job);
	pack_u8(&v, 1);
	pack_str(&v, STR(""));
	evil_send(e, PEER_CLIENT, WIRE_VERDICT_POST, buf_str(&v), NULL, 0);
	evil_say(e, "client %s", evil_dropped(PEER_CLIENT, 3000) ? "dropped" : "KEPT");
	close(body);
}
