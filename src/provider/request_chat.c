/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/request_priv.h"

#include "fmt/json.h"

#include <string.h>

#define LARGE_ANSWER 32768

static const char *const reserved[] = { "messages", "model", "stream", "stream_options", "tools", "tool_choice",
	"response_format", "n", NULL };

/* An effort that nobody set is not sent: a strict server refuses members it does not know. */
static int add_effort(struct body *b, struct err *err)
{
	enum api_effort e = b->spec->effort > b->rule.most ? b->rule.most : b->spec->effort;
	bool direct = b->rule.max_completion, ours;

	if ((b->spec->adapted & ADAPT_EFFORT_NONE) || (b->rule.tools_need_responses && b->c->tools.n > 0))
		return b->spec->adapted & ADAPT_NO_EFFORT ? 0 : body_raw(b, "reasoning_effort", "\"none\"", err);
	if (!b->rule.reasons || e == EFFORT_UNSET || (b->spec->adapted & ADAPT_NO_EFFORT))
		return 0;
	if (direct)
		return effort_word(b, e) ? body_text(b, "reasoning_effort", str_from(effort_word(b, e)), err) : 0;
	if (e == EFFORT_OFF)
		return body_raw(b, "reasoning", "{\"enabled\":false}", err);
	TRY(body_key(b, "reasoning", &ours, err));
	return ours ? buf_addf(b->out, err, "{\"effort\":\"%s\"}", api_effort_name(e)) : 0;
}

static int settings(struct body *b, struct err *err)
{
	const struct model_spec *spec = b->spec;
	bool completion = b->rule.max_completion || (spec->adapted & ADAPT_MAX_COMPLETION);
	int64_t max_tokens = spec->max_tokens, most = model_facts_get(spec->model).max_output;

	if (b->rule.large_answers && max_tokens < LARGE_ANSWER)
		max_tokens = LARGE_ANSWER;
	if (most > 0 && max_tokens > most)
		max_tokens = most;
	if (spec->deployment != DEPLOY_AZURE)
		TRY(body_text(b, "model", spec->model, err));
	TRY(body_raw(b, "stream", "true", err));
	if (!(spec->adapted & ADAPT_NO_STREAM_OPTIONS))
		TRY(body_raw(b, "stream_options", "{\"include_usage\":true}", err));
	TRY(body_int(b, completion ? "max_completion_tokens" : "max_tokens", max_tokens, err));
	if (spec->temperature >= 0 && !b->rule.no_temperature && !(spec->adapted & ADAPT_NO_TEMPERATURE))
		TRY(body_num(b, "temperature", spec->temperature, err));
	TRY(add_effort(b, err));
	if (b->no_tools && b->c->tools.n > 0)
		TRY(body_raw(b, "tool_choice", "\"none\"", err));
	return 0;
}

static int make_tools(const struct conversation *c, struct buf *out, struct err *err)
{
	return tools_as_functions(c, "{\"type\":\"function\",\"function\":{\"name\":", "}}", out, err);
}

/* Ids are the server's own and go back as they came, unless it takes only nine letters and digits: those of
 * another server are then made so, in call and result alike. */
static int add_id(const struct body *b, struct buf *out, struct jval id, struct err *err)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	uint64_t h = 14695981039346656037u; /* FNV-1a: nobody chooses these against us, they only have to differ */
	char nine[12] = "\"";
	bool fits = id.text.n == 11;

	for (size_t i = 1; i + 1 < id.text.n; i++) {
		h = (h ^ (unsigned char)id.text.p[i]) * 1099511628211u;
		fits = fits && memchr(digits, id.text.p[i], sizeof(digits) - 1);
	}
	if (fits || !(b->spec->adapted & ADAPT_NINE_IDS))
		return buf_add(out, id.text, err);
	for (size_t i = 1; i <= 9; i++, h /= 62)
		nine[i] = digits[h % 62];
	nine[10] = '"';
	return buf_add(out, str_of(nine, 11), err);
}

enum { C_TYPE, C_ID, C_NAME, C_INPUT, C_EXTRA, C_COUNT };
static const char *const call_keys[C_COUNT] = { "type", "id", "name", "input", "extra_content" };

static int add_calls(const struct body *b, struct buf *out, struct jval content, bool own, struct err *err)
{
	struct jval block, is[C_COUNT];

	TRY(buf_add(out, STR(",\"tool_calls\":["), err));
	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);) {
		jval_pick(block, call_keys, C_COUNT, is);
		if (!jval_is(is[C_TYPE], "tool_use"))
			continue;
		TRY(buf_add(out, out->p[out->n - 1] == '[' ? STR("{\"id\":") : STR(",{\"id\":"), err));
		TRY(add_id(b, out, is[C_ID], err));
		TRY(buf_add(out, STR(",\"type\":\"function\",\"function\":{\"name\":"), err));
		TRY(buf_add(out, is[C_NAME].text, err));
		TRY(buf_add(out, STR(",\"arguments\":"), err));
		TRY(json_add_quoted(out, is[C_INPUT].text, err));
		TRY(buf_addc(out, '}', err));
		if (own && is[C_EXTRA].type == JSCAN_OBJECT) {
			TRY(buf_add(out, STR(",\"extra_content\":"), err));
			TRY(buf_add(out, is[C_EXTRA].text, err));
		}
		TRY(buf_addc(out, '}', err));
	}
	return buf_addc(out, ']', err);
}

/* Thoughts go back only to the model they came from, and only where its server wants them. */
static int add_thoughts(const struct body *b, struct buf *out, const struct message *m, struct err *err)
{
	static const char *const keys[] = { "type", "details" };
	struct jval content = message_content(m), block, is[COUNT(keys)];

	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);) {
		jval_pick(block, keys, COUNT(keys), is);
		if (jval_is(is[0], "x_reasoning_details")) {
			TRY(buf_add(out, STR(",\"reasoning_details\":"), err));
			return buf_add(out, is[1].text, err);
		}
	}
	if (!b->rule.replay_reasoning || !m->has_thinking || !content_has(content, "thinking"))
		return 0;
	TRY(buf_add(out, STR(",\"reasoning_content\":"), err));
	return content_add_joined(out, content, "thinking", "thinking", "", err);
}

static int make_assistant(const struct body *b, const struct message *m, struct buf *out, struct err *err)
{
	struct jval content = message_content(m);
	bool own = message_is_own(b, m);

	if (!m->has_text && !m->has_calls)
		return buf_add(out, LEFT_OUT, err); /* thoughts alone */
	TRY(buf_add(out, STR("{\"role\":\"assistant\",\"content\":"), err));
	if (m->has_text)
		TRY(content_add_joined(out, content, "text", "text", "", err));
	else
		TRY(buf_add(out, STR("null"), err));
	if (own)
		TRY(add_thoughts(b, out, m, err));
	if (m->has_calls)
		TRY(add_calls(b, out, content, own, err));
	return buf_addc(out, '}', err);
}

enum { R_TYPE, R_ID, R_CONTENT, R_COUNT };
static const char *const result_keys[R_COUNT] = { "type", "tool_use_id", "content" };

/* Each result is a message of its own, before the user's words. */
static int make_user(const struct body *b, const struct message *m, struct buf *out, struct err *err)
{
	struct jval content = message_content(m), block, is[R_COUNT];

	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);) {
		jval_pick(block, result_keys, R_COUNT, is);
		if (!jval_is(is[R_TYPE], "tool_result"))
			continue;
		if (out->n > 0)
			TRY(buf_addc(out, ',', err));
		TRY(buf_add(out, STR("{\"role\":\"tool\",\"tool_call_id\":"), err));
		TRY(add_id(b, out, is[R_ID], err));
		TRY(buf_add(out, STR(",\"content\":"), err));
		TRY(content_add_result(out, is[R_CONTENT], err));
		TRY(buf_addc(out, '}', err));
	}
	if (!m->has_text && !message_shows(b, m))
		return out->n > 0 ? 0 : buf_add(out, LEFT_OUT, err);
	TRY(buf_addz(out, out->n > 0 ? "," : "", err));
	TRY(buf_add(out, STR("{\"role\":\"user\",\"content\":"), err));
	if (message_shows(b, m)) {
		static const struct part_words words = { "text", "{\"type\":\"image_url\",\"image_url\":{\"url\":", "}}" };

		TRY(content_add_parts(out, content, &words, err));
		return buf_addc(out, '}', err);
	}
	TRY(content_add_joined(out, content, "text", "text", "\n\n", err));
	return buf_addc(out, '}', err);
}

static int make_message(const struct body *b, const struct message *m, struct buf *out, struct err *err)
{
	return m->is_user ? make_user(b, m, out, err) : make_assistant(b, m, out, err);
}

static int prompt(struct body *b, struct err *err)
{
	const struct conversation *c = b->c;

	if (c->wire_tools.n > 0) {
		TRY(buf_add(b->out, STR(",\"tools\":"), err));
		TRY(buf_add(b->out, buf_str(&c->wire_tools), err));
	}
	TRY(buf_add(b->out, STR(",\"messages\":["), err));
	if (c->system.n > 0) {
		TRY(buf_add(b->out, STR("{\"role\":\"system\",\"content\":"), err));
		TRY(json_add_quoted(b->out, buf_str(&c->system), err));
		TRY(buf_addc(b->out, '}', err));
	}
	return body_messages(b, err);
}

const struct request_wire request_chat = {
	.reserved = reserved,
	.settings = settings,
	.make_tools = make_tools,
	.make_message = make_message,
	.prompt = prompt,
};
