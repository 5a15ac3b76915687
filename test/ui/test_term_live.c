/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/file.h"
#include "test/lib/test.h"
#include "ui/cli/term_live.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define H ",\"h\":\"0000000000000000000000000000000000000000000000000000000000000000\"}\n"
#define AT(time) "{\"ts\":\"2026-11-29T20:00:" time ".000000Z\",\"seq\":1,\"type\":"

static const char two_legs[] =
	AT("01") "\"run.start\",\"run_id\":\"calm\",\"user_task\":\"old task\",\"mode\":\"run\"" H
	AT("02") "\"run.end\",\"reason\":\"interrupted\",\"iterations\":1" H
	AT("11") "\"record.torn\",\"bytes\":7,\"file\":\"logs.jsonl\"" H
	AT("12") "\"loop.resume.start\",\"run_id\":\"calm\",\"mode\":\"run\",\"iteration\":1,\"messages\":2" H
	AT("13") "\"tool.call\",\"name\":\"grep\",\"args\":{\"pattern\":\"x\"},\"call_id\":\"1\"" H;

static const char asks[] =
	AT("02") "\"approval.prompt\",\"id\":\"approval-1\",\"prompt\":\"Allow run_command: make\",\"standing\":true" H;
static const char questions[] =
	AT("03") "\"question.prompt\",\"id\":\"question-2\",\"questions\":[{\"question\":\"which\",\"options\":[\"red\",\"blue\"]},{\"question\":\"why\",\"options\":[]}]" H;

struct stage {
	struct test_dir dir;
	int record, answers, out, keys[2], over[2];
	struct buf shown;
	enum term_live_end end;
};

static void stage_fini(struct stage *s)
{
	const int fds[] = { s->record, s->answers, s->out, s->keys[0], s->keys[1], s->over[0], s->over[1] };

	for (size_t i = 0; i < COUNT(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	buf_fini(&s->shown);
	test_dir_fini(&s->dir);
}
#define auto_stage CLEANUP(stage_fini)

static struct stage stage_new(const char *journal, const char *typed)
{
	struct stage s = { .dir = test_dir_new(), .shown = BUF_MAX(1 << 20) };
	struct err err = { 0 };

	test_write(&s.dir, "record/logs.jsonl", str_from(journal));
	test_write(&s.dir, "answers/none", STR(""));
	CHECK_OK(dir_open(s.dir.fd, "record", &s.record, &err));
	CHECK_OK(dir_open(s.dir.fd, "answers", &s.answers, &err));
	s.out = openat(s.dir.fd, "out", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(s.out >= 0 && pipe2(s.keys, O_CLOEXEC | O_NONBLOCK) == 0 && pipe2(s.over, O_CLOEXEC) == 0);
	CHECK_OK(file_write_fd(s.keys[1], str_from(typed), &err));
	CHECK(write(s.over[1], "x", 1) == 1); /* the run is over once what is there was read */
	return s;
}

static void play(struct stage *s, const char *since, bool answers)
{
	struct term_live_spec spec = { .run_id = "calm", .record_fd = s->record, .answers_fd = answers ? s->answers : -1,
		.out_fd = s->out, .in_fd = answers ? s->keys[0] : -1, .over_fd = s->over[0], .stop_fd = -1, .signals_fd = -1, .since = since };
	auto_term_live struct term_live *live = NULL;
	struct err err = { 0 };

	CHECK_OK(term_live_open(&spec, &live, &err));
	CHECK_OK(term_live_run(live, &s->end, &err));
	CHECK_OK(file_read(s->dir.fd, "out", &s->shown, &err));
}

TEST(a_resumed_run_shows_this_leg_and_what_a_crash_cost)
{
	auto_stage struct stage s = stage_new(two_legs, "");

	play(&s, "2026-11-29T20:00:10.000000Z", false);
	CHECK_STR(buf_str(&s.shown), STR("-- record: an incomplete last line of logs.jsonl (7 bytes) was cut off; every whole line is "
					 "there\n* resumed: old task\n  calm\n-> grep x\n"));
	CHECK_INT(s.end, LIVE_GONE);
}

TEST(a_watcher_reads_all_legs)
{
	auto_stage struct stage s = stage_new(two_legs, "");

	play(&s, NULL, false);
	CHECK(str_find(buf_str(&s.shown), STR("* old task\n")) < s.shown.n);
	CHECK(str_find(buf_str(&s.shown), STR("* stopped: interrupted\n")) < s.shown.n);
	CHECK(str_find(buf_str(&s.shown), STR("* resumed: old task\n")) < s.shown.n);
}

TEST(an_approval_takes_one_of_four_words_and_asks_again_for_any_other)
{
	static const struct { const char *typed, *answer; bool again; } cases[] = {
		{ "y\n", "yes", false }, { "a\n", "always", false }, { "n\n", "no", false }, { "N\n", "never", false },
		{ " yes \n", "yes", false }, { "what?\n\nN\n", "never", true }, { "Yes please\nn\n", "no", true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_stage struct stage s = stage_new(asks, cases[i].typed);

		play(&s, NULL, true);
		CHECK(file_is(s.answers, "approval-1", str_from(cases[i].answer)));
		CHECK((str_find(buf_str(&s.shown), STR("not understood: y, a, n or N\n")) < s.shown.n) == cases[i].again);
	}
}

TEST(a_question_takes_an_option_by_number_or_any_words)
{
	auto_stage struct stage s = stage_new(questions, "2\nbecause\n");

	play(&s, NULL, true);
	CHECK(file_is(s.answers, "question-2", STR("blue\nbecause\n")));
	CHECK(str_find(buf_str(&s.shown), STR("? which\n  1  red\n  2  blue\n  your answer: ")) < s.shown.n);
}

TEST(who_cannot_answer_still_sees_what_is_asked)
{
	auto_stage struct stage s = stage_new(asks, "y\n"), q = stage_new(questions, "");

	play(&s, NULL, false);
	CHECK(str_find(buf_str(&s.shown), STR("? Allow run_command: make\n")) < s.shown.n);
	CHECK(faccessat(s.answers, "approval-1", F_OK, 0) < 0);
	play(&q, NULL, false);
	CHECK(str_find(buf_str(&q.shown), STR("? the agent asks:\n  which\n")) < q.shown.n);
}
