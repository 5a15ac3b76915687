/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/request.h"
#include "provider/request_priv.h"

#include "fmt/json.h"

#include <inttypes.h>
#include <string.h>

static const struct request_wire *const wires[API_COUNT] = {
	[API_ANTHROPIC] = &request_anthropic,
	[API_CHAT] = &request_chat,
	[API_RESPONSES] = &request_responses,
};

bool request_key_is_reserved(enum api_wire wire, struct str key)
{
	for (const char *const *k = wires[wire]->reserved; *k; k++)
		if (str_eqz(key, *k))
			return true;
	return false;
}

int body_key(struct body *b, const char *key, bool *ours, struct err *err)
{
	*ours = jval_get(b->extra, key).type == JSCAN_NONE || request_key_is_reserved(b->spec->wire, str_from(key));
	if (!*ours)
		return 0;
	return buf_addf(b->out, err, "%s\"%s\":", b->out->p[b->out->n - 1] == '{' ? "" : ",", key);
}

int body_raw(struct body *b, const char *key, const char *json, struct err *err)
{
	bool ours;

	TRY(body_key(b, key, &ours, err));
	return ours ? buf_addz(b->out, json, err) : 0;
}

int body_text(struct body *b, const char *key, struct str value, struct err *err)
{
	bool ours;

	TRY(body_key(b, key, &ours, err));
	return ours ? json_add_quoted(b->out, value, err) : 0;
}

int body_int(struct body *b, const char *key, int64_t value, struct err *err)
{
	bool ours;

	TRY(body_key(b, key, &ours, err));
	return ours ? buf_addf(b->out, err, "%" PRId64, value) : 0;
}

int body_num(struct body *b, const char *key, double value, struct err *err)
{
	bool ours;

	TRY(body_key(b, key, &ours, err));
	return ours ? buf_addf(b->out, err, "%.6g", value) : 0;
}

int tools_as_functions(const struct conversation *c, const char *head, const char *tail, struct buf *out, struct err *err)
{
	struct jval tool, description;

	TRY(buf_addc(out, '[', err));
	for (size_t pos = 0; jval_next(jval_from(buf_str(&c->tools)), &pos, NULL, &tool);) {
		description = jval_get(tool, "description");
		TRY(buf_addz(out, out->n > 1 ? "," : "", err));
		TRY(buf_addz(out, head, err));
		TRY(buf_add(out, jval_get(tool, "name").text, err));
		if (description.type == JSCAN_STRING) {
			TRY(buf_add(out, STR(",\"description\":"), err));
			TRY(buf_add(out, description.text, err));
		}
		TRY(buf_add(out, STR(",\"parameters\":"), err));
		TRY(buf_add(out, jval_get(tool, "input_schema").text, err));
		TRY(buf_addz(out, tail, err));
	}
	return buf_addc(out, ']', err);
}

int body_extra(struct body *b, struct err *err)
{
	struct jval key, value;

	for (size_t pos = 0; jval_next(b->extra, &pos, &key, &value);) {
		auto_buf struct buf name = BUF_MAX(key.text.n);

		TRY(jval_add_text(&name, key, NUL_REPLACE, err));
		jtext_repair(&name, 0);
		if (request_key_is_reserved(b->spec->wire, buf_str(&name)))
			continue;
		TRY(buf_addc(b->out, ',', err));
		TRY(json_add_quoted(b->out, buf_str(&name), err));
		TRY(buf_addc(b->out, ':', err));
		TRY(jval_add(b->out, value, NUL_REPLACE, err));
	}
	return 0;
}

int body_messages(struct body *b, struct err *err)
{
	for (size_t i = 0; i < b->c->n; i++) {
		struct str text = buf_str(&b->c->p[i].wire);

		if (str_eq(text, LEFT_OUT))
			continue;
		if (b->out->p[b->out->n - 1] != '[')
			TRY(buf_addc(b->out, ',', err));
		TRY(buf_add(b->out, text, err));
	}
	return buf_addc(b->out, ']', err);
}

/* "wire:model" */
static bool names(const struct body *b, struct str from)
{
	return str_eqz(str_cut(&from, ':'), api_wire_name(b->spec->wire)) && str_eq(from, b->spec->model);
}

bool message_is_own(const struct body *b, const struct message *m)
{
	auto_buf struct buf from = BUF_MAX(3 * m->from.n + 1);

	if (m->from.n < 2)
		return false;
	if (!memchr(m->from.p, '\\', m->from.n))
		return names(b, str_of(m->from.p + 1, m->from.n - 2));
	return jval_add_text(&from, (struct jval){ JSCAN_STRING, m->from }, NUL_KEEP, ERR_DISCARD) == 0 &&
		names(b, buf_str(&from));
}

const char *effort_word(const struct body *b, enum api_effort e)
{
	return e == EFFORT_OFF ? b->rule.off : api_effort_name(e);
}

/* Texts of all blocks of one type, joined; sep between two of them. */
static int join(struct jval content, const char *type, const char *member, const char *sep, struct buf *out,
	struct err *err)
{
	const char *const keys[] = { "type", member };
	struct jval block, is[COUNT(keys)];

	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);) {
		struct jval text;

		jval_pick(block, keys, COUNT(keys), is);
		text = is[1];
		if (!jval_is(is[0], type) || text.type != JSCAN_STRING || text.text.n == 2)
			continue;
		if (out->n > 0)
			TRY(buf_addz(out, sep, err));
		TRY(jval_add_text(out, text, NUL_REPLACE, err));
	}
	return 0;
}

int content_add_joined(struct buf *out, struct jval content, const char *type, const char *member,
	const char *sep, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(CONVERSATION_TEXT_MAX);

	TRY(join(content, type, member, sep, &text, err));
	return json_add_quoted(out, buf_str(&text), err);
}

bool content_has(struct jval content, const char *type)
{
	struct jval block;

	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);)
		if (jval_is(jval_get(block, "type"), type))
			return true;
	return false;
}

/* A string as it is; of a list its texts. */
int content_add_result(struct buf *out, struct jval content, struct err *err)
{
	if (content.type == JSCAN_ARRAY)
		return content_add_joined(out, content, "text", "text", "\n", err);
	return content.type == JSCAN_STRING ? buf_add(out, content.text, err) : buf_add(out, STR("\"\""), err);
}

size_t request_unweighed(const struct model_spec *spec, const struct conversation *c)
{
	return (spec->adapted & ADAPT_NO_PICTURES) ? 0 : conversation_unweighed(c);
}

bool message_shows(const struct body *b, const struct message *m)
{
	return m->pictures > 0 && !(b->spec->adapted & ADAPT_NO_PICTURES);
}

static int add_part(struct buf *out, struct jval block, const struct part_words *w, struct err *err)
{
	struct jval source = jval_get(block, "source"), type = jval_get(source, "media_type"), data = jval_get(source, "data");

	if (jval_is(jval_get(block, "type"), "text")) {
		TRY(buf_addf(out, err, "{\"type\":\"%s\",\"text\":", w->text));
		TRY(buf_add(out, jval_get(block, "text").text, err));
		return buf_addc(out, '}', err);
	}
	/* Both were looked at when they came into the conversation; each is a JSON string. */
	TRY(buf_addz(out, w->before, err));
	TRY(buf_addz(out, "\"data:", err));
	TRY(buf_add(out, str_of(type.text.p + 1, type.text.n - 2), err));
	TRY(buf_addz(out, ";base64,", err));
	TRY(buf_add(out, str_skip(data.text, 1), err));
	return buf_addz(out, w->after, err);
}

int content_add_parts(struct buf *out, struct jval content, const struct part_words *w, struct err *err)
{
	struct jval block;
	size_t n = 0;

	TRY(buf_addc(out, '[', err));
	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);) {
		struct jval type = jval_get(block, "type");

		if (!jval_is(type, "text") && !jval_is(type, "image"))
			continue;
		TRY(buf_addz(out, n++ > 0 ? "," : "", err));
		TRY(add_part(out, block, w, err));
	}
	return buf_addc(out, ']', err);
}

/* The wire texts depend on the wire, the model and what it refused. While those stay, each is made once. */
static int renew_texts(struct body *b, struct err *err)
{
	struct conversation *c = b->c;
	auto_buf struct buf key = BUF_MAX(b->spec->model.n + 64);

	TRY(buf_addf(&key, err, "%d %d %u " STR_FMT, (int)b->spec->wire, b->rule.replay_reasoning,
		b->spec->adapted & (ADAPT_NO_THINKING_REPLAY | ADAPT_NINE_IDS | ADAPT_NO_PICTURES), STR_ARG(b->spec->model)));
	if (!str_eq(buf_str(&key), buf_str(&c->made_for))) {
		for (size_t i = 0; i < c->n; i++) {
			buf_fini(&c->p[i].wire);
			c->p[i].wire_made = false;
		}
		buf_clear(&c->wire_tools);
		if (c->tools.n > 0)
			TRY(wires[b->spec->wire]->make_tools(c, &c->wire_tools, err));
		buf_clear(&c->made_for);
		TRY(buf_add(&c->made_for, buf_str(&key), err));
	}
	for (size_t i = 0; i < c->n; i++)
		if (!c->p[i].wire_made) {
			TRY(wires[b->spec->wire]->make_message(b, &c->p[i], &c->p[i].wire, err));
			c->p[i].wire_made = true;
		}
	return 0;
}

int request_encode(const struct model_spec *spec, struct conversation *c, const struct request_options *opts,
	struct buf *out, struct err *err)
{
	struct body b = { .out = out, .spec = spec, .rule = model_rule_get(spec), .c = c,
		.no_tools = opts && opts->no_tools, .extra = jval_from(spec->extra_body) };

	if (spec->extra_body.n > 0 && b.extra.type != JSCAN_OBJECT)
		return err_set(err, ERR_INVALID, "extra_body is not a JSON object");
	if (conversation_count(c) == 0)
		return err_set(err, ERR_INVALID, "a request needs a message");
	if (conversation_has_open_calls(c))
		return err_set(err, ERR_INVALID, "the last calls have no results yet");
	TRY(renew_texts(&b, err));
	TRY(buf_addc(out, '{', err));
	TRY(wires[spec->wire]->settings(&b, err));
	TRY(body_extra(&b, err));
	TRY(wires[spec->wire]->prompt(&b, err));
	return buf_addc(out, '}', err);
}
