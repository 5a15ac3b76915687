/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "net/client_priv.h"

#include "base/time.h"
#include "fmt/pack.h"
#include "fmt/wire.h"

#include <string.h>

bool client_may_renew(const struct request *q)
{
	bool refused = q->head.status == 401 || q->head.status == 403;

	return refused && q->live->e->key_from == KEY_COMMAND && !q->renewed;
}

int client_begin_transfer(struct request *q, struct err *err)
{
	struct client *c = q->c;
	struct live *l = q->live;
	auto_buf struct buf b = BUF_MAX(16);

	if (l->e->key_from != KEY_COMMAND || (!secret_is_empty(&l->token) && time_mono_ms() < l->token_until_ms))
		return client_start_transfer(q, err);
	if (c->tokens < 0)
		return err_set(err, ERR_CLOSED, "the process that runs token_command is gone");
	q->waiting = true;
	if (l->token_wanted)
		return 0;
	pack_u8(&b, (uint8_t)(l - c->live));
	TRY(pack_ok(&b, err));
	TRY(chan_send(c->tokens, WIRE_TOKEN_WANTED, buf_str(&b), NULL, 0, err));
	l->token_wanted = true;
	return 0;
}

static void refuse(struct request *q, const char *why)
{
	client_end_request(q, NET_REFUSED, "provider " STR_FMT ": %s", STR_ARG(q->live->e->name), why);
	client_stop_request(q);
}

/* The server refused the token: the request begins anew, with another. */
int client_on_renew(void *self, uint32_t events, struct err *err)
{
	struct request *q = self;
	struct err why = { 0 };

	(void)events;
	if (q->over)
		return 0;
	if (str_eq(secret_reveal(&q->token), secret_reveal(&q->live->token)))
		live_put_token(q->live, (struct secret){ 0 });
	q->redo = false;
	q->renewed = true;
	q->head = (struct head){ .retry_after_ms = -1 };
	q->last_ms = time_mono_ms();
	if (client_begin_transfer(q, &why) < 0)
		refuse(q, why.msg);
	return client_watch_agent(q->c, err);
}

/* A token that cannot be a header is refused as any key is. */
static int set_token(struct live *l, struct str token, struct err *err)
{
	struct endpoint as_key = *l->e;
	int r;

	as_key.key_from = KEY_INLINE;
	as_key.key = (struct secret){ 0 };
	secret_set(&as_key.key, token);
	r = endpoint_check(&as_key, err);
	if (r < 0) {
		secret_fini(&as_key.key);
		return r;
	}
	live_put_token(l, as_key.key);
	l->token_until_ms = time_mono_ms() + l->e->token_ttl_ms;
	return 0;
}

static void go_on_with_token(struct client *c, const struct live *l, int r, const char *said)
{
	for (size_t i = 0; i < SLOTS; i++) {
		struct request *q = &c->requests[i];
		struct err why = { 0 };

		if (!q->used || !q->waiting || (l && q->live != l))
			continue;
		q->waiting = false;
		if (r < 0)
			refuse(q, said);
		else if (client_start_transfer(q, &why) < 0)
			refuse(q, why.msg);
	}
}

static int read_token(struct client *c, struct err *err)
{
	struct err why = { 0 };
	struct unpack u;
	uint8_t endpoint;
	struct str text;
	bool ok;
	int r;

	TRY(chan_recv(c->tokens, &c->msg, err));
	if (wire_check(LINK_CLIENT_SPAWNER, WIRE_DOWN, c->msg.type, c->msg.body.n, c->msg.nfds, err) < 0) {
		chan_msg_fini(&c->msg);
		return -ERR_PROTOCOL;
	}
	u = unpack_from(c->msg.body);
	endpoint = unpack_u8(&u);
	ok = unpack_u8(&u) == 1;
	text = unpack_str(&u);
	if (!unpack_done(&u) || endpoint >= c->table->n || !c->live[endpoint].token_wanted)
		return err_set(err, ERR_PROTOCOL, "a token is malformed");
	c->live[endpoint].token_wanted = false;
	r = ok ? set_token(&c->live[endpoint], text, &why) : err_set(&why, ERR_REMOTE, STR_FMT, STR_ARG(text));
	explicit_bzero((void *)c->msg.body.p, c->msg.body.n);
	go_on_with_token(c, &c->live[endpoint], r, why.msg);
	return 0;
}

int client_on_tokens(void *self, uint32_t events, struct err *err)
{
	struct client *c = self;

	(void)events;
	if (read_token(c, ERR_DISCARD) < 0) {
		loop_unwatch(c->loop, c->tokens);
		base_close_fd(&c->tokens);
		go_on_with_token(c, NULL, -ERR_CLOSED, "the process that runs token_command is gone");
	}
	return client_watch_agent(c, err);
}
