/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/reply.h"
#include "provider/reply_priv.h"
#include "provider/turn_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define IDLE_FIRST_MS    120000 /* until the first output: a long prompt is being read */
#define IDLE_LOCAL_MS    600000 /* by a processor, at tens of tokens a second */
#define IDLE_OUTPUT_MS   45000
#define IDLE_THOUGHTS_MS 300000
#define ERROR_BODY_MAX   ((size_t)1024 * 1024)

static const char *const stop_names[STOP_COUNT] = {
#define X(value, word) [value] = word,
	REPLY_STOPS(X)
#undef X
};

const char *reply_stop_name(enum reply_stop stop)
{
	return stop_names[stop];
}

const struct wire *wire_get(enum api_wire wire)
{
	static const struct wire *const wires[API_COUNT] = {
		[API_ANTHROPIC] = &wire_anthropic,
		[API_CHAT] = &wire_chat,
		[API_RESPONSES] = &wire_responses,
	};

	return wires[wire];
}

void reply_fail(struct reply_stream *s, enum provider_fault_kind kind, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (s->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	provider_fault_set(&s->fault, kind, 0, str_from(text));
	s->failed = true;
}

void reply_fail_with(struct reply_stream *s, struct str body)
{
	if (s->failed)
		return;
	provider_fault_classify(&s->fault, s->head.status, s->head.retry_after_ms, s->head.should_retry, body);
	s->failed = true;
}

struct block *reply_block_new(struct reply_stream *s, enum block_kind kind)
{
	struct block *b;

	if (s->blocks.n == REPLY_BLOCKS_MAX) {
		reply_fail(s, FAULT_PROTOCOL, "an answer of more than %d parts", REPLY_BLOCKS_MAX);
		return NULL;
	}
	b = vec_new(&s->blocks);
	*b = (struct block){
		.kind = kind,
		.start = BUF_MAX(2 * REPLY_LINE_MAX),
		.text = BUF_MAX(2 * REPLY_BYTES_MAX),
		.signature = BUF_MAX(REPLY_LINE_MAX),
		.id = BUF_MAX(REPLY_LINE_MAX),
		.name = BUF_MAX(REPLY_LINE_MAX),
		.extra = BUF_MAX(REPLY_LINE_MAX),
		.key = BUF_MAX(REPLY_LINE_MAX),
	};
	return b;
}

static void block_fini(struct block *b)
{
	buf_fini(&b->start);
	buf_fini(&b->text);
	buf_fini(&b->signature);
	buf_fini(&b->id);
	buf_fini(&b->name);
	buf_fini(&b->extra);
	buf_fini(&b->key);
}

/* Hands the watcher what it has not seen of b, up to `limit`. */
static void show(struct reply_stream *s, struct block *b, size_t limit)
{
	void (*tell)(void *, struct str) = b->kind == BLOCK_TEXT ? s->watch.on_text : s->watch.on_thinking;
	auto_buf struct buf piece = BUF_MAX(2 * REPLY_BYTES_MAX);

	if (limit <= b->shown || b->kind > BLOCK_THINKING)
		return;
	if (tell && buf_add(&piece, str_of(b->text.p + b->shown, limit - b->shown), ERR_DISCARD) == 0) {
		jtext_repair(&piece, 0);
		tell(s->watch.self, buf_str(&piece));
	}
	b->shown = limit;
}

static bool may_recover(const struct reply_stream *s)
{
	return s->spec->recover_text_calls && s->spec->wire == API_CHAT && s->tools.n > 0;
}

void reply_block_show(struct reply_stream *s, struct block *b)
{
	struct str all = buf_str(&b->text);
	size_t limit = jtext_whole(all);

	if (b->kind == BLOCK_TEXT && may_recover(s))
		limit = reply_recover_showable(str_head(all, limit), b->shown);
	show(s, b, limit);
}

void reply_block_text(struct reply_stream *s, struct block *b, struct jval piece)
{
	if (piece.type != JSCAN_STRING || piece.text.n == 2)
		return;
	if (jval_add_text(&b->text, piece, b->kind == BLOCK_CALL ? NUL_KEEP : NUL_REPLACE, ERR_DISCARD) < 0) {
		reply_fail(s, FAULT_PROTOCOL, "an answer larger than %zu MiB", REPLY_BYTES_MAX >> 20);
		return;
	}
	reply_block_show(s, b);
}

void reply_put(struct reply_stream *s, struct buf *to, struct jval string)
{
	if (string.type != JSCAN_STRING || string.text.n == 2)
		return;
	buf_clear(to);
	if (jval_add_text(to, string, NUL_REPLACE, ERR_DISCARD) < 0)
		reply_fail(s, FAULT_PROTOCOL, "a name of more than %zu bytes", to->max);
	jtext_repair(to, 0);
}

void reply_counter(struct reply_stream *s, struct jval number, enum usage_known which, int64_t *to)
{
	int64_t n;

	if (!jval_to_i64(number, &n))
		return;
	*to = n > 0 ? n : 0;
	s->usage.known |= which;
}

void reply_settle(struct reply_stream *s, int64_t prompt, struct jval cost)
{
	double usd;

	if (s->usage.cache_read > prompt)
		s->usage.cache_read = prompt;
	if (s->usage.cache_write > prompt - s->usage.cache_read)
		s->usage.cache_write = prompt - s->usage.cache_read;
	s->usage.input = prompt - s->usage.cache_read - s->usage.cache_write;
	if (jval_to_f64(cost, &usd) && usd > 0 && usd < 1e6) {
		s->usage.cost_picousd = (int64_t)(usd * 1e12 + 0.5);
		s->usage.known |= USAGE_COST;
	}
}

bool reply_act(struct reply_stream *s, struct str name, struct jval ev, const struct reply_event *rows, size_t n)
{
	struct jval type = jval_get(ev, "type");

	for (size_t i = 0; i < n; i++) {
		bool fits = type.type == JSCAN_STRING ? jval_is(type, rows[i].type) : str_eqz(name, rows[i].type);

		if (!fits)
			continue;
		s->beats++;
		rows[i].act(s, ev);
		return true;
	}
	return false;
}

enum reply_stop reply_stop_of(const struct reply_stream *s, const struct reply_word *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eqz(buf_str(&s->stop_raw), rows[i].word))
			return rows[i].stop;
	return STOP_UNKNOWN;
}

static int on_event(void *self, const struct sse_event *ev, struct err *err)
{
	struct reply_stream *s = self;

	(void)err;
	if (!s->done && !s->failed)
		s->wire->on_event(s, ev->name, ev->data);
	return 0;
}

struct reply_stream *reply_new(const struct model_spec *spec, struct str tools, const struct reply_watch *watch,
	struct arena *mem)
{
	struct reply_stream *s = mem_alloc(sizeof(*s));

	*s = (struct reply_stream){
		.spec = spec,
		.wire = wire_get(spec->wire),
		.tools = tools,
		.watch = watch ? *watch : (struct reply_watch){ 0 },
		.mem = mem,
		.head = REPLY_HEAD(200),
		.body = BUF_MAX(REPLY_BYTES_MAX),
		.pending = BUF_MAX(2 * REPLY_BYTES_MAX),
		.details = BUF_MAX(2 * REPLY_BYTES_MAX),
		.stop_raw = BUF_MAX(REPLY_LINE_MAX),
		.model = BUF_MAX(REPLY_LINE_MAX),
		.think = spec->think_tags ? TAG_MAYBE : TAG_NONE,
	};
	sse_init(&s->sse, REPLY_LINE_MAX, on_event, s);
	return s;
}

void reply_free(struct reply_stream *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->blocks.n; i++)
		block_fini(&s->blocks.p[i]);
	vec_fini(&s->blocks);
	sse_fini(&s->sse);
	buf_fini(&s->body);
	buf_fini(&s->pending);
	buf_fini(&s->details);
	buf_fini(&s->stop_raw);
	buf_fini(&s->model);
	free(s);
}

void reply_number_calls(struct reply_stream *s, size_t first)
{
	s->first_call = first;
}

void reply_head(struct reply_stream *s, struct reply_head head)
{
	s->head = head;
	s->head.request_id = str_dup(s->mem, head.request_id);
	if (head.status < 200 || head.status > 299)
		s->form = FORM_ERROR;
}

/* A stream that was asked for may come as one JSON object, or be somebody's web page. */
static void choose_form(struct reply_stream *s)
{
	struct str t = str_trim(str_trim_prefix(buf_str(&s->body), STR("\xEF\xBB\xBF")));
	bool bom_may_come = s->body.n < 3 && s->body.p[0] == '\xEF';

	if (t.n == 0 || bom_may_come)
		return;
	s->form = t.p[0] == '{' || t.p[0] == '[' ? FORM_WHOLE : t.p[0] == '<' ? FORM_PAGE : FORM_STREAM;
}

static void feed_stream(struct reply_stream *s, struct str bytes)
{
	struct err err = { 0 };

	if (sse_feed(&s->sse, bytes, &err) < 0)
		reply_fail(s, FAULT_PROTOCOL, "%s", err.msg);
}

void reply_feed(struct reply_stream *s, struct str bytes)
{
	if (s->failed || s->done || bytes.n == 0)
		return;
	if (s->form == FORM_ERROR) { /* read to its end, kept in part */
		bytes = str_head(bytes, ERROR_BODY_MAX - s->body.n);
		BUG_IF(buf_add(&s->body, bytes, ERR_DISCARD) < 0);
		return;
	}
	if (bytes.n > REPLY_BYTES_MAX - s->fed) {
		reply_fail(s, FAULT_PROTOCOL, "an answer larger than %zu MiB", REPLY_BYTES_MAX >> 20);
		return;
	}
	s->fed += bytes.n;
	if (s->form == FORM_STREAM) {
		feed_stream(s, bytes);
		return;
	}
	BUG_IF(buf_add(&s->body, bytes, ERR_DISCARD) < 0);
	if (s->form == FORM_WHOLE || s->form == FORM_PAGE)
		s->beats++;
	else
		choose_form(s);
	if (s->form == FORM_STREAM) {
		feed_stream(s, buf_str(&s->body));
		buf_fini(&s->body);
	}
}

bool reply_is_done(const struct reply_stream *s)
{
	return s->done || s->failed;
}

uint64_t reply_beats(const struct reply_stream *s)
{
	return s->beats;
}

int64_t reply_idle_ms(const struct reply_stream *s)
{
	if (s->in_thoughts)
		return IDLE_THOUGHTS_MS;
	if (s->output_seen)
		return IDLE_OUTPUT_MS;
	return s->spec->local ? IDLE_LOCAL_MS : IDLE_FIRST_MS;
}

static void end_whole(struct reply_stream *s)
{
	struct jval body = jval_from(str_trim_prefix(buf_str(&s->body), STR("\xEF\xBB\xBF")));

	if (body.type == JSCAN_OBJECT)
		s->wire->on_whole(s, body);
	if (s->done || s->failed)
		return;
	if (provider_has_error(body))
		reply_fail_with(s, buf_str(&s->body));
	else if (body.type == JSCAN_NONE)
		reply_fail(s, FAULT_INCOMPLETE, "stream ended early");
	else
		reply_fail(s, FAULT_PROTOCOL, "the server answered with JSON that holds no message");
}

/* Whoever answers there is not the API, and will not be it a moment later. where: the address, as far as it is told. */
static void fail_page(struct reply_stream *s, struct str where)
{
	s->failed = false;
	reply_fail(s, FAULT_PAGE, STR_FMT " answered HTML, not JSON (status %d)", STR_ARG(where.n > 0 ? str_head(where, 400) : STR("the server")),
		s->head.status);
}

static void end_error(struct reply_stream *s, struct str where)
{
	int status = s->head.status;

	if (status >= 400)
		reply_fail_with(s, buf_str(&s->body));
	else
		reply_fail(s, FAULT_PROTOCOL, "the server answered with status %d", status);
	if (status < 500 && provider_fault_may_be_page(s->fault.kind) && provider_is_page(buf_str(&s->body)))
		fail_page(s, where);
	s->fault.status = status;
}

static void end_page(struct reply_stream *s, struct str where)
{
	if (provider_is_page(buf_str(&s->body)))
		fail_page(s, where);
	else
		reply_fail(s, FAULT_PROTOCOL, "the server answered with something that is no JSON: %.200s", s->body.p);
}

/* Lets everything that is still held back come out, and says what is wrong with it. */
static void finish(struct reply_stream *s, enum reply_over over, struct str detail)
{
	const struct str where = over == OVER_EOF ? detail : STR("");
	struct err err = { 0 };

	if (s->form == FORM_ERROR)
		end_error(s, where);
	else if (s->form == FORM_WHOLE && !s->failed)
		end_whole(s);
	else if (s->form == FORM_PAGE && !s->failed)
		end_page(s, where);
	if (!s->failed && sse_end(&s->sse, &err) < 0)
		reply_fail(s, FAULT_PROTOCOL, "%s", err.msg);
	if (s->wire->on_end)
		s->wire->on_end(s);
	if (s->done || (s->finish_seen && s->wire->finish_is_done))
		return;
	switch (over) {
	case OVER_EOF:
		reply_fail(s, FAULT_INCOMPLETE, "stream ended early");
		break;
	case OVER_NETWORK:
		reply_fail(s, FAULT_NETWORK, STR_FMT, STR_ARG(str_head(detail, 400)));
		break;
	case OVER_REFUSED:
		reply_fail(s, FAULT_UNREACHABLE, STR_FMT, STR_ARG(str_head(detail, 400)));
		break;
	case OVER_TIMEOUT:
		reply_fail(s, FAULT_TIMEOUT, "no answer within the time allowed" );
		break;
	case OVER_STOPPED:
		reply_fail(s, FAULT_STOPPED, "stopped");
		break;
	}
}

static void show_rest(struct reply_stream *s)
{
	for (size_t i = 0; i < s->blocks.n; i++)
		show(s, &s->blocks.p[i], s->blocks.p[i].text.n);
}

int reply_end(struct reply_stream *s, enum reply_over over, struct str detail, struct reply *out,
	struct provider_fault *fault)
{
	finish(s, over, detail);
	turn_recover(s);
	show_rest(s);
	turn_make(s, out);
	if (!s->failed)
		return 0;
	if (s->fault.request_id[0] == '\0' && s->head.request_id.n > 0 &&
		s->head.request_id.n < sizeof(s->fault.request_id))
		memcpy(s->fault.request_id, s->head.request_id.p, s->head.request_id.n);
	*fault = s->fault;
	return -ERR_REMOTE;
}

bool reply_is_empty(const struct reply *r)
{
	bool promised = str_eq(r->stop_raw, STR("tool_calls")) || str_eq(r->stop_raw, STR("tool_use"));

	return promised && r->ncalls == 0 && str_trim(r->text).n == 0;
}
