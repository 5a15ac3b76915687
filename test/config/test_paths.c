/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/paths.h"
#include "test/lib/test.h"

#include <string.h>

static const char *only_home(const char *name)
{
	return strcmp(name, "HOME") == 0 ? "/home/me/" : NULL;
}

static const char *xdg(const char *name)
{
	if (strcmp(name, "XDG_CONFIG_HOME") == 0)
		return "/x/conf/";
	return strcmp(name, "XDG_STATE_HOME") == 0 ? "relative" : only_home(name);
}

static const char *own(const char *name)
{
	return strcmp(name, "AGENT6_CONFIG_HOME") == 0 ? "/own" : xdg(name);
}

static const char *own_relative(const char *name)
{
	return strcmp(name, "AGENT6_STATE_HOME") == 0 ? "here" : only_home(name);
}

static const char *nothing(const char *name)
{
	return name[0] == '\0' ? "" : NULL;
}

TEST(paths_follow_our_variables_then_xdg_then_home)
{
	static const struct {
		paths_getenv_fn *get;
		const char *config, *state; /* config NULL: refused with the message in state */
	} rows[] = {
		{ only_home, "/home/me/.config/agent6", "/home/me/.local/state/agent6" },
		{ xdg, "/x/conf/agent6", "/home/me/.local/state/agent6" },
		{ own, "/own", "/home/me/.local/state/agent6" },
		{ own_relative, NULL, "AGENT6_STATE_HOME: \"here\" is not an absolute path" },
		{ nothing, NULL, "HOME is not set to an absolute path, and neither is AGENT6_CONFIG_HOME" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_arena struct arena *mem = arena_new();
		struct paths p;
		struct err err = { 0 };
		int r = paths_find(rows[i].get, mem, &p, &err);

		if (!rows[i].config) {
			CHECK_INT(r, -ERR_INVALID);
			CHECK_STR(str_from(err.msg), str_from(rows[i].state));
			continue;
		}
		CHECK_OK(r);
		CHECK_STR(str_from(p.config), str_from(rows[i].config));
		CHECK_STR(str_from(p.state), str_from(rows[i].state));
		CHECK_STR(str_from(p.cache), STR("/home/me/.cache/agent6"));
		CHECK_STR(str_from(p.data), STR("/home/me/.local/share/agent6"));
		CHECK(str_starts(str_from(p.secrets_file), str_from(p.config)));
		CHECK(str_ends(str_from(p.secrets_file), STR("/secrets.toml")));
	}
}
