/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/reply_priv.h"

#include <math.h>

static struct block *block_of(struct reply_stream *s, enum block_kind kind)
{
	for (size_t i = 0; i < s->blocks.n; i++)
		if (s->blocks.p[i].kind == kind)
			return &s->blocks.p[i];
	return reply_block_new(s, kind);
}

static void add_to(struct reply_stream *s, enum block_kind kind, struct jval piece)
{
	struct block *b;

	if (piece.type != JSCAN_STRING || piece.text.n == 2)
		return;
	s->output_seen = true;
	b = block_of(s, kind);
	if (b)
		reply_block_text(s, b, piece);
}

/* Bytes that are text already, as a JSON string of their own. Only for what waited in `pending`. */
static void add_bytes(struct reply_stream *s, enum block_kind kind, struct str bytes)
{
	struct block *b = bytes.n > 0 ? block_of(s, kind) : NULL;

	if (!b)
		return;
	if (buf_add(&b->text, bytes, ERR_DISCARD) < 0)
		reply_fail(s, FAULT_PROTOCOL, "an answer larger than %zu MiB", REPLY_BYTES_MAX >> 20);
	reply_block_show(s, b);
}

/* How many bytes at the end of s may be the beginning of tag. */
static size_t tag_begun(struct str s, struct str tag)
{
	for (size_t n = tag.n - 1; n > 0; n--)
		if (n <= s.n && str_eq(str_tail(s, n), str_head(tag, n)))
			return n;
	return 0;
}

static void drop_pending(struct reply_stream *s, size_t n)
{
	BUG_IF(buf_splice(&s->pending, 0, n, STR(""), ERR_DISCARD) < 0);
}

static struct str trim_left(struct str s)
{
	struct str t = str_trim(s);

	return t.n == 0 ? t : str_skip(s, (size_t)(t.p - s.p));
}

static struct str trim_right(struct str s)
{
	struct str t = str_trim(s);

	return t.n == 0 ? t : str_head(s, (size_t)(t.p - s.p) + t.n);
}

static const struct str think_open = STR("<think>"), think_close = STR("</think>");

/* Thoughts up to the closing tag. Blanks wait, since at both ends they are not content. */
static bool move_thoughts(struct reply_stream *s, bool at_end)
{
	struct str all = buf_str(&s->pending);
	size_t at = str_find(all, think_close);
	bool closed = at < all.n;
	struct str head = str_head(all, closed ? at : all.n - (at_end ? 0 : tag_begun(all, think_close)));
	struct str thoughts = trim_right(head);
	struct block *b = block_of(s, BLOCK_THINKING);

	if (!b)
		return false;
	add_bytes(s, BLOCK_THINKING, b->text.n > 0 ? thoughts : trim_left(thoughts));
	drop_pending(s, closed ? at + think_close.n : thoughts.n);
	if (closed)
		s->think = TAG_AFTER;
	return closed;
}

/* <think>...</think> at the very start, cut anywhere. True when there is more to move at once. */
static bool move_pending(struct reply_stream *s, bool at_end)
{
	struct str all = buf_str(&s->pending), t = trim_left(all);

	switch (s->think) {
	case TAG_MAYBE:
		if (!at_end && t.n < think_open.n && str_starts(think_open, t))
			return false;
		s->think = str_starts(t, think_open) ? TAG_INSIDE : TAG_NONE;
		if (s->think == TAG_INSIDE)
			drop_pending(s, (size_t)(t.p - all.p) + think_open.n);
		return true;
	case TAG_INSIDE:
		s->output_seen = true;
		return move_thoughts(s, at_end);
	case TAG_AFTER:
		if (t.n > 0)
			s->think = TAG_NONE;
		drop_pending(s, all.n - t.n);
		return t.n > 0;
	case TAG_NONE:
		break;
	}
	s->output_seen = true;
	add_bytes(s, BLOCK_TEXT, all);
	buf_clear(&s->pending);
	return false;
}

static void add_content(struct reply_stream *s, struct jval piece)
{
	if (piece.type != JSCAN_STRING || piece.text.n == 2)
		return;
	if (s->think == TAG_NONE) {
		add_to(s, BLOCK_TEXT, piece);
		return;
	}
	if (jval_add_text(&s->pending, piece, NUL_REPLACE, ERR_DISCARD) < 0)
		reply_fail(s, FAULT_PROTOCOL, "an answer larger than %zu MiB", REPLY_BYTES_MAX >> 20);
	while (!s->failed && move_pending(s, false))
		;
}

/* A string, or parts of which some hold more parts: [{"type":"thinking","thinking":[...]},{"type":"text"}] */
static void read_content(struct reply_stream *s, struct jval content)
{
	struct jval part, inner;

	add_content(s, content);
	for (size_t pos = 0; content.type == JSCAN_ARRAY && jval_next(content, &pos, NULL, &part);) {
		struct jval thoughts = jval_get(part, "thinking");

		add_to(s, BLOCK_THINKING, thoughts);
		for (size_t i = 0; thoughts.type == JSCAN_ARRAY && jval_next(thoughts, &i, NULL, &inner);)
			add_to(s, BLOCK_THINKING, jval_get(inner, "text"));
		add_content(s, jval_get(part, "text"));
	}
}

static void read_details(struct reply_stream *s, struct jval details)
{
	struct jval d;

	if (details.type != JSCAN_ARRAY)
		return;
	s->has_details = true; /* an empty list goes back as well */
	for (size_t pos = 0; jval_next(details, &pos, NULL, &d);)
		if ((s->details.n > 0 && buf_addc(&s->details, ',', ERR_DISCARD) < 0) ||
			jval_add(&s->details, d, NUL_REPLACE, ERR_DISCARD) < 0)
			reply_fail(s, FAULT_PROTOCOL, "an answer larger than %zu MiB", REPLY_BYTES_MAX >> 20);
}

/* The call a fragment belongs to, or NULL for a new one. Servers leave out the index, give every call
 * index 0, or leave out the id; what two fragments of one call share differs from server to server. */
static struct block *find_call(struct reply_stream *s, struct jval index, struct str id, struct str name)
{
	int64_t n;
	bool has_index = jval_to_i64(index, &n);

	for (size_t i = s->blocks.n; i > 0; i--) {
		struct block *b = &s->blocks.p[i - 1];
		bool other_id = id.n > 0 && b->id.n > 0 && !str_eq(id, buf_str(&b->id));

		if (b->kind != BLOCK_CALL || (has_index && (!b->has_index || b->index != n)))
			continue;
		if (has_index)
			return other_id && name.n > 0 ? NULL : b;
		return (id.n > 0 && !str_eq(id, buf_str(&b->id))) || (name.n > 0 && id.n == 0) ? NULL : b;
	}
	return NULL;
}

static void read_call(struct reply_stream *s, struct jval fragment, struct jval function)
{
	auto_buf struct buf id = BUF_MAX(REPLY_LINE_MAX), name = BUF_MAX(REPLY_LINE_MAX);
	struct jval index = jval_get(fragment, "index"), args = jval_get(function, "arguments");
	struct jval extra = jval_get(fragment, "extra_content");
	struct block *b;

	reply_put(s, &id, jval_get(fragment, "id"));
	reply_put(s, &name, jval_get(function, "name"));
	b = find_call(s, index, buf_str(&id), buf_str(&name));
	if (!b)
		b = reply_block_new(s, BLOCK_CALL);
	if (!b)
		return;
	s->output_seen = true;
	if (!b->has_index)
		b->has_index = jval_to_i64(index, &b->index);
	if (b->id.n == 0)
		reply_put(s, &b->id, jval_get(fragment, "id"));
	if (b->name.n == 0)
		reply_put(s, &b->name, jval_get(function, "name"));
	reply_block_text(s, b, args);
	if (args.type == JSCAN_OBJECT && buf_add(&b->text, args.text, ERR_DISCARD) < 0)
		reply_fail(s, FAULT_PROTOCOL, "an answer larger than %zu MiB", REPLY_BYTES_MAX >> 20);
	if (extra.type != JSCAN_OBJECT)
		return;
	buf_clear(&b->extra);
	if (jval_add(&b->extra, extra, NUL_REPLACE, ERR_DISCARD) < 0)
		reply_fail(s, FAULT_PROTOCOL, "a call with more than %zu bytes beside it", b->extra.max);
}

/* A delta, or the whole message of a server that does not stream. */
static void read_message(struct reply_stream *s, struct jval m)
{
	struct jval thoughts = jval_get(m, "reasoning_content"), calls = jval_get(m, "tool_calls"), c;

	if (thoughts.type != JSCAN_STRING || thoughts.text.n == 2) /* where both are sent they are copies */
		thoughts = jval_get(m, "reasoning");
	add_to(s, BLOCK_THINKING, thoughts);
	read_details(s, jval_get(m, "reasoning_details"));
	read_content(s, jval_get(m, "content"));
	add_to(s, BLOCK_TEXT, jval_get(m, "refusal"));
	for (size_t pos = 0; calls.type == JSCAN_ARRAY && jval_next(calls, &pos, NULL, &c) && !s->failed;)
		read_call(s, c, jval_get(c, "function"));
	c = jval_get(m, "function_call"); /* the form before tool_calls */
	if (c.type == JSCAN_OBJECT)
		read_call(s, (struct jval){ 0 }, c);
}

/* First of these members that is a number; {object, key} pairs. */
static struct jval first_number(struct jval a, const char *ka, struct jval b, const char *kb)
{
	struct jval v = jval_get(a, ka);

	return v.type == JSCAN_NUMBER ? v : jval_get(b, kb);
}

static void read_usage(struct reply_stream *s, struct jval u)
{
	struct jval in = jval_get(u, "prompt_tokens_details"), out = jval_get(u, "completion_tokens_details");
	struct jval cached = first_number(in, "cached_tokens", u, "cached_tokens");
	int64_t prompt = 0;

	if (u.type != JSCAN_OBJECT)
		return;
	s->usage.known = 0; /* the last report counts, whole */
	if (cached.type != JSCAN_NUMBER)
		cached = jval_get(u, "prompt_cache_hit_tokens");
	reply_counter(s, cached, USAGE_CACHE_READ, &s->usage.cache_read);
	reply_counter(s, jval_get(in, "cache_write_tokens"), USAGE_CACHE_WRITE, &s->usage.cache_write);
	reply_counter(s, jval_get(u, "prompt_tokens"), USAGE_INPUT, &prompt);
	reply_counter(s, jval_get(u, "completion_tokens"), USAGE_OUTPUT, &s->usage.output);
	reply_counter(s, jval_get(out, "reasoning_tokens"), USAGE_REASONING, &s->usage.reasoning);
	reply_settle(s, prompt, jval_get(u, "cost"));
}

static void read_timings(struct reply_stream *s, struct jval t)
{
	if (t.type != JSCAN_OBJECT || (s->usage.known & USAGE_INPUT))
		return;
	reply_counter(s, jval_get(t, "prompt_n"), USAGE_INPUT, &s->usage.input);
	reply_counter(s, jval_get(t, "predicted_n"), USAGE_OUTPUT, &s->usage.output);
	reply_counter(s, jval_get(t, "cache_n"), USAGE_CACHE_READ, &s->usage.cache_read);
}

static struct jval first_choice(struct jval choices)
{
	struct jval c;
	int64_t n;

	for (size_t pos = 0; choices.type == JSCAN_ARRAY && jval_next(choices, &pos, NULL, &c);)
		if (!jval_to_i64(jval_get(c, "index"), &n) || n == 0)
			return c;
	return (struct jval){ 0 };
}

static bool is_error(struct jval e)
{
	return e.type == JSCAN_OBJECT || (e.type == JSCAN_STRING && e.text.n > 2);
}

/* An error may stand in the chunk, in its choice, or be spelled as a finish reason. */
static bool read_failure(struct reply_stream *s, struct jval chunk, struct jval choice, struct jval groq)
{
	if (is_error(jval_get(chunk, "error")))
		reply_fail_with(s, chunk.text);
	else if (is_error(jval_get(choice, "error")))
		reply_fail_with(s, choice.text);
	else if (is_error(jval_get(groq, "error")))
		reply_fail_with(s, groq.text);
	else if (jval_is(jval_get(choice, "finish_reason"), "error"))
		reply_fail(s, FAULT_SERVER, "the provider ended the answer with an error");
	else if (jval_is(jval_get(choice, "finish_reason"), "insufficient_system_resource"))
		reply_fail(s, FAULT_OVERLOADED, "the provider ran out of resources");
	return s->failed;
}

static void read_chunk(struct reply_stream *s, struct jval chunk)
{
	struct jval choice = first_choice(jval_get(chunk, "choices")), groq = jval_get(chunk, "x_groq");
	struct jval delta = jval_get(choice, "delta"), message = jval_get(choice, "message");

	reply_put(s, &s->model, jval_get(chunk, "model"));
	read_usage(s, jval_get(groq, "usage"));
	read_usage(s, jval_get(choice, "usage"));
	read_usage(s, jval_get(chunk, "usage"));
	read_timings(s, jval_get(chunk, "timings"));
	if (delta.type == JSCAN_OBJECT)
		read_message(s, delta);
	else if (message.type == JSCAN_OBJECT && !s->delta_seen)
		read_message(s, message);
	s->delta_seen = s->delta_seen || delta.type == JSCAN_OBJECT;
	if (read_failure(s, chunk, choice, groq) || jval_get(choice, "finish_reason").type != JSCAN_STRING)
		return;
	reply_put(s, &s->stop_raw, jval_get(choice, "finish_reason"));
	s->finish_seen = true;
}

static void on_event(struct reply_stream *s, struct str name, struct str data)
{
	struct jval chunk;

	if (str_starts(str_trim(data), STR("[DONE]"))) {
		s->done = true;
		return;
	}
	chunk = jval_from(data);
	if (str_eqz(name, "error")) {
		reply_fail_with(s, data);
		return;
	}
	if (chunk.type != JSCAN_OBJECT)
		return;
	s->beats++;
	read_chunk(s, chunk);
}

static void on_whole(struct reply_stream *s, struct jval body)
{
	struct jval choice = first_choice(jval_get(body, "choices")), message = jval_get(choice, "message");
	struct jval content = jval_get(message, "content"), calls = jval_get(message, "tool_calls");
	bool real = content.type == JSCAN_STRING || content.type == JSCAN_ARRAY || calls.type == JSCAN_ARRAY;

	if (message.type != JSCAN_OBJECT || (!real && is_error(jval_get(body, "error"))))
		return;
	reply_put(s, &s->model, jval_get(body, "model"));
	reply_put(s, &s->stop_raw, jval_get(choice, "finish_reason"));
	read_usage(s, jval_get(body, "usage"));
	read_timings(s, jval_get(body, "timings"));
	read_message(s, message);
	s->done = true;
}

static void on_end(struct reply_stream *s)
{
	while (!s->failed && s->pending.n > 0 && move_pending(s, true))
		;
}

static enum reply_stop stop(struct reply_stream *s, size_t ncalls)
{
	static const struct reply_word stops[] = {
		{ "", STOP_END },
		{ "stop", STOP_END },
		{ "end_turn", STOP_END },
		{ "eos", STOP_END },
		{ "tool_calls", STOP_END },
		{ "tool_use", STOP_END },
		{ "function_call", STOP_END },
		{ "tool", STOP_END },
		{ "length", STOP_LENGTH },
		{ "max_tokens", STOP_LENGTH },
		{ "model_length", STOP_LENGTH },
		{ "content_filter", STOP_REFUSAL },
		{ "refusal", STOP_REFUSAL },
	};
	enum reply_stop found = reply_stop_of(s, stops, COUNT(stops));

	return ncalls > 0 && (found == STOP_END || found == STOP_UNKNOWN) ? STOP_TOOLS : found;
}

const struct wire wire_chat = {
	.on_event = on_event,
	.on_whole = on_whole,
	.on_end = on_end,
	.stop = stop,
	.finish_is_done = true,
};
