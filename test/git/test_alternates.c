/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/alternates.h"
#include "test/lib/test.h"

#include <sys/stat.h>


static const struct row {
	const char *why, *file, *more; /* what repo/objects/info/alternates and one/info/alternates hold; NULL: they are not there */
	const char *found;             /* names below the directory, each with a ';' */
} rows[] = {
	{ "none", NULL, NULL, "" },
	{ "empty", "", NULL, "" },
	{ "one, from the objects on", "../../one\n", NULL, "one;" },
	{ "no end of the line", "../../one", NULL, "one;" },
	{ "a comment, and one that is not there", "# ../../one\n../../gone\n", NULL, "" },
	{ "in quotes", "\"../../o\\156e\"\n", NULL, "one;" },
	{ "twice", "../../one\n../../one/.\n", NULL, "one;" },
	{ "of another one", "../../one\n", "../two\n", "one;two;" },
	{ "in a circle", "../../one\n", "../one\n../repo/objects\n", "one;repo/objects;" },
};

static void play(const struct row *row)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	static const char *const dirs[] = { "repo", "repo/objects", "repo/objects/info", "one", "one/info", "two", "two/info" };
	struct str got = STR("");
	struct str_list list;
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(dirs); i++)
		CHECK_INT(mkdirat(dir.fd, dirs[i], 0755), 0);
	if (row->file)
		test_write(&dir, "repo/objects/info/alternates", str_from(row->file));
	if (row->more)
		test_write(&dir, "one/info/alternates", str_from(row->more));
	CHECK_OK(alternates_find(str_printf(mem, "%s/repo", dir.path).p, mem, &list, &err));
	for (size_t i = 0; i < list.n; i++)
		got = str_printf(mem, STR_FMT STR_FMT ";", STR_ARG(got),
			STR_ARG(str_skip(str_trim_prefix(list.p[i], str_from(dir.path)), 1)));
	if (!str_eqz(got, row->found))
		CHECK_STR(got, str_from(row->why));
}

TEST(alternates_are_found_wherever_they_lead)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		play(&rows[i]);
}

TEST(alternates_end_at_a_nul_as_they_do_for_git)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	static const char *const dirs[] = { "repo", "repo/objects", "repo/objects/info", "one", "two" };
	struct str_list list;
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(dirs); i++)
		CHECK_INT(mkdirat(dir.fd, dirs[i], 0755), 0);
	test_write(&dir, "repo/objects/info/alternates", STR("../../one\n/gone\0x\n../../two\n"));
	CHECK_OK(alternates_find(str_printf(mem, "%s/repo", dir.path).p, mem, &list, &err));
	CHECK_INT(list.n, 1);
	CHECK(str_ends(list.p[0], STR("/one")));
}

TEST(alternates_that_lead_too_far_are_refused)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct str_list list;
	struct err err = { 0 };

	for (int i = 0; i < 8; i++) {
		CHECK_INT(mkdirat(dir.fd, str_printf(mem, "%d", i).p, 0755), 0);
		CHECK_INT(mkdirat(dir.fd, str_printf(mem, "%d/objects", i).p, 0755), 0);
		CHECK_INT(mkdirat(dir.fd, str_printf(mem, "%d/objects/info", i).p, 0755), 0);
		test_write(&dir, str_printf(mem, "%d/objects/info/alternates", i).p, str_printf(mem, "../../%d/objects\n", i + 1));
	}
	CHECK_INT(alternates_find(str_printf(mem, "%s/0", dir.path).p, mem, &list, &err), -ERR_LIMIT);
	CHECK_OK(alternates_find(str_printf(mem, "%s/3", dir.path).p, mem, &list, &err));
	CHECK_INT(list.n, 4);
	test_write(&dir, "7/objects/info/alternates", STR("\"never closed\n"));
	CHECK_INT(alternates_find(str_printf(mem, "%s/7", dir.path).p, mem, &list, &err), -ERR_SYNTAX);
}
