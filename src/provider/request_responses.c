/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* request_responses: nothing is kept by the server (store is false), so every item goes along each time,
 * without the ids that would point into a store. */
#include "provider/request_priv.h"

#include "fmt/json.h"

#include <string.h>

#define LARGE_ANSWER 32768

static const char *const reserved[] = { "instructions", "input", "model", "stream", "store", "tools", "tool_choice",
	"previous_response_id", "background", NULL };

/* A summary of the thoughts is asked for wherever the model is known to think; an effort that nobody set
 * is not sent. */
static int add_reasoning(struct body *b, struct err *err)
{
	enum api_effort e = b->spec->effort > b->rule.most ? b->rule.most : b->spec->effort;
	const char *word = e == EFFORT_UNSET || (b->spec->adapted & ADAPT_NO_EFFORT) ? NULL : effort_word(b, e);
	bool summary = b->rule.max_completion && !(b->spec->adapted & (ADAPT_NO_SUMMARY | ADAPT_NO_EFFORT));
	bool ours;

	if (!b->rule.reasons || (!word && !summary))
		return 0;
	TRY(body_key(b, "reasoning", &ours, err));
	if (!ours)
		return 0;
	TRY(buf_addc(b->out, '{', err));
	if (word)
		TRY(buf_addf(b->out, err, "\"effort\":\"%s\"%s", word, summary ? "," : ""));
	return buf_addz(b->out, summary ? "\"summary\":\"auto\"}" : "}", err);
}

static int settings(struct body *b, struct err *err)
{
	const struct model_spec *spec = b->spec;
	int64_t max_tokens = spec->max_tokens, most = model_facts_get(spec->model).max_output;

	if (b->rule.large_answers && max_tokens < LARGE_ANSWER)
		max_tokens = LARGE_ANSWER;
	if (most > 0 && max_tokens > most)
		max_tokens = most;
	TRY(body_text(b, "model", spec->model, err));
	TRY(body_raw(b, "stream", "true", err));
	TRY(body_raw(b, "store", "false", err));
	if (!(spec->adapted & ADAPT_NO_ENCRYPTED))
		TRY(body_raw(b, "include", "[\"reasoning.encrypted_content\"]", err));
	if (!(spec->adapted & ADAPT_NO_MAX_TOKENS))
		TRY(body_int(b, "max_output_tokens", max_tokens, err));
	if (spec->temperature >= 0 && !b->rule.no_temperature && !(spec->adapted & ADAPT_NO_TEMPERATURE))
		TRY(body_num(b, "temperature", spec->temperature, err));
	TRY(add_reasoning(b, err));
	if (b->no_tools && b->c->tools.n > 0)
		TRY(body_raw(b, "tool_choice", "\"none\"", err));
	return 0;
}

/* Flat, and strict is said to be off: it is on by default and refuses schemas with optional members. */
static int make_tools(const struct conversation *c, struct buf *out, struct err *err)
{
	return tools_as_functions(c, "{\"type\":\"function\",\"name\":", ",\"strict\":false}", out, err);
}

static int add_comma(struct buf *out, struct err *err)
{
	return out->n > 0 ? buf_addc(out, ',', err) : 0;
}

static int add_call(struct buf *out, struct jval block, struct err *err)
{
	TRY(add_comma(out, err));
	TRY(buf_add(out, STR("{\"type\":\"function_call\",\"call_id\":"), err));
	TRY(buf_add(out, jval_get(block, "id").text, err));
	TRY(buf_add(out, STR(",\"name\":"), err));
	TRY(buf_add(out, jval_get(block, "name").text, err));
	TRY(buf_add(out, STR(",\"arguments\":"), err));
	TRY(json_add_quoted(out, jval_get(block, "input").text, err));
	return buf_addc(out, '}', err);
}

static int add_text(struct buf *out, struct jval block, struct err *err)
{
	struct jval phase = jval_get(block, "x_phase");

	TRY(add_comma(out, err));
	TRY(buf_add(out, STR("{\"type\":\"message\",\"role\":\"assistant\","), err));
	if (phase.type == JSCAN_STRING) {
		TRY(buf_add(out, STR("\"phase\":"), err));
		TRY(buf_add(out, phase.text, err));
		TRY(buf_addc(out, ',', err));
	}
	TRY(buf_add(out, STR("\"content\":[{\"type\":\"output_text\",\"text\":"), err));
	TRY(buf_add(out, jval_get(block, "text").text, err));
	return buf_add(out, STR("}]}"), err);
}

static bool is_said(struct jval block)
{
	return jval_is(jval_get(block, "type"), "text") || jval_is(jval_get(block, "type"), "tool_use");
}

/* An opaque item goes back to who made it. Thoughts go only in front of what they led to, which the server
 * insists on: an answer that was cut off while it thought has nothing to show for them. */
static bool is_sent_back(const struct body *b, struct jval content, size_t after, struct jval item, bool own)
{
	bool thoughts = jval_is(jval_get(item, "type"), "reasoning");
	struct jval next;

	if (!own || ((b->spec->adapted & ADAPT_NO_THINKING_REPLAY) && thoughts))
		return false;
	if (!thoughts)
		return item.type == JSCAN_OBJECT;
	if (jval_get(item, "encrypted_content").type != JSCAN_STRING)
		return false; /* it was not stored, so there is nothing to find it by */
	while (jval_next(content, &after, NULL, &next))
		if (is_said(next))
			return true;
	return false;
}

static int make_assistant(const struct body *b, const struct message *m, struct buf *out, struct err *err)
{
	struct jval content = message_content(m), block;
	bool own = message_is_own(b, m);

	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);) {
		struct jval type = jval_get(block, "type"), item = jval_get(block, "item");

		if (jval_is(type, "text")) {
			TRY(add_text(out, block, err));
		} else if (jval_is(type, "tool_use")) {
			TRY(add_call(out, block, err));
		} else if (jval_is(type, "x_item") && is_sent_back(b, content, pos, item, own)) {
			TRY(add_comma(out, err));
			TRY(buf_add(out, item.text, err));
		}
	}
	return out->n > 0 ? 0 : buf_add(out, LEFT_OUT, err);
}

static int make_user(const struct body *b, const struct message *m, struct buf *out, struct err *err)
{
	struct jval content = message_content(m), block;

	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);) {
		if (!jval_is(jval_get(block, "type"), "tool_result"))
			continue;
		TRY(add_comma(out, err));
		TRY(buf_add(out, STR("{\"type\":\"function_call_output\",\"call_id\":"), err));
		TRY(buf_add(out, jval_get(block, "tool_use_id").text, err));
		TRY(buf_add(out, STR(",\"output\":"), err));
		TRY(content_add_result(out, jval_get(block, "content"), err));
		TRY(buf_addc(out, '}', err));
	}
	if (!content_has(content, "text") && !message_shows(b, m))
		return out->n > 0 ? 0 : buf_add(out, LEFT_OUT, err);
	TRY(add_comma(out, err));
	if (message_shows(b, m)) {
		static const struct part_words words = { "input_text", "{\"type\":\"input_image\",\"image_url\":", "}" };

		TRY(buf_add(out, STR("{\"type\":\"message\",\"role\":\"user\",\"content\":"), err));
		TRY(content_add_parts(out, content, &words, err));
		return buf_addc(out, '}', err);
	}
	TRY(buf_add(out, STR("{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":"), err));
	TRY(content_add_joined(out, content, "text", "text", "\n\n", err));
	return buf_add(out, STR("}]}"), err);
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
	if (c->system.n > 0) {
		TRY(buf_add(b->out, STR(",\"instructions\":"), err));
		TRY(json_add_quoted(b->out, buf_str(&c->system), err));
	}
	TRY(buf_add(b->out, STR(",\"input\":["), err));
	return body_messages(b, err);
}

const struct request_wire request_responses = {
	.reserved = reserved,
	.settings = settings,
	.make_tools = make_tools,
	.make_message = make_message,
	.prompt = prompt,
};
