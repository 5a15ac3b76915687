/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/policy.h"
#include "test/lib/test.h"

#include <string.h>

static int decode(const char *text, struct arena *mem, struct sandbox_policy *p, struct err *err)
{
	return policy_decode(str_from(text), POLICY_ONCE, mem, p, err);
}

TEST(policy_reads_every_field)
{
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p;
	struct err err = { 0 };

	CHECK_OK(decode("{\"profile\":\"hardened\",\"cwd\":\"/ws\",\"argv\":[\"cc\",\"\",\"-o\"],"
			"\"env\":[[\"A\",\"1=2\"],[\"B\",\"\"]],\"network\":\"host\",\"extra_ro_paths\":[\"/a\",\"/b/c\"],"
			"\"extra_rw_paths\":[\"/d\"],\"tool_paths\":[],\"hide_paths\":[\"/ws/h\"],"
			"\"extra_protect_paths\":[\"/ws/.git\"],\"timeout_s\":1.5,\"memory_limit_mb\":64,\"root_as_uid\":9}",
		mem, &p, &err));
	CHECK_INT(p.profile, PROFILE_HARDENED);
	CHECK_STR(str_from(p.cwd), STR("/ws"));
	CHECK_INT(p.argv.n, 3);
	CHECK_STR(str_from(p.argv.p[2]), STR("-o"));
	CHECK(p.argv.p[3] == NULL);
	CHECK_STR(str_from(p.env.p[0]), STR("A=1=2"));
	CHECK_STR(str_from(p.env.p[1]), STR("B="));
	CHECK_INT(p.network, NETWORK_HOST);
	CHECK_INT(p.extra_ro_paths.n, 2);
	CHECK_INT(p.timeout_ms, 1500);
	CHECK_INT(p.memory_limit_mb, 64);
	CHECK_INT(p.root_as_uid, 9);
}

TEST(policy_defaults_are_the_tight_ones)
{
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p;
	struct err err = { 0 };

	CHECK_OK(decode("{\"cwd\":\"/ws\",\"argv\":[\"x\"]}", mem, &p, &err));
	CHECK_INT(p.profile, PROFILE_STRICT);
	CHECK_INT(p.network, NETWORK_NONE);
	CHECK_INT(p.timeout_ms, 600000);
	CHECK_INT(p.root_as_uid, POLICY_ROOT_UID);
	CHECK_INT(p.env.n + p.extra_rw_paths.n + p.extra_ro_paths.n + p.tool_paths.n, 0);
}

TEST(policy_refuses_and_names_the_field)
{
	static const struct {
		const char *why, *member, *says;
	} cases[] = {
		{ "unknown field", "\"allow\":true", "unknown field \"allow\"" },
		{ "known field in capitals", "\"CWD\":\"/x\"", "unknown field \"CWD\"" },
		{ "known field with a blank", "\"cwd \":\"/x\"", "unknown field" },
		{ "twice", "\"env\":[],\"env\":[]", "is there twice" },
		{ "twice by its other name", "\"profile\":\"strict\",\"isolation\":\"strict\"", "the same field" },
		{ "nearly a word", "\"profile\":\"Strict \"", "is not one of strict, hardened, none" },
		{ "another word", "\"network\":\"session\"", "is not one of none, host" },
		{ "relative", "\"extra_rw_paths\":[\"a\"]", "extra_rw_paths: \"a\" is not an absolute path" },
		{ "tilde", "\"extra_rw_paths\":[\"~/a\"]", "is not an absolute path" },
		{ "empty", "\"extra_rw_paths\":[\"\"]", "is not an absolute path" },
		{ "dot dot", "\"extra_rw_paths\":[\"/a/../b\"]", "\"..\" component" },
		{ "dot", "\"hide_paths\":[\"/a/./b\"]", "component" },
		{ "double slash", "\"tool_paths\":[\"/a//b\"]", "component" },
		{ "slash at the end", "\"tool_paths\":[\"/a/\"]", "component" },
		{ "root", "\"extra_ro_paths\":[\"/\"]", "the whole machine" },
		{ "a string for a list", "\"hide_paths\":\"/a\"", "expected a list, got a string" },
		{ "a number in a list", "\"hide_paths\":[7]", "expected a string, got a number" },
		{ "null", "\"hide_paths\":null", "expected a list, got null" },
		{ "name with =", "\"env\":[[\"A=B\",\"x\"]]", "\"A=B\" cannot be a variable's name" },
		{ "empty name", "\"env\":[[\"\",\"x\"]]", "cannot be a variable's name" },
		{ "three in a pair", "\"env\":[[\"A\",\"x\",\"y\"]]", "no more" },
		{ "one in a pair", "\"env\":[[\"A\"]]", "a name and a value" },
		{ "negative time", "\"timeout_s\":-1", "expected 0 (no limit) to" },
		{ "endless time", "\"timeout_s\":1e9", "expected 0 (no limit) to" },
		{ "memory with a fraction", "\"memory_limit_mb\":1.5", "whole number" },
		{ "root as root", "\"root_as_uid\":0", "expected 1 to" },
		{ "NUL", "\"extra_rw_paths\":[\"/a\\u0000/b\"]", "U+0000" },
		{ "a cell's other field", "\"read_only\":true", "for a cell" },
		{ "a cell's field", "\"git_cell\":true", "for a cell" },
		{ "a third", "\"bare\":true", "for a cell" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		struct sandbox_policy p = { .timeout_ms = 7 };
		struct err err = { 0 };
		char text[512];

		snprintf(text, sizeof(text), "{\"cwd\":\"/ws\",\"argv\":[\"x\"],%s}", cases[i].member);
		CHECK(decode(text, mem, &p, &err) < 0);
		if (!strstr(err.msg, cases[i].says))
			CHECK_STR(str_from(err.msg), str_from(cases[i].says));
		CHECK_INT(p.timeout_ms, 7); /* nothing is written on failure */
	}
}

/* "{", then n times text, then "}" with what makes it a policy but for that. */
static struct str repeated(struct arena *mem, const char *before, const char *text, size_t n, const char *after)
{
	size_t each = strlen(text), at = strlen(before);
	char *p = arena_alloc(mem, at + each * n + strlen(after) + 1);

	memcpy(p, before, at);
	for (size_t i = 0; i < n; i++, at += each)
		memcpy(p + at, text, each);
	memcpy(p + at, after, strlen(after) + 1);
	return str_from(p);
}

TEST(policy_refuses_what_is_too_long_too_deep_or_no_text)
{
	static const struct {
		const char *why, *before, *text;
		size_t n;
		const char *after, *says;
	} cases[] = {
		{ "no UTF-8 in a path", "{\"cwd\":\"/w", "\xff", 1, "\",\"argv\":[\"x\"]}", "UTF-8" },
		{ "no UTF-8 in a word", "{\"cwd\":\"/ws\",\"argv\":[\"", "\xc3\x28", 1, "\"]}", "UTF-8" },
		{ "half a character", "{\"cwd\":\"/ws\",\"argv\":[\"x\"],\"env\":[[\"A\",\"", "\xe2\x82", 1, "\"]]}", "UTF-8" },
		{ "a surrogate alone", "{\"cwd\":\"/ws\",\"argv\":[\"", "\\ud800", 1, "\"]}", "surrogate" },
		{ "lists in a list", "{\"cwd\":\"/ws\",\"argv\":", "[", 100000, "", "expected a string, got a list" },
		{ "objects in an object", "{\"cwd\":", "{\"cwd\":", 100000, "", "expected a string, got an object" },
		{ "a path no kernel takes", "{\"argv\":[\"x\"],\"cwd\":\"/", "a", 4096, "\"}", "longer than" },
		{ "a name of a field", "{\"", "a", 300, "\":1}", "longer than" },
		{ "one word", "{\"cwd\":\"/ws\",\"argv\":[\"", "a", POLICY_BYTES_MAX + 1, "\"]}", "longer than" },
		{ "something after all of it", "{\"cwd\":\"/ws\",\"argv\":[\"x\"]}", "{", 1, "", "follows the document" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		struct str text = repeated(mem, cases[i].before, cases[i].text, cases[i].n, cases[i].after);
		struct sandbox_policy p = { .timeout_ms = 7 };
		struct err err = { 0 };

		CHECK(policy_decode(text, POLICY_ONCE, mem, &p, &err) < 0);
		if (!strstr(err.msg, cases[i].says))
			CHECK_STR(str_from(err.msg), str_printf(mem, "%s: ... %s ...", cases[i].why, cases[i].says));
		CHECK_INT(p.timeout_ms, 7);
	}
}

TEST(policy_times_are_the_same_milliseconds_after_every_writing)
{
	for (int ms = 1; ms < 20000; ms += 7) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf b = BUF_MAX(4096);
		struct sandbox_policy p = { .cwd = "/ws", .timeout_ms = ms, .root_as_uid = 1 }, q;
		struct err err = { 0 };

		CHECK_OK(policy_encode(&p, &b, &err));
		CHECK_OK(policy_decode(buf_str(&b), POLICY_CELL, mem, &q, &err));
		CHECK_INT(q.timeout_ms, ms);
	}
}

TEST(policy_needs_a_workspace_and_a_command)
{
	auto_arena struct arena *mem = arena_new();
	struct sandbox_policy p;

	CHECK_INT(decode("{\"argv\":[\"x\"]}", mem, &p, ERR_DISCARD), -ERR_INVALID);
	CHECK_INT(decode("{\"cwd\":\"/ws\"}", mem, &p, ERR_DISCARD), -ERR_INVALID);
	CHECK_INT(decode("{\"cwd\":\"/ws\",\"argv\":[]}", mem, &p, ERR_DISCARD), -ERR_INVALID);
	CHECK_INT(decode("{\"cwd\":\"/ws\",\"argv\":[\"\"]}", mem, &p, ERR_DISCARD), -ERR_INVALID);
	CHECK_INT(policy_decode(STR("{\"cwd\":\"/ws\"}"), POLICY_CELL, mem, &p, ERR_DISCARD), 0);
}

TEST(policy_survives_being_written_and_read)
{
	static const char text[] = "{\"profile\":\"none\",\"cwd\":\"/w \xc3\xa9\",\"argv\":[\"a\\nb\",\"\\\"\"],"
				   "\"env\":[[\"K\",\"=v=\"]],\"network\":\"host\",\"extra_ro_paths\":[\"/r\"],"
				   "\"extra_rw_paths\":[\"/w\"],\"tool_paths\":[\"/t\"],\"hide_paths\":[\"/h\"],"
				   "\"extra_protect_paths\":[\"/p\"],\"timeout_s\":0.001,\"memory_limit_mb\":5,"
				   "\"root_as_uid\":77,\"git_cell\":true,\"read_only\":false,\"bare\":true}\n";
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf once = BUF_MAX(4096);
	auto_buf struct buf twice = BUF_MAX(4096);
	struct sandbox_policy p, q;
	struct err err = { 0 };

	CHECK_OK(policy_decode(str_from(text), POLICY_CELL, mem, &p, &err));
	CHECK_OK(policy_encode(&p, &once, &err));
	CHECK_STR(buf_str(&once), str_from(text));
	CHECK_OK(policy_decode(buf_str(&once), POLICY_CELL, mem, &q, &err));
	CHECK_OK(policy_encode(&q, &twice, &err));
	CHECK_STR(buf_str(&twice), buf_str(&once));
}
