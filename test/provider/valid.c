/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/provider/valid.h"

#include "fmt/json.h"

#include <string.h>

#define IDS_MAX 512

struct ids {
	const char *p[IDS_MAX];
	size_t n;
};

static bool has(const struct ids *ids, const char *id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (strcmp(ids->p[i], id) == 0)
			return true;
	return false;
}

static void drop(struct ids *ids, const char *id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (strcmp(ids->p[i], id) == 0) {
			ids->p[i] = ids->p[--ids->n];
			return;
		}
}

static const char *text(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static bool is(const json_t *j, const char *key, const char *want)
{
	return strcmp(text(j, key), want) == 0;
}

static bool name_ok(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return n > 0 && n <= 64 && s[n] == '\0';
}

static bool is_object_text(const char *s)
{
	auto_json json_t *j = json_loads(s, 0, NULL);

	return json_is_object(j);
}

/* ---- Anthropic ---- */

static const char *anthropic_user(const json_t *content, struct ids *open)
{
	bool said = false;
	const json_t *b;
	size_t i;

	json_array_foreach(content, i, b) {
		if (is(b, "type", "text")) {
			said = true;
			if (text(b, "text")[0] == '\0')
				return "text content blocks must be non-empty";
		} else if (!is(b, "type", "tool_result")) {
			return "a user's block is text or tool_result";
		} else {
			if (said)
				return "tool_result blocks come first";
			if (!has(open, text(b, "tool_use_id")))
				return "unexpected tool_use_id: no tool_use in the previous message";
			drop(open, text(b, "tool_use_id"));
		}
	}
	return open->n > 0 ? "tool_use ids were found without tool_result blocks immediately after" : NULL;
}

static const char *anthropic_assistant(const json_t *content, struct ids *open, struct ids *all)
{
	const json_t *b;
	size_t i;

	json_array_foreach(content, i, b) {
		if (is(b, "type", "text") && text(b, "text")[0] == '\0')
			return "text content blocks must be non-empty";
		if (is(b, "type", "thinking") && text(b, "signature")[0] == '\0')
			return "thinking without a signature";
		if (is(b, "type", "thinking") && json_object_get(b, "cache_control"))
			return "thinking cannot be marked";
		if (strncmp(text(b, "type"), "x_", 2) == 0)
			return "an unknown type of block";
		if (!is(b, "type", "tool_use"))
			continue;
		if (!name_ok(text(b, "name")) || !name_ok(text(b, "id")))
			return "a name or an id does not match the pattern";
		if (!json_is_object(json_object_get(b, "input")))
			return "input is no dictionary";
		if (has(all, text(b, "id")) || all->n == IDS_MAX)
			return "tool_use ids must be unique";
		open->p[open->n++] = all->p[all->n++] = text(b, "id");
	}
	return NULL;
}

static const char *anthropic(const json_t *body)
{
	const json_t *messages = json_object_get(body, "messages"), *m;
	struct ids open = { .n = 0 }, all = { .n = 0 };
	const char *bad = NULL;
	size_t i;

	json_array_foreach(messages, i, m) {
		const json_t *content = json_object_get(m, "content");

		if (json_object_size(m) != 2 || json_array_size(content) == 0)
			return "a message is a role and content, and content is not empty";
		if (i == 0 && !is(m, "role", "user"))
			return "the first message is the user's";
		if (is(m, "role", "user"))
			bad = anthropic_user(content, &open);
		else if (open.n > 0)
			return "tool_use ids were found without tool_result blocks immediately after";
		else
			bad = anthropic_assistant(content, &open, &all);
		if (bad)
			return bad;
	}
	if (open.n > 0)
		return "tool_use ids without results at the end";
	return json_array_size(messages) == 0 ? "messages: at least one message is required" : NULL;
}

/* ---- Chat ---- */

static const char *chat_assistant(const json_t *m, struct ids *open)
{
	const json_t *calls = json_object_get(m, "tool_calls"), *c, *content = json_object_get(m, "content");
	size_t i;

	if (calls && json_array_size(calls) == 0)
		return "tool_calls: an empty array";
	if (!calls && !json_is_string(content))
		return "content is needed where there are no calls";
	json_array_foreach(calls, i, c) {
		const json_t *f = json_object_get(c, "function");

		if (!is(c, "type", "function") || !name_ok(text(f, "name")) || text(c, "id")[0] == '\0')
			return "a call is no function with a name and an id";
		if (!is_object_text(text(f, "arguments")))
			return "arguments are no JSON object";
		if (has(open, text(c, "id")) || open->n == IDS_MAX)
			return "two calls of one id in one message";
		open->p[open->n++] = text(c, "id");
	}
	return NULL;
}

static const char *chat(const json_t *body)
{
	const json_t *messages = json_object_get(body, "messages"), *m;
	struct ids open = { .n = 0 };
	bool spoken = false;
	const char *bad;
	size_t i;

	json_array_foreach(messages, i, m) {
		if (is(m, "role", "tool")) {
			if (!has(&open, text(m, "tool_call_id")))
				return "messages with role tool must follow a message with tool_calls";
			if (!json_is_string(json_object_get(m, "content")))
				return "a result without content";
			drop(&open, text(m, "tool_call_id"));
			continue;
		}
		if (open.n > 0)
			return "an assistant message with tool_calls must be followed by tool messages for each id";
		if (is(m, "role", "system")) {
			if (i != 0)
				return "the system message is the first one";
		} else if (is(m, "role", "user")) {
			spoken = true;
			if (text(m, "content")[0] == '\0')
				return "a user's message without words";
		} else if (is(m, "role", "assistant")) {
			if (!spoken)
				return "the user speaks first";
			bad = chat_assistant(m, &open);
			if (bad)
				return bad;
		} else {
			return "no such role";
		}
	}
	return open.n > 0 ? "tool_calls without results at the end" : spoken ? NULL : "nobody has spoken";
}

/* ---- Responses ---- */

static const char *message_item(const json_t *item)
{
	const json_t *content = json_object_get(item, "content"), *part;
	const char *want = is(item, "role", "assistant") ? "output_text" : "input_text";
	size_t i;

	if (json_array_size(content) == 0)
		return "a message without content";
	json_array_foreach(content, i, part)
		if (!is(part, "type", want) || text(part, "text")[0] == '\0')
			return "a part of the wrong type, or without text";
	return NULL;
}

static const char *responses(const json_t *body)
{
	const json_t *input = json_object_get(body, "input"), *item;
	struct ids open = { .n = 0 };
	bool owes = false; /* reasoning that leads to nothing yet */
	const char *bad = NULL;
	size_t i;

	json_array_foreach(input, i, item) {
		bool reasoning = is(item, "type", "reasoning"), output = is(item, "type", "function_call_output");

		if (json_object_get(item, "id"))
			return "an item of an unstored answer is not found by its id";
		if (owes && (output || (is(item, "type", "message") && is(item, "role", "user"))))
			return "a reasoning item was provided without its required following item";
		owes = reasoning || (owes && !is(item, "type", "function_call") && !is(item, "type", "message"));
		if (is(item, "type", "message"))
			bad = open.n > 0 && is(item, "role", "user") ? "no tool output found for function call" : message_item(item);
		if (bad)
			return bad;
		if (is(item, "type", "function_call")) {
			if (!name_ok(text(item, "name")) || !is_object_text(text(item, "arguments")) || text(item, "call_id")[0] == '\0')
				return "a call without name, id or arguments";
			if (has(&open, text(item, "call_id")) || open.n == IDS_MAX)
				return "two calls of one id wait for output";
			open.p[open.n++] = text(item, "call_id");
		} else if (output) {
			if (!has(&open, text(item, "call_id")))
				return "no tool call found for function call output";
			drop(&open, text(item, "call_id"));
		}
	}
	if (owes)
		return "a reasoning item was provided without its required following item";
	return open.n > 0 ? "no tool output found for function call" : json_array_size(input) > 0 ? NULL : "input is empty";
}

const char *valid_request(enum api_wire wire, struct str body)
{
	static const char *(*const rules[API_COUNT])(const json_t *) = {
		[API_ANTHROPIC] = anthropic, [API_CHAT] = chat, [API_RESPONSES] = responses };
	auto_json json_t *j = NULL;

	if (json_decode(body, JSON_EXACT, &j, ERR_DISCARD) < 0)
		return "the body is no JSON";
	return rules[wire](j);
}
