/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/head.h"
#include "test/git/git_lib.h"

#include <string.h>

static const struct row {
	const char *why, *lines;
	bool told; /* the files tell */
	const char *where; /* from here, in the work tree */
} rows[] = {
	{ "a commit", "true", true, "" },
	{ "no commit yet", "git checkout -q --orphan fresh", true, "" },
	{ "a branch with slashes", "git checkout -qb a/b/c", true, "" },
	{ "packed", "git pack-refs --all", true, "" },
	{ "packed, then moved", "git pack-refs --all; git commit -q --allow-empty -m 2", true, "" },
	{ "packed beside its likes", "git branch main2; git branch x/main; git tag -am t v1; git pack-refs --all", true, "" },
	{ "no commit, beside packed ones", "git pack-refs --all; git checkout -q --orphan mai", true, "" },
	{ "detached", "git checkout -q --detach", true, "" },
	{ "another work tree", "git worktree add -q wt -b other; git -C wt commit -q --allow-empty -m o", true, "wt" },
	{ "another work tree, packed", "git worktree add -q wt -b other; git pack-refs --all", true, "wt" },
	{ "a branch that is another one's name", "git symbolic-ref refs/heads/alias refs/heads/main; git symbolic-ref HEAD refs/heads/alias", false, "" },
	{ "HEAD as a link", "ln -sf refs/heads/main .git/HEAD", false, "" },
	{ "a branch as a link", "mv .git/refs/heads/main .git/kept; ln -s ../../kept .git/refs/heads/main", false, "" },
	{ "refs kept otherwise", "echo 'ref: refs/heads/.invalid' > .git/HEAD", false, "" },
	{ "a path that leads away", "echo 'ref: refs/heads/../../config' > .git/HEAD", false, "" },
	{ "another kind of ref", "git update-ref refs/x/y HEAD; git symbolic-ref HEAD refs/x/y", false, "" },
	{ "nonsense", "echo whatever > .git/HEAD", false, "" },
};

static void plays(struct fixture *f)
{
	const struct row *row = f->row;
	const char *from;
	struct discovered d;
	struct repo_head head = { 0 };
	struct err err = { 0 };
	int r;

	if (f->jailed)
		return; /* no git of ours runs here */
	shell(f, "git init -q -b main; echo 1 > a; git add a; git commit -qm 1");
	shell(f, row->lines);
	from = str_printf(f->mem, "%s/%s", f->dir.path, row->where).p;
	CHECK_OK(discover_repo(from, f->mem, &d, &err));
	r = head_read(&d, f->mem, &head, &err);
	if (r != row->told)
		print_message("%s: %d %s\n", row->why, r, err.msg);
	CHECK_INT(r, row->told);
	if (!row->told)
		return;
	CHECK_STR(head.branch, shell(f, str_printf(f->mem, "git -C %s symbolic-ref -q --short HEAD || true", from).p));
	CHECK_STR(head.sha, shell(f, str_printf(f->mem, "git -C %s rev-parse -q --verify HEAD || true", from).p));
	CHECK(head.unborn == (head.sha.n == 0));
}

TEST(head_says_what_git_says_or_nothing)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct row row = rows[i];

		each_host_for(plays, &row);
	}
}
