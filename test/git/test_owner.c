/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/owner.h"
#include "sys/file.h"
#include "test/git/git_lib.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* DIR is the work tree's place, LINK leads there, UP is the directory above it; '|' ends a value. */
static const struct {
	const char *why, *values;
	bool safe;
} cases[] = {
	{ "nothing", "", false },
	{ "the place", "DIR|", true },
	{ "another one, too", "/nowhere|DIR|/tmp/other|", true },
	{ "a link to it", "LINK|", true },
	{ "with a slash behind it", "DIR/|", true },
	{ "any place", "*|", true },
	{ "what an empty one forgets", "DIR|*||", false },
	{ "and what comes after that", "*||DIR|", true },
	{ "a place above it", "UP|", false },
	{ "all below that", "UP/*|", true },
	{ "all below the root", "/*|", true },
	{ "all below itself", "DIR/*|", false },
	{ "a name that goes on", "DIRx|", false },
	{ "a name that goes on below", "DIRx/*|", false },
	{ "where we are", ".|", true },
	{ "no absolute path", "work|", false },
	{ "a pattern that is none", "UP/w*|", false },
};

static struct str written(struct arena *mem, const char *values, const char *up)
{
	static const struct { const char *word, *path; } words[] = { { "DIR", "/work" }, { "LINK", "/link" }, { "UP", "" } };
	auto_buf struct buf b = BUF_MAX(4096);
	struct err err = { 0 };

	for (struct str rest = str_from(values); rest.n > 0;) {
		size_t i = 0;

		while (i < COUNT(words) && !str_starts(rest, str_from(words[i].word)))
			i++;
		if (i < COUNT(words))
			CHECK_OK(buf_addf(&b, &err, "%s%s", up, words[i].path));
		else
			CHECK_OK(buf_addc(&b, *rest.p == '|' ? '\0' : *rest.p, &err));
		rest = str_skip(rest, i < COUNT(words) ? strlen(words[i].word) : 1);
	}
	return str_dup(mem, buf_str(&b));
}

TEST(owner_trusts_what_the_person_named_as_the_newest_git_does)
{
	auto_arena struct arena *mem = arena_new();
	auto_dir struct test_dir dir = test_dir_new();
	autofree char *up = realpath(dir.path, NULL), *was = getcwd(NULL, 0);
	const char *top = str_printf(mem, "%s/work", up).p;

	CHECK(mkdirat(dir.fd, "work", 0700) == 0 && symlinkat("work", dir.fd, "link") == 0 && chdir(top) == 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		bool safe = owner_is_safe(written(mem, cases[i].values, up), top);

		if (safe != cases[i].safe)
			print_message("%s\n", cases[i].why);
		CHECK(safe == cases[i].safe);
	}
	CHECK(chdir(was) == 0);
}

/* Shortened, it would be the place: nothing that was cut is believed. */
TEST(owner_takes_a_value_that_is_too_long_for_a_path_for_none)
{
	static const struct {
		const char *why, *end;
		size_t n; /* of the directory that it names */
		bool safe;
	} lengths[] = {
		{ "as long as a path can be", "", PATH_MAX - 1, true },
		{ "longer", "", PATH_MAX, false },
		{ "much longer", "", 4 * PATH_MAX, false },
		{ "all below one as long as a path can be", "/*", PATH_MAX - 1, true },
		{ "longer, and all below", "/*", PATH_MAX, false },
	};
	auto_dir struct test_dir dir = test_dir_new();
	autofree char *up = realpath(dir.path, NULL);

	CHECK(mkdirat(dir.fd, "work", 0700) == 0);
	for (size_t i = 0; i < COUNT(lengths); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf b = BUF_MAX(8 * PATH_MAX);
		bool below = lengths[i].end[0] != '\0';
		const char *top = str_printf(mem, "%s/work", up).p;
		struct err err = { 0 };

		CHECK_OK(buf_addz(&b, below ? up : top, &err));
		while (b.n < lengths[i].n)
			CHECK_OK(buf_addc(&b, '/', &err));
		CHECK_OK(buf_addz(&b, lengths[i].end, &err));
		CHECK_OK(buf_addc(&b, '\0', &err));
		bool safe = owner_is_safe(buf_str(&b), top);

		if (safe != lengths[i].safe)
			print_message("%s\n", lengths[i].why);
		CHECK(safe == lengths[i].safe);
	}
}

static void looks(struct fixture *f)
{
	struct discovered d;
	struct err err = { 0 };
	uid_t whose = 1;

	if (f->jailed)
		return; /* no git of ours runs here */
	repo_with_commit(f);
	CHECK_OK(discover_repo(f->dir.path, f->mem, &d, &err));
	CHECK(!owner_foreign(&d, &whose));
	d.dot_git = "/"; /* as whoever has no rights sees it */
	CHECK((owner_foreign(&d, &whose) == NULL) == (geteuid() == 0));
	CHECK(geteuid() == 0 || whose == 0);
	d.dot_git = "/is/not/there";
	CHECK(owner_foreign(&d, &whose) == d.dot_git);
}

TEST(owner_is_asked_of_everything_that_git_asks)
{
	each_host(looks);
}
