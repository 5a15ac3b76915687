/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/mcp.h"

#include "test/lib/test.h"

#include <string.h>

static const struct str_list all = { 0 };

static int offer(struct mcp_catalogue *c, const char *page, const struct str_list *only, struct arena *mem, struct str_list *left)
{
	struct mcp_list list = { 0 };
	struct str cursor;
	struct err err = { 0 };

	CHECK_OK(mcp_read_page(jval_from(str_from(page)), mem, &list, &cursor, &err));
	*left = (struct str_list){ 0 };
	return mcp_offer(c, 0, STR("srv"), &list, only, mem, left, &err);
}

TEST(mcp_offers_names_that_model_servers_take_and_each_once)
{
	auto_arena struct arena *mem = arena_new();
	struct mcp_catalogue c = { 0 };
	struct str_list left;
	static const char *const want[] = { "mcp__srv__a_b", "mcp__srv__a_b_", "mcp__srv__a_b_", "mcp__srv__plain" };

	CHECK_INT(offer(&c, "{\"tools\":[{\"name\":\"a.b\"},{\"name\":\"a/b\"},{\"name\":\"a_b\"},{\"name\":\"plain\"},{\"name\":\"plain\"},"
			    "{\"name\":\"\"},{\"name\":\"\xc3\xa4\"},{\"name\":\" x\"},{\"name\":7},3,{\"name\":\"t\",\"execution\":{\"taskSupport\":\"required\"}}]}",
			  &all, mem, &left), 0);
	CHECK_INT(c.n, 4);
	for (size_t i = 0; i < c.n; i++) {
		CHECK(str_starts(c.p[i].shown, str_from(want[i])));
		CHECK(mcp_tool_find(&c, c.p[i].shown) == &c.p[i]);
	}
	CHECK_STR(mcp_tool_find(&c, STR("mcp__srv__a_b"))->name, STR("a_b")); /* whose name it is keeps it */
	CHECK_INT(left.n, 7);
	CHECK_STR(left.p[left.n - 1], STR("\xc3\xa4: its name is not 1 to 128 characters of printable ASCII"));
}

TEST(mcp_repairs_a_schema_or_leaves_the_tool_out)
{
	static const struct {
		const char *why, *in, *want; /* NULL: left out */
	} cases[] = {
		{ "as it is", "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"default\":1.0}},\"required\":[\"a\"]}",
			"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"default\":1.0}},\"required\":[\"a\"]}" },
		{ "none", "null", "{\"type\":\"object\",\"properties\":{}}" },
		{ "a word for anything", "true", "{\"type\":\"object\",\"properties\":{}}" },
		{ "no type", "{\"properties\":{}}", "{\"type\":\"object\",\"properties\":{}}" },
		{ "what model servers refuse at the top", "{\"$schema\":\"x\",\"$ref\":\"#/a\",\"anyOf\":[],\"oneOf\":[],\"allOf\":[],\"$defs\":{\"a\":{}}}",
			"{\"type\":\"object\",\"$defs\":{\"a\":{}}}" },
		{ "a reference to itself stays, nobody follows it", "{\"type\":\"object\",\"properties\":{\"x\":{\"$ref\":\"#\"}}}",
			"{\"type\":\"object\",\"properties\":{\"x\":{\"$ref\":\"#\"}}}" },
		{ "what hides text goes", "{\"type\":\"object\",\"description\":\"a\xe2\x80\xae\xe2\x80\x8b" "b\"}", "{\"type\":\"object\",\"description\":\"ab\"}" },
		{ "an array", "{\"type\":\"array\"}", NULL },
		{ "types in a list", "{\"type\":[\"object\",\"null\"]}", NULL },
		{ "too deep", "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}", NULL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		struct mcp_catalogue c = { 0 };
		struct str_list left;
		const char *page = str_printf(mem, "{\"tools\":[{\"name\":\"t\",\"inputSchema\":%s}]}", cases[i].in).p;

		CHECK_INT(offer(&c, page, &all, mem, &left), 0);
		CHECK_INT(c.n, cases[i].want != NULL);
		CHECK_INT(left.n, cases[i].want == NULL);
		if (cases[i].want)
			CHECK_STR(c.p[0].schema, str_from(cases[i].want));
	}
}

TEST(mcp_offers_what_the_operator_named_and_no_more_than_there_is_room_for)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf page = BUF_MAX(4 << 20);
	struct str names[] = { STR("t7"), STR("t9999"), STR("no-such") };
	const struct str_list only = { names, COUNT(names) };
	struct str_list left;
	struct err err = { 0 };

	CHECK_OK(buf_addz(&page, "{\"tools\":[", &err));
	for (int i = 0; i < MCP_LISTED_MAX + 10; i++)
		CHECK_OK(buf_addf(&page, &err, "%s{\"name\":\"t%d\"}", i > 0 ? "," : "", i));
	CHECK_OK(buf_addz(&page, "]}", &err));
	struct mcp_catalogue c = { 0 }, few = { 0 };

	CHECK_INT(offer(&c, page.p, &all, mem, &left), 0);
	CHECK_INT(c.n, MCP_OFFERED_MAX);
	CHECK_STR(left.p[0], str_printf(mem, "%d more: a server may offer 64 tools: name those that are wanted in its `tools`",
		MCP_LISTED_MAX + 10 - MCP_OFFERED_MAX));
	CHECK_INT(offer(&few, page.p, &only, mem, &left), 0);
	CHECK_INT(few.n, 1);
	CHECK_STR(few.p[0].name, STR("t7"));
}

TEST(mcp_answers_become_one_object_for_the_model)
{
	static const struct {
		const char *in, *want;
		bool failed;
	} cases[] = {
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}", "{\"content\":\"a\\n\\nb\"}", false },
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"isError\":true}", "{\"error\":\"no\"}", true },
		{ "{\"isError\":true}", "{\"error\":\"the tool failed and does not say why\"}", true },
		{ "{\"content\":[],\"structuredContent\":{\"a\":1.0}}", "{\"content\":\"{\\\"a\\\":1.0}\"}", false },
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"structuredContent\":{\"a\":1}}", "{\"content\":\"x\"}", false },
		{ "{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}]}",
			"{\"content\":\"[image image/png, 4 bytes of base64, not shown]\"}", false },
		{ "{\"content\":[{\"type\":\"x\"},{}]}", "{\"content\":\"[unsupported content: x]\\n\\n[unsupported content: ?]\"}", false },
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"\\ud83d \\u0000\"}]}", "{\"content\":\"\xef\xbf\xbd \xef\xbf\xbd\"}", false },
		{ "{\"resultType\":\"input_required\"}", "{\"error\":\"the server wants an input that agent6 does not give\"}", true },
		{ "{\"resultType\":\"odd\"}", "{\"error\":\"the server's answer is of a kind that agent6 does not know\"}", true },
		{ "{\"resultType\":\"complete\",\"content\":[]}", "{\"content\":\"\"}", false },
		{ "7", "{\"error\":\"the server's answer is no result\"}", true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf out = BUF_MAX(4096);
		struct err err = { 0 };
		bool failed;

		CHECK_OK(mcp_result(jval_from(str_from(cases[i].in)), &out, &failed, &err));
		CHECK_STR(buf_str(&out), str_from(cases[i].want));
		CHECK_INT(failed, cases[i].failed);
	}
}
