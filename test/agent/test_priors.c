/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/priors.h"
#include "test/lib/test.h"

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
