/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/shellword.h"
#include "test/lib/test.h"

TEST(shellword_quotes_what_a_shell_would_read_otherwise)
{
	static const struct { const char *why; struct str word; const char *want; } cases[] = {
		{ "plain", { "a/b-c_1.txt", 11 }, "a/b-c_1.txt" },
		{ "a space of another script", { "a\xC2\xA0" "b", 4 }, "'a\xC2\xA0" "b'" },
		{ "nothing is a word too", { "", 0 }, "''" },
		{ "a space", { "a b", 3 }, "'a b'" },
		{ "an operator", { ";", 1 }, "';'" },
		{ "an expansion", { "$HOME", 5 }, "'$HOME'" },
		{ "the quote itself", { "it's", 4 }, "'it'\\''s'" },
		{ "a line's end", { "a\nb", 3 }, "'a\nb'" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf b = BUF_MAX(64);
		struct err err = { 0 };

		CHECK_OK(shellword_add(&b, cases[i].word, &err));
		CHECK_STR(buf_str(&b), str_from(cases[i].want));
	}
}
