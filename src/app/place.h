/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* place: where a command stands: the operator's directories, the workspace, the files of its
 * configuration.
 *
 * Shape    place_workspace finds what is worked in. place_find, then config_load(&place.files, ...). Whoever lets a model write in the workspace
 *          sets place.files.workspace = place.workspace first: configuration that lies there is refused.
 * Memory   In the arena.
 * Errors   -ERR_NOENT for a --config FILE or a workspace that is not there.
 */
#ifndef APP_PLACE_H
#define APP_PLACE_H

#include "config/config.h"
#include "config/paths.h"
#include "git/discover.h"

struct workspace {
	const char *dir; /* absolute, links resolved: the top of the repository around it, or the directory itself */
	bool is_repo;
	struct discovered repo; /* of a repository */
};

/* dir: empty for the current one. */
int place_workspace(struct str dir, struct arena *mem, struct workspace *out, struct err *err) CHECKED;

/* For whoever works in it: a directory that its owner closed is said as that, and not as what fails first. */
int place_is_open(const char *dir, struct err *err) CHECKED;

struct place {
	struct paths paths;
	const char *workspace; /* absolute, links resolved */
	bool is_repo;          /* it holds ".git" */
	const char *repo_dir;  /* <state>/<repo-id>; need not exist */
	struct config_files files;
};

/* dir: as above. config: --config FILE, or empty. */
int place_find(struct str dir, struct str config, struct arena *mem, struct place *out, struct err *err) CHECKED;

#endif
