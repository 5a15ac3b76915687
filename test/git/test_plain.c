/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/plain.h"
#include "test/git/git_lib.h"

#include <string.h>

/* Nothing is asked of git that the files tell, and what they tell is what git says; with `lines` before that. */
struct plain_case {
	const char *why, *lines;
	bool plain, files;
};

/* As many as git reads in blocks, each with a thread. */
#define MANY "h=$(git hash-object -w a.txt); seq 25000 | sed \"s|.*|100644 $h\tmany/f&|\" | git -c index.threads=4 update-index --index-info; " \
	"grep -q IEOT .git/index"

static const struct plain_case cases[] = {
	{ "as git init makes it", "true", true, true },
	{ "a branch that follows another one has a merge of its own", "git config branch.main.merge refs/heads/main", true, true },
	{ "a filter", "git config filter.x.clean cat", false, true },
	{ "its section in other letters", "printf '[FiLTer \"x\"]\\n\\tclean = cat\\n' >>.git/config", false, true },
	{ "and in the old form", "printf '[filter.x]\\nclean = cat\\n' >>.git/config", false, true },
	{ "behind a value", "printf '\\tx = 1\\n[core] [filter \"x\"] clean = cat\\n' >>.git/config", false, true },
	{ "a merge driver", "git config merge.x.driver cat", false, true },
	{ "a further file", "git config include.path ../more", false, true },
	{ "one on a condition", "git config includeIf.gitdir:/.path ../more", false, true },
	{ "a repository of several users", "git config core.sharedRepository group", false, true },
	{ "a configuration for each work tree", "git config extensions.worktreeConfig true", false, true },
	{ "no configuration", "rm .git/config", false, true },
	{ "an empty one", ": >.git/config", false, true },
	{ "one that a link leads to", "mv .git/config x; ln -s ../x .git/config; git add x", false, true },
	{ "a conflict has three entries of a name", "git checkout -qb o; echo o >a.txt; git commit -qam o; git checkout -q main; echo m >a.txt; "
		"git commit -qam m; git merge -q o >/dev/null || true", true, true },
	{ "a name that is only announced", "touch n; git add -N n", true, true },
	{ "short names", "git update-index --index-version 4", true, true },
	{ "names that are no text", "touch \"$(printf 'b\\377\\n')\"; git add .", true, true },
	{ "an index in two parts", "git update-index --split-index", true, false },
	{ "a part that must be understood", "git status -s >/dev/null; grep -q TREE .git/index; LC_ALL=C sed -i s/TREE/tREE/ .git/index", true, false },
	{ "in blocks", MANY, true, true },
	{ "in blocks that begin elsewhere", MANY "; LC_ALL=C sed -i 's/\\(IEOT...........\\)./\\1\\x01/' .git/index", true, false },
	{ "and whose end lies elsewhere", MANY "; LC_ALL=C sed -i 's/\\(EOIE....\\)./\\1\\x7f/' .git/index", true, false },
	{ "no index", "rm .git/index", true, false },
};

static void tells_the_same(struct fixture *f)
{
	const struct plain_case *c = f->row;
	struct str_list files = { 0 };
	struct str said;
	struct discovered d;
	size_t total = 0;
	bool files_told;
	struct err err = { 0 };

	repo_with_commit(f);
	shell(f, c->lines);
	CHECK_OK(discover_repo(f->dir.path, f->mem, &d, &err));
	CHECK(plain_config(&d) == c->plain);
	files_told = plain_files(&d, 100000, f->mem, &files, &total);
	CHECK(files_told == c->files);
	if (!files_told)
		return;
	said = shell(f, "git ls-files --cached --deduplicate -z | tr '\\0' '\\1'");
	CHECK_INT(files.n, total);
	for (size_t i = 0; i < files.n; i++)
		CHECK_STR(files.p[i], str_cut(&said, '\1'));
	CHECK_INT(said.n, 0);
	CHECK(plain_files(&d, 1, f->mem, &files, &total));
	CHECK_INT(files.n, total < 1 ? total : 1);
}

TEST(plain_files_tell_what_git_says_or_nothing)
{
	for (size_t i = 0; i < COUNT(cases); i++)
		each_host_for(tells_the_same, (void *)&cases[i]);
}

static const struct {
	const char *why, *lines;
	bool plain;
} configs[] = {
	{ "as git init makes it", "true", true },
	{ "the version of extensions, without one", "git config core.repositoryFormatVersion 1", true },
	{ "a version from the future", "git config core.repositoryFormatVersion 7", false },
	{ "the same, continued", "printf '[core]\n\trepositoryFormatVersion = 1\\\n2\n' >>.git/config", false },
	{ "a line that git does not read", "echo 'x y' >>.git/config", false },
	{ "a quote that does not end", "printf '[x]\n\ty = \"z\n' >>.git/config", false },
	{ "an alias of the person's", "git config alias.x '!f() { echo \"$1\"; }; f'", true },
};

static void knows_it(struct fixture *f)
{
	const size_t i = *(size_t *)f->row;
	struct discovered d;
	struct err err = { 0 };

	repo_with_commit(f);
	shell(f, configs[i].lines);
	CHECK_OK(discover_repo(f->dir.path, f->mem, &d, &err));
	CHECK(plain_config(&d) == configs[i].plain);
}

TEST(plain_config_is_one_that_git_reads_to_its_end)
{
	for (size_t i = 0; i < COUNT(configs); i++)
		each_host_for(knows_it, &i);
}

static const struct {
	const char *why, *lines;
	int r;
} refs[] = {
	{ "there is none", "true", 0 },
	{ "none, among packed ones", "git pack-refs --all", 0 },
	{ "one", "git update-ref " CHAIN " HEAD", 1 },
	{ "one in both places", "git update-ref " CHAIN " HEAD; git pack-refs --all; git update-ref -d HEAD; "
		"mkdir -p .git/refs/agent6/" RUN_ID "; printf '%040d\\n' 1 >.git/" CHAIN, 1 },
	{ "a packed one is git's to find", "git update-ref " CHAIN " HEAD; git pack-refs --all", -1 },
	{ "so is where another one leads", "git symbolic-ref " CHAIN " refs/heads/main", -1 },
	{ "and what is no name of an object", "mkdir -p .git/refs/agent6/" RUN_ID "; echo x >.git/" CHAIN, -1 },
	{ "or no file", "mkdir -p .git/" CHAIN, -1 },
	{ "what begins with a blank", "git update-ref " CHAIN " HEAD; sed -i 's/^/ /' .git/" CHAIN, -1 },
	{ "a name that is too long", "git update-ref " CHAIN " HEAD; sed -i 's/^/000000000000000000000000/' .git/" CHAIN, -1 },
	{ "no object at all", "git update-ref " CHAIN " HEAD; sed -i s/././g .git/" CHAIN "; tr . 0 <.git/" CHAIN " >x; cp x .git/" CHAIN, -1 },
};

static void finds(struct fixture *f)
{
	const char *lines = refs[*(size_t *)f->row].lines;
	struct discovered d;
	struct str sha;
	struct err err = { 0 };
	int r;

	repo_with_commit(f);
	shell(f, lines);
	CHECK_OK(discover_repo(f->dir.path, f->mem, &d, &err));
	r = plain_ref(&d, STR(CHAIN), f->mem, &sha);
	CHECK_INT(r, refs[*(size_t *)f->row].r);
	if (r > 0)
		CHECK_STR(sha, shell(f, "cat .git/" CHAIN));
}

TEST(plain_ref_finds_what_stands_in_a_file_of_its_own)
{
	for (size_t i = 0; i < COUNT(refs); i++)
		each_host_for(finds, &i);
}
