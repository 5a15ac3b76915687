/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/time.h"
#include "sys/file.h"
#include "test/lib/test.h"
#include "ui/cli/term_live.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 300000 /* a view that says nothing fails the test instead of hanging it */

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
	CHECK(str_find(buf_str(&s.shown), STR("? which\n  1  red\n  2  blue\n  a number, or words; your answer: ")) < s.shown.n);
}

TEST(a_number_that_no_option_has_is_no_answer)
{
	auto_stage struct stage s = stage_new(questions, "3\n0\n2\n3\n");

	play(&s, NULL, true);
	CHECK(file_is(s.answers, "question-2", STR("blue\n3\n"))); /* the second one has no options */
	CHECK(str_find(buf_str(&s.shown), STR("no option has that number")) < s.shown.n);
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

/* ---- a question in the place of another ---- */

static const char replaced[] =
	AT("03") "\"approval.answer\",\"id\":\"approval-1\",\"approved\":false,\"source\":\"withdrawn\"" H
	AT("04") "\"approval.prompt\",\"id\":\"approval-2\",\"prompt\":\"Allow run_command: rm x\",\"standing\":true" H;

/* The view in a process of its own, whose clock stands, or goes on by so much at each look. */
struct seen {
	struct stage s;
	pid_t pid;
	int from; /* what it shows */
};

static void view_alone(struct seen *v, int shows, int64_t step_ms)
{
	time_fake_mono(1000);
	time_fake_step(step_ms);
	close(v->s.out);
	v->s.out = shows;
	close(v->from);
	base_close_fd(&v->s.over[1]);
	const struct term_live_spec spec = { .run_id = "calm", .record_fd = v->s.record, .answers_fd = v->s.answers, .out_fd = shows,
		.in_fd = v->s.keys[0], .over_fd = v->s.over[0], .stop_fd = -1, .signals_fd = -1 };
	struct term_live *live = NULL;

	if (term_live_open(&spec, &live, ERR_DISCARD) < 0 || term_live_run(live, &v->s.end, ERR_DISCARD) < 0)
		_exit(1);
	_exit(0);
}

static void seen_start(struct seen *v, int64_t step_ms)
{
	int pair[2];
	char x;

	v->s = stage_new(asks, "");
	CHECK(read(v->s.over[0], &x, 1) == 1); /* it goes on */
	CHECK(pipe2(pair, O_CLOEXEC) == 0);
	v->from = pair[0];
	v->pid = fork();
	if (v->pid == 0)
		view_alone(v, pair[1], step_ms);
	close(pair[1]);
}

/* The next thing of what it shows that these words end. */
static void see(struct seen *v, const char *words)
{
	size_t from = v->s.shown.n;
	char byte;

	while (v->s.shown.n < from + strlen(words) ||
		!str_ends(str_skip(buf_str(&v->s.shown), from), str_from(words))) {
		struct pollfd p = { v->from, POLLIN, 0 };

		CHECK(poll(&p, 1, PATIENCE_MS) == 1 && read(v->from, &byte, 1) == 1);
		CHECK(buf_addc(&v->s.shown, byte, ERR_DISCARD) == 0);
	}
}

static void type(struct seen *v, const char *keys)
{
	CHECK(write(v->s.keys[1], keys, strlen(keys)) == (ssize_t)strlen(keys));
}

static void seen_end(struct seen *v)
{
	int status;

	CHECK(write(v->s.over[1], "x", 1) == 1);
	CHECK(waitpid(v->pid, &status, 0) == v->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(v->from);
	stage_fini(&v->s);
}

static void replace_question(struct seen *v)
{
	autoclose int journal = openat(v->s.record, "logs.jsonl", O_WRONLY | O_APPEND | O_CLOEXEC);

	see(v, "Allow run_command: make");
	see(v, "N never: ");
	CHECK(journal >= 0 && write(journal, replaced, sizeof(replaced) - 1) == (ssize_t)sizeof(replaced) - 1);
	see(v, "Allow run_command: rm x");
	see(v, "N never: ");
}

TEST(a_question_in_the_place_of_another_takes_no_answer_that_was_typed_for_that_one)
{
	struct seen v;

	seen_start(&v, 0);
	replace_question(&v);
	type(&v, "y\n");
	see(&v, "the question before this one was taken back as you typed: this is another one\n");
	see(&v, "Allow run_command: rm x"); /* it is put again, */
	see(&v, "N never: ");
	CHECK(faccessat(v.s.answers, "approval-2", F_OK, 0) < 0);
	type(&v, "yeah\n"); /* and what is typed now is one, however long it took */
	see(&v, "not understood: y, a, n or N\n");
	CHECK(faccessat(v.s.answers, "approval-1", F_OK, 0) < 0 && faccessat(v.s.answers, "approval-2", F_OK, 0) < 0);
	seen_end(&v);
}

TEST(a_question_in_the_place_of_another_takes_an_answer_once_it_could_be_read)
{
	struct seen v;

	seen_start(&v, 2000);
	replace_question(&v);
	type(&v, "yeah\n");
	see(&v, "not understood: y, a, n or N\n");
	CHECK(str_find(buf_str(&v.s.shown), STR("taken back")) == v.s.shown.n);
	seen_end(&v);
}

TEST(a_question_that_is_in_nobodys_place_is_answered_at_once)
{
	struct seen v;

	seen_start(&v, 0);
	see(&v, "N never: ");
	type(&v, "yeah\n");
	see(&v, "not understood: y, a, n or N\n");
	CHECK(str_find(buf_str(&v.s.shown), STR("taken back")) == v.s.shown.n);
	seen_end(&v);
}
