/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* paths: where the operator's files are.
 *
 * Shape    paths_find once; the rest are names inside.
 * Memory   In the arena.
 * Errors   -ERR_INVALID when a variable holds a path that is not absolute, or no home is known.
 * Source   XDG Base Directory Specification 0.8: a relative XDG_* is ignored; our own variables are not.
 */
#ifndef CONFIG_PATHS_H
#define CONFIG_PATHS_H

#include "base/arena.h"

struct paths {
	const char *home;
	const char *config, *state, *cache, *data; /* AGENT6_<X>_HOME, XDG_<X>_HOME/agent6, ~/... */
	const char *global_file;  /* <config>/config.toml */
	const char *secrets_file; /* <config>/secrets.toml */
};

/* `get` is getenv in the program; tests pass their own. */
typedef const char *paths_getenv_fn(const char *name);
int paths_find(paths_getenv_fn *get, struct arena *mem, struct paths *out, struct err *err) CHECKED;
/* Nobody else can replace what is believed there; repo_dir is below state, and need not exist. See sys/ours.h. */
int paths_check(const struct paths *p, const char *repo_dir, struct err *err) CHECKED;
const char *paths_env(const char *name); /* getenv, for paths_find */

#endif
