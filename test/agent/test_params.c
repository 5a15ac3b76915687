/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/params.h"
#include "test/lib/test.h"

TEST(run_params_come_out_as_they_went_in_and_never_from_a_cut_message)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf b = BUF_MAX(1 << 20);
	struct str cmd[] = { STR("make"), STR("test") };
	struct run_params in = { .run_id = STR("sunny-otter-K4Q7B2"), .task = STR("fix\nit"), .max_usd = 1.5,
		.max_iterations = -1, .verify_command = { cmd, 2 }, .extra_body = STR("{}") };
	struct run_params out = { 0 };
	struct err err = { 0 };

	CHECK_OK(run_params_pack(&in, &b, &err));
	CHECK_OK(run_params_unpack(buf_str(&b), mem, &out, &err));
	CHECK_STR(out.run_id, in.run_id);
	CHECK_STR(out.task, in.task);
	CHECK(out.max_usd == 1.5 && out.max_iterations == -1);
	CHECK_INT(out.verify_command.n, 2);
	CHECK_STR(out.verify_command.p[1], STR("test"));
	CHECK_STR(out.extra_body, STR("{}"));
	for (size_t cut = 0; cut < b.n; cut++)
		CHECK_INT(run_params_unpack(str_head(buf_str(&b), cut), mem, &out, ERR_DISCARD), -ERR_PROTOCOL);
}
