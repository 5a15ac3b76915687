/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/arena.h"
#include "git/gitindex.h"
#include "sandbox/gitwatch.h"
#include "sys/proc.h"
#include "test/lib/test.h"

static void shell(const char *dir, const char *line)
{
	const char *const argv[] = { "/bin/sh", "-ec", line, NULL };
	const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	struct proc_spec spec = { .argv = argv, .env = env, .cwd = dir };
	auto_buf struct buf out = BUF_MAX(4096), errs = BUF_MAX(4096);
	struct proc_status st;
	struct err err = { 0 };

	CHECK_OK(proc_run(&spec, STR(""), 0, &out, &errs, &st, &err));
	CHECK_STR(buf_str(&errs), STR(""));
	CHECK_INT(st.code, 0);
}

static const char make[] =
	"mkdir -p .git/hooks .git/info .git/refs/heads/agent6 .git/refs/agent6/mine .git/objects/info .git/logs "
	".git/modules/sub/hooks .git/modules/sub/objects .git/worktrees/w && echo a > .git/config && echo b > .git/hooks/h.sample && "
	"echo ref > .git/HEAD && echo 1 > .git/refs/heads/main && echo i > .git/index && echo m > .git/modules/sub/config && "
	"echo ref > .git/modules/sub/HEAD && "
	"echo w > .git/worktrees/w/gitdir";

/* What a command did, and how many names that is to be: 0 for what is git's own daily work. */
static const struct {
	const char *line;
	bool refs; /* seen only around a command */
	int n;
} rows[] = {
	{ "true", false, 0 },
	{ "echo c >> .git/config", false, 1 },
	{ "printf b > .git/config", false, 1 }, /* as long as before, nearly */
	{ "printf 'x\\n' > .git/config", false, 1 }, /* exactly as long */
	{ "cp .git/config x && mv x .git/config", false, 0 }, /* the same bytes */
	{ "touch .git/config", false, 0 },
	{ "chmod +x .git/hooks/h.sample", false, 1 },
	{ "echo evil > .git/hooks/pre-commit", false, 1 },
	{ "ln -s /bin/true .git/hooks/post-commit", false, 1 },
	{ "rm .git/hooks/h.sample", false, 1 },
	{ "mv .git/hooks .git/old && mkdir .git/hooks && cp .git/old/* .git/hooks", false, 0 },
	{ "mv .git/hooks .git/old && ln -s old .git/hooks", false, 2 },
	{ "echo '* filter=x' > .git/info/attributes", false, 1 },
	{ "echo /elsewhere > .git/objects/info/alternates", false, 1 },
	{ "echo x > .git/config.worktree", false, 1 },
	{ "echo x > .git/commondir", false, 1 },
	{ "echo x >> .git/modules/sub/config", false, 1 },
	{ "echo x >> .git/modules/sub/hooks/pre-commit", false, 1 },
	{ "mkdir -p .git/modules/a/b && echo x > .git/modules/a/b/config", false, 1 },
	{ "echo /x > .git/worktrees/w/gitdir", false, 1 },
	{ "mv .git g && ln -s g .git", false, 1 },
	{ "mv .git g && echo 'gitdir: g' > .git", false, 7 },
	{ "echo 2 > .git/refs/heads/main", true, 1 },
	{ "mkdir -p .git/refs/remotes/o && echo 2 > .git/refs/remotes/o/main", true, 1 },
	{ "echo x > .git/HEAD", true, 1 },
	{ "echo x > .git/packed-refs", true, 1 },
	{ "rm .git/refs/heads/main", true, 1 },
	{ "echo 2 > .git/refs/agent6/mine/head", true, 0 },
	{ "echo 2 > .git/refs/heads/agent6/mine", true, 0 },
	{ "mkdir .git/refs/agent6/other && echo 2 > .git/refs/agent6/other/head", true, 1 },
	{ "echo 2 > .git/refs/heads/agent6/mine2", true, 1 },
	{ "echo 2 > .git/refs/heads/x.lock", true, 0 },
	{ "echo 2 > .git/index; echo 2 > .git/objects/x; echo 2 > .git/logs/HEAD; echo 2 > .git/COMMIT_EDITMSG", true, 0 },
	{ "echo x > .git/modules/sub/objects/config", true, 0 },
	{ "mkdir .git/modules/objects && echo x > .git/modules/objects/config", false, 1 },
	{ "echo x > .git/modules/HEAD; mkdir .git/modules/logs && echo x > .git/modules/logs/config", false, 1 },
	{ "mkdir -p .git/modules/lib/refs && echo x > .git/modules/lib/refs/config", false, 1 },
	{ "mkdir -p .git/refs/replace/refs/agent6/mine && echo 2 > .git/refs/replace/refs/agent6/mine/a", true, 1 },
	{ "mkdir -p .git/refs/tags/refs/heads/agent6 && echo 2 > .git/refs/tags/refs/heads/agent6/mine", true, 1 },
	{ "mkdir -p .git/refs/heads/agent6/x/refs/heads/agent6 && echo 2 > .git/refs/heads/agent6/x/refs/heads/agent6/mine", true, 1 },
	{ "mkdir .git/rebase-merge && echo 'exec x' > .git/rebase-merge/git-rebase-todo", false, 1 },
	{ "mkdir .git/rebase-apply && echo x > .git/rebase-apply/next", false, 1 },
	{ "mkdir .git/sequencer && echo x > .git/sequencer/todo", false, 1 },
};

static int lines(const struct buf *b)
{
	int n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->p[i] == '\n';
	return n;
}

TEST(gitwatch_names_what_decides_about_programs_and_branches)
{
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_dir struct test_dir ws = test_dir_new();
		const char *git = str_printf(mem, "%s/.git", ws.path).p;
		struct gitwatch_spec spec = { .dot_git = git, .git_dir = git, .common_dir = git, .run_id = "mine" };
		auto_buf struct buf changed = BUF_MAX(4096), again = BUF_MAX(4096), unmarked = BUF_MAX(4096);
		struct gitwatch *w = NULL;
		struct err err = { 0 };
		bool partial = true;

		shell(ws.path, make);
		CHECK_OK(gitwatch_open(&spec, &w, &partial, &err));
		CHECK(!partial);
		gitwatch_mark(w);
		shell(ws.path, rows[i].line);
		gitwatch_look(w, false, &unmarked);
		gitwatch_look(w, true, &changed);
		if (lines(&unmarked) + lines(&changed) != rows[i].n)
			CHECK_STR(str_printf(mem, "%s: " STR_FMT STR_FMT, rows[i].line, STR_ARG(buf_str(&unmarked)), STR_ARG(buf_str(&changed))),
				str_printf(mem, "%d names", rows[i].n));
		if (rows[i].refs)
			CHECK_INT(lines(&unmarked), 0);
		gitwatch_look(w, true, &again); /* told once */
		CHECK_INT(lines(&again), 0);
		gitwatch_close(w);
	}
}

TEST(gitwatch_takes_refs_as_they_are_when_a_command_starts)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	const char *git = str_printf(mem, "%s/.git", ws.path).p;
	struct gitwatch_spec spec = { .dot_git = git, .git_dir = git, .common_dir = git, .run_id = "" };
	auto_buf struct buf changed = BUF_MAX(4096);
	struct gitwatch *w = NULL;
	struct err err = { 0 };
	bool partial;

	shell(ws.path, make);
	CHECK_OK(gitwatch_open(&spec, &w, &partial, &err));
	shell(ws.path, "echo 2 > .git/refs/heads/main; echo 2 > .git/refs/agent6/any");
	gitwatch_mark(w);
	gitwatch_look(w, true, &changed);
	CHECK_INT(changed.n, 0);
	shell(ws.path, "echo 2 > .git/refs/agent6/mine/head"); /* without a run none is its own */
	gitwatch_look(w, true, &changed);
	CHECK_INT(lines(&changed), 1);
	gitwatch_close(w);
}

TEST(gitwatch_refuses_a_repository_that_is_not_there)
{
	auto_dir struct test_dir ws = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	const char *git = str_printf(mem, "%s/.git", ws.path).p;
	struct gitwatch_spec spec = { .dot_git = git, .git_dir = git, .common_dir = git, .run_id = "" };
	struct gitwatch *w = NULL;
	struct err err = { 0 };
	bool partial;

	CHECK_INT(gitwatch_open(&spec, &w, &partial, &err), -ERR_UNSUPPORTED);
}

/* Real git, in a repository with a submodule, an embedded repository, and a place that was never cloned. */
static const char make_inner[] =
	"export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
	"GIT_COMMITTER_EMAIL=a@b; git init -q -b main . && echo a > a && mkdir kept && git -C kept init -q -b main && "
	"git -C kept commit -q --allow-empty -m k && mkdir -p sub .git/modules/sub && git -C sub init -q -b main && "
	"git -C sub commit -q --allow-empty -m s && mv sub/.git/* .git/modules/sub/ && rmdir sub/.git && "
	"echo 'gitdir: ../.git/modules/sub' > sub/.git && git add -A 2>/dev/null && git commit -q -m 1";

static const struct {
	const char *line;
	const char *names; /* a part of what is told; NULL: nothing is */
} inner_rows[] = {
	{ "git status >/dev/null", NULL },
	{ "touch a; git status >/dev/null", NULL },
	{ "echo b > a; git add -A", NULL },
	{ "mkdir d && echo c > d/c && git add d && git rm -q --cached a", NULL },
	{ "git update-index --assume-unchanged a", "/.git/index\n" },
	{ "git update-index --skip-worktree a", "/.git/index\n" },
	{ "mkdir evil && git -C evil init -q && git -C evil -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && "
	  "git add evil 2>/dev/null", "/.git/index\n" },
	{ "git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,never", "/.git/index\n" },
	{ "git rm -q --cached kept", "/.git/index\n" },
	{ "echo garbage > .git/index", "/.git/index\n" },
	{ "rm .git/index", "/.git/index\n" },
	{ "rm .git/index && mkdir .git/index", "/.git/index\n" },
	{ "git -C kept config core.fsmonitor ./evil", "/kept/.git/config\n" },
	{ "echo x > kept/.git/hooks/post-checkout", "/kept/.git/hooks/post-checkout\n" },
	{ "echo 'gitdir: ../elsewhere' > sub/.git", "/sub/.git\n" },
	{ "rm sub/.git && mkdir sub/.git", "/sub/.git\n" },
	{ "rm -r sub", "/sub/.git\n" },
	{ "git -C kept -c user.name=a -c user.email=a@b commit -q --allow-empty -m 2; git -C sub status >/dev/null", NULL },
};

TEST(gitwatch_sees_an_index_that_leads_git_elsewhere_and_what_repositories_inside_run)
{
	auto_arena struct arena *mem = arena_new();

	for (size_t i = 0; i < COUNT(inner_rows); i++) {
		auto_dir struct test_dir ws = test_dir_new();
		const char *git = str_printf(mem, "%s/.git", ws.path).p;
		struct policy_list inner = { 0 };
		struct gitwatch_spec spec = { .dot_git = git, .git_dir = git, .common_dir = git, .run_id = "mine", .inner = &inner,
			.digest = gitindex_digest };
		auto_buf struct buf changed = BUF_MAX(4096), again = BUF_MAX(4096);
		struct gitwatch *w = NULL;
		struct err err = { 0 };
		bool partial;

		policy_list_add(&inner, mem, str_printf(mem, "%s/kept/.git", ws.path).p);
		policy_list_add(&inner, mem, str_printf(mem, "%s/sub/.git", ws.path).p);
		shell(ws.path, make_inner);
		CHECK_OK(gitwatch_open(&spec, &w, &partial, &err));
		gitwatch_mark(w);
		shell(ws.path, str_printf(mem, "export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1; %s", inner_rows[i].line).p);
		gitwatch_look(w, true, &changed);
		bool right = inner_rows[i].names ? str_find(buf_str(&changed), str_from(inner_rows[i].names)) < changed.n : changed.n == 0;

		if (!right)
			print_error("%s: " STR_FMT "\n", inner_rows[i].line, STR_ARG(buf_str(&changed)));
		CHECK(right);
		gitwatch_look(w, true, &again);
		CHECK_INT(again.n, 0);
		gitwatch_close(w);
	}
}
