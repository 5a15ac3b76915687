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

		CHECK_OK(mcp_result(jval_from(str_from(cases[i].in)), &out, &(struct mcp_pictures){ 0 }, &failed, &err));
		CHECK_STR(buf_str(&out), str_from(cases[i].want));
		CHECK_INT(failed, cases[i].failed);
	}
}

TEST(mcp_pictures_are_shown_when_they_are_wanted_and_are_what_they_say)
{
#define PNG "iVBORw0KGgoAAAANSUhEUg=="
	static const struct {
		const char *why, *in;
		size_t most;
		const char *want;
		const char *type, *data; /* NULL: none is shown */
	} cases[] = {
		{ "a picture", "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}", 4,
			"[image image/png, 24 bytes of base64, shown below]", "image/png", PNG },
		{ "nobody wants any", "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}", 0,
			"[image image/png, 24 bytes of base64, not shown]", NULL, NULL },
		{ "what it is counts, not what it is called", "{\"type\":\"image\",\"data\":\"/9j/4AAQ\",\"mimeType\":\"image/png\"}", 4,
			"[image image/png, 8 bytes of base64, shown below]", "image/jpeg", "/9j/4AAQ" },
		{ "none of the four kinds", "{\"type\":\"image\",\"data\":\"PHN2Zz4=\",\"mimeType\":\"image/svg+xml\"}", 4,
			"[image image/svg+xml, 8 bytes of base64, not shown]", NULL, NULL },
		{ "line breaks, and an address before it", "{\"type\":\"image\",\"data\":\"data:image/gif;base64,R0lG\\r\\nODlh\\n\",\"mimeType\":\"image/gif\"}", 4,
			"[image image/gif, 36 bytes of base64, shown below]", "image/gif", "R0lGODlh" },
		{ "a letter too few", "{\"type\":\"image\",\"data\":\"iVBORw0KGgo\",\"mimeType\":\"image/png\"}", 4,
			"[image image/png, 11 bytes of base64, not shown]", NULL, NULL },
		{ "a quote in it", "{\"type\":\"image\",\"data\":\"iVBORw0KGgo\\\"\",\"mimeType\":\"image/png\"}", 4,
			"[image image/png, 13 bytes of base64, not shown]", NULL, NULL },
		{ "no data", "{\"type\":\"image\",\"mimeType\":\"image/png\"}", 4, "[image image/png, 0 bytes of base64, not shown]", NULL, NULL },
		{ "sound, which no wire takes", "{\"type\":\"audio\",\"data\":\"UklGRiQA\",\"mimeType\":\"audio/wav\"}", 4,
			"[audio audio/wav, 8 bytes of base64, not shown]", NULL, NULL },
		{ "a resource that is one", "{\"type\":\"resource\",\"resource\":{\"uri\":\"shot://1\",\"mimeType\":\"image/webp\",\"blob\":\"UklGRiQA\"}}", 4,
			"[resource shot://1]\\n[data image/webp, 8 bytes of base64, shown below]", "image/webp", "UklGRiQA" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf out = BUF_MAX(4096), in = BUF_MAX(4096), want = BUF_MAX(4096);
		struct mcp_pictures got = { .most = cases[i].most, .mem = mem };
		struct err err = { 0 };
		bool failed;

		CHECK_OK(buf_addf(&in, &err, "{\"content\":[%s]}", cases[i].in));
		CHECK_OK(buf_addf(&want, &err, "{\"content\":\"%s\"}", cases[i].want));
		CHECK_OK(mcp_result(jval_from(buf_str(&in)), &out, &got, &failed, &err));
		CHECK_STR(buf_str(&out), buf_str(&want));
		CHECK_INT(got.n, cases[i].type != NULL);
		if (!cases[i].type || got.n != 1)
			continue;
		CHECK_STR(str_from(got.p[0].type), str_from(cases[i].type));
		CHECK_STR(got.p[0].data, str_from(cases[i].data));
	}
}

TEST(mcp_pictures_of_one_answer_are_few_and_not_too_large)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf in = BUF_MAX(16 << 20), out = BUF_MAX(1 << 16);
	struct mcp_pictures got = { .most = 9, .mem = mem };
	struct err err = { 0 };
	bool failed;

	CHECK_OK(buf_addz(&in, "{\"content\":[{\"type\":\"image\",\"data\":\"iVBORw0KGgoA", &err));
	for (size_t i = 0; i < MCP_PICTURE_MAX / 4; i++)
		CHECK_OK(buf_addz(&in, "AAAA", &err));
	CHECK_OK(buf_addz(&in, "\",\"mimeType\":\"image/png\"}", &err));
	for (int i = 0; i < 7; i++)
		CHECK_OK(buf_addz(&in, ",{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}", &err));
	CHECK_OK(buf_addz(&in, "]}", &err));
	CHECK_OK(mcp_result(jval_from(buf_str(&in)), &out, &got, &failed, &err));
	CHECK_INT(got.n, MCP_PICTURES_MAX);
	CHECK(str_find(buf_str(&out), STR("4194316 bytes of base64, not shown")) < out.n);
}

