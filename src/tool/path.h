/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* path: a name the model wrote becomes a place beneath a root, or a refusal that says why.
 *
 * Shape    path_resolve follows every link itself and yields a path without any; the file is then opened
 *          beneath the root's descriptor with links forbidden, so a link made in between is an error and
 *          never a way out.
 * Memory   Everything lives in ctx->mem.
 * Errors   -ERR_DENIED outside every root, hidden, or protected from writing; -ERR_NOENT, -ERR_INVALID
 *          "not a regular file"; -ERR_CONFLICT when a component turned into a link meanwhile.
 * Source   openat2(2); docs/tools.md, "Paths".
 */
#ifndef TOOL_PATH_H
#define TOOL_PATH_H

#include "tool/tool.h"

#include <sys/stat.h>

enum path_use { PATH_READ, PATH_WRITE };

struct tool_path {
	const struct tool_root *root;
	struct str rel;   /* NUL ended, without links; "." is the root itself */
	struct str shown; /* as the model may write it: relative in the workspace, else absolute; C-quoted if need be */
	bool exists;
	struct stat st;   /* when it exists */
};

int path_resolve(const struct tool_ctx *ctx, struct str text, enum path_use use, struct tool_path *out,
	struct err *err) CHECKED;
/* Both refuse what is not of that kind; neither can block. */
int path_open_file(const struct tool_path *p, int *out, struct err *err) CHECKED;
int path_open_dir(const struct tool_path *p, int *out, struct err *err) CHECKED;
/* The directory that holds it and its name there; the directory must exist. */
int path_open_parent(const struct tool_path *p, int *out, const char **leaf, struct err *err) CHECKED;

/* name in the directory dir is one the operator hid. */
bool path_is_hidden(const struct tool_ctx *ctx, const struct tool_path *dir, struct str name);
/* The hidden places beneath dir, relative to its root: for a worker that walks by itself. */
struct str_list path_hidden_beneath(const struct tool_ctx *ctx, const struct tool_path *dir);

#endif
