/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/diff.h"
#include "test/lib/test.h"

#include <string.h>

static const struct {
	const char *why, *a, *b;
	size_t context;
	const char *want;
} diffs[] = {
	{ "equal", "a\nb\n", "a\nb\n", 3, "" },
	{ "one line", "a\nb\nc\n", "a\nB\nc\n", 1, "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n" },
	{ "from nothing", "", "a\n", 3, "@@ -0,0 +1,1 @@\n+a\n" },
	{ "to nothing", "a\n", "", 3, "@@ -1,1 +0,0 @@\n-a\n" },
	{ "no newline at the end", "a", "a\n", 1, "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n" },
	{ "far changes are two hunks", "a\n1\n2\n3\n4\nb\n", "A\n1\n2\n3\n4\nB\n", 1,
		"@@ -1,2 +1,2 @@\n-a\n+A\n 1\n@@ -5,2 +5,2 @@\n 4\n-b\n+B\n" },
	{ "near changes share one", "a\n1\n2\nb\n", "A\n1\n2\nB\n", 1, "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n-b\n+B\n" },
	{ "insertion in the middle", "a\nb\n", "a\nx\nb\n", 0, "@@ -1,0 +2,1 @@\n+x\n" },
	{ "the shortest script", "a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", 9,
		"@@ -1,7 +1,6 @@\n-a\n-b\n c\n+b\n a\n b\n-b\n a\n+c\n" },
};

TEST(diff_unified_shows_the_change_and_its_context)
{
	for (size_t i = 0; i < COUNT(diffs); i++) {
		auto_buf struct buf out = BUF_MAX(4096);
		struct err err = { 0 };
		size_t hunks;

		CHECK_OK(diff_unified(str_from(diffs[i].a), str_from(diffs[i].b), 1, diffs[i].context, &out, &hunks, &err));
		CHECK_STR(buf_str(&out), str_from(diffs[i].want));
	}
}

/* Rebuilds b from a and the diff: whatever the texts, nothing may be lost or invented. */
static void check_applies(struct str a, struct str b, struct str diff)
{
	auto_buf struct buf got = BUF_MAX(1024 * 1024);
	size_t line = 1;
	bool last_is_old = false;

	while (diff.n > 0) {
		struct str head = str_line(&diff), rest;
		int64_t at;

		if (head.p[0] == '\\') {
			if (!last_is_old)
				buf_shrink(&got, got.n - 1);
			continue;
		}
		if (head.p[0] != '@') {
			last_is_old = head.p[0] == '-';
			if (head.p[0] != '-')
				CHECK(buf_add(&got, str_skip(head, 1), ERR_DISCARD) == 0);
			if (head.p[0] != '+') {
				CHECK(str_line(&a).n > 0);
				line++;
			}
			continue;
		}
		rest = str_skip(head, 4);
		struct str number = str_cut(&rest, ','), count = str_cut(&rest, ' ');
		CHECK(str_to_i64(number, &at, ERR_DISCARD) == 0);
		at += str_eqz(count, "0");
		for (; line < (size_t)at; line++)
			CHECK(buf_add(&got, str_line(&a), ERR_DISCARD) == 0);
	}
	CHECK(buf_add(&got, a, ERR_DISCARD) == 0);
	CHECK_STR(buf_str(&got), b);
}

TEST(diff_unified_can_be_applied_whatever_the_texts)
{
	unsigned seed = 1;

	for (int round = 0; round < 300; round++) {
		auto_buf struct buf a = BUF_MAX(4096), b = BUF_MAX(4096), out = BUF_MAX(64 * 1024);
		struct buf *text[2] = { &a, &b };
		struct err err = { 0 };
		size_t hunks;

		for (int side = 0; side < 2; side++) {
			for (unsigned n = (seed = seed * 1103515245u + 12345u) >> 16 & 15; n > 0; n--)
				CHECK(buf_addf(text[side], ERR_DISCARD, "%u\n", (seed = seed * 1103515245u + 12345u) >> 16 & 3) == 0);
			if (text[side]->n > 0 && (seed >> 20 & 3) == 0)
				buf_shrink(text[side], text[side]->n - 1);
		}
		CHECK_OK(diff_unified(buf_str(&a), buf_str(&b), 1, (size_t)round % 4, &out, &hunks, &err));
		CHECK((hunks == 0) == str_eq(buf_str(&a), buf_str(&b)));
		check_applies(buf_str(&a), buf_str(&b), buf_str(&out));
	}
}

TEST(diff_unified_is_bounded_for_foreign_texts)
{
	auto_buf struct buf a = BUF_MAX(1024 * 1024), b = BUF_MAX(1024 * 1024), out = BUF_MAX(1024 * 1024);
	struct err err = { 0 };
	size_t hunks;

	for (int i = 0; i < 3000; i++)
		CHECK(buf_addf(&a, &err, "a%d\n", i) == 0 && buf_addf(&b, &err, "b%d\n", i) == 0);
	CHECK_OK(diff_unified(buf_str(&a), buf_str(&b), 1, 3, &out, &hunks, &err));
	CHECK_INT(hunks, 1);
	out.max = out.n - 1;
	buf_clear(&out);
	CHECK_INT(diff_unified(buf_str(&a), buf_str(&b), 1, 3, &out, &hunks, &err), -ERR_LIMIT);
}

TEST(diff_ratio_tells_near_from_far_and_never_passes_its_bound)
{
	static const struct {
		const char *a, *b;
		int percent;
	} pairs[] = {
		{ "", "", 100 }, { "abc", "abc", 100 }, { "abc", "xyz", 0 }, { "abcd", "bcde", 75 }, { "", "a", 0 },
		{ "return value;", "return valve;", 92 }, { "    x = 1", "\tx = 1", 66 },
	};

	for (size_t i = 0; i < COUNT(pairs); i++) {
		double r = diff_ratio(str_from(pairs[i].a), str_from(pairs[i].b));

		CHECK_INT(r * 100, pairs[i].percent);
		CHECK(r <= diff_ratio_bound(str_from(pairs[i].a), str_from(pairs[i].b)) + 1e-9);
	}
}
