/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/discover.h"
#include "test/git/git_lib.h"

#include <string.h>

static bool lists(const struct discovered_inner *in, const char *top, const char *name, struct arena *mem)
{
	for (size_t i = 0; i < in->n; i++)
		if (strcmp(in->dirs[i], str_printf(mem, "%s/%s", top, name).p) == 0)
			return true;
	return false;
}

static void finds(struct fixture *f)
{
	static const char *const there[] = { "sub", "a/b", "gone", "wt", "wt/sub", "wt/a/b", "wt/gone" };
	struct discovered_inner in;
	struct discovered d;
	struct err err = { 0 };

	if (f->jailed)
		return; /* no git of ours runs here */
	shell(f, "git init -q -b main; echo 1 > a.txt; git add a.txt; git commit -qm 1; git clone -q . ../other-$$; "
		 "for s in sub a/b gone; do git -c protocol.file.allow=always submodule add -q \"$PWD/../other-$$\" $s; done 2>/dev/null; "
		 "git commit -qm s; git submodule deinit -q -f gone; git worktree add -q wt -b w 2>/dev/null; "
		 "git worktree add -q ../wt-$$ -b o 2>/dev/null; git init -q nested; rm -rf ../other-$$ ../wt-$$");
	CHECK_OK(discover_repo(f->dir.path, f->mem, &d, &err));
	CHECK_OK(discover_inner(&d, f->mem, &in, &err));
	for (size_t i = 0; i < COUNT(there); i++)
		CHECK(lists(&in, d.top, there[i], f->mem));
	CHECK_INT(in.n, COUNT(there)); /* not the top, nor what lies outside, nor what nobody knows of */
	CHECK(!in.more);
}

/* Entries of the index that are repositories, as git writes them in each of its formats; none was ever cloned. */
static void finds_links(struct fixture *f)
{
	static const struct {
		const char *how;
		bool more;
	} cases[] = {
		{ "git init -q -b main", false },
		{ "git init -q -b main; git config index.version 4", false },
		{ "git init -q -b main --object-format=sha256", false },
		{ "git init -q -b main --object-format=sha256; git config index.version 4", false },
		{ "git init -q -b main; git config core.splitIndex true", true },
	};
	static const char *const there[] = { "dir", "absent", "a/b/deep", "linked", "own", "own/in" };

	if (f->jailed)
		return;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *top = str_printf(f->mem, "%s/%zu", f->dir.path, i).p;
		struct discovered_inner in;
		struct discovered d;
		struct err err = { 0 };

		shell(f, str_printf(f->mem, "mkdir %zu; cd %zu; %s; link() { git -C $1 update-index --add --cacheinfo "
			"160000,$(git rev-parse --verify HEAD),$2; }; for n in 1 12 abc abcdefgh; do echo 1 > $n; done; git add .; "
			"git add -N 12; git commit -qm 1; echo 2 > later; git add -N later; mkdir dir; ln -s / linked; for l in dir absent a/b/deep linked own; do link . $l; done; "
			"git init -q own; (cd own; git update-index --add --cacheinfo 160000,3c1d5d5b1c0d5f1ec3c0b7d3a0d0e2b6a1f5c4d3,in); true",
			i, i, cases[i].how).p);
		CHECK_OK(discover_repo(top, f->mem, &d, &err));
		CHECK_OK(discover_inner(&d, f->mem, &in, &err));
		CHECK(in.more == cases[i].more);
		for (size_t k = 0; k < COUNT(there) && !cases[i].more; k++)
			if (!lists(&in, d.top, there[k], f->mem))
				CHECK_STR(STR("not listed"), str_printf(f->mem, "%s: %s", cases[i].how, there[k]));
		if (!cases[i].more)
			CHECK_INT(in.n, COUNT(there));
	}
}

TEST(discover_knows_what_the_index_calls_a_repository)
{
	each_host(finds_links);
}

TEST(discover_knows_the_work_trees_inside)
{
	each_host(finds);
}
