/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/place.h"
#include "session/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int place_workspace(struct str dir, struct arena *mem, struct workspace *out, struct err *err)
{
	const char *asked = dir.n > 0 ? str_dupz(mem, dir) : ".";
	autofree char *real = realpath(asked, NULL);
	struct workspace w = { 0 };
	int r;

	if (!real && dir.n == 0 && errno == ENOENT)
		return err_set(err, ERR_NOENT, "the current directory is not there any more; go to one that is");
	if (!real)
		return err_sys(err, errno, "%s", asked);
	r = discover_repo(real, mem, &w.repo, err);
	if (r < 0 && r != -ERR_NOENT)
		return r;
	w.is_repo = r == 0;
	w.dir = w.is_repo ? w.repo.top : str_dupz(mem, str_from(real));
	*out = w;
	return 0;
}

int place_is_open(const char *dir, struct err *err)
{
	int r;

	if (faccessat(AT_FDCWD, dir, R_OK | X_OK, AT_EACCESS) == 0)
		return 0;
	r = err_set(err, ERR_DENIED, "%s cannot be read and entered by this user: %s", dir, strerror(errno));
	err_hint(err, "chmod u+rx %s", dir);
	return r;
}

int place_find(struct str dir, struct str config, struct arena *mem, struct place *out, struct err *err)
{
	struct place p = { 0 };
	struct workspace w;

	TRY(paths_find(paths_env, mem, &p.paths, err));
	TRY(place_workspace(dir, mem, &w, err));
	p.workspace = w.dir;
	p.is_repo = w.is_repo;
	TRY(session_repo_dir(p.paths.state, str_from(p.workspace), mem, &p.repo_dir, err));
	TRY(paths_check(&p.paths, p.repo_dir, err));
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
