/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/model.h"
#include "provider/fault_priv.h"
#include "provider/model_priv.h"

static const char *const wire_names[API_COUNT] = {
#define X(value, word) [value] = word,
	API_WIRES(X)
#undef X
};

static const char *const effort_names[EFFORT_COUNT] = {
#define X(value, word) [value] = word,
	EFFORTS(X)
#undef X
};

/* NAME: at the start, behind a router's "maker/". OPENAI: at the very start, and only at api.openai.com. */
enum { MATCH_PART, MATCH_NAME, MATCH_OPENAI };

/* The first row that fits counts. Names are compared in lower case with '.' read as '-'. */
static const struct {
	enum api_wire wire;
	int match;
	const char *name;
	struct model_rule rule;
} rules[] = {
#define ADAPTIVE_ONLY { .thinking = THINK_SHOWN, .most = EFFORT_MAX, .no_temperature = true, \
		.source = "platform.claude.com 2026-11" }
#define ADAPTIVE_TOO { .thinking = THINK_ADAPTIVE, .most = EFFORT_HIGH, .source = "anthropics/skills 2026-07" }
	{ API_ANTHROPIC, MATCH_PART, "fable-", ADAPTIVE_ONLY },
	{ API_ANTHROPIC, MATCH_PART, "mythos-", ADAPTIVE_ONLY },
	{ API_ANTHROPIC, MATCH_PART, "opus-5", ADAPTIVE_ONLY },
	{ API_ANTHROPIC, MATCH_PART, "sonnet-5", ADAPTIVE_ONLY },
	{ API_ANTHROPIC, MATCH_PART, "haiku-5", ADAPTIVE_ONLY },
	{ API_ANTHROPIC, MATCH_PART, "opus-4-8", ADAPTIVE_ONLY },
	{ API_ANTHROPIC, MATCH_PART, "opus-4-7", ADAPTIVE_ONLY },
	{ API_ANTHROPIC, MATCH_PART, "opus-4-6", ADAPTIVE_TOO },
	{ API_ANTHROPIC, MATCH_PART, "sonnet-4-6", ADAPTIVE_TOO },
	{ API_ANTHROPIC, MATCH_PART, "", { .thinking = THINK_BUDGET, .most = EFFORT_HIGH,
		.source = "anthropics/skills 2026-07" } },
#undef ADAPTIVE_ONLY
#undef ADAPTIVE_TOO
#define OPENAI(most_effort, off_word, responses) { .most = most_effort, .off = off_word, .no_temperature = true, \
		.max_completion = true, .reasons = true, .large_answers = true, .tools_need_responses = responses, \
		.source = "openai-python 3.3.1, 2026-08; developers.openai.com 2026-11" }
#define OPENAI_FAMILY(wire, match, responses) \
	{ wire, match, "gpt-5-1", OPENAI(EFFORT_HIGH, "none", false) }, \
	{ wire, match, "gpt-5-2", OPENAI(EFFORT_XHIGH, "none", false) }, \
	{ wire, match, "gpt-5-3", OPENAI(EFFORT_XHIGH, "none", responses) }, \
	{ wire, match, "gpt-5-4", OPENAI(EFFORT_XHIGH, "none", responses) }, \
	{ wire, match, "gpt-5-5", OPENAI(EFFORT_XHIGH, "none", responses) }, \
	{ wire, match, "gpt-5-6", OPENAI(EFFORT_MAX, "none", responses) }, \
	{ wire, match, "gpt-5-codex", OPENAI(EFFORT_HIGH, "low", responses) }, \
	{ wire, match, "gpt-5", OPENAI(EFFORT_HIGH, "minimal", false) }, \
	{ wire, match, "gpt-6-2", OPENAI(EFFORT_MAX, "low", responses) }, \
	{ wire, match, "gpt-6", OPENAI(EFFORT_MAX, "none", responses) }, \
	{ wire, match, "o1", OPENAI(EFFORT_HIGH, "low", false) }, \
	{ wire, match, "o3", OPENAI(EFFORT_HIGH, "low", false) }, \
	{ wire, match, "o4", OPENAI(EFFORT_HIGH, "low", false) }
	OPENAI_FAMILY(API_CHAT, MATCH_OPENAI, true),
	OPENAI_FAMILY(API_RESPONSES, MATCH_NAME, false),
	{ API_RESPONSES, MATCH_PART, "gpt-oss", { .most = EFFORT_HIGH, .off = "low", .reasons = true, .large_answers = true,
		.source = "model card: low, medium, high" } },
#undef OPENAI_FAMILY
#undef OPENAI
#define THINKS(replay, from) { .most = EFFORT_HIGH, .reasons = true, .large_answers = true, \
		.replay_reasoning = replay, .source = from }
	{ API_CHAT, MATCH_PART, "deepseek-r1", THINKS(false, "api-docs.deepseek.com: R1 refuses it") },
	{ API_CHAT, MATCH_PART, "deepseek-v4", THINKS(true, "api-docs.deepseek.com 2026-08") },
	{ API_CHAT, MATCH_PART, "deepseek-v3-2", THINKS(true, "api-docs.deepseek.com 2026-08") },
	{ API_CHAT, MATCH_PART, "kimi-latest", { .most = EFFORT_HIGH, .large_answers = true,
		.source = "observed: thinks, takes no effort" } },
	{ API_CHAT, MATCH_PART, "kimi-k", THINKS(true, "platform.moonshot.ai 2026-08") },
	{ API_CHAT, MATCH_PART, "minimax-m", THINKS(true, "platform.minimax.io 2026-08") },
	{ API_CHAT, MATCH_PART, "glm", THINKS(true, "docs.z.ai 2026-08") },
	{ API_CHAT, MATCH_PART, "nemotron", THINKS(false, "model card") },
	{ API_CHAT, MATCH_PART, "qwq", THINKS(false, "model card") },
	{ API_CHAT, MATCH_PART, "thinking", THINKS(false, "the name says so") },
	{ API_CHAT, MATCH_PART, "reasoning", THINKS(false, "the name says so") },
	{ API_CHAT, MATCH_PART, "o1-", THINKS(false, "OpenAI's o series behind a router") },
	{ API_CHAT, MATCH_PART, "o3-", THINKS(false, "OpenAI's o series behind a router") },
	{ API_CHAT, MATCH_PART, "o4-", THINKS(false, "OpenAI's o series behind a router") },
#undef THINKS
};

#define NAME_MAX_BYTES 128
#define OWN_NAME "a strict server names the member that it refuses"

/* What a refusal may name, and what we then leave out. Both texts must be there; the second may be "". */
static const struct {
	unsigned wires; /* 1 << enum api_wire */
	const char *text, *and_text;
	unsigned learned;
	const char *source;
} refusals[] = {
	{ 1 << API_RESPONSES, "encrypted_content", "", ADAPT_NO_THINKING_REPLAY, "API errors, 2026-08" },
	{ 1 << API_RESPONSES, "required following item", "", ADAPT_NO_THINKING_REPLAY, "API errors, 2026-08" },
	{ 1 << API_RESPONSES, "required 'reasoning' item", "", ADAPT_NO_THINKING_REPLAY, "API errors, 2026-08" },
	{ 1 << API_RESPONSES, "required reasoning item", "", ADAPT_NO_THINKING_REPLAY, "API errors, 2026-08" },
	{ 1 << API_RESPONSES, "encrypted", "not supported", ADAPT_NO_ENCRYPTED, OWN_NAME },
	{ 1 << API_RESPONSES, "include", "", ADAPT_NO_ENCRYPTED, OWN_NAME },
	{ 1 << API_RESPONSES, "summar", "", ADAPT_NO_SUMMARY, OWN_NAME },
	{ 1 << API_RESPONSES, "reasoning", "", ADAPT_NO_EFFORT, OWN_NAME },
	{ 1 << API_RESPONSES, "max_output_tokens", "", ADAPT_NO_MAX_TOKENS, OWN_NAME },
	{ 1 << API_CHAT, "v1/responses", "", ADAPT_RESPONSES, "\"use /v1/responses instead\": API errors, 2026-08" },
	{ 1 << API_CHAT, "tool call id", "length of 9", ADAPT_NINE_IDS, "Mistral's error text, known for long" },
	{ 1 << API_CHAT, "max_completion_tokens", "", ADAPT_MAX_COMPLETION, "openai-python 3.3.1" },
	{ 1 << API_CHAT, "stream_options", "", ADAPT_NO_STREAM_OPTIONS, OWN_NAME },
	{ 1 << API_CHAT, "reasoning_effort", "/v1/responses", ADAPT_EFFORT_NONE, "error text of the API, 2026-08" },
	{ 1 << API_CHAT, "reasoning", "", ADAPT_NO_EFFORT, OWN_NAME },
	{ 1 << API_ANTHROPIC, "thinking", "signature", ADAPT_NO_THINKING_REPLAY, "platform.claude.com 2026-11" },
	{ 1 << API_ANTHROPIC, "thinking", "bound to a different", ADAPT_NO_THINKING_REPLAY, "platform.claude.com 2026-11" },
	{ 1 << API_ANTHROPIC, "thinking", "not supported", ADAPT_NO_THINKING, OWN_NAME },
	{ 1 << API_ANTHROPIC, "output_config", "", ADAPT_NO_THINKING, OWN_NAME },
	{ 1 << API_ANTHROPIC | 1 << API_CHAT | 1 << API_RESPONSES, "temperature", "", ADAPT_NO_TEMPERATURE, "openai-python 3.3.1" },
	{ 1 << API_ANTHROPIC | 1 << API_CHAT | 1 << API_RESPONSES, "image", "", ADAPT_NO_PICTURES, OWN_NAME },
	{ 1 << API_ANTHROPIC | 1 << API_CHAT | 1 << API_RESPONSES, "multimodal", "", ADAPT_NO_PICTURES, "words of local servers, observed" },
};

/* Parts of names, '.' read as '-', of models that read pictures. One that is missing is told of a picture, and not shown it,
 * unless the operator says otherwise; one that stands here wrongly costs a refused request. */
static const struct {
	const char *name;
	const char *source;
} sight[] = {
	{ "claude-", "platform.claude.com 2026-11" },
	{ "gpt-4o", "developers.openai.com 2026-11" },
	{ "gpt-4-1", "developers.openai.com 2026-11" },
	{ "gpt-5", "developers.openai.com 2026-11" },
	{ "gpt-6", "developers.openai.com 2026-11" },
	{ "gemini-", "ai.google.dev, each model since 1.5" },
	{ "gemma-3", "model card" },
	{ "gemma3", "model card, as Ollama spells it" },
	{ "pixtral", "model card" },
	{ "mistral-medium", "docs.mistral.ai, since medium 3" },
	{ "llama-4", "model card" },
	{ "llama4", "model card, as Ollama spells it" },
	{ "llava", "model card" },
	{ "-vl", "the name says so" },
	{ "5vl", "the name says so: qwen2.5vl" },
	{ "vision", "the name says so" },
};

bool model_row(enum model_table table, size_t i, struct model_row *out)
{
	switch (table) {
	case MODEL_RULES:
		if (i >= COUNT(rules))
			return false;
		*out = (struct model_row){ rules[i].name, rules[i].rule.source, rules[i].wire, rules[i].match == MATCH_OPENAI };
		return true;
	case MODEL_REFUSALS:
		if (i >= COUNT(refusals))
			return false;
		*out = (struct model_row){ .name = refusals[i].text, .source = refusals[i].source };
		return true;
	case MODEL_FACTS:
		return model_facts_row(i, out);
	case MODEL_SIGHT:
		if (i >= COUNT(sight))
			return false;
		*out = (struct model_row){ .name = sight[i].name, .source = sight[i].source };
		return true;
	}
	return false;
}

const char *api_wire_name(enum api_wire wire)
{
	return wire_names[wire];
}

bool api_wire_from(struct str word, enum api_wire *out)
{
	for (size_t i = 0; i < API_COUNT; i++)
		if (str_eqz(word, wire_names[i])) {
			*out = (enum api_wire)i;
			return true;
		}
	return false;
}

const char *api_effort_name(enum api_effort effort)
{
	return effort_names[effort];
}

bool api_effort_from(struct str word, enum api_effort *out)
{
	for (size_t i = 0; i < EFFORT_COUNT; i++)
		if (str_eqz(word, effort_names[i])) {
			*out = (enum api_effort)i;
			return true;
		}
	return false;
}

bool model_adapt(struct model_spec *spec, int status, struct str body)
{
	if (status != 400 && status != 422 && status != 404)
		return false;
	for (size_t i = 0; i < COUNT(refusals); i++) {
		bool moves = refusals[i].learned == ADAPT_RESPONSES;

		if ((moves && !spec->responses_too) || (status == 404 && !moves))
			continue;
		if (!(refusals[i].wires & 1u << spec->wire) || (spec->adapted & refusals[i].learned))
			continue;
		if (refusals[i].learned == ADAPT_NO_TEMPERATURE && spec->temperature < 0)
			continue;
		if (refusals[i].learned == ADAPT_NO_PICTURES && !spec->pictures)
			continue;
		if (!provider_text_holds(body, refusals[i].text) || !provider_text_holds(body, refusals[i].and_text))
			continue;
		spec->adapted |= refusals[i].learned;
		if (moves)
			spec->wire = API_RESPONSES;
		return true;
	}
	return false;
}

static bool fits(const char *name, int match, const struct model_spec *spec, struct str id)
{
	size_t at = str_find(id, str_from(name)), slash = str_rfind(id, '/');

	switch (match) {
	case MATCH_PART:
		return at < id.n || *name == '\0';
	case MATCH_NAME:
		return str_starts(slash < id.n ? str_skip(id, slash + 1) : id, str_from(name));
	default:
		return at == 0 && spec->openai_host && spec->deployment == DEPLOY_DIRECT;
	}
}

static struct str plain_name(struct str model, char text[NAME_MAX_BYTES])
{
	size_t n = 0;

	for (; n < model.n && n < NAME_MAX_BYTES; n++) {
		char c = model.p[n];

		text[n] = (char)(c == '.' ? '-' : c >= 'A' && c <= 'Z' ? c | 0x20 : c);
	}
	return str_of(text, n);
}

struct model_rule model_rule_get(const struct model_spec *spec)
{
	char text[NAME_MAX_BYTES];
	struct str name = plain_name(spec->model, text);

	for (size_t i = 0; i < COUNT(rules); i++)
		if (rules[i].wire == spec->wire && fits(rules[i].name, rules[i].match, spec, name))
			return rules[i].rule;
	return (struct model_rule){ .most = EFFORT_HIGH };
}

bool model_sees(struct str model)
{
	char text[NAME_MAX_BYTES];
	struct str name = plain_name(model, text);

	for (size_t i = 0; i < COUNT(sight); i++)
		if (str_find(name, str_from(sight[i].name)) < name.n)
			return true;
	return false;
}

enum api_wire model_wire(const struct model_spec *spec)
{
	return spec->wire == API_CHAT && model_rule_get(spec).tools_need_responses ? API_RESPONSES : spec->wire;
}
