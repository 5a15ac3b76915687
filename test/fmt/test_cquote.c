/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/cquote.h"
#include "test/lib/test.h"

static const struct { const char *bytes, *shown; } names[] = {
	{ "plain", "plain" }, { "a b", "a b" }, { "", "" }, { "\xC3\xA4", "\xC3\xA4" }, { "a\"b", "a\"b" },
	{ "a\\b", "a\\b" }, { "\"a", "\"\\\"a\"" }, { "a\nb", "\"a\\nb\"" }, { "\t\\", "\"\\t\\\\\"" },
	{ "\xff", "\"\\377\"" }, { "\x1b[0m", "\"\\033[0m\"" }, { "\xE2\x80\xAEx", "\"\\342\\200\\256x\"" },
	{ "\xC2\x9bx", "\"\\302\\233x\"" }, { "\x7f", "\"\\177\"" },
};

TEST(cquote_shows_every_name_as_clean_text_and_reads_it_back)
{
	for (size_t i = 0; i < COUNT(names); i++) {
		auto_arena struct arena *mem = arena_new();
		struct str shown = cquote_dup(mem, str_from(names[i].bytes)), back;
		struct err err = { 0 };

		CHECK_STR(shown, str_from(names[i].shown));
		CHECK_OK(cquote_read(shown, mem, &back, &err));
		CHECK_STR(back, str_from(names[i].bytes));
	}
	for (int c = 1; c < 256; c++) {
		auto_arena struct arena *mem = arena_new();
		char one = (char)c;
		struct str back, shown = cquote_dup(mem, str_of(&one, 1));

		CHECK(utf8_valid(shown));
		CHECK(cquote_read(shown, mem, &back, ERR_DISCARD) == 0);
		CHECK_STR(back, str_of(&one, 1));
	}
}

TEST(cquote_refuses_what_no_name_looks_like)
{
	static const char *const bad[] = { "\"", "\"a", "\"a\" ", "\"\\q\"", "\"\\1\"", "\"\\000\"", "\"\\777\"", "\"\\" };

	for (size_t i = 0; i < COUNT(bad); i++) {
		auto_arena struct arena *mem = arena_new();
		struct str out;
		struct err err = { 0 };

		CHECK_INT(cquote_read(str_from(bad[i]), mem, &out, &err), -ERR_SYNTAX);
		CHECK(err.msg[0]);
	}
}
