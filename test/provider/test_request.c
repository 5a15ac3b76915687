/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "provider/provider.h"
#include "test/lib/test.h"

#include <string.h>

#define TOOLS STR("[{\"name\":\"a\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}," \
	"{\"name\":\"b\",\"description\":\"e\",\"input_schema\":{\"type\":\"object\"}}]")
#define MARK "\"cache_control\":{\"type\":\"ephemeral\"}"

static struct model_spec spec_of(enum api_wire wire, const char *model)
{
	struct model_spec s = MODEL_SPEC;

	s.wire = wire;
	s.model = str_from(model);
	s.temperature = -1;
	return s;
}

static const char assistant_turn[] =
	"{\"role\":\"assistant\",\"from\":\"anthropic:claude-opus-5\",\"content\":["
	"{\"type\":\"thinking\",\"thinking\":\" odd  \\u4e2d \",\"signature\":\"c2ln\"},"
	"{\"type\":\"redacted_thinking\",\"data\":\"eA==\"},"
	"{\"type\":\"text\",\"text\":\"Look.\"},"
	"{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"a\",\"input\":{\"n\":9007199254740993}}]}";

static void add_turn(struct conversation *c)
{
	struct call_result result = { .call_id = STR("t1"), .text = STR("42") };
	struct str notice = STR("note");
	struct err err = { 0 };

	CHECK_OK(conversation_add(c, str_from(assistant_turn), &err));
	CHECK_OK(conversation_add_results(c, &result, 1, &notice, 1, &err));
}

static struct conversation *start(void)
{
	struct conversation *c = conversation_new();
	struct err err = { 0 };

	CHECK_OK(conversation_set_prompt(c, STR("sys"), TOOLS, &err));
	CHECK_OK(conversation_add_user(c, STR("TASK"), &err));
	return c;
}

static void encode(const struct model_spec *spec, struct conversation *c, struct buf *out)
{
	auto_json json_t *tree = NULL;
	struct err err = { 0 };

	buf_clear(out);
	CHECK_OK(request_encode(spec, c, NULL, out, &err));
	CHECK_OK(json_decode(buf_str(out), JSON_EXACT, &tree, &err)); /* every body is strict JSON */
}

TEST(request_anthropic_is_what_the_protocol_says)
{
	auto_conversation struct conversation *c = start();
	struct model_spec spec = spec_of(API_ANTHROPIC, "claude-opus-5");
	auto_buf struct buf got = BUF_MAX(1 << 16);

	add_turn(c);
	encode(&spec, c, &got);
	CHECK_STR(buf_str(&got), STR("{\"model\":\"claude-opus-5\",\"max_tokens\":16384,\"stream\":true,"
		"\"tools\":[{\"name\":\"a\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}},"
		"{\"name\":\"b\",\"description\":\"e\",\"input_schema\":{\"type\":\"object\"}," MARK "}],"
		"\"system\":[{\"type\":\"text\",\"text\":\"sys\"," MARK "}],"
		"\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"TASK\"," MARK "}]},"
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\" odd  \\u4e2d \",\"signature\":"
		"\"c2ln\"},{\"type\":\"redacted_thinking\",\"data\":\"eA==\"},{\"type\":\"text\",\"text\":\"Look.\"},"
		"{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"a\",\"input\":{\"n\":9007199254740993}}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"42\"},"
		"{\"type\":\"text\",\"text\":\"note\"," MARK "}]}]}"));
}

TEST(request_chat_is_what_the_protocol_says)
{
	auto_conversation struct conversation *c = start();
	struct model_spec spec = spec_of(API_CHAT, "m");
	auto_buf struct buf got = BUF_MAX(1 << 16);

	add_turn(c);
	encode(&spec, c, &got);
	CHECK_STR(buf_str(&got), STR("{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
		"\"max_tokens\":16384,\"tools\":["
		"{\"type\":\"function\",\"function\":{\"name\":\"a\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}},"
		"{\"type\":\"function\",\"function\":{\"name\":\"b\",\"description\":\"e\",\"parameters\":{\"type\":\"object\"}}}],"
		"\"messages\":[{\"role\":\"system\",\"content\":\"sys\"},{\"role\":\"user\",\"content\":\"TASK\"},"
		"{\"role\":\"assistant\",\"content\":\"Look.\",\"tool_calls\":[{\"id\":\"t1\",\"type\":\"function\","
		"\"function\":{\"name\":\"a\",\"arguments\":\"{\\\"n\\\":9007199254740993}\"}}]},"
		"{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"content\":\"42\"},{\"role\":\"user\",\"content\":\"note\"}]}"));
}

/* An answer of two items, of which one is opaque, as the decoder hands it out. */
static const char responses_turn[] =
	"{\"role\":\"assistant\",\"from\":\"responses:gpt-6.1-sol\",\"content\":["
	"{\"type\":\"thinking\",\"thinking\":\"Hm.\"},"
	"{\"type\":\"x_item\",\"item\":{\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"ZW5j\"}},"
	"{\"type\":\"text\",\"x_phase\":\"commentary\",\"text\":\"Look.\"},"
	"{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"a\",\"input\":{\"n\":9007199254740993}}";

static void add_responses_turn(struct conversation *c, const char *more)
{
	auto_buf struct buf text = BUF_MAX(4096);
	struct call_result result = { .call_id = STR("t1"), .text = STR("42") };
	struct str notice = STR("note");
	struct err err = { 0 };

	CHECK_OK(buf_addf(&text, &err, "%s%s]}", responses_turn, more));
	CHECK_OK(conversation_add(c, buf_str(&text), &err));
	CHECK_OK(conversation_add_results(c, &result, 1, &notice, 1, &err));
}

TEST(request_responses_is_what_the_protocol_says)
{
	auto_conversation struct conversation *c = start();
	struct model_spec spec = spec_of(API_RESPONSES, "gpt-6.1-sol");
	auto_buf struct buf got = BUF_MAX(1 << 16);

	add_responses_turn(c, "");
	encode(&spec, c, &got);
	CHECK_STR(buf_str(&got), STR("{\"model\":\"gpt-6.1-sol\",\"stream\":true,\"store\":false,"
		"\"include\":[\"reasoning.encrypted_content\"],\"max_output_tokens\":32768,\"reasoning\":{\"summary\":\"auto\"},"
		"\"tools\":["
		"{\"type\":\"function\",\"name\":\"a\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"},\"strict\":false},"
		"{\"type\":\"function\",\"name\":\"b\",\"description\":\"e\",\"parameters\":{\"type\":\"object\"},\"strict\":false}],"
		"\"instructions\":\"sys\",\"input\":["
		"{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"TASK\"}]},"
		"{\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"ZW5j\"},"
		"{\"type\":\"message\",\"role\":\"assistant\",\"phase\":\"commentary\","
		"\"content\":[{\"type\":\"output_text\",\"text\":\"Look.\"}]},"
		"{\"type\":\"function_call\",\"call_id\":\"t1\",\"name\":\"a\",\"arguments\":\"{\\\"n\\\":9007199254740993}\"},"
		"{\"type\":\"function_call_output\",\"call_id\":\"t1\",\"output\":\"42\"},"
		"{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"note\"}]}]}"));
}

TEST(request_responses_sends_thoughts_only_to_their_model_and_only_before_what_they_led_to)
{
	static const char late[] = ",{\"type\":\"x_item\",\"item\":{\"type\":\"reasoning\",\"encrypted_content\":\"bGF0ZQ\"}}";
	static const struct {
		const char *why, *model, *more;
		enum api_wire wire;
		unsigned adapted;
		bool sent;
	} rows[] = {
		{ "its own", "gpt-6.1-sol", "", API_RESPONSES, 0, true },
		{ "another model's", "gpt-6-sol", "", API_RESPONSES, 0, false },
		{ "refused once", "gpt-6.1-sol", "", API_RESPONSES, ADAPT_NO_THINKING_REPLAY, false },
		{ "another wire", "gpt-6.1-sol", "", API_CHAT, 0, false },
		{ "another wire", "gpt-6.1-sol", "", API_ANTHROPIC, 0, false },
		{ "the thoughts of an answer that was cut", "gpt-6.1-sol", late, API_RESPONSES, 0, true },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_conversation struct conversation *c = start();
		struct model_spec spec = spec_of(rows[i].wire, rows[i].model);
		auto_buf struct buf got = BUF_MAX(1 << 16);

		spec.adapted = rows[i].adapted;
		add_responses_turn(c, rows[i].more);
		encode(&spec, c, &got);
		CHECK_INT(strstr(got.p, "ZW5j") != NULL, rows[i].sent);
		CHECK(!strstr(got.p, "bGF0ZQ") && !strstr(got.p, "x_item") && !strstr(got.p, "x_phase"));
		CHECK(strstr(got.p, "Look.") && strstr(got.p, "9007199254740993"));
	}
}

TEST(request_speaks_responses_where_a_model_takes_tools_in_no_other_way)
{
	static const struct {
		const char *model;
		enum api_wire configured, spoken;
		bool openai_host;
	} rows[] = {
		{ "gpt-6.2-sol", API_CHAT, API_RESPONSES, true },
		{ "gpt-5.4-mini", API_CHAT, API_RESPONSES, true },
		{ "gpt-5.3-codex", API_CHAT, API_RESPONSES, true },
		{ "gpt-5.2", API_CHAT, API_CHAT, true },
		{ "gpt-4.1", API_CHAT, API_CHAT, true },
		{ "gpt-6.2-sol", API_CHAT, API_CHAT, false }, /* a router hides it */
		{ "gpt-4.1", API_RESPONSES, API_RESPONSES, true },
		{ "gpt-6.2-sol", API_ANTHROPIC, API_ANTHROPIC, true },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct model_spec spec = spec_of(rows[i].configured, rows[i].model);

		spec.openai_host = rows[i].openai_host;
		CHECK_INT(model_wire(&spec), rows[i].spoken);
	}
}

/* Without its marks, that is: they move, and Anthropic does not count them. */
static void drop_marks(struct buf *b)
{
	static const struct str mark = STR("," MARK);

	for (size_t at; (at = str_find(buf_str(b), mark)) < b->n;)
		CHECK(buf_splice(b, at, mark.n, STR(""), ERR_DISCARD) == 0);
}

TEST(request_prefix_stays_byte_for_byte_from_turn_to_turn)
{
	for (int wire = 0; wire < API_COUNT; wire++) {
		auto_conversation struct conversation *c = start();
		struct model_spec spec = spec_of((enum api_wire)wire, "claude-opus-5");
		auto_buf struct buf got = BUF_MAX(1 << 20), before = BUF_MAX(1 << 20);

		encode(&spec, c, &before);
		for (int turn = 0; turn < 20; turn++) {
			add_turn(c);
			encode(&spec, c, &got);
			drop_marks(&got);
			drop_marks(&before);
			CHECK(str_starts(buf_str(&got), str_head(buf_str(&before), before.n - 2)));
			buf_clear(&before);
			CHECK(buf_add(&before, buf_str(&got), ERR_DISCARD) == 0);
		}
	}
}

TEST(request_carries_at_most_four_marks_and_none_when_caching_is_off)
{
	auto_conversation struct conversation *c = start();
	struct model_spec spec = spec_of(API_ANTHROPIC, "claude-opus-5");
	auto_buf struct buf got = BUF_MAX(1 << 16);

	for (int turn = 0; turn < 3; turn++) {
		struct str rest;
		size_t marks = 0;

		encode(&spec, c, &got);
		rest = buf_str(&got);
		for (size_t at; (at = str_find(rest, STR(MARK))) < rest.n; marks++)
			rest = str_skip(rest, at + 1);
		CHECK_INT(marks, turn == 0 ? 3 : 4);
		add_turn(c);
	}
	spec.prompt_caching = false;
	encode(&spec, c, &got);
	CHECK(str_find(buf_str(&got), STR("cache_control")) == got.n);
}

/* Each row: what the body must hold and must not hold. */
static const struct {
	const char *why, *model;
	enum api_wire wire;
	bool openai_host;
	enum api_effort effort;
	double temperature;
	unsigned adapted;
	const char *extra, *holds, *lacks;
} settings[] = {
	{ "temperature goes where it may", "claude-sonnet-4-5", API_ANTHROPIC, false, EFFORT_OFF, 0, 0, "",
		"\"temperature\":0,", "thinking" },
	{ "newer models refuse it", "claude-opus-5", API_ANTHROPIC, false, EFFORT_OFF, 0, 0, "", "\"model\"", "temperature" },
	{ "a refusal is remembered", "m", API_CHAT, false, EFFORT_UNSET, 0.5, ADAPT_NO_TEMPERATURE, "", "\"model\"",
		"temperature" },
	{ "budget thinking", "claude-sonnet-4-5", API_ANTHROPIC, false, EFFORT_MEDIUM, 0, 0, "",
		"\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":8192}", "temperature" },
	{ "budget thinking leaves room to answer", "claude-sonnet-4-5", API_ANTHROPIC, false, EFFORT_HIGH, 0, 0, "",
		"\"max_tokens\":24576", "output_config" },
	{ "adaptive thinking", "claude-sonnet-4-6", API_ANTHROPIC, false, EFFORT_MAX, 0, 0, "",
		"\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"high\"}", "display" },
	{ "adaptive thinking that is shown", "claude-opus-5-5", API_ANTHROPIC, false, EFFORT_XHIGH, 0, 0, "",
		"\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"},\"output_config\":{\"effort\":\"xhigh\"}",
		"budget" },
	{ "thinking that was refused", "claude-opus-5-5", API_ANTHROPIC, false, EFFORT_HIGH, -1, ADAPT_NO_THINKING, "",
		"\"model\"", "\"adaptive\"" },
	{ "OpenAI's reasoning models", "gpt-5.2", API_CHAT, true, EFFORT_HIGH, 0, 0, "",
		"\"max_completion_tokens\":32768,\"reasoning_effort\":\"high\"", "\"max_tokens\"" },
	{ "the same name elsewhere", "gpt-5.2", API_CHAT, false, EFFORT_HIGH, 0, 0, "", "\"max_tokens\":16384,\"temperature\":0",
		"reasoning" },
	{ "tools only without reasoning", "gpt-5.6-sol", API_CHAT, true, EFFORT_HIGH, 0, 0, "",
		"\"reasoning_effort\":\"none\"", "\"high\"" },
	{ "off has a word of each model's own", "gpt-5", API_RESPONSES, false, EFFORT_OFF, 0, 0, "",
		"\"reasoning\":{\"effort\":\"minimal\",\"summary\":\"auto\"}", "temperature" },
	{ "a model that always thinks, behind a router", "openai/gpt-6.2-astra", API_RESPONSES, false, EFFORT_OFF, 0, 0, "",
		"\"effort\":\"low\"", "none" },
	{ "an effort past what it takes", "gpt-5.2", API_RESPONSES, false, EFFORT_MAX, -1, 0, "", "\"effort\":\"xhigh\"", "max\"" },
	{ "summaries that were refused", "gpt-6-sol", API_RESPONSES, false, EFFORT_HIGH, -1, ADAPT_NO_SUMMARY, "",
		"\"reasoning\":{\"effort\":\"high\"}", "summary" },
	{ "all of it refused", "gpt-6-sol", API_RESPONSES, false, EFFORT_HIGH, 0, ADAPT_NO_EFFORT | ADAPT_NO_ENCRYPTED | ADAPT_NO_MAX_TOKENS, "",
		"\"store\":false,\"tools\"", "encrypted" },
	{ "an unknown model of the third wire", "m", API_RESPONSES, false, EFFORT_HIGH, 0, 0, "", "\"temperature\":0", "effort" },
	{ "nothing is kept by the server", "m", API_RESPONSES, false, EFFORT_UNSET, -1, 0,
		"{\"store\":true,\"previous_response_id\":\"r\",\"text\":{}}", "\"store\":false", "previous" },
	{ "a router takes an object", "z-ai/glm-5.1", API_CHAT, false, EFFORT_LOW, -1, 0, "", "\"reasoning\":{\"effort\":\"low\"}",
		"reasoning_effort" },
	{ "off is said to a router", "qwq", API_CHAT, false, EFFORT_OFF, -1, 0, "", "\"reasoning\":{\"enabled\":false}", "effort" },
	{ "an effort nobody set is not sent", "qwq", API_CHAT, false, EFFORT_UNSET, -1, 0, "", "\"max_tokens\":32768",
		"reasoning" },
	{ "stream_options that were refused", "m", API_CHAT, false, EFFORT_UNSET, -1, ADAPT_NO_STREAM_OPTIONS, "", "\"model\"",
		"stream_options" },
	{ "max_tokens that was refused", "m", API_CHAT, false, EFFORT_UNSET, -1, ADAPT_MAX_COMPLETION, "",
		"\"max_completion_tokens\":16384", "\"max_tokens\"" },
	{ "the operator adds a member", "m", API_CHAT, false, EFFORT_UNSET, -1, 0, "{\"seed\":7}", "\"seed\":7", "\"max\"" },
	{ "the operator replaces ours", "m", API_CHAT, false, EFFORT_UNSET, 0, 0, "{\"temperature\":0.9}",
		"\"temperature\":0.9", "\"temperature\":0," },
	{ "but not the reserved ones", "m", API_CHAT, false, EFFORT_UNSET, -1, 0, "{\"model\":\"x\",\"mes\\u0073ages\":[],\"tools\":[]}",
		"\"model\":\"m\"", "\"x\"" },
	{ "nor those of the other wire", "m", API_ANTHROPIC, false, EFFORT_UNSET, -1, 0, "{\"system\":\"x\",\"stream\":false}",
		"\"stream\":true", "false" },
};

TEST(request_settings_follow_model_and_operator)
{
	for (size_t i = 0; i < COUNT(settings); i++) {
		auto_conversation struct conversation *c = start();
		struct model_spec spec = spec_of(settings[i].wire, settings[i].model);
		auto_buf struct buf got = BUF_MAX(1 << 16);

		spec.openai_host = settings[i].openai_host;
		spec.effort = settings[i].effort;
		spec.temperature = settings[i].temperature;
		spec.adapted = settings[i].adapted;
		spec.extra_body = str_from(settings[i].extra);
		encode(&spec, c, &got);
		if (!strstr(got.p, settings[i].holds) || strstr(got.p, settings[i].lacks))
			print_error("%s: %s\n", settings[i].why, got.p);
		CHECK(strstr(got.p, settings[i].holds) != NULL);
		CHECK(strstr(got.p, settings[i].lacks) == NULL);
	}
}

TEST(request_names_the_model_only_where_the_url_does_not)
{
	static const struct {
		enum api_wire wire;
		enum api_deployment deployment;
		const char *begins;
	} rows[] = {
		{ API_ANTHROPIC, DEPLOY_DIRECT, "{\"model\":\"m\",\"max_tokens\"" },
		{ API_ANTHROPIC, DEPLOY_VERTEX, "{\"anthropic_version\":\"vertex-2023-10-16\",\"max_tokens\"" },
		{ API_CHAT, DEPLOY_VERTEX, "{\"model\":\"m\",\"stream\":true" },
		{ API_CHAT, DEPLOY_AZURE, "{\"stream\":true" },
		{ API_RESPONSES, DEPLOY_AZURE, "{\"model\":\"m\",\"stream\":true,\"store\":false" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_conversation struct conversation *c = start();
		struct model_spec spec = spec_of(rows[i].wire, "m");
		auto_buf struct buf got = BUF_MAX(1 << 16);

		spec.deployment = rows[i].deployment;
		encode(&spec, c, &got);
		CHECK(str_starts(buf_str(&got), str_from(rows[i].begins)));
	}
}

TEST(request_refuses_what_no_server_takes)
{
	auto_conversation struct conversation *c = conversation_new();
	struct model_spec spec = spec_of(API_ANTHROPIC, "m");
	auto_buf struct buf got = BUF_MAX(1 << 16);
	struct err err = { 0 };

	CHECK_INT(request_encode(&spec, c, NULL, &got, &err), -ERR_INVALID);
	CHECK_OK(conversation_add_user(c, STR("x"), &err));
	spec.extra_body = STR("[1]");
	CHECK_INT(request_encode(&spec, c, NULL, &got, &err), -ERR_INVALID);
	spec.extra_body = STR("");
	CHECK_OK(conversation_add(c, str_from(assistant_turn), &err));
	CHECK_INT(request_encode(&spec, c, NULL, &got, &err), -ERR_INVALID);
	CHECK_INT(got.n, 0);
}

TEST(request_leaves_the_thoughts_of_another_model_out)
{
	static const struct {
		enum api_wire wire;
		const char *model;
		unsigned adapted;
		bool thoughts;
	} rows[] = {
		{ API_ANTHROPIC, "claude-opus-5", 0, true },
		{ API_ANTHROPIC, "claude-opus-5-5", 0, false },
		{ API_ANTHROPIC, "claude-opus-5", ADAPT_NO_THINKING_REPLAY, false },
		{ API_CHAT, "claude-opus-5", 0, false },
		{ API_ANTHROPIC, "claude-opus-5", 0, true }, /* and back: the texts are made anew */
	};
	auto_conversation struct conversation *c = start();

	add_turn(c);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct model_spec spec = spec_of(rows[i].wire, rows[i].model);
		auto_buf struct buf got = BUF_MAX(1 << 16);

		spec.adapted = rows[i].adapted;
		encode(&spec, c, &got);
		CHECK_INT(strstr(got.p, "c2ln") != NULL, rows[i].thoughts);
		CHECK_INT(strstr(got.p, "redacted") != NULL, rows[i].thoughts);
		CHECK(strstr(got.p, "9007199254740993") && !strstr(got.p, "\"from\""));
	}
}

TEST(request_knows_its_own_model_by_any_name)
{
	auto_conversation struct conversation *c = start();
	struct model_spec spec = spec_of(API_ANTHROPIC, "a:\"b\"");
	auto_buf struct buf got = BUF_MAX(1 << 16);
	struct err err = { 0 };

	CHECK_OK(conversation_add(c, STR("{\"role\":\"assistant\",\"from\":\"anthropic:a:\\\"b\\\"\",\"content\":["
		"{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"c2ln\"},{\"type\":\"text\",\"text\":\"x\"}]}"), &err));
	encode(&spec, c, &got);
	CHECK(strstr(got.p, "c2ln"));
}

TEST(request_sends_what_a_chat_server_wants_back_to_it_alone)
{
	auto_conversation struct conversation *c = start();
	auto_buf struct buf got = BUF_MAX(1 << 16);
	struct call_result result = { STR("functions.a:0"), STR(""), true };
	struct model_spec own = spec_of(API_CHAT, "kimi-k3"), other = spec_of(API_CHAT, "m"),
		claude = spec_of(API_ANTHROPIC, "claude-opus-5");
	struct err err = { 0 };

	CHECK_OK(conversation_add(c, STR("{\"role\":\"assistant\",\"from\":\"openai:kimi-k3\",\"content\":["
		"{\"type\":\"x_reasoning_details\",\"details\":[{\"a\":1}]},{\"type\":\"thinking\",\"thinking\":\"hm\"},"
		"{\"type\":\"tool_use\",\"id\":\"functions.a:0\",\"name\":\"a\",\"input\":{},\"extra_content\":{\"g\":2}}]}"), &err));
	CHECK_OK(conversation_add_results(c, &result, 1, NULL, 0, &err));
	encode(&own, c, &got);
	CHECK(strstr(got.p, "\"content\":null,\"reasoning_details\":[{\"a\":1}]"));
	CHECK(strstr(got.p, "\"extra_content\":{\"g\":2}") && strstr(got.p, "\"id\":\"functions.a:0\""));
	encode(&other, c, &got);
	CHECK(!strstr(got.p, "reasoning") && !strstr(got.p, "extra_content"));
	encode(&claude, c, &got);
	CHECK(!strstr(got.p, "x_reasoning") && !strstr(got.p, "hm") && !strstr(got.p, "extra_content"));
	CHECK(strstr(got.p, "\"id\":\"functions_a_0\"") && strstr(got.p, "\"tool_use_id\":\"functions_a_0\""));
	CHECK(strstr(got.p, "\"content\":\"error\",\"is_error\":true")); /* an empty error is refused */
}

TEST(request_spells_ids_as_a_strict_server_wants_them)
{
	auto_conversation struct conversation *c = start();
	struct call_result results[] = { { STR("toolu_01ABC"), STR("1"), false }, { STR("D681PevKs"), STR("2"), false } };
	struct model_spec spec = spec_of(API_CHAT, "m");
	auto_buf struct buf got = BUF_MAX(1 << 16);
	struct err err = { 0 };
	const char *call;
	char want[40];

	CHECK_OK(conversation_add(c, STR("{\"role\":\"assistant\",\"from\":\"anthropic:x\",\"content\":["
		"{\"type\":\"tool_use\",\"id\":\"toolu_01ABC\",\"name\":\"a\",\"input\":{}},"
		"{\"type\":\"tool_use\",\"id\":\"D681PevKs\",\"name\":\"a\",\"input\":{}}]}"), &err));
	CHECK_OK(conversation_add_results(c, results, 2, NULL, 0, &err));
	encode(&spec, c, &got);
	CHECK(strstr(got.p, "toolu_01ABC")); /* until somebody refuses it */
	CHECK(model_adapt(&spec, 400, STR("Tool call id was toolu_01ABC but must be a-z, A-Z, 0-9, with a length of 9.")));
	encode(&spec, c, &got);
	CHECK(!strstr(got.p, "toolu") && strstr(got.p, "\"id\":\"D681PevKs\"") && strstr(got.p, "\"tool_call_id\":\"D681PevKs\""));
	call = strstr(got.p, "\"id\":\"") + 6;
	CHECK(call[9] == '"');
	snprintf(want, sizeof(want), "\"tool_call_id\":\"%.9s\"", call);
	CHECK(strstr(got.p, want));
}

TEST(request_without_tools_for_a_summary_names_them_but_forbids_them)
{
	static const char *const want[API_COUNT] = { "\"tool_choice\":{\"type\":\"none\"}", "\"tool_choice\":\"none\"",
		"\"tool_choice\":\"none\"" };

	for (int wire = 0; wire < API_COUNT; wire++) {
		auto_conversation struct conversation *c = start();
		struct model_spec spec = spec_of((enum api_wire)wire, "m");
		auto_buf struct buf got = BUF_MAX(1 << 16);
		struct err err = { 0 };

		CHECK_OK(request_encode(&spec, c, &(struct request_options){ .no_tools = true }, &got, &err));
		CHECK(strstr(got.p, want[wire]) && strstr(got.p, "\"tools\":["));
	}
}

/* ---- pictures ---- */

static const struct picture shots[] = {
	{ { "image/png", 9 }, { "iVBORw0KGgo=", 12 }, { "A picture from a:", 17 } },
	{ { "image/jpeg", 10 }, { "/9j/AAAA", 8 }, { "A picture from a:", 17 } },
};

static void add_shots(struct conversation *c)
{
	const struct call_result result = { STR("t1"), STR("two"), false, shots, 2 };
	struct err err = { 0 };

	CHECK_OK(conversation_add(c, str_from(assistant_turn), &err));
	CHECK_OK(conversation_add_results(c, &result, 1, NULL, 0, &err));
}

TEST(request_shows_pictures_as_each_wire_wants_them_and_not_where_they_were_refused)
{
#define LABEL "A picture from a:"
	static const struct {
		enum api_wire wire;
		const char *shown, *hidden;
	} cases[] = {
		{ API_ANTHROPIC,
			"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"two\"},"
			"{\"type\":\"text\",\"text\":\"" LABEL "\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\","
			"\"data\":\"iVBORw0KGgo=\"}},{\"type\":\"text\",\"text\":\"" LABEL "\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\","
			"\"media_type\":\"image/jpeg\",\"data\":\"/9j/AAAA\"}," MARK "}]}]}",
			"\"content\":\"two\"},{\"type\":\"text\",\"text\":\"" LABEL "\"},{\"type\":\"text\",\"text\":\"" LABEL "\"," MARK "}]}]}" },
		{ API_CHAT,
			"{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"content\":\"two\"},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" LABEL
			"\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,iVBORw0KGgo=\"}},{\"type\":\"text\",\"text\":\"" LABEL
			"\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/jpeg;base64,/9j/AAAA\"}}]}]}",
			"\"content\":\"two\"},{\"role\":\"user\",\"content\":\"" LABEL "\\n\\n" LABEL "\"}]}" },
		{ API_RESPONSES,
			"\"output\":\"two\"},{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"" LABEL
			"\"},{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,iVBORw0KGgo=\"},{\"type\":\"input_text\",\"text\":\"" LABEL
			"\"},{\"type\":\"input_image\",\"image_url\":\"data:image/jpeg;base64,/9j/AAAA\"}]}]}",
			"\"content\":[{\"type\":\"input_text\",\"text\":\"" LABEL "\\n\\n" LABEL "\"}]}]}" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_conversation struct conversation *c = start();
		struct model_spec spec = spec_of(cases[i].wire, "claude-opus-5");
		auto_buf struct buf got = BUF_MAX(1 << 16), again = BUF_MAX(1 << 16);

		spec.pictures = true;
		add_shots(c);
		encode(&spec, c, &got);
		CHECK_STR(str_tail(buf_str(&got), strlen(cases[i].shown)), str_from(cases[i].shown));
		/* A refusal takes them out of all that was said. */
		CHECK(model_adapt(&spec, 400, STR("{\"error\":{\"message\":\"this model does not support image input\"}}")));
		CHECK(!model_adapt(&spec, 400, STR("{\"error\":{\"message\":\"this model does not support image input\"}}")));
		encode(&spec, c, &got);
		CHECK_STR(str_tail(buf_str(&got), strlen(cases[i].hidden)), str_from(cases[i].hidden));
		CHECK(str_find(buf_str(&got), STR("iVBOR")) == got.n);
		spec.adapted = 0;
		encode(&spec, c, &again);
		CHECK_STR(str_tail(buf_str(&again), strlen(cases[i].shown)), str_from(cases[i].shown));
	}
}

TEST(conversation_counts_a_picture_by_what_it_costs_a_model)
{
	auto_conversation struct conversation *c = start();
	auto_buf struct buf data = BUF_MAX(1 << 20);
	struct model_spec spec = spec_of(API_CHAT, "gpt-5.1");
	struct err err = { 0 };
	size_t before = conversation_bytes(c);

	for (size_t i = 0; i < 100000; i++)
		CHECK_OK(buf_addz(&data, "AAAA", &err));
	struct picture big = { STR("image/png"), buf_str(&data), STR("A picture from a:") };
	const struct call_result result = { STR("t1"), STR("one"), false, &big, 1 };

	CHECK_OK(conversation_add(c, str_from(assistant_turn), &err));
	CHECK_OK(conversation_add_results(c, &result, 1, NULL, 0, &err));
	CHECK_INT(conversation_pictures(c), 1);
	CHECK(conversation_bytes(c) - before > PICTURE_BYTES && conversation_bytes(c) - before < 2 * PICTURE_BYTES);
	CHECK(conversation_unweighed(c) > 390000 && request_unweighed(&spec, c) == conversation_unweighed(c));
	spec.adapted |= ADAPT_NO_PICTURES;
	CHECK_INT(request_unweighed(&spec, c), 0);
	CHECK_OK(conversation_replace(c, 2, STR("{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"x\"}]}"), &err));
	CHECK_INT(conversation_pictures(c), 0);
	CHECK_INT(conversation_unweighed(c), 0);
	CHECK_OK(conversation_add(c, str_from(assistant_turn), &err));
	CHECK_OK(conversation_add_results(c, &result, 1, NULL, 0, &err));
	conversation_truncate(c, 1);
	CHECK_INT(conversation_pictures(c), 0);
	CHECK_INT(conversation_bytes(c), before);
	static const char *const bad[] = {
		"{\"role\":\"user\",\"content\":[{\"type\":\"image\"}]}",
		"{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://e.example/x\"}}]}",
		"{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"data\":7,\"media_type\":\"image/png\"}}]}",
	};
	for (size_t i = 0; i < COUNT(bad); i++)
		CHECK_INT(conversation_add(c, str_from(bad[i]), &err), -ERR_INVALID);
}

TEST(model_sees_what_is_known_of_it_and_nothing_else)
{
	static const struct {
		const char *model;
		bool sees;
	} cases[] = { { "claude-opus-5", true }, { "anthropic/claude-sonnet-4.6", true }, { "gpt-5.1-codex", true }, { "GPT-4o-mini", true },
		{ "google/gemini-3-flash-preview", true }, { "qwen2.5vl:7b", true }, { "qwen3-vl-30b", true }, { "llava:13b", true },
		{ "qwen3-coder", false }, { "deepseek-v4-pro", false }, { "gpt-oss-120b", false }, { "glm-4.7", false }, { "mock-model", false },
		{ "", false } };

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK_INT(model_sees(str_from(cases[i].model)), cases[i].sees);
}
