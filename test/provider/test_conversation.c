/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "provider/provider.h"
#include "test/lib/test.h"

#include <string.h>

#define USER(blocks)      "{\"role\":\"user\",\"content\":[" blocks "]}"
#define ASSISTANT(blocks) "{\"role\":\"assistant\",\"content\":[" blocks "]}"
#define TEXT(t)           "{\"type\":\"text\",\"text\":\"" t "\"}"
#define CALL(id)          "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"a\",\"input\":{}}"
#define RESULT(id, t)     "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"" t "\"}"
#define CUT(id)                                                                                              \
	"{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"interrupted: this call did not finish, " \
	"its effects are unknown\",\"is_error\":true}"

static void check_messages(const struct conversation *c, const char *const *want)
{
	size_t n = 0, bytes = 0;

	for (; want[n]; n++) {
		CHECK(n < conversation_count(c));
		CHECK_STR(conversation_get(c, n), str_from(want[n]));
		bytes += strlen(want[n]);
	}
	CHECK_INT(conversation_count(c), n);
	CHECK_INT(conversation_bytes(c), bytes);
}

static const struct {
	const char *why;
	const char *in[6], *want[6];
	int changes;
	size_t first;
} repairs[] = {
	{ "a sound history stays", { USER(TEXT("t")), ASSISTANT(CALL("1")), USER(RESULT("1", "r")), ASSISTANT(TEXT("end")) },
		{ USER(TEXT("t")), ASSISTANT(CALL("1")), USER(RESULT("1", "r")), ASSISTANT(TEXT("end")) }, 0, 4 },
	{ "calls at the end get results", { USER(TEXT("t")), ASSISTANT(CALL("1") "," CALL("2")) },
		{ USER(TEXT("t")), ASSISTANT(CALL("1") "," CALL("2")), USER(CUT("1") "," CUT("2")) }, 1, 2 },
	{ "one of two results is missing", { USER(TEXT("t")), ASSISTANT(CALL("1") "," CALL("2")), USER(RESULT("2", "r") "," TEXT("n")) },
		{ USER(TEXT("t")), ASSISTANT(CALL("1") "," CALL("2")), USER(CUT("1") "," RESULT("2", "r") "," TEXT("n")) }, 1, 2 },
	{ "words instead of results", { USER(TEXT("t")), ASSISTANT(CALL("1")), USER(TEXT("stop")) },
		{ USER(TEXT("t")), ASSISTANT(CALL("1")), USER(CUT("1") "," TEXT("stop")) }, 1, 2 },
	{ "a result for nobody", { USER(TEXT("t")), ASSISTANT(TEXT("a")), USER(RESULT("9", "r") "," TEXT("n")) },
		{ USER(TEXT("t")), ASSISTANT(TEXT("a")), USER(TEXT("n")) }, 1, 2 },
	{ "only results for nobody", { USER(TEXT("t")), ASSISTANT(TEXT("a")), USER(RESULT("9", "r")) },
		{ USER(TEXT("t")), ASSISTANT(TEXT("a")) }, 1, 2 },
	{ "two results for one call", { USER(TEXT("t")), ASSISTANT(CALL("1")), USER(RESULT("1", "r") "," RESULT("1", "s")) },
		{ USER(TEXT("t")), ASSISTANT(CALL("1")), USER(RESULT("1", "r")) }, 1, 2 },
	{ "an answer right after calls", { USER(TEXT("t")), ASSISTANT(CALL("1")), ASSISTANT(TEXT("a")) },
		{ USER(TEXT("t")), ASSISTANT(CALL("1")), USER(CUT("1")), ASSISTANT(TEXT("a")) }, 1, 2 },
	{ "the first word is the user's", { ASSISTANT(TEXT("a")) }, { USER(TEXT("Continue.")), ASSISTANT(TEXT("a")) }, 1, 0 },
};

TEST(conversation_repair_makes_every_history_valid)
{
	for (size_t i = 0; i < COUNT(repairs); i++) {
		auto_conversation struct conversation *c = conversation_new();
		size_t first = 99;
		struct err err = { 0 };

		for (size_t k = 0; repairs[i].in[k]; k++)
			CHECK_OK(conversation_add(c, str_from(repairs[i].in[k]), &err));
		CHECK_INT(conversation_repair(c, &first, &err), repairs[i].changes);
		CHECK_INT(first, repairs[i].first);
		check_messages(c, repairs[i].want);
		CHECK(!conversation_has_open_calls(c));
		CHECK_INT(conversation_repair(c, &first, &err), 0); /* and what it made is sound */
		check_messages(c, repairs[i].want);
	}
}

static const struct {
	const char *why, *in, *want; /* NULL: refused */
} loads[] = {
	{ "a text instead of blocks", "{\"role\":\"user\",\"content\":\"hi\"}", USER(TEXT("hi")) },
	{ "a notice before results", USER(TEXT("n") "," RESULT("1", "r")), USER(RESULT("1", "r") "," TEXT("n")) },
	{ "an empty text goes", USER(TEXT("") "," TEXT("n")), USER(TEXT("n")) },
	{ "blanks go, content stays", " { \"role\" : \"user\" , \"content\" : [ " TEXT(" x ") " ] } ", USER(TEXT(" x ")) },
	{ "members in any order", "{\"content\":[" TEXT("a") "],\"role\":\"assistant\",\"from\":\"openai:m\"}",
		"{\"role\":\"assistant\",\"from\":\"openai:m\",\"content\":[" TEXT("a") "]}" },
	{ "unknown blocks stay", ASSISTANT("{\"type\":\"server_tool_use\",\"id\":\"s\",\"x\":1.0}"),
		ASSISTANT("{\"type\":\"server_tool_use\",\"id\":\"s\",\"x\":1.0}") },
	{ "a lone surrogate", USER(TEXT("a\\ud83e")), USER(TEXT("a\xEF\xBF\xBD")) },
	{ "nothing", "", NULL },
	{ "no content", USER(""), NULL },
	{ "only empty texts", USER(TEXT("")), NULL },
	{ "another role", "{\"role\":\"system\",\"content\":\"x\"}", NULL },
	{ "a block without a type", USER("{\"text\":\"x\"}"), NULL },
	{ "a call without input", ASSISTANT("{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"a\"}"), NULL },
	{ "a call whose input is a list", ASSISTANT("{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"a\",\"input\":[]}"), NULL },
	{ "a result without an id", USER("{\"type\":\"tool_result\",\"content\":\"x\"}"), NULL },
	{ "cut short", "{\"role\":\"user\",\"content\":[", NULL },
};

TEST(conversation_takes_messages_only_in_the_shape_it_sends)
{
	for (size_t i = 0; i < COUNT(loads); i++) {
		auto_conversation struct conversation *c = conversation_new(), *again = conversation_new();
		struct err err = { 0 };
		int r = conversation_add(c, str_from(loads[i].in), &err);

		CHECK_INT(r, loads[i].want ? 0 : -ERR_INVALID);
		CHECK_INT(conversation_count(c), loads[i].want != NULL);
		if (!loads[i].want)
			continue;
		CHECK_STR(conversation_get(c, 0), str_from(loads[i].want));
		CHECK_OK(conversation_add(again, conversation_get(c, 0), &err));
		CHECK_STR(conversation_get(again, 0), conversation_get(c, 0)); /* what was saved loads as it was */
	}
}

TEST(conversation_cleans_what_tools_and_people_write)
{
	static const struct {
		const char *in, *want;
		size_t n;
	} rows[] = {
		{ "latin \xe9 end", "latin \xEF\xBF\xBD end", 11 },
		{ "cut emoji \xf0\x9f\xa6", "cut emoji \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 13 },
		{ "nul \0 in it", "nul \xEF\xBF\xBD in it", 11 },
		{ "quote \" and \\ and \n", "quote \\\" and \\\\ and \\n", 19 },
		{ "wtf \xed\xa0\xbd", "wtf \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 7 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_conversation struct conversation *c = conversation_new();
		auto_buf struct buf want = BUF_MAX(1024);
		struct call_result result = { STR("1"), str_of(rows[i].in, rows[i].n), false };
		auto_json json_t *tree = NULL;
		struct err err = { 0 };

		CHECK_OK(conversation_add_results(c, &result, 1, &result.text, 1, &err));
		CHECK_OK(buf_addf(&want, &err, USER(RESULT("1", "%s") "," TEXT("%s")), rows[i].want, rows[i].want));
		CHECK_STR(conversation_get(c, 0), buf_str(&want));
		CHECK_OK(json_decode(conversation_get(c, 0), JSON_EXACT, &tree, &err));
	}
}

TEST(conversation_truncated_forgets_and_goes_on)
{
	auto_conversation struct conversation *c = conversation_new();
	static const char *const want[] = { USER(TEXT("a")), ASSISTANT(TEXT("c")), NULL };
	struct err err = { 0 };

	CHECK_OK(conversation_add_user(c, STR("a"), &err));
	CHECK_OK(conversation_add(c, STR(ASSISTANT(CALL("1"))), &err));
	CHECK(conversation_has_open_calls(c) && !conversation_is_user(c, 1));
	conversation_truncate(c, 1);
	CHECK(!conversation_has_open_calls(c) && conversation_is_user(c, 0));
	CHECK_OK(conversation_add(c, STR(ASSISTANT(TEXT("c"))), &err));
	check_messages(c, want);
}

TEST(conversation_refuses_a_prompt_that_is_no_tool_list)
{
	auto_conversation struct conversation *c = conversation_new();
	struct err err = { 0 };

	CHECK_INT(conversation_set_prompt(c, STR("s"), STR("{}"), &err), -ERR_INVALID);
	CHECK_INT(conversation_set_prompt(c, STR("s"), STR("[{\"name\":\"a\"}]"), &err), -ERR_INVALID);
	CHECK_STR(str_from(err.msg), STR("tool 1 has no name or no input_schema"));
	CHECK_OK(conversation_set_prompt(c, STR("s"), STR("[]"), &err));
}

TEST(conversation_content_is_what_a_walk_over_the_text_finds)
{
	static const char *const texts[] = {
		"{\"role\":\"user\",\"content\":\"plain\"}",
		"{\"content\":[{\"type\":\"text\",\"text\":\"a]}\"},{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"n\",\"input\":{}}],"
		"\"role\":\"assistant\",\"from\":\"openai:m \\\"x\\\"\"}",
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"late\"},"
		"{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"content\":\"r\"}]}",
	};
	auto_conversation struct conversation *c = conversation_new();

	for (size_t i = 0; i < COUNT(texts); i++) {
		CHECK(conversation_add(c, str_from(texts[i]), ERR_DISCARD) == 0);
		struct jval walked = jval_get(jval_from(conversation_get(c, i)), "content");

		CHECK_INT(walked.type, JSCAN_ARRAY);
		CHECK_INT(conversation_content(c, i).type, JSCAN_ARRAY);
		CHECK_STR(conversation_content(c, i).text, walked.text);
	}
}
