/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/git/git_lib.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void commits_changes(struct fixture *f)
{
	struct str head;
	struct repo_step s;
	struct repo_stepped r;

	repo_with_commit(f);
	test_write(&f->dir, "old.txt", STR("mine\n"));
	fixture_repo(f);
	head = sha_of(f, "HEAD");
	s = step_from_head(f);
	struct str skip[] = { STR("old.txt") };
	const struct str_list untracked = { skip, 1 };

	s.skip = &untracked;
	r = step(f, &s);
	CHECK(!r.committed);
	CHECK_INT(repo_is_changed(f->repo, &s, ERR_DISCARD), 0);

	test_write(&f->dir, "a.txt", STR("aa\n"));
	test_write(&f->dir, "new/c d\n.txt", STR("c\n"));
	unlinkat(f->dir.fd, "d/b.txt", 0);
	CHECK_INT(repo_is_changed(f->repo, &s, ERR_DISCARD), 1);
	r = step(f, &s);
	CHECK(r.committed);
	CHECK_STR(r.parent, head);
	CHECK_STR(sha_of(f, CHAIN), r.sha);
	CHECK_STR(sha_of(f, "refs/heads/" SIDE), r.sha);
	CHECK_STR(GIT(f, "diff", "--name-status", "-z", "HEAD", CHAIN),
		STR("M\0a.txt\0D\0d/b.txt\0A\0new/c d\n.txt\0"));
	CHECK_STR(GIT(f, "log", "-1", "--format=%an <%ae> %s", CHAIN), STR("Agent <a@example.invalid> agent6 iter 1: work"));

	/* Nothing of the person's moved, and what was untracked stayed out. */
	CHECK_STR(sha_of(f, "HEAD"), head);
	CHECK_STR(GIT(f, "symbolic-ref", "HEAD"), STR("refs/heads/main"));
	CHECK_STR(GIT(f, "diff", "--cached", "--name-only"), STR(""));

	/* The same tree again is no step; a second change stands on the first. */
	CHECK(!step(f, &s).committed);
	test_write(&f->dir, "a.txt", STR("aaa\n"));
	struct repo_stepped second = step(f, &s);

	CHECK(second.committed);
	CHECK_STR(second.parent, r.sha);
	CHECK_STR(GIT(f, "rev-list", "--count", "HEAD.." CHAIN), STR("2"));
}

TEST(repo_step_records_every_change_and_moves_nothing_of_the_person)
{
	each_host(commits_changes);
}

static void survives_reopening(struct fixture *f)
{
	struct repo_step s;
	struct repo_stepped a, b;

	repo_with_commit(f);
	fixture_repo(f);
	s = step_from_head(f);
	test_write(&f->dir, "a.txt", STR("1\n"));
	a = step(f, &s);
	fixture_repo(f); /* a resumed run: a new handle */
	test_write(&f->dir, "a.txt", STR("2\n"));
	b = step(f, &s);
	CHECK_STR(b.parent, a.sha);

	/* A chain that somebody else moved is a conflict, and the next step finds the new tip. */
	GIT(f, "update-ref", CHAIN, str_dup(f->mem, a.sha).p);
	test_write(&f->dir, "a.txt", STR("3\n"));
	struct repo_stepped c;
	struct err err = { 0 };

	CHECK_INT(repo_commit_step(f->repo, &s, f->mem, &c, &err), -ERR_CONFLICT);
	CHECK_STR(sha_of(f, CHAIN), a.sha);
	c = step(f, &s);
	CHECK_STR(c.parent, a.sha);
	CHECK(c.branch_kept); /* the branch still is at b */
}

TEST(repo_step_goes_on_where_the_chain_is_and_never_moves_it_from_elsewhere)
{
	each_host(survives_reopening);
}

static void branch_clash(struct fixture *f)
{
	struct repo_step s;
	struct repo_stepped r;

	repo_with_commit(f);
	GIT(f, "branch", "agent6");
	test_write(&f->dir, ".git/index.lock", STR("the person's"));
	fixture_repo(f);
	s = step_from_head(f);
	test_write(&f->dir, "a.txt", STR("step\n"));
	r = step(f, &s);
	CHECK(r.committed);
	CHECK(r.branch_kept);
	CHECK(str_find(r.branch_why, STR("called \"agent6\"")) < r.branch_why.n);
	CHECK_STR(sha_of(f, CHAIN), r.sha);
	CHECK(file_is(f->dir.fd, ".git/index.lock", STR("the person's")));
}

TEST(repo_step_needs_neither_its_branch_nor_the_persons_index)
{
	each_host(branch_clash);
}

static void unborn(struct fixture *f)
{
	struct repo_step s = { .base = STR(""), .message = STR("m\n"), .branch = true };
	struct repo_status st;
	struct repo_stepped r;
	struct err err = { 0 };

	GIT(f, "init", "-q", "-b", "master");
	test_write(&f->dir, "staged.txt", STR("s\n"));
	GIT(f, "add", "staged.txt");
	fixture_repo(f);
	CHECK_OK(repo_status(f->repo, f->mem, &st, &err));
	CHECK(st.head.unborn);
	CHECK_STR(st.head.branch, STR("master"));
	CHECK_INT(st.dirty.n, 1);
	test_write(&f->dir, "a.txt", STR("b\n"));
	r = step(f, &s);
	CHECK(r.committed);
	CHECK_STR(GIT(f, "ls-tree", "--name-only", CHAIN), STR("a.txt\nstaged.txt"));
	CHECK_STR(GIT(f, "rev-list", "--count", CHAIN), STR("1"));
	CHECK_INT(git_status_of(f, (const char *[]){ "git", "rev-parse", "--verify", "-q", "refs/heads/master", NULL }), 1);
	CHECK_STR(GIT(f, "status", "--porcelain"), STR("A  staged.txt\n?? a.txt"));
}

TEST(repo_step_of_an_unborn_branch_leaves_it_unborn)
{
	each_host(unborn);
}

static void detached_and_rebasing(struct fixture *f)
{
	struct repo_step s;
	struct repo_status st;
	struct err err = { 0 };

	repo_with_commit(f);
	GIT(f, "checkout", "-q", "-b", "topic");
	test_write(&f->dir, "a.txt", STR("topic\n"));
	GIT(f, "commit", "-qam", "topic");
	GIT(f, "checkout", "-q", "main");
	test_write(&f->dir, "a.txt", STR("main\n"));
	GIT(f, "commit", "-qam", "main");
	GIT(f, "checkout", "-q", "topic");
	CHECK_INT(git_status_of(f, (const char *[]){ "git", "rebase", "-q", "main", NULL }), 1);
	fixture_repo(f);
	CHECK_OK(repo_status(f->repo, f->mem, &st, &err));
	CHECK(st.unmerged);
	CHECK_STR(st.head.branch, STR(""));
	struct str before = GIT(f, "status", "--porcelain=v2");

	s = step_from_head(f);
	test_write(&f->dir, "d/b.txt", STR("step\n"));
	struct str edited = GIT(f, "status", "--porcelain=v2");

	CHECK(step(f, &s).committed);
	CHECK_STR(GIT(f, "status", "--porcelain=v2"), edited);
	GIT(f, "checkout", "-q", "--", "d/b.txt");
	CHECK_STR(GIT(f, "status", "--porcelain=v2"), before);
	struct stat sb;
	CHECK_INT(fstatat(f->dir.fd, ".git/rebase-merge", &sb, 0), 0);
}

TEST(repo_step_in_the_middle_of_a_rebase_leaves_it_there)
{
	each_host(detached_and_rebasing);
}

static void person_index(struct fixture *f)
{
	struct repo_step s;

	repo_with_commit(f);
	test_write(&f->dir, "s.txt", STR("s\n"));
	GIT(f, "add", "-A");
	GIT(f, "commit", "-qm", "s");
	test_write(&f->dir, "s.txt", STR("staged\n"));
	GIT(f, "add", "s.txt");
	test_write(&f->dir, "s.txt", STR("staged and more\n"));
	GIT(f, "rm", "-q", "--cached", "d/b.txt");
	fixture_repo(f);
	s = step_from_head(f);
	struct str before = GIT(f, "diff", "--cached");

	test_write(&f->dir, "a.txt", STR("x\n"));
	CHECK(step(f, &s).committed);
	CHECK_STR(GIT(f, "diff", "--cached"), before);
	CHECK_STR(GIT(f, "show", CHAIN ":s.txt"), STR("staged and more"));
	CHECK_STR(GIT(f, "show", CHAIN ":d/b.txt"), STR("b"));
}

TEST(repo_step_reads_the_persons_index_and_never_writes_it)
{
	each_host(person_index);
}

static void odd_files(struct fixture *f)
{
	struct repo_step s;
	struct repo_stepped r;

	repo_with_commit(f);
	test_write(&f->dir, "was-file", STR("x\n"));
	test_write(&f->dir, "was-dir/in", STR("x\n"));
	test_write(&f->dir, "was-real/in", STR("x\n"));
	GIT(f, "add", "-A");
	GIT(f, "commit", "-qm", "kinds");
	fixture_repo(f);
	s = step_from_head(f);
	s.big_file = 1 << 20;

	unlinkat(f->dir.fd, "was-file", 0);
	test_write(&f->dir, "was-file/now", STR("y\n"));
	unlinkat(f->dir.fd, "was-dir/in", 0);
	unlinkat(f->dir.fd, "was-dir", AT_REMOVEDIR);
	test_write(&f->dir, "was-dir", STR("y\n"));
	unlinkat(f->dir.fd, "was-real/in", 0);
	unlinkat(f->dir.fd, "was-real", AT_REMOVEDIR);
	CHECK_INT(symlinkat("/etc", f->dir.fd, "was-real"), 0);
	CHECK_INT(mkfifoat(f->dir.fd, "pipe", 0600), 0);
	test_write(&f->dir, "big.bin", STR("x"));
	CHECK_INT(truncate(str_printf(f->mem, "%s/big.bin", f->dir.path).p, 600 << 20), 0);
	CHECK_INT(fchmodat(f->dir.fd, "a.txt", 0755, 0), 0);
	test_write(&f->dir, "-rf", STR("option\n"));
	test_write(&f->dir, ":(top)x", STR("magic\n"));
	test_write(&f->dir, "\xff\xfe", STR("bytes\n"));

	r = step(f, &s);
	CHECK(r.committed);
	CHECK(has_name(&r.left_out, "big.bin: 600 MB"));
	CHECK_INT(r.left_out.n, 1);
	CHECK_STR(GIT(f, "-c", "core.quotePath=false", "ls-tree", "-r", "--format=%(objectmode) %(path)", CHAIN),
		STR("100644 -rf\n100644 :(top)x\n100755 a.txt\n100644 d/b.txt\n100644 was-dir\n100644 was-file/now\n"
		    "120000 was-real\n100644 \xff\xfe"));
	CHECK(!step(f, &s).committed);
}

TEST(repo_step_takes_every_kind_of_change_and_leaves_out_huge_files)
{
	each_host(odd_files);
}

/* Everything a repository can say to have a program run, with a mark that it ran. */
static void plant(struct fixture *f)
{
	static const char *const hooks[] = { "pre-commit", "post-commit", "reference-transaction", "post-index-change",
		"commit-msg", "prepare-commit-msg", "post-checkout", "pre-auto-gc", "fsmonitor-watchman" };
	const char *mark = str_printf(f->mem, "%s/.ran", f->dir.path).p;
	struct str script = str_printf(f->mem, "#!/bin/sh\necho \"$0\" >> %s\nexit 1\n", mark);
	const char *prog = str_printf(f->mem, "%s/.git/prog", f->dir.path).p;

	for (size_t i = 0; i < COUNT(hooks); i++) {
		const char *name = str_printf(f->mem, ".git/hooks/%s", hooks[i]).p;

		test_write(&f->dir, name, script);
		CHECK_INT(fchmodat(f->dir.fd, name, 0755, 0), 0);
	}
	test_write(&f->dir, ".git/prog", script);
	CHECK_INT(fchmodat(f->dir.fd, ".git/prog", 0755, 0), 0);
	const struct {
		const char *key, *value;
	} config[] = { { "core.fsmonitor", prog }, { "core.hooksPath", ".git/hooks" }, { "core.sshCommand", prog },
		{ "core.editor", prog }, { "core.pager", prog }, { "diff.external", prog }, { "commit.gpgsign", "true" },
		{ "gpg.program", prog }, { "filter.evil.clean", prog }, { "filter.evil.smudge", prog },
		{ "filter.evil.process", prog }, { "filter.evil.required", "true" }, { "diff.evil.textconv", prog },
		{ "diff.evil.command", prog }, { "merge.evil.driver", prog }, { "alias.status", "!" },
		{ "core.alternateRefsCommand", prog }, { "credential.helper", prog }, { "gc.auto", "1" },
		{ "gc.recentObjectsHook", prog }, { "core.askPass", prog }, { "sequence.editor", prog },
		{ "core.attributesFile", ".git/attrs" }, { "trace2.normalTarget", mark } };

	for (size_t i = 0; i < COUNT(config); i++)
		GIT(f, "config", config[i].key, config[i].value);
	test_write(&f->dir, ".gitattributes", STR("*.txt filter=evil diff=evil merge=evil\n"));
	test_write(&f->dir, ".git/info/attributes", STR("d/* filter=evil\n"));
}

static void hostile(struct fixture *f)
{
	struct repo_step s;
	struct repo_status st;
	struct repo_stepped r;
	struct repo_merged merged;
	struct str text;
	struct err err = { 0 };
	struct stat sb;

	repo_with_commit(f);
	s = step_from_head(f);
	plant(f);
	fixture_repo(f);
	CHECK_OK(repo_status(f->repo, f->mem, &st, &err));
	test_write(&f->dir, "a.txt", STR("changed\n"));
	test_write(&f->dir, "d/b.txt", STR("changed\n"));
	test_write(&f->dir, "plain", STR("changed\n"));
	CHECK_INT(repo_is_changed(f->repo, &s, &err), 1);
	CHECK_OK(repo_status(f->repo, f->mem, &st, &err));
	CHECK_INT(st.dirty.n, 0); /* what only a filter could tell is no question to the person */
	r = step(f, &s);
	CHECK(r.committed);
	CHECK_INT(r.left_out.n, 2);
	CHECK(str_find(r.left_out.p[0], STR("content filter")) < r.left_out.p[0].n);
	CHECK_INT(repo_is_changed(f->repo, &s, &err), 0); /* it was said */
	test_write(&f->dir, "a.txt", STR("and again\n"));
	CHECK_INT(repo_is_changed(f->repo, &s, &err), 1);
	CHECK_OK(repo_diff(f->repo, s.base, r.sha, NULL, f->mem, &text, &err));
	CHECK(str_find(text, STR("+changed")) < text.n);
	CHECK_OK(repo_diff_stat(f->repo, s.base, r.sha, NULL, f->mem, &text, &err));
	struct repo_merge m = { .from = STR(CHAIN), .into = STR("main"), .how = REPO_SQUASH, .message = STR("all\n") };

	test_write(&f->dir, "a.txt", STR("a\n"));
	test_write(&f->dir, "d/b.txt", STR("b\n"));
	CHECK_OK(repo_merge(f->repo, &m, f->mem, &merged, &err));
	CHECK_INT(merged.outcome, REPO_MERGED);
	CHECK(fstatat(f->dir.fd, ".ran", &sb, 0) < 0);
}

TEST(repo_never_runs_what_the_repository_names)
{
	each_host(hostile);
}

static void nested(struct fixture *f)
{
	static const char *const inner[] = { "nested", "sub" };
	struct repo_step s;
	struct repo_stepped r;
	struct str before[2];
	struct str gone;

	repo_with_commit(f);
	for (size_t i = 0; i < 2; i++) {
		GIT(f, "init", "-q", "-b", "main", inner[i]);
		test_write(&f->dir, str_printf(f->mem, "%s/in.txt", inner[i]).p, STR("in\n"));
		GIT(f, "-C", inner[i], "add", "-A");
		GIT(f, "-C", inner[i], "commit", "-qm", "inner");
		before[i] = GIT(f, "-C", inner[i], "rev-parse", "HEAD");
	}
	gone = str_printf(f->mem, "160000," STR_FMT ",gone", STR_ARG(before[0]));
	GIT(f, "-c", "advice.addEmbeddedRepo=false", "add", "sub");
	GIT(f, "update-index", "--add", "--cacheinfo", gone.p);
	test_write(&f->dir, "stale/.git", STR("gitdir: ../.git/modules/none\n"));
	test_write(&f->dir, "stale/x.txt", STR("x\n"));
	GIT(f, "commit", "-qm", "links");
	fixture_repo(f);
	s = step_from_head(f);

	test_write(&f->dir, "a.txt", STR("step\n"));
	test_write(&f->dir, "nested/in.txt", STR("changed\n"));
	test_write(&f->dir, "sub/in.txt", STR("changed\n"));
	test_write(&f->dir, "stale/x.txt", STR("y\n"));
	GIT(f, "-C", "sub", "commit", "-qam", "moved on");
	r = step(f, &s);
	CHECK(r.committed);
	CHECK_STR(GIT(f, "diff", "--name-status", "HEAD", CHAIN), STR("M\ta.txt\nA\tstale/x.txt"));
	CHECK_STR(GIT(f, "-C", "nested", "rev-parse", "HEAD"), before[0]);
	CHECK_STR(GIT(f, "-C", "nested", "status", "--porcelain"), STR("M in.txt"));
	struct stat sb;
	CHECK_INT(fstatat(f->dir.fd, "nested/.git/HEAD", &sb, 0), 0);
	CHECK_INT(fstatat(f->dir.fd, "sub/.git/HEAD", &sb, 0), 0);
}

TEST(repo_step_neither_enters_nor_renames_nested_repositories)
{
	each_host(nested);
}

static void many_untracked(struct fixture *f)
{
	struct repo_step s;
	struct repo_status st;
	struct err err = { 0 };

	repo_with_commit(f);
	for (int i = 0; i < 3000; i++)
		test_write(&f->dir, str_printf(f->mem, "data/%d/%d", i % 30, i).p, STR("x"));
	fixture_repo(f);
	CHECK_OK(repo_status(f->repo, f->mem, &st, &err));
	CHECK_INT(st.untracked.n, 3000);
	s = step_from_head(f);
	s.skip = &st.untracked;
	test_write(&f->dir, "data/1/fresh", STR("y"));
	CHECK(step(f, &s).committed);
	CHECK_STR(GIT(f, "diff", "--name-only", "HEAD", CHAIN), STR("data/1/fresh"));
}

TEST(repo_step_keeps_what_was_untracked_out_file_by_file)
{
	each_host(many_untracked);
}

static void killed_before(struct fixture *f)
{
	struct repo_step s;

	if (!f->jailed)
		return; /* the zygote's own work */
	repo_with_commit(f);
	test_write(&f->dir, ".git/" CHAIN ".lock", STR(""));
	test_write(&f->dir, ".git/refs/heads/" SIDE ".lock", STR(""));
	test_write(&f->dir, ".git/refs/heads/main.lock", STR(""));
	f->may_merge = false;
	fixture_repo(f);
	s = step_from_head(f);
	test_write(&f->dir, "a.txt", STR("after\n"));
	CHECK(step(f, &s).committed);
	CHECK_STR(sha_of(f, "refs/heads/" SIDE), sha_of(f, CHAIN));
	CHECK(faccessat(f->dir.fd, ".git/refs/heads/main.lock", F_OK, 0) == 0); /* not ours */
}

TEST(repo_step_goes_on_after_a_kill_in_the_middle_of_one)
{
	each_host(killed_before);
}

static void sparse(struct fixture *f)
{
	struct repo_step s;

	if (!f->jailed)
		return; /* the plain host starts from no index of the person's */
	repo_with_commit(f);
	GIT(f, "sparse-checkout", "set", "--no-cone", "/a.txt");
	CHECK(faccessat(f->dir.fd, "d/b.txt", F_OK, 0) < 0);
	fixture_repo(f);
	s = step_from_head(f);
	CHECK(!step(f, &s).committed);
	test_write(&f->dir, "a.txt", STR("x\n"));
	CHECK(step(f, &s).committed);
	CHECK_STR(GIT(f, "diff", "--name-status", "HEAD", CHAIN), STR("M\ta.txt"));
}

TEST(repo_step_of_a_sparse_checkout_removes_nothing)
{
	each_host(sparse);
}
