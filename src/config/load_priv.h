/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* load_priv: loading with the text of one layer replaced, for edit.c to look before it writes. */
#ifndef CONFIG_LOAD_PRIV_H
#define CONFIG_LOAD_PRIV_H

#include "config/config.h"

struct load_layer {
	enum config_layer id;
	const char *path; /* NULL: there is no such layer */
	bool replaced;    /* text is taken instead of the file */
	struct str text;
};

struct load_spec {
	struct load_layer layers[CONFIG_FLAG]; /* by id; CONFIG_DEFAULT stays empty */
	const char *workspace, *home;
	struct str preset; /* chosen by a flag, or empty */
	bool plain;        /* whatever is chosen, no preset is applied: what the files themselves say */
};

/* Several keys under one name. */
struct config_preset {
	struct str name;
	const struct toml *table;
	struct load_layer layer; /* where it is defined; of CONFIG_DEFAULT: built in */
	struct str text;         /* the places in table are in it */
	int line;
};

struct load_spec load_spec_of(const struct config_files *files);
/* Loads what can be loaded and collects the faults. */
void load_all(const struct load_spec *spec, struct arena *mem, struct config *out, struct config_faults *faults);
/* The text of a layer's file, which must be the operator's; -ERR_NOENT when there is none. */
int load_text(const struct load_spec *spec, const struct load_layer *layer, struct buf *out, struct err *err) CHECKED;
/* The keys of one preset into c, at layer CONFIG_PRESET. */
void load_preset(struct config *c, const struct config_preset *p, struct config_faults *faults);
/* preset.c: those of this program, in the order they are shown. */
const struct config_preset *presets_built_in(struct arena *mem, size_t *n);
/* The one of this name, a file's before one of ours; NULL when there is none. */
const struct config_preset *preset_find(const struct config *c, struct str name);
int preset_unknown(const struct config *c, const char *where, struct str name, struct err *err);
/* Decodes one value, with the layer's rules, and says where it came from. */
int load_value(struct config *c, const struct config_leaf *leaf, const struct toml *v, enum config_layer layer,
	struct err *err) CHECKED;

#endif
