/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/ongoing.h"
#include "test/git/git_lib.h"

#include <string.h>

static const struct row {
	const char *why, *lines, *names; /* names: what the refusal says; NULL: main may move */
} rows[] = {
	{ "nothing is going on", "true", NULL },
	{ "a merge that stopped", "! git merge -q other > /dev/null", "a merge of branch \"main\"" },
	{ "a merge that waits for its commit", "git checkout -q -- .; git merge -q --no-commit --no-ff clean > /dev/null 2>&1", "a merge of" },
	{ "a rebase", "! git rebase -q other > /dev/null 2>&1", "a rebase of branch \"main\"" },
	{ "a rebase of the old kind", "! git rebase -q --apply other > /dev/null 2>&1", "a rebase of" },
	{ "a cherry-pick", "! git cherry-pick other > /dev/null 2>&1", "a cherry-pick of" },
	{ "a revert", "! git revert --no-edit HEAD~ > /dev/null 2>&1", "a revert of" },
	{ "a bisection", "git bisect start > /dev/null; git bisect bad > /dev/null; git checkout -q HEAD~", "a bisection of" },
	{ "a rebase in another worktree", "git checkout -q clean; git worktree add -q wt main; ! git -C wt rebase -q other > /dev/null 2>&1",
		"worktrees/wt/rebase-merge" },
	{ "a rebase of another branch", "git checkout -q other; ! git rebase -q main > /dev/null 2>&1", NULL },
	{ "a merge into another branch", "git checkout -q other; ! git merge -q main > /dev/null", NULL },
};

static void plays(struct fixture *f)
{
	const struct row *row = f->row;
	struct discovered d;
	struct err err = { 0 };
	int r;

	if (f->jailed)
		return; /* no git of ours runs here */
	shell(f, "git init -q -b main; echo 1 > a; git add a; git commit -qm 1; git branch other; git checkout -qb clean; "
		 "echo c > c; git add c; git commit -qm c; git checkout -q other; echo 2 > a; git commit -qam 2; "
		 "git checkout -q main; echo 3 > a; git commit -qam 3; echo 4 > a; git commit -qam 4");
	shell(f, row->lines);
	CHECK_OK(discover_repo(f->dir.path, f->mem, &d, &err));
	r = ongoing_check(&d, STR("main"), f->mem, &err);
	if ((r < 0) != (row->names != NULL))
		print_message("%s: %d %s\n", row->why, r, err.msg);
	CHECK_INT(r, row->names ? -ERR_CONFLICT : 0);
	CHECK(!row->names || strstr(err.msg, row->names));
}

TEST(ongoing_work_on_a_branch_is_seen_wherever_it_goes_on)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct row row = rows[i];

		each_host_for(plays, &row);
	}
}
