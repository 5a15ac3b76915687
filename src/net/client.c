/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "net/client.h"
#include "net/client_priv.h"

#include "base/time.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "sys/chan.h"

#include <string.h>
#include <sys/mman.h>

#define PIECE_MAX (60 * 1024) /* of WIRE_DATA */

/* --- to the agent --- */

static loop_fn on_agent, on_request_timer;

static int free_slots(const struct client *c)
{
	int n = 0;

	for (size_t i = 0; i < SLOTS; i++)
		n += !c->requests[i].used;
	return n;
}

/* Reads from the agent only while there is a slot for what it may ask: an agent that does not read its
 * answers cannot make us hold more of them. */
int client_watch_agent(struct client *c, struct err *err)
{
	uint32_t want = (free_slots(c) > 0 ? EPOLLIN : 0) | (c->blocked ? EPOLLOUT : 0) | EPOLLRDHUP;

	if (c->agent < 0 || want == c->watching)
		return 0;
	if (c->watching)
		loop_unwatch(c->loop, c->agent);
	c->watching = want;
	return loop_watch(c->loop, c->agent, want, on_agent, c, err);
}

static void request_fini(struct request *q)
{
	loop_cancel(q->c->loop, on_request_timer, q);
	loop_cancel(q->c->loop, client_on_renew, q);
	if (q->transfer)
		transfer_cancel(q->transfer);
	if (q->body.n > 0 && !q->post)
		munmap((void *)q->body.p, q->body.n);
	buf_fini(&q->composed.text);
	buf_fini(&q->out);
	secret_fini(&q->token);
	secret_fini(&q->before);
	curl_slist_free_all(q->headers);
	*q = (struct request){ .c = q->c };
}

static int on_agent_gone(void *self, uint32_t events, struct err *err)
{
	struct client *c = self;

	(void)events;
	(void)err;
	for (size_t i = 0; i < SLOTS; i++)
		if (c->requests[i].used)
			request_fini(&c->requests[i]);
	return 0;
}

/* May be called from within libcurl, so the requests are ended from the loop. */
static void drop_agent(struct client *c)
{
	loop_unwatch(c->loop, c->agent);
	close(take_fd(&c->agent));
	BUG_IF(loop_after(c->loop, 0, on_agent_gone, c, ERR_DISCARD) < 0);
}

/* 0, or -ERR_BUSY: not sent, the channel is full. A channel that is gone swallows everything. */
static int tell(struct client *c, uint16_t type, const struct buf *body)
{
	int r;

	if (c->agent < 0)
		return 0;
	r = chan_send(c->agent, type, buf_str(body), NULL, 0, ERR_DISCARD);
	if (r == -ERR_BUSY) {
		c->blocked = true;
		return client_watch_agent(c, ERR_DISCARD) < 0 ? 0 : r;
	}
	if (r < 0)
		drop_agent(c);
	return 0;
}

static int send_head(struct request *q)
{
	auto_buf struct buf b = BUF_MAX(64);

	pack_u32(&b, q->id);
	pack_u32(&b, (uint32_t)q->head.status);
	pack_i64(&b, q->head.retry_after_ms);
	pack_u8(&b, (uint8_t)q->head.content);
	return tell(q->c, WIRE_HEAD, &b);
}

static int send_piece(struct request *q)
{
	auto_buf struct buf b = BUF_MAX(CHAN_BODY_MAX);

	pack_u32(&b, q->id);
	pack_str(&b, buf_str(&q->out));
	return tell(q->c, WIRE_DATA, &b);
}

static int send_end(struct request *q)
{
	auto_buf struct buf b = BUF_MAX(4096);

	pack_u32(&b, q->id);
	pack_u8(&b, (uint8_t)q->outcome);
	pack_str(&b, str_from(q->text));
	return tell(q->c, WIRE_END, &b);
}

/* Sends what is due, in order. -ERR_BUSY when the agent must read first. */
static int flush(struct request *q)
{
	if (q->redo)
		return 0;
	if (q->head.done && !q->head_sent) {
		TRY(send_head(q));
		q->head_sent = true;
	}
	if (q->out.n > 0) {
		TRY(send_piece(q));
		buf_clear(&q->out);
	}
	if (q->over && !q->transfer && !q->end_sent) {
		TRY(send_end(q));
		q->end_sent = true;
	}
	return 0;
}

/* As flush, from a handler of the loop: frees a request whose end was sent. */
static void settle(struct request *q)
{
	if (flush(q) == 0 && q->end_sent)
		request_fini(q);
}

void client_end_request(struct request *q, enum net_outcome outcome, const char *fmt, ...)
{
	va_list ap;

	if (q->over)
		return;
	client_post_over(q);
	if (q->redo) /* it ends in the middle of an answer that is not shown */
		q->head.done = false;
	q->redo = q->waiting = false;
	q->over = true;
	q->outcome = outcome;
	va_start(ap, fmt);
	vsnprintf(q->text, sizeof(q->text), fmt, ap);
	va_end(ap);
}

/* As a handler of the loop, outside libcurl's callbacks: ends the exchange as well. */
void client_stop_request(struct request *q)
{
	BUG_IF(!q->over);
	if (q->transfer)
		transfer_cancel(q->transfer);
	q->transfer = NULL;
	q->playing = false;
	settle(q); /* when full: again when the agent has read */
}

/* --- an answer arrives --- */

static bool within_ceiling(struct client *c, uint64_t more)
{
	c->bytes_used += more;
	return c->table->max_bytes < 0 || c->bytes_used <= (uint64_t)c->table->max_bytes;
}

/* Looks at the clock again when the request could first be late; bytes that arrive do not move it. */
static int arm_timer(struct request *q, struct err *err)
{
	const struct endpoint *e = q->live->e;
	int64_t limit = q->head.done ? e->idle_ms : e->first_byte_ms;

	return loop_after(q->c->loop, q->last_ms + limit - time_mono_ms(), on_request_timer, q, err);
}

static int on_line(void *self, struct str line)
{
	struct request *q = self;
	struct err err = { 0 };

	if (q->over)
		return -1;
	if (head_line(&q->head, line, time_now_ms(), &err) < 0) {
		client_end_request(q, NET_LIMIT, "%s: %s", q->live->host, err.msg);
		return -1;
	}
	if (!within_ceiling(q->c, line.n)) {
		client_end_request(q, NET_LIMIT, "the ceiling of %lld bytes for this run is reached",
			(long long)q->c->table->max_bytes);
		return -1;
	}
	if (q->head.done && !q->head_sent) {
		q->last_ms = time_mono_ms(); /* a line alone, or an interim answer, gains no time */
		client_post_head(q);
		q->redo = client_may_renew(q);
		if (q->redo) /* what else it says is not for anybody: on_done goes on */
			return -1;
		(void)flush(q); /* when full: before the first piece */
		return arm_timer(q, ERR_DISCARD);
	}
	return 0;
}

/* Through both: first out goes what was used before, then what is used now. */
static int scrub_piece(struct request *q, struct str piece, bool last, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(2 * (CURL_MAX_WRITE_SIZE + CHAN_BODY_MAX));

	if (q->scrub_before.key) {
		TRY(scrub_feed(&q->scrub_before, piece, &b, err));
		if (last)
			TRY(scrub_end(&q->scrub_before, &b, err));
		piece = buf_str(&b);
	}
	TRY(scrub_feed(&q->scrub, piece, &q->out, err));
	return last ? scrub_end(&q->scrub, &q->out, err) : 0;
}

/* 101: the server speaks another protocol from here on. */
static bool has_no_head(struct request *q)
{
	if (q->head.done)
		return false;
	client_end_request(q, NET_OTHER, "%s: the answer has no status", q->live->host);
	return true;
}

static enum transfer_take on_body(void *self, struct str piece)
{
	struct request *q = self;

	q->last_ms = time_mono_ms();
	if (q->over || q->redo || has_no_head(q))
		return TRANSFER_STOP;
	if (flush(q) < 0) {
		q->paused = true;
		return TRANSFER_LATER;
	}
	q->received += piece.n;
	if (q->received > CLIENT_ANSWER_MAX) {
		client_end_request(q, NET_LIMIT, "%s: the answer is longer than %d MiB", q->live->host,
			CLIENT_ANSWER_MAX / (1024 * 1024));
		return TRANSFER_STOP;
	}
	if (!within_ceiling(q->c, piece.n)) {
		client_end_request(q, NET_LIMIT, "the ceiling of %lld bytes for this run is reached",
			(long long)q->c->table->max_bytes);
		return TRANSFER_STOP;
	}
	if (scrub_piece(q, piece, false, ERR_DISCARD) < 0) {
		client_end_request(q, NET_LIMIT, "%s: a piece of the answer is too long", q->live->host);
		return TRANSFER_STOP;
	}
	(void)flush(q); /* when full, the next piece waits */
	return TRANSFER_TAKEN;
}

/* What libcurl says of an answer may repeat a line of it. */
static struct str scrub_text(const struct request *q, struct str text, struct buf *once, struct buf *out)
{
	struct scrub before = { .key = q->scrub_before.key }, now = { .key = q->scrub.key };

	if (scrub_feed(&before, text, once, ERR_DISCARD) < 0 || scrub_end(&before, once, ERR_DISCARD) < 0 ||
		scrub_feed(&now, buf_str(once), out, ERR_DISCARD) < 0 || scrub_end(&now, out, ERR_DISCARD) < 0)
		return STR("");
	return buf_str(out);
}

/* What says that it is neither JSON nor events is hardly the model's: who reads it can then say where it came from. The query
 * may hold what is nobody's business. */
static struct str odd_address(const struct request *q)
{
	struct str url = str_from(q->live->chat_url);

	return q->post || q->route != ROUTE_CHAT || q->head.content != CONTENT_OTHER ? STR("") : str_cut(&url, '?');
}

static void on_done(void *self, enum net_outcome outcome, const char *text)
{
	struct request *q = self;
	struct client *c = q->c;
	const struct note *n = &c->note[q->live->e->route % ROUTES_MAX];
	auto_buf struct buf once = BUF_MAX(4 * TEXT_BYTES), twice = BUF_MAX(4 * TEXT_BYTES);
	struct str said;

	q->transfer = NULL;
	if (q->redo && !q->over && loop_after(c->loop, 0, client_on_renew, q, ERR_DISCARD) == 0)
		return;
	if (q->over) { /* we stopped it ourselves and said why */
		settle(q);
		(void)!client_watch_agent(c, ERR_DISCARD);
		return;
	}
	if (scrub_piece(q, STR(""), true, ERR_DISCARD) < 0 && outcome == NET_OK)
		outcome = NET_LIMIT;
	if (outcome == NET_OK)
		(void)has_no_head(q);
	said = scrub_text(q, outcome == NET_OK ? odd_address(q) : str_from(text), &once, &twice);
	client_read_notes(c);
	/* Through the broker a failed dial looks like a connection that broke; the note says what it was. */
	if (outcome != NET_OK && q->head.status == 0 && q->live->by_broker[0] && n->count > q->notes_seen)
		client_end_request(q, n->outcome, "%s", n->text);
	else
		client_end_request(q, outcome, STR_FMT, STR_ARG(said));
	settle(q);
	(void)!client_watch_agent(c, ERR_DISCARD);
}

static int play_on(struct request *q, struct err *err)
{
	struct client *c = q->c;
	int64_t wait_ms = 0;
	int r;

	if (q->out.n > 0) { /* the agent has not read the last piece */
		q->paused = true;
		return 0;
	}
	q->head.done = true;
	r = play_next(&q->play, PIECE_MAX / 2, &q->out, &wait_ms, err);
	TRY(r);
	if (r == 0) {
		q->playing = false;
		client_end_request(q, NET_OK, "%s", "");
		settle(q);
	} else {
		q->paused = flush(q) < 0;
		if (!q->paused)
			TRY(loop_after(c->loop, wait_ms, on_request_timer, q, err));
	}
	return client_watch_agent(c, err);
}

static int on_request_timer(void *self, uint32_t events, struct err *err)
{
	struct request *q = self;
	struct client *c = q->c;
	const struct endpoint *e = q->live->e;
	int64_t limit = q->head.done ? e->idle_ms : e->first_byte_ms;

	(void)events;
	if (q->playing)
		return play_on(q, err);
	if (q->paused) /* it is the agent that keeps the server waiting */
		q->last_ms = time_mono_ms();
	if (q->waiting) /* the spawner has a limit of its own */
		return 0;
	if (client_listens(q) && q->head.done) /* who has nothing to say is silent */
		return 0;
	if (q->over || time_mono_ms() - q->last_ms < limit)
		return q->over ? 0 : arm_timer(q, err);
	client_end_request(q, NET_TIMEOUT, q->head.done ? "%s: nothing more arrived for %lld s" : "%s: no answer within %lld s",
		q->live->host, (long long)(limit + 999) / 1000);
	client_stop_request(q);
	return client_watch_agent(c, err);
}

/* --- a request begins --- */

static int start_play(struct request *q, enum net_route route, struct err *err)
{
	struct client *c = q->c;

	TRY(recording_answer(&c->recording, route, route == ROUTE_CHAT ? c->played : 0, &q->play, err));
	if (route == ROUTE_CHAT)
		c->played++;
	q->head = (struct head){ .status = q->play.status, .retry_after_ms = q->play.retry_after_ms,
		.content = q->play.content };
	q->playing = true;
	return loop_after(c->loop, 0, on_request_timer, q, err);
}

static int dial(void *self)
{
	struct request *q = self;

	return client_dial(q->c, q->live->e->route);
}

int client_start_transfer(struct request *q, struct err *err)
{
	struct client *c = q->c;
	const struct live *l = q->live;
	enum net_route route = q->route;
	struct transfer_spec spec = { .url = route == ROUTE_CHAT ? l->chat_url : l->models_url, .host = l->host,
		.by_broker = l->by_broker[0] ? l->by_broker : NULL, .dial = dial, .proxy = c->proxy, .no_proxy = c->no_proxy,
		.headers = route == ROUTE_CHAT ? l->post_headers : l->get_headers, .post = route == ROUTE_CHAT && q->body.n > 0,
		.remove = q->post && q->say.method == MCP_END,
		.body = q->body, .ca = l->ca, .connect_ms = l->e->connect_ms, .on_line = on_line, .on_body = on_body,
		.on_done = on_done, .self = q };

	if (!within_ceiling(c, q->body.n))
		return err_set(err, ERR_LIMIT, "the ceiling of %lld bytes for this run is reached",
			(long long)c->table->max_bytes);
	client_read_notes(c);
	q->notes_seen = c->note_count;
	q->scrub.key = &l->e->key;
	if (l->e->key_from == KEY_COMMAND) { /* of its own: another request may renew the token meanwhile */
		secret_fini(&q->token);
		secret_fini(&q->before);
		secret_set(&q->token, secret_reveal(&l->token));
		secret_set(&q->before, secret_reveal(&l->before));
		curl_slist_free_all(q->headers);
		spec.headers = q->headers = live_headers(l->e, &q->token, spec.post ? LIVE_POST : LIVE_GET);
		q->scrub.key = &q->token;
		q->scrub_before.key = secret_is_empty(&q->before) ? NULL : &q->before;
	}
	if (q->post) {
		curl_slist_free_all(q->headers);
		spec.headers = q->headers = client_post_headers(q);
	}
	TRY(transfer_start(c->transfers[l->trust], &spec, &q->transfer, err));
	return arm_timer(q, err);
}

/* Everything that can speak against a request. What it returns is the sentence for the agent. */
static int start_request(struct request *q, uint8_t endpoint, uint8_t route, int body_fd, struct err *err)
{
	if (route != ROUTE_CHAT && route != ROUTE_MODELS)
		return err_set(err, ERR_DENIED, "there is no route %u", route);
	if ((route == ROUTE_CHAT) != (body_fd >= 0))
		return err_set(err, ERR_DENIED, "a chat request has a body, a model listing has none");
	TRY(client_admit(q, endpoint, err));
	if (q->live->e->use != ENDPOINT_MODEL)
		return err_set(err, ERR_DENIED, "endpoint %u is no model server", endpoint);
	if (body_fd >= 0)
		TRY(client_map_body(body_fd, &q->body, err));
	if (route == ROUTE_CHAT)
		TRY(client_works(q->c, err));
	if (q->live->e->kind == ENDPOINT_RECORDING)
		return start_play(q, route, err);
	if (!(route == ROUTE_CHAT ? q->live->chat_url : q->live->models_url))
		return err_set(err, ERR_DENIED, "provider " STR_FMT " has no %s", STR_ARG(q->live->e->name),
			route == ROUTE_CHAT ? "chat" : "model listing");
	q->route = (enum net_route)route;
	return client_begin_transfer(q, err);
}

struct request *client_request(struct client *c, uint32_t id)
{
	for (size_t i = 0; i < SLOTS; i++)
		if (c->requests[i].used && c->requests[i].id == id)
			return &c->requests[i];
	return NULL;
}

static struct request *free_request(struct client *c)
{
	for (size_t i = 0; i < SLOTS; i++)
		if (!c->requests[i].used)
			return &c->requests[i];
	return NULL;
}

static int take_request(struct client *c, struct unpack *u, int body_fd, struct err *err)
{
	uint32_t id = unpack_u32(u);
	uint8_t endpoint = unpack_u8(u), route = unpack_u8(u);
	struct request *q = free_request(c);
	struct err why = { 0 };

	if (!unpack_done(u) || client_request(c, id))
		return err_set(err, ERR_PROTOCOL, "a request is malformed or reuses an id");
	BUG_IF(!q); /* the channel is not read without a free slot */
	*q = (struct request){ .c = c, .used = true, .id = id, .out = BUF_MAX(PIECE_MAX),
		.head.retry_after_ms = -1 };
	if (start_request(q, endpoint, route, body_fd, &why) < 0) {
		client_end_request(q, NET_REFUSED, "%s", why.msg);
		client_stop_request(q);
	}
	return 0;
}

static int take_post(struct client *c, struct unpack *u, int args_fd, struct err *err)
{
	uint32_t id = unpack_u32(u);
	uint8_t endpoint = unpack_u8(u);
	struct request *q = free_request(c);
	struct err why = { 0 };
	int r;

	/* Numbers that do not grow end the agent: a verdict on its way must never meet another call. */
	if (u->bad || client_request(c, id) || id <= c->last_post)
		return err_set(err, ERR_PROTOCOL, "a post is malformed, or its id is not above those before");
	c->last_post = id;
	BUG_IF(!q);
	*q = (struct request){ .c = c, .used = true, .id = id, .out = BUF_MAX(PIECE_MAX), .head.retry_after_ms = -1, .post = true };
	r = client_post(q, endpoint, u, args_fd, &why);
	if (r == -ERR_PROTOCOL) {
		request_fini(q);
		*err = why;
		return r;
	}
	if (r < 0) {
		client_end_request(q, NET_REFUSED, "%s", why.msg);
		client_stop_request(q);
	}
	return 0;
}

static int take_cancel(struct client *c, struct unpack *u, struct err *err)
{
	struct request *q = client_request(c, unpack_u32(u));

	if (!unpack_done(u))
		return err_set(err, ERR_PROTOCOL, "a cancel is malformed");
	if (!q || q->over)
		return 0; /* it crossed the end on its way */
	buf_clear(&q->out);
	client_end_request(q, NET_CANCELLED, "cancelled");
	client_stop_request(q);
	return 0;
}

static int read_agent(struct client *c, struct err *err)
{
	autoclose int body = -1;
	struct unpack u;
	int r = chan_recv(c->agent, &c->msg, err);

	if (r == -ERR_BUSY)
		return 0;
	TRY(r);
	if (wire_check(LINK_CLIENT_AGENT, WIRE_UP, c->msg.type, c->msg.body.n, c->msg.nfds, err) < 0) {
		chan_msg_fini(&c->msg);
		return -ERR_PROTOCOL;
	}
	body = chan_take_fd(&c->msg, 0);
	u = unpack_from(c->msg.body);
	if (c->msg.type == WIRE_POST)
		return take_post(c, &u, body, err);
	return c->msg.type == WIRE_REQ ? take_request(c, &u, body, err) : take_cancel(c, &u, err);
}

/* The agent has read: what waited goes on. */
static int drain(struct client *c, struct err *err)
{
	c->blocked = false;
	for (size_t i = 0; i < SLOTS && !c->blocked; i++) {
		struct request *q = &c->requests[i];

		if (!q->used)
			continue;
		settle(q);
		if (!q->used || c->blocked || !q->paused)
			continue;
		q->paused = false;
		if (q->transfer)
			transfer_go_on(q->transfer);
		else if (q->playing)
			TRY(loop_after(c->loop, 0, on_request_timer, q, err));
	}
	return 0;
}

static int on_agent(void *self, uint32_t events, struct err *err)
{
	struct client *c = self;

	if (events & EPOLLOUT)
		TRY(drain(c, err));
	if (c->agent >= 0 && (events & EPOLLIN) && free_slots(c) > 0) {
		if (read_agent(c, ERR_DISCARD) < 0) /* gone, or it broke a rule: dropped, never answered */
			drop_agent(c);
	} else if (c->agent >= 0 && (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))) {
		drop_agent(c);
	}
	return client_watch_agent(c, err);
}

/* --- opening --- */

static int open_all(struct client *c, const struct client_spec *spec, struct err *err)
{
	TRY(chan_nonblock(c->agent, err));
	if (spec->recording.n > 0)
		TRY(recording_parse(spec->recording, &c->recording, err));
	for (size_t i = 0; i < spec->table->n; i++) {
		const struct endpoint *e = &spec->table->p[i];

		if (e->kind == ENDPOINT_RECORDING && c->recording.answers == 0)
			return err_set(err, ERR_INVALID, "there is no recording to play");
		if (live_init(&c->live[i], e, c->broker >= 0, &c->stores, err) < 0)
			return err_wrap(err, "provider " STR_FMT, STR_ARG(e->name));
	}
	for (size_t i = 0; i <= c->stores.n; i++)
		TRY(transfers_open(c->loop, &c->transfers[i], err));
	return c->broker >= 0 ? chan_nonblock(c->broker, err) : 0;
}

int client_open(const struct client_spec *spec, struct loop *loop, struct client **out, struct err *err)
{
	struct client *c = mem_alloc(sizeof(*c));
	int r;

	BUG_IF(spec->table->n > ENDPOINTS_MAX);
	c->loop = loop;
	c->table = spec->table;
	c->agent = spec->agent_fd;
	c->tokens = spec->tokens_fd;
	c->monitor = spec->monitor_fd;
	c->broker = spec->broker_fd;
	for (size_t i = 0; i < SLOTS; i++)
		c->requests[i].c = c;
	if (spec->table->proxy.n > 0) {
		c->proxy = live_cstr(spec->table->proxy);
		c->no_proxy = live_cstr(spec->table->no_proxy);
	}
	r = open_all(c, spec, err);
	if (r < 0) {
		client_close(c);
		return r;
	}
	*out = c;
	return 0;
}

int client_serve(struct client *c, struct err *err)
{
	if (c->tokens >= 0)
		TRY(loop_watch(c->loop, c->tokens, EPOLLIN | EPOLLRDHUP, client_on_tokens, c, err));
	return client_watch_agent(c, err);
}

void client_close(struct client *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		if (c->requests[i].used)
			request_fini(&c->requests[i]);
	if (c->watching && c->agent >= 0)
		loop_unwatch(c->loop, c->agent);
	if (c->tokens >= 0) {
		loop_unwatch(c->loop, c->tokens);
		close(c->tokens);
	}
	for (size_t i = 0; i < COUNT(c->live); i++)
		live_fini(&c->live[i]);
	for (size_t i = 0; i < COUNT(c->transfers); i++)
		transfers_close(c->transfers[i]);
	stores_fini(&c->stores);
	if (c->agent >= 0)
		close(c->agent);
	if (c->broker >= 0)
		close(c->broker);
	free(c->proxy);
	free(c->no_proxy);
	free(c);
}
