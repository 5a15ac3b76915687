/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/toolsmith.h"

#include "fmt/mcp.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "sys/chan.h"

#define PARAMS_MAX ((size_t)1024 * 1024)
#define ANSWER_MAX ((size_t)8 * 1024 * 1024)
#define TOOLS_MAX  4096

static void take_texts(struct unpack *u, struct arena *mem, struct found_server *s)
{
	s->ready = unpack_u8(u) == 1;
	s->protocol = str_dup(mem, unpack_str(u));
	s->why = str_dup(mem, unpack_str(u));
	s->stderr_tail = str_dup(mem, unpack_str(u));
	s->left_out.p = unpack_strs(u, mem, PACK_STRS_MAX, &s->left_out.n);
	for (size_t i = 0; i < s->left_out.n; i++)
		s->left_out.p[i] = str_dup(mem, s->left_out.p[i]);
}

/* What comes back was made of hostile bytes: counts are bounded, texts are only shown. */
static int take_answer(struct str bytes, size_t n, struct arena *mem, struct found_server *out, struct err *err)
{
	struct unpack u = unpack_from(bytes);

	for (size_t i = 0; i < n; i++) {
		struct found_server s = { 0 };

		take_texts(&u, mem, &s);
		s.ntools = unpack_u32(&u);
		if (u.bad || s.ntools > TOOLS_MAX)
			return err_set(err, ERR_PROTOCOL, "what was found does not decode");
		s.tools = arena_array(mem, s.ntools + 1, sizeof(*s.tools));
		for (size_t k = 0; k < s.ntools; k++) {
			s.tools[k].shown = str_dup(mem, unpack_str(&u));
			s.tools[k].name = str_dup(mem, unpack_str(&u));
			s.tools[k].help = str_dup(mem, unpack_str(&u));
		}
		out[i] = s;
	}
	return unpack_done(&u) ? 0 : err_set(err, ERR_PROTOCOL, "what was found does not decode");
}

static int pack_params(const struct server_params *params, size_t n, struct arena *mem, struct buf *out, struct err *err)
{
	struct str *list = arena_array(mem, n + 1, sizeof(*list));

	for (size_t i = 0; i < n; i++) {
		auto_buf struct buf one = BUF_MAX(65536);

		TRY(server_params_pack(&params[i], &one, err));
		list[i] = str_dup(mem, buf_str(&one));
	}
	pack_strs(out, list, n);
	return pack_ok(out, err);
}

static int converse(const struct peer *p, uint32_t programs, const int *fds, size_t nfds, struct buf *out, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	auto_buf struct buf head = BUF_MAX(4);
	int r;

	pack_u32(&head, programs);
	TRY(pack_ok(&head, err));
	TRY(chan_send(p->chan, WIRE_SERVERS, buf_str(&head), fds, nfds, err));
	r = chan_recv(p->chan, m, err);
	if (r == -ERR_CLOSED)
		return err_set(err, ERR_CLOSED, "the process that speaks with the servers died over it");
	TRY(r);
	r = wire_check(LINK_MONITOR_TOOLSMITH, WIRE_UP, m->type, m->body.n, m->nfds, err);
	r = r < 0 ? r : memfd_read(m->fds[0], out, err);
	chan_msg_fini(m);
	return r;
}

int toolsmith_ask(const struct programs *progs, const struct toolsmith_task *t, struct arena *mem, struct found_server *out,
	struct err *err)
{
	auto_buf struct buf b = BUF_MAX(PARAMS_MAX), got = BUF_MAX(ANSWER_MAX);
	int fds[2 + MCP_SERVERS_MAX];
	size_t nfds = 0;
	autoclose int text = -1;
	struct peer p = PEER_NONE;
	int r;

	BUG_IF(t->n == 0 || t->n > MCP_SERVERS_MAX || t->programs > t->n);
	TRY(pack_params(t->params, t->n, mem, &b, err));
	TRY(memfd_seal("params", buf_str(&b), &text, err));
	fds[nfds++] = text;
	for (size_t i = 0; i < t->programs; i++)
		fds[nfds++] = t->askers[i];
	if (t->n > t->programs)
		fds[nfds++] = t->client;
	TRY(launch_role(progs, "toolsmith", NULL, 0, false, &p, err));
	r = converse(&p, (uint32_t)t->programs, fds, nfds, &got, err);
	r = r < 0 ? r : take_answer(buf_str(&got), t->n, mem, out, err);
	peer_kill(&p);
	return r;
}
