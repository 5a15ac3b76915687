/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/reply_priv.h"

/* The newest block with this index, the newest of all when there is none: servers number them one after
 * another, some proxies interleave or forget the number. */
static struct block *find_block(struct reply_stream *s, struct jval index)
{
	int64_t n;

	if (!jval_to_i64(index, &n))
		return s->blocks.n > 0 ? &s->blocks.p[s->blocks.n - 1] : NULL;
	for (size_t i = s->blocks.n; i > 0; i--)
		if (s->blocks.p[i - 1].has_index && s->blocks.p[i - 1].index == n)
			return &s->blocks.p[i - 1];
	return NULL;
}

static void read_usage(struct reply_stream *s, struct jval usage, bool output_is_stub)
{
	reply_counter(s, jval_get(usage, "input_tokens"), USAGE_INPUT, &s->usage.input);
	reply_counter(s, jval_get(usage, "cache_read_input_tokens"), USAGE_CACHE_READ, &s->usage.cache_read);
	reply_counter(s, jval_get(usage, "cache_creation_input_tokens"), USAGE_CACHE_WRITE, &s->usage.cache_write);
	reply_counter(s, jval_get(usage, "output_tokens"), USAGE_OUTPUT, &s->usage.output);
	if (output_is_stub)
		s->usage.known &= ~(unsigned)USAGE_OUTPUT;
	reply_counter(s, jval_get(jval_get(usage, "output_tokens_details"), "thinking_tokens"), USAGE_REASONING,
		&s->usage.reasoning);
}

static void open_block(struct reply_stream *s, struct jval index, struct jval content)
{
	static const struct {
		const char *type;
		enum block_kind kind;
	} types[] = {
		{ "text", BLOCK_TEXT },
		{ "thinking", BLOCK_THINKING },
		{ "tool_use", BLOCK_CALL },
	};
	enum block_kind kind = BLOCK_OTHER;
	struct block *b;

	for (size_t i = 0; i < COUNT(types); i++)
		if (jval_is(jval_get(content, "type"), types[i].type))
			kind = types[i].kind;
	b = content.type == JSCAN_OBJECT ? reply_block_new(s, kind) : NULL;
	if (!b)
		return;
	b->has_index = jval_to_i64(index, &b->index);
	if (buf_add(&b->start, content.text, ERR_DISCARD) < 0)
		reply_fail(s, FAULT_PROTOCOL, "a block of more than %zu bytes", b->start.max);
	s->in_thoughts = kind == BLOCK_THINKING;
	if (kind == BLOCK_TEXT)
		reply_block_text(s, b, jval_get(content, "text"));
	if (kind == BLOCK_THINKING)
		reply_block_text(s, b, jval_get(content, "thinking"));
	reply_put(s, &b->signature, jval_get(content, "signature"));
	reply_put(s, &b->id, jval_get(content, "id"));
	reply_put(s, &b->name, jval_get(content, "name"));
}

/* Arguments that came whole with the block, when no fragment replaced them. */
static void close_block(struct block *b)
{
	struct jval input = jval_get(jval_from(buf_str(&b->start)), "input");

	b->closed = true;
	if (b->kind == BLOCK_CALL && str_trim(buf_str(&b->text)).n == 0 && input.type == JSCAN_OBJECT) {
		buf_clear(&b->text);
		if (buf_add(&b->text, input.text, ERR_DISCARD) < 0)
			b->closed = false; /* read as cut off */
	}
}

static void add_delta(struct reply_stream *s, struct jval index, struct jval delta)
{
	static const struct {
		const char *type, *member;
		unsigned kinds; /* 1 << enum block_kind it may belong to */
	} deltas[] = {
		{ "text_delta", "text", 1 << BLOCK_TEXT },
		{ "thinking_delta", "thinking", 1 << BLOCK_THINKING },
		{ "input_json_delta", "partial_json", 1 << BLOCK_CALL | 1 << BLOCK_OTHER },
	};
	struct block *b = find_block(s, index);

	if (!b)
		return;
	if (b->kind == BLOCK_THINKING)
		reply_put(s, &b->signature, jval_get(delta, "signature")); /* whole each time: the last one counts */
	for (size_t i = 0; i < COUNT(deltas); i++)
		if (jval_is(jval_get(delta, "type"), deltas[i].type) && (deltas[i].kinds & 1u << b->kind))
			reply_block_text(s, b, jval_get(delta, deltas[i].member));
}

static void on_start(struct reply_stream *s, struct jval ev)
{
	struct jval message = jval_get(ev, "message");

	reply_put(s, &s->model, jval_get(message, "model"));
	read_usage(s, jval_get(message, "usage"), true);
}

static void on_block_start(struct reply_stream *s, struct jval ev)
{
	s->output_seen = true;
	open_block(s, jval_get(ev, "index"), jval_get(ev, "content_block"));
}

static void on_block_delta(struct reply_stream *s, struct jval ev)
{
	s->output_seen = true;
	add_delta(s, jval_get(ev, "index"), jval_get(ev, "delta"));
}

static void on_block_stop(struct reply_stream *s, struct jval ev)
{
	struct block *b = find_block(s, jval_get(ev, "index"));

	s->in_thoughts = false;
	if (b)
		close_block(b);
}

static void on_message_delta(struct reply_stream *s, struct jval ev)
{
	reply_put(s, &s->stop_raw, jval_get(jval_get(ev, "delta"), "stop_reason"));
	read_usage(s, jval_get(ev, "usage"), false);
}

static void on_message_stop(struct reply_stream *s, struct jval ev)
{
	(void)ev;
	s->done = true;
}

static void on_error(struct reply_stream *s, struct jval ev)
{
	reply_fail_with(s, ev.text);
}

static void on_event(struct reply_stream *s, struct str name, struct str data)
{
	static const struct reply_event events[] = {
		{ "message_start", on_start },
		{ "content_block_start", on_block_start },
		{ "content_block_delta", on_block_delta },
		{ "content_block_stop", on_block_stop },
		{ "message_delta", on_message_delta },
		{ "message_stop", on_message_stop },
		{ "error", on_error },
	};
	struct jval ev = jval_from(data);

	if (str_eqz(name, "error") && data.n > 0) {
		reply_fail_with(s, data);
		return;
	}
	if (ev.type != JSCAN_OBJECT) /* one broken event is not the end of a turn; a lost stop would be */
		return;
	(void)reply_act(s, name, ev, events, COUNT(events)); /* others are not for us */
}

static void on_whole(struct reply_stream *s, struct jval body)
{
	struct jval content = jval_get(body, "content"), block;
	size_t pos = 0;
	bool any = false;

	if (content.type != JSCAN_ARRAY)
		return;
	reply_put(s, &s->model, jval_get(body, "model"));
	reply_put(s, &s->stop_raw, jval_get(body, "stop_reason"));
	read_usage(s, jval_get(body, "usage"), false);
	for (; jval_next(content, &pos, NULL, &block); any = true) {
		open_block(s, (struct jval){ 0 }, block);
		if (s->blocks.n > 0)
			close_block(&s->blocks.p[s->blocks.n - 1]);
	}
	/* An error beside an empty content is the error, whatever else the envelope says. */
	s->done = any || !provider_has_error(body);
}

static enum reply_stop stop(struct reply_stream *s, size_t ncalls)
{
	static const struct reply_word stops[] = {
		{ "end_turn", STOP_END },
		{ "tool_use", STOP_TOOLS },
		{ "max_tokens", STOP_LENGTH },
		{ "stop_sequence", STOP_SEQUENCE },
		{ "pause_turn", STOP_PAUSE },
		{ "refusal", STOP_REFUSAL },
		{ "model_context_window_exceeded", STOP_WINDOW },
		{ "", STOP_END },
	};

	if (s->stop_raw.n == 0 && ncalls > 0)
		return STOP_TOOLS;
	return reply_stop_of(s, stops, COUNT(stops));
}

const struct wire wire_anthropic = {
	.on_event = on_event,
	.on_whole = on_whole,
	.stop = stop,
	.finish_is_done = false,
};
