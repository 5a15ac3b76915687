/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/paths.h"
#include "sys/ours.h"

#include <stdlib.h>

const char *paths_env(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

static const char *without_slashes(struct arena *mem, const char *path)
{
	struct str s = str_from(path);

	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	return str_dupz(mem, s);
}

struct root {
	const char *own, *xdg, *below_home;
};

static int find_root(paths_getenv_fn *get, const struct root *r, const char *home, struct arena *mem,
	const char **out, struct err *err)
{
	const char *own = get(r->own), *xdg = get(r->xdg);

	if (own && own[0] != '/')
		return err_set(err, ERR_INVALID, "%s: \"%s\" is not an absolute path", r->own, own);
	if (own)
		*out = without_slashes(mem, own);
	else if (xdg && xdg[0] == '/')
		*out = str_printf(mem, "%s/agent6", without_slashes(mem, xdg)).p;
	else if (home)
		*out = str_printf(mem, "%s/%s", home, r->below_home).p;
	else
		return err_set(
			err, ERR_INVALID, "HOME is not set to an absolute path, and neither is %s", r->own);
	return 0;
}

int paths_find(paths_getenv_fn *get, struct arena *mem, struct paths *out, struct err *err)
{
	static const struct root roots[] = {
		{ "AGENT6_CONFIG_HOME", "XDG_CONFIG_HOME", ".config/agent6" },
		{ "AGENT6_STATE_HOME", "XDG_STATE_HOME", ".local/state/agent6" },
		{ "AGENT6_CACHE_HOME", "XDG_CACHE_HOME", ".cache/agent6" },
		{ "AGENT6_DATA_HOME", "XDG_DATA_HOME", ".local/share/agent6" },
	};
	const char *home = get("HOME");
	struct paths p = { 0 };
	const char **into[] = { &p.config, &p.state, &p.cache, &p.data };

	_Static_assert(COUNT(into) == COUNT(roots), "a place for each root");
	p.home = home && home[0] == '/' ? without_slashes(mem, home) : NULL;
	for (size_t i = 0; i < COUNT(roots); i++)
		TRY(find_root(get, &roots[i], p.home, mem, into[i], err));
	p.global_file = str_printf(mem, "%s/config.toml", p.config).p;
	p.secrets_file = str_printf(mem, "%s/secrets.toml", p.config).p;
	*out = p;
	return 0;
}

int paths_check(const struct paths *p, const char *repo_dir, struct err *err)
{
	const char *const all[] = { p->config, repo_dir, p->data, p->cache };

	for (size_t i = 0; i < COUNT(all); i++)
		TRY(ours_check(all[i], err));
	return 0;
}
