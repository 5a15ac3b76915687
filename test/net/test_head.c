/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "net/head.h"
#include "test/lib/test.h"

static const struct {
	const char *why, *lines[8];
	int status;
	int64_t retry_after_ms;
	enum net_content content;
	bool done;
} heads[] = {
	{ "the ordinary head", { "HTTP/1.1 200 OK\r\n", "Content-Type: application/json\r\n", "\r\n" }, 200, -1,
		CONTENT_JSON, true },
	{ "HTTP/2 has no reason", { "HTTP/2 429 \r\n", "retry-after: 2\r\n", "\r\n" }, 429, 2000, CONTENT_OTHER, true },
	{ "not over yet", { "HTTP/1.1 200 OK\r\n", "Content-Type: text/event-stream\r\n" }, 200, -1, CONTENT_SSE, false },
	{ "an interim answer is forgotten",
		{ "HTTP/1.1 103 Hints\r\n", "Retry-After: 9\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "\r\n" }, 200, -1,
		CONTENT_OTHER, true },
	{ "100 alone is no answer", { "HTTP/1.1 100 Continue\r\n", "\r\n" }, 100, -1, CONTENT_OTHER, false },
	{ "a trailer changes nothing", { "HTTP/1.1 200 OK\r\n", "\r\n", "Retry-After: 5\r\n" }, 200, -1, CONTENT_OTHER,
		true },
	{ "nor does one that looks like a head", { "HTTP/1.1 200 OK\r\n", "\r\n", "HTTP/1.1: 401\r\n", "Transfer-Encoding: gzip\r\n", "\r\n" }, 200, -1,
		CONTENT_OTHER, true },
	{ "chunks are no compression", { "HTTP/1.1 200 OK\r\n", "transfer-encoding: Chunked\r\n", "\r\n" }, 200, -1, CONTENT_OTHER, true },
	{ "names have no case", { "HTTP/1.1 503 x\r\n", "RETRY-AFTER:1\r\n", "\r\n" }, 503, 1000, CONTENT_OTHER, true },
	{ "the exact hint wins in either order",
		{ "HTTP/1.1 503 x\r\n", "Retry-After-Ms: 20\r\n", "Retry-After: 1\r\n", "\r\n" }, 503, 20, CONTENT_OTHER,
		true },
	{ "an exact hint that is none does not count",
		{ "HTTP/1.1 503 x\r\n", "Retry-After-Ms: x\r\n", "Retry-After: 1\r\n", "\r\n" }, 503, 1000,
		CONTENT_OTHER, true },
	{ "a status that is none", { "HTTP/1.1 2x0 OK\r\n", "\r\n" }, 0, -1, CONTENT_OTHER, false },
};

TEST(head_keeps_status_retry_and_content_and_nothing_else)
{
	for (size_t i = 0; i < COUNT(heads); i++) {
		struct head h = { .retry_after_ms = -1 };
		struct err err = { 0 };

		for (size_t j = 0; heads[i].lines[j]; j++)
			CHECK_OK(head_line(&h, str_from(heads[i].lines[j]), 0, &err));
		CHECK_INT(h.status, heads[i].status);
		CHECK_INT(h.retry_after_ms, heads[i].retry_after_ms);
		CHECK_INT(h.content, heads[i].content);
		CHECK(h.done == heads[i].done);
	}
}

TEST(head_refuses_what_would_be_decompressed)
{
	static const char *const bad[] = { "gzip", "gzip, chunked", "chunked, br", "chunked,chunked", "x" };

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct head h = { .retry_after_ms = -1 };
		char line[64];

		snprintf(line, sizeof(line), "Transfer-Encoding: %s\r\n", bad[i]);
		CHECK_INT(head_line(&h, str_from(line), 0, ERR_DISCARD), -ERR_UNSUPPORTED);
	}
}

TEST(head_is_bounded_over_interim_answers_too)
{
	struct head h = { .retry_after_ms = -1 };
	char line[1024];
	int r = 0, n = 0;

	memset(line, 'x', sizeof(line));
	for (; r == 0 && n < 100; n++)
		r = n % 10 == 0 ? head_line(&h, STR("HTTP/1.1 100 Continue\r\n"), 0, ERR_DISCARD)
				: head_line(&h, str_of(line, sizeof(line)), 0, ERR_DISCARD);
	CHECK_INT(r, -ERR_LIMIT);
	CHECK(n > 60 && n < 90);
}

static const struct {
	const char *value;
	int64_t want;
} hints[] = {
	{ "0", 0 }, { "120", 120000 }, { "0.25", 250 }, { "-1", 0 }, { "1e300", HEAD_RETRY_MAX }, { "nan", -1 },
	{ "inf", -1 }, { "", -1 }, { "soon", -1 }, { " 3 ", 3000 }, { "Sun, 29 Nov 2026 20:00:05 GMT", 5000 },
	{ "Sun, 29 Nov 2026 19:00:00 GMT", 0 }, { "Sunday, 29-Nov-26 20:00:01 GMT", 1000 },
	{ "Sun, 99 Nov 2026 20:00:05 GMT", -1 },
};

TEST(retry_after_reads_seconds_and_dates)
{
	for (size_t i = 0; i < COUNT(hints); i++)
		CHECK_INT(head_retry_after(str_from(hints[i].value), 1795982400000LL), hints[i].want);
}

TEST(content_is_told_by_the_media_type_alone)
{
	CHECK_INT(head_content(STR("text/event-stream; charset=utf-8")), CONTENT_SSE);
	CHECK_INT(head_content(STR("Application/JSON")), CONTENT_JSON);
	CHECK_INT(head_content(STR("application/problem+json")), CONTENT_JSON);
	CHECK_INT(head_content(STR("text/html; x=application/json")), CONTENT_OTHER);
	CHECK_INT(head_content(STR("")), CONTENT_OTHER);
}
