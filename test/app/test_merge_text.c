/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/merge_text.h"
#include "test/lib/test.h"

static const struct row {
	const char *why, *task;
	const char *steps[5];
	const char *trailer;
	bool merge;
	enum merge_style style;
	const char *want;
	const char *said;
	const char *path; /* that changed */
} rows[] = {
	{ "a short task", "fix the parser", { 0 }, "", false, MERGE_AGENT6, "fix the parser\n\nagent6 run r\n" },
	{ "no task", " \n ", { 0 }, "", false, MERGE_AGENT6, "agent6 run\n\nagent6 run r\n" },
	{ "a sentence and more", "Fix the parser. It drops the last line of a file without a newline.", { 0 }, "", false, MERGE_AGENT6,
		"Fix the parser\n\nFix the parser. It drops the last line of a file without a newline.\n\nagent6 run r\n" },
	{ "a long line", "make every one of the many tables in the documentation of this program have the same number of columns", { 0 }, "",
		false, MERGE_AGENT6, "make every one of the many tables in the documentation of this program\n\n"
		"make every one of the many tables in the documentation of this program\nhave the same number of columns\n\nagent6 run r\n" },
	{ "a long word", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", { 0 }, "", false, MERGE_AGENT6,
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\n"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\nagent6 run r\n" },
	{ "lines", "one\ntwo", { 0 }, "", false, MERGE_AGENT6, "one\n\none\ntwo\n\nagent6 run r\n" },
	{ "steps, once each, without our words", "t", { "agent6 iter 1: Write the test", "agent6 iter 2: edits", "agent6 iter 3: Write the test",
		"agent6 iter 9: verify passed", "checkpoint (iter 9)" }, "", false, MERGE_AGENT6, "t\n\n- Write the test\n\nagent6 run r\n" },
	{ "all of them", "t", { "agent6 iter 1: edits", "agent6 iter 2: edits" }, "", false, MERGE_COMBINE,
		"t\n\n- agent6 iter 1: edits\n- agent6 iter 2: edits\n\nagent6 run r\n" },
	{ "a merge", "t", { "agent6 iter 1: Write the test" }, "", true, MERGE_AGENT6, "Merge: t\n\nagent6 run r\n" },
	{ "a trailer", "t", { 0 }, "Assisted-by: agent6 ({model})", false, MERGE_AGENT6, "t\n\nagent6 run r\n\nAssisted-by: agent6 (m-1)\n" },
	{ "bytes that are no text", "a\xff b", { "agent6 iter 1: \xff" }, "", false, MERGE_AGENT6,
		"a\xef\xbf\xbd b\n\n- \\xff\n\nagent6 run r\n" },
	{ "what a step said poses as a trailer", "t", { "agent6 iter 1: Signed-off-by: M <m@x>", "agent6 iter 2: x\033[2Jy" }, "", false, MERGE_AGENT6,
		"t\n\n- x\\x1b[2Jy\n\nagent6 run r\n" },
	{ "subjects that pose as one, combined", "t", { "Co-authored-by: M <m@x>", "other" }, "", false, MERGE_COMBINE,
		"t\n\n- other\n\nagent6 run r\n" },
	{ "a kind", "Fix the parser. It is broken.", { "agent6 iter 1: Write it" }, "", false, MERGE_CONVENTIONAL,
		"fix(fmt): fix the parser\n\nFix the parser. It is broken.\n\n- Write it\n\nagent6 run r\n", .path = "src/fmt/a.c" },
	{ "a kind is for a squash", "Fix it", { 0 }, "", true, MERGE_CONVENTIONAL, "Merge: Fix it\n\nagent6 run r\n" },
	{ "the model's own", "t", { "agent6 iter 1: Write it" }, "Assisted-by: agent6 ({model})", false, MERGE_MODEL,
		"Parse empty files\n\nParse empty files. They were refused.\n\nTested by hand.\n\nagent6 run r\n\nAssisted-by: agent6 (m-1)\n",
		.said = "\nParse empty files. They were refused.\n\nTested by hand.\nSigned-off-by: M <m@x>\n\nCo-authored-by: M <m@x>\n" },
	{ "a short one", "t", { 0 }, "", false, MERGE_MODEL, "Parse empty files\n\nagent6 run r\n", .said = "Parse empty files." },
	{ "the model said nothing", "t", { "agent6 iter 1: Write it" }, "", false, MERGE_MODEL, "t\n\n- Write it\n\nagent6 run r\n",
		.said = "Signed-off-by: M <m@x>\n" },
	{ "a merge is not told by the model", "t", { 0 }, "", true, MERGE_MODEL, "Merge: t\n\nagent6 run r\n", .said = "x" },
};

TEST(merge_text_says_what_was_wanted_and_what_was_done)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_arena struct arena *mem = arena_new();
		struct repo_commit steps[5] = { 0 };
		struct message_path paths[] = { { str_from(rows[i].path ? rows[i].path : ""), false } };
		struct merge_text t = { .task = str_from(rows[i].task), .trailer = str_from(rows[i].trailer), .model = STR("m-1"), .run_id = "r",
			.steps = steps, .merge = rows[i].merge, .style = rows[i].style,
			.said = str_from(rows[i].said ? rows[i].said : ""), .paths = paths, .npaths = paths[0].name.n > 0 };
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
