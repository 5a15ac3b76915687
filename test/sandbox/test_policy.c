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
		{ "a cell's field", "\"git_cell\":true", "for a cell" },
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
				   "\"root_as_uid\":77,\"git_cell\":true}\n";
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
