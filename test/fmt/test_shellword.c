/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/shellword.h"
#include "test/lib/test.h"

TEST(shellword_quotes_what_a_shell_would_read_otherwise)
{
	static const struct { const char *why; struct str word; const char *want; } cases[] = {
		{ "plain", { "a/b-c_1.txt", 11 }, "a/b-c_1.txt" },
		{ "a space of another script", { "a\xC2\xA0" "b", 4 }, "$'a\\u00a0b'" },
		{ "a blank of Japanese", { "a\xE3\x80\x80", 4 }, "$'a\\u3000'" },
		{ "nothing is a word too", { "", 0 }, "''" },
		{ "a space", { "a b", 3 }, "'a b'" },
		{ "an operator", { ";", 1 }, "';'" },
		{ "an expansion", { "$HOME", 5 }, "'$HOME'" },
		{ "the quote itself", { "it's", 4 }, "'it'\\''s'" },
		{ "a line's end", { "a\nb", 3 }, "$'a\\nb'" },
		{ "what names a line's end", { "a\\nb", 4 }, "'a\\nb'" },
		{ "both, and a quote", { "a\\\n'", 4 }, "$'a\\\\\\n\\''" },
		{ "an escape, and a digit behind it", { "\x1b" "2", 2 }, "$'\\0332'" },
		{ "bytes that are no text", { "\xFF" "a\xC3", 3 }, "$'\\377a\\303'" },
		{ "a C1 control", { "\xC2\x9B", 2 }, "$'\\u009b'" },
		{ "right to left", { "\xE2\x80\xAE" "f", 4 }, "$'\\u202ef'" },
		{ "a space without width", { "rm\xE2\x80\x8B", 5 }, "$'rm\\u200b'" },
		{ "a joiner", { "a\xE2\x80\x8D", 4 }, "$'a\\u200d'" },
		{ "a tag", { "\xF3\xA0\x81\x81", 4 }, "$'\\U000e0041'" },
		{ "letters of others", { "caf\xC3\xA9", 5 }, "'caf\xC3\xA9'" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf b = BUF_MAX(64);
		struct err err = { 0 };

		CHECK_OK(shellword_add(&b, cases[i].word, &err));
		CHECK_STR(buf_str(&b), str_from(cases[i].want));
	}
}

TEST(shellword_shows_every_byte)
{
	for (unsigned a = 0; a < 256; a++)
		for (unsigned c = 0; c < 256; c++) {
			const char in[2] = { (char)a, (char)c };
			auto_buf struct buf shown = BUF_MAX(64);

			CHECK(shellword_add(&shown, str_of(in, 2), ERR_DISCARD) == 0);
			for (size_t i = 0; i < shown.n;)
				CHECK(utf8_sight(utf8_next(buf_str(&shown), &i)) == UTF8_SEEN);
		}
}
