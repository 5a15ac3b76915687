/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Servers over HTTP: each message is an exchange of its own, by the client. */
#include "agent/mcp_priv.h"
#include "fmt/pack.h"

#define BODY_MAX (8 * 1024 * 1024)

static void forget(struct mcp_post *p)
{
	buf_fini(&p->body);
	sse_fini(&p->sse);
	*p = (struct mcp_post){ 0 };
}

void mcp_posts_fini(struct mcp_server *s)
{
	for (size_t i = 0; i < MCP_POSTS_MAX; i++)
		forget(&s->posts[i]);
	forget(&s->stream);
}

static int on_text(struct mcp_server *s, struct str text, struct err *err)
{
	struct rpc_message m;

	return rpc_decode(str_trim(text), &m, ERR_DISCARD) < 0 ? 0 : mcp_on_message(s, &m, err); /* what is no message is passed over */
}

static int on_event(void *self, const struct sse_event *ev, struct err *err)
{
	struct mcp_post *p = self;

	return on_text(p->server, ev->data, err);
}

static struct mcp_post *place(struct mcp_server *s)
{
	for (size_t i = 0; i < MCP_POSTS_MAX; i++)
		if (s->posts[i].id == 0)
			return &s->posts[i];
	return NULL;
}

static int send_post(struct mcp_server *s, struct mcp_post *p, struct mcp_say *words, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(8192);
	autoclose int args = -1;

	words->id = ++s->all->last_post;
	*p = (struct mcp_post){ .id = words->id, .server = s, .body = BUF_MAX(BODY_MAX) };
	sse_init(&p->sse, BODY_MAX, on_event, p);
	pack_u32(&b, words->id);
	pack_u8(&b, (uint8_t)s->p.endpoint);
	mcp_say_pack(words, &b);
	TRY(pack_ok(&b, err));
	if (words->args.n > 0)
		TRY(memfd_seal("arguments", words->args, &args, err));
	return links_send(s->all->links, PEER_CLIENT, WIRE_POST, buf_str(&b), &args, args >= 0, err);
}

int mcp_post(struct mcp_server *s, struct mcp_say *words, struct err *err)
{
	struct mcp_post *p = place(s);

	if (!p || s->state == MCP_GIVEN_UP)
		return err_set(err, ERR_BUSY, "too many exchanges are open");
	return send_post(s, p, words, err);
}

/* Only the older era has one. Outside of a run nobody waits for what it may bring. */
int mcp_listen(struct mcp_server *s, struct err *err)
{
	struct mcp_say words = { .method = MCP_LISTEN, .era = MCP_ERA_LEGACY, .version = s->version };

	if (!s->remote || s->era != MCP_ERA_LEGACY || s->no_stream || s->stream.id != 0 || s->state != MCP_READY || !s->all->keep)
		return 0;
	return send_post(s, &s->stream, &words, err);
}

int mcp_part(struct mcp_server *s, struct err *err)
{
	struct mcp_say words = { .method = MCP_END, .era = MCP_ERA_LEGACY, .version = s->version };
	struct mcp_post *p = place(s);

	if (!s->remote || s->era != MCP_ERA_LEGACY || s->version == 0 || !p || mcp_cut_off(s))
		return 0;
	if (s->stream.id != 0)
		TRY(mcp_post_cancel(s, s->stream.id, err));
	TRY(send_post(s, p, &words, err));
	s->farewell = words.id;
	return 0;
}

bool mcp_is_parting(const struct mcp_server *s)
{
	for (size_t i = 0; i < MCP_POSTS_MAX; i++)
		if (s->farewell != 0 && s->posts[i].id == s->farewell)
			return true;
	return false;
}

static int send_cancel(struct mcp_server *s, uint32_t id, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(8);

	pack_u32(&b, id);
	return links_send(s->all->links, PEER_CLIENT, WIRE_CANCEL, buf_str(&b), NULL, 0, err);
}

int mcp_post_cancel(struct mcp_server *s, uint32_t id, struct err *err)
{
	for (size_t i = 0; i < MCP_POSTS_MAX; i++)
		if (s->posts[i].id == id && id != 0)
			forget(&s->posts[i]);
	if (s->stream.id == id)
		forget(&s->stream);
	return send_cancel(s, id, err);
}

/* Their memory stays until the end: what is being read may be the stream of one of them. */
int mcp_posts_cancel(struct mcp_server *s, struct err *err)
{
	for (size_t i = 0; i < MCP_POSTS_MAX; i++) {
		uint32_t id = s->posts[i].id;

		s->posts[i].id = 0;
		if (id != 0)
			TRY(send_cancel(s, id, err));
	}
	uint32_t id = s->stream.id;

	s->stream.id = 0;
	return id != 0 ? send_cancel(s, id, err) : 0;
}

static struct mcp_post *find(struct mcp *m, uint32_t id)
{
	for (size_t i = 0; i < m->n && id != 0; i++) {
		struct mcp_server *s = &m->servers[i];

		for (size_t k = 0; k < MCP_POSTS_MAX; k++)
			if (s->posts[k].id == id)
				return &s->posts[k];
		if (s->stream.id == id)
			return &s->stream;
	}
	return NULL;
}

static void take_head(struct mcp_post *p, struct unpack *u)
{
	p->status = (int)unpack_u32(u);
	unpack_i64(u);
	p->stream = unpack_u8(u) == CONTENT_SSE;
	if (p->server->open == p->id) {
		p->server->waits = false;
		p->server->said = true;
	}
}

/* What a server does wrong is its own end, not the run's. */
static int take_data(struct mcp_post *p, struct str bytes, struct err *err)
{
	struct mcp_server *s = p->server;
	uint32_t id = p->id;
	struct err why = { 0 };

	if (p == &s->stream && !p->stream) /* a page that says that there is none */
		return 0;
	int r = p->stream ? sse_feed(&p->sse, bytes, &why) : buf_add(&p->body, bytes, &why);

	if (r == -ERR_LIMIT) {
		TRY(mcp_post_cancel(s, id, err));
		return s->open == id ? mcp_post_unanswered(s, 0, false, STR("its answer is too long"), err) : 0;
	}
	if (r < 0) {
		*err = why;
		return r;
	}
	if (p->stream && p->id == id && s->open != id && p != &s->stream) /* answered: what else it may say is not waited for */
		return mcp_post_cancel(s, id, err);
	return 0;
}

static int take_end(struct mcp_post *p, uint8_t outcome, struct str text, struct err *err)
{
	struct mcp_server *s = p->server;
	uint32_t id = p->id;
	int status = p->status;

	if (p == &s->stream) { /* where it ended, and was one, the next call opens it again */
		s->no_stream = !p->stream || status != 200;
		forget(p);
		return 0;
	}
	if (!p->stream && p->body.n > 0)
		TRY(on_text(s, buf_str(&p->body), err));
	forget(p);
	if (s->greeting == id && s->state == MCP_OPENING)
		return mcp_greeted(s, err);
	if (s->open != id)
		return 0;
	/* To a server of the older era a connection that ends is no word that nobody waits any more. */
	if (outcome == NET_TIMEOUT && s->asked == MCP_CALL && s->era == MCP_ERA_LEGACY)
		TRY(mcp_tell(s, &(struct mcp_say){ .method = MCP_CANCEL, .ref = id }, err));
	return mcp_post_unanswered(s, status, outcome == NET_REFUSED, text, err);
}

int mcp_on_post(void *self, struct chan_msg *m, uint32_t id, struct err *err)
{
	struct mcp_post *p = find(self, id);
	struct unpack u = unpack_from(m->body);

	unpack_u32(&u);
	if (!p)
		return 0; /* the rest of one that was given up */
	if (m->type == WIRE_HEAD) {
		take_head(p, &u);
		return unpack_done(&u) ? 0 : err_set(err, ERR_PROTOCOL, "WIRE_HEAD with a wrong body");
	}
	uint8_t outcome = m->type == WIRE_END ? unpack_u8(&u) : 0;
	struct str bytes = unpack_str(&u);

	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "%s with a wrong body", wire_name(m->type));
	return m->type == WIRE_END ? take_end(p, outcome, bytes, err) : take_data(p, bytes, err);
}
