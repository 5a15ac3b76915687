/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* repair: a configuration file made whole, in two senses: config_fill writes down what is only a default, config_fix takes out
 * what is wrong.
 *
 * Shape    One call is one edit, as in edit.h: lock, read, change, check, write; comments and all else stay.
 * Memory   In the arena.
 * Errors   config_fill: -ERR_BUSY when there is a file and `force` is false; a file that is wrong. config_fix: a file that cannot be
 *          parsed, read or written; what cannot be taken out is in `left`.
 */
#ifndef CONFIG_REPAIR_H
#define CONFIG_REPAIR_H

#include "config/config.h"

struct config_filled {
	const char *file;
	size_t added;   /* keys; those that the file had stay as they are */
	struct str_list left_out; /* keys whose being written is a demand, not a default */
};
/* Into the global file; what the repository's file and presets say has no part in it. */
int config_fill(const struct config_files *files, bool force, struct arena *mem, struct config_filled *out, struct err *err) CHECKED;

struct config_removed {
	enum config_layer layer;
	const char *file;
	struct str key;   /* dotted; of a table, its header alone: what was in it went before */
	struct str value; /* as it stood there, for whoever wants it back; cut where it is long, empty where it may hold a key */
	struct err why;   /* its line is that of the file as it was */
};
/* Keys of the files that are wrong, one by one until nothing is or nothing can be taken out. */
int config_fix(const struct config_files *files, struct arena *mem, struct config_removed **out, size_t *n,
	struct config_faults *left, struct err *err) CHECKED;

#endif
