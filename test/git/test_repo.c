/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/discover.h"
#include "test/git/git_lib.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void reads(struct fixture *f)
{
	struct repo_status st;
	struct repo_commit *c;
	struct str_list files;
	struct str sha, text;
	size_t n, total;
	struct err err = { 0 };

	repo_with_commit(f);
	test_write(&f->dir, "d/b.txt", STR("b2\n"));
	GIT(f, "commit", "-qam", "second: a title");
	test_write(&f->dir, "a.txt", STR("dirty\n"));
	test_write(&f->dir, "un tracked", STR("u\n"));
	fixture_repo(f);

	CHECK_OK(repo_status(f->repo, f->mem, &st, &err));
	CHECK_STR(st.head.branch, STR("main"));
	CHECK_STR(st.head.sha, sha_of(f, "HEAD"));
	CHECK_INT(st.dirty.n, 1);
	CHECK_STR(st.dirty.p[0], STR("a.txt"));
	CHECK_INT(st.untracked.n, 1);
	CHECK_STR(st.untracked.p[0], STR("un tracked"));

	CHECK_OK(repo_commits(f->repo, STR(""), STR("HEAD"), 10, f->mem, &c, &n, &err));
	CHECK_INT(n, 2);
	CHECK_STR(c[0].subject, STR("second: a title"));
	CHECK(c[0].time_s > 1500000000);
	CHECK_OK(repo_commits(f->repo, c[1].sha, c[0].sha, 10, f->mem, &c, &n, &err));
	CHECK_INT(n, 1);

	CHECK_OK(repo_files(f->repo, 1, f->mem, &files, &total, &err));
	CHECK_INT(files.n, 1);
	CHECK_INT(total, 2);
	CHECK_INT(repo_branch_exists(f->repo, STR("main"), &err), 1);
	CHECK_INT(repo_branch_exists(f->repo, STR("other"), &err), 0);
	CHECK_INT(repo_branch_exists(f->repo, STR("-d"), &err), -ERR_INVALID);
	CHECK_INT(repo_read_ref(f->repo, STR(CHAIN), f->mem, &sha, &err), 0);
	struct str one[] = { STR("d/b.txt") };
	const struct str_list paths = { one, 1 };

	CHECK_OK(repo_diff(f->repo, STR(""), STR("HEAD"), &paths, f->mem, &text, &err));
	CHECK(str_find(text, STR("+b2")) < text.n);
	CHECK(str_find(text, STR("a.txt")) == text.n);
}

TEST(repo_tells_head_status_files_commits_and_differences)
{
	each_host(reads);
}

/* Every question, over an index whose times are not those of the files: git would like to write it anew. */
static void reads_only(struct fixture *f)
{
	struct repo_status st;
	struct str_list files;
	struct str before, text;
	size_t total;
	struct err err = { 0 };

	repo_with_commit(f);
	shell(f, "touch -d 2001-01-01 a.txt d/b.txt");
	before = shell(f, "sha256sum .git/index");
	fixture_repo(f);
	CHECK_OK(repo_status(f->repo, f->mem, &st, &err));
	CHECK_OK(repo_files(f->repo, 10, f->mem, &files, &total, &err));
	CHECK_OK(repo_diff_work(f->repo, STR("HEAD"), false, f->mem, &text, &err));
	CHECK_OK(repo_diff_work(f->repo, STR("HEAD"), true, f->mem, &text, &err));
	CHECK_STR(text, STR(""));
	CHECK_STR(shell(f, "sha256sum .git/index"), before);
}

TEST(repo_questions_leave_the_persons_index_alone)
{
	each_host(reads_only);
}

/* A chain with one step: a.txt changed, d/b.txt removed, n.txt new. The work tree is clean again afterwards. */
static struct str chain_of_one(struct fixture *f)
{
	struct repo_step s = step_from_head(f);
	struct repo_stepped r;

	test_write(&f->dir, "a.txt", STR("step\n"));
	unlinkat(f->dir.fd, "d/b.txt", 0);
	test_write(&f->dir, "n.txt", STR("n\n"));
	r = step(f, &s);
	CHECK(r.committed);
	GIT(f, "checkout", "-q", "--", ".");
	unlinkat(f->dir.fd, "n.txt", 0);
	CHECK_STR(GIT(f, "status", "--porcelain"), STR(""));
	return r.sha;
}

static struct repo_merged merge(struct fixture *f, enum repo_how how)
{
	struct repo_merge m = { .from = STR(CHAIN), .into = STR("main"), .how = how, .message = STR("merged\n") };
	struct repo_merged out = { 0 };
	struct err err = { 0 };

	CHECK_OK(repo_merge(f->repo, &m, f->mem, &out, &err));
	return out;
}

static void merges_into_checkout(struct fixture *f)
{
	static const struct {
		enum repo_how how;
		const char *parents;
	} ways[] = { { REPO_SQUASH, "1" }, { REPO_MERGE, "2" }, { REPO_FF, "1" } };

	repo_with_commit(f);
	fixture_repo(f);
	struct str base = sha_of(f, "HEAD"), tip = chain_of_one(f);

	for (size_t i = 0; i < COUNT(ways); i++) {
		struct repo_merged m = merge(f, ways[i].how);

		CHECK_INT(m.outcome, REPO_MERGED);
		CHECK(m.checked_out);
		CHECK_INT(m.paths.n, 0);
		CHECK_STR(sha_of(f, "main"), m.sha);
		CHECK_STR(m.old, base);
		CHECK_STR(GIT(f, "rev-parse", "main^{tree}"), GIT(f, "rev-parse", CHAIN "^{tree}"));
		CHECK_STR(GIT(f, "status", "--porcelain"), STR(""));
		CHECK(file_is(f->dir.fd, "a.txt", STR("step\n")));
		CHECK(file_is(f->dir.fd, "n.txt", STR("n\n")));
		CHECK(faccessat(f->dir.fd, "d/b.txt", F_OK, 0) < 0);
		struct str parents = GIT(f, "log", "-1", "--format=%P", "main");

		CHECK_INT(parents.n, ways[i].how == REPO_MERGE ? 81 : 40);
		CHECK_INT(str_eq(m.sha, tip), ways[i].how == REPO_FF);
		CHECK_INT(merge(f, ways[i].how).outcome, REPO_NOOP);
		GIT(f, "reset", "-q", "--hard", base.p);
	}
}

TEST(repo_merge_brings_the_branch_its_index_and_its_files_forward)
{
	each_host(merges_into_checkout);
}

static void merge_keeps_work(struct fixture *f)
{
	repo_with_commit(f);
	test_write(&f->dir, "other.txt", STR("o\n"));
	GIT(f, "add", "-A");
	GIT(f, "commit", "-qm", "other");
	fixture_repo(f);
	chain_of_one(f);

	test_write(&f->dir, "a.txt", STR("my own work\n"));
	test_write(&f->dir, "n.txt", STR("my untracked file\n"));
	test_write(&f->dir, "other.txt", STR("unrelated work\n"));
	GIT(f, "add", "other.txt");
	struct repo_merged m = merge(f, REPO_SQUASH);

	CHECK_INT(m.outcome, REPO_MERGED);
	CHECK_INT(m.paths.n, 2);
	CHECK(has_name(&m.paths, "a.txt"));
	CHECK(has_name(&m.paths, "n.txt"));
	CHECK(file_is(f->dir.fd, "a.txt", STR("my own work\n")));
	CHECK(file_is(f->dir.fd, "n.txt", STR("my untracked file\n")));
	CHECK(file_is(f->dir.fd, "other.txt", STR("unrelated work\n")));
	CHECK(faccessat(f->dir.fd, "d/b.txt", F_OK, 0) < 0); /* this one was as the old tip says */
	CHECK_STR(GIT(f, "show", "main:a.txt"), STR("step"));
	CHECK_STR(GIT(f, "diff", "--cached", "--name-only", "main", "--", "other.txt"), STR("other.txt"));
}

TEST(repo_merge_never_overwrites_what_the_person_has_in_the_checkout)
{
	each_host(merge_keeps_work);
}

static void merge_conflicts(struct fixture *f)
{
	repo_with_commit(f);
	fixture_repo(f);
	chain_of_one(f);
	test_write(&f->dir, "a.txt", STR("main went elsewhere\n"));
	GIT(f, "commit", "-qam", "elsewhere");
	struct str tip = sha_of(f, "main");
	struct repo_merged m = merge(f, REPO_SQUASH);

	CHECK_INT(m.outcome, REPO_CONFLICTS);
	CHECK_INT(m.paths.n, 1);
	CHECK_STR(m.paths.p[0], STR("a.txt"));
	CHECK_STR(sha_of(f, "main"), tip);
	CHECK_STR(GIT(f, "status", "--porcelain"), STR(""));
	CHECK_INT(merge(f, REPO_FF).outcome, REPO_DIVERGED);
	CHECK_STR(sha_of(f, "main"), tip);
}

TEST(repo_merge_with_conflicts_moves_nothing_and_names_them)
{
	each_host(merge_conflicts);
}

static void merge_with_fresh_files(struct fixture *f)
{
	struct repo_merge ask = { .from = STR(CHAIN), .into = STR("main"), .how = REPO_SQUASH, .message = STR("m\n") };
	const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	struct repo_merged m;
	struct err err = { 0 };

	repo_with_commit(f);
	fixture_repo(f);
	chain_of_one(f);
	struct str tip = sha_of(f, "main");

	/* Somebody else holds the index: nothing moves. */
	test_write(&f->dir, ".git/index.lock", STR(""));
	CHECK(repo_merge(f->repo, &ask, f->mem, &m, &err) < 0);
	CHECK(strstr(err.msg, "index.lock"));
	CHECK_STR(sha_of(f, "main"), tip);
	unlinkat(f->dir.fd, ".git/index.lock", 0);
	/* The same bytes at another time are the same file. */
	CHECK_INT(utimensat(f->dir.fd, "a.txt", old, 0), 0);
	CHECK_OK(repo_merge(f->repo, &ask, f->mem, &m, &err));
	CHECK_INT(m.paths.n, 0);
	CHECK(file_is(f->dir.fd, "a.txt", STR("step\n")));
	CHECK_STR(GIT(f, "status", "--porcelain"), STR(""));
}

TEST(repo_merge_knows_a_file_by_its_bytes_and_moves_nothing_under_a_lock)
{
	each_host(merge_with_fresh_files);
}

static void merge_elsewhere(struct fixture *f)
{
	struct repo_merge ask = { .from = STR(CHAIN), .into = STR("main"), .how = REPO_SQUASH, .message = STR("m\n") };
	struct repo_merged m;
	struct err err = { 0 };

	repo_with_commit(f);
	fixture_repo(f);
	chain_of_one(f);
	GIT(f, "checkout", "-q", "-b", "topic");
	m = merge(f, REPO_SQUASH);
	CHECK_INT(m.outcome, REPO_MERGED);
	CHECK(!m.checked_out);
	CHECK_STR(GIT(f, "status", "--porcelain"), STR(""));
	CHECK(file_is(f->dir.fd, "a.txt", STR("a\n")));

	ask.into = STR("nowhere");
	CHECK_INT(repo_merge(f->repo, &ask, f->mem, &m, &err), -ERR_NOENT);
	ask.into = STR("--force");
	CHECK_INT(repo_merge(f->repo, &ask, f->mem, &m, &err), -ERR_INVALID);
	CHECK_OK(repo_drop_branch(f->repo, sha_of(f, SIDE), &err));
	CHECK_INT(repo_branch_exists(f->repo, STR(SIDE), &err), 0);
}

TEST(repo_merge_into_a_branch_that_is_not_checked_out_touches_no_file)
{
	each_host(merge_elsewhere);
}

static void merge_into_unborn(struct fixture *f)
{
	struct repo_step s = { .base = STR(""), .message = STR("m\n") };

	GIT(f, "init", "-q", "-b", "main");
	fixture_repo(f);
	test_write(&f->dir, "a.txt", STR("a\n"));
	CHECK(step(f, &s).committed);
	unlinkat(f->dir.fd, "a.txt", 0);
	struct repo_merged m = merge(f, REPO_SQUASH);

	CHECK_INT(m.outcome, REPO_MERGED);
	CHECK_STR(sha_of(f, "main"), sha_of(f, CHAIN));
	CHECK(file_is(f->dir.fd, "a.txt", STR("a\n")));
	CHECK_STR(GIT(f, "status", "--porcelain"), STR(""));
}

TEST(repo_merge_gives_an_unborn_branch_its_first_commit)
{
	each_host(merge_into_unborn);
}

/* ---- finding a repository ---- */

static int find(struct fixture *f, const char *from, struct discovered *d, struct err *err)
{
	return discover_repo(str_printf(f->mem, "%s/%s", f->dir.path, from).p, f->mem, d, err);
}

static void discovers(struct fixture *f)
{
	struct discovered d;
	struct err err = { 0 };

	if (f->jailed)
		return; /* no git runs here */
	test_write(&f->dir, "deep/er/x", STR(""));
	CHECK_INT(find(f, "deep", &d, &err), -ERR_NOENT);
	GIT(f, "init", "-q", "-b", "main", "r");
	test_write(&f->dir, "r/a", STR("a"));
	test_write(&f->dir, "r/s/u/b/x", STR("a"));
	GIT(f, "-C", "r", "add", "-A");
	GIT(f, "-C", "r", "commit", "-qm", "x");
	CHECK_OK(find(f, "r/s/u/b", &d, &err));
	CHECK_STR(str_from(d.top), str_printf(f->mem, "%s/r", f->dir.path));
	CHECK_STR(str_from(d.git_dir), str_printf(f->mem, "%s/r/.git", f->dir.path));
	CHECK_STR(str_from(d.common_dir), str_from(d.git_dir));
	CHECK(!d.is_file && !d.is_link);

	GIT(f, "-C", "r", "worktree", "add", "-q", "../linked");
	CHECK_OK(find(f, "linked", &d, &err));
	CHECK(d.is_file);
	CHECK_STR(str_from(d.git_dir), str_printf(f->mem, "%s/r/.git/worktrees/linked", f->dir.path));
	CHECK_STR(str_from(d.common_dir), str_printf(f->mem, "%s/r/.git", f->dir.path));

	GIT(f, "-C", "r", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../r", "sub");
	CHECK_OK(find(f, "r/sub", &d, &err));
	CHECK(d.is_file);
	CHECK_STR(str_from(d.git_dir), str_printf(f->mem, "%s/r/.git/modules/sub", f->dir.path));

	/* An empty .git is none; a file that names another's repository is a trap. */
	test_write(&f->dir, "r/s/.git/keep", STR(""));
	CHECK_OK(find(f, "r/s/u", &d, &err));
	CHECK_STR(str_from(d.top), str_printf(f->mem, "%s/r", f->dir.path));
	test_write(&f->dir, "trap/.git", STR("gitdir: ../r/.git\n"));
	CHECK_INT(find(f, "trap", &d, &err), -ERR_INVALID);
	CHECK(strstr(err.hint, "core.worktree"));
	test_write(&f->dir, "thief/.git/HEAD", STR("ref: refs/heads/main\n"));
	test_write(&f->dir, "thief/.git/commondir", STR("../../r/.git\n"));
	CHECK_INT(find(f, "thief", &d, &err), -ERR_INVALID);
	CHECK(strstr(err.msg, "among its work trees"));
	/* No work tree, or another one. */
	GIT(f, "init", "-q", "--bare", "bare.git");
	CHECK_INT(find(f, "bare.git", &d, &err), -ERR_INVALID);
	CHECK_INT(find(f, "bare.git/hooks", &d, &err), -ERR_INVALID);
	CHECK(strstr(err.msg, "without a work tree"));
	test_write(&f->dir, "bare.git/.git/keep", STR("")); /* git passes over it */
	CHECK_INT(find(f, "bare.git", &d, &err), -ERR_INVALID);
	CHECK(strstr(err.msg, "without a work tree"));
	CHECK_INT(find(f, "r/.git/refs", &d, &err), -ERR_INVALID);
	GIT(f, "-C", "r", "push", "-q", "../bare.git", "HEAD:main");
	GIT(f, "-C", "bare.git", "worktree", "add", "-q", "../of-bare", "main");
	CHECK_OK(find(f, "of-bare", &d, &err));
	GIT(f, "init", "-q", "moved");
	GIT(f, "-C", "moved", "config", "core.worktree", "../../r");
	CHECK_INT(find(f, "moved", &d, &err), -ERR_INVALID);
	CHECK(strstr(err.msg, "core.worktree"));
	GIT(f, "-C", "moved", "config", "core.worktree", "..");
	CHECK_OK(find(f, "moved", &d, &err));
	test_write(&f->dir, "broken/.git", STR("gitdir: ../none\n"));
	CHECK_INT(find(f, "broken", &d, &err), -ERR_INVALID);
	test_write(&f->dir, "words/.git", STR("hello\n"));
	CHECK_INT(find(f, "words", &d, &err), -ERR_INVALID);
}

TEST(discover_finds_directories_files_worktrees_and_submodules_but_no_traps)
{
	each_host(discovers);
}
