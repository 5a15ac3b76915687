/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/toolpath.h"

#include "sys/file.h"
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

static const char *with_home(const char *text, const char *home, struct arena *mem)
{
	const char *out = "";

	for (; *text; text++)
		out = *text == '~' ? str_printf(mem, "%s%s", out, home).p : str_printf(mem, "%s%c", out, *text).p;
	return out;
}

/* Without what this machine has besides. */
static const char *own_part(const char *path, struct arena *mem)
{
	static const char *const machine[] = { "/usr/local/bin", "/usr/local/sbin", "/usr/local/go/bin", "/opt/homebrew/bin", "/snap/bin" };
	const char *out = "";

	for (struct str rest = str_from(path); rest.n > 0;) {
		struct str one = str_cut(&rest, ':');
		bool theirs = false;

		for (size_t i = 0; i < COUNT(machine); i++)
			theirs = theirs || str_eqz(one, machine[i]);
		if (!theirs)
			out = str_printf(mem, "%s%s" STR_FMT, out, *out ? ":" : "", STR_ARG(one)).p;
	}
	return out;
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

TEST(toolpath_shows_of_what_a_link_leads_to_no_more_than_the_program_needs)
{
	static const struct {
		const char *why, *file;
		mode_t mode, dir_mode;
		const char *mount; /* NULL: nothing is shown */
		bool told;
	} rows[] = {
		{ "a program among documents", "home/Documents/x", 0755, 0755, "home/Documents/x" },
		{ "what is no program", "home/Documents/x", 0644, 0755, NULL },
		{ "a script of one's own, beside others", "home/scripts/x", 0755, 0775, "home/scripts/x" },
		{ "a directory of programs", "home/opt/tool/bin/x", 0755, 0755, "home/opt/tool/bin" },
		{ "the same, of a careful person", "home/opt/tool/bin/x", 0755, 0700, "home/opt/tool/bin" },
		{ "one version of many", "home/.local/share/tool/versions/x", 0755, 0755, "home/.local/share/tool/versions/x" },
		{ "a package", "home/.npm-global/lib/node_modules/p/dist/x", 0755, 0755, "home/.npm-global/lib/node_modules/p/dist" },
		{ "keys", "home/.ssh/x", 0755, 0755, NULL, true },
		{ "keys that are called programs", "home/.ssh/bin/x", 0755, 0755, NULL, true },
		{ "deep below", "home/.config/tool/deep/x", 0755, 0755, NULL, true },
		{ "private by its mode", "home/mine/x", 0755, 0700, NULL, true },
		{ "outside, of no system's", "data/mine/x", 0755, 0750, "data/mine/x" },
		{ "a manager's own", "home/.pyenv/private/x", 0755, 0700, "home/.pyenv" },
		{ "pipx'", "home/.local/share/pipx/venvs/p/x", 0755, 0700, "home/.local/share/pipx/venvs" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_dir struct test_dir dir = test_dir_new();
		auto_arena struct arena *mem = arena_new();
		struct toolpath_ask ask = { .home = in(&dir, mem, "home").p };
		const char *file = in(&dir, mem, rows[i].file).p, *slash = strrchr(file, '/');
		struct toolpath t;
		struct err err = { 0 };
		size_t more = 0;

		test_write(&dir, "home/.local/bin/own", STR("x"));
		test_write(&dir, rows[i].file, STR("x"));
		CHECK(chmod(file, rows[i].mode) == 0);
		CHECK(chmod(str_printf(mem, "%.*s", (int)(slash - file), file).p, rows[i].dir_mode) == 0);
		CHECK_INT(symlinkat(file, dir.fd, "home/.local/bin/x"), 0);
		CHECK_OK(toolpath_derive(&ask, mem, &t, &err));
		for (size_t k = 0; k < t.mounts.n; k++)
			more += path_is_within(t.mounts.p[k], dir.path) && strcmp(t.mounts.p[k], in(&dir, mem, "home/.local/bin").p) != 0;
		if (more != (rows[i].mount != NULL) || (rows[i].mount && !lists(&t.mounts, in(&dir, mem, rows[i].mount))))
			fail_msg("%s: %zu, %s", rows[i].why, more, t.mounts.n > 0 ? t.mounts.p[0] : "");
		if (lists(&t.unreachable, in(&dir, mem, "home/.local/bin/x")) != !rows[i].mount)
			fail_msg("%s: it is reached", rows[i].why);
		if (lists(&t.withheld, in(&dir, mem, "home/.local/bin/x")) != rows[i].told)
			fail_msg("%s: it is not told", rows[i].why);
	}
}

/* What installs versions is shown whole, says where it is, and of many versions one is on PATH. */
TEST(toolpath_knows_where_managers_of_versions_keep_them)
{
	static const char *const files[] = { "home/.rustup/settings.toml", "home/.pyenv/shims/python3.12", "home/.pyenv/bin/pyenv",
		"home/.nvm/versions/node/v9.1.0/bin/node", "home/.nvm/versions/node/v10.0.0/bin/node",
		"home/.nvm/versions/node/v11.0.0/README", "home/.nvm/nvm.sh", "data/uv/tools/x/bin/x",
		"data/fnm/node-versions/v1/installation/bin/node", "home/go/bin/gopls", "elsewhere/rbenv/bin/rbenv", "home/.rbenv/bin/rbenv",
		"home/.cargo/credentials.toml", "home/.cargo/bin/x", "home/.asdf", "home/.npmrc" };
	static const struct {
		const char *path; /* of the operator */
		const char *node;
	} versions[] = { { "/usr/bin", "v11.0.0" }, { "/usr/bin:%s/home/.nvm/versions/node/v9.1.0/bin:/bin", "v9.1.0" } };
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(files); i++)
		test_write(&dir, files[i], STR("x"));
	for (size_t i = 0; i < COUNT(versions); i++) {
		char path[512];
		struct toolpath t;

		snprintf(path, sizeof(path), "PATH=%s", versions[i].path);
		const char *at = strstr(versions[i].path, "%s");
		if (at)
			snprintf(path, sizeof(path), "PATH=%.*s%s%s", (int)(at - versions[i].path), versions[i].path, dir.path, at + 2);
		const char *const env[] = { path, str_printf(mem, "XDG_DATA_HOME=%s/data", dir.path).p,
			str_printf(mem, "RBENV_ROOT=%s/elsewhere/rbenv", dir.path).p, "PYENV_ROOT=relative", "VOLTA_HOME=/", NULL };
		struct toolpath_ask ask = { .home = in(&dir, mem, "home").p, .env = env };

		CHECK_OK(toolpath_derive(&ask, mem, &t, &err));
		CHECK(lists(&t.mounts, in(&dir, mem, "home/.rustup")));
		CHECK(lists(&t.env, str_printf(mem, "RUSTUP_HOME=%s/home/.rustup", dir.path)));
		CHECK(lists(&t.env, str_printf(mem, "PYENV_ROOT=%s/home/.pyenv", dir.path)));
		CHECK(lists(&t.env, str_printf(mem, "RBENV_ROOT=%s/elsewhere/rbenv", dir.path)));
		CHECK_INT(t.env.n, 3);
		CHECK(strstr(t.path, in(&dir, mem, "home/.pyenv/shims:").p));
		CHECK(strstr(t.path, in(&dir, mem, "home/go/bin").p));
		CHECK(strstr(t.path, in(&dir, mem, "data/fnm/node-versions/v1/installation/bin").p));
		CHECK(lists(&t.mounts, in(&dir, mem, "data/uv/tools")));
		CHECK(lists(&t.mounts, in(&dir, mem, str_printf(mem, "home/.nvm/versions/node/%s", versions[i].node).p)));
		CHECK(!lists(&t.mounts, str_from("/")));
		for (size_t k = 0; k < t.mounts.n; k++) {
			CHECK(!path_is_within(in(&dir, mem, "home/.cargo/credentials.toml").p, t.mounts.p[k]));
			CHECK(!path_is_within(in(&dir, mem, "home/.npmrc").p, t.mounts.p[k]));
			CHECK(!path_is_within(in(&dir, mem, "home/.nvm/nvm.sh").p, t.mounts.p[k]));
			CHECK(!strstr(t.mounts.p[k], "v10.0.0") && !strstr(t.mounts.p[k], "home/.rbenv"));
		}
	}
}

/* Which of two a person means is what their own PATH says: what is before the system's there is before it in the jail. */
TEST(toolpath_keeps_the_order_of_the_operators_path_and_puts_nothing_first_that_commands_may_change)
{
	static const struct {
		const char *why, *own, *want; /* of the home; '~' is its path */
		const char *writable;         /* below it, for commands */
	} cases[] = {
		{ "none", NULL, "/usr/bin:/bin:~/.local/bin:~/.cargo/bin:~/.pyenv/shims:~/.pyenv/bin" },
		{ "the system's first", "PATH=/usr/bin:/bin:~/.cargo/bin:~/.local/bin",
			"/usr/bin:/bin:~/.local/bin:~/.cargo/bin:~/.pyenv/shims:~/.pyenv/bin" },
		{ "a manager's first", "PATH=~/.pyenv/shims:~/.cargo/bin:~/secret/bin:/usr/bin:~/.local/bin:/bin",
			"~/.pyenv/shims:~/.cargo/bin:/usr/bin:/bin:~/.local/bin:~/.pyenv/bin" },
		{ "twice, relative, empty", "PATH=:.local/bin:~/.cargo/bin:~/.cargo/bin::/bin",
			"~/.cargo/bin:/usr/bin:/bin:~/.local/bin:~/.pyenv/shims:~/.pyenv/bin" },
		{ "what commands may write", "PATH=~/.local/bin:~/.cargo/bin:/usr/bin",
			"~/.cargo/bin:/usr/bin:/bin:~/.local/bin:~/.pyenv/shims:~/.pyenv/bin", ".local" },
	};
	static const char *const files[] = { ".local/bin/a", ".cargo/bin/b", ".pyenv/shims/c", ".pyenv/bin/d", "secret/bin/e" };
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(files); i++)
		test_write(&dir, files[i], STR("x"));
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *env[] = { cases[i].own ? with_home(cases[i].own, dir.path, mem) : NULL, NULL };
		struct toolpath_ask ask = { .home = dir.path, .env = env };
		struct toolpath t;
		const char *got;

		if (cases[i].writable)
			policy_list_add(&ask.writable, mem, in(&dir, mem, cases[i].writable).p);
		CHECK_OK(toolpath_derive(&ask, mem, &t, &err));
		got = own_part(t.path, mem);
		CHECK_STR(str_from(got), str_from(with_home(cases[i].want, dir.path, mem)));
	}
}

TEST(toolpath_puts_first_what_another_user_reaches_too)
{
	auto_dir struct test_dir dir = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	const char *env[] = { with_home("PATH=~/.local/bin:/usr/bin", dir.path, mem), NULL };

	test_write(&dir, ".local/bin/a", STR("x"));
	for (int i = 0; i < 4; i++) {
		bool another = i & 1, open = i & 2;
		struct toolpath_ask ask = { .home = dir.path, .env = env, .another_user = another };
		struct err err = { 0 };
		struct toolpath t;

		CHECK(chmod(dir.path, open ? 0711 : 0700) == 0);
		CHECK_OK(toolpath_derive(&ask, mem, &t, &err));
		CHECK(str_starts(str_from(t.path), STR("/usr/bin:")) == (another && !open));
	}
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
