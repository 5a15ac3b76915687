/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/git/git_lib.h"

#include "sys/proc.h"

#include <string.h>
#include <unistd.h>

#define STASH   "refs/agent6-stash/" RUN_ID
#define MESSAGE STR("On main: agent6 auto-stash before run x\n")
/* Looking runs nothing of the repository's: what was run is then not ours to have run. */
#define OURS "git -c core.hooksPath=/dev/null -c filter.up.clean=cat -c filter.up.smudge=cat"
/* All of a checkout that somebody could miss: names, modes, links, bytes, and the index. */
#define ALL                                                                                                  \
	OURS " ls-files -s; find . -path ./.git -prune -o -path ./s/.git -prune -o -type f -printf '%P %m ' -exec sha1sum {} ';' "   \
	"-o -type l -printf '%P -> %l\\n' | sort; " OURS " status --porcelain"

/* What the person changed and how; what happens between; how it comes back. */
struct row {
	const char *why;
	const char *before; /* beyond a.txt, b.txt, d/c.txt, x (executable) and the link l */
	const char *change;
	const char *between;
	const char *refused; /* save: its error holds this */
	bool nothing;        /* there is nothing to set aside */
	bool conflicts;
	const char *check;   /* of the end, where it is not what it was */
};

static const struct row rows[] = {
	{ "a change", NULL, "echo 2 > a.txt" },
	{ "a change that is staged", NULL, "echo 2 > a.txt; git add a.txt" },
	{ "one that is staged, and more on disk", NULL, "echo 2 > a.txt; git add a.txt; echo 3 > a.txt" },
	{ "staged, and back on disk", NULL, "echo 2 > a.txt; git add a.txt; echo a > a.txt" },
	{ "a new file that is staged", NULL, "echo n > n.txt; mkdir e; echo e > e/e.txt; git add n.txt e" },
	{ "a new file that is staged, and gone", NULL, "echo n > n.txt; git add n.txt; rm n.txt" },
	{ "a file is gone", NULL, "rm a.txt d/c.txt" },
	{ "a removal that is staged", NULL, "git rm -q a.txt d/c.txt" },
	{ "removed in the index only", NULL, "git rm -q --cached a.txt; echo 2 > a.txt" },
	{ "removed in the index, and ignored now", NULL, "git rm -q --cached a.txt; echo 2 > a.txt; echo a.txt > .git/info/exclude" },
	{ "a rename", NULL, "git mv a.txt moved.txt; echo 2 >> moved.txt" },
	{ "modes and links", NULL, "chmod -x x; chmod +x a.txt; ln -sf b.txt l; rm b.txt; ln -s /nowhere b.txt" },
	{ "only its inode gives a change away", "touch -d 2001-01-01 a.txt; git update-index -q --refresh",
		"echo 2 > new; touch -d 2001-01-01 new; mv new a.txt" },
	{ "what git noted of a file, its owner among it, is believed as git itself believes it",
		"git config core.trustctime false; touch -d 2001-01-01 a.txt; git update-index -q --refresh", "echo 2 > a.txt; touch -d 2001-01-01 a.txt",
		.nothing = true },
	{ "a link becomes a file", NULL, "rm l; echo l > l" },
	{ "a directory becomes a file", NULL, "rm -r d; echo d > d; git add -A" },
	{ "a file becomes a directory", NULL, "rm a.txt; mkdir a.txt; echo 1 > a.txt/x; git add -A",
		.refused = "a.txt" },
	{ "untracked and ignored files stay", NULL, "echo 2 > a.txt; echo u > u.txt; echo i > i.txt; echo i.txt > .git/info/exclude" },
	{ "names that are no text", "printf 1 > \"$(printf 'b\\377\\n*')\"; printf 1 > ':(top)'; git add -A; git commit -qm n",
		"printf 2 > \"$(printf 'b\\377\\n*')\"; printf 2 > ':(top)'; printf 3 > \"$(printf ' \\377\\t\"')\"; git add -A" },
	{ "autocrlf", "git config core.autocrlf true; rm a.txt; git checkout -q a.txt", "printf '2\\r\\n' > a.txt" },
	{ "a sparse checkout", "git sparse-checkout set --no-cone /a.txt", "echo 2 > a.txt" },
	{ "no branch", "git checkout -q --detach", "echo 2 > a.txt" },
	{ "hooks and a filter of the repository's", "echo '*.bin filter=up' > .gitattributes; echo x > x.bin; git add -A; git commit -qm f; "
		"for h in post-index-change reference-transaction post-checkout; do printf '#!/bin/sh\\ntouch ran\\n' > .git/hooks/$h; chmod 755 .git/hooks/$h; done; "
		"git config filter.up.clean 'touch ran; tr a-z A-Z'; git config filter.up.smudge 'touch ran; tr A-Z a-z'; "
		"git update-index -q --refresh || true; rm -f ran",
		"echo 2 > a.txt", .check = "! test -e ran" },
	{ "nothing", NULL, "echo u > u.txt", .nothing = true },
	{ "touched only", NULL, "touch -d 2001-01-01 a.txt", .nothing = true },
	{ "a branch without a commit", "git checkout -q --orphan o", "echo 2 > a.txt", .nothing = true },
	{ "a merge that stopped", "git checkout -qb o; echo 1 > a.txt; git commit -qam 1; git checkout -q main; echo 2 > a.txt; git commit -qam 2",
		"! git merge -q o > /dev/null", .nothing = true },
	{ "only announced", NULL, "echo n > n.txt; git add -N n.txt; echo 2 > a.txt", .refused = "n.txt cannot be set aside: it is only announced" },
	{ "a filtered file is staged", "echo '*.bin filter=up' > .gitattributes; git add -A; git commit -qm f", "echo x > x.bin; git add x.bin",
		.refused = "x.bin cannot be set aside: it has a content filter" },
	{ "an untracked directory in the place of a file", NULL, "rm a.txt; mkdir a.txt; echo 1 > a.txt/x",
		.refused = "a.txt cannot be set aside: something else stands in its place" },
	{ "an ignored directory in the place of a file", NULL, "rm a.txt; mkdir a.txt; echo 1 > a.txt/x; echo a.txt > .git/info/exclude",
		.refused = "a.txt cannot be set aside: something else stands in its place" },
	{ "a link in the place of a directory", NULL, "rm -r d; ln -s /nowhere d", .refused = "beyond a symbolic link" },
	{ "a link in the place of a directory, staged", NULL, "rm -r d; ln -s /nowhere d; git add -A", .refused = "beyond a symbolic link" },
	{ "the index is locked", NULL, "echo 2 > a.txt; : > .git/index.lock", .refused = "index.lock" },

	{ "other files change meanwhile", NULL, "echo 2 > a.txt", "echo w > b.txt; echo w > w.txt",
		.check = "test \"$(cat a.txt b.txt w.txt)\" = \"$(printf '2\\nw\\nw')\" && test \"$(git diff --name-only | tr '\\n' ' ')\" = 'a.txt b.txt '" },
	{ "a commit meanwhile", NULL, "echo 2 > a.txt; echo n > n.txt; git add n.txt", "echo w > b.txt; git commit -qam w",
		.check = "test \"$(git status --porcelain)\" = \"$(printf ' M a.txt\\nA  n.txt')\" && grep -q 2 a.txt && grep -q w b.txt" },
	{ "a commit of the same file elsewhere in it", "seq 1 20 > a.txt; git commit -qam s", "seq 1 21 > a.txt", "seq 0 20 > a.txt; git commit -qam w",
		.check = "test \"$(cat a.txt)\" = \"$(seq 0 21)\"" },
	{ "what was staged does not fit any more", NULL, "echo 2 > b.txt; git add b.txt; echo w > b.txt", "echo w > b.txt; git commit -qam w",
		.check = "test \"$(cat b.txt)\" = w" },
	{ "the same file changes meanwhile", NULL, "echo 2 > a.txt; echo 2 > b.txt", "echo w > a.txt", .conflicts = true,
		.check = "grep -q w a.txt && grep -q b b.txt" },
	{ "a commit of the same place", NULL, "echo 2 > a.txt", "echo w > a.txt; git commit -qam w", .conflicts = true, .check = "grep -q w a.txt" },
	{ "a new file stands in the way", NULL, "echo n > n.txt; git add n.txt", "echo w > n.txt", .conflicts = true, .check = "grep -q w n.txt" },
	{ "something is staged there", NULL, "echo 2 > a.txt", "echo w > a.txt; git add a.txt", .conflicts = true,
		.check = "test \"$(git show :a.txt)\" = w" },
	{ "it is back already, by the person's own hand", NULL, "echo 2 > a.txt", "git stash apply -q " STASH },
	{ "a kill came while the files went away", NULL, "echo 2 > a.txt; echo 2 > b.txt; git rm -q d/c.txt",
		"git read-tree " STASH "; echo 2 > b.txt; rm -r d" },
};

static void prepare(struct fixture *f, const struct row *row)
{
	shell(f, "git init -q -b main; mkdir d; echo a > a.txt; echo b > b.txt; echo c > d/c.txt; echo x > x; chmod +x x; "
		 "ln -s a.txt l; git add -A; git commit -qm first");
	if (row->before)
		shell(f, row->before);
	shell(f, row->change);
}

static struct str all_of(struct fixture *f)
{
	return shell(f, ALL);
}

static bool is_clean(struct fixture *f)
{
	return git_status_of(f, (const char *[]){ "sh", "-ec", "test -z \"$(" OURS " status --porcelain -uno)\"", NULL }) == 0;
}

static bool has_ref(struct fixture *f)
{
	return shell(f, "git for-each-ref " STASH).n > 0;
}

/* Later, in a cell of its own, as another process does. */
static int restore(struct fixture *f, enum repo_unstash *how)
{
	struct fixture next = { .dir = f->dir, .mem = f->mem, .jailed = true, .may_merge = true };
	struct str sha = shell(f, "git for-each-ref --format='%(objectname)' " STASH);
	struct proc_status st;
	struct str_list names;
	struct err err = { 0 };
	int r;

	*how = REPO_UNSTASH_GONE;
	fixture_repo(&next);
	r = repo_stash_restore(next.repo, sha.n > 0 ? sha : STR("0123456789012345678901234567890123456789"), f->mem, how, &names, &err);
	if (r < 0)
		print_message("restore: %s\n", err.msg);
	repo_close(next.repo);
	git_zygote_fini(next.zygote);
	close(next.monitor);
	close(next.asker);
	CHECK_INT(proc_wait(next.proc, &st, &err), 0);
	return *how == REPO_UNSTASH_CONFLICTS && names.n == 0 ? -1 : r;
}

static bool checks(struct fixture *f, const char *lines)
{
	return !lines || git_status_of(f, (const char *[]){ "sh", "-ec", lines, NULL }) == 0;
}

static bool refuses(struct fixture *f, const struct row *row, int r, const struct err *err, struct str was)
{
	return r < 0 && strstr(err->msg, row->refused) && str_eq(all_of(f), was) && !has_ref(f);
}

static bool plays(struct fixture *f, const struct row *row)
{
	struct repo_stashed out = { 0 };
	struct err err = { 0 };
	enum repo_unstash how;
	struct str was = all_of(f);
	int r = repo_stash_save(f->repo, MESSAGE, f->mem, &out, &err);

	if (r < 0 && !row->refused)
		print_message("save: %s\n", err.msg);
	if (row->refused && strstr(row->refused, "lock"))
		shell(f, "rm .git/index.lock");
	if (row->refused)
		return refuses(f, row, r, &err, was);
	if (r < 0 || row->nothing)
		return r == 0 && str_eq(all_of(f), was) && !has_ref(f);
	if (r != 1 || out.names.n == 0 || !is_clean(f) || !has_ref(f))
		return false;
	if (row->between)
		shell(f, row->between);
	r = restore(f, &how);
	if (row->conflicts)
		return r == 0 && how == REPO_UNSTASH_CONFLICTS && has_ref(f) && checks(f, row->check);
	return r == 0 && how == REPO_UNSTASHED && !has_ref(f) && checks(f, row->check) &&
		((row->check && row->between) || str_eq(all_of(f), was));
}

struct play {
	const struct row *row;
	size_t bad;
};

/* Only the cell starts from the person's index. */
static void plays_row(struct fixture *f)
{
	struct play *play = f->row;

	if (!f->jailed)
		return;
	prepare(f, play->row);
	fixture_repo(f);
	if (plays(f, play->row))
		return;
	print_message("%s: not as it should be:\n" STR_FMT "\n", play->row->why, STR_ARG(all_of(f)));
	play->bad++;
}

TEST(repo_stash_sets_aside_and_brings_back_all_that_was_not_committed)
{
	struct play play = { 0 };

	for (size_t i = 0; i < COUNT(rows); i++) {
		play.row = &rows[i];
		each_host_for(plays_row, &play);
	}
	CHECK_INT(play.bad, 0);
}

/* What stands there is what git's own stash makes, so that nobody needs us to get it back. */
static void git_applies(struct fixture *f)
{
	static const struct row row = { .change = "echo 2 > a.txt; git add a.txt; echo 3 > a.txt; rm b.txt; echo n > n.txt; git add n.txt" };
	struct repo_stashed out = { 0 };
	struct err err = { 0 };

	if (!f->jailed)
		return;
	prepare(f, &row);
	struct str was = all_of(f);
	fixture_repo(f);
	CHECK_INT(repo_stash_save(f->repo, MESSAGE, f->mem, &out, &err), 1);
	CHECK(is_clean(f));
	CHECK_STR(shell(f, "git log -1 --format=%s " STASH), STR("On main: agent6 auto-stash before run x"));
	shell(f, "git stash apply -q --index " STASH);
	CHECK_STR(all_of(f), was);
}

TEST(repo_stash_is_one_that_git_stash_applies)
{
	each_host(git_applies);
}

/* ---- a kill between any two operations ---- */

struct killer {
	const struct git_host *host;
	int left;  /* operations until the end of everything */
	bool dead;
};

static int run_until_dead(void *self, enum git_op op, const struct str *args, size_t n, struct str in, struct arena *mem,
	struct git_result *out, struct err *err)
{
	struct killer *k = self;

	if (k->dead || k->left-- == 0) {
		k->dead = true;
		return err_set(err, ERR_CLOSED, "killed");
	}
	return k->host->run(k->host->self, op, args, n, in, mem, out, err);
}

static struct repo *mortal(struct fixture *f, struct killer *k, struct git_host *host)
{
	struct repo *r = NULL;
	struct err err = { 0 };

	fixture_repo(f);
	*k = (struct killer){ f->host, 1 << 20, false };
	*host = (struct git_host){ k, run_until_dead };
	CHECK_OK(repo_open(host, f->dir.fd, STR(RUN_ID), &r, &err));
	return r;
}

struct kill_play {
	int at;
	bool restoring, over;
};

static void is_killed_at(struct fixture *f)
{
	static const struct row row = { .change = "echo 2 > a.txt; git add a.txt; echo 3 > a.txt; rm b.txt; git rm -q d/c.txt; echo n > n.txt; "
		"git add n.txt; chmod -x x; ln -sf b.txt l" };
	struct kill_play *play = f->row;
	struct repo_stashed out = { 0 };
	struct err err = { 0 };
	enum repo_unstash how;
	struct str_list names;
	struct git_host host;
	struct killer k;

	if (!f->jailed)
		return;
	prepare(f, &row);
	struct str was = all_of(f);
	struct repo *r = mortal(f, &k, &host);

	k.left = play->restoring ? 1 << 20 : play->at;
	int saved = repo_stash_save(r, MESSAGE, f->mem, &out, &err);

	if (play->restoring) {
		CHECK_INT(saved, 1);
		k.left = play->at;
		(void)!repo_stash_restore(r, out.sha, f->mem, &how, &names, &err);
	}
	play->over = !k.dead;
	repo_close(r);
	/* Everything is in its place, or it comes back. */
	if (has_ref(f)) {
		CHECK_INT(restore(f, &how), 0);
		CHECK_INT(how, REPO_UNSTASHED);
	}
	CHECK_STR(all_of(f), was);
}

TEST(repo_stash_loses_nothing_to_a_kill_between_any_two_operations)
{
	for (int restoring = 0; restoring < 2; restoring++) {
		struct kill_play play = { .restoring = restoring };

		for (; !play.over && play.at < 100; play.at++)
			each_host_for(is_killed_at, &play);
		CHECK(play.over && play.at > 5);
	}
}
