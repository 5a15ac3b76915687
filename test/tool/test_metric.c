/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/metric.h"
#include "test/lib/test.h"

static const struct {
	const char *pattern, *text;
	bool found;
	double score;
} cases[] = {
	{ "score: ([0-9.]+)", "noise\nscore: 41.5\nscore: 7\n", true, 41.5 },
	{ "([-0-9.e+]+) ms", "took -1.5e+3 ms", true, -1500 },
	{ "(?m)^n=(\\d+)$", "x\nn=3\n", true, 3 },
	{ "score: (\\w+)", "score: nan", false, 0 },
	{ "score: (\\w+)", "score: inf", false, 0 },
	{ "score: (\\w+)", "score: 12x", false, 0 },
	{ "score: (\\d*)", "score: ", false, 0 },
	{ "a(b)?c(\\d)", "ac3", false, 0 }, /* the first group took no part */
	{ "score: (\\d+)", "nothing", false, 0 },
	{ "(\\d+)", "9999999999999999999999999999999999999999999999999999999999999999999999", false, 0 },
	{ "(a+)+b(\\d)", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", false, 0 }, /* and ends soon */
	{ "(\\d)", "\xff 1", false, 0 },
};

TEST(a_metric_is_the_first_group_of_the_first_match_as_a_number)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		double score = 0;
		bool found = metric_score(str_from(cases[i].pattern), str_from(cases[i].text), &score, NULL);

		if (found != cases[i].found || score != cases[i].score)
			fail_msg("\"%s\" in \"%s\": %d %g", cases[i].pattern, cases[i].text, found, score);
	}
}

TEST(a_metric_pattern_is_refused_with_what_is_wrong_about_it)
{
	struct err err = { 0 };

	CHECK_OK(metric_check(STR("score: ([0-9.]+)"), &err));
	CHECK_INT(metric_check(STR("score: ([0-9.+"), &err), -ERR_INVALID);
	CHECK(str_find(str_from(err.msg), STR("workflow.metric.pattern: missing terminating")) < str_from(err.msg).n);
	CHECK_INT(metric_check((struct str){ 0 }, &err), -ERR_INVALID);
	CHECK(str_find(str_from(err.msg), STR("workflow.metric.pattern is not")) < str_from(err.msg).n);
	CHECK_INT(metric_check(STR("score: 1"), &err), -ERR_INVALID);
	CHECK(str_find(str_from(err.msg), STR("has no group")) < str_from(err.msg).n);
}

TEST(a_metric_that_is_all_there_is_is_known)
{
	static const struct {
		const char *text;
		bool full;
	} all[] = {
		{ "passed 12/12 tests", true }, { "passed 12 / 12", true }, { "passed 11/12", false }, { "passed 12", false },
		{ "passed 12/12.5", false },	{ "passed 0/0", false },    { "passed 12/", false },   { "passed 12/x", false },
	};

	for (size_t i = 0; i < COUNT(all); i++) {
		double score;
		bool full = false;

		CHECK(metric_score(STR("passed ([0-9]+)"), str_from(all[i].text), &score, &full));
		CHECK_INT(full, all[i].full);
	}
}

TEST(a_task_says_what_its_number_shall_become)
{
	static const struct {
		const char *task;
		size_t n;
		double first, last;
	} tasks[] = {
		{ "bring it below < 100 ms, then < 50", 2, 100, 50 },
		{ "score >= 0.9.", 1, 0.9, 0.9 },
		{ "x=5 and y <= -2", 2, 5, -2 },
		{ "a -> 3, b => 4 and no number > here", 0, 0, 0 },
		{ "<<<<<< >= = <", 0, 0, 0 },
		{ "", 0, 0, 0 },
		{ "=1=2=3=4=5=6=7=8=9", METRIC_TARGETS, 1, 8 },
	};

	for (size_t i = 0; i < COUNT(tasks); i++) {
		double got[METRIC_TARGETS] = { 0 };
		size_t n = metric_targets(str_from(tasks[i].task), got);

		CHECK_INT(n, tasks[i].n);
		CHECK(n == 0 || (got[0] == tasks[i].first && got[n - 1] == tasks[i].last));
	}
}
