/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/turn_priv.h"

#include "fmt/json.h"

#include <string.h>

#define TURN_BYTES_MAX (8 * REPLY_BYTES_MAX)
#define NAME_MAX_BYTES 64
#define ID_MAX_BYTES   128
#define RAW_ARGS_KEPT  500

void turn_recover(struct reply_stream *s)
{
	struct block *text = NULL;

	if (s->failed || !s->spec->recover_text_calls || s->spec->wire != API_CHAT || s->tools.n == 0)
		return;
	for (size_t i = 0; i < s->blocks.n; i++) {
		if (s->blocks.p[i].kind == BLOCK_CALL)
			return;
		if (s->blocks.p[i].kind == BLOCK_TEXT)
			text = &s->blocks.p[i];
	}
	if (!text)
		return;
	jtext_repair(&text->text, 0);
	reply_recover(s, text);
}

struct str turn_origin(const struct model_spec *spec, struct arena *mem)
{
	return str_printf(mem, "%s:" STR_FMT, api_wire_name(spec->wire), STR_ARG(spec->model));
}

/* A name that every wire takes back. What is offered has such a name; what is not gets "unknown tool". */
static struct str clean_name(struct arena *mem, struct str name)
{
	char *p;

	name = str_head(str_trim(name), NAME_MAX_BYTES);
	p = (char *)str_dup(mem, name).p;
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)p[i];
		bool fine = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-';

		if (!fine)
			p[i] = '_';
	}
	return str_of(p, name.n);
}

static bool is_usable_id(struct str id)
{
	if (id.n == 0 || id.n > ID_MAX_BYTES)
		return false;
	for (size_t i = 0; i < id.n; i++)
		if (id.p[i] <= ' ' || id.p[i] > '~')
			return false;
	return true;
}

static struct str unique_id(const struct reply_stream *s, const struct reply *r, struct str id)
{
	struct arena *mem = s->mem;
	bool again;

	if (!is_usable_id(id))
		id = str_printf(mem, "call_%zu", s->first_call + r->ncalls);
	do {
		again = false;
		for (size_t i = 0; i < r->ncalls && !again; i++)
			again = str_eq(id, r->calls[i].id);
		if (again)
			id = str_printf(mem, STR_FMT "_%zu", STR_ARG(id), r->ncalls);
	} while (again);
	return id;
}

/* The arguments as strict JSON, or false. Blank means none; a string that holds the object is opened. */
static bool read_args(struct str raw, struct buf *out)
{
	auto_buf struct buf inner = BUF_MAX(2 * REPLY_BYTES_MAX);
	struct jval v;

	raw = str_trim(raw);
	if (raw.n == 0)
		return buf_add(out, STR("{}"), ERR_DISCARD) == 0;
	v = jval_head(raw);
	if (v.type == JSCAN_STRING && jval_add_text(&inner, v, NUL_KEEP, ERR_DISCARD) == 0) {
		jtext_repair(&inner, 0);
		v = jval_from(buf_str(&inner));
	}
	return v.type == JSCAN_OBJECT && jval_add(out, v, NUL_KEEP, ERR_DISCARD) == 0;
}

static void make_call(struct reply_stream *s, struct block *b, struct reply *out)
{
	struct reply_call *c = &out->calls[out->ncalls];
	auto_buf struct buf args = BUF_MAX(TURN_BYTES_MAX);
	bool cut;

	jtext_repair(&b->text, 0);
	*c = (struct reply_call){
		.id = unique_id(s, out, str_dup(s->mem, buf_str(&b->id))),
		.name = clean_name(s->mem, buf_str(&b->name)),
		.extra = str_dup(s->mem, buf_str(&b->extra)),
		.recovered = b->recovered,
	};
	/* Blank arguments of a block that was opened and never closed are not "none": they were cut off. */
	cut = b->start.n > 0 && !b->closed && str_trim(buf_str(&b->text)).n == 0;
	c->args_error = cut || !read_args(buf_str(&b->text), &args);
	c->args = c->args_error ? STR("{}") : str_dup(s->mem, buf_str(&args));
	if (c->args_error)
		c->raw_args = str_dup(s->mem, buf_str(&b->text));
	out->ncalls++;
}

static void collect(struct reply_stream *s, struct reply *out)
{
	auto_buf struct buf text = BUF_MAX(TURN_BYTES_MAX), thinking = BUF_MAX(TURN_BYTES_MAX);
	int r = 0;

	out->calls = arena_array(s->mem, s->blocks.n + 1, sizeof(*out->calls));
	for (size_t i = 0; i < s->blocks.n && r >= 0; i++) {
		struct block *b = &s->blocks.p[i];

		if (b->kind == BLOCK_CALL && str_trim(buf_str(&b->name)).n > 0)
			make_call(s, b, out);
		if (b->kind != BLOCK_TEXT && b->kind != BLOCK_THINKING)
			continue;
		jtext_repair(&b->text, 0);
		r = buf_add(b->kind == BLOCK_TEXT ? &text : &thinking, buf_str(&b->text), ERR_DISCARD);
	}
	if (r < 0)
		reply_fail(s, FAULT_PROTOCOL, "an answer larger than %zu MiB", REPLY_BYTES_MAX >> 20);
	out->text = str_dup(s->mem, buf_str(&text));
	out->thinking = str_dup(s->mem, buf_str(&thinking));
}

static int add_member(struct buf *b, const char *key, struct str value, struct err *err)
{
	TRY(buf_addf(b, err, "%s\"%s\":", b->n > 0 && b->p[b->n - 1] != '{' ? "," : "", key));
	return json_add_quoted(b, value, err);
}

static int add_raw_member(struct buf *b, const char *key, struct str json, struct err *err)
{
	TRY(buf_addf(b, err, "%s\"%s\":", b->n > 0 && b->p[b->n - 1] != '{' ? "," : "", key));
	return jval_add(b, jval_from(json), NUL_REPLACE, err);
}

/* What the server said when it opened the block, but for the members that were collected since and
 * those that are null: a server does not take back every null that it sends. */
static int add_opened(struct buf *out, const struct block *b, struct err *err)
{
	static const char *const collected[][4] = {
		[BLOCK_TEXT] = { "text" },
		[BLOCK_THINKING] = { "thinking", "signature" },
		[BLOCK_CALL] = { "id", "name", "input" },
		[BLOCK_OTHER] = { NULL },
	};
	struct jval key, value;

	for (size_t pos = 0; jval_next(jval_from(buf_str(&b->start)), &pos, &key, &value);) {
		bool skip = value.type == JSCAN_NULL || (b->text.n > 0 && jval_is(key, "input"));

		for (size_t i = 0; i < 4 && collected[b->kind][i]; i++)
			skip = skip || jval_is(key, collected[b->kind][i]);
		if (skip)
			continue;
		if (out->p[out->n - 1] != '{')
			TRY(buf_addc(out, ',', err));
		TRY(jval_add(out, key, NUL_REPLACE, err));
		TRY(buf_addc(out, ':', err));
		TRY(jval_add(out, value, NUL_REPLACE, err));
	}
	return 0;
}

static int add_call(struct buf *out, const struct reply_call *c, struct err *err)
{
	auto_buf struct buf kept = BUF_MAX(4 * RAW_ARGS_KEPT);

	TRY(add_member(out, "id", c->id, err));
	TRY(add_member(out, "name", c->name, err));
	if (!c->args_error) {
		TRY(add_raw_member(out, "input", c->args, err));
	} else { /* an object all the same, from which the model sees what it did */
		size_t n = utf8_head(c->raw_args, RAW_ARGS_KEPT);

		TRY(buf_add_utf8(&kept, str_head(c->raw_args, n), err));
		if (n < c->raw_args.n)
			TRY(buf_addf(&kept, err, "... <truncated; original was %zu bytes>", c->raw_args.n));
		TRY(buf_add(out, STR(",\"input\":{"), err));
		TRY(add_member(out, "_raw_arguments", buf_str(&kept), err));
		TRY(buf_addc(out, '}', err));
	}
	return c->extra.n > 0 ? add_raw_member(out, "extra_content", c->extra, err) : 0;
}

static bool is_kept(const struct block *b)
{
	if (b->kind == BLOCK_TEXT) /* an empty or blank text is refused by Anthropic */
		return str_trim(buf_str(&b->text)).n > 0;
	if (b->kind == BLOCK_CALL)
		return str_trim(buf_str(&b->name)).n > 0;
	if (b->kind == BLOCK_THINKING)
		return b->text.n > 0 || b->signature.n > 0;
	return jval_get(jval_from(buf_str(&b->start)), "type").type == JSCAN_STRING;
}

static int add_block(struct buf *out, const struct block *b, const struct reply_call **call, struct err *err)
{
	static const char *const types[] = { "text", "thinking", "tool_use", "" };

	TRY(buf_addc(out, '{', err));
	if (b->start.n > 0)
		TRY(add_opened(out, b, err));
	else
		TRY(add_member(out, "type", str_from(types[b->kind]), err));
	switch (b->kind) {
	case BLOCK_TEXT:
		TRY(add_member(out, "text", buf_str(&b->text), err));
		break;
	case BLOCK_THINKING:
		TRY(add_member(out, "thinking", buf_str(&b->text), err));
		if (b->signature.n > 0)
			TRY(add_member(out, "signature", buf_str(&b->signature), err));
		break;
	case BLOCK_CALL:
		TRY(add_call(out, (*call)++, err));
		break;
	case BLOCK_OTHER:
		if (jval_from(buf_str(&b->text)).type == JSCAN_OBJECT)
			TRY(add_raw_member(out, "input", buf_str(&b->text), err));
		break;
	}
	return buf_addc(out, '}', err);
}

/* {"role":"assistant","from":"<wire>:<model>","content":[...]}, or nothing when no block is worth it. */
static int add_message(struct buf *out, struct reply_stream *s, const struct reply *r, struct err *err)
{
	const struct reply_call *call = r->calls;
	size_t kept = 0;

	TRY(buf_add(out, STR("{\"role\":\"assistant\",\"from\":"), err));
	TRY(json_add_quoted(out, turn_origin(s->spec, s->mem), err));
	TRY(buf_add(out, STR(",\"content\":["), err));
	if (s->has_details) {
		TRY(buf_add(out, STR("{\"type\":\"x_reasoning_details\",\"details\":["), err));
		TRY(buf_add(out, buf_str(&s->details), err));
		TRY(buf_add(out, STR("]}"), err));
		kept++;
	}
	for (size_t i = 0; i < s->blocks.n; i++) {
		if (!is_kept(&s->blocks.p[i]))
			continue;
		if (kept++ > 0)
			TRY(buf_addc(out, ',', err));
		TRY(add_block(out, &s->blocks.p[i], &call, err));
	}
	TRY(buf_add(out, STR("]}"), err));
	if (kept == (size_t)s->has_details)
		buf_clear(out);
	return 0;
}

void turn_make(struct reply_stream *s, struct reply *out)
{
	auto_buf struct buf message = BUF_MAX(TURN_BYTES_MAX);

	*out = (struct reply){ .usage = s->usage };
	collect(s, out);
	out->stop_raw = str_dup(s->mem, buf_str(&s->stop_raw));
	out->model = str_dup(s->mem, buf_str(&s->model));
	if (!s->failed)
		out->stop = s->wire->stop(s, out->ncalls);
	if (s->failed || out->stop == STOP_REFUSAL) /* a refused turn leaves the history */
		return;
	if (add_message(&message, s, out, ERR_DISCARD) < 0)
		reply_fail(s, FAULT_PROTOCOL, "an answer larger than %zu MiB", REPLY_BYTES_MAX >> 20);
	else
		out->message = str_dup(s->mem, buf_str(&message));
}
