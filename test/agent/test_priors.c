/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/priors.h"
#include "test/lib/test.h"
#include "test/tool/kit.h"

static struct str_list list(struct arena *mem, const char *const *names)
{
	struct str_list l = { arena_array(mem, 64, sizeof(*l.p)), 0 };

	while (names[l.n]) {
		l.p[l.n] = str_from(names[l.n]);
		l.n++;
	}
	return l;
}

TEST(priors_map_lists_shallow_directories_first_and_counts_the_rest)
{
	static const char *const names[] = { "src/b.c", "top.c", "src/deep/x.c", "doc/a.md", "src/a.c", "src/c.c", "src/d.c",
		"src/e.c", "src/f.c", "src/g.c", "src-more/z.c", NULL };
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf out = BUF_MAX(65536);
	struct str_list files = list(mem, names), none = { 0 };
	struct err err = { 0 };

	CHECK_OK(priors_map(&none, mem, &out, &err));
	CHECK_INT(out.n, 0);
	CHECK_OK(priors_map(&files, mem, &out, &err));
	CHECK_STR(buf_str(&out), STR("Directories and their files:\n  doc: a.md\n  src: a.c b.c c.c d.c e.c f.c +1\n"
		"  src-more: z.c\n  src/deep: x.c\n"));
}

TEST(priors_map_stays_within_its_bytes)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf out = BUF_MAX(65536);
	struct str_list files = { arena_array(mem, 5000, sizeof(struct str)), 5000 };
	struct err err = { 0 };

	for (size_t i = 0; i < files.n; i++)
		files.p[i] = str_printf(mem, "directory-with-a-long-name-%zu/and-a-file-with-one-too-%zu.c", i / 3, i);
	CHECK_OK(priors_map(&files, mem, &out, &err));
	CHECK(out.n < PRIORS_MAP + 100);
	CHECK(str_find(buf_str(&out), STR(" directories more\n")) < out.n);
}

TEST(priors_pairs_counts_what_commits_changed_together)
{
	static const char *const names[] = { "a", "b", "c", "lone", NULL };
	/* Merges and commits without names in between; one file that is tracked no more. */
	static const char log[] = "\1\0\na\0b\0\1\0\nb\0a\0c\0\1\0\1\0\na\0b\0gone\0\1\0\nb\0c\0\1\0\nlone\0";
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf out = BUF_MAX(65536);
	struct str_list files = list(mem, names);
	struct err err = { 0 };

	CHECK_OK(priors_pairs(str_of(log, sizeof(log) - 1), &files, mem, &out, &err));
	CHECK_STR(buf_str(&out), STR("Files that commits change together (how often):\n  a + b (3)\n  b + c (2)\n"));
	buf_clear(&out);
	CHECK_OK(priors_pairs(STR(""), &files, mem, &out, &err));
	CHECK_INT(out.n, 0);
}

TEST(priors_name_what_files_define_and_what_most_of_them_use)
{
	auto_kit struct kit k;
	struct err err = { 0 };
	auto_buf struct buf out = BUF_MAX(8192), again = BUF_MAX(8192);
	struct str names[] = { STR("src/a.c"), STR("src/b.c"), STR("src/c.py"), STR("notes.txt"), STR("gone.c"), STR("big.c"), STR("hid/h.c") };
	const struct str_list files = { names, COUNT(names) };

	kit_init(&k);
	kit_put(&k, "src/a.c", "struct two_words { int x; };\nint make_one(void)\n{\n\treturn 1;\n}\nint text(void)\n{\n\treturn 0;\n}\n");
	kit_put(&k, "src/b.c", "int main(void)\n{\n\t/* two_words */ return make_one() + text();\n}\n");
	kit_put(&k, "src/c.py", "class OnlyHere:\n    def use_it(self):\n        return make_one()\n");
	kit_put(&k, "notes.txt", "make_one make_one\n");
	kit_put(&k, "hid/h.c", "int hidden_name(void)\n{\n\treturn 0;\n}\n");
	{
		auto_buf struct buf big = BUF_MAX(1 << 20);

		while (big.n < 70000)
			CHECK_OK(buf_addz(&big, "int too_large(void)\n{\n\treturn make_one();\n}\n", &err));
		const char *text;
		CHECK_OK(buf_cstr(&big, &text, &err));
		kit_put(&k, "big.c", text);
	}
	k.hide = (struct str_list){ (struct str[]){ str_printf(k.mem, "%s/ws/hid", k.dir.path) }, 1 };
	CHECK_OK(priors_symbols(&k.ctx, &files, k.mem, &out, &err));
	/* In three files of source; a plain word, a comment, a file that is too large or hidden count for nothing. */
	CHECK_STR(buf_str(&out), STR("Names that many files use (how many), and where they are defined:\n  make_one (3) src/a.c\n"
				     "What source files define:\n  src/a.c: two_words make_one text\n  src/b.c: main\n  src/c.py: OnlyHere use_it\n"));
	CHECK_OK(priors_symbols(&k.ctx, &files, k.mem, &again, &err));
	CHECK_STR(buf_str(&again), buf_str(&out));
}

TEST(priors_of_names_are_bounded_and_their_absence_is_no_failure)
{
	auto_kit struct kit k;
	struct err err = { 0 };
	auto_buf struct buf out = BUF_MAX(8192);
	struct str names[400];
	const struct str_list files = { names, COUNT(names) }, none = { 0 };

	kit_init(&k);
	for (size_t i = 0; i < COUNT(names); i++) {
		names[i] = str_printf(k.mem, "f%03zu.c", i);
		kit_put(&k, names[i].p, str_printf(k.mem, "int long_name_of_%zu(void)\n{\n\treturn long_name_of_%zu();\n}\n", i, (i + 2) % 400).p);
	}
	CHECK_OK(priors_symbols(&k.ctx, &files, k.mem, &out, &err));
	CHECK(out.n > PRIORS_NAMES / 2 && out.n < PRIORS_HOT + PRIORS_NAMES + 200);
	buf_clear(&out);
	CHECK_OK(priors_symbols(&k.ctx, &none, k.mem, &out, &err));
	k.job = (struct job_result){ .why = JOB_LOST, .note = STR("no index worker") };
	CHECK_OK(priors_symbols(&k.ctx, &files, k.mem, &out, &err));
	CHECK(out.n == 0);
}
