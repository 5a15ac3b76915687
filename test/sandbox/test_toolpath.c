/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/toolpath.h"

#include "test/lib/test.h"

#include <string.h>
#include <sys/stat.h>

static bool lists(const struct policy_list *l, struct str what)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eqz(what, l->p[i]))
			return true;
	return false;
}

static struct str in(const struct test_dir *d, struct arena *mem, const char *name)
{
	return str_printf(mem, "%s/%s", d->path, name);
}

TEST(toolpath_shows_what_tools_lead_to_and_never_home_or_what_is_denied)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	const char *home = in(&dir, mem, "home").p;
	struct toolpath_ask ask = { .home = home };
	struct toolpath t;
	struct err err = { 0 };
	static const char *const files[] = { "home/.local/bin/own", "home/.local/share/uv/python/x", "opt/tool/bin/tool",
		"home/script", "home/.config/agent6/keys", "home/.config/agent6/prog" };
	static const struct {
		const char *name, *to;
	} links[] = {
		{ "opt/tool/bin/tool", "home/.local/bin/tool" },
		{ "home/script", "home/.local/bin/script" },
		{ "home/.config/agent6/prog", "home/.local/bin/prog" },
		{ "nowhere", "home/.local/bin/dangling" },
	};

	for (size_t i = 0; i < COUNT(files); i++)
		test_write(&dir, files[i], STR("x"));
	for (size_t i = 0; i < COUNT(links); i++)
		CHECK_INT(symlinkat(in(&dir, mem, links[i].name).p, dir.fd, links[i].to), 0);
	policy_list_add(&ask.deny, mem, in(&dir, mem, "home/.config/agent6").p);
	CHECK_OK(toolpath_derive(&ask, mem, &t, &err));

	CHECK(lists(&t.mounts, in(&dir, mem, "home/.local/bin")));
	CHECK(lists(&t.mounts, in(&dir, mem, "opt/tool/bin")));
	CHECK(lists(&t.mounts, in(&dir, mem, "home/.local/share/uv/python")));
	CHECK(!lists(&t.mounts, str_from(home)));
	CHECK(!lists(&t.mounts, in(&dir, mem, "home/.config/agent6")));
	CHECK(lists(&t.unreachable, in(&dir, mem, "home/.local/bin/script")));
	CHECK(lists(&t.unreachable, in(&dir, mem, "home/.local/bin/prog")));
	CHECK(!lists(&t.unreachable, in(&dir, mem, "home/.local/bin/dangling")));
	CHECK(str_starts(str_from(t.path), STR("/usr/bin:/bin")));
	CHECK(strstr(t.path, "home/.local/bin"));
	CHECK(!strstr(t.path, "opt/tool"));
	for (size_t i = 1; i < t.mounts.n; i++)
		CHECK(strcmp(t.mounts.p[i - 1], t.mounts.p[i]) < 0);
}

TEST(cell_env_passes_four_names_and_no_secret)
{
	auto_arena struct arena *mem = arena_new();
	static const char *const host[] = { "PATH=/evil", "HOME=/home/p", "LANG=de_DE.UTF-8", "LANGUAGE=de", "TERM=xterm",
		"ANTHROPIC_API_KEY=sk-1", "LD_PRELOAD=/x.so", "SSH_AUTH_SOCK=/s", "CI=1", NULL };
	struct toolpath t = { .path = "/usr/bin:/bin" };
	struct policy_list env;

	cell_env(&t, host, "/w", mem, &env);
	CHECK(lists(&env, STR("PATH=/usr/bin:/bin")));
	CHECK(lists(&env, STR("HOME=/tmp/agent6-home")));
	CHECK(lists(&env, STR("LANG=de_DE.UTF-8")));
	CHECK(lists(&env, STR("TERM=xterm")));
	CHECK(lists(&env, STR("CI=1")));
	CHECK(lists(&env, STR("GIT_CONFIG_VALUE_0=/w")));
	for (size_t i = 0; i < env.n; i++)
		CHECK(!strstr(env.p[i], "sk-1") && !strstr(env.p[i], "LD_PRELOAD") && !strstr(env.p[i], "SSH_") &&
			!strstr(env.p[i], "LANGUAGE"));
}
