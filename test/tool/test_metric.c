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
		bool found = metric_score(str_from(cases[i].pattern), str_from(cases[i].text), &score);

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
	CHECK_INT(metric_check(STR("score: 1"), &err), -ERR_INVALID);
	CHECK(str_find(str_from(err.msg), STR("has no group")) < str_from(err.msg).n);
}
