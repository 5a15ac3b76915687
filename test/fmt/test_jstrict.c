/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/jstrict.h"
#include "fmt/mcp.h"
#include "fmt/pack.h"

#include "test/lib/test.h"

#include <string.h>

TEST(jstrict_copies_one_object_without_blanks)
{
	static const struct {
		const char *why, *in, *want;
	} cases[] = {
		{ "an empty one", "{}", "{}" },
		{ "blanks and line ends go", " {\n\t\"a\" : [ 1 ,\r\n 2 ] , \"b\" : { } }\n", "{\"a\":[1,2],\"b\":{}}" },
		{ "those in strings stay", "{\"a\":\" x \"}", "{\"a\":\" x \"}" },
		{ "numbers keep their spelling", "{\"a\":-0.10e+5,\"b\":12345678901234567890}",
			"{\"a\":-0.10e+5,\"b\":12345678901234567890}" },
		{ "words", "{\"a\":[true,false,null]}", "{\"a\":[true,false,null]}" },
		{ "escapes stay as they are", "{\"a\":\"\\u00e9\\n\\ud83d\\ude00\\/\"}", "{\"a\":\"\\u00e9\\n\\ud83d\\ude00\\/\"}" },
		{ "one name in two objects", "{\"a\":{\"a\":1},\"b\":{\"a\":2}}", "{\"a\":{\"a\":1},\"b\":{\"a\":2}}" },
		{ "names with escapes that differ", "{\"a\\nb\":1,\"a\\\\nb\":2,\"\":3}", "{\"a\\nb\":1,\"a\\\\nb\":2,\"\":3}" },
		{ "empty containers inside", "{\"a\":[[],{},[{}]]}", "{\"a\":[[],{},[{}]]}" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf out = BUF_MAX(4096), again = BUF_MAX(4096);
		struct err err = { 0 };

		CHECK_OK(jstrict_add_object(&out, str_from(cases[i].in), &err));
		CHECK_STR(buf_str(&out), str_from(cases[i].want));
		CHECK_OK(jstrict_add_object(&again, buf_str(&out), &err));
		CHECK_STR(buf_str(&again), buf_str(&out));
	}
}

TEST(jstrict_refuses_whatever_is_not_one_object)
{
	static const struct {
		const char *why, *in, *want;
	} cases[] = {
		{ "nothing", "", "byte 0: expected one JSON object" },
		{ "another value", "[1]", "byte 0: expected one JSON object" },
		{ "two of them", "{} {}", "byte 3: more than one JSON object" },
		{ "a second message behind a line end", "{}\n{\"jsonrpc\":\"2.0\"}", "byte 3: more than one JSON object" },
		{ "no end", "{\"a\":1", "byte 6: expected ',' or '}'" },
		{ "the wrong end", "{\"a\":[1}", "byte 7: expected ',' or ']'" },
		{ "a comma at the end", "{\"a\":1,}", "byte 7: expected a string" },
		{ "a name that is none", "{a:1}", "byte 1: expected a string" },
		{ "a name twice", "{\"a\":1,\"a\":2}", "byte 10: a member is named twice" },
		{ "a name twice, once with an escape", "{\"path\":\"/ok\",\"p\\u0061th\":\"/etc\"}", "byte 25: a member is named twice" },
		{ "a name twice, as a pair and as bytes", "{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}", "byte 24: a member is named twice" },
		{ "a raw line end in a string", "{\"a\":\"x\ny\"}", "byte 7: a control character in a string" },
		{ "an unknown escape", "{\"a\":\"\\x\"}", "byte 7: an escape that JSON does not know" },
		{ "half a pair", "{\"a\":\"\\ud83d\"}", "byte 12: half of a surrogate pair" },
		{ "the other half", "{\"a\":\"\\ude00\"}", "byte 12: half of a surrogate pair" },
		{ "NUL", "{\"a\":\"\\u0000\"}", "byte 8: U+0000 cannot be passed on" },
		{ "a leading zero", "{\"a\":01}", "byte 7: not a number" },
		{ "NaN", "{\"a\":NaN}", "byte 5: expected a value" },
		{ "a half number", "{\"a\":1.}", "byte 7: not a number" },
		{ "invalid UTF-8", "{\"a\":\"\xff\"}", "byte 7: invalid UTF-8" },
		{ "a comment", "{/**/}", "byte 1: expected a string" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf out = BUF_MAX(4096);
		struct err err = { 0 };

		CHECK_OK(buf_addz(&out, "before", &err));
		CHECK(jstrict_add_object(&out, str_from(cases[i].in), &err) == -ERR_SYNTAX);
		CHECK_STR(str_from(err.msg), str_from(cases[i].want));
		CHECK_STR(buf_str(&out), STR("before")); /* nothing is left of it */
	}
}

TEST(jstrict_is_bounded_in_depth_and_members)
{
	for (int n = JSTRICT_DEPTH - 1; n <= JSTRICT_DEPTH; n++) {
		auto_buf struct buf in = BUF_MAX(4096), out = BUF_MAX(4096);
		struct err err = { 0 };

		CHECK_OK(buf_addz(&in, "{\"a\":", &err));
		for (int i = 0; i < n; i++)
			CHECK_OK(buf_addz(&in, "[", &err));
		for (int i = 0; i < n; i++)
			CHECK_OK(buf_addz(&in, "]", &err));
		CHECK_OK(buf_addz(&in, "}", &err));
		CHECK_INT(jstrict_add_object(&out, buf_str(&in), &err), n < JSTRICT_DEPTH ? 0 : -ERR_LIMIT);
	}
	for (int n = JSTRICT_MEMBERS; n <= JSTRICT_MEMBERS + 1; n++) {
		auto_buf struct buf in = BUF_MAX(65536), out = BUF_MAX(65536);
		struct err err = { 0 };

		for (int i = 0; i < n; i++)
			CHECK_OK(buf_addf(&in, &err, "%s\"k%d\":1", i == 0 ? "{" : ",", i));
		CHECK_OK(buf_addz(&in, "}", &err));
		CHECK_INT(jstrict_add_object(&out, buf_str(&in), &err), n > JSTRICT_MEMBERS ? -ERR_LIMIT : 0);
	}
}

TEST(mcp_composes_each_message_from_its_fields)
{
#define META_INNER                                                                                           \
	"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":" \
	"{\"name\":\"agent6\",\"version\":\"" AGENT6_VERSION "\"},\"io.modelcontextprotocol/clientCapabilities\":{}"
#define META_TEXT "\"_meta\":{" META_INNER "}"
	static const struct {
		struct mcp_say say;
		const char *want;
	} cases[] = {
		{ { MCP_DISCOVER, MCP_ERA_MODERN, 1 },
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META_TEXT "}}" },
		{ { MCP_INITIALIZE, MCP_ERA_LEGACY, 2 },
			"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
			"\"capabilities\":{},\"clientInfo\":{\"name\":\"agent6\",\"version\":\"" AGENT6_VERSION "\"}}}" },
		{ { MCP_INITIALIZED, MCP_ERA_LEGACY, 3 }, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}" },
		{ { MCP_LIST, MCP_ERA_LEGACY, 4 }, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/list\",\"params\":{}}" },
		{ { MCP_LIST, MCP_ERA_LEGACY, 5, .text = { "a\"\n", 3 } },
			"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/list\",\"params\":{\"cursor\":\"a\\\"\\n\"}}" },
		{ { MCP_CALL, MCP_ERA_LEGACY, 6, .text = { "a.b", 3 }, .args = { "{ \"x\": 1 }", 10 } },
			"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"a.b\",\"arguments\":{\"x\":1},"
			"\"_meta\":{\"progressToken\":6}}}" },
		{ { MCP_CALL, MCP_ERA_MODERN, 7, .text = { "a", 1 }, .args = { "{}", 2 } },
			"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"arguments\":{},\"_meta\":{\"progressToken\":7," META_INNER
			"}}}" },
		{ { MCP_CANCEL, MCP_ERA_LEGACY, 8, .ref = 7 },
			"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7,\"reason\":\"no longer wanted\"}}" },
		{ { MCP_PONG, MCP_ERA_LEGACY, 9, .ref = -12 }, "{\"jsonrpc\":\"2.0\",\"id\":-12,\"result\":{}}" },
		{ { MCP_REFUSE, MCP_ERA_LEGACY, 10, .is_text = true, .text = { "x\",", 3 } },
			"{\"jsonrpc\":\"2.0\",\"id\":\"x\\\",\",\"error\":{\"code\":-32601,\"message\":\"agent6 does not offer this\"}}" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf packed = BUF_MAX(8192), check = BUF_MAX(MCP_LINE_MAX);
		struct mcp_line line = { 0 };
		struct mcp_say got = { .id = cases[i].say.id };
		struct err err = { 0 };

		mcp_say_pack(&cases[i].say, &packed);
		struct unpack u = unpack_from(buf_str(&packed));
		CHECK_OK(mcp_say_unpack(&u, &got, &err));
		got.args = cases[i].say.args;
		CHECK_OK(mcp_compose(&got, &line, &err));
		CHECK_STR(buf_str(&line.text), str_from(cases[i].want));
		CHECK_OK(jstrict_add_object(&check, buf_str(&line.text), &err)); /* one object, one line */
		CHECK_STR(buf_str(&check), buf_str(&line.text));
		buf_fini(&line.text);
	}
}

TEST(mcp_says_nothing_but_what_its_fields_may_hold)
{
	static const struct {
		const char *why;
		struct mcp_say say;
		const char *want;
	} cases[] = {
		{ "no method", { 0, MCP_ERA_LEGACY, 1 }, "method 0 is not said to a server" },
		{ "a method too far", { MCP_METHODS, MCP_ERA_LEGACY, 1 }, "method 11 is not said to a server" },
		{ "the stream, which is no message", { MCP_LISTEN, MCP_ERA_LEGACY, 1 }, "method 9 is not said to a server" },
		{ "the end, which is no message", { MCP_END, MCP_ERA_LEGACY, 1 }, "method 10 is not said to a server" },
		{ "no era", { MCP_LIST, 0, 1 }, "era 0 is unknown" },
		{ "a call without arguments", { MCP_CALL, MCP_ERA_LEGACY, 1, .text = { "a", 1 } }, "arguments belong to a call, and a call has them" },
		{ "a list with some", { MCP_LIST, MCP_ERA_LEGACY, 1, .args = { "{}", 2 } }, "arguments belong to a call, and a call has them" },
		{ "an id with NUL in it", { MCP_PONG, MCP_ERA_LEGACY, 1, .is_text = true, .text = { "a\0", 2 } },
			"a text for a server must be UTF-8 of at most 4096 bytes, without NUL" },
		{ "a tool with a line end", { MCP_CALL, MCP_ERA_LEGACY, 1, .text = { "a\n", 2 }, .args = { "{}", 2 } },
			"the tool's name must be printable ASCII of at most 128 bytes" },
		{ "arguments that go on as a message", { MCP_CALL, MCP_ERA_LEGACY, 1, .text = { "a", 1 }, .args = { "{}},\"id\":1,\"x\":{}", 17 } },
			"the arguments: byte 2: more than one JSON object" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct mcp_line line = { 0 };
		struct err err = { 0 };

		CHECK(mcp_compose(&cases[i].say, &line, &err) < 0);
		CHECK_STR(str_from(err.msg), str_from(cases[i].want));
		buf_fini(&line.text);
	}
	CHECK(mcp_name_ok(STR("a-b_C9")) && !mcp_name_ok(STR("a__b")) && !mcp_name_ok(STR("")) && !mcp_name_ok(STR("a.b")));
	CHECK(mcp_tool_ok(STR("a b/c.d")) && !mcp_tool_ok(STR(" a")) && !mcp_tool_ok(STR("a ")) && !mcp_tool_ok(STR("\xc3\xa4")));
}
