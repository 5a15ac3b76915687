/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "sys/file.h"
#include "sys/term.h"
#include "test/lib/test.h"

#include <fcntl.h>

TEST(term_clean_makes_every_control_visible)
{
	static const struct { const char *why; struct str in; const char *line, *text; } cases[] = {
		{ "plain", { "caf\xC3\xA9 \xE4\xB8\xAD", 9 }, "caf\xC3\xA9 \xE4\xB8\xAD", "caf\xC3\xA9 \xE4\xB8\xAD" },
		{ "escape", { "\x1b[31mred", 8 }, "\\x1b[31mred", "\\x1b[31mred" },
		{ "title", { "\x1b]0;x\x07", 6 }, "\\x1b]0;x\\x07", "\\x1b]0;x\\x07" },
		{ "C1 as UTF-8", { "\xC2\x9B" "2J", 4 }, "\\x9b2J", "\\x9b2J" },
		{ "C1 as a bare byte", { "\x9B" "2J", 3 }, "\\x9b2J", "\\x9b2J" },
		{ "backspace and delete", { "a\b\x7f", 3 }, "a\\x08\\x7f", "a\\x08\\x7f" },
		{ "carriage return alone", { "a\rb", 3 }, "a\\rb", "a\\rb" },
		{ "CR LF", { "a\r\nb", 4 }, "a\\r\\nb", "a\nb" },
		{ "newline", { "a\nb", 3 }, "a\\nb", "a\nb" },
		{ "tab after a wide character", { "\xE4\xB8\xAD\tb", 5 }, "\xE4\xB8\xAD\\tb", "\xE4\xB8\xAD      b" },
		{ "tab on a second line", { "abc\n\tb", 6 }, "abc\\n\\tb", "abc\n        b" },
		{ "NUL", { "a\0b", 3 }, "a\\x00b", "a\\x00b" },
		{ "right to left", { "\xE2\x80\xAE" "cod\xE2\x81\xA6", 9 }, "\\u202ecod\\u2066", "\\u202ecod\\u2066" },
		{ "invalid UTF-8", { "\xFF\xC3(", 3 }, "\\xff\\xc3(", "\\xff\\xc3(" },
		{ "cut UTF-8", { "a\xE4\xB8", 3 }, NULL, NULL },
		{ "a tag nobody sees", { "\xF3\xA0\x81\x81", 4 }, "\\ue0041", "\\ue0041" },
		{ "a space without width", { "a\xE2\x80\x8B" "b", 5 }, "a\\u200bb", "a\\u200bb" },
		{ "a filler", { "\xE3\x85\xA4", 3 }, "\\u3164", "\\u3164" },
		{ "a hyphen that is not there", { "a\xC2\xAD" "b", 4 }, "a\\xadb", "a\\xadb" },
		{ "joined emoji stay", { "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB", 11 },
			"\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB", "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf line = BUF_MAX(4096), text = BUF_MAX(4096);

		CHECK(term_clean(cases[i].in, TERM_LINE, &line, ERR_DISCARD) == 0);
		CHECK(term_clean(cases[i].in, TERM_TEXT, &text, ERR_DISCARD) == 0);
		if (cases[i].line) {
			CHECK_STR(buf_str(&line), str_from(cases[i].line));
			CHECK_STR(buf_str(&text), str_from(cases[i].text));
		}
		CHECK(utf8_valid(buf_str(&line)));
	}
}

TEST(term_clean_leaves_json_the_values_it_had)
{
	static const struct { const char *why; struct str in; const char *out; bool same; } cases[] = {
		{ "C1, delete, marks", { "{\"a\": \"\xC2\x9B" "2J\x7F\xE2\x80\xAE\xE2\x80\xA8\"}", 20 }, "{\"a\": \"\\u009b2J\\u007f\\u202e\\u2028\"}", true },
		{ "a tag nobody sees", { "[\"\xF3\xA0\x81\x81\"]", 8 }, "[\"\\udb40\\udc41\"]", true },
		{ "an escaped quote stays one", { "[\"\\\"\\\\\xC2\x85\"]", 10 }, "[\"\\\"\\\\\\u0085\"]", true },
		{ "letters stay", { "[\"caf\xC3\xA9\"]", 9 }, "[\"caf\xC3\xA9\"]", true },
		{ "white space", { "[\n\t1,\r2]", 8 }, "[\n 1, 2]", true },
		{ "no JSON", { "\x1b[2J\xFF\x9B", 6 }, "\\u001b[2J\\ufffd\\ufffd", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf out = BUF_MAX(4096);
		auto_json json_t *before = NULL, *after = NULL;
		struct err err = { 0 };

		CHECK_OK(term_clean(cases[i].in, TERM_JSON, &out, &err));
		CHECK_STR(buf_str(&out), str_from(cases[i].out));
		if (!cases[i].same)
			continue;
		CHECK_OK(json_decode(cases[i].in, JSON_EXACT, &before, &err));
		CHECK_OK(json_decode(buf_str(&out), JSON_EXACT, &after, &err));
		CHECK(json_equal(before, after));
	}
}

TEST(term_clean_lets_no_control_through_whatever_two_bytes_come)
{
	for (unsigned a = 0; a < 256; a++)
		for (unsigned b = 0; b < 256; b++) {
			char in[3] = { (char)a, (char)b, 'x' };
			auto_buf struct buf out = BUF_MAX(64);

			CHECK(term_clean(str_of(in, 3), TERM_LINE, &out, ERR_DISCARD) == 0);
			CHECK(utf8_valid(buf_str(&out)));
			for (size_t i = 0; i < out.n;) {
				int32_t c = utf8_next(buf_str(&out), &i);

				CHECK(c >= 0x20 && (c < 0x7F || c > 0x9F));
			}
		}
}

TEST(term_widths_are_those_of_the_table)
{
	static const struct { const char *why, *text; int width; } cases[] = {
		{ "empty", "", 0 },
		{ "latin", "abc", 3 },
		{ "cjk", "\xE4\xB8\xAD\xE6\x96\x87", 4 },
		{ "emoji style", "\xE2\x9D\xA4\xEF\xB8\x8F", 2 },
		{ "text style", "\xE2\x9D\xA4\xEF\xB8\x8E", 1 },
		{ "joined", "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB", 2 },
		{ "flag", "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA", 2 },
		{ "two flags", "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA", 4 },
		{ "skin tone", "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD", 2 },
		{ "combining", "e\xCC\x81", 1 },
		{ "hangul jamo", "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", 2 },
		{ "zero width space", "a\xE2\x80\x8B" "b", 2 },
		{ "control", "a\x01" "b", 2 },
	};
	int w;

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK_INT(term_width(str_from(cases[i].text)), cases[i].width);
	CHECK_INT(term_fit(STR("\xE4\xB8\xAD\xE6\x96\x87"), 3, &w), 3); /* no half character */
	CHECK_INT(w, 2);
	CHECK_INT(term_fit(STR("e\xCC\x81x"), 1, &w), 3); /* the accent stays with its letter */
	CHECK_INT(term_fit(STR("abc"), 10, &w), 3);
}

TEST(term_widths_agree_with_the_shared_table)
{
	const char *shared = getenv("AGENT6_SHARED");
	auto_buf struct buf text = BUF_MAX(1 << 20);
	auto_json json_t *table = NULL;
	const char *name;
	json_t *row;
	struct err err = { 0 };
	autofree char *path = path_join(shared ? shared : "../shared", "cases/open/W10/widths.json");

	if (access(path, R_OK) < 0)
		TEST_SKIP("widths.json is not here (AGENT6_SHARED)");
	CHECK_OK(file_read(AT_FDCWD, path, &text, &err));
	CHECK_OK(json_decode(buf_str(&text), JSON_EXACT, &table, &err));
	json_object_foreach(table, name, row) {
		const json_t *want = json_array_get(row, 1);

		if (json_is_integer(want))
			CHECK_INT(term_width(json_view(json_array_get(row, 0))), json_integer_value(want));
	}
}
