/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/gitop.h"

#include "test/lib/test.h"

#include <string.h>

#define SHA "0123456789012345678901234567890123456789"
#define ZEROS "0000000000000000000000000000000000000000"

static int words_of(uint8_t op, const char *const *args, bool may_merge, bool in, struct arena *mem,
	struct zygote_words *out, struct err *err)
{
	struct str list[200];
	size_t n = 0;

	for (; args[n]; n++)
		list[n] = str_from(args[n]);
	struct zygote_git_request rq = { .op = op, .args = list, .nargs = n, .has_stdin = in, .work_tree = "/w",
		.git_dir = "/w/.git", .common_dir = "/w/.git", .index = "/tmp/i", .run_id = "calm-fox-1",
		.may_merge = may_merge };

	return gitop_words(&rq, mem, out, err);
}

static struct str joined(const struct zygote_words *w, struct arena *mem)
{
	struct str all = STR("");
	size_t i = 0;

	while (w->argv[i] && (strcmp(w->argv[i], "git") == 0 || strcmp(w->argv[i], "--no-pager") == 0 ||
				     strcmp(w->argv[i], "-c") == 0 || strcmp(w->argv[i - 1], "-c") == 0))
		i++;
	for (; w->argv[i]; i++)
		all = str_printf(mem, STR_FMT "%s%s", STR_ARG(all), all.n > 0 ? " " : "", w->argv[i]);
	return all;
}

TEST(gitop_turns_arguments_into_the_words_of_the_table)
{
	static const struct {
		const char *why;
		uint8_t op;
		const char *args[8];
		const char *want;
	} cases[] = {
		{ "a suffix stays", GIT_RESOLVE, { "HEAD" },
			"rev-parse --verify --quiet --end-of-options HEAD^{commit}" },
		{ "what a person typed", GIT_REVISION, { "main@{2 days ago}~3" },
			"rev-parse --verify --quiet --end-of-options main@{2 days ago}~3^{commit}" },
		{ "which run is the newest", GIT_NEWEST, { NULL },
			"for-each-ref --sort=-committerdate --count=1 --format=%(objectname)%(refname) refs/agent6/*/head" },
		{ "no parent", GIT_COMMIT, { SHA }, "commit-tree " SHA " -F -" },
		{ "two parents", GIT_COMMIT, { SHA, SHA, SHA }, "commit-tree " SHA " -p " SHA " -p " SHA " -F -" },
		{ "paths come after --", GIT_DIFF_STAT, { "HEAD", SHA, "--output=x", "-a" },
			"diff --no-ext-diff --no-textconv --no-color --ignore-submodules=all --stat=100 HEAD " SHA
			" -- --output=x -a" },
		{ "an own ref", GIT_STEP_REF, { "calm-fox-1", SHA, SHA },
			"update-ref --no-deref refs/agent6/calm-fox-1/head " SHA " " SHA },
		{ "no lower bound", GIT_LOG, { "5", "refs/heads/a/b" },
			"log -z --no-color --no-show-signature --no-mailmap --format=%H%x00%at%x00%s --max-count=5 "
			"refs/heads/a/b --" },
		{ "a lower bound", GIT_LOG, { "5", "HEAD", SHA },
			"log -z --no-color --no-show-signature --no-mailmap --format=%H%x00%at%x00%s --max-count=5 "
			"HEAD ^" SHA " --" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		struct zygote_words w;
		struct err err = { 0 };

		CHECK_OK(words_of(cases[i].op, cases[i].args, true, false, mem, &w, &err));
		CHECK_STR(joined(&w, mem), str_from(cases[i].want));
	}
}

TEST(gitop_refuses_what_does_not_fit_its_kind)
{
	static const struct {
		const char *why;
		uint8_t op;
		bool may_merge, in;
		const char *args[4];
		int code;
	} cases[] = {
		{ "no such operation", 200, true, false, { NULL }, ERR_INVALID },
		{ "an option for a revision", GIT_RESOLVE, true, false, { "--all" }, ERR_INVALID },
		{ "a range", GIT_RESOLVE, true, false, { "HEAD..main" }, ERR_INVALID },
		{ "a short name", GIT_RESOLVE, true, false, { "main" }, ERR_INVALID },
		{ "another ref space", GIT_RESOLVE, true, false, { "refs/tags/x" }, ERR_INVALID },
		{ "an expression that is an option", GIT_REVISION, true, false, { "--git-dir" }, ERR_INVALID },
		{ "an expression that is a range", GIT_REVISION, true, false, { "HEAD~2..HEAD" }, ERR_INVALID },
		{ "an expression that leaves out", GIT_REVISION, true, false, { "^HEAD" }, ERR_INVALID },
		{ "an expression for a file", GIT_REVISION, true, false, { "HEAD:secret" }, ERR_INVALID },
		{ "an expression of two lines", GIT_REVISION, true, false, { "HEAD\nHEAD" }, ERR_INVALID },
		{ "an expression of two words", GIT_REVISION, true, false, { "HEAD --all" }, ERR_INVALID },
		{ "an expression that takes all memory", GIT_REVISION, true, false, { "HEAD^{/((((a{1,99}){1,99}){1,99}){1,99})}" }, ERR_INVALID },
		{ "no expression", GIT_REVISION, true, false, { "" }, ERR_INVALID },
		{ "a name for an object", GIT_MERGE_BASE, true, false, { SHA, "HEAD" }, ERR_INVALID },
		{ "too few", GIT_DIFF, true, false, { "HEAD" }, ERR_INVALID },
		{ "too many", GIT_INDEX_RESET, true, false, { SHA, SHA }, ERR_INVALID },
		{ "a path out of the tree", GIT_DIFF, true, false, { "HEAD", "HEAD", "a/../../b" }, ERR_INVALID },
		{ "an absolute path", GIT_DIFF, true, false, { "HEAD", "HEAD", "/etc/passwd" }, ERR_INVALID },
		{ "no object: the ref would go", GIT_STEP_REF, true, false, { "calm-fox-1", ZEROS, SHA }, ERR_INVALID },
		{ "no object: the branch would go", GIT_MOVE_BRANCH, true, false, { "main", ZEROS, SHA }, ERR_INVALID },
		{ "another run's chain", GIT_STEP_REF, true, false, { "other-run-2", SHA, SHA }, ERR_DENIED },
		{ "another run's branch", GIT_DROP_BRANCH, true, false, { "other-run-2", SHA }, ERR_DENIED },
		{ "a branch for an agent", GIT_MOVE_BRANCH, false, false, { "main", SHA, SHA }, ERR_DENIED },
		{ "what was set aside, for an agent", GIT_DROP_STASH, false, false, { "calm-fox-1", SHA }, ERR_DENIED },
		{ "setting aside, for an agent", GIT_STASH_REF, false, false, { "calm-fox-1", SHA, ZEROS }, ERR_DENIED },
		{ "what was set aside before another run", GIT_DROP_STASH, true, false, { "other-run-2", SHA }, ERR_DENIED },
		{ "a checkout for an agent", GIT_CARRY, false, false, { SHA, SHA }, ERR_DENIED },
		{ "input where none is read", GIT_STATUS, true, true, { NULL }, ERR_INVALID },
		{ "a driver that is an option", GIT_STATUS, true, false, { "driver:x=y" }, ERR_INVALID },
		{ "an upper-case object name", GIT_INDEX_RESET, true, false,
			{ "ABCDEF6789012345678901234567890123456789" }, ERR_INVALID },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		struct zygote_words w;
		struct err err = { 0 };

		CHECK_INT(words_of(cases[i].op, cases[i].args, cases[i].may_merge, cases[i].in, mem, &w, &err),
			-cases[i].code);
		CHECK(err.msg[0] != '\0');
	}
}

TEST(gitop_never_spells_a_word_that_rewrites_or_sends)
{
	static const char *const never[] = { "push", "reset", "--force", "-f", "--amend", "rebase", "filter-branch", "fetch",
		"gc", "reflog", "checkout", "clean" };
#define X(op, value, who, index, in, words) words,
	static const char *const all[] = { GIT_OPS(X) };
#undef X

	for (size_t i = 0; i < COUNT(all); i++)
		for (struct str rest = str_from(all[i]); rest.n > 0;) {
			struct str w = str_cut(&rest, ' ');

			for (size_t k = 0; k < COUNT(never); k++)
				CHECK(!str_eqz(w, never[k]));
		}
}

TEST(gitop_switches_every_named_filter_off_and_names_the_repository)
{
	auto_arena struct arena *mem = arena_new();
	struct zygote_words w;
	struct err err = { 0 };
	size_t off = 0, dirs = 0;

	CHECK_OK(words_of(GIT_STATUS, (const char *[]){ "driver:lfs", "driver:a.b", NULL }, false, false, mem, &w, &err));
	for (size_t i = 0; w.argv[i]; i++)
		off += strcmp(w.argv[i], "filter.lfs.clean=") == 0 || strcmp(w.argv[i], "filter.a.b.process=") == 0 ||
			strcmp(w.argv[i], "filter.lfs.required=false") == 0 ||
			strcmp(w.argv[i], "core.hooksPath=/dev/null") == 0;
	for (size_t i = 0; w.env[i]; i++)
		dirs += strcmp(w.env[i], "GIT_DIR=/w/.git") == 0 || strcmp(w.env[i], "GIT_WORK_TREE=/w") == 0 ||
			strcmp(w.env[i], "GIT_OPTIONAL_LOCKS=0") == 0 || strcmp(w.env[i], "GIT_CONFIG_GLOBAL=/dev/null") == 0;
	CHECK_INT(off, 4);
	CHECK_INT(dirs, 4);
	struct zygote_git_request rq = { .op = GIT_STATUS, .work_tree = "/w", .git_dir = "/w/.git", .common_dir = "/w/.git",
		.index = "/tmp/i", .config = "/tmp/c", .run_id = "calm-fox-1" };

	CHECK_OK(gitop_words(&rq, mem, &w, &err));
	for (size_t i = dirs = 0; w.env[i]; i++)
		dirs += strcmp(w.env[i], "GIT_CONFIG_GLOBAL=/tmp/c") == 0;
	CHECK_INT(dirs, 1);
}

TEST(git_branch_names_are_what_git_takes)
{
	static const struct {
		const char *name;
		bool ok;
	} cases[] = {
		{ "main", true }, { "feature/x-1", true }, { "agent6/calm-fox-1", true }, { "caf\xc3\xa9", true },
		{ "a#b", true }, { "", false }, { "-d", false }, { "a..b", false }, { "a b", false }, { "a~1", false },
		{ "a^", false }, { "a:b", false }, { "a?", false }, { "a*", false }, { "a[", false }, { "a\\b", false },
		{ "a@{1}", false }, { "@", false }, { "HEAD", false }, { "a/", false }, { "/a", false }, { "a//b", false },
		{ "a.lock", false }, { "a.lock/b", false }, { ".a", false }, { "a/.b", false }, { "a.", false },
		{ "a\x7f", false }, { "a\n", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK_INT(git_branch_ok(str_from(cases[i].name)), cases[i].ok);
}
