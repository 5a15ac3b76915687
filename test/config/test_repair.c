/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/repair.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <string.h>

struct home {
	struct test_dir dir;
	struct arena *mem;
	struct config_files files;
};

static void home_fini(struct home *h)
{
	arena_free(h->mem);
	test_dir_fini(&h->dir);
}
#define auto_home CLEANUP(home_fini)

static struct home home_new(const char *global, const char *repo)
{
	struct home h = { .dir = test_dir_new(), .mem = arena_new() };

	h.files.global = str_printf(h.mem, "%s/conf/config.toml", h.dir.path).p;
	h.files.repo = str_printf(h.mem, "%s/repo/config.toml", h.dir.path).p;
	h.files.home = "/home/me";
	if (global)
		test_write(&h.dir, "conf/config.toml", str_from(global));
	if (repo)
		test_write(&h.dir, "repo/config.toml", str_from(repo));
	return h;
}

static struct str read_of(struct home *h, const char *name)
{
	auto_buf struct buf b = BUF_MAX(1 << 20);
	struct err err = { 0 };

	CHECK_OK(file_read(h->dir.fd, name, &b, &err));
	return str_dup(h->mem, buf_str(&b));
}

static const struct {
	const char *why;
	const char *global, *repo;
	const char *want_global, *want_repo; /* NULL: as before */
	const char *keys;                    /* those taken out, a blank between */
	size_t left;
} rows[] = {
	{ "nothing is there", NULL, NULL, NULL, NULL, "", 0 },
	{ "nothing is wrong", "git.auto_merge = true\n", NULL, NULL, NULL, "", 0 },
	{ "an unknown key", "# mine\nnonsense = 1\ngit.auto_merge = true # yes\n", NULL, "# mine\ngit.auto_merge = true # yes\n", NULL, "nonsense", 0 },
	{ "a value of the wrong type", "[git]\nauto_merge = 3 # three\nauto_prune = true\n", NULL, "[git]\nauto_prune = true\n", NULL, "git.auto_merge", 0 },
	{ "a value out of range", "[workflow]\nverify_timeout_s = 0\n", NULL, "[workflow]\n", NULL, "workflow.verify_timeout_s", 0 },
	{ "no such word", "sandbox.run_commands = \"always\"\n", NULL, "", NULL, "sandbox.run_commands", 0 },
	{ "an item of a list", "[sandbox]\nhide_paths = [\n  \"/a\", # one\n  3,\n]\nprofile = \"auto\"\n", NULL, "[sandbox]\nprofile = \"auto\"\n", NULL,
		"sandbox.hide_paths", 0 },
	{ "a table that is none", "[colours]\nred = 1\nblue = 2\n\n[git]\nauto_merge = true\n", NULL, "\n[git]\nauto_merge = true\n", NULL, "colours.red colours.blue colours", 0 },
	{ "such tables below one another", "[a.b]\nx = 1\n[a]\ny = 2\n[a.c.d]\nz.z = 1\n", NULL, "", NULL, "*", 0 },
	{ "such a key with dots", "a.b.c = 1\na.d = 2\n", NULL, "", NULL, "a.b.c a.d", 0 },
	{ "a table that is written as a value", "a = { b = 1 }\ngit = { auto_merge = 3, auto_prune = true }\n", NULL, NULL, NULL, "*", 0 },
	{ "tables in a list", "[[a]]\nx = 1\n[[a]]\nx = 2\n", NULL, NULL, NULL, "*", 0 },
	{ "several, in both files", "a = 1\nb = 2\ngit.auto_merge = true\n", "c = 3\n", "git.auto_merge = true\n", "", "a b c", 0 },
	{ "in the repository's file what belongs elsewhere", NULL, "skills.extra_dirs = [\"/x\"]\n[git]\nauto_merge = false\n", NULL,
		"[git]\nauto_merge = false\n", "skills.extra_dirs", 0 },
	{ "a role whose provider is not there", "[models.worker]\nprovider = \"nowhere\"\nmodel = \"m\"\n", NULL, NULL, NULL, "*", 0 },
};

TEST(config_fix_takes_out_what_is_wrong_and_leaves_the_rest_as_it_is)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_home struct home h = home_new(rows[i].global, rows[i].repo);
		auto_buf struct buf keys = BUF_MAX(4096);
		struct config_removed *list;
		struct config_faults left;
		struct err err = { 0 };
		size_t n;

		CHECK_OK(config_fix(&h.files, h.mem, &list, &n, &left, &err));
		for (size_t k = 0; k < n; k++)
			CHECK_OK(buf_addf(&keys, &err, "%s" STR_FMT, k > 0 ? " " : "", STR_ARG(list[k].key)));
		if (left.n != rows[i].left || config_check(&h.files, h.mem).n != 0)
			print_message("%s\n", rows[i].why);
		CHECK_INT(left.n, rows[i].left);
		if (strcmp(rows[i].keys, "*") != 0)
			CHECK_STR(buf_str(&keys), str_from(rows[i].keys));
		else
			CHECK(n > 0);
		if (rows[i].want_global)
			CHECK_STR(read_of(&h, "conf/config.toml"), str_from(rows[i].want_global));
		if (rows[i].want_repo)
			CHECK_STR(read_of(&h, "repo/config.toml"), str_from(rows[i].want_repo));
		CHECK_INT(config_check(&h.files, h.mem).n, 0);
		CHECK_OK(config_fix(&h.files, h.mem, &list, &n, &left, &err));
		CHECK_INT(n, 0);
	}
}

TEST(config_fix_names_the_line_that_the_person_wrote)
{
	auto_home struct home h = home_new("git.auto_merge = true\n\n[lsp]\nenabled = \"maybe\" # c\nfoo = [\n  1,\n]\ntimeout_s = 3\n[bogus]\nx = 1\n"
		"[git.commit]\nnonsense = 2\n", NULL);
	static const struct { const char *key; int line; } want[] = { { "lsp.enabled", 4 }, { "lsp.foo", 5 }, { "bogus.x", 10 },
		{ "git.commit.nonsense", 12 }, { "bogus", 9 } };
	struct config_removed *list;
	struct config_faults left;
	struct err err = { 0 };
	size_t n, found = 0;

	CHECK_OK(config_fix(&h.files, h.mem, &list, &n, &left, &err));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < COUNT(want); k++)
			if (str_eqz(list[i].key, want[k].key)) {
				CHECK_INT(list[i].why.at.line, want[k].line);
				found++;
			}
	CHECK_INT(n, COUNT(want));
	CHECK_INT(found, COUNT(want));
}

TEST(config_fix_leaves_what_is_no_toml)
{
	auto_home struct home h = home_new("a = = 1\nnonsense = 2\n", NULL);
	struct config_removed *list;
	struct config_faults left;
	struct err err = { 0 };
	size_t n;

	CHECK_INT(config_fix(&h.files, h.mem, &list, &n, &left, &err), -ERR_SYNTAX);
	CHECK_INT(err.at.line, 1);
	CHECK_STR(read_of(&h, "conf/config.toml"), STR("a = = 1\nnonsense = 2\n"));
}

TEST(config_fill_writes_every_default_and_changes_no_value)
{
	auto_home struct home h = home_new("# mine\n[git]\nauto_merge = true # yes\n\n[providers.x]\napi_format = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n",
		"git.auto_prune = true\npreset = \"quick\"\n");
	struct config *before = arena_alloc(h.mem, sizeof(*before)), *after = arena_alloc(h.mem, sizeof(*after));
	struct config_leaf *was, *is;
	struct config_filled done;
	struct err err = { 0 };
	size_t n;

	CHECK_OK(config_load(&h.files, h.mem, before, &err));
	CHECK_INT(config_fill(&h.files, false, h.mem, &done, &err), -ERR_BUSY);
	CHECK_OK(config_fill(&h.files, true, h.mem, &done, &err));
	CHECK(done.added > 50);
	CHECK_INT(done.left_out.n, 2);
	CHECK_OK(config_load(&h.files, h.mem, after, &err));
	n = config_leaves(before, h.mem, &was);
	CHECK_INT(config_leaves(after, h.mem, &is), n);
	for (size_t i = 0; i < n; i++) {
		auto_buf struct buf a = BUF_MAX(65536), b = BUF_MAX(65536);

		CHECK_OK(field_print(was[i].field, was[i].base, &a, &err));
		CHECK_OK(field_print(is[i].field, is[i].base, &b, &err));
		CHECK_STR(buf_str(&b), buf_str(&a));
	}
	struct str text = read_of(&h, "conf/config.toml");

	CHECK(str_find(text, STR("# mine\n[git]\nauto_merge = true # yes\n")) < text.n);
	CHECK(str_find(text, STR("auto_prune = false")) < text.n); /* the global layer's, not the repository's */
	CHECK(str_find(text, STR("protect_git")) == text.n);
	CHECK_OK(config_fill(&h.files, true, h.mem, &done, &err));
	CHECK_INT(done.added, 0);
}

TEST(config_fill_makes_the_file_where_there_is_none)
{
	auto_home struct home h = home_new(NULL, NULL);
	struct config_filled done;
	struct err err = { 0 };

	CHECK_OK(config_fill(&h.files, false, h.mem, &done, &err));
	CHECK(done.added > 50);
	CHECK_INT(config_check(&h.files, h.mem).n, 0);
}
