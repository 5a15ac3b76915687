/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/message.h"

#include "test/lib/test.h"

#include <string.h>

TEST(message_knows_what_poses_as_a_trailer)
{
	static const char *const trailers[] = { "Signed-off-by: A <a@b>", "signed-off-by:a", "  Co-authored-by : A <a@b>", "CO-AUTHORED-BY: x",
		"Reviewed-by: x", "Change-Id: I1", "BREAKING-CHANGE: x", "Cc: x", "Fixes: #1", "fixes #1", "Fix maker/thing#1", "Closes https://x/1", "Closes: 1",
		"- Signed-off-by: A", "> * `Signed-off-by: A", "Signed off by A", "Co authored by A", "Link: https://x", "Author: x" };
	static const char *const words[] = { "Signed the form", "fix the parser", "Fixes the parser", "fix: a parser", "Note: this", "Closes all files",
		"", "- a list", "see below", "co-operate", "fix: 3 bugs" };

	int bad = 0;

	for (size_t i = 0; i < COUNT(trailers); i++)
		if (!message_is_trailer(str_from(trailers[i]))) {
			print_message("not taken for one: %s\n", trailers[i]);
			bad++;
		}
	for (size_t i = 0; i < COUNT(words); i++)
		if (message_is_trailer(str_from(words[i]))) {
			print_message("taken for what it is not: %s\n", words[i]);
			bad++;
		}
	CHECK_INT(bad, 0);
}

TEST(message_lets_one_line_of_words_through)
{
	static const struct { const char *why, *in, *want; size_t max; } rows[] = {
		{ "a line", "Add a parser\n", "Add a parser", 72 },
		{ "the first that says something", "\n \n Add a parser \nand more", "Add a parser", 72 },
		{ "not a trailer", "Signed-off-by: A <a@b>\r\nAdd a parser", "Add a parser", 72 },
		{ "nothing but trailers", "Signed-off-by: A\nCo-authored-by: B\n", "", 72 },
		{ "a lone CR ends a line", "x\rSigned-off-by: A", "x", 72 },
		{ "what moves a cursor is shown", "a\033[2Jb\tc\xe2\x80\xae", "a\\x1b[2Jb\\tc\\u202e", 72 },
		{ "no character is cut", "\xc3\xa4\xc3\xa4\xc3\xa4", "\xc3\xa4\xc3\xa4", 5 },
		{ "nothing", "", "", 72 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_buf struct buf b = BUF_MAX(4096);
		struct err err = { 0 };

		CHECK_OK(message_line(str_from(rows[i].in), rows[i].max, &b, &err));
		if (!str_eqz(buf_str(&b), rows[i].want))
			print_message("%s\n", rows[i].why);
		CHECK_STR(buf_str(&b), str_from(rows[i].want));
	}
}

TEST(message_lets_a_text_through_without_what_poses_as_a_trailer)
{
	static const char in[] = "One.\r\n\r\n\r\nTwo is a rather long line that has to be broken somewhere, so that Signed-off-by: Mallory <m@x>\n"
		"Signed-off-by: Mallory <m@x>\n\nCloses #7\n\n\033]0;t\007x\n\n\n";
	auto_buf struct buf b = BUF_MAX(4096), two = BUF_MAX(4096);
	struct err err = { 0 };

	CHECK_OK(message_text(str_from(in), 40, &b, &err));
	CHECK_STR(buf_str(&b), STR("One.\n\nTwo is a rather long line that has to be broken somewhere, so that\n"
		"  Signed-off-by: Mallory <m@x>\n\n\\x1b]0;t\\x07x\n"));
	CHECK_OK(message_text(str_from(in), 3, &two, &err));
	CHECK_STR(buf_str(&two), STR("One.\n\nTwo is a rather long line that has to be broken somewhere, so that\n"));
}

TEST(message_is_bounded_whatever_the_words_are)
{
	auto_buf struct buf in = BUF_MAX(1 << 20), b = BUF_MAX(1 << 20), line = BUF_MAX(1 << 20);
	struct err err = { 0 };

	for (size_t i = 0; i < 100000; i++)
		CHECK_OK(buf_add(&in, str_of(&"\033\n\xff"[i % 3], 1), &err));
	CHECK_OK(message_text(buf_str(&in), 40, &b, &err));
	CHECK(b.n < 16384);
	CHECK_OK(message_line(buf_str(&in), 72, &line, &err));
	CHECK(line.n <= 72);
}

TEST(message_conventional_says_what_kind_of_change_it_is)
{
	static const struct { const char *why, *words, *want; const char *paths[4]; } rows[] = {
		{ "changed", "Handle an empty file.", "fix(git): handle an empty file", { "src/git/a.c", "src/git/b.c" } },
		{ "new", "Add a parser", "feat(pkg): add a parser", { "lib/pkg/+a.c", "lib/pkg/b.c" } },
		{ "below src the directory in the package", "Add a parser", "fix(sub): add a parser", { "src/pkg/sub/a.c", "src/pkg/sub/b.c" } },
		{ "tests", "Test it", "test(e2e): test it", { "test/e2e/+test_a.py", "test/e2e/b.py" } },
		{ "docs", "Say it", "docs: say it", { "docs/a.txt", "README.md" } },
		{ "nothing", "x", "chore: x", { NULL } },
		{ "no scope in common", "x", "fix: x", { "src/git/a.c", "src/sys/b.c" } },
		{ "no scope at the top", "x", "fix: x", { "a.c" } },
		{ "a scope that is no word", "x", "fix: x", { "src/a) b/x.c" } },
		{ "a kind was said already", "feat(x)!: Take it", "fix: take it", { "a.c" } },
		{ "the same one", "fix: take it", "fix: take it", { "a.c" } },
		{ "a name stays", "HTTP works", "fix: HTTP works", { "a.c" } },
		{ "a trailer is no subject", "Signed-off-by: A\n", "fix: changes", { "a.c" } },
		{ "long", "aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa",
			"fix: aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaa", { "a.c" } },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct message_path paths[4];
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf b = BUF_MAX(4096);
		struct err err = { 0 };
		size_t n = 0;

		for (; n < 4 && rows[i].paths[n]; n++) {
			struct str name = str_from(rows[i].paths[n]);
			size_t plus = str_find(name, STR("+"));

			paths[n] = (struct message_path){ name, plus < name.n };
			if (plus < name.n)
				paths[n].name = str_printf(mem, STR_FMT STR_FMT, STR_ARG(str_head(name, plus)), STR_ARG(str_skip(name, plus + 1)));
		}
		CHECK_OK(message_conventional(paths, n, str_from(rows[i].words), &b, &err));
		if (!str_eqz(buf_str(&b), rows[i].want))
			print_message("%s\n", rows[i].why);
		CHECK_STR(buf_str(&b), str_from(rows[i].want));
	}
}
