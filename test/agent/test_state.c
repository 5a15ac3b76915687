/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/state.h"
#include "test/lib/test.h"

TEST(the_loop_state_comes_out_as_it_went_in)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf first = BUF_MAX(65536), second = BUF_MAX(65536);
	struct str cmd[] = { STR("make"), STR("te\nst") };
	struct loop_state in = { .original_task = STR("fix \"it\""),
		.next_iteration = 7,
		.verify_command = { cmd, 2 },
		.last_verify_ok = TRI_NO,
		.baseline_ok = TRI_YES,
		.same_call = INT64_MIN,
		.idle = 3 };
	struct loop_state out = { 0 };
	struct err err = { 0 };

	CHECK_OK(loop_state_write(&in, &first, &err));
	CHECK_OK(loop_state_read(buf_str(&first), mem, &out, &err));
	CHECK_STR(out.original_task, in.original_task);
	CHECK_STR(out.verify_command.p[1], cmd[1]);
	CHECK(out.last_verify_ok == TRI_NO && out.baseline_ok == TRI_YES && out.same_call == INT64_MIN);
	CHECK_OK(loop_state_write(&out, &second, &err));
	CHECK_STR(buf_str(&second), buf_str(&first));
}

TEST(a_loop_state_of_another_kind_is_refused_by_name)
{
	static const struct {
		const char *json, *want;
	} bad[] = {
		{ "{\"version\":3}", "the saved state is of version 3, this agent6 reads version 2" },
		{ "{\"version\":2,\"idle\":\"x\"}", "the saved state: \"idle\" is not an integer" },
		{ "{\"version\":2,\"baseline_ok\":1}",
			"the saved state: \"baseline_ok\" is not true, false or null" },
		{ "{\"version\":2,\"verify_command\":[1]}",
			"the saved state: \"verify_command\" is not a string" },
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		auto_arena struct arena *mem = arena_new();
		struct loop_state out = { .idle = 5 };
		struct err err = { 0 };

		CHECK_INT(loop_state_read(str_from(bad[i].json), mem, &out, &err), -ERR_INVALID);
		CHECK_STR(str_from(err.msg), str_from(bad[i].want));
		CHECK_INT(out.idle, 5);
	}
}
