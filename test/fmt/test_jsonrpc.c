/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/jsonrpc.h"

#include "test/lib/test.h"

#include <string.h>

static int record(void *self, const struct rpc_message *m, struct err *err)
{
	static const char *const kinds[] = { "result", "error", "request", "notification" };

	return buf_addf(self, err, "%s%s%lld " STR_FMT ";", kinds[m->kind], m->id_known ? " #" : " -", m->id_known ? (long long)m->id : 0,
		STR_ARG(m->method.type == JSCAN_STRING ? m->method.text : m->body.text));
}

static const struct {
	const char *why, *in, *want;
	unsigned skipped;
} cases[] = {
	{ "a result", "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n", "result #3 {};", 0 },
	{ "an error", "{\"id\":3,\"error\":{\"code\":1}}\n", "error #3 {\"code\":1};", 0 },
	{ "an error without an id", "{\"error\":{}}\n", "error -0 {};", 0 },
	{ "a result that is null is one", "{\"id\":3,\"result\":null}\n", "result #3 null;", 0 },
	{ "a request, by number and by word", "{\"id\":1,\"method\":\"ping\"}\n{\"id\":\"x\",\"method\":\"ping\"}\n",
		"request #1 \"ping\";request -0 \"ping\";", 0 },
	{ "a notification", "{\"method\":\"notifications/x\",\"params\":{}}\n", "notification -0 \"notifications/x\";", 0 },
	{ "an id of null makes no request", "{\"id\":null,\"method\":\"x\"}\n", "notification -0 \"x\";", 0 },
	{ "an id as a word is none of ours", "{\"id\":\"7\",\"result\":{}}\n", "result -0 {};", 0 },
	{ "nor is one with a fraction", "{\"id\":7.0,\"result\":{}}\n", "result -0 {};", 0 },
	{ "CR LF, blanks, empty lines", "\r\n  {\"id\":1,\"result\":1}  \r\n\n", "result #1 1;", 0 },
	{ "a mark first", "\xEF\xBB\xBF{\"id\":1,\"result\":1}\n", "result #1 1;", 0 },
	{ "a banner, a log line, broken JSON, a batch", "Starting\n[INFO] {x}\n{\"id\":\n[{\"id\":1,\"result\":1}]\n{\"id\":2,\"result\":2}\n",
		"result #2 2;", 4 },
	{ "an object that says nothing", "{\"id\":1}\n{\"id\":2,\"result\":2}\n", "result #2 2;", 1 },
	{ "no end of line, no message", "{\"id\":1,\"result\":1}", "", 0 },
	{ "a line that is too long, then another", "{\"id\":1,\"result\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}\n"
						    "{\"id\":2,\"result\":2}\n", "result #2 2;", 1 },
};

TEST(rpc_reads_every_case_in_every_chunking)
{
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t step = 1; step <= strlen(cases[i].in); step++) {
			auto_buf struct buf got = BUF_MAX(1024);
			auto_rpc struct rpc_reader r = { 0 };
			struct err err = { 0 };

			rpc_init(&r, 72, record, &got);
			for (struct str in = str_from(cases[i].in); in.n > 0;) {
				size_t n = step < in.n ? step : in.n;

				CHECK_OK(rpc_feed(&r, str_head(in, n), &err));
				in = str_skip(in, n);
			}
			CHECK_STR(buf_str(&got), str_from(cases[i].want));
			CHECK_INT(r.skipped, cases[i].skipped);
		}
}

TEST(rpc_gives_up_after_a_hundred_lines_in_a_row_that_are_no_message)
{
	auto_buf struct buf got = BUF_MAX(65536);
	auto_rpc struct rpc_reader r = { 0 };
	struct err err = { 0 };

	rpc_init(&r, 4096, record, &got);
	for (int round = 0; round < 3; round++) { /* a message in between begins the count anew */
		for (int i = 0; i < RPC_JUNK_MAX; i++)
			CHECK_OK(rpc_feed(&r, STR("noise\n"), &err));
		CHECK_OK(rpc_feed(&r, STR("{\"id\":1,\"result\":1}\n"), &err));
	}
	for (int i = 0; i < RPC_JUNK_MAX; i++)
		CHECK_OK(rpc_feed(&r, STR("noise\n"), &err));
	CHECK_INT(rpc_feed(&r, STR("noise\n"), &err), -ERR_PROTOCOL);
	CHECK_STR(str_from(err.msg), STR("100 lines in a row that are no message"));
}

TEST(rpc_holds_one_line_and_no_more)
{
	auto_buf struct buf got = BUF_MAX(64);
	auto_rpc struct rpc_reader r = { 0 };
	struct err err = { 0 };

	rpc_init(&r, 1024, record, &got);
	for (int i = 0; i < 100000; i++)
		CHECK_OK(rpc_feed(&r, STR("{{{{{{{{{{{{{{{{"), &err)); /* a line that never ends */
	CHECK(r.line.cap <= 2048);
	CHECK_OK(rpc_feed(&r, STR("\n{\"id\":1,\"result\":1}\n"), &err));
	CHECK_STR(buf_str(&got), STR("result #1 1;"));
	CHECK_INT(r.too_long, 1);
}
