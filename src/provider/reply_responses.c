/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* reply_responses: an answer is a list of items. What counts is the item as it is when it is done; the
 * pieces before that are for the live view, and stand only in an answer that never got so far. */
#include "provider/reply_priv.h"

static const struct {
	const char *type;
	enum block_kind kind;
} items[] = {
	{ "message", BLOCK_TEXT },
	{ "reasoning", BLOCK_THINKING },
	{ "function_call", BLOCK_CALL },
};

static enum block_kind kind_of(struct jval item)
{
	for (size_t i = 0; i < COUNT(items); i++)
		if (jval_is(jval_get(item, "type"), items[i].type))
			return items[i].kind;
	return BLOCK_OTHER;
}

static void too_large(struct reply_stream *s)
{
	reply_fail(s, FAULT_PROTOCOL, "an answer larger than %zu MiB", REPLY_BYTES_MAX >> 20);
}

/* The block of an item, by the item's id; by its place in the output where a server names none. */
static struct block *find_block(struct reply_stream *s, enum block_kind kind, struct str id, struct jval place)
{
	int64_t n = 0;
	bool has_place = jval_to_i64(place, &n);

	for (size_t i = s->blocks.n; i > 0; i--) {
		struct block *b = &s->blocks.p[i - 1];

		if (b->kind != kind || b->closed)
			continue;
		if (id.n > 0 && b->key.n > 0 ? str_eq(id, buf_str(&b->key)) : has_place && b->has_index ? b->index == n : true)
			return b;
	}
	return NULL;
}

/* A call that was opened and never done has been cut off, even where it has no arguments yet: turn.c. */
static void open_call(struct reply_stream *s, struct block *b)
{
	if (buf_addz(&b->start, "{\"type\":\"tool_use\"}", ERR_DISCARD) < 0)
		too_large(s);
}

static struct block *block_of(struct reply_stream *s, enum block_kind kind, struct jval id, struct jval place)
{
	auto_buf struct buf key = BUF_MAX(REPLY_LINE_MAX);
	struct block *b;

	reply_put(s, &key, id);
	b = s->failed ? NULL : find_block(s, kind, buf_str(&key), place);
	if (b || s->failed)
		return b;
	b = reply_block_new(s, kind);
	if (!b)
		return NULL;
	b->has_index = jval_to_i64(place, &b->index);
	reply_put(s, &b->key, id);
	if (kind == BLOCK_CALL)
		open_call(s, b);
	return b;
}

/* Thoughts come in parts, each a paragraph of its own. */
static void add_paragraph(struct reply_stream *s, struct buf *text)
{
	if (text->n > 0 && buf_addz(text, "\n\n", ERR_DISCARD) < 0)
		too_large(s);
}

/* The texts of an array of parts: a message's, or a summary's. */
static void add_parts(struct reply_stream *s, struct jval parts, bool paragraphs, struct buf *out)
{
	struct jval part;

	for (size_t pos = 0; parts.type == JSCAN_ARRAY && jval_next(parts, &pos, NULL, &part) && !s->failed;) {
		struct jval text = jval_get(part, "text");

		if (text.type != JSCAN_STRING) {
			text = jval_get(part, "refusal");
			s->refused = s->refused || text.type == JSCAN_STRING;
		}
		if (text.type != JSCAN_STRING || text.text.n == 2)
			continue;
		if (paragraphs)
			add_paragraph(s, out);
		if (jval_add_text(out, text, NUL_REPLACE, ERR_DISCARD) < 0)
			too_large(s);
	}
}

/* The whole text replaces what the pieces made. Where the view was shown something else it keeps that. */
static void set_text(struct reply_stream *s, struct block *b, struct buf *whole)
{
	struct buf pieces = b->text;

	if (!str_starts(buf_str(whole), str_head(buf_str(&pieces), b->shown)))
		b->shown = whole->n;
	b->text = *whole;
	*whole = pieces;
	reply_block_show(s, b);
}

/* Done a second time, as some proxies tell it. */
static bool is_done(const struct reply_stream *s, struct jval item)
{
	struct jval id = jval_get(item, "id");

	for (size_t i = 0; id.type == JSCAN_STRING && i < s->blocks.n; i++)
		if (s->blocks.p[i].closed && s->blocks.p[i].key.n > 0 && jval_is(id, s->blocks.p[i].key.p))
			return true;
	return false;
}

/* {"type":"x_item","item":{...}}: the item as it came, to go back to who made it. Its id would point into
 * a store where it is not, and a null or a status is more than some servers take back. */
static void keep_item(struct reply_stream *s, struct jval item)
{
	struct block *b = reply_block_new(s, BLOCK_OTHER);
	struct jval key, value;
	int r;

	if (!b)
		return;
	b->closed = true;
	r = buf_addz(&b->start, "{\"type\":\"x_item\",\"item\":{", ERR_DISCARD);
	for (size_t pos = 0; r >= 0 && jval_next(item, &pos, &key, &value);) {
		if (value.type == JSCAN_NULL || jval_is(key, "id") || jval_is(key, "status"))
			continue;
		if (b->start.p[b->start.n - 1] != '{')
			r = buf_addc(&b->start, ',', ERR_DISCARD);
		if (r >= 0)
			r = jval_add(&b->start, key, NUL_REPLACE, ERR_DISCARD);
		if (r >= 0)
			r = buf_addc(&b->start, ':', ERR_DISCARD);
		if (r >= 0)
			r = jval_add(&b->start, value, NUL_REPLACE, ERR_DISCARD);
	}
	if (r < 0 || buf_addz(&b->start, "}}", ERR_DISCARD) < 0)
		too_large(s);
}

static void end_message(struct reply_stream *s, struct jval item, struct jval place)
{
	auto_buf struct buf whole = BUF_MAX(2 * REPLY_BYTES_MAX);
	struct block *b = block_of(s, BLOCK_TEXT, jval_get(item, "id"), place);
	struct jval phase = jval_get(item, "phase");

	add_parts(s, jval_get(item, "content"), false, &whole);
	if (!b || s->failed)
		return;
	set_text(s, b, &whole);
	b->closed = true;
	if (phase.type != JSCAN_STRING)
		return;
	buf_clear(&b->start);
	if (buf_addz(&b->start, "{\"type\":\"text\",\"x_phase\":", ERR_DISCARD) < 0 ||
		jval_add(&b->start, phase, NUL_REPLACE, ERR_DISCARD) < 0 || buf_addc(&b->start, '}', ERR_DISCARD) < 0)
		too_large(s);
}

/* A summary, or the thoughts themselves where an open model shows them. */
static void end_reasoning(struct reply_stream *s, struct jval item, struct jval place)
{
	auto_buf struct buf whole = BUF_MAX(2 * REPLY_BYTES_MAX);
	struct block *b = block_of(s, BLOCK_THINKING, jval_get(item, "id"), place);

	add_parts(s, jval_get(item, "summary"), true, &whole);
	if (whole.n == 0)
		add_parts(s, jval_get(item, "content"), true, &whole);
	if (!b || s->failed)
		return;
	set_text(s, b, &whole);
	b->closed = true;
	s->in_thoughts = false;
	keep_item(s, item);
}

static void end_call(struct reply_stream *s, struct jval item, struct jval place)
{
	struct block *b = block_of(s, BLOCK_CALL, jval_get(item, "id"), place);
	struct jval args = jval_get(item, "arguments");

	if (!b)
		return;
	reply_put(s, &b->id, jval_get(item, "call_id"));
	reply_put(s, &b->name, jval_get(item, "name"));
	if (args.type == JSCAN_STRING || args.type == JSCAN_OBJECT)
		buf_clear(&b->text);
	reply_block_text(s, b, args);
	if (args.type == JSCAN_OBJECT && buf_add(&b->text, args.text, ERR_DISCARD) < 0)
		too_large(s);
	b->closed = true;
}

static void end_item(struct reply_stream *s, struct jval item, struct jval place)
{
	if (item.type != JSCAN_OBJECT || is_done(s, item))
		return;
	s->output_seen = true;
	switch (kind_of(item)) {
	case BLOCK_TEXT:
		end_message(s, item, place);
		break;
	case BLOCK_THINKING:
		end_reasoning(s, item, place);
		break;
	case BLOCK_CALL:
		end_call(s, item, place);
		break;
	case BLOCK_OTHER: /* the server's own tools: nothing of theirs is asked for */
		if (jval_is(jval_get(item, "type"), "compaction"))
			keep_item(s, item);
		break;
	}
}

static void read_usage(struct reply_stream *s, struct jval u)
{
	struct jval in = jval_get(u, "input_tokens_details"), out = jval_get(u, "output_tokens_details");
	int64_t prompt = 0;

	if (u.type != JSCAN_OBJECT)
		return;
	s->usage = (struct usage){ 0 };
	reply_counter(s, jval_get(u, "input_tokens"), USAGE_INPUT, &prompt);
	reply_counter(s, jval_get(in, "cached_tokens"), USAGE_CACHE_READ, &s->usage.cache_read);
	reply_counter(s, jval_get(in, "cache_write_tokens"), USAGE_CACHE_WRITE, &s->usage.cache_write);
	reply_counter(s, jval_get(u, "output_tokens"), USAGE_OUTPUT, &s->usage.output);
	reply_counter(s, jval_get(out, "reasoning_tokens"), USAGE_REASONING, &s->usage.reasoning);
	reply_settle(s, prompt, jval_get(u, "cost"));
}

static void read_response(struct reply_stream *s, struct jval response)
{
	reply_put(s, &s->model, jval_get(response, "model"));
	read_usage(s, jval_get(response, "usage"));
}

/* The list at the end is often empty; it is read when no item came before it. */
static void read_output(struct reply_stream *s, struct jval output)
{
	bool any = false;
	struct jval item;
	size_t place = 0;

	for (size_t i = 0; i < s->blocks.n; i++)
		any = any || s->blocks.p[i].closed;
	for (size_t pos = 0; !any && output.type == JSCAN_ARRAY && jval_next(output, &pos, NULL, &item) && !s->failed;) {
		char number[24];
		int n = snprintf(number, sizeof(number), "%zu", place++);

		end_item(s, item, (struct jval){ JSCAN_NUMBER, str_of(number, (size_t)n) });
	}
}

static void on_progress(struct reply_stream *s, struct jval ev)
{
	read_response(s, jval_get(ev, "response"));
}

static void on_item_added(struct reply_stream *s, struct jval ev)
{
	struct jval item = jval_get(ev, "item");
	enum block_kind kind = kind_of(item);
	struct block *b;

	s->output_seen = true;
	s->in_thoughts = kind == BLOCK_THINKING;
	if (item.type != JSCAN_OBJECT || kind == BLOCK_OTHER)
		return;
	b = block_of(s, kind, jval_get(item, "id"), jval_get(ev, "output_index"));
	if (!b)
		return;
	reply_put(s, &b->id, jval_get(item, "call_id"));
	reply_put(s, &b->name, jval_get(item, "name"));
}

static void on_item_done(struct reply_stream *s, struct jval ev)
{
	end_item(s, jval_get(ev, "item"), jval_get(ev, "output_index"));
}

static void add_delta(struct reply_stream *s, struct jval ev, enum block_kind kind)
{
	struct block *b = block_of(s, kind, jval_get(ev, "item_id"), jval_get(ev, "output_index"));

	s->output_seen = true;
	if (b)
		reply_block_text(s, b, jval_get(ev, "delta"));
}

static void on_text(struct reply_stream *s, struct jval ev)
{
	add_delta(s, ev, BLOCK_TEXT);
}

static void on_thoughts(struct reply_stream *s, struct jval ev)
{
	s->in_thoughts = true;
	add_delta(s, ev, BLOCK_THINKING);
}

static void on_part(struct reply_stream *s, struct jval ev)
{
	struct block *b = block_of(s, BLOCK_THINKING, jval_get(ev, "item_id"), jval_get(ev, "output_index"));

	if (b)
		add_paragraph(s, &b->text);
}

static void on_arguments(struct reply_stream *s, struct jval ev)
{
	add_delta(s, ev, BLOCK_CALL);
}

static void on_completed(struct reply_stream *s, struct jval ev)
{
	struct jval response = jval_get(ev, "response"), status = jval_get(response, "status");

	read_response(s, response);
	read_output(s, jval_get(response, "output"));
	reply_put(s, &s->stop_raw, status);
	s->done = !s->failed;
}

static void on_incomplete(struct reply_stream *s, struct jval ev)
{
	struct jval response = jval_get(ev, "response");

	on_completed(s, ev);
	reply_put(s, &s->stop_raw, jval_get(jval_get(response, "incomplete_details"), "reason"));
}

static void on_failed(struct reply_stream *s, struct jval ev)
{
	struct jval response = jval_get(ev, "response"), error = jval_get(response, "error");

	read_response(s, response);
	reply_fail_with(s, error.type == JSCAN_OBJECT ? error.text : ev.text);
}

static void on_error(struct reply_stream *s, struct jval ev)
{
	reply_fail_with(s, ev.text);
}

static const struct reply_event events[] = {
	{ "response.created", on_progress },
	{ "response.in_progress", on_progress },
	{ "response.queued", on_progress },
	{ "response.output_item.added", on_item_added },
	{ "response.output_item.done", on_item_done },
	{ "response.output_text.delta", on_text },
	{ "response.refusal.delta", on_text },
	{ "response.reasoning_summary_part.added", on_part },
	{ "response.reasoning_summary_text.delta", on_thoughts },
	{ "response.reasoning_text.delta", on_thoughts },
	{ "response.function_call_arguments.delta", on_arguments },
	{ "response.completed", on_completed },
	{ "response.done", on_completed },
	{ "response.incomplete", on_incomplete },
	{ "response.failed", on_failed },
	{ "error", on_error },
};

static void on_event(struct reply_stream *s, struct str name, struct str data)
{
	struct jval ev = jval_from(data);

	if (ev.type != JSCAN_OBJECT) {
		if (str_eqz(name, "error") && data.n > 0)
			reply_fail_with(s, data);
		return;
	}
	if (!reply_act(s, name, ev, events, COUNT(events)) && provider_has_error(ev)) /* a gateway's own, without a type of this wire */
		reply_fail_with(s, data);
}

static void on_whole(struct reply_stream *s, struct jval body)
{
	static const struct {
		const char *status;
		bool failed;
	} ends[] = { { "completed", false }, { "incomplete", false }, { "failed", true }, { "cancelled", true } };
	struct jval error = jval_get(body, "error"), status = jval_get(body, "status");

	if (jval_get(body, "output").type != JSCAN_ARRAY)
		return;
	read_response(s, body);
	for (size_t i = 0; i < COUNT(ends); i++)
		if (jval_is(status, ends[i].status) && ends[i].failed) {
			reply_fail_with(s, error.type == JSCAN_OBJECT ? error.text : body.text);
			return;
		}
	read_output(s, jval_get(body, "output"));
	reply_put(s, &s->stop_raw, status);
	reply_put(s, &s->stop_raw, jval_get(jval_get(body, "incomplete_details"), "reason"));
	s->done = !s->failed;
}

static enum reply_stop stop(struct reply_stream *s, size_t ncalls)
{
	static const struct reply_word stops[] = {
		{ "", STOP_END },
		{ "completed", STOP_END },
		{ "max_output_tokens", STOP_LENGTH },
		{ "content_filter", STOP_REFUSAL },
	};
	enum reply_stop found = reply_stop_of(s, stops, COUNT(stops));

	if (s->refused)
		return STOP_REFUSAL;
	return ncalls > 0 && found == STOP_END ? STOP_TOOLS : found;
}

const struct wire wire_responses = {
	.on_event = on_event,
	.on_whole = on_whole,
	.stop = stop,
	.finish_is_done = false,
};
