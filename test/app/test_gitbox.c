/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/gitbox.h"
#include "sys/proc.h"

#include "test/lib/test.h"

#include <fcntl.h>
#include <string.h>

static const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
	"GIT_AUTHOR_NAME=P", "GIT_AUTHOR_EMAIL=p@example.invalid", "GIT_COMMITTER_NAME=P",
	"GIT_COMMITTER_EMAIL=p@example.invalid", NULL };

static void git(const char *cwd, const char *const *words)
{
	auto_buf struct buf out = BUF_MAX(65536), errs = BUF_MAX(65536);
	struct proc_spec spec = { .argv = words, .env = env, .cwd = cwd };
	struct proc_status st;
	struct err err = { 0 };

	CHECK_OK(proc_run(&spec, STR(""), 60000, &out, &errs, &st, &err));
	CHECK_INT(st.code, 0);
}
#define GIT(cwd, ...) git((cwd), (const char *const[]){ "git", __VA_ARGS__, NULL })

static const char *jail_bin(struct arena *mem)
{
	char self[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	CHECK(n > 0);
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	return str_printf(mem, "%s/agent6-jail", self).p;
}

/* A linked worktree: its git directory and the common one are both outside the work tree. */
static const struct config_sandbox nothing_granted = { .root_as_uid = POLICY_ROOT_UID };

TEST(gitbox_serves_a_plain_repository_and_a_linked_worktree)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	const char *main_tree = str_printf(mem, "%s/main", dir.path).p, *linked = str_printf(mem, "%s/linked", dir.path).p;
	const char *const trees[] = { main_tree, linked };
	struct err err = { 0 };

	test_write(&dir, "main/a", STR("a\n"));
	GIT(main_tree, "init", "-q", "-b", "main");
	GIT(main_tree, "add", "-A");
	GIT(main_tree, "commit", "-qm", "first");
	GIT(main_tree, "worktree", "add", "-q", "-b", "side", linked);
	for (size_t i = 0; i < COUNT(trees); i++) {
		auto_gitbox struct gitbox *box = NULL;
		autoclose int fd = open(trees[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct discovered d;
		struct repo *repo;
		struct repo_head head;
		struct repo_step step = { .message = STR("step\n") };
		struct repo_stepped done;
		struct repo_commit *commits;
		size_t n;

		CHECK_OK(discover_repo(trees[i], mem, &d, &err));
		struct gitbox_spec spec = { .repo = &d, .jail_bin = jail_bin(mem), .name = "A", .email = "a@example.invalid",
			.run_id = i == 0 ? "run-1" : "run-2", .may_merge = true, .config = &nothing_granted };

		CHECK_OK(gitbox_open(&spec, &box, &err));
		CHECK_OK(repo_open(gitbox_host(box), fd, str_from(spec.run_id), &repo, &err));
		CHECK_OK(repo_head(repo, mem, &head, &err));
		CHECK_STR(head.branch, i == 0 ? STR("main") : STR("side"));
		step.base = head.sha;
		test_write(&dir, i == 0 ? "main/a" : "linked/a", STR("b\n"));
		CHECK_OK(repo_commit_step(repo, &step, mem, &done, &err));
		CHECK(done.committed);
		CHECK_OK(repo_commits(repo, head.sha, done.sha, 10, mem, &commits, &n, &err));
		CHECK_INT(n, 1);
		/* More operations than the monitor's side could hold unread. */
		for (int k = 0; k < 400; k++)
			CHECK_INT(repo_branch_exists(repo, STR("main"), &err), 1);

		struct repo_merge m = { .from = done.sha, .into = i == 0 ? STR("side") : STR("main"), .how = REPO_SQUASH,
			.message = STR("m\n") };
		struct repo_merged merged;

		CHECK_INT(repo_merge(repo, &m, mem, &merged, &err), -ERR_CONFLICT); /* checked out elsewhere */
		repo_close(repo);
	}
}

TEST(gitbox_says_why_there_is_no_cell)
{
	auto_arena struct arena *mem = arena_new();
	struct discovered d = { .top = "/nonexistent/top", .dot_git = "/nonexistent/top/.git",
		.git_dir = "/nonexistent/top/.git", .common_dir = "/nonexistent/top/.git" };
	struct gitbox_spec spec = { .repo = &d, .jail_bin = jail_bin(mem), .config = &nothing_granted };
	struct gitbox *box;
	struct err err = { 0 };

	CHECK_INT(gitbox_open(&spec, &box, &err), -ERR_UNSUPPORTED);
	CHECK(strstr(err.msg, "/nonexistent/top"));
	spec.jail_bin = "/nonexistent/jail";
	CHECK_INT(gitbox_open(&spec, &box, &err), -ERR_NOENT);
}
