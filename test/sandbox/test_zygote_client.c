/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/pack.h"
#include "sandbox/zygote_client.h"
#include "sys/chan.h"
#include "test/lib/test.h"

TEST(zygote_client_takes_an_end_only_of_its_job_and_for_a_reason_of_the_table)
{
	static const struct {
		const char *why;
		uint32_t job;
		uint8_t end;
		int want;
	} cases[] = {
		{ "the first of the table", 1, JOB_EXITED, 0 },
		{ "the last", 1, JOB_STOPPED, 0 },
		{ "none", 1, 0, -ERR_PROTOCOL },
		{ "beyond the table", 1, JOB_STOPPED + 1, -ERR_PROTOCOL },
		{ "another job", 2, JOB_EXITED, -ERR_PROTOCOL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_zygote_client struct zygote_client c = { 0 };
		auto_buf struct buf body = BUF_MAX(64), out = BUF_MAX(64), errs = BUF_MAX(64);
		const struct zygote_call call = { .class = JOB_GIT };
		struct zygote_answer a;
		struct err err = { 0 };
		int pair[2];

		CHECK_OK(chan_pair(pair, &err));
		zygote_client_init(&c, pair[0]);
		pack_u32(&body, cases[i].job);
		pack_u32(&body, 0);
		pack_u8(&body, cases[i].end);
		pack_u64(&body, 0);
		pack_str(&body, STR(""));
		CHECK_OK(chan_send(pair[1], WIRE_EXIT, buf_str(&body), NULL, 0, &err));
		int r = zygote_call(&c, &call, &out, &errs, &a, &err);

		if (r != cases[i].want)
			CHECK_STR(str_from(err.msg), str_from(cases[i].why));
		close(pair[0]);
		close(pair[1]);
	}
}
