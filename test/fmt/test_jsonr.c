/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/jsonr.h"
#include "test/lib/test.h"

#include <string.h>

/* Reads a whole document of any shape and writes it back: everything that parses, parses through here. */
static int copy_value(struct jsonr *r, struct buf *out)
{
	struct str s = { 0 };
	double num = 0;
	bool yes = false;
	size_t n = 0;
	int m;

	while (r->at < r->text.n && strchr(" \t\r\n", r->text.p[r->at]) && r->text.p[r->at])
		r->at++;
	switch (r->at < r->text.n ? r->text.p[r->at] : 0) {
	case '{':
		TRY(jsonr_object(r));
		TRY(buf_addz(out, "{", ERR_DISCARD));
		while ((m = jsonr_key(r, &s)) > 0) {
			TRY(buf_addf(out, ERR_DISCARD, "%s" STR_FMT "=", n++ ? "," : "", STR_ARG(s)));
			TRY(copy_value(r, out));
		}
		TRY(m);
		return buf_addz(out, "}", ERR_DISCARD);
	case '[':
		TRY(jsonr_array(r));
		TRY(buf_addz(out, "[", ERR_DISCARD));
		while ((m = jsonr_item(r)) > 0) {
			TRY(buf_addz(out, n++ ? "," : "", ERR_DISCARD));
			TRY(copy_value(r, out));
		}
		TRY(m);
		return buf_addz(out, "]", ERR_DISCARD);
	case '"':
		TRY(jsonr_string(r, &s));
		return jsonw_quoted(out, s, ERR_DISCARD);
	case 't':
	case 'f':
		TRY(jsonr_bool(r, &yes));
		return buf_addz(out, yes ? "yes" : "no", ERR_DISCARD);
	default:
		TRY(jsonr_num(r, &num));
		return buf_addf(out, ERR_DISCARD, "%g", num);
	}
}

static int copy(struct str text, struct buf *out, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct jsonr *r = arena_alloc(mem, sizeof(*r));
	int got;

	jsonr_init(r, text, 64, mem, err);
	got = copy_value(r, out);
	return got < 0 ? got : jsonr_end(r);
}

TEST(jsonr_reads_every_shape)
{
	static const struct {
		const char *why, *in, *want;
	} cases[] = {
		{ "empty", " { } ", "{}" },
		{ "nested", "{\"a\":[1,2,{\"b\":true}],\"c\":[]}", "{a=[1,2,{b=yes}],c=[]}" },
		{ "numbers", "[0,-0,-1.5,1e3,2E-1,0.25]", "[0,-0,-1.5,1000,0.2,0.25]" },
		{ "escapes", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\"", "\"\\\"\\\\/\\b\\f\\n\\r\\tA\"" },
		{ "a pair of surrogates is one character", "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"" },
		{ "two and three bytes", "\"\\u00e9\\u20ac\"", "\"\xc3\xa9\xe2\x82\xac\"" },
		{ "raw UTF-8", "\"\xc3\xa9\"", "\"\xc3\xa9\"" },
		{ "white space everywhere", "\t[ 1 ,\r\n2 ] \n", "[1,2]" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf out = BUF_MAX(1024);
		struct err err = { 0 };

		CHECK_OK(copy(str_from(cases[i].in), &out, &err));
		CHECK_STR(buf_str(&out), str_from(cases[i].want));
	}
}

TEST(jsonr_refuses_and_says_where)
{
	static const struct {
		const char *why, *in, *says;
		enum err_code code;
	} cases[] = {
		{ "nothing", "", "1:1: the text ends", ERR_SYNTAX },
		{ "a key twice", "{\"a\":1,\n\"a\":2}", "2:5: \"a\" is there twice", ERR_SYNTAX },
		{ "the same key by escape", "{\"a\":1,\"\\u0061\":2}", "is there twice", ERR_SYNTAX },
		{ "NUL by escape", "\"a\\u0000b\"", "U+0000", ERR_SYNTAX },
		{ "control character", "\"a\tb\"", "control character", ERR_SYNTAX },
		{ "half a pair", "\"\\ud83d\"", "surrogate", ERR_SYNTAX },
		{ "second half first", "\"\\ude00\"", "surrogate", ERR_SYNTAX },
		{ "half a pair and something", "\"\\ud83d\\u0041\"", "surrogate", ERR_SYNTAX },
		{ "bad UTF-8", "\"\xff\"", "UTF-8", ERR_SYNTAX },
		{ "overlong UTF-8", "\"\xc0\xaf\"", "UTF-8", ERR_SYNTAX },
		{ "open string", "\"abc", "not closed", ERR_SYNTAX },
		{ "ends in an escape", "\"abc\\", "not closed", ERR_SYNTAX },
		{ "unknown escape", "\"\\x\"", "unknown escape", ERR_SYNTAX },
		{ "short \\u", "\"\\u12\"", "hexadecimal", ERR_SYNTAX },
		{ "missing comma", "[1 2]", "expected ','", ERR_SYNTAX },
		{ "comma at the end", "[1,]", "something that is not JSON", ERR_SYNTAX },
		{ "comma in front", "[,1]", "something that is not JSON", ERR_SYNTAX },
		{ "missing colon", "{\"a\" 1}", "expected ':'", ERR_SYNTAX },
		{ "key that is a number", "{1:2}", "expected a string, got a number", ERR_INVALID },
		{ "leading zero", "01", "not a number", ERR_SYNTAX },
		{ "lonely minus", "-", "not a number", ERR_SYNTAX },
		{ "point without digits", "1.", "after its point", ERR_SYNTAX },
		{ "exponent without digits", "1e", "after its exponent", ERR_SYNTAX },
		{ "more than a double holds", "1e400", "out of range", ERR_INVALID },
		{ "hexadecimal", "0x10", "something follows", ERR_SYNTAX },
		{ "not a number", "NaN", "something that is not JSON", ERR_SYNTAX },
		{ "half a word", "tru", "true or false", ERR_SYNTAX },
		{ "a second document", "{}{}", "something follows", ERR_SYNTAX },
		{ "a string too long",
			"\"0123456789012345678901234567890123456789012345678901234567890123456789\"",
			"longer than 64 bytes", ERR_LIMIT },
		{ "too deep", "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "deeper than 16", ERR_LIMIT },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf out = BUF_MAX(4096);
		struct err err = { 0 };

		CHECK_INT(copy(str_from(cases[i].in), &out, &err), -(int)cases[i].code);
		if (!strstr(err.msg, cases[i].says))
			CHECK_STR(str_from(err.msg), str_from(cases[i].says));
	}
}

TEST(jsonr_refuses_every_cut_of_a_document)
{
	static const char whole[] = "{\"a\":[1,2.5e1,\"x\\u00e9\"],\"b\":{\"c\":true}}";

	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		auto_buf struct buf out = BUF_MAX(1024);

		CHECK(copy(str_of(whole, n), &out, ERR_DISCARD) < 0);
	}
}

TEST(jsonr_keeps_its_first_failure)
{
	auto_arena struct arena *mem = arena_new();
	struct jsonr *r = arena_alloc(mem, sizeof(*r));
	struct err err = { 0 };
	struct str s = { 0 };
	int64_t v = 7;

	jsonr_init(r, STR("[\"x\",1]"), 64, mem, &err);
	CHECK(jsonr_array(r) == 0 && jsonr_item(r) == 1);
	CHECK_INT(jsonr_int(r, &v), -ERR_INVALID);
	CHECK_INT(jsonr_string(r, &s), -ERR_INVALID);
	CHECK_INT(jsonr_item(r), -ERR_INVALID);
	CHECK_INT(jsonr_end(r), -ERR_INVALID);
	CHECK_INT(v, 7);
	CHECK_STR(str_from(err.msg), STR("1:2: expected a number, got a string"));
}

TEST(jsonr_integers_are_whole_and_in_range)
{
	static const struct {
		const char *in;
		int r;
		int64_t want;
	} cases[] = { { "9223372036854775807", 0, INT64_MAX }, { "-9223372036854775808", 0, INT64_MIN },
		{ "9223372036854775808", -ERR_INVALID, 0 }, { "1.0", -ERR_INVALID, 0 }, { "1e2", -ERR_INVALID, 0 } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		struct jsonr *r = arena_alloc(mem, sizeof(*r));
		int64_t v = 0;

		jsonr_init(r, str_from(cases[i].in), 64, mem, ERR_DISCARD);
		CHECK_INT(jsonr_int(r, &v), cases[i].r);
		CHECK_INT(v, cases[i].want);
	}
}

TEST(jsonw_output_is_always_valid)
{
	static const struct {
		struct str in;
		const char *want;
	} cases[] = {
		{ { "a\0b", 3 }, "\"a\\u0000b\"" },
		{ { "\x1b[0m\x7f", 5 }, "\"\\u001b[0m\\u007f\"" },
		{ { "\xff\xc3", 2 }, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ { "\"\\\n", 3 }, "\"\\\"\\\\\\n\"" },
		{ { "", 0 }, "\"\"" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf out = BUF_MAX(256);
		struct err err = { 0 };

		CHECK_OK(jsonw_quoted(&out, cases[i].in, &err));
		CHECK_STR(buf_str(&out), str_from(cases[i].want));
	}
}
