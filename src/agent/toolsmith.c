/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The process that looks at MCP servers outside of a run; role/toolsmith.h says what for. */
#include "agent/agent.h"
#include "agent/mcp.h"
#include "fmt/pack.h"
#include "sandbox/confine.h"
#include "sys/proc.h"

#define CHAN_FD    3
#define PARAMS_MAX ((size_t)1024 * 1024)
#define ANSWER_MAX ((size_t)8 * 1024 * 1024)

static void pack_server(const struct mcp *m, size_t i, struct buf *b)
{
	const struct mcp_server *s = &m->servers[i];
	uint32_t n = 0;

	pack_u8(b, s->state == MCP_READY);
	pack_str(b, str_from(s->protocol));
	pack_str(b, str_from(s->why));
	pack_str(b, mcp_errs(s));
	pack_strs(b, s->left_out.p, s->left_out.n);
	for (size_t k = 0; k < m->catalogue.n; k++)
		n += m->catalogue.p[k].server == i;
	pack_u32(b, n);
	for (size_t k = 0; k < m->catalogue.n; k++) {
		const struct mcp_tool *t = &m->catalogue.p[k];

		if (t->server != i)
			continue;
		pack_str(b, t->shown);
		pack_str(b, t->name);
		pack_str(b, t->help);
	}
}

static int answer(const struct mcp *m, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(ANSWER_MAX);
	autoclose int fd = -1;

	for (size_t i = 0; i < m->n; i++)
		pack_server(m, i, &b);
	TRY(pack_ok(&b, err));
	TRY(memfd_seal("servers", buf_str(&b), &fd, err));
	return chan_send(CHAN_FD, WIRE_SERVERS_LISTED, STR(""), &fd, 1, err);
}

/* Nobody asks a model here: all that the client says is about posts. */
static int on_client(void *self, struct chan_msg *m, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	uint32_t id = unpack_u32(&u);

	return u.bad ? err_set(err, ERR_PROTOCOL, "%s with a wrong body", wire_name(m->type)) : mcp_on_post(self, m, id, err);
}

static int take_params(struct chan_msg *msg, struct arena *mem, struct buf *text, struct str_list *params, uint32_t *programs, struct err *err)
{
	struct unpack head = unpack_from(msg->body);

	TRY(wire_check(LINK_MONITOR_TOOLSMITH, WIRE_DOWN, msg->type, msg->body.n, msg->nfds, err));
	TRY(memfd_read(msg->fds[0], text, err));
	struct unpack u = unpack_from(buf_str(text));

	*programs = unpack_u32(&head);
	params->p = unpack_strs(&u, mem, MCP_SERVERS_MAX, &params->n);
	if (!unpack_done(&head) || !unpack_done(&u) || *programs > params->n || 1 + *programs + (params->n > *programs) != msg->nfds)
		return err_set(err, ERR_PROTOCOL, "WIRE_SERVERS does not decode");
	return 0;
}

static int look(struct chan_msg *msg, struct arena *mem, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(PARAMS_MAX);
	auto_links struct links links = { 0 };
	CLEANUP(mcp_fini) struct mcp m = { 0 };
	struct str_list params = { 0 };
	uint32_t programs;
	int fds[PEER_COUNT];

	TRY(take_params(msg, mem, &text, &params, &programs, err));
	for (int i = 0; i < PEER_COUNT; i++)
		fds[i] = -1;
	for (size_t i = 0; i < programs; i++)
		fds[PEER_SERVER + i] = chan_take_fd(msg, i + 1);
	if (params.n > programs)
		fds[PEER_CLIENT] = chan_take_fd(msg, programs + 1);
	links_init(&links, fds);
	links_serve(&links, PEER_CLIENT, on_client, &m);
	TRY(confine_self(SECCOMP_AGENT, NULL, 0, err));
	TRY(mcp_open(&m, &links, NULL, &params, mem, err));
	mcp_close(&m);
	return answer(&m, err);
}

int role_toolsmith_main(void)
{
	auto_arena struct arena *mem = arena_new();
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	struct err err = { 0 };
	int r = proc_sanitize(1, &err);

	r = r < 0 ? r : chan_recv(CHAN_FD, m, &err);
	if (r == 0) {
		r = look(m, mem, &err);
		chan_msg_fini(m);
	}
	return r < 0;
}
