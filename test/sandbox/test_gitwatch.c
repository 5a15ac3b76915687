/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/arena.h"
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
