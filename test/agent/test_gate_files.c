/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/gate_files.h"
#include "fmt/names.h"
#include "test/lib/test.h"

static struct str_list list_of(const char *const *words, struct arena *mem)
{
	struct str_list l = { arena_array(mem, 8, sizeof(*l.p)), 0 };

	while (words[l.n]) {
		l.p[l.n] = str_from(words[l.n]);
		l.n++;
	}
	return l;
}

TEST(gate_touched_names_the_changed_files_that_the_command_names)
{
	static const struct { const char *why, *words[6], *changed[6], *want; } cases[] = {
		{ "the script itself", { "./verify.sh" }, { "a.c", "verify.sh" }, "verify.sh" },
		{ "behind its interpreter", { "sh", "verify.sh" }, { "verify.sh" }, "verify.sh" },
		{ "it is as it was", { "sh", "verify.sh" }, { "a.c", "old/verify.sh", "verify.sh.orig" }, "" },
		{ "in a directory", { "python3", "./tools/check.py", "-v" }, { "tools/check.py" }, "tools/check.py" },
		{ "in a shell line", { "sh", "-c", "CI=1 ./verify.sh>/dev/null && (cd b;make)" }, { "verify.sh" }, "verify.sh" },
		{ "in quotes there", { "sh", "-c", "sh 'verify.sh'" }, { "verify.sh" }, "verify.sh" },
		{ "a name with a blank", { "sh", "my tests.sh" }, { "my tests.sh" }, "my tests.sh" },
		{ "twice is once", { "sh", "-c", "./a; ././a", "a" }, { "a", "a" }, "a" },
		{ "several", { "sh", "b", "a" }, { "a", "b" }, "b, a" },
		{ "as it would be shown", { "sh", "b\n" }, { "b\n" }, "\"b\\n\"" },
		{ "elsewhere", { "/usr/bin/verify.sh" }, { "usr/bin/verify.sh" }, "" },
		{ "a directory is no file", { "pytest", "tests" }, { "tests/test_a.py" }, "" },
		{ "what is run by name", { "make", "test" }, { "Makefile" }, "" },
		{ "no gate", { NULL }, { "a" }, "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf got = BUF_MAX(256);
		struct err err = { 0 };
		struct str_list touched = gate_touched(list_of(cases[i].words, mem), list_of(cases[i].changed, mem), mem);

		CHECK_OK(names_add(&got, &touched, 10, &err));
		CHECK_STR(buf_str(&got), str_from(cases[i].want));
	}
}
