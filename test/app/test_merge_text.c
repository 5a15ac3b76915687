/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/merge_text.h"
#include "test/lib/test.h"

static const struct row {
	const char *why, *task;
	const char *steps[5];
	const char *trailer;
	bool merge, combine;
	const char *want;
} rows[] = {
	{ "a short task", "fix the parser", { 0 }, "", false, false, "fix the parser\n\nagent6 run r\n" },
	{ "no task", " \n ", { 0 }, "", false, false, "agent6 run\n\nagent6 run r\n" },
	{ "a sentence and more", "Fix the parser. It drops the last line of a file without a newline.", { 0 }, "", false, false,
		"Fix the parser\n\nFix the parser. It drops the last line of a file without a newline.\n\nagent6 run r\n" },
	{ "a long line", "make every one of the many tables in the documentation of this program have the same number of columns", { 0 }, "",
		false, false, "make every one of the many tables in the documentation of this program\n\n"
		"make every one of the many tables in the documentation of this program\nhave the same number of columns\n\nagent6 run r\n" },
	{ "a long word", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", { 0 }, "", false, false,
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\n"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\nagent6 run r\n" },
	{ "lines", "one\ntwo", { 0 }, "", false, false, "one\n\none\ntwo\n\nagent6 run r\n" },
	{ "steps, once each, without our words", "t", { "agent6 iter 1: Write the test", "agent6 iter 2: edits", "agent6 iter 3: Write the test",
		"agent6 iter 9: verify passed", "checkpoint (iter 9)" }, "", false, false, "t\n\n- Write the test\n\nagent6 run r\n" },
	{ "all of them", "t", { "agent6 iter 1: edits", "agent6 iter 2: edits" }, "", false, true,
		"t\n\n- agent6 iter 1: edits\n- agent6 iter 2: edits\n\nagent6 run r\n" },
	{ "a merge", "t", { "agent6 iter 1: Write the test" }, "", true, false, "Merge: t\n\nagent6 run r\n" },
	{ "a trailer", "t", { 0 }, "Assisted-by: agent6 ({model})", false, false, "t\n\nagent6 run r\n\nAssisted-by: agent6 (m-1)\n" },
	{ "bytes that are no text", "a\xff b", { "agent6 iter 1: \xff" }, "", false, false,
		"a\xef\xbf\xbd b\n\n- \xef\xbf\xbd\n\nagent6 run r\n" },
};

TEST(merge_text_says_what_was_wanted_and_what_was_done)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_arena struct arena *mem = arena_new();
		struct repo_commit steps[5] = { 0 };
		struct merge_text t = { .task = str_from(rows[i].task), .trailer = str_from(rows[i].trailer), .model = STR("m-1"), .run_id = "r",
			.steps = steps, .merge = rows[i].merge, .combine = rows[i].combine };
		struct err err = { 0 };
		struct str got;

		while (t.nsteps < COUNT(steps) && rows[i].steps[t.nsteps]) {
			steps[t.nsteps].subject = str_from(rows[i].steps[t.nsteps]);
			t.nsteps++;
		}
		CHECK_OK(merge_text(&t, mem, &got, &err));
		CHECK_STR(got, str_from(rows[i].want));
	}
}
