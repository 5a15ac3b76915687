/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/arena.h"
#include "test/lib/test.h"

#include <errno.h>

TEST(str_join_puts_one_character_between_parts_and_ends_in_nul)
{
	auto_arena struct arena *mem = arena_new();
	const struct str parts[] = { STR("a"), STR(""), STR("bc") };
	struct str s = str_join(mem, parts, COUNT(parts), '.');

	CHECK_STR(s, STR("a..bc"));
	CHECK_INT(s.p[s.n], 0);
	CHECK_STR(str_join(mem, parts, 1, '.'), STR("a"));
	CHECK_STR(str_join(mem, parts, 0, '.'), STR(""));
}

TEST(str_to_i64_takes_whole_numbers_only)
{
	static const struct {
		const char *in;
		int r;
		int64_t v;
	} cases[] = {
		{ "0", 0, 0 },
		{ "-1", 0, -1 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "9223372036854775808", -ERR_LIMIT, 0 },
		{ "", -ERR_SYNTAX, 0 },
		{ "-", -ERR_SYNTAX, 0 },
		{ "12x", -ERR_SYNTAX, 0 },
		{ " 1", -ERR_SYNTAX, 0 },
		{ "+1", -ERR_SYNTAX, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t v = 0;

		CHECK_INT(str_to_i64(str_from(cases[i].in), &v, ERR_DISCARD), cases[i].r);
		CHECK_INT(v, cases[i].v);
	}
}

TEST(buf_refuses_to_pass_its_maximum_and_stays_as_it_was)
{
	auto_buf struct buf b = BUF_MAX(4);
	struct err err = { 0 };

	CHECK_OK(buf_add(&b, STR("abc"), &err));
	CHECK_INT(buf_add(&b, STR("de"), &err), -ERR_LIMIT);
	CHECK_STR(str_from(err.msg), STR("longer than 4 bytes"));
	CHECK_STR(buf_str(&b), STR("abc"));
	CHECK_OK(buf_addf(&b, &err, "%d", 1));
	CHECK_STR(buf_str(&b), STR("abc1"));
}

TEST(buf_addi_writes_what_printf_would)
{
	static const int64_t numbers[] = { 0, 1, -1, 9, 10, -10, 99, 100, 1234567890, INT64_MAX, INT64_MIN, INT64_MIN + 1 };
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(numbers); i++) {
		auto_buf struct buf b = BUF_MAX(32), want = BUF_MAX(32), tight = BUF_MAX(i == 0 ? 0 : 1);

		CHECK_OK(buf_addi(&b, numbers[i], &err));
		CHECK_OK(buf_addf(&want, &err, "%lld", (long long)numbers[i]));
		CHECK_STR(buf_str(&b), buf_str(&want));
		CHECK_INT(buf_addi(&tight, numbers[i], &err), want.n <= tight.max ? 0 : -ERR_LIMIT);
	}
}

TEST(buf_splice_replaces_exactly_the_span)
{
	auto_buf struct buf b = BUF_MAX(64);
	struct err err = { 0 };

	CHECK_OK(buf_add(&b, STR("hello world"), &err));
	CHECK_OK(buf_splice(&b, 6, 5, STR("you all there"), &err));
	CHECK_STR(buf_str(&b), STR("hello you all there"));
	CHECK_OK(buf_splice(&b, 0, 6, STR(""), &err));
	CHECK_STR(buf_str(&b), STR("you all there"));
}

TEST(utf8_cleaning_replaces_what_is_broken_and_keeps_the_rest)
{
	static const struct {
		const char *why, *in, *want;
	} cases[] = {
		{ "plain", "a\xC3\xA9z", "a\xC3\xA9z" },
		{ "a lone byte", "a\xFFz", "a\xEF\xBF\xBDz" },
		{ "an overlong slash", "\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD" },
		{ "a surrogate", "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
		{ "cut at the end", "x\xE2\x82", "x\xEF\xBF\xBD\xEF\xBF\xBD" },
		{ "four bytes", "\xF0\x9F\x9A\x80", "\xF0\x9F\x9A\x80" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf b = BUF_MAX(64);
		struct err err = { 0 };

		CHECK_OK(buf_add_utf8(&b, str_from(cases[i].in), &err));
		CHECK_STR(buf_str(&b), str_from(cases[i].want));
		CHECK(utf8_valid(buf_str(&b)));
	}
}

TEST(clipping_keeps_both_ends_and_tells_what_is_missing)
{
	auto_buf struct buf b = BUF_MAX(256);
	struct err err = { 0 };

	CHECK_OK(buf_add_clipped(&b, STR("abcdefghij"), 3, 2, &err));
	CHECK_STR(buf_str(&b), STR("abc\n[... 5 bytes left out ...]\nij"));
}

TEST(errors_wrap_from_the_inside_out)
{
	struct err err = { 0 };

	CHECK_INT(err_sys(&err, 2, "open %s", "x"), -ERR_NOENT);
	CHECK_INT(err_wrap(&err, "session %d", 7), -ERR_NOENT);
	CHECK_STR(str_from(err.msg), STR("session 7: open x: No such file or directory"));
	CHECK_STR(str_from(err.hint), STR(""));
	err_sys(&err, EMFILE, "pipe");
	CHECK(strstr(err.msg, "pipe: Too many open files") && strstr(err.hint, "ulimit -n 1024"));
}

TEST(arena_objects_are_zeroed_aligned_and_apart)
{
	auto_arena struct arena *a = arena_new();
	char *big = arena_alloc(a, 100000), *small = arena_alloc(a, 3);

	CHECK(((uintptr_t)big & 15) == 0 && ((uintptr_t)small & 15) == 0);
	CHECK(big[0] == 0 && big[99999] == 0);
	CHECK_STR(str_dup(a, STR("x\0y")), STR("x\0y"));
	CHECK_STR(str_printf(a, "%d-%s", 3, "q"), STR("3-q"));
}
