/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/call.h"
#include "agent/panel.h"
#include "net/client.h"
#include "agent/seats.h"
#include "test/lib/test.h"

_Static_assert(CALLS_AT_ONCE == CLIENT_LIVE, "what the agent sends at once the client serves at once");

static const char diff[] =
	"diff --git a/a.c b/a.c\n"
	"index 1..2 100644\n"
	"--- a/a.c\n"
	"+++ b/a.c\n"
	"@@ -10,4 +10,5 @@ int f(void)\n"
	" \tint x = 1;\n"
	"-\treturn x + 1;\n"
	"+\tx = call(x);\n"
	"+\n"
	"+\treturn x - 1;\n"
	" }\n"
	"@@ -90,2 +91,2 @@\n"
	"--- not a header but a removed line\n"
	"+++ nor this\n"
	"diff --git \"a/we\\303\\251ird.c\" \"b/we\\303\\251ird.c\"\n"
	"--- \"a/we\\303\\251ird.c\"\n"
	"+++ \"b/we\\303\\251ird.c\"\n"
	"@@ -1 +1 @@\n"
	"-old line here\n"
	"+new line here\n"
	"diff --git a/new.txt b/new.txt\n"
	"new file mode 100644\n"
	"--- /dev/null\n"
	"+++ b/new.txt\n"
	"@@ -0,0 +1,1 @@\n"
	"+hello world\n";

TEST(a_finding_counts_only_when_its_quote_stands_in_the_diff_of_its_path)
{
	static const struct { const char *why, *path, *quote; int64_t line; } cases[] = {
		{ "an added line", "a.c", "return x - 1;", 13 },
		{ "with its blanks", "a.c", "\t return x - 1; ", 13 },
		{ "as the diff writes it", "a.c", "+\treturn x - 1;", 13 },
		{ "a removed line, in the old file", "a.c", "return x + 1;", 11 },
		{ "context", "a.c", "int x = 1;", 10 },
		{ "several lines, blank ones apart", "a.c", "x = call(x);\nreturn x - 1;", 11 },
		{ "with marks", "b/a.c", "-\treturn x + 1;\n+\tx = call(x);", 11 },
		{ "a line that looks like a header", "a.c", "-- not a header but a removed line", 90 },
		{ "a new file", "new.txt", "hello world", 1 },
		{ "a quoted name", "we\\303\\251ird.c", "new line here", 1 },
		{ "another file's line", "new.txt", "return x - 1;", -1 },
		{ "no such file", "b.c", "return x - 1;", -1 },
		{ "not these lines", "a.c", "return x - 2;", -1 },
		{ "a part of a line", "a.c", "return x", -1 },
		{ "lines that do not follow", "a.c", "int x = 1;\nreturn x - 1;", -1 },
		{ "lines of two hunks", "a.c", "}\n-- not a header but a removed line", -1 },
		{ "past the end", "new.txt", "hello world\nmore", -1 },
		{ "too little to mean anything", "a.c", "}", -1 },
		{ "nothing", "a.c", "", -1 },
		{ "a header is no line of a file", "a.c", "index 1..2 100644", -1 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct finding f = { .path = str_from(cases[i].path), .quote = str_from(cases[i].quote), .category = 0 };

		finding_ground(&f, str_from(diff));
		if (f.grounded != (cases[i].line >= 0) || (f.grounded && f.line != cases[i].line))
			print_error("case: %s\n", cases[i].why);
		CHECK(f.grounded == (cases[i].line >= 0));
		CHECK_INT(f.line, cases[i].line >= 0 ? cases[i].line : 0);
		CHECK_INT(f.severity, f.grounded ? SEVERITY_BLOCK : SEVERITY_WARN);
	}
}

TEST(a_block_of_taste_is_a_warning)
{
	for (int i = 0; finding_categories[i]; i++) {
		struct finding f = { .category = i, .path = STR("new.txt"), .quote = STR("hello world") };

		finding_ground(&f, str_from(diff));
		CHECK(f.grounded);
		CHECK_INT(f.severity, i <= 4 ? SEVERITY_BLOCK : SEVERITY_WARN);
	}
}

TEST(a_panel_decides_by_the_rule_it_was_given)
{
	static const struct { size_t seats, blocks, abstains; bool veto, quorum2, all; } cases[] = {
		{ 1, 0, 0, false, false, false }, { 1, 1, 0, true, false, true },  { 3, 1, 0, true, false, false },
		{ 3, 2, 0, true, true, false },   { 3, 2, 1, true, true, true },   { 3, 1, 2, true, false, false },
		{ 3, 0, 3, false, false, false }, { 4, 2, 2, true, true, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct panel p = { .n = cases[i].seats, .blocks = cases[i].blocks, .abstains = cases[i].abstains };

		CHECK(!panel_blocks(&p, PANEL_ADVISORY, 2));
		CHECK(panel_blocks(&p, PANEL_VETO, 2) == cases[i].veto);
		CHECK(panel_blocks(&p, PANEL_QUORUM, 2) == cases[i].quorum2);
		CHECK(panel_blocks(&p, PANEL_ALL, 2) == cases[i].all);
	}
}

TEST(the_object_of_an_answer_is_found_in_what_stands_around_it)
{
	static const struct { const char *in, *want; } cases[] = {
		{ "{}", "{}" },
		{ "Sure:\n```json\n{\"a\":{\"b\":\"}\"}}\n```\nDone.", "{\"a\":{\"b\":\"}\"}}" },
		{ "{\"a\":\"\\\"}\"} and {\"b\":1}", "{\"a\":\"\\\"}\"}" },
		{ "{\"a\":1", "" },
		{ "none", "" },
		{ "", "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK_STR(seat_object(str_from(cases[i].in)), str_from(cases[i].want));
}
