/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* edit: changes one key of a configuration file and nothing else of it.
 *
 * Shape    One call is one edit: lock, read, change, check the whole configuration as it would be,
 *          write. A linked file stays linked; its target is replaced.
 * Memory   `out` has room for as many as there are changes; what it points to lives in the arena.
 * Errors   The edit that would break a configuration that was right is refused and nothing is written.
 *          When the configuration was broken before, the edit is kept and `warning` says what is wrong.
 */
#ifndef CONFIG_EDIT_H
#define CONFIG_EDIT_H

#include "config/config.h"

enum config_op { CONFIG_SET, CONFIG_UNSET, CONFIG_ADD, CONFIG_REMOVE };

struct config_change {
	enum config_op op;
	enum config_layer layer; /* CONFIG_GLOBAL, CONFIG_REPO or CONFIG_FILE */
	struct str key, value;   /* value as a person types it: TOML, or bare text for a string */
};

struct config_edited {
	bool changed;
	const char *file;   /* that was, or would have been, written */
	struct str value;   /* as it stands in the file now, in TOML */
	bool loosens;       /* the new value differs from a default that is the strict one */
	const char *help;   /* of the key */
	bool hidden_by_file; /* --config sets the same key and wins */
	const char *hidden_by_preset; /* so does this one; NULL: none */
	struct err warning; /* code ERR_NONE: none */
};

/* Several changes are one edit: all or nothing, one write. */
int config_edit(const struct config_files *files, const struct config_change *changes, size_t n, struct arena *mem,
	struct config_edited *out, struct err *err) CHECKED;

#endif
