/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/jscan.h"
#include "fmt/json.h"
#include "test/lib/test.h"

#include <string.h>

static const struct {
	const char *why, *in, *want; /* NULL: not JSON */
} texts[] = {
	{ "blanks between go", " { \"a\" : [ 1 , 2 ] , \"b\":{} } ", "{\"a\":[1,2],\"b\":{}}" },
	{ "numbers keep their spelling", "[9007199254740993,1.0,1E3,-0]", "[9007199254740993,1.0,1E3,-0]" },
	{ "escapes that are right stay", "\"a\\n\\/\\u00e9\"", "\"a\\n\\/\\u00e9\"" },
	{ "a pair stays", "\"\\ud83e\\udd80\"", "\"\\ud83e\\udd80\"" },
	{ "half a pair does not", "\"a\\ud83e b\"", "\"a\xEF\xBF\xBD b\"" },
	{ "the other half neither", "\"\\udd80\"", "\"\xEF\xBF\xBD\"" },
	{ "the last of equal keys counts", "{\"a\":1,\"b\":2,\"\\u0061\":3}", "{\"b\":2,\"\\u0061\":3}" },
	{ "Python's literals are null", "[NaN,Infinity,-Infinity]", "[null,null,null]" },
	{ "raw controls are escaped", "\"a\nb\tc\"", "\"a\\nb\\tc\"" },
	{ "invalid bytes are replaced", "\"a\xff\"", "\"a\xEF\xBF\xBD\"" },
	{ "a NUL in a string is written, not lost", "\"\\u0000\"", "\"\\u0000\"" },
	{ "equal keys side by side", "{\"a\":1,\"a\":2}", "{\"a\":2}" },
	{ "equal keys further in", "[{\"a\":{\"b\":1,\"c\":0,\"b\":2}}]", "[{\"a\":{\"c\":0,\"b\":2}}]" },
	{ "an invalid byte further in", "[{\"a\":[\"x\xff\"]}]", "[{\"a\":[\"x\xEF\xBF\xBD\"]}]" },
	{ "a raw control further in", "{\"a\":{\"b\":\"x\ny\"}}", "{\"a\":{\"b\":\"x\\ny\"}}" },
	{ "half a pair further in", "[[\"\\ud83e\"]]", "[[\"\xEF\xBF\xBD\"]]" },
	{ "Python's literals further in", "{\"a\":[1,NaN,-Infinity]}", "{\"a\":[1,null,null]}" },
	{ "a blank at the end goes", "{\"a\":[1,{}\n]}", "{\"a\":[1,{}]}" },
	{ "what is right is copied", "{\"a\":[1,{},[],\"\\u00e9\\n\",true],\"\":\"\xc3\xa9\",\"b\":null}",
		"{\"a\":[1,{},[],\"\\u00e9\\n\",true],\"\":\"\xc3\xa9\",\"b\":null}" },
	{ "nothing", "", NULL },
	{ "two values", "1 2", NULL },
	{ "cut string", "\"abc", NULL },
	{ "cut escape", "\"abc\\", NULL },
	{ "cut object", "{\"a\":1", NULL },
	{ "trailing comma", "[1,]", NULL },
	{ "missing value", "{\"a\":}", NULL },
	{ "bare key", "{a:1}", NULL },
	{ "number that is none", "[01]", NULL },
	{ "plus sign", "[+1]", NULL },
	{ "lone minus", "-", NULL },
	{ "dot without digits", "1.", NULL },
	{ "escape that is none", "\"\\d\"", NULL },
	{ "wrong bracket", "[1}", NULL },
};

TEST(jscan_reads_what_servers_send_and_writes_strict_json)
{
	for (size_t i = 0; i < COUNT(texts); i++) {
		auto_buf struct buf got = BUF_MAX(256);
		auto_json json_t *tree = NULL;
		struct jval v = jval_from(str_from(texts[i].in));
		struct err err = { 0 };

		CHECK_INT(v.type == JSCAN_NONE, texts[i].want == NULL);
		if (!texts[i].want)
			continue;
		CHECK_OK(jval_add(&got, v, NUL_KEEP, &err));
		CHECK_STR(buf_str(&got), str_from(texts[i].want));
		CHECK_OK(json_decode(buf_str(&got), JSON_EXACT, &tree, &err)); /* a strict reader agrees */
	}
}

/* A blank behind the first bracket is nothing to a reader, but such a text is not one that can be copied as it stands. */
static void check_copied_as_rewritten(struct str in)
{
	auto_buf struct buf spaced = BUF_MAX(65536), got = BUF_MAX(65536), want = BUF_MAX(65536);
	struct jval v = jval_from(in);
	struct err err = { 0 };

	if (v.type != JSCAN_OBJECT && v.type != JSCAN_ARRAY)
		return;
	CHECK_OK(buf_add(&spaced, str_head(v.text, 1), &err));
	CHECK_OK(buf_addc(&spaced, ' ', &err));
	CHECK_OK(buf_add(&spaced, str_skip(v.text, 1), &err));
	CHECK_OK(jval_add(&want, jval_from(buf_str(&spaced)), NUL_REPLACE, &err));
	CHECK_OK(jval_add(&got, v, NUL_REPLACE, &err));
	CHECK_STR(buf_str(&got), buf_str(&want));
}

TEST(jscan_copies_only_what_rewriting_would_leave_as_it_is)
{
	static const char bytes[] = "\"\\{}[],: ab0123u-Nn\xc3\xa9\xed\xa0\x80\n\t\x01\xff";
	uint64_t seed = 1;
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(texts); i++)
		check_copied_as_rewritten(str_from(texts[i].in));
	for (size_t keys = 1; keys < 40; keys++)
		for (size_t again = 0; again < 2; again++) {
			auto_buf struct buf b = BUF_MAX(4096);

			CHECK_OK(buf_addc(&b, '{', &err));
			for (size_t k = 0; k < keys; k++)
				CHECK_OK(buf_addf(&b, &err, "\"k%zu\":%zu,", again && k + 1 == keys ? 0 : k, k));
			CHECK_OK(buf_addz(&b, "\"z\":[]}", &err));
			check_copied_as_rewritten(buf_str(&b));
		}
	for (size_t depth = 1; depth < 40; depth++) {
		auto_buf struct buf b = BUF_MAX(4096);

		for (size_t k = 0; k < depth; k++)
			CHECK_OK(buf_addz(&b, k % 2 ? "{\"a\":" : "[", &err));
		CHECK_OK(buf_addz(&b, "\"\\ud800\"", &err));
		for (size_t k = depth; k-- > 0;)
			CHECK_OK(buf_addc(&b, k % 2 ? '}' : ']', &err));
		check_copied_as_rewritten(buf_str(&b));
	}
	for (size_t n = 0; n < 200000; n++) {
		char text[] =
			"{\"a\":[1,{\"b\":\"xy\\u00e9z\",\"c\":\"\xc3\xa9\"},[]],\"b\":{\"a\":null,\"b\":true}}";

		for (size_t k = 0; k < 1 + n % 3; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			text[(seed >> 33) % (sizeof(text) - 1)] = bytes[(seed >> 17) % (sizeof(bytes) - 1)];
		}
		check_copied_as_rewritten(str_from(text));
	}
}

TEST(jscan_never_reads_beyond_a_text_cut_anywhere)
{
	for (size_t i = 0; i < COUNT(texts); i++)
		for (size_t n = 0; n < strlen(texts[i].in); n++) {
			autofree char *exact = mem_alloc(n + 1); /* of the size, so that the sanitizer sees */
			auto_buf struct buf got = BUF_MAX(256);
			struct jval v;

			memcpy(exact, texts[i].in, n);
			v = jval_from(str_of(exact, n));
			if (v.type != JSCAN_NONE)
				CHECK(jval_add(&got, v, NUL_KEEP, ERR_DISCARD) == 0);
		}
}

TEST(jscan_stops_at_its_depth)
{
	auto_buf struct buf deep = BUF_MAX(1024);

	for (int i = 0; i < 200; i++)
		CHECK(buf_addc(&deep, '[', ERR_DISCARD) == 0);
	for (int i = 0; i < 200; i++)
		CHECK(buf_addc(&deep, ']', ERR_DISCARD) == 0);
	CHECK_INT(jval_from(buf_str(&deep)).type, JSCAN_ARRAY);
	CHECK(buf_splice(&deep, 0, 0, STR("["), ERR_DISCARD) == 0);
	CHECK(buf_addc(&deep, ']', ERR_DISCARD) == 0);
	CHECK_INT(jval_from(buf_str(&deep)).type, JSCAN_NONE);
}

TEST(jscan_finds_members_by_content_and_the_last_one)
{
	struct jval v = jval_from(STR("{\"a\":1,\"n\":3.0,\"a\":2,\"\\u0062\":\"x\",\"big\":1e300,\"f\":1.5}"));
	int64_t n = 0;
	double d = 0;

	CHECK(jval_to_i64(jval_get(v, "a"), &n) && n == 2);
	CHECK(jval_to_i64(jval_get(v, "n"), &n) && n == 3);
	CHECK(jval_is(jval_get(v, "b"), "x") && !jval_is(jval_get(v, "b"), "y"));
	CHECK_INT(jval_get(v, "c").type, JSCAN_NONE);
	CHECK(!jval_to_i64(jval_get(v, "big"), &n) && !jval_to_i64(jval_get(v, "f"), &n));
	CHECK(jval_to_f64(jval_get(v, "f"), &d) && d == 1.5);
	CHECK_INT(jval_get(jval_get(v, "a"), "b").type, JSCAN_NONE);

	static const char *const keys[] = { "b", "none", "a" };
	struct jval out[3];
	jval_pick(v, keys, 3, out);
	CHECK(jval_is(out[0], "x") && out[1].type == JSCAN_NONE && jval_to_i64(out[2], &n) && n == 2);
	jval_pick(jval_get(v, "n"), keys, 3, out); /* no object */
	CHECK(out[0].type == JSCAN_NONE && out[2].type == JSCAN_NONE);
}

TEST(jscan_text_is_utf8_with_one_mark_for_each_broken_run)
{
	static const struct {
		const char *in, *want;
	} t[] = {
		{ "\"a\xffz\"", "a\xEF\xBF\xBDz" },
		{ "\"\xe2\x82z\"", "\xEF\xBF\xBDz" },              /* two bytes of three: one mark */
		{ "\"\xf0\x9f\xa6z\"", "\xEF\xBF\xBDz" },          /* three of four */
		{ "\"\xc0\xaf\"", "\xEF\xBF\xBD\xEF\xBF\xBD" },    /* an overlong form: each byte */
		{ "\"\xed\xa0\x80\"", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
		{ "\"\\ud83e\\udd80\\u0000\"", "\xf0\x9f\xa6\x80\xEF\xBF\xBD" },
		{ "\"\\b\\f\\n\\r\\t\\\"\\\\\\/\"", "\b\f\n\r\t\"\\/" },
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		auto_buf struct buf got = BUF_MAX(64);

		CHECK(jval_add_text(&got, jval_from(str_from(t[i].in)), NUL_REPLACE, ERR_DISCARD) == 0);
		jtext_repair(&got, 0);
		CHECK_STR(buf_str(&got), str_from(t[i].want));
	}
}

TEST(jscan_halves_from_two_texts_meet)
{
	auto_buf struct buf got = BUF_MAX(64);

	CHECK(jval_add_text(&got, jval_from(STR("\"x\\ud83e\"")), NUL_KEEP, ERR_DISCARD) == 0);
	CHECK_INT(jtext_whole(buf_str(&got)), 1);
	CHECK(jval_add_text(&got, jval_from(STR("\"\\udd80\\ud83e\\ud83e\\udd80 \\udd80\"")), NUL_KEEP, ERR_DISCARD) == 0);
	CHECK_INT(jtext_whole(buf_str(&got)), got.n);
	jtext_repair(&got, 0);
	CHECK_STR(buf_str(&got), STR("x\xf0\x9f\xa6\x80\xEF\xBF\xBD\xf0\x9f\xa6\x80 \xEF\xBF\xBD"));
}
