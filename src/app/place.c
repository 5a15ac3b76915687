/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/place.h"
#include "session/layout.h"

#include <errno.h>
#include <stdlib.h>

int place_find(struct str dir, struct str config, struct arena *mem, struct place *out, struct err *err)
{
	struct place p = { 0 };

	TRY(paths_find(paths_env, mem, &p.paths, err));
	TRY(paths_workspace(dir.n > 0 ? str_dupz(mem, dir) : ".", mem, &p.workspace, &p.is_repo, err));
	TRY(session_repo_dir(p.paths.state, str_from(p.workspace), mem, &p.repo_dir, err));
	p.files = (struct config_files){ .global = p.paths.global_file, .home = p.paths.home,
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
