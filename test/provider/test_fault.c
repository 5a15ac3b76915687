/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/fault.h"
#include "provider/model.h"
#include "test/lib/test.h"

#include <string.h>

static const struct {
	const char *why;
	int status;
	const char *body;
	enum provider_fault_kind kind;
	bool retryable;
	int64_t retry_after_ms;
	const char *message;
} faults[] = {
	{ "a wrong key", 401, "{\"error\":{\"message\":\"bad\"}}", FAULT_AUTH, false, -1, "bad" },
	{ "forbidden", 403, "{\"error\":{\"message\":\"no\"}}", FAULT_PERMISSION, false, -1, "no" },
	{ "no credit", 402, "{}", FAULT_BILLING, false, -1, "{}" },
	{ "quota behind a 429", 429, "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"q\"}}", FAULT_BILLING, false, -1, "q" },
	{ "unprocessable", 422, "{\"detail\":\"bad field\"}", FAULT_INVALID, false, -1, "bad field" },
	{ "a conflict", 409, "", FAULT_SERVER, true, -1, "status 409 without a word" },
	{ "server errors", 500, "oops", FAULT_SERVER, true, -1, "oops" },
	{ "an unknown server error", 599, "x", FAULT_SERVER, true, -1, "x" },
	{ "overloaded, Anthropic", 529, "{\"error\":{\"type\":\"overloaded_error\",\"message\":\"o\"}}", FAULT_OVERLOADED, true, -1, "o" },
	{ "overflow in words", 400, "{\"error\":{\"message\":\"Prompt is TOO LONG\"}}", FAULT_OVERFLOW, false, -1, "Prompt is TOO LONG" },
	{ "words about length in a 429 are no overflow", 429, "{\"error\":{\"message\":\"too many tokens per minute\"}}",
		FAULT_RATE_LIMIT, true, -1, "too many tokens per minute" },
	{ "too large", 413, "{\"error\":{\"type\":\"request_too_large\",\"message\":\"32 MB\"}}", FAULT_TOO_LARGE, false, -1, "32 MB" },
	{ "a wait in minutes", 429, "{\"message\":\"Please try again in 2m\"}", FAULT_RATE_LIMIT, true, 120000, "Please try again in 2m" },
	{ "a wait in milliseconds", 429, "{\"message\":\"try again in 250ms.\"}", FAULT_RATE_LIMIT, true, 250, "try again in 250ms." },
	{ "a wait that is none", 429, "{\"message\":\"try again in a while\"}", FAULT_RATE_LIMIT, true, -1, "try again in a while" },
	{ "an envelope with a code of text", 200, "{\"error\":{\"code\":\"502\",\"message\":\"up\"}}", FAULT_SERVER, true, -1, "up" },
	{ "an envelope that only has a type", 200, "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"i\"}}", FAULT_INVALID, false, -1, "i" },
	{ "an envelope that says nothing", 200, "{\"error\":{\"message\":\"m\",\"code\":true}}", FAULT_SERVER, true, -1, "m" },
	{ "a model that wrote a broken call", 400, "{\"error\":{\"code\":\"tool_use_failed\",\"message\":\"t\"}}", FAULT_SERVER, true, -1, "t" },
	{ "Google's list and its time", 429, "[{\"error\":{\"code\":429,\"message\":\"g\",\"status\":\"RESOURCE_EXHAUSTED\","
		"\"details\":[{\"a\":1},{\"retryDelay\":\"1.5s\"}]}}]", FAULT_RATE_LIMIT, true, 1500, "g" },
	{ "overload behind a 429", 429, "{\"error\":{\"type\":\"engine_overloaded_error\",\"message\":\"e\"}}", FAULT_OVERLOADED, true, -1, "e" },
	{ "a quota behind a 429, Moonshot", 429, "{\"error\":{\"type\":\"exceeded_current_quota_error\",\"message\":\"e\"}}", FAULT_BILLING, false, -1, "e" },
	{ "a plan that is used up", 429, "{\"error\":{\"type\":\"usage_limit_reached\",\"message\":\"u\"}}", FAULT_BILLING, false, -1, "u" },
	{ "a request timeout", 408, "", FAULT_TIMEOUT, true, -1, "status 408 without a word" },
	{ "no such model", 404, "{\"error\":{\"message\":\"n\"}}", FAULT_NOT_FOUND, false, -1, "n" },
	{ "a gateway", 502, "<html>", FAULT_SERVER, true, -1, "<html>" },
	{ "a window in words behind a 413", 413, "{\"error\":{\"message\":\"maximum context length is 8\"}}", FAULT_OVERFLOW, false, -1,
		"maximum context length is 8" },
	{ "an account without credit, Anthropic", 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
		"\"Your credit balance is too low to access the API.\"}}", FAULT_BILLING, false, -1, "Your credit balance is too low to access the API." },
	{ "invalid bytes", 500, "a\xff", FAULT_SERVER, true, -1, "a\xEF\xBF\xBD" },
};

TEST(provider_fault_says_what_failed_and_whether_to_try_again)
{
	for (size_t i = 0; i < COUNT(faults); i++) {
		struct provider_fault f = { 0 };

		provider_fault_classify(&f, faults[i].status, -1, -1, str_from(faults[i].body));
		if (f.kind != faults[i].kind)
			print_error("%s: %s\n", faults[i].why, provider_fault_name(f.kind));
		CHECK_INT(f.kind, faults[i].kind);
		CHECK_INT(f.retryable, faults[i].retryable);
		CHECK_INT(f.retry_after_ms, faults[i].retry_after_ms);
		CHECK_STR(str_from(f.message), str_from(faults[i].message));
	}
}

TEST(provider_fault_kinds_have_the_words_of_the_record)
{
	CHECK_STR(str_from(provider_fault_name(FAULT_AUTH)), STR("auth"));
	CHECK_STR(str_from(provider_fault_name(FAULT_FILTER)), STR("content_filter"));
	for (size_t i = 0; i < FAULT_COUNT; i++)
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(provider_fault_name((enum provider_fault_kind)i), provider_fault_name((enum provider_fault_kind)k)) != 0);
}

TEST(provider_fault_message_is_cut_between_characters)
{
	auto_buf struct buf body = BUF_MAX(1 << 20);
	struct provider_fault f = { 0 };

	CHECK(buf_addz(&body, "{\"message\":\"x", ERR_DISCARD) == 0);
	for (int i = 0; i < 10000; i++)
		CHECK(buf_addz(&body, "\xe4\xb8\xad", ERR_DISCARD) == 0);
	CHECK(buf_addz(&body, "\"}", ERR_DISCARD) == 0);
	provider_fault_classify(&f, 500, -1, -1, buf_str(&body));
	CHECK(strlen(f.message) > 1000 && utf8_valid(str_from(f.message)));
}

TEST(provider_fault_header_decides_about_another_try)
{
	struct provider_fault f = { 0 };

	provider_fault_classify(&f, 400, -1, 1, STR("{}"));
	CHECK(f.retryable);
	provider_fault_classify(&f, 500, 7, 0, STR("{}"));
	CHECK(!f.retryable && f.retry_after_ms == 7);
}

static const struct {
	const char *why;
	enum provider_fault_kind kind;
	bool retryable;
	int64_t told;
	int attempt;
	double random;
	int64_t want;
} delays[] = {
	{ "half the base at least", FAULT_SERVER, true, -1, 1, 0.0, 1000 },
	{ "the base at most", FAULT_SERVER, true, -1, 1, 0.9999999, 1999 },
	{ "doubled", FAULT_SERVER, true, -1, 3, 0.5, 6000 },
	{ "the fourth failure is the last to be repeated", FAULT_SERVER, true, -1, 4, 0.5, 12000 },
	{ "five attempts and no more", FAULT_SERVER, true, -1, 5, 0.5, -1 },
	{ "what cannot get better is not repeated", FAULT_AUTH, false, -1, 1, 0.5, -1 },
	{ "the server's time counts when it is later", FAULT_RATE_LIMIT, true, 3000, 1, 0.0, 3000 },
	{ "and ours when it is not", FAULT_RATE_LIMIT, true, 10, 1, 0.0, 1000 },
	{ "patience has an end", FAULT_RATE_LIMIT, true, 37800000, 1, 0.0, 120000 },
	{ "an empty turn is asked for soon", FAULT_EMPTY, true, -1, 4, 0.0, 500 },
};

TEST(retry_waits_as_the_table_says)
{
	for (size_t i = 0; i < COUNT(delays); i++) {
		struct provider_fault f = { .kind = delays[i].kind, .retryable = delays[i].retryable,
			.retry_after_ms = delays[i].told };

		CHECK_INT(retry_delay_ms(&f, delays[i].attempt, delays[i].random), delays[i].want);
	}
}

static const struct {
	const char *why;
	enum api_wire wire;
	int status;
	double temperature;
	const char *body;
	unsigned want;
} refusals[] = {
	{ "temperature", API_ANTHROPIC, 400, 0, "`Temperature` is deprecated for this model", ADAPT_NO_TEMPERATURE },
	{ "temperature that was not sent", API_CHAT, 400, -1, "temperature", 0 },
	{ "the new name of max_tokens", API_CHAT, 400, 0, "Use 'max_completion_tokens' instead", ADAPT_MAX_COMPLETION },
	{ "that name means nothing to Anthropic", API_ANTHROPIC, 400, -1, "max_completion_tokens", 0 },
	{ "stream_options", API_CHAT, 422, 0, "{\"loc\":[\"body\",\"stream_options\"]}", ADAPT_NO_STREAM_OPTIONS },
	{ "tools beside reasoning", API_CHAT, 400, 0, "reasoning_effort is not supported ... use /v1/responses", ADAPT_EFFORT_NONE },
	{ "an effort", API_CHAT, 400, 0, "unknown field reasoning", ADAPT_NO_EFFORT },
	{ "thoughts of another conversation", API_ANTHROPIC, 400, -1, "Invalid signature in thinking block", ADAPT_NO_THINKING_REPLAY },
	{ "thinking", API_ANTHROPIC, 400, -1, "adaptive thinking is not supported on this model", ADAPT_NO_THINKING },
	{ "Mistral's ids", API_CHAT, 400, 0, "Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.", ADAPT_NINE_IDS },
	{ "thoughts of another account", API_RESPONSES, 400, 0, "{\"error\":{\"code\":\"invalid_encrypted_content\"}}", ADAPT_NO_THINKING_REPLAY },
	{ "thoughts without what they led to", API_RESPONSES, 400, 0, "was provided without its required following item", ADAPT_NO_THINKING_REPLAY },
	{ "a model that hands no thoughts out", API_RESPONSES, 400, 0, "Encrypted content is not supported with this model.", ADAPT_NO_ENCRYPTED },
	{ "an account that is not verified", API_RESPONSES, 400, 0, "must be verified to generate reasoning summaries", ADAPT_NO_SUMMARY },
	{ "a model that does not reason", API_RESPONSES, 400, 0, "Unsupported parameter: 'reasoning.effort'", ADAPT_NO_EFFORT },
	{ "a backend without a limit", API_RESPONSES, 400, 0, "Unsupported parameter: max_output_tokens", ADAPT_NO_MAX_TOKENS },
	{ "another status", API_CHAT, 500, 0, "temperature", 0 },
	{ "something else", API_CHAT, 400, 0, "messages: empty", 0 },
};

TEST(model_adapt_moves_to_the_other_wire_where_it_can_be_reached)
{
	static const struct { int status; const char *body; } says[] = {
		{ 400, "Function tools with reasoning_effort are not supported for x in /v1/chat/completions. Please use /v1/responses instead." },
		{ 404, "This model is only supported in v1/responses and not in v1/chat/completions." },
	};

	for (size_t i = 0; i < COUNT(says); i++) {
		struct model_spec s = MODEL_SPEC;

		s.wire = API_CHAT;
		CHECK(!model_adapt(&s, 404, str_from(says[i].body)) && s.wire == API_CHAT); /* it cannot */
		s.responses_too = true;
		CHECK(model_adapt(&s, says[i].status, str_from(says[i].body)));
		CHECK_INT(s.wire, API_RESPONSES);
		CHECK_INT(s.adapted, ADAPT_RESPONSES);
		CHECK(!model_adapt(&s, 404, str_from(says[i].body))); /* once */
	}
}

TEST(model_adapt_learns_each_refusal_once)
{
	for (size_t i = 0; i < COUNT(refusals); i++) {
		struct model_spec s = MODEL_SPEC;

		s.wire = refusals[i].wire;
		s.temperature = refusals[i].temperature;
		CHECK_INT(model_adapt(&s, refusals[i].status, str_from(refusals[i].body)), refusals[i].want != 0);
		CHECK_INT(s.adapted, refusals[i].want);
		if (!(refusals[i].want & (ADAPT_EFFORT_NONE | ADAPT_NO_SUMMARY))) /* the next refusal of those drops them altogether */
			CHECK(!model_adapt(&s, refusals[i].status, str_from(refusals[i].body)));
	}
}
