/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/search_cache.h"

#include "test/lib/test.h"

#include <stdio.h>
#include <string.h>

static void put(struct search_cache *c, uint64_t text, enum search_depth depth, const char *names)
{
	CLEANUP(search_names_fini) struct search_names n = { .whole = true };

	for (struct str rest = str_from(names); rest.n > 0;)
		search_names_add(&n, str_cut(&rest, ' '));
	search_cache_put(c, text, depth, &n);
}

static struct search_cache *reopen(struct search_cache *c, struct buf *b)
{
	struct err err = { 0 };

	*b = BUF_MAX(SEARCH_CACHE_MAX);
	CHECK_OK(search_cache_write(c, b, &err));
	search_cache_free(c);
	return search_cache_open(buf_str(b));
}

TEST(cache_knows_a_text_after_it_was_written_and_read)
{
	auto_buf struct buf bytes = { 0 };
	struct search_cache *c = search_cache_open(STR(""));
	uint64_t seed = search_cache_seed(c), one = search_text_key(seed, STR("d/a.c"), STR("int one;")),
		 two = search_text_key(seed, STR("d/a.c"), STR("int two;"));

	CHECK(!search_cache_changed(c) && one != two);
	CHECK(one == search_text_key(seed, STR("b.c"), STR("int one;")));  /* wherever it lies ... */
	CHECK(one != search_text_key(seed, STR("b.py"), STR("int one;"))); /* ... in the same language */
	CHECK(one != search_text_key(seed + 1, STR("b.c"), STR("int one;")));
	CHECK_INT(search_cache_ask(c, one, DEPTH_PARSER, STR("one")), KNOWN_NOTHING);
	put(c, one, DEPTH_PARSER, "one one first");
	put(c, two, DEPTH_PATTERNS, "");
	CHECK(search_cache_changed(c));
	c = reopen(c, &bytes);
	CHECK(!search_cache_changed(c) && search_cache_seed(c) == seed);
	CHECK_INT(search_cache_ask(c, one, DEPTH_PARSER, STR("one")), KNOWN_MAY_HAVE);
	CHECK_INT(search_cache_ask(c, one, DEPTH_PARSER, STR("first")), KNOWN_MAY_HAVE);
	CHECK_INT(search_cache_ask(c, one, DEPTH_PARSER, STR("two")), KNOWN_LACKS);
	CHECK_INT(search_cache_ask(c, one, DEPTH_PATTERNS, STR("one")), KNOWN_NOTHING);
	CHECK_INT(search_cache_ask(c, two, DEPTH_PATTERNS, STR("one")), KNOWN_LACKS);
	search_cache_free(c);
}

TEST(cache_keys_differ_in_every_byte_and_length)
{
	char text[40] = { 0 };
	uint64_t seen[41 + 40];
	size_t n = 0;

	for (size_t len = 0; len <= sizeof(text); len++)
		seen[n++] = search_text_key(7, STR("a.c"), str_of(text, len));
	for (size_t at = 0; at < sizeof(text); at++) {
		text[at] = 1;
		seen[n++] = search_text_key(7, STR("a.c"), str_of(text, sizeof(text)));
		text[at] = 0;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			CHECK(seen[i] != seen[k]);
}

TEST(cache_takes_any_bytes_and_begins_anew_where_they_are_not_whole)
{
	auto_buf struct buf bytes = { 0 };
	struct search_cache *c = search_cache_open(STR(""));
	uint64_t seed = search_cache_seed(c);

	put(c, 1, DEPTH_PARSER, "one two three");
	put(c, 2, DEPTH_PARSER, "four");
	c = reopen(c, &bytes);
	search_cache_free(c);
	for (size_t cut = 0; cut < bytes.n; cut++) {
		c = search_cache_open(str_head(buf_str(&bytes), cut));
		bool whole = search_cache_seed(c) == seed;

		/* 12 bytes of head, then 10 and two a name */
		CHECK(whole == (cut == 12 || cut == 12 + 16));
		CHECK_INT(search_cache_ask(c, 2, DEPTH_PARSER, STR("four")), KNOWN_NOTHING);
		put(c, 3, DEPTH_PARSER, "five");
		CHECK_INT(search_cache_ask(c, 3, DEPTH_PARSER, STR("five")), KNOWN_MAY_HAVE);
		search_cache_free(c);
	}
	for (size_t i = 0; i < bytes.n; i++) { /* every byte wrong once: whatever it says, it is whole or empty */
		bytes.p[i] ^= (char)0xff;
		c = search_cache_open(buf_str(&bytes));
		put(c, 3, DEPTH_PARSER, "five");
		CHECK_INT(search_cache_ask(c, 3, DEPTH_PARSER, STR("six")), KNOWN_LACKS);
		search_cache_free(c);
		bytes.p[i] ^= (char)0xff;
	}
}

TEST(cache_that_is_full_of_small_texts_takes_new_ones_at_the_next_search)
{
	auto_buf struct buf bytes = { 0 };
	struct search_cache *c = search_cache_open(STR(""));

	for (uint64_t i = 0; i < 70000; i++)
		put(c, i << 8, DEPTH_PARSER, "");
	CHECK_INT(search_cache_ask(c, UINT64_C(69999) << 8, DEPTH_PARSER, STR("x")), KNOWN_NOTHING);
	c = reopen(c, &bytes);
	CHECK_INT(search_cache_ask(c, 0, DEPTH_PARSER, STR("x")), KNOWN_NOTHING);
	CHECK_INT(search_cache_ask(c, UINT64_C(65535) << 8, DEPTH_PARSER, STR("x")), KNOWN_LACKS);
	put(c, UINT64_C(69999) << 8, DEPTH_PARSER, "");
	CHECK(search_cache_changed(c));
	CHECK_INT(search_cache_ask(c, UINT64_C(69999) << 8, DEPTH_PARSER, STR("x")), KNOWN_LACKS);
	search_cache_free(c);
}

TEST(cache_forgets_the_oldest_texts_and_what_has_too_many_names)
{
	auto_buf struct buf bytes = { 0 };
	struct search_cache *c = search_cache_open(STR(""));
	struct search_names many = { .whole = true }, half = { .whole = false };

	for (int i = 0; i < SEARCH_CACHE_NAMES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		search_names_add(&many, str_from(name));
	}
	search_cache_put(c, 1, DEPTH_PARSER, &half);
	CHECK_INT(search_cache_ask(c, 1, DEPTH_PARSER, STR("x")), KNOWN_NOTHING);
	for (uint64_t i = 0; i < 2 * SEARCH_CACHE_MAX / (2 * SEARCH_CACHE_NAMES); i++)
		search_cache_put(c, 1000 + i, DEPTH_PARSER, &many);
	CHECK_INT(search_cache_ask(c, 1000, DEPTH_PARSER, STR("n7")), KNOWN_MAY_HAVE);
	search_names_add(&many, STR("one"));
	search_names_add(&many, STR("more"));
	search_cache_put(c, 2, DEPTH_PARSER, &many);
	CHECK_INT(search_cache_ask(c, 2, DEPTH_PARSER, STR("n7")), KNOWN_NOTHING);
	c = reopen(c, &bytes);
	CHECK(bytes.n <= SEARCH_CACHE_MAX && bytes.n > SEARCH_CACHE_MAX - 4 * SEARCH_CACHE_NAMES);
	CHECK_INT(search_cache_ask(c, 1000, DEPTH_PARSER, STR("n7")), KNOWN_NOTHING);
	CHECK_INT(search_cache_ask(c, 999 + 2 * SEARCH_CACHE_MAX / (2 * SEARCH_CACHE_NAMES), DEPTH_PARSER, STR("n7")), KNOWN_MAY_HAVE);
	search_cache_free(c);
	search_names_fini(&many);
}
