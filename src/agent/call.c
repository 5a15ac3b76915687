/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/call_priv.h"
#include "base/time.h"
#include "fmt/pack.h"

#include <sys/random.h>

#define REQUEST_MAX ((size_t)128 * 1024 * 1024)
#define RAW_MAX     ((size_t)8 * 1024 * 1024) /* of an answer, kept for the record */
/* JSON may write a byte as six: an event must fit EVENT_JSON_MAX all the same. */
#define TEXT_MAX  40000 /* of an answer's text, in its event */
#define DELTA_MAX 32768
#define SHOWN_MAX RAW_MAX /* waiting to be shown */
#define UNREACHED_ATTEMPTS 2 /* of an endpoint that has never answered */
#define SHORT_MAX 200     /* of an error, in an event */

void call_fini(struct call_live *v)
{
	reply_free(v->stream);
	buf_fini(&v->request);
	buf_fini(&v->raw);
	buf_fini(&v->text);
	buf_fini(&v->thinking);
	buf_fini(&v->detail);
}
#define auto_live CLEANUP(call_fini)

static void on_text(void *self, struct str piece)
{
	/* Shown only: what does not fit is in the result anyway. */
	(void)!buf_add(&((struct call_live *)self)->text, piece, ERR_DISCARD);
}

static void on_thinking(void *self, struct str piece)
{
	(void)!buf_add(&((struct call_live *)self)->thinking, piece, ERR_DISCARD);
}

static int show_piece(struct caller *c, const struct call_live *v, enum event_id id, struct str piece, struct err *err)
{
	auto_note struct note n = NOTE;

	note_z(&n, "role", v->role);
	note_str(&n, "text", piece);
	return note_send(&n, c->keep, id, err);
}

static int show(struct caller *c, const struct call_live *v, enum event_id id, struct buf *text, struct err *err)
{
	bool unsynced = c->keep->unsynced;

	for (struct str rest = buf_str(text); rest.n > 0;) {
		struct str piece = str_head(rest, utf8_head(rest, DELTA_MAX));

		TRY(show_piece(c, v, id, piece, err));
		rest = str_skip(rest, piece.n);
	}
	buf_clear(text);
	c->keep->unsynced = unsynced; /* a delta is nothing that a barrier must wait for */
	return 0;
}

static int take_head(struct call_live *v, struct unpack *u)
{
	v->status = (int)unpack_u32(u);
	v->retry_after_ms = unpack_i64(u);
	unpack_u8(u);
	if (unpack_done(u)) {
		struct reply_head head = REPLY_HEAD(v->status);

		head.retry_after_ms = v->retry_after_ms;
		reply_head(v->stream, head);
	}
	return 0;
}

static int take_data(struct caller *c, struct call_live *v, struct unpack *u, struct err *err)
{
	struct str bytes = unpack_str(u);

	if (!unpack_done(u))
		return 0;
	v->total += bytes.n;
	TRY(buf_add(&v->raw, str_head(bytes, v->raw.max - v->raw.n), err));
	reply_feed(v->stream, bytes);
	TRY(show(c, v, EVENT_ROLE_THINKING, &v->thinking, err));
	return show(c, v, EVENT_ROLE_TEXT, &v->text, err);
}

static int take_end(struct call_live *v, struct unpack *u, struct err *err)
{
	static const struct {
		enum net_outcome outcome;
		enum reply_over how;
	} ends[] = { { NET_OK, OVER_EOF }, { NET_TIMEOUT, OVER_TIMEOUT }, { NET_UNTRUSTED, OVER_REFUSED },
		{ NET_REFUSED, OVER_REFUSED }, { NET_LIMIT, OVER_REFUSED } };
	uint8_t outcome = unpack_u8(u);

	v->over = true;
	v->unreached = outcome == NET_DNS || outcome == NET_CONNECT;
	v->how = OVER_NETWORK;
	for (size_t i = 0; i < COUNT(ends); i++)
		if (ends[i].outcome == outcome)
			v->how = ends[i].how;
	return buf_add_utf8(&v->detail, unpack_str(u), err);
}

static struct call_live *find_live(struct caller *c, uint32_t id)
{
	for (size_t i = 0; i < c->nlive; i++)
		if (c->live[i].id == id && id != 0)
			return &c->live[i];
	return NULL;
}

static int on_client(void *self, struct chan_msg *m, struct err *err)
{
	struct caller *c = self;
	struct unpack u = unpack_from(m->body);
	uint32_t id = unpack_u32(&u);
	struct call_live *v = find_live(c, id);

	if (id >= CALLER_IDS)
		return c->on_post ? c->on_post(c->post_self, m, id, err) : 0;
	if (!v || v->over) /* the rest of a call that was given up */
		return 0;
	if (m->type == WIRE_HEAD)
		TRY(take_head(v, &u));
	else if (m->type == WIRE_DATA)
		TRY(take_data(c, v, &u, err));
	else
		TRY(take_end(v, &u, err));
	return unpack_done(&u) ? 0 : err_set(err, ERR_PROTOCOL, "%s with a wrong body", wire_name(m->type));
}

void caller_init(struct caller *c, struct links *l, struct keep *k)
{
	*c = (struct caller){ .links = l,
		.keep = k,
		.spec = MODEL_SPEC,
		.request = BUF_MAX(REQUEST_MAX),
		.previous = BUF_MAX(REQUEST_MAX) };
	links_serve(l, PEER_CLIENT, on_client, c);
}

void caller_fini(struct caller *c)
{
	usage_fini(&c->totals);
	buf_fini(&c->request);
	buf_fini(&c->previous);
}

/* A server that moved us to its other wire is asked at its other address, which is the next endpoint. */
static uint8_t endpoint_of(const struct caller *c)
{
	return (uint8_t)(c->endpoint + ((c->spec.adapted & ADAPT_RESPONSES) ? 1 : 0));
}

static int send_request(struct caller *c, const struct call_live *v, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(64);
	autoclose int fd = -1;

	TRY(memfd_seal("request", buf_str(&v->request), &fd, err));
	pack_u32(&body, v->id);
	pack_u8(&body, endpoint_of(c));
	pack_u8(&body, ROUTE_CHAT);
	TRY(pack_ok(&body, err));
	return links_send(c->links, PEER_CLIENT, WIRE_REQ, buf_str(&body), &fd, 1, err);
}

static int cancel(struct caller *c, struct call_live *v, enum reply_over how, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(16);

	v->over = true;
	v->how = how;
	pack_u32(&body, v->id);
	TRY(pack_ok(&body, err));
	return links_send(c->links, PEER_CLIENT, WIRE_CANCEL, buf_str(&body), NULL, 0, err);
}

/* Nothing of substance came for too long: a server may keep a connection alive with heartbeats for ever, which the
 * client, that cannot read them, takes for life. */
static int64_t left_ms(struct call_live *v)
{
	if (reply_beats(v->stream) != v->beats) {
		v->beats = reply_beats(v->stream);
		v->beat_ms = time_mono_ms();
	}
	return v->beat_ms + reply_idle_ms(v->stream) - time_mono_ms();
}

int call_await(struct caller *c, struct err *err)
{
	for (;;) {
		int64_t wait = INT64_MAX;

		for (size_t i = 0; i < c->nlive; i++) {
			struct call_live *v = &c->live[i];
			int64_t left = v->over ? 0 : left_ms(v);

			if (v->over)
				continue;
			if (links_interrupted(c->links))
				TRY(cancel(c, v, OVER_STOPPED, err));
			else if (reply_is_done(v->stream))
				TRY(cancel(c, v, OVER_EOF, err));
			else if (left <= 0)
				TRY(cancel(c, v, OVER_TIMEOUT, err));
			else
				wait = left < wait ? left : wait;
		}
		if (wait == INT64_MAX)
			return 0;
		TRY(links_wait(c->links, PEER_CLIENT, wait, err));
	}
}

static size_t common_prefix(struct str a, struct str b)
{
	size_t n = 0;

	while (n < a.n && n < b.n && a.p[n] == b.p[n])
		n++;
	while (n > 0 && n < b.n && ((unsigned char)b.p[n] & 0xc0) == 0x80) /* not inside a character */
		n--;
	return n;
}

/* A request repeats all before it, so the record keeps where it parts from the previous one and the
 * rest; the first transcript of a leg has it all. */
/* How the request was made: what replay needs beside the conversation. */
static void note_spec(struct note *n, const struct caller *c)
{
	const struct model_spec *s = &c->spec;
	auto_note struct note o = NOTE;

	note_z(&o, "wire", api_wire_name(s->wire));
	note_int(&o, "deployment", s->deployment);
	note_bool(&o, "openai_host", s->openai_host);
	note_z(&o, "effort", api_effort_name(s->effort));
	note_num(&o, "temperature", s->temperature);
	note_int(&o, "max_tokens", s->max_tokens);
	note_bool(&o, "prompt_caching", s->prompt_caching);
	note_str(&o, "extra_body", s->extra_body);
	note_bool(&o, "recover_text_calls", s->recover_text_calls);
	note_bool(&o, "think_tags", s->think_tags);
	note_int(&o, "adapted", s->adapted);
	note_bool(&o, "no_calls", c->no_calls);
	note_json(n, "spec", note_text(&o));
	n->bad = n->bad || o.bad;
}

static int write_transcript(struct caller *c, const struct call_live *v, const char *outcome, size_t same, bool whole,
	struct err *err)
{
	auto_note struct note n = NOTE, req = NOTE, res = NOTE;

	note_int(&req, "prefix", whole ? (int64_t)same : 0);
	note_str(&req, "text", whole ? str_skip(buf_str(&c->request), same) : STR(""));
	note_int(&res, "status", v->status);
	if (v->retry_after_ms >= 0)
		note_int(&res, "retry_after_ms", v->retry_after_ms);
	note_z(&res, "outcome", outcome);
	note_int(&res, "bytes", (int64_t)v->total);
	note_str(&res, "body", whole ? buf_str(&v->raw) : STR(""));
	note_z(&n, "seat", v->role);
	note_int(&n, "endpoint", endpoint_of(c));
	note_str(&n, "model", c->spec.model);
	note_spec(&n, c);
	note_bool(&n, "left_out", !whole);
	note_json(&n, "request", note_text(&req));
	note_json(&n, "response", note_text(&res));
	n.bad = n.bad || req.bad || res.bad;
	return note_put(&n, c->keep, RECORD_TRANSCRIPT, c->transcript, v->role, err);
}

static int put_transcript(struct caller *c, const struct call_live *v, const char *outcome, struct err *err)
{
	size_t same = common_prefix(buf_str(&c->previous), buf_str(&c->request));
	struct buf swap = c->previous;
	bool whole = true;
	int r = write_transcript(c, v, outcome, same, whole, err);

	if (r == -ERR_LIMIT) { /* larger than a record may be: that it was so is kept */
		whole = false;
		r = write_transcript(c, v, outcome, same, whole, err);
	}
	c->transcript++;
	c->previous = c->request;
	c->request = swap;
	if (!whole) /* the next one cannot stand on it */
		buf_clear(&c->previous);
	return r;
}

static void note_cap(struct note *n, const char *key, int64_t v)
{
	if (v >= 0)
		note_int(n, key, v);
}

void caller_note_budget(struct note *n, const struct usage_totals *t, const struct budget *b)
{
	bool complete = true;
	int64_t microusd = usage_microusd(t, &complete), calls = 0, read = 0, written = 0;

	for (size_t i = 0; i < t->n; i++) {
		calls += t->p[i].calls;
		read += t->p[i].cache_read;
		written += t->p[i].cache_write;
	}
	note_int(n, "input_total", usage_input(t));
	note_int(n, "output_total", usage_output(t));
	note_cap(n, "input_cap", b->max_input_tokens);
	note_cap(n, "output_cap", b->max_output_tokens);
	if (microusd >= 0 && usage_price_known(t))
		note_num(n, "usd_total", (double)microusd / 1e6);
	note_bool(n, "usd_partial", !complete);
	if (b->max_microusd >= 0)
		note_num(n, "usd_cap", (double)b->max_microusd / 1e6);
	note_int(n, "cache_read_total", read);
	note_int(n, "cache_creation_total", written);
	note_int(n, "calls", calls);
}

static int put_budget(struct caller *c, struct err *err)
{
	auto_note struct note n = NOTE;

	caller_note_budget(&n, &c->totals, &c->budget);
	return note_send(&n, c->keep, EVENT_BUDGET_UPDATE, err);
}

void caller_note_result(struct note *n, struct str role, const struct reply *r, const struct provider_fault *f)
{
	note_str(n, "role", role);
	note_bool(n, "ok", !f);
	if (f) {
		note_str(n, "error",
			str_head(str_from(f->message), utf8_head(str_from(f->message), SHORT_MAX)));
	} else {
		note_str(n, "text", str_head(r->text, utf8_head(r->text, TEXT_MAX)));
		note_z(n, "stop_reason", reply_stop_name(r->stop));
		note_int(n, "reasoning_chars", (int64_t)r->thinking.n);
	}
	note_int(n, "tokens_in", r->usage.input);
	note_int(n, "tokens_out", r->usage.output);
	note_int(n, "cache_read", r->usage.cache_read);
	note_int(n, "cache_creation", r->usage.cache_write);
}

static int put_result(struct caller *c, const struct call_live *v, const struct reply *r, const struct provider_fault *f,
	struct err *err)
{
	auto_note struct note n = NOTE;

	caller_note_result(&n, str_from(v->role), r, f);
	note_int(&n, "transcript", (int64_t)c->transcript - 1); /* it was written just before */
	note_num(&n, "duration_s", (double)(time_mono_ms() - v->started_ms) / 1000);
	TRY(note_send(&n, c->keep, EVENT_ROLE_RESULT, err));
	return put_budget(c, err);
}

static int put_call(struct caller *c, const char *role, struct err *err)
{
	auto_note struct note n = NOTE;

	note_z(&n, "role", role);
	note_str(&n, "model", c->spec.model);
	note_str(&n, "provider", c->provider);
	return note_send(&n, c->keep, EVENT_ROLE_CALL, err);
}

static void fault_set(struct provider_fault *f, enum provider_fault_kind kind, const char *what)
{
	*f = (struct provider_fault){ .kind = kind, .retryable = true, .retry_after_ms = -1 };
	snprintf(f->message, sizeof(f->message), "%s", what);
}

static int put_warning(struct caller *c, const char *text, struct err *err)
{
	auto_note struct note n = NOTE;

	note_z(&n, "level", "warning");
	note_z(&n, "text", text);
	return note_send(&n, c->keep, EVENT_RUN_NOTICE, err);
}

/* What the operator should know about how this server counts; each is said once a run. */
static int tell_counts(struct caller *c, bool estimated, bool cut, struct err *err)
{
	if (estimated && !c->told_estimates) {
		c->told_estimates = true;
		TRY(put_warning(c, "the server reports no token counts: they are estimated from the length of the texts, and "
				   "the budget with them", err));
	}
	if (!cut || c->told_cut)
		return 0;
	c->told_cut = true;
	return put_warning(c, "the request grew and the server counted no more tokens: it seems to cut the conversation to its "
			      "window without a word, and the model forgets its task. Give the server a larger window "
			      "(Ollama: OLLAMA_CONTEXT_LENGTH=65536), and set models.worker.context_tokens to it", err);
}

bool caller_estimate(struct reply *r, size_t sent)
{
	size_t got = r->text.n + r->thinking.n;

	for (size_t i = 0; i < r->ncalls; i++)
		got += r->calls[i].name.n + r->calls[i].args.n;
	return usage_estimate(&r->usage, sent, got);
}

void caller_book(struct caller *c, struct str model, const struct model_facts *facts, const struct reply *r, size_t sent, bool whole)
{
	if (whole || r->usage.known)
		usage_add(&c->totals, model, facts, &r->usage);
	if (whole)
		c->forecast = (struct usage_forecast){ sent, r->usage };
}

static int count(struct caller *c, struct reply *out, bool whole, struct err *err)
{
	size_t sent = c->request.n - c->unweighed;
	bool estimated = whole && caller_estimate(out, sent);
	/* Anthropic itself refuses what is too long. A server on this machine that speaks its wire may cut as with the others. */
	bool honest = c->spec.wire == API_ANTHROPIC && !c->spec.local;
	bool cut = whole && !estimated && !honest && usage_was_cut(&c->forecast, sent, &out->usage);

	caller_book(c, c->spec.model, &c->facts, out, sent, whole);
	return tell_counts(c, estimated, cut, err);
}

static int put_refused(struct caller *c, const char *role, size_t in_flight, struct err *err)
{
	auto_note struct note n = NOTE;

	note_z(&n, "role", role);
	note_int(&n, "bytes", (int64_t)(c->request.n - c->unweighed));
	note_int(&n, "in_flight", (int64_t)in_flight);
	return note_send(&n, c->keep, EVENT_BUDGET_REFUSED, err);
}

/* A bound is looked at before each request, with what the request itself will take. */
static int check_budget(struct caller *c, const char *role, struct err *err)
{
	struct usage next = usage_next(&c->forecast, c->request.n - c->unweighed);
	size_t in_flight = 0;

	/* What is in flight already will be booked before this one is. */
	for (size_t i = 0; i < c->nlive; i++)
		if (c->live[i].id != 0) {
			struct usage more = usage_next(&c->forecast, c->live[i].request.n - c->live[i].unweighed);

			next.input += more.input;
			next.cache_read += more.cache_read;
			in_flight++;
		}
	int r = budget_check(&c->budget, &c->totals, &next, &c->facts, err);

	c->over_budget = r < 0;
	if (r < 0)
		TRY(put_refused(c, role, in_flight, ERR_DISCARD)); /* the bound is what is told */
	return r;
}

/* What to do is told with the provider's own name. */
static void name_provider(const struct caller *c, struct provider_fault *f)
{
	static const struct {
		enum provider_fault_kind kind;
		const char *before, *after; /* the provider stands between them */
	} hints[] = {
		{ FAULT_AUTH, "check the key: agent6 connect ", "" },
		{ FAULT_PERMISSION, "check what the key may do; agent6 connect ", " stores another" },
		{ FAULT_PAGE, "correct providers.", ".base_url: it is the address of the API itself, such as https://host/v1" },
		{ FAULT_NOT_FOUND, "check the model's name and base_url; agent6 model worker ", " lists what is offered" },
	};

	for (size_t i = 0; i < COUNT(hints); i++)
		if (hints[i].kind == f->kind && c->provider.n > 0)
			snprintf(f->hint, sizeof(f->hint), "%s" STR_FMT "%s", hints[i].before,
				STR_ARG(str_head(c->provider, 64)), hints[i].after);
	if (f->kind == FAULT_PAGE && c->provider.n > 0) {
		struct provider_fault was = *f;

		snprintf(f->message, sizeof(f->message), "provider " STR_FMT ": %.900s", STR_ARG(str_head(c->provider, 64)), was.message);
	}
	if (f->kind == FAULT_PAGE && (f->status == 401 || f->status == 403) && c->provider.n > 0)
		snprintf(f->hint, sizeof(f->hint), "is providers." STR_FMT ".base_url the address of the API itself? if it is, check the key: agent6 connect "
			STR_FMT, STR_ARG(str_head(c->provider, 48)), STR_ARG(str_head(c->provider, 48)));
}

/* A turn that came whole may still be none that we can go on with. */
static int judge(const struct reply *r, struct provider_fault *f)
{
	if (!reply_is_empty(r))
		return 0;
	fault_set(f, FAULT_EMPTY, "the answer promised a tool call and held none");
	return -ERR_REMOTE;
}

int call_begin(struct caller *c, struct call_live *v, const char *role, struct conversation *conv, struct str tools,
	struct arena *mem, struct err *err)
{
	const struct reply_watch watch = { on_text, on_thinking, v };
	const struct request_options opts = { .no_tools = c->no_calls };

	*v = (struct call_live){ .role = role,
		.raw = BUF_MAX(RAW_MAX),
		.text = BUF_MAX(SHOWN_MAX),
		.thinking = BUF_MAX(SHOWN_MAX),
		.detail = BUF_MAX(16384),
		.retry_after_ms = -1,
		.started_ms = time_mono_ms() };
	v->stream = reply_new(&c->spec, tools, &watch, mem);
	v->beat_ms = v->started_ms;
	v->beats = reply_beats(v->stream);
	reply_number_calls(v->stream, conversation_count(conv));
	buf_clear(&c->request);
	TRY(request_encode(&c->spec, conv, &opts, &c->request, err));
	c->unweighed = request_unweighed(&c->spec, conv);
	TRY(check_budget(c, role, err));
	TRY(put_call(c, role, err));
	TRY(keep_barrier_begin(c->keep, err));
	v->request = c->request;
	v->unweighed = c->unweighed;
	c->request = BUF_MAX(REQUEST_MAX);
	v->id = ++c->last_id;
	return send_request(c, v, err);
}

int call_end(struct caller *c, struct call_live *v, struct reply *out, struct provider_fault *fault, bool *again,
	struct err *err)
{
	int done = reply_end(v->stream, v->how, buf_str(&v->detail), out, fault);

	buf_fini(&c->request);
	c->request = v->request;
	c->unweighed = v->unweighed;
	v->request = BUF_MAX(0);
	TRY(count(c, out, done == 0, err));
	if (done == 0)
		done = judge(out, fault);
	c->reached = c->reached || v->status > 0 || !v->unreached;
	if (done < 0)
		name_provider(c, fault);
	/* The transcript first: a journal that tells of an answer has the answer behind it. */
	TRY(put_transcript(c, v, done < 0 ? provider_fault_name(fault->kind) : "ok", err));
	TRY(put_result(c, v, out, done < 0 ? fault : NULL, err));
	*again = done < 0 && model_adapt(&c->spec, v->status, buf_str(&v->raw));
	return done < 0 ? err_set(err, ERR_REMOTE, "%s", fault->message) : 0;
}

static int attempt(struct caller *c, const char *role, struct conversation *conv, struct str tools,
	struct arena *mem, struct reply *out, struct provider_fault *fault, bool *again, struct err *err)
{
	auto_live struct call_live v = { 0 };
	int r;

	*again = c->over_budget = false;
	*out = (struct reply){ 0 };
	c->live = &v;
	r = call_begin(c, &v, role, conv, tools, mem, err);
	c->nlive = 1;
	if (r == 0)
		r = call_await(c, err);
	if (r == 0)
		r = keep_barrier_await(c->keep, err); /* long over, unless the disk is slower than the model */
	if (r == 0)
		r = call_end(c, &v, out, fault, again, err);
	c->live = NULL;
	c->nlive = 0;
	return r;
}

static double jitter(void)
{
	uint32_t v = 0;

	if (getrandom(&v, sizeof(v), GRND_NONBLOCK) != (ssize_t)sizeof(v))
		v = UINT32_MAX / 2;
	return (double)v / 4294967296.0;
}

static int put_retry(
	struct caller *c, const struct provider_fault *f, int attempt_no, int64_t wait_ms, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "attempt", attempt_no);
	if (f->kind == FAULT_EMPTY)
		return note_send(&n, c->keep, EVENT_PROVIDER_EMPTY, err);
	note_str(&n, "error", str_head(str_from(f->message), utf8_head(str_from(f->message), SHORT_MAX)));
	note_int(&n, "wait_ms", wait_ms);
	note_int(&n, "status_code", f->status);
	return note_send(&n, c->keep, EVENT_PROVIDER_RETRY, err);
}

int caller_put_fatal(struct caller *c, const struct provider_fault *f, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "status_code", f->status);
	note_z(&n, "error", f->message);
	return note_send(&n, c->keep, EVENT_PROVIDER_FATAL, err);
}

/* Between two attempts no step is under way, so either kind of stop ends the wait. */
static int wait_until(struct caller *c, int64_t until_ms, struct err *err)
{
	for (int64_t now; (now = time_mono_ms()) < until_ms;) {
		if (c->links->stop || c->links->pause)
			return err_set(err, ERR_STOPPED, "the operator stopped the run");
		TRY(links_pump(c->links, until_ms - now, err));
	}
	return 0;
}

/* After attempt n failed: 0 to try again, the time for it having come; 1 when the quiet turn is the loop's to handle. */
static int after_fault(struct caller *c, const struct provider_fault *fault, int n, struct err *err)
{
	int64_t wait_ms = n >= UNREACHED_ATTEMPTS && !c->reached ? -1 : retry_delay_ms(fault, n, jitter());

	if (fault->kind == FAULT_STOPPED)
		return err_set(err, ERR_STOPPED, "the operator stopped the run");
	if (wait_ms < 0 && fault->kind == FAULT_EMPTY)
		return 1;
	if (wait_ms < 0) {
		if (fault->kind != FAULT_OVERFLOW && fault->kind != FAULT_TOO_LARGE)
			TRY(caller_put_fatal(c, fault, err));
		return err_set(err, ERR_REMOTE, "%s", fault->message);
	}
	TRY(put_retry(c, fault, n, wait_ms, err));
	return wait_until(c, time_mono_ms() + wait_ms, err);
}

/* Being taught a server's dialect is no failure; each lesson comes once. */
int call_again(struct caller *c, const char *role, struct conversation *conv, struct str tools, struct arena *mem,
	struct reply *out, struct provider_fault *fault, bool again, struct err *err)
{
	for (int n = 1;;) {
		int r;

		if (!again || fault->kind == FAULT_STOPPED) {
			TRY(r = after_fault(c, fault, n++, err));
			if (r == 1)
				return 0;
		}
		r = attempt(c, role, conv, tools, mem, out, fault, &again, err);
		if (r != -ERR_REMOTE)
			return r;
	}
}

int caller_ask(struct caller *c, const char *role, struct conversation *conv, struct str tools,
	struct arena *mem, struct reply *out, struct provider_fault *fault, struct err *err)
{
	bool again;
	int r;

	if (c->play) {
		*out = (struct reply){ 0 };
		return c->play(c->play_self, role, mem, out, err);
	}
	r = attempt(c, role, conv, tools, mem, out, fault, &again, err);
	return r == -ERR_REMOTE ? call_again(c, role, conv, tools, mem, out, fault, again, err) : r;
}
