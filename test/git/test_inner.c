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
	static const char *const there[] = { "sub", "a/b", "gone", "wt" };
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

TEST(discover_knows_the_work_trees_inside)
{
	each_host(finds);
}
