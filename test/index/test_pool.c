/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/pack.h"
#include "index/pool.h"
#include "index/pool_priv.h"
#include "index/tree.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* 65533 of these in a file end libtree-sitter 0.20.7: a count of 16 bits. */
static void put_killer(const struct test_dir *d, const char *name)
{
	auto_buf struct buf b = BUF_MAX(70000);
	struct err err = { 0 };

	CHECK_OK(buf_addz(&b, "x=", &err));
	for (int i = 0; i < 65533; i++)
		CHECK_OK(buf_addc(&b, '(', &err));
	test_write(d, name, buf_str(&b));
}

/* Every bracket costs the parser hundreds of bytes: more of them than its memory holds, or its time. */
static void put_slow(const struct test_dir *d, const char *name)
{
	size_t n = 1900000;
	autofree char *text = mem_alloc(2 * n);

	memset(text, '(', n);
	memset(text + n, ')', n);
	test_write(d, name, str_of(text, 2 * n));
}

static void search_with(const struct test_dir *d, int64_t parse_ms, const struct search_request *rq, struct search_cache *cache, struct buf *out)
{
	autoclose int fd = memfd_create("answer", MFD_CLOEXEC);
	struct pool *pool = NULL;
	struct err err = { 0 };

	CHECK_OK(pool_open(d->fd, search_lanes(), parse_ms, cache ? search_cache_seed(cache) : 0, &pool, &err));
	struct symbol_reader reader = pool_reader(pool);
	reader.cache = cache;
	CHECK_OK(search_run(rq, d->fd, &reader, fd, &err));
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	buf_clear(out);
	CHECK_OK(file_read_fd(fd, out, &err));
	pool_close(pool);
}

static void search_within(const struct test_dir *d, int64_t parse_ms, const struct search_request *rq, struct buf *out)
{
	search_with(d, parse_ms, rq, NULL, out);
}

static void search(const struct test_dir *d, const struct search_request *rq, struct buf *out)
{
	search_within(d, POOL_PARSE_MS, rq, out);
}

static void keep_kind(void *self, const struct symbol *s)
{
	*(const char **)self = s->kind ? s->kind : "a use";
}

TEST(pool_takes_the_kinds_that_there_are_and_no_number_beyond_them)
{
	static const struct search_request rq = { .what = SEARCH_OUTLINE };
	bool known = true;

	for (int kind = 0; kind <= UINT8_MAX; kind++) {
		auto_buf struct buf b = BUF_MAX(64);
		const char *got = NULL;
		struct err err = { 0 };

		pack_u8(&b, (uint8_t)kind);
		for (int i = 0; i < 3; i++)
			pack_u32(&b, 1);
		pack_u8(&b, 0);
		pack_str(&b, STR("name"));
		pack_str(&b, STR(""));
		CHECK_OK(pack_ok(&b, &err));
		struct unpack u = unpack_from(buf_str(&b));
		int r = pool_tell(&u, &rq, keep_kind, &got, &err);

		known = known && symbol_kinds[kind];
		CHECK_INT(r, known || kind == UINT8_MAX ? 0 : -ERR_PROTOCOL);
		if (r == 0)
			CHECK_STR(str_from(got), str_from(known ? symbol_kinds[kind] : "a use"));
		else
			CHECK(!got);
	}
}

TEST(pool_loses_one_file_and_no_other_when_the_parser_dies_or_takes_too_long)
{
	static const struct search_request rq = { .what = SEARCH_DEFINITIONS, .symbol = { "x", 1 }, .pattern = { "x", 1 }, .path = { ".", 1 } };
	auto_dir struct test_dir d = test_dir_new();
	auto_buf struct buf out = BUF_MAX(1 << 20);

	if (!tree_knows(STR("a.c")))
		TEST_SKIP("this build has no grammars: tools/fetch-grammars grammars, then configure again");
	/* Killers first, between and last: whatever order the lanes take them in. */
	for (int i = 0; i < 8; i++) {
		char name[32];

		snprintf(name, sizeof(name), "f%d.py", i);
		if (i % 3 == 0)
			put_killer(&d, name);
		else
			test_write(&d, name, STR("def x():\n    pass\n"));
	}
	search(&d, &rq, &out);
	static const char *const kept[] = { "f1.py", "f2.py", "f4.py", "f5.py", "f7.py" };
	for (size_t i = 0; i < COUNT(kept); i++) {
		auto_buf struct buf want = BUF_MAX(128);
		struct err err = { 0 };

		CHECK_OK(buf_addf(&want, &err, "{\"path\":\"%s\",\"line\":1,\"col\":5,\"end\":2,\"text\":\"function x\"}\n", kept[i]));
		CHECK(str_find(buf_str(&out), buf_str(&want)) < out.n);
	}
	CHECK(str_find(buf_str(&out), STR("3 files were too much for the parser and read by patterns: f0.py, ...")) < out.n);
	CHECK(str_find(buf_str(&out), STR("\"source\":\"tree-sitter\"")) < out.n);
}

TEST(pool_gives_a_slow_file_to_the_patterns)
{
	static const struct search_request rq = { .what = SEARCH_OUTLINE, .pattern = { ".", 1 }, .path = { "a.c", 3 } };
	auto_dir struct test_dir d = test_dir_new();
	auto_buf struct buf out = BUF_MAX(1 << 20);

	if (!tree_knows(STR("a.c")))
		TEST_SKIP("this build has no grammars: tools/fetch-grammars grammars, then configure again");
	put_slow(&d, "a.c");
	search_within(&d, 1, &rq, &out); /* 3.8 MB in a millisecond: no machine parses that */
	CHECK(str_find(buf_str(&out), STR("1 file was too much for the parser")) < out.n);
	test_write(&d, "a.c", STR("int f(void)\n{\n\treturn 0;\n}\n"));
	search(&d, &rq, &out);
	CHECK_STR(buf_str(&out), STR("{\"path\":\"a.c\",\"line\":1,\"col\":5,\"end\":4,\"text\":\"function f\"}\n"
				     "{\"done\":true,\"count\":1,\"truncated\":false,\"source\":\"tree-sitter\"}\n"));
}

/* More killers than a lane forgives: the rest is read by patterns, and said. */
TEST(pool_gives_up_after_many_deaths_and_answers_still)
{
	static const struct search_request rq = { .what = SEARCH_DEFINITIONS, .symbol = { "x", 1 }, .pattern = { "x", 1 }, .path = { ".", 1 } };
	auto_dir struct test_dir d = test_dir_new();
	auto_buf struct buf out = BUF_MAX(1 << 20);
	size_t n = (POOL_DEATHS_MAX + 1) * search_lanes();

	if (!tree_knows(STR("a.c")))
		TEST_SKIP("this build has no grammars: tools/fetch-grammars grammars, then configure again");
	for (size_t i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "a%03zu.py", i);
		put_killer(&d, name);
	}
	test_write(&d, "b.py", STR("def x():\n    pass\n"));
	search(&d, &rq, &out);
	CHECK(str_find(buf_str(&out), STR("{\"path\":\"b.py\",\"line\":1,\"col\":5,")) < out.n);
	CHECK(str_find(buf_str(&out), STR("too much for the parser")) < out.n);
}

TEST(pool_lets_ctags_read_what_no_grammar_is_for)
{
	static const struct search_request rq = { .what = SEARCH_OUTLINE, .pattern = { ".", 1 }, .path = { "a.pl", 4 } };
	static const struct search_request all = { .what = SEARCH_DEFINITIONS, .symbol = { "two", 3 }, .pattern = { "two", 3 }, .path = { ".", 1 } };
	auto_dir struct test_dir d = test_dir_new();
	auto_buf struct buf out = BUF_MAX(1 << 20);

	if (access("/usr/bin/ctags", X_OK) < 0)
		TEST_SKIP("Universal Ctags is not installed");
	/* What a repository says of ctags is not read. */
	test_write(&d, ".ctags.d/evil.ctags", STR("--regex-Perl=/(two)/WRONG/f,function/\n"));
	test_write(&d, "a.pl", STR("package P;\nsub one { 1 }\nsub two { 2 }\n"));
	test_write(&d, "b.lua", STR("function two()\nend\n"));
	search(&d, &rq, &out);
	CHECK_STR(buf_str(&out), STR("{\"path\":\"a.pl\",\"line\":1,\"col\":9,\"text\":\"module P\"}\n"
				     "{\"path\":\"a.pl\",\"line\":2,\"col\":5,\"text\":\"function one\"}\n"
				     "{\"path\":\"a.pl\",\"line\":3,\"col\":5,\"text\":\"function two\"}\n"
				     "{\"done\":true,\"count\":3,\"truncated\":false,\"source\":\"ctags\"}\n"));
	search(&d, &all, &out);
	CHECK(str_find(buf_str(&out), STR("\"path\":\"a.pl\",\"line\":3")) < out.n && str_find(buf_str(&out), STR("\"path\":\"b.lua\",\"line\":1")) < out.n);
}

/* With and without one, before and after the files change, the rows are the same. */
TEST(pool_finds_with_a_cache_what_it_finds_without_one_whatever_changed_meanwhile)
{
	static const struct search_request rqs[] = {
		{ .what = SEARCH_DEFINITIONS, .symbol = { "one", 3 }, .pattern = { "one", 3 }, .path = { ".", 1 } },
		{ .what = SEARCH_DEFINITIONS, .symbol = { "low", 3 }, .pattern = { "low", 3 }, .path = { ".", 1 } },
	};
	static const struct {
		const char *why, *file, *text;
	} steps[] = {
		{ "as it begins", "a.py", "def one():\n    return low\n" },
		{ "another file", "b.py", "low = 1\none()\n" },
		{ "the same text under another name", "c.py", "low = 1\none()\n" },
		{ "the same text in another language", "b.c", "low = 1\none()\n" },
		{ "an edit that takes a definition away", "a.py", "one()\nlow()\n" },
		{ "one that moves it", "b.py", "\n\nlow = 1\none()\n" },
		{ "one of the same size", "a.py", "low()\none()\n" },
		{ "one that brings it back", "a.py", "def one():\n    return low\n" },
	};
	auto_dir struct test_dir d = test_dir_new();
	struct search_cache *cache = search_cache_open(STR(""));

	if (!tree_knows(STR("a.c"))) {
		search_cache_free(cache);
		TEST_SKIP("this build has no grammars: tools/fetch-grammars grammars, then configure again");
	}
	for (size_t i = 0; i < COUNT(steps); i++) {
		test_write(&d, steps[i].file, str_from(steps[i].text));
		for (size_t k = 0; k < 2 * COUNT(rqs); k++) { /* each name twice */
			auto_buf struct buf with = BUF_MAX(1 << 20), without = BUF_MAX(1 << 20);

			search_with(&d, POOL_PARSE_MS, &rqs[k / 2], cache, &with);
			search(&d, &rqs[k / 2], &without);
			test_check_str(buf_str(&with), buf_str(&without), steps[i].why, __FILE__, __LINE__);
		}
	}
	CHECK(search_cache_changed(cache));
	search_cache_free(cache);
}

TEST(pool_takes_no_more_names_from_a_reader_than_there_may_be)
{
	for (int n = 0; n <= UINT16_MAX; n += n < 10 ? 1 : 997) {
		auto_buf struct buf b = BUF_MAX(1 << 20);
		CLEANUP(search_names_fini) struct search_names names = { 0 };
		struct err err = { 0 };

		pack_u64(&b, 1);
		pack_u16(&b, (uint16_t)n);
		for (int i = 0; i < n; i++)
			pack_u16(&b, 7);
		CHECK_OK(pack_ok(&b, &err));
		struct unpack u = unpack_from(buf_str(&b)), cut = unpack_from(str_head(buf_str(&b), b.n - 1));

		CHECK_INT(pool_names(&u, &names, &err), n <= SEARCH_CACHE_NAMES ? 0 : -ERR_PROTOCOL);
		if (n > 0)
			CHECK_INT(pool_names(&cut, &names, &err), -ERR_PROTOCOL);
	}
}
