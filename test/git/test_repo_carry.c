/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/git/git_lib.h"

#include <string.h>
#include <unistd.h>

#define BACK "git checkout -q -- . && git clean -qfd"

/* A repository on main; a run that works in its checkout and takes one step; the person in between; the merge.
 * Everything is said in shell, as a person would. */
struct row {
	const char *why;
	const char *before; /* beyond the first commit of a.txt, d/b.txt and keep.txt */
	const char *run;    /* NULL: a.txt changed, d/b.txt removed, n.txt new */
	const char *after;
	const char *status; /* git status --porcelain at the end */
	const char *kept, *staged; /* what the merge names */
	const char *check;  /* must succeed at the end */
	enum repo_outcome outcome;
	int error;
	bool or_conflicts; /* git 2.47 calls a merge driver that cannot run a conflict, 2.39 a failure */
};

static const struct row rows[] = {
	{ .why = "the checkout holds the result" },
	{ .why = "the checkout is as the run found it", .after = BACK,
		.check = "test \"$(cat a.txt n.txt)\" = \"$(printf 'step\\nn')\" && ! test -e d" },
	{ .why = "the person went on from the result", .after = "echo more >> a.txt", .status = " M a.txt", .kept = "a.txt",
		.check = "grep -q more a.txt && git commit -q --allow-empty -m x && git diff --quiet HEAD~ HEAD" },
	{ .why = "the person went on from the old tip", .after = BACK "; echo mine > a.txt", .status = " M a.txt",
		.kept = "a.txt", .check = "grep -q mine a.txt && test \"$(git show :a.txt)\" = step && test -e n.txt" },
	{ .why = "the result is staged", .after = "git add -A" },
	{ .why = "the result is staged, the file is back at the old tip", .after = "git add -A; echo a > a.txt",
		.status = " M a.txt", .kept = "a.txt" },
	{ .why = "something else is staged there", .after = BACK "; echo mine > a.txt; git add a.txt",
		.status = "M  a.txt", .staged = "a.txt", .check = "test \"$(git show :a.txt)\" = mine" },
	{ .why = "something is staged there, and more on disk", .after = "echo mine > a.txt; git add a.txt; echo 2 > a.txt",
		.status = "MM a.txt", .staged = "a.txt" },
	{ .why = "something is staged elsewhere", .after = "echo o > o.txt; git add o.txt; echo k > keep.txt; git add keep.txt",
		.status = "M  keep.txt\nA  o.txt" },
	{ .why = "an untracked file is in the way", .after = "echo mine > n.txt", .status = " M n.txt", .kept = "n.txt",
		.check = "grep -q mine n.txt" },
	{ .why = "an untracked file with the very content", .after = BACK "; echo n > n.txt" },
	{ .why = "untracked files elsewhere", .after = "echo u > u.txt", .status = "?? u.txt" },
	{ .why = "an ignored file is in the way", .after = BACK "; echo n.txt > .git/info/exclude; echo mine > n.txt",
		.status = " M n.txt", .kept = "n.txt", .check = "grep -q mine n.txt" },
	{ .why = "an ignored file is where a directory comes", .run = "mkdir x; echo 1 > x/y",
		.after = BACK "; echo x > .git/info/exclude; echo mine > x", .status = " D x/y", .kept = "x/y",
		.check = "grep -q mine x" },
	{ .why = "a link is where a directory comes", .run = "mkdir x; echo 1 > x/y",
		.after = BACK "; mkdir ../$$; ln -s ../$$ x; rmdir ../$$", .status = " D x/y\n?? x", .kept = "x/y",
		.check = "test -h x" },
	{ .why = "the person deleted a file", .after = "rm a.txt", .status = " D a.txt", .kept = "a.txt",
		.check = "! test -e a.txt" },
	{ .why = "the person deleted it in the index only", .after = "git rm -q --cached a.txt",
		.status = "D  a.txt\n?? a.txt", .staged = "a.txt" },
	{ .why = "the person kept what the run deleted", .after = "git checkout -q -- d; echo x > d/b.txt",
		.status = "?? d/", .kept = "d/b.txt", .check = "grep -q x d/b.txt" },
	{ .why = "the person renamed a file", .after = "git mv keep.txt moved.txt", .status = "R  keep.txt -> moved.txt" },
	{ .why = "the run renamed a file", .run = "mv keep.txt moved.txt", .after = BACK, .check = "test -e moved.txt" },
	{ .why = "a mode, as the result", .run = "chmod +x a.txt" },
	{ .why = "a mode, as before", .run = "chmod +x a.txt", .after = BACK, .check = "test -x a.txt" },
	{ .why = "the person changed the mode", .after = BACK "; chmod +x a.txt", .status = " M a.txt", .kept = "a.txt",
		.check = "test -x a.txt" },
	{ .why = "a link, as the result", .run = "ln -s a.txt l; ln -s /nowhere m" },
	{ .why = "a link does not come by itself", .run = "ln -s a.txt l", .after = BACK, .status = " D l", .kept = "l" },
	{ .why = "a file that became a link", .run = "rm a.txt; ln -s keep.txt a.txt", .after = BACK, .status = " T a.txt",
		.kept = "a.txt" },
	{ .why = "a submodule moved",
		.before = "git init -q s; git -C s commit -q --allow-empty -m 1; git add s 2>&1; git commit -qm s",
		.after = "git -C s commit -q --allow-empty -m 2", .status = " M s" },
	{ .why = "the result is announced with add -N", .after = "git add -N n.txt" },
	{ .why = "another file of that name is announced", .after = "echo mine > n.txt; git add -N n.txt",
		.status = " M n.txt", .kept = "n.txt", .check = "grep -q mine n.txt" },
	{ .why = "another name is announced", .after = "echo q > q.txt; git add -N q.txt", .status = " A q.txt" },
	{ .why = "a sparse checkout", .run = "echo b2 > d/b.txt; echo step > a.txt",
		.after = BACK "; git sparse-checkout set --no-cone /a.txt", .check = "! test -e d && grep -q step a.txt" },
	{ .why = "a sparse checkout and a new file outside it", .after = BACK "; git sparse-checkout set --no-cone /a.txt",
		.check = "! test -e d && grep -q step a.txt" },
	{ .why = "assumed unchanged, and changed", .after = BACK "; git update-index --assume-unchanged a.txt; echo mine > a.txt",
		.status = " M a.txt", .kept = "a.txt", .check = "grep -q mine a.txt" },
	{ .why = "to be skipped, and changed", .after = BACK "; git update-index --skip-worktree a.txt; echo mine > a.txt",
		.kept = "a.txt", .check = "grep -q mine a.txt && test \"$(git show :a.txt)\" = step" },
	{ .why = "autocrlf, the result", .before = "git config core.autocrlf true; rm a.txt; git checkout -q a.txt",
		.run = "printf 'step\\r\\n' > a.txt" },
	{ .why = "autocrlf, as before",
		.before = "git config core.autocrlf true; rm a.txt; git checkout -q a.txt",
		.run = "printf 'step\\r\\n' > a.txt", .after = BACK, .check = "grep -q 'step.$' a.txt" },
	/* What is filtered is in no step: it stays in the work tree as it is. */
	{ .why = "a content filter", .status = " M x.bin",
		.before = "git config filter.up.clean 'tr a-z A-Z'; git config filter.up.smudge 'tr A-Z a-z'; "
			  "echo '*.bin filter=up' > .gitattributes; echo x > x.bin; echo y > y.bin; touch -d 2020-01-01 *.bin; "
			  "git add -A; git commit -qm f",
		.run = "echo changed > x.bin; touch -d 2020-01-02 x.bin; echo step > a.txt",
		.check = "test \"$(git show HEAD:y.bin)\" = Y && test \"$(git show HEAD:x.bin)\" = X && grep -q changed x.bin && grep -q y y.bin" },
	{ .why = "names that are no text", .run = "printf 1 > \"$(printf 'b\\377\\n*')\"; printf 1 > ':(top)'" },
	{ .why = "such names, as before", .run = "printf 1 > \"$(printf 'b\\377\\n*')\"; printf 1 > ':(top)'", .after = BACK },
	{ .why = "a directory became a file", .run = "rm -r d; echo f > d", .after = "rm d; " BACK, .check = "test -f d" },
	{ .why = "a directory became a file, as the result", .run = "rm -r d; echo f > d" },
	{ .why = "a file became a directory", .run = "rm a.txt; mkdir a.txt; echo 1 > a.txt/x",
		.after = "rm -r a.txt; " BACK, .check = "test -f a.txt/x" },
	{ .why = "a directory became a file, but the person works in it", .run = "rm -r d; echo f > d",
		.after = "rm d; " BACK "; echo u > d/u", .status = " D d", .kept = "d", .check = "test -f d/u" },
	{ .why = "the run's branch is gone", .after = "git branch -qD " SIDE },
	{ .why = "another branch is checked out", .after = BACK "; git checkout -qb topic",
		.check = "test \"$(git show main:a.txt)\" = step && grep -q a a.txt" },
	{ .why = "no branch is checked out", .after = BACK "; git checkout -q --detach",
		.check = "test \"$(git show main:a.txt)\" = step && grep -q a a.txt" },
	{ .why = "the same content is there already", .after = "git add -A; git commit -qm same", .outcome = REPO_NOOP },
	{ .why = "the target went on elsewhere", .after = BACK "; echo k > keep.txt; git commit -qam k",
		.check = "grep -q step a.txt && grep -q k keep.txt" },
	{ .why = "a conflict", .after = BACK "; echo else > a.txt; git commit -qam e; echo k > keep.txt",
		.outcome = REPO_CONFLICTS, .kept = "a.txt", .status = " M keep.txt" },
	{ .why = "a merge driver of the repository's own",
		.before = "git config merge.own.driver 'touch .git/ran; true'; echo 'a.txt merge=own' > .gitattributes; git add -A; "
			  "seq 1 20 > a.txt; git commit -qam seq",
		.run = "seq 1 21 > a.txt", .after = BACK "; seq 0 20 > a.txt; git commit -qam e", .error = ERR_REMOTE,
		.or_conflicts = true, .check = "! test -e .git/ran" },
	{ .why = "a stopped merge",
		.after = BACK "; git checkout -qb o; echo 1 > keep.txt; git commit -qam 1; git checkout -q main; echo 2 > keep.txt; "
			 "git commit -qam 2; ! git merge -q o > /dev/null",
		.error = ERR_CONFLICT, .status = "UU keep.txt" },
	{ .why = "checked out elsewhere too", .after = BACK "; git worktree add -q -f .git/wt main", .error = ERR_CONFLICT },
	{ .why = "checked out elsewhere only", .after = BACK "; git checkout -q --detach; git worktree add -q .git/wt main",
		.error = ERR_CONFLICT },
};

struct play {
	const struct row *row;
	size_t bad; /* every row is played to its end */
};

static bool is_name_list(const struct str_list *l, const char *want)
{
	return want ? l->n == 1 && str_eqz(l->p[0], want) : l->n == 0;
}

static bool is_as_told(struct fixture *f, const struct row *row, const struct repo_merged *m)
{
	struct str status = shell(f, "git status --porcelain | sed 's/^/:/'"); /* the first column may be a blank */
	struct str rest = str_from(row->status ? row->status : "");
	auto_buf struct buf want = BUF_MAX(4096);
	struct err err = { 0 };

	while (rest.n > 0) {
		struct str line = str_cut(&rest, '\n');

		CHECK_OK(buf_addf(&want, &err, "%s:" STR_FMT, want.n > 0 ? "\n" : "", STR_ARG(line)));
	}
	if (str_eq(status, buf_str(&want)) && is_name_list(&m->paths, row->kept) && is_name_list(&m->staged, row->staged))
		return true;
	print_message("status\n" STR_FMT "\nnames %zu files and %zu staged ones\n", STR_ARG(status), m->paths.n, m->staged.n);
	return false;
}

static void plays_row(struct fixture *f)
{
	struct play *play = f->row;
	const struct row *row = play->row;
	struct repo_merge ask = { .from = STR(CHAIN), .into = STR("main"), .message = STR("merged\n") };
	struct repo_merged m = { 0 };
	struct repo_step s;
	struct err err = { 0 };
	int r;

	if (!f->jailed)
		return; /* only the cell starts from the person's index */
	shell(f, "git init -q -b main; mkdir d; echo a > a.txt; echo b > d/b.txt; echo keep > keep.txt; git add -A; "
		 "git commit -qm first");
	if (row->before)
		shell(f, row->before);
	fixture_repo(f);
	s = step_from_head(f);
	shell(f, row->run ? row->run : "echo step > a.txt; rm -r d; echo n > n.txt");
	CHECK(step(f, &s).committed);
	if (row->after)
		shell(f, row->after);
	struct str tip = sha_of(f, "main");

	fixture_repo(f); /* as `runs merge` does, later */
	r = repo_merge(f->repo, &ask, f->mem, &m, &err);
	struct row other = *row;
	if (row->or_conflicts && r == 0 && m.outcome == REPO_CONFLICTS) {
		other.error = 0;
		other.outcome = REPO_CONFLICTS;
		other.kept = "a.txt";
		row = &other;
	}
	bool good = r == -row->error && (r < 0 || m.outcome == row->outcome) &&
		str_eq(sha_of(f, "main"), tip) == (r < 0 || row->outcome != REPO_MERGED) && is_as_told(f, row, &m) &&
		(!row->check || git_status_of(f, (const char *[]){ "sh", "-ec", row->check, NULL }) == 0);

	if (!good)
		print_message("%s: %d %s\n", row->why, r, err.msg);
	play->bad += !good;
}

TEST(repo_merge_brings_forward_what_is_the_old_tips_and_nothing_else)
{
	struct play play = { 0 };

	for (size_t i = 0; i < COUNT(rows); i++) {
		play.row = &rows[i];
		each_host_for(plays_row, &play);
	}
	CHECK_INT(play.bad, 0);
}

/* ---- the person is faster ---- */

struct meddler {
	struct fixture *f;
	const struct git_host *host;
	enum git_op at;
	const char *lines; /* once, before that operation */
};

static int meddle(void *self, enum git_op op, const struct str *args, size_t n, struct str in, struct arena *mem,
	struct git_result *out, struct err *err)
{
	struct meddler *m = self;

	if (op == m->at && m->lines) {
		shell(m->f, m->lines);
		m->lines = NULL;
	}
	return m->host->run(m->host->self, op, args, n, in, mem, out, err);
}

static struct race {
	const char *why;
	enum git_op at;
	const char *lines, *status, *error, *check;
	bool moved; /* the branch is where the merge brought it */
} races[] = {
	{ "a commit while we merged", GIT_MOVE_BRANCH, "git commit -q --allow-empty -m mine", "", "move the branch",
		"test \"$(git log -1 --format=%s)\" = mine && grep -q a a.txt", false },
	{ "a file saved just before it would be replaced", GIT_CARRY, "echo mine > a.txt", ": M a.txt\n: D n.txt", NULL,
		"grep -q mine a.txt", true },
	{ "a file staged just before the index moves", GIT_CARRY, "echo mine > a.txt; git add a.txt",
		":M  a.txt\n:D  n.txt", "git reset", "test \"$(git show :a.txt)\" = mine", true },
	{ "another branch checked out under us", GIT_HEAD, "git checkout -q topic", "", NULL,
		"grep -q a a.txt && test -e d/b.txt", true },
	{ "the index is locked before", GIT_REFRESH, "touch .git/index.lock", "", "index.lock", "rm .git/index.lock", false },
	{ "the index is locked after", GIT_CARRY, "touch .git/index.lock", ":M  a.txt\n:A  d/b.txt\n:D  n.txt", "git reset",
		"rm .git/index.lock", true },
};

static void plays_race(struct fixture *f)
{
	const struct race *row = f->row;
	struct repo_merge ask = { .from = STR(CHAIN), .into = STR("main"), .message = STR("merged\n") };
	struct repo_merged m = { 0 };
	struct repo *repo;
	struct repo_step s;
	struct err err = { 0 };
	int r;

	repo_with_commit(f);
	GIT(f, "branch", "topic");
	fixture_repo(f);
	s = step_from_head(f);
	shell(f, "echo step > a.txt; rm -r d; echo n > n.txt");
	CHECK(step(f, &s).committed);
	shell(f, BACK);
	struct str tip = sha_of(f, "main");
	struct meddler meddler = { f, f->host, row->at, row->lines };
	const struct git_host between = { &meddler, meddle };

	CHECK_OK(repo_open(&between, f->dir.fd, STR(RUN_ID), &repo, &err));
	r = repo_merge(repo, &ask, f->mem, &m, &err);
	repo_close(repo);
	CHECK(!meddler.lines);
	if ((r < 0) != (row->error != NULL))
		print_message("%s: %s\n", row->why, err.msg);
	CHECK_INT(r < 0, row->error != NULL);
	if (row->error)
		CHECK(strstr(err.msg, row->error) || strstr(err.hint, row->error));
	if (row->moved)
		CHECK_STR(GIT(f, "show", "main:a.txt"), STR("step"));
	else
		CHECK(str_eq(sha_of(f, "main"), tip) || row->at == GIT_MOVE_BRANCH);
	shell(f, row->check);
	struct str status = shell(f, "git status --porcelain | sed 's/^/:/' | sort");
	auto_buf struct buf want = BUF_MAX(4096);

	CHECK_OK(buf_addz(&want, row->status, &err));
	CHECK_STR(status, shell(f, str_printf(f->mem, "printf '" STR_FMT "' | sort", STR_ARG(buf_str(&want))).p));
}

TEST(repo_merge_yields_to_a_person_who_works_meanwhile)
{
	for (size_t i = 0; i < COUNT(races); i++)
		each_host_for(plays_race, &races[i]);
}
