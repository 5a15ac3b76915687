/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/request_priv.h"

#include "fmt/json.h"

#include <string.h>

#define CACHE_MARK     STR(",\"cache_control\":{\"type\":\"ephemeral\"}")
#define ANSWER_RESERVE 8192  /* what an answer needs beside its thoughts */
#define ADAPTIVE_ROOM  16384 /* what adaptive thinking may need */

static const char *const reserved[] = { "system", "messages", "model", "stream", "anthropic_version", "tools",
	"tool_choice", NULL };

static const int64_t thinking_budgets[EFFORT_COUNT] = {
	[EFFORT_LOW] = 4096,
	[EFFORT_MEDIUM] = 8192,
	[EFFORT_HIGH] = 16384,
};

static enum api_effort effort_of(const struct body *b)
{
	enum api_effort e = b->spec->effort;

	if (b->rule.thinking == THINK_NONE || (b->spec->adapted & ADAPT_NO_THINKING) || e <= EFFORT_OFF)
		return EFFORT_OFF;
	return e > b->rule.most ? b->rule.most : e;
}

static int add_thinking(struct body *b, enum api_effort effort, int64_t budget, struct err *err)
{
	bool ours;

	TRY(body_key(b, "thinking", &ours, err));
	if (ours && b->rule.thinking == THINK_BUDGET)
		return buf_addf(b->out, err, "{\"type\":\"enabled\",\"budget_tokens\":%lld}", (long long)budget);
	if (ours)
		TRY(buf_addz(b->out, b->rule.thinking == THINK_SHOWN
			? "{\"type\":\"adaptive\",\"display\":\"summarized\"}" : "{\"type\":\"adaptive\"}", err));
	TRY(body_key(b, "output_config", &ours, err));
	return ours ? buf_addf(b->out, err, "{\"effort\":\"%s\"}", api_effort_name(effort)) : 0;
}

static int settings(struct body *b, struct err *err)
{
	const struct model_spec *spec = b->spec;
	enum api_effort effort = effort_of(b);
	int64_t budget = b->rule.thinking == THINK_BUDGET ? thinking_budgets[effort] : ADAPTIVE_ROOM;
	int64_t max_tokens = spec->max_tokens, most = model_facts_get(spec->model).max_output;

	if (effort != EFFORT_OFF && max_tokens < budget + ANSWER_RESERVE)
		max_tokens = budget + ANSWER_RESERVE;
	if (most > 0 && max_tokens > most)
		max_tokens = most;
	if (spec->deployment == DEPLOY_VERTEX)
		TRY(body_raw(b, "anthropic_version", "\"vertex-2023-10-16\"", err));
	else
		TRY(body_text(b, "model", spec->model, err));
	TRY(body_int(b, "max_tokens", max_tokens, err));
	TRY(body_raw(b, "stream", "true", err));
	if (effort != EFFORT_OFF)
		TRY(add_thinking(b, effort, budget, err));
	else if (spec->temperature >= 0 && !b->rule.no_temperature && !(spec->adapted & ADAPT_NO_TEMPERATURE))
		TRY(body_num(b, "temperature", spec->temperature, err));
	if (b->no_tools && b->c->tools.n > 0)
		TRY(body_raw(b, "tool_choice", "{\"type\":\"none\"}", err));
	return 0;
}

static int make_tools(const struct conversation *c, struct buf *out, struct err *err)
{
	return buf_add(out, buf_str(&c->tools), err);
}

/* Anthropic takes only [a-zA-Z0-9_-]; ids from elsewhere are spelled so, in call and result alike. */
static int add_id(struct buf *out, struct jval id, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(3 * id.text.n);

	TRY(jval_add_text(&text, id, NUL_REPLACE, err));
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i], low = (char)(c | 0x20);

		if (!((c >= '0' && c <= '9') || (low >= 'a' && low <= 'z') || c == '_' || c == '-'))
			text.p[i] = '_';
	}
	if (text.n == 0)
		TRY(buf_addc(&text, '_', err));
	return json_add_quoted(out, buf_str(&text), err);
}

static int add_block(struct buf *out, struct jval block, struct err *err)
{
	bool first = true, is_call = jval_is(jval_get(block, "type"), "tool_use");
	struct jval key, value;

	TRY(buf_addc(out, '{', err));
	for (size_t pos = 0; jval_next(block, &pos, &key, &value);) {
		bool is_id = jval_is(key, "tool_use_id") || (is_call && jval_is(key, "id"));

		if (jval_is(key, "extra_content") || jval_is(key, "x_phase"))
			continue;
		if (!first)
			TRY(buf_addc(out, ',', err));
		first = false;
		TRY(buf_add(out, key.text, err));
		TRY(buf_addc(out, ':', err));
		if (is_id)
			TRY(add_id(out, value, err));
		else
			TRY(buf_add(out, value.text, err));
	}
	return buf_addc(out, '}', err);
}

static bool is_sent(const struct body *b, const struct message *m, struct jval block)
{
	struct jval type = jval_get(block, "type");
	bool thinking = jval_is(type, "thinking");

	if (!m->is_user && str_starts(str_skip(type.text, 1), STR("x_")))
		return false;
	if (m->is_user && jval_is(type, "image"))
		return message_shows(b, m);
	if (!thinking && !jval_is(type, "redacted_thinking"))
		return true;
	if (thinking && jval_get(block, "signature").type != JSCAN_STRING)
		return false; /* unsigned: cut off, or another provider's */
	return message_is_own(b, m) && !(b->spec->adapted & ADAPT_NO_THINKING_REPLAY);
}

/* What cannot be cut from the canonical text as it stands; nothing when it can. */
static int make_message(const struct body *b, const struct message *m, struct buf *out, struct err *err)
{
	struct jval content = message_content(m), block;
	bool drop_thoughts = m->has_thinking &&
		(!message_is_own(b, m) || (b->spec->adapted & ADAPT_NO_THINKING_REPLAY));
	size_t n = 0;

	if (!m->is_mixed && !drop_thoughts && (m->pictures == 0 || message_shows(b, m)))
		return 0;
	TRY(buf_addf(out, err, "{\"role\":\"%s\",\"content\":[", m->is_user ? "user" : "assistant"));
	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);) {
		if (!is_sent(b, m, block))
			continue;
		if (n++ > 0)
			TRY(buf_addc(out, ',', err));
		TRY(add_block(out, block, err));
	}
	if (n == 0) {
		buf_clear(out);
		return buf_add(out, LEFT_OUT, err);
	}
	return buf_add(out, STR("]}"), err);
}

/* Ends with "}]}": a mark goes into the last block. */
static int add_marked(struct buf *out, struct str text, bool mark, size_t tail, struct err *err)
{
	if (!mark)
		return buf_add(out, text, err);
	TRY(buf_add(out, str_head(text, text.n - tail), err));
	TRY(buf_add(out, CACHE_MARK, err));
	return buf_add(out, str_tail(text, tail), err);
}

static int add_message(struct body *b, const struct message *m, bool mark, struct err *err)
{
	struct str text = buf_str(m->wire.n > 0 ? &m->wire : &m->text);

	if (str_eq(text, LEFT_OUT))
		return 0;
	if (b->out->p[b->out->n - 1] != '[')
		TRY(buf_addc(b->out, ',', err));
	if (m->wire.n == 0 && !m->is_user) { /* without "from" */
		TRY(buf_add(b->out, STR("{\"role\":\"assistant\",\"content\":"), err));
		text = str_skip(text, m->content);
	}
	return add_marked(b->out, text, mark, sizeof("}]}") - 1, err);
}

/* Marked are the last two messages of the user: the newest, and the one that the previous request
 * marked, from which the server then reads what it has. */
static size_t first_marked(const struct conversation *c)
{
	size_t left = 2, i = c->n;

	while (i > 0 && left > 0)
		left -= c->p[--i].is_user;
	return i;
}

static int prompt(struct body *b, struct err *err)
{
	const struct conversation *c = b->c;
	bool marks = b->spec->prompt_caching;
	size_t from = first_marked(c);

	if (c->wire_tools.n > 0) {
		TRY(buf_add(b->out, STR(",\"tools\":"), err));
		TRY(add_marked(b->out, buf_str(&c->wire_tools), marks, sizeof("}]") - 1, err));
	}
	if (c->system.n > 0) {
		TRY(buf_add(b->out, STR(",\"system\":[{\"type\":\"text\",\"text\":"), err));
		TRY(json_add_quoted(b->out, buf_str(&c->system), err));
		TRY(add_marked(b->out, STR("}]"), marks, 2, err));
	}
	TRY(buf_add(b->out, STR(",\"messages\":["), err));
	for (size_t i = 0; i < c->n; i++)
		TRY(add_message(b, &c->p[i], marks && i >= from && c->p[i].is_user, err));
	return buf_addc(b->out, ']', err);
}

const struct request_wire request_anthropic = {
	.reserved = reserved,
	.settings = settings,
	.make_tools = make_tools,
	.make_message = make_message,
	.prompt = prompt,
};
