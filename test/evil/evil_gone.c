/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Something is done, and then the agent says that the run never began: its record should go. Once it waits for the end of what
 * it asked for, once its last word stands in its channel before anybody has served the request. */
#include "evil.h"

#include "fmt/mcp.h"
#include "fmt/pack.h"
#include "git/gitop.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 10000

static void never_began(struct evil *e)
{
	auto_buf struct buf b = BUF_MAX(256);

	pack_u8(&b, 0);
	pack_u8(&b, 1);
	pack_str(&b, STR("refused"));
	pack_str(&b, STR("nothing was done"));
	evil_send(e, PEER_MONITOR, WIRE_DONE, buf_str(&b), NULL, 0);
}

/* A ref of the run, at the commit that the task ends with. */
static void commit(struct evil *e, bool wait)
{
	const struct str args[] = { e->params.run_id, str_tail(e->params.task, 40), STR("0000000000000000000000000000000000000000") };
	auto_buf struct buf b = BUF_MAX(1024);

	pack_u32(&b, ++e->job);
	pack_u8(&b, GIT_STEP_REF);
	pack_strs(&b, args, COUNT(args));
	evil_send(e, PEER_GIT, WIRE_GIT, buf_str(&b), NULL, 0);
	if (wait)
		evil_wait(e, PEER_GIT, "git", "ref");
}

static void request(struct evil *e, bool wait)
{
	auto_buf struct buf b = BUF_MAX(16);
	int fd = evil_memfd(STR("{\"model\":\"mock-model\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}"), true);

	pack_u32(&b, 100);
	pack_u8(&b, 0);
	pack_u8(&b, ROUTE_CHAT);
	evil_send(e, PEER_CLIENT, WIRE_REQ, buf_str(&b), &fd, 1);
	close(fd);
	if (wait)
		evil_say(e, "request: %s", evil_next(e, PEER_CLIENT, WIRE_END, PATIENCE_MS) ? "answered" : "no answer");
}

/* Of a server whose calls nobody is asked about. */
static void call(struct evil *e, bool wait)
{
	auto_buf struct buf b = BUF_MAX(256), say = BUF_MAX(1024);
	struct mcp_say words = { MCP_CALL, MCP_ERA_LEGACY, .text = STR("look") };
	int fd = evil_memfd(STR("{}"), true);
	uint32_t server = ++e->job;

	pack_u32(&b, server);
	pack_u8(&b, 0);
	evil_send(e, PEER_SERVER, WIRE_SERVE, buf_str(&b), NULL, 0);
	if (!evil_next(e, PEER_SERVER, WIRE_STARTED, PATIENCE_MS))
		evil_say(e, "FAIL the server does not start");
	words.id = ++e->job;
	pack_u32(&say, words.id);
	pack_u32(&say, server);
	mcp_say_pack(&words, &say);
	evil_send(e, PEER_SERVER, WIRE_SAY, buf_str(&say), &fd, 1);
	close(fd);
	if (wait)
		evil_say(e, "call: %s", evil_next(e, PEER_SERVER, WIRE_EXIT, PATIENCE_MS) ? "said" : "no answer");
}

void evil_green(struct evil *e)
{
	commit(e, true);
}

void evil_gone(struct evil *e)
{
	static const struct {
		const char *what;
		void (*act)(struct evil *e, bool wait);
	} all[] = { { "commit", commit }, { "request", request }, { "call", call } };
	struct str rest = e->params.task;

	str_cut(&rest, ' '); /* "evil gone WHAT waits|hurries SHA" */
	str_cut(&rest, ' ');
	struct str what = str_cut(&rest, ' ');
	bool wait = str_eqz(str_cut(&rest, ' '), "waits");

	for (size_t i = 0; i < COUNT(all); i++)
		if (str_eqz(what, all[i].what))
			all[i].act(e, wait);
	never_began(e);
}

void evil_hang_up(struct evil *e)
{
	evil_say(e, "hung up");
	close(3 + PEER_MONITOR);
	for (;;)
		poll(NULL, 0, -1);
}
