/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "test/lib/test.h"

#include <string.h>

#define FFFD "\xEF\xBF\xBD"

static const struct {
	const char *why;
	struct str in;
	const char *exact, *repaired; /* compact output; NULL: refused */
} texts[] = {
	{ "keys stay in order", STR("{ \"z\": 1, \"a\": [true, null, 2.5] }"), "{\"z\":1,\"a\":[true,null,2.5]}",
		"{\"z\":1,\"a\":[true,null,2.5]}" },
	{ "a bare value is a text", STR(" \"x\" "), "\"x\"", "\"x\"" },
	{ "nothing is not a text", STR(""), NULL, NULL },
	{ "duplicate keys", STR("{\"a\":1,\"a\":2}"), NULL, NULL },
	{ "something after the end", STR("{} {}"), NULL, NULL },
	{ "a NUL escape is a byte like any other", STR("\"a\\u0000b\""), "\"a\\u0000b\"", "\"a\\u0000b\"" },
	{ "a pair of surrogates is one character", STR("\"\\ud83d\\ude00\""), "\"\xF0\x9F\x98\x80\"",
		"\"\xF0\x9F\x98\x80\"" },
	{ "a high surrogate alone", STR("\"a\\ud83d\""), NULL, "\"a" FFFD "\"" },
	{ "a low surrogate alone", STR("\"\\uDE00z\""), NULL, "\"" FFFD "z\"" },
	{ "two high ones, then a pair's end", STR("\"\\ud83d\\ud83d\\ude00\""), NULL,
		"\"" FFFD "\xF0\x9F\x98\x80\"" },
	{ "an escaped backslash hides no escape", STR("[\"\\\\ud83d\",\"\\ud83d\"]"), NULL,
		"[\"\\\\ud83d\",\"" FFFD "\"]" },
	{ "bytes that are not UTF-8", STR("\"a\xff" "b\xc3\""), NULL, "\"a" FFFD "b" FFFD "\"" },
	{ "an encoded surrogate is not UTF-8", STR("\"\xed\xa0\x80\""), NULL, "\"" FFFD FFFD FFFD "\"" },
	{ "broken syntax stays broken", STR("{\"a\":\"\xff\",}"), NULL, NULL },
	{ "a bare tab in a string", STR("\"\t\""), NULL, NULL },
	{ "the largest integer", STR("9223372036854775807"), "9223372036854775807", "9223372036854775807" },
	{ "one more does not fit", STR("9223372036854775808"), NULL, NULL },
	{ "a real stays short and real", STR("[0.1,1.0,1e300,-2.5e-7]"), "[0.1,1.0,1e+300,-2.5e-07]",
		"[0.1,1.0,1e+300,-2.5e-07]" },
	{ "an infinite real", STR("1e400"), NULL, NULL },
};

static void check_text(struct str in, enum json_mode mode, const char *want)
{
	auto_json json_t *j = NULL;
	auto_buf struct buf out = BUF_MAX(1024);
	struct err err = { 0 };
	int r = json_decode(in, mode, &j, &err);

	if (!want) {
		CHECK_INT(r, -ERR_SYNTAX);
		CHECK(j == NULL && err.code == ERR_SYNTAX && err.msg[0] != '\0');
		return;
	}
	CHECK_OK(r);
	CHECK_OK(json_add(&out, j, &err));
	CHECK_STR(buf_str(&out), str_from(want));
}

TEST(json_decodes_exactly_or_repairs_what_providers_get_wrong)
{
	for (size_t i = 0; i < COUNT(texts); i++) {
		check_text(texts[i].in, JSON_EXACT, texts[i].exact);
		check_text(texts[i].in, JSON_REPAIR, texts[i].repaired);
	}
}

TEST(json_errors_tell_line_and_column_on_one_line)
{
	json_t *j = NULL;
	struct err err = { 0 };

	CHECK_INT(json_decode(STR("{\n \"a\": x\n}"), JSON_EXACT, &j, &err), -ERR_SYNTAX);
	CHECK(str_starts(str_from(err.msg), STR("2:7: ")));
	CHECK(strchr(err.msg, '\n') == NULL);
}

static int decode_nested(size_t levels, const char *open, const char *close)
{
	auto_buf struct buf b = BUF_MAX(1 << 20);
	auto_json json_t *j = NULL;

	for (size_t i = 0; i < levels; i++)
		CHECK(buf_addz(&b, open, ERR_DISCARD) == 0);
	CHECK(buf_addz(&b, "1", ERR_DISCARD) == 0);
	for (size_t i = 0; i < levels; i++)
		CHECK(buf_addz(&b, close, ERR_DISCARD) == 0);
	return json_decode(buf_str(&b), JSON_REPAIR, &j, ERR_DISCARD);
}

TEST(json_nests_two_hundred_levels_and_no_more)
{
	auto_json json_t *j = NULL;

	CHECK_INT(decode_nested(200, "[", "]"), 0);
	CHECK_INT(decode_nested(201, "[", "]"), -ERR_LIMIT);
	CHECK_INT(decode_nested(200, "{\"a\":", "}"), 0);
	CHECK_INT(decode_nested(201, "{\"a\":", "}"), -ERR_LIMIT);
	CHECK_INT(decode_nested(60000, "[", "]"), -ERR_LIMIT);
	CHECK_INT(json_decode(STR("\"[[[[\\\"[[\""), JSON_EXACT, &j, ERR_DISCARD), 0); /* brackets in a string are text */
}

TEST(json_refuses_a_text_past_its_limit_before_it_reads)
{
	size_t n = (size_t)64 * 1024 * 1024 + 1;
	autofree char *p = mem_alloc(n);
	json_t *j = NULL;

	CHECK_INT(json_decode(str_of(p, n), JSON_EXACT, &j, ERR_DISCARD), -ERR_LIMIT);
	CHECK_INT(json_decode(str_of(p, n - 1), JSON_EXACT, &j, ERR_DISCARD), -ERR_SYNTAX);
}

TEST(json_reads_members_without_asking_twice)
{
	auto_json json_t *j = NULL;
	struct err err = { 0 };

	CHECK_OK(json_decode(STR("{\"s\":\"a\\u0000b\",\"i\":-7,\"n\":null}"), JSON_EXACT, &j, &err));
	CHECK_STR(json_get_str(j, "s"), STR("a\0b"));
	CHECK_STR(json_get_str(j, "i"), STR(""));
	CHECK_STR(json_get_str(j, "none"), STR(""));
	CHECK_STR(json_get_str(NULL, "s"), STR(""));
	CHECK_INT(json_get_int(j, "i", 3), -7);
	CHECK_INT(json_get_int(j, "s", 3), 3);
	CHECK_INT(json_get_int(j, "none", 3), 3);
}

TEST(json_plain_stops_at_or_before_every_byte_that_needs_care)
{
	char text[24];

	for (unsigned c = 0; c < 256; c++)
		for (size_t at = 0; at < sizeof(text); at++) {
			bool plain = c >= ' ' && c < 0x80 && c != '"' && c != '\\';
			size_t n;

			memset(text, 'a', sizeof(text));
			text[at] = (char)c;
			n = json_plain(str_of(text, sizeof(text)));
			CHECK(plain ? n == sizeof(text) : n == at / 8 * 8);
			CHECK(json_plain(str_of(text, 7)) == 0); /* whole words alone */
		}
}

TEST(json_quotes_any_bytes_so_that_they_read_back)
{
	static const struct {
		struct str in;
		const char *want;
	} rows[] = {
		{ STR("plain"), "\"plain\"" },
		{ STR(""), "\"\"" },
		{ STR("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"" },
		{ STR("\b\t\n\v\f\r"), "\"\\b\\t\\n\\u000b\\f\\r\"" },
		{ STR("\0\x1f\x7f"), "\"\\u0000\\u001f\x7f\"" },
		{ STR("\xc3\xa9\xff\xe2\x82"), "\"\xc3\xa9" FFFD FFFD FFFD "\"" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_buf struct buf b = BUF_MAX(256);
		auto_json json_t *text = json_text(rows[i].in);
		auto_json json_t *back = NULL;
		struct err err = { 0 };

		CHECK_OK(json_add_quoted(&b, rows[i].in, &err));
		CHECK_STR(buf_str(&b), str_from(rows[i].want));
		CHECK_OK(json_decode(buf_str(&b), JSON_EXACT, &back, &err));
		CHECK(json_equal(back, text));
	}
}

TEST(json_members_join_with_commas_and_a_full_buffer_keeps_what_it_had)
{
	auto_buf struct buf b = BUF_MAX(20);
	struct err err = { 0 };

	CHECK_OK(buf_addz(&b, "{", &err));
	CHECK_OK(json_add_member(&b, "a", STR("{"), &err));
	CHECK_OK(json_add_member(&b, "b", STR("2"), &err));
	CHECK_STR(buf_str(&b), STR("{\"a\":\"{\",\"b\":\"2\""));
	CHECK_INT(json_add_member(&b, "c", STR("3"), &err), -ERR_LIMIT);
	CHECK_INT(json_add_quoted(&b, STR("a\nb"), &err), -ERR_LIMIT);
	auto_json json_t *list = json_pack("[sss]", "a", "b", "c");
	CHECK_INT(json_add(&b, list, &err), -ERR_LIMIT);
	CHECK_STR(buf_str(&b), STR("{\"a\":\"{\",\"b\":\"2\""));
}
