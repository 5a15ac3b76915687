/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/sse.h"
#include "test/lib/test.h"

static const struct {
	const char *why, *in, *want, *at_end;
} cases[] = {
	{ "lines join, one space is syntax", "data:  a\ndata: b\n\n", "message= a\nb;", "" },
	{ "CR LF ends one line, not two", "data: a\r\ndata: b\r\n\r\n", "message=a\nb;", "" },
	{ "a lone CR ends a line", "data: a\r\rdata: b\n\n", "message=a;message=b;", "" },
	{ "empty data counts", "data\n\n", "message=;", "" },
	{ "no data, no event", "event: ping\n\ndata: 1\n\n", "message=1;", "" },
	{ "noise, then the last name wins", ": hi\nid: 7\nevent: d\nevent: e\ndata: a\n\n", "e=a;", "" },
	{ "a mark first, but only first", "\xEF\xBB\xBF" "data: a\n\n\xEF\xBB\xBF" "data: b\n\n", "message=a;", "" },
	{ "cut off before the end", "data: a\n\ndata: late\n", "message=a;", "message=late;" },
	{ "cut off inside a line", "data: a\n\nevent: x\ndata: la", "message=a;", "x=la;" },
	{ "nothing pending, nothing at the end", "data: a\n\n: bye\n", "message=a;", "" },
	{ "a field named error is an event", "error: {\"a\":1}\n\ndata: b\n\n", "error={\"a\":1};message=b;", "" },
	{ "a colon in the value is content", "data: a: b\n\n", "message=a: b;", "" },
};

static int record(void *self, const struct sse_event *ev, struct err *err)
{
	return buf_addf(self, err, STR_FMT "=" STR_FMT ";", STR_ARG(ev->name), STR_ARG(ev->data));
}

TEST(sse_reads_every_case_in_every_chunking) /* the network may cut anywhere */
{
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t step = 1; step <= strlen(cases[i].in); step++) {
			auto_buf struct buf got = BUF_MAX(256);
			auto_sse struct sse s = { 0 };

			sse_init(&s, 64, record, &got);
			for (struct str in = str_from(cases[i].in); in.n > 0;) {
				size_t n = step < in.n ? step : in.n;
				CHECK(sse_feed(&s, str_head(in, n), ERR_DISCARD) == 0);
				in = str_skip(in, n);
			}
			CHECK_STR(buf_str(&got), str_from(cases[i].want));
			buf_clear(&got);
			CHECK(sse_end(&s, ERR_DISCARD) == 0);
			CHECK_STR(buf_str(&got), str_from(cases[i].at_end));
			CHECK(sse_end(&s, ERR_DISCARD) == 0); /* an event is handed over once */
			CHECK_STR(buf_str(&got), str_from(cases[i].at_end));
		}
}

TEST(sse_stops_at_the_first_failure_and_says_why)
{
	static const struct {
		size_t max;
		const char *in, *want;
	} bad[] = {
		{ 8, "data: 0123456789\n\n", "event stream line: longer than 8 bytes" },
		{ 8, "data: 0123\ndata: 4567\n\n", "event stream line: longer than 8 bytes" },
		{ 10, "data: 0123\ndata: 45678\n\n", "event stream line: longer than 10 bytes" },
		{ 11, "data: 01234\ndata: 56789\n\n", "longer than 11 bytes" }, /* the event, not a line */
		{ 64, "data: 1\n\n", "longer than 4 bytes" },                   /* the handler's own error */
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		auto_buf struct buf got = BUF_MAX(4);
		auto_sse struct sse s = { 0 };
		struct err err = { 0 };

		sse_init(&s, bad[i].max, record, &got);
		CHECK(sse_feed(&s, str_from(bad[i].in), &err) == -ERR_LIMIT);
		CHECK_STR(str_from(err.msg), str_from(bad[i].want));
	}
}
