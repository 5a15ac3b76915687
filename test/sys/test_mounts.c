/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/mounts.h"
#include "test/lib/test.h"

#include <string.h>
#include <unistd.h>

TEST(mounts_reads_every_line_that_the_kernel_writes)
{
	static const struct {
		const char *why, *line, *want; /* NULL: it is none */
	} cases[] = {
		{ "as it is", "36 35 8:1 /part /point rw shared:1 master:2 - ext4 /dev/x rw", "8:1 /part /point ext4" },
		{ "no optional field", "36 35 0:19 / / rw - proc proc rw\n", "0:19 / / proc" },
		{ "a name with a space and a line's end", "36 35 0:19 /a\\040b /c\\012d rw - tmpfs none rw", "0:19 /a b /c\nd tmpfs" },
		{ "a name that looks like the rest", "36 35 0:19 / /x\\040-\\040proc rw - tmpfs none rw", "0:19 / /x - proc tmpfs" },
		{ "a backslash that escapes nothing", "36 35 0:19 / /x\\9 rw - tmpfs none rw", "0:19 / /x\\9 tmpfs" },
		{ "a backslash at the end", "36 35 0:19 / /x\\ rw - tmpfs none rw", "0:19 / /x\\ tmpfs" },
		{ "an escaped backslash", "36 35 0:19 / /x\\134040 rw - tmpfs none rw", "0:19 / /x\\040 tmpfs" },
		{ "what is no path inside", "36 35 0:4 net:[4026531840] /run/n rw - nsfs nsfs rw", "0:4 net:[4026531840] /run/n nsfs" },
		{ "an escaped NUL", "36 35 0:19 / /x\\000y rw - tmpfs none rw", NULL },
		{ "nothing", "", NULL },
		{ "no type", "36 35 0:19 / /x rw - ", NULL },
		{ "no end of the fields", "36 35 0:19 / /x rw", NULL },
		{ "no number", "x 35 0:19 / /x rw - tmpfs none rw", NULL },
		{ "a number below zero", "-6 35 0:19 / /x rw - tmpfs none rw", NULL },
		{ "a number that is none", "99999999999999999999 35 0:19 / /x rw - tmpfs none rw", NULL },
		{ "no device", "36 35 019 / /x rw - tmpfs none rw", NULL },
		{ "a point that is no path", "36 35 0:19 / x rw - tmpfs none rw", NULL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		struct mount m;
		bool is = mount_decode(str_from(cases[i].line), mem, &m);

		if (is != (cases[i].want != NULL))
			print_error("%s\n", cases[i].why);
		CHECK(is == (cases[i].want != NULL));
		if (is && cases[i].want)
			CHECK_STR(str_printf(mem, STR_FMT " %s %s %s", STR_ARG(m.device), m.root, m.point, m.type), str_from(cases[i].want));
	}
}

TEST(mounts_are_all_read_or_none)
{
	auto_arena struct arena *mem = arena_new();
	struct mounts all = { 0 };
	struct err err = { 0 };

	CHECK_OK(mounts_decode(STR("1 0 0:1 / / rw - a a rw\n2 1 0:2 / /b rw - b b rw\n"), mem, &all, &err));
	CHECK_INT(all.n, 2);
	CHECK_INT(mounts_decode(STR("1 0 0:1 / / rw - a a rw\n\n"), mem, &all, &err), -ERR_SYNTAX);
	CHECK(strstr(err.msg, "line 2"));
	CHECK_INT(all.n, 2);
	CHECK_OK(mounts_load(mem, &all, &err));
	CHECK(all.n > 0);
}

/* A table that is made up: nothing of it is there, so that no name may be told but the path's own. */
TEST(mounts_tells_no_name_that_leads_elsewhere)
{
	static const char text[] = "999999001 0 99:1 / / rw - a a rw\n"
				   "999999002 1 99:1 /tmp /usr rw - a a rw\n"
				   "999999003 1 99:1 / /nowhere-of-agent6 rw - a a rw\n";
	auto_arena struct arena *mem = arena_new();
	struct err err = { 0 };
	struct mounts all;

	CHECK_OK(mounts_decode(str_from(text), mem, &all, &err));
	struct mount_names names = mounts_names(&all, "/tmp/x", mem);
	CHECK_INT(names.n, 1);
	CHECK_STR(str_from(names.p[0]), STR("/tmp/x"));
}
