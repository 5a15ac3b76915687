/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/place.h"
#include "git/discover.h"
#include "session/layout.h"

#include <errno.h>
#include <stdlib.h>

static int find_workspace(struct str dir, struct arena *mem, struct place *p, struct err *err)
{
	const char *asked = dir.n > 0 ? str_dupz(mem, dir) : ".";
	autofree char *real = realpath(asked, NULL);
	struct discovered repo;
	int r;

	if (!real)
		return err_sys(err, errno, "%s", asked);
	r = discover_repo(real, mem, &repo, err);
	if (r < 0 && r != -ERR_NOENT)
		return r;
	p->is_repo = r == 0;
	p->workspace = p->is_repo ? repo.top : str_dupz(mem, str_from(real));
	return 0;
}

int place_find(struct str dir, struct str config, struct arena *mem, struct place *out, struct err *err)
{
	struct place p = { 0 };

	TRY(paths_find(paths_env, mem, &p.paths, err));
	TRY(find_workspace(dir, mem, &p, err));
	TRY(session_repo_dir(p.paths.state, str_from(p.workspace), mem, &p.repo_dir, err));
	p.files = (struct config_files){ .global = p.paths.global_file,
		.home = p.paths.home,
		.repo = str_printf(mem, "%s/config.toml", p.repo_dir).p };
	if (config.n > 0) {
		autofree char *file = realpath(str_dupz(mem, config), NULL);

		if (!file)
			return err_sys(err, errno, "--config " STR_FMT, STR_ARG(config));
		p.files.file = str_dupz(mem, str_from(file));
	}
	*out = p;
	return 0;
}
