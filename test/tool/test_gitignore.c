/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/tool/kit.h"

#include "sys/proc.h"
#include "tool/gitignore.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
	const char *rules, *path;
	bool is_dir, hidden;
} rows[] = {
	{ "*.o", "a/b.o", false, true },          { "*.o", "b.oo", false, false },
	{ "/x", "x", false, true },               { "/x", "a/x", false, false },
	{ "build/", "build", true, true },        { "build/", "build", false, false },
	{ "a/*.c", "a/b.c", false, true },        { "a/*.c", "a/d/b.c", false, false },
	{ "a/**/b", "a/b", false, true },         { "a/**/b", "a/x/y/b", false, true },
	{ "**/bar/*", "foo/bar/baz", false, true }, { "**/foo", "foo", false, true },
	{ "a/**", "a/x/y", false, true },         { "a/**", "a", true, false },
	{ "*.log\n!keep.log", "keep.log", false, false }, { "!x\nx", "x", false, true },
	{ "#x", "#x", false, false },             { "\\#x", "#x", false, true },
	{ "\\!x", "!x", false, true },            { "x ", "x", false, true },
	{ "x\\ ", "x ", false, true },            { "x\\", "x\\", false, false },
	{ "[ab]", "a", false, true },             { "[!ab]", "c", false, true },
	{ "[^ab]", "a", false, false },           { "[]-]", "]", false, true },
	{ "[a-c]x", "bx", false, true },          { "[[:digit:]]", "7", false, true },
	{ "[a", "[a", false, false },             { "a?c", "abc", false, true },
	{ "a/?c", "a//c", false, false },         { "foo**/bar", "fooz/y/bar", false, true },
	{ "*", "a/b", false, true },              { "a\r\n", "a", false, true },
	{ "\xEF\xBB\xBF" "a", "a", false, true }, { "a/", "b/a", true, true },
	{ "/", "a", true, false },                { "!", "a", false, false },
};

TEST(gitignore_rules_mean_what_the_manual_says)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_arena struct arena *mem = arena_new();
		struct ignore_level *l = ignore_parse(mem, str_from(rows[i].rules), STR(""), NULL);

		if (ignore_hides(l, str_from(rows[i].path), rows[i].is_dir) != rows[i].hidden) {
			print_error("\"%s\" on %s\n", rows[i].rules, rows[i].path);
			CHECK(false);
		}
	}
}

TEST(glob_match_is_quick_where_backtracking_would_explode)
{
	auto_buf struct buf pattern = BUF_MAX(1000), text = BUF_MAX(10000);

	for (int i = 0; i < 40; i++)
		CHECK(buf_addz(&pattern, "**/*a*a", ERR_DISCARD) == 0 && buf_addz(&text, "aaaaaaaaaaaaaaaa/aaaa/", ERR_DISCARD) == 0);
	CHECK(buf_addz(&pattern, "b", ERR_DISCARD) == 0);
	CHECK(!glob_match(buf_str(&pattern), buf_str(&text), true));
}

/* ------------------------------------------------------------------ git as the oracle */

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

static const char *pick(unsigned *seed, const char *const *list, size_t n)
{
	return list[next_random(seed) % n];
}

static const char *const parts[] = { "a", "b", "ab", "foo", "x.c", "bar", "a.o", "z" };
static const char *const pattern_parts[] = { "a", "b", "ab", "foo", "*", "**", "?", "*.c", "a*", "*b", "f[no]o", "[!a]",
	"fo\\o", "***", "[a-f]*", "b**", "**b", "[[:alpha:]]", "x.?", "*o*" };

static void random_rules(unsigned *seed, struct buf *out)
{
	for (unsigned n = 1 + next_random(seed) % 4; n > 0; n--) {
		unsigned depth = 1 + next_random(seed) % 3;

		CHECK(buf_addz(out, next_random(seed) % 4 == 0 ? "!" : "", ERR_DISCARD) == 0);
		CHECK(buf_addz(out, next_random(seed) % 4 == 0 ? "/" : "", ERR_DISCARD) == 0);
		for (unsigned i = 0; i < depth; i++)
			CHECK(buf_addf(out, ERR_DISCARD, "%s%s", i > 0 ? "/" : "",
				pick(seed, pattern_parts, COUNT(pattern_parts))) == 0);
		CHECK(buf_addz(out, next_random(seed) % 4 == 0 ? "/\n" : "\n", ERR_DISCARD) == 0);
	}
}

/* Hidden because it fits itself, or because a directory above it does. */
static bool ours(struct kit *k, struct str path)
{
	const struct ignore_level *level = NULL;
	struct str dir = STR("");

	for (size_t i = 0;; i++) {
		if (i < path.n && path.p[i] != '/' && i > 0)
			continue;
		if (i > 0) {
			if (ignore_hides(level, str_head(path, i), i < path.n))
				return true;
			if (i == path.n)
				return false;
			dir = str_head(path, i);
		}

		char name[256];
		snprintf(name, sizeof(name), STR_FMT "%s.gitignore", STR_ARG(dir), dir.n > 0 ? "/" : "");
		autoclose int fd = openat(k->ws, name, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		char bytes[4096];
		ssize_t n = read(fd, bytes, sizeof(bytes));
		CHECK(n >= 0);
		level = ignore_parse(k->mem, str_of(bytes, (size_t)n), dir, level);
	}
}

static void git(struct kit *k, const char *const *argv, struct str in, struct buf *out)
{
	auto_buf struct buf errs = BUF_MAX(64 * 1024);
	struct proc_status st;
	struct err err = { 0 };
	const char *const env[] = { "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent", NULL };
	struct proc_spec spec = { .argv = argv, .env = env, .cwd = str_printf(k->mem, "%s/ws", k->dir.path).p };

	CHECK_OK(proc_run(&spec, in, 60000, out, &errs, &st, &err));
	CHECK(st.code == 0 || st.code == 1);
}

TEST(gitignore_agrees_with_git_on_generated_trees)
{
	static const char *const init[] = { "/usr/bin/git", "init", "-q", NULL };
	static const char *const check[] = { "/usr/bin/git", "check-ignore", "--no-index", "--stdin", "-z", NULL };
	size_t hidden = 0, all = 0;

	if (access(init[0], X_OK) < 0)
		TEST_SKIP("no git to compare with");
	for (unsigned tree = 1; tree <= 60; tree++) {
		auto_kit struct kit k;
		auto_buf struct buf in = BUF_MAX(256 * 1024), out = BUF_MAX(256 * 1024);
		unsigned seed = tree;

		kit_init(&k);
		git(&k, init, STR(""), &out);
		for (int i = 0; i < 3; i++) {
			auto_buf struct buf rules = BUF_MAX(4096);
			const char *dir = i == 0 ? "" : pick(&seed, parts, 4);

			random_rules(&seed, &rules);
			struct test_dir d = { .fd = k.ws };
			test_write(&d, str_printf(k.mem, "%s%s.gitignore", dir, *dir ? "/" : "").p, buf_str(&rules));
		}
		for (int i = 0; i < 60; i++) {
			auto_buf struct buf path = BUF_MAX(256);

			for (unsigned n = next_random(&seed) % 4; n > 0; n--)
				CHECK(buf_addf(&path, ERR_DISCARD, "%s/", pick(&seed, parts, 4)) == 0);
			CHECK(buf_addz(&path, pick(&seed, parts + 4, 4), ERR_DISCARD) == 0);
			kit_put(&k, path.p, "x");
			CHECK(buf_add(&in, str_of(path.p, path.n + 1), ERR_DISCARD) == 0);
		}
		buf_clear(&out);
		git(&k, check, buf_str(&in), &out);
		for (struct str rest = buf_str(&in); rest.n > 0; all++) {
			struct str path = str_cut(&rest, '\0');
			bool theirs = false;

			for (struct str list = buf_str(&out); list.n > 0 && !theirs;)
				theirs = str_eq(str_cut(&list, '\0'), path);
			hidden += theirs;
			if (ours(&k, path) != theirs) {
				print_error("tree %u: git says " STR_FMT " is %s\n", tree, STR_ARG(path), theirs ? "ignored" : "not ignored");
				CHECK(false);
			}
		}
	}
	CHECK(hidden > all / 10 && hidden < all * 9 / 10); /* both answers were asked for */
}
