/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/apart.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *made(struct arena *mem)
{
	char *dir = str_dupz(mem, STR("/tmp/agent6-apart-XXXXXX"));
	char *real = mkdtemp(dir) ? realpath(dir, NULL) : NULL;
	const char *out = real ? str_dupz(mem, str_from(real)) : NULL;

	free(real);
	return out;
}

/* top/ws is where the model writes. Links: {name, target}; the path is refused, or not. */
TEST(apart_walks_every_link_of_a_path)
{
	static const char *const links[][2] = { { "ws/out", "/usr/bin/env" }, { "in", "ws/x" },
		{ "in2", "in" }, { "up", "d/../ws" }, { "d/rel", "../ws/y" }, { "fine", "/usr/bin/env" },
		{ "fine2", "d/../fine" }, { "loop", "loop" }, { "gone", "ws/gone" },
		{ "root", "/../../usr/bin" } };
	static const struct {
		const char *path;
		int want;
	} rows[] = { { "ws", -ERR_DENIED }, { "ws/out", -ERR_DENIED }, { "in", -ERR_DENIED },
		{ "in2", -ERR_DENIED }, { "up/x", -ERR_DENIED }, { "d/rel", -ERR_DENIED },
		{ "d//.//rel", -ERR_DENIED }, { "d/../ws/z", -ERR_DENIED }, { "gone", -ERR_DENIED },
		{ "ws/../d", -ERR_DENIED }, { "fine", 0 }, { "fine2", 0 }, { "wsx", 0 },
		{ "nothing/at/all", 0 }, { "root/env", 0 }, { "loop", -ERR_INVALID } };
	auto_arena struct arena *mem = arena_new();
	const char *top = made(mem);
	struct err err = { 0 };

	CHECK(top);
	if (!top)
		return;
	const char *ws = str_printf(mem, "%s/ws", top).p;
	const struct str_list places = { (struct str[]){ str_from(ws) }, 1 };

	CHECK(mkdir(ws, 0700) == 0 && mkdir(str_printf(mem, "%s/d", top).p, 0700) == 0);
	for (size_t i = 0; i < COUNT(links); i++)
		CHECK(symlink(links[i][1], str_printf(mem, "%s/%s", top, links[i][0]).p) == 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		int r = apart_path(&places, "key", str_printf(mem, "%s/%s", top, rows[i].path).p, mem, &err);

		CHECK_INT(r, rows[i].want);
		if (r != rows[i].want)
			fprintf(stderr, "%s: %s\n", rows[i].path, err.msg);
	}
	CHECK_OK(dir_remove_tree(AT_FDCWD, top, &err));
}

/* A bare name is looked up as it is executed, and what is handed on is what was looked at. */
TEST(apart_hands_on_the_program_that_it_looked_at)
{
	auto_arena struct arena *mem = arena_new();
	const char *top = made(mem);
	struct err err = { 0 };
	struct str_list out;

	CHECK(top);
	if (!top)
		return;
	const char *ws = str_printf(mem, "%s/ws", top).p, *bin = str_printf(mem, "%s/bin", top).p;
	const struct str_list places = { (struct str[]){ str_from(ws) }, 1 };
	struct apart_program as = { .key = "key",
		.path = str_printf(mem, "rel:%s:%s:/usr/bin:/bin", ws, bin).p };
	struct str words[] = { STR("env"), STR("env"), str_from(ws) };

	CHECK(mkdir(ws, 0700) == 0 && mkdir(bin, 0700) == 0);
	CHECK(symlink("/usr/bin/false", str_printf(mem, "%s/env", ws).p) == 0);
	CHECK_OK(apart_argv(&places, &as, &(struct str_list){ words, 2 }, mem, &out, &err));
	CHECK_STR(out.p[0], STR("/usr/bin/env"));
	CHECK_STR(out.p[1], STR("env"));
	CHECK_INT(apart_argv(&places, &as, &(struct str_list){ words, 3 }, mem, &out, &err), -ERR_DENIED);
	as.may_work_on = true;
	CHECK_OK(apart_argv(&places, &as, &(struct str_list){ words, 3 }, mem, &out, &err));
	words[0] = STR("no-such-program");
	CHECK_OK(apart_argv(&places, &as, &(struct str_list){ words, 1 }, mem, &out, &err));
	CHECK_STR(out.p[0], STR("no-such-program"));
	as.confined = true; /* its PATH holds the workspace */
	CHECK_INT(apart_argv(&places, &as, &(struct str_list){ words, 1 }, mem, &out, &err), -ERR_DENIED);
	words[0] = STR("env");
	CHECK(symlink("../ws/later", str_printf(mem, "%s/env", bin).p) == 0); /* nothing is there yet */
	CHECK_INT(apart_argv(&places, &as, &(struct str_list){ words, 1 }, mem, &out, &err), -ERR_DENIED);
	words[0] = str_skip(str_printf(mem, "%s/x", ws), 1); /* from "/" */
	CHECK_INT(apart_argv(&places, &as, &(struct str_list){ words, 1 }, mem, &out, &err), -ERR_DENIED);
	CHECK_OK(dir_remove_tree(AT_FDCWD, top, &err));
}
