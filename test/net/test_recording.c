/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "net/recording.h"
#include "test/lib/test.h"

#define HEAD "agent6-recording 1\n"

static const struct {
	const char *text, *says;
	int line;
} bad[] = {
	{ "", "first line", 1 },
	{ "agent6-recording 2\n", "first line", 1 },
	{ HEAD "|x\n", "must come first", 2 },
	{ HEAD "answer\n", "not a number", 2 },
	{ HEAD "answer 20x y\n", "\"20x\" is not a number", 2 },
	{ HEAD "answer 100 y\n", "200 to 999", 2 },
	{ HEAD "# c\n\nanswer 200 y\nwait 1s\n", "\"1s\" is not a number", 5 },
	{ HEAD "answer 200 y\nwait 60001\n", "0 to 60000", 3 },
	{ HEAD "answer 200 y\n|a\nretry-after 1\n", "directly below", 4 },
	{ HEAD "models 200 y\nmodels 200 y\n", "second \"models\"", 3 },
	{ HEAD "answer 200 y\n body\n", "is not one of", 3 },
};

TEST(recording_that_is_damaged_is_refused_with_its_line)
{
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct recording r;
		struct err err = { 0 };

		CHECK_INT(recording_parse(str_from(bad[i].text), &r, &err), -ERR_SYNTAX);
		CHECK(strstr(err.msg, bad[i].says));
		CHECK_INT(err.at.line, bad[i].line);
	}
}

static void play_all(struct play *p, size_t enough, struct buf *out, int64_t *waited_ms)
{
	auto_buf struct buf piece = BUF_MAX(enough);
	struct err err = { 0 };
	int r = 1;

	for (*waited_ms = 0; r == 1;) {
		int64_t wait_ms = 0;

		r = play_next(p, enough, &piece, &wait_ms, &err);
		CHECK(r >= 0);
		CHECK_OK(buf_add(out, buf_str(&piece), &err));
		buf_clear(&piece);
		*waited_ms += wait_ms;
	}
}

TEST(recording_plays_the_same_bytes_in_pieces_of_every_size)
{
	static const char text[] = HEAD "answer 200 text/event-stream\n# why\nretry-after 3\nwait 5\n|data: a\n|\n# more\n"
					"wait 7\n|data: |b\n+tail\nmodels 200 application/json\n+[]\nanswer 500 x\n";

	for (size_t enough = 1; enough < 40; enough++) {
		auto_buf struct buf out = BUF_MAX(256);
		struct recording r;
		struct play p;
		struct err err = { 0 };
		int64_t waited_ms;

		CHECK_OK(recording_parse(str_from(text), &r, &err));
		CHECK_INT(r.answers, 2);
		CHECK_OK(recording_answer(&r, ROUTE_CHAT, 0, &p, &err));
		CHECK(p.status == 200 && p.content == CONTENT_SSE && p.retry_after_ms == 3000);
		play_all(&p, enough, &out, &waited_ms);
		CHECK_STR(buf_str(&out), STR("data: a\n\ndata: |b\ntail"));
		CHECK_INT(waited_ms, 12);
		buf_clear(&out);
		CHECK_OK(recording_answer(&r, ROUTE_CHAT, 1, &p, &err));
		play_all(&p, enough, &out, &waited_ms);
		CHECK(p.status == 500 && out.n == 0);
		CHECK_INT(recording_answer(&r, ROUTE_CHAT, 2, &p, &err), -ERR_NOENT);
		CHECK_OK(recording_answer(&r, ROUTE_MODELS, 9, &p, &err));
		play_all(&p, enough, &out, &waited_ms);
		CHECK_STR(buf_str(&out), STR("[]"));
	}
}
