/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/keys_priv.h"
#include "config/load_priv.h"
#include "base/vec.h"
#include "sys/file.h"
#include "sys/mounts.h"
#include "sys/ours.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FAULTS_MAX 100
#define DEPTH_MAX  (TOML_DEPTH_MAX + 64)

struct loader {
	struct config *c;
	struct {
		VEC(struct err);
	} faults;
	const struct load_layer *layer; /* the one being read */
	const struct config_preset *preset; /* being applied, or NULL */
	struct str text;
	struct buf texts[CONFIG_FLAG];    /* of the files, by layer */
	struct toml *roots[CONFIG_FLAG];  /* NULL: not there, or not to be read ... */
	struct err *broken[CONFIG_FLAG];  /* ... for this reason; in the arena */
	struct str path[DEPTH_MAX + 1]; /* to the value being looked at */
};

/* ------------------------------------------------------------------ faults */

/* A file of nothing but faults must not cost a search for each of them. */
static bool is_full(const struct loader *l)
{
	return l->faults.n >= FAULTS_MAX;
}

static void add_fault(struct loader *l, const struct err *err)
{
	if (!is_full(l))
		*vec_new(&l->faults) = *err;
}

static struct config_origin origin_at(const struct loader *l, size_t at)
{
	struct config_origin o = { .layer = l->layer->id, .file = l->layer->path };

	toml_place(l->text, at, &o.line, &o.col);
	if (l->preset) {
		o.layer = CONFIG_PRESET;
		o.preset = str_dupz(l->c->mem, l->preset->name);
	}
	return o;
}

static void fault_at(struct loader *l, size_t at, struct err *err)
{
	if (is_full(l))
		return;
	struct config_origin o = origin_at(l, at);

	err_at(err, o.file, o.line, o.col);
	add_fault(l, err);
}

static void cross_fault(void *self, const struct config_origin *at, const struct err *err)
{
	struct err placed = *err;

	if (at->file)
		err_at(&placed, at->file, at->line, at->col);
	add_fault(self, &placed);
}

/* ------------------------------------------------------------------ one value */

static bool holds_moment(const struct toml *v)
{
	if (v->kind >= TOML_DATETIME && v->kind <= TOML_LOCAL_TIME)
		return true;
	for (const struct toml *t = v->first; t; t = t->next)
		if (holds_moment(t))
			return true;
	return false;
}

static bool is_container(const struct field *f)
{
	return f->type == &field_strs || f->type == &field_objs || f->type == &field_json;
}

int load_value(struct config *c, const struct config_leaf *leaf, const struct toml *v,
	enum config_layer layer, struct err *err)
{
	const struct field *f = leaf->field;
	auto_json json_t *j = NULL;

	if ((f->flags & FIELD_GLOBAL) && layer == CONFIG_REPO)
		return err_set(
			err, ERR_INVALID, STR_FMT ": may only be set in the global file", STR_ARG(leaf->key));
	/* The decoder of tool calls takes a list that is spelt as a string; a file has no excuse for it. */
	if (holds_moment(v) || (is_container(f) && v->kind == TOML_STRING))
		return err_set(err, ERR_INVALID, STR_FMT ": expected %s, got %s", STR_ARG(leaf->key),
			f->type->word, toml_kind_name(v->kind));
	if (toml_to_json(v, &j, err) < 0)
		return err_wrap(err, STR_FMT, STR_ARG(leaf->key));
	TRY(f->type->from_json(
		f, str_dupz(c->mem, leaf->key), j, c->mem, (char *)leaf->base + f->offset, err));
	return keys_accept(c, leaf, err);
}

/* A strategy is chosen by a word, and a word does not show what else it opens. */
static int fits_preset(const struct config_leaf *leaf, struct err *err)
{
	int r;

	if (!(leaf->field->flags & (FIELD_LOOSENS | FIELD_GLOBAL)) && !str_eqz(leaf->key, "preset"))
		return 0;
	r = err_set(err, ERR_INVALID, STR_FMT ": not in a preset", STR_ARG(leaf->key));
	err_hint(err, "a preset holds nothing that can loosen security, or that belongs into the global file");
	return r;
}

static void read_leaf(struct loader *l, const struct config_leaf *leaf, const struct toml *v)
{
	struct err err = { 0 };

	if (l->preset && fits_preset(leaf, &err) < 0) {
		fault_at(l, v->key_at, &err);
		return;
	}
	if (load_value(l->c, leaf, v, l->layer->id, &err) < 0)
		fault_at(l, v->at, &err);
	*leaf->origin = origin_at(l, v->key_at);
}

/* ------------------------------------------------------------------ one file */

static void show_path(const struct loader *l, size_t n, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		if (str_starts(l->path[i], STR("["))) { /* an item of a list, see read_elements */
			r = buf_add(out, l->path[i], ERR_DISCARD);
			continue;
		}
		r = buf_addz(out, i > 0 ? "." : "", ERR_DISCARD);
		if (r >= 0)
			r = toml_add_key(out, str_head(l->path[i], 64), ERR_DISCARD);
	}
}

static void read_unknown(struct loader *l, const struct toml *v, size_t n)
{
	auto_buf struct buf shown = BUF_MAX(400);
	struct err err = { 0 };

	if (is_full(l))
		return;
	show_path(l, n, &shown);
	if (keys_is_section(l->path, n))
		err_set(&err, ERR_INVALID, STR_FMT ": expected a table, got %s", STR_ARG(buf_str(&shown)),
			toml_kind_name(v->kind));
	else
		keys_unknown(buf_str(&shown), l->path, n, &err);
	fault_at(l, v->key_at, &err);
}

static void read_table(struct loader *l, const struct toml *table, size_t n);

/* Below an unknown key every value is named, so that nobody has to guess what was dropped. */
static void read_elements(struct loader *l, const struct toml *list, size_t n)
{
	size_t i = 0;

	for (const struct toml *t = list->first; t; t = t->next, i++) {
		l->path[n] = str_printf(l->c->mem, "[%zu]", i);
		read_table(l, t, n + 1);
	}
}

/* Tables that are not keys: definitions of presets, which are read before; and providers in one of them. */
static bool is_apart(struct loader *l, const struct toml *t)
{
	struct err err = { 0 };

	if (!l->preset)
		return str_eqz(t->name, "presets") && t->kind == TOML_TABLE;
	if (!str_eqz(t->name, "providers") && !str_eqz(t->name, "mcp"))
		return false;
	err_set(&err, ERR_INVALID, STR_FMT ": not in a preset", STR_ARG(t->name));
	fault_at(l, t->key_at, &err);
	return true;
}

static void read_table(struct loader *l, const struct toml *table, size_t n)
{
	struct config_leaf leaf;

	BUG_IF(n >= DEPTH_MAX);
	if (!table->first && !keys_is_section(l->path, n))
		read_unknown(l, table, n);
	for (const struct toml *t = table->first; t; t = t->next) {
		l->path[n] = t->name;
		if (n == 0 && is_apart(l, t))
			continue;
		if (keys_find(l->c, l->path, n + 1, true, &leaf))
			read_leaf(l, &leaf, t);
		else if (t->kind == TOML_TABLE)
			read_table(l, t, n + 1);
		else if (t->form == TOML_ELEMENTS && !keys_is_section(l->path, n + 1))
			read_elements(l, t, n + 1);
		else
			read_unknown(l, t, n + 1);
	}
}

static int lies_there(const char *path, const char *name, struct err *err)
{
	err_set(err, ERR_DENIED, "%s lies in the workspace (as %s), where the model could change it", path, name);
	err_hint(err, "move %s out of the workspace, and start agent6 again", strcmp(path, name) == 0 ? "it" : "the file that this name leads to");
	return -ERR_DENIED;
}

/* A link may lead into the workspace, by any name it has. That the directory itself does not lie there, a run looks at. */
static int check_place(const struct load_spec *spec, const struct load_layer *layer, struct err *err)
{
	autofree char *real = spec->workspace ? realpath(layer->path, NULL) : NULL;
	auto_arena struct arena *mem = arena_new();
	struct mount_names names = { (const char *[]){ real }, 1 };
	struct mounts mounts;

	if (!real)
		return 0;
	if (strcmp(real, layer->path) != 0) {
		TRY(mounts_load(mem, &mounts, err));
		names = mounts_names(&mounts, real, mem);
	}
	for (size_t i = 0; i < names.n; i++)
		if (path_is_within(names.p[i], spec->workspace))
			return lies_there(layer->path, names.p[i], err);
	return 0;
}

int load_text(const struct load_spec *spec, const struct load_layer *layer, struct buf *out, struct err *err)
{
	autoclose int fd = -1;

	TRY(file_open(AT_FDCWD, layer->path, false, &fd, err));
	if (layer->id != CONFIG_FILE) {
		TRY(ours_check(layer->path, err));
		TRY(check_place(spec, layer, err));
	}
	if (file_read_fd(fd, out, err) < 0)
		return err_wrap(err, "%s", layer->path);
	return 0;
}

static void parse_layer(struct loader *l, const struct load_spec *spec, const struct load_layer *layer)
{
	struct buf *text = &l->texts[layer->id];
	struct err err = { 0 };
	int r;

	*text = BUF_MAX(TOML_MAX);
	r = layer->replaced ? buf_add(text, layer->text, &err) : load_text(spec, layer, text, &err);
	if (r == -ERR_NOENT && layer->id != CONFIG_FILE)
		return;
	if (r >= 0)
		r = toml_parse(buf_str(text), layer->path, l->c->mem, &l->roots[layer->id], &err);
	if (r < 0) {
		l->broken[layer->id] = arena_alloc(l->c->mem, sizeof(err));
		*l->broken[layer->id] = err;
	}
}

static void read_layer(struct loader *l, const struct load_layer *layer)
{
	const struct toml *root = l->roots[layer->id];

	l->layer = layer;
	l->text = buf_str(&l->texts[layer->id]);
	if (l->broken[layer->id])
		add_fault(l, l->broken[layer->id]);
	if (root && root->first)
		read_table(l, root, 0);
}

/* ------------------------------------------------------------------ presets */

static void read_preset(struct loader *l, const struct config_preset *p)
{
	struct config_preset own = *p; /* the layer it points to outlives this call only here */

	l->preset = &own;
	l->layer = &own.layer;
	l->text = own.text;
	if (own.table->first)
		read_table(l, own.table, 0);
	l->preset = NULL;
}

/* What [presets.NAME] of this layer define. */
static void take_presets(struct loader *l, const struct load_layer *layer)
{
	const struct toml *root = l->roots[layer->id], *all = root ? toml_get(root, STR("presets")) : NULL;
	struct config *c = l->c;
	struct err err = { 0 };

	if (!all || all->kind != TOML_TABLE)
		return;
	struct config_preset *list = arena_array(c->mem, c->npresets + all->n, sizeof(*list));
	struct str text = str_dup(c->mem, buf_str(&l->texts[layer->id]));
	size_t n = c->npresets;

	l->layer = layer;
	l->text = text;
	if (n > 0)
		memcpy(list, c->presets, n * sizeof(*list));
	for (const struct toml *t = all->first; t; t = t->next) {
		int col;

		if (t->kind != TOML_TABLE || !config_name_ok(t->name)) {
			err_set(&err, ERR_INVALID, t->kind == TOML_TABLE ? "the name of a preset is of letters, digits, '-' and '_'"
									   : "presets." STR_FMT ": expected a table", STR_ARG(str_head(t->name, 64)));
			fault_at(l, t->key_at, &err);
			continue;
		}
		list[n] = (struct config_preset){ .name = t->name, .table = t, .layer = *layer, .text = text };
		toml_place(text, t->key_at, &list[n++].line, &col);
	}
	c->presets = list;
	c->npresets = n;
}

/* Those that are not chosen are looked at too: a fault is found when it is made, not when it is needed. */
static void check_presets(struct loader *l, const struct config_preset *chosen)
{
	struct config *real = l->c;

	for (size_t i = 0; i < real->npresets; i++) {
		struct config *scratch = arena_alloc(real->mem, sizeof(*scratch));

		if (&real->presets[i] == chosen)
			continue;
		*scratch = (struct config){ .mem = real->mem, .home = real->home };
		l->c = scratch;
		read_preset(l, &real->presets[i]);
	}
	l->c = real;
}

struct choice {
	struct str name;
	enum config_layer layer;
	size_t at; /* in that layer's text */
};

static struct choice find_choice(const struct loader *l, const struct load_spec *spec)
{
	struct choice found = { .name = spec->preset, .layer = CONFIG_FLAG };

	for (int id = CONFIG_GLOBAL; id < CONFIG_FLAG && spec->preset.n == 0; id++) {
		const struct toml *v = l->roots[id] ? toml_get(l->roots[id], STR("preset")) : NULL;

		if (v && v->kind == TOML_STRING)
			found = (struct choice){ v->text, (enum config_layer)id, v->at };
	}
	return found;
}

static const struct config_preset *choose(struct loader *l, const struct load_spec *spec, const struct choice *choice)
{
	const struct config_preset *p = choice->name.n > 0 ? preset_find(l->c, choice->name) : NULL;
	struct err err = { 0 };

	if (p || choice->name.n == 0)
		return p;
	preset_unknown(l->c, choice->layer == CONFIG_FLAG ? "--preset" : "preset", choice->name, &err);
	if (choice->layer == CONFIG_FLAG) {
		add_fault(l, &err);
		return NULL;
	}
	l->layer = &spec->layers[choice->layer];
	l->text = buf_str(&l->texts[choice->layer]);
	fault_at(l, choice->at, &err);
	return NULL;
}

/* ------------------------------------------------------------------ all of them */

struct load_spec load_spec_of(const struct config_files *files)
{
	return (struct load_spec){ .workspace = files->workspace,
		.home = files->home,
		.preset = files->preset,
		.layers = { [CONFIG_GLOBAL] = { .id = CONFIG_GLOBAL, .path = files->global },
			[CONFIG_REPO] = { .id = CONFIG_REPO, .path = files->repo },
			[CONFIG_FILE] = { .id = CONFIG_FILE, .path = files->file } } };
}

static void load_defaults(struct config *c)
{
	struct err err = { 0 };

	BUG_IF(fields_default(keys_fixed.p, keys_fixed.n, c->mem, c, sizeof(*c), &err) < 0);
	for (int i = 0; i < CONFIG_ROLES; i++)
		BUG_IF(fields_default(keys_model.p, keys_model.n, c->mem, &c->models[i], sizeof(c->models[i]),
			       &err) < 0);
}

static void take_faults(struct loader *l, struct arena *mem, struct config_faults *out)
{
	out->n = l->faults.n;
	out->p = arena_array(mem, out->n, sizeof(*out->p));
	if (out->n > 0)
		memcpy(out->p, l->faults.p, out->n * sizeof(*out->p));
}

static void fini(struct loader *l)
{
	for (size_t i = 0; i < COUNT(l->texts); i++)
		buf_fini(&l->texts[i]);
	vec_fini(&l->faults);
	free(l);
}

static void note_flag(struct config *c, struct str name)
{
	struct config_leaf leaf = { 0 };

	BUG_IF(config_leaf(c, STR("preset"), &leaf, ERR_DISCARD) < 0);
	c->preset = str_dup(c->mem, name);
	*leaf.origin = (struct config_origin){ .layer = CONFIG_FLAG, .file = "--preset" };
}

void load_all(
	const struct load_spec *spec, struct arena *mem, struct config *out, struct config_faults *faults)
{
	struct loader *l = mem_alloc(sizeof(*l)); /* too large for a stack */

	*out = (struct config){ .mem = mem };
	l->c = out;
	load_defaults(out);
	out->mem = mem;
	out->home = spec->home;
	for (int id = CONFIG_GLOBAL; id < CONFIG_FLAG; id++)
		if (spec->layers[id].path) {
			parse_layer(l, spec, &spec->layers[id]);
			take_presets(l, &spec->layers[id]);
		}
	struct choice choice = find_choice(l, spec);
	const struct config_preset *chosen = choose(l, spec, &choice);
	/* A flag's stands below --config FILE. */
	enum config_layer above = choice.layer == CONFIG_FLAG ? CONFIG_REPO : choice.layer;

	check_presets(l, chosen);
	for (int id = CONFIG_GLOBAL; id < CONFIG_FLAG; id++) {
		if (spec->layers[id].path)
			read_layer(l, &spec->layers[id]);
		if (chosen && id == (int)above && !spec->plain)
			read_preset(l, chosen);
	}
	if (spec->preset.n > 0)
		note_flag(out, spec->preset);
	keys_check(out, cross_fault, l);

	take_faults(l, mem, faults);
	fini(l);
}

void load_preset(struct config *c, const struct config_preset *p, struct config_faults *faults)
{
	struct loader *l = mem_alloc(sizeof(*l));

	l->c = c;
	read_preset(l, p);
	take_faults(l, c->mem, faults);
	fini(l);
}

int config_load(const struct config_files *files, struct arena *mem, struct config *out, struct err *err)
{
	struct load_spec spec = load_spec_of(files);
	struct config *c = arena_alloc(mem, sizeof(*c));
	struct config_faults faults;

	load_all(&spec, mem, c, &faults);
	if (faults.n == 0) {
		*out = *c;
		return 0;
	}
	*err = faults.p[0];
	if (faults.n > 1) {
		size_t n = strlen(err->msg);

		snprintf(err->msg + n, sizeof(err->msg) - n,
			" (and %zu more; \"agent6 check config\" lists them)", faults.n - 1);
	}
	return -(int)err->code;
}

struct config_faults config_check(const struct config_files *files, struct arena *mem)
{
	struct load_spec spec = load_spec_of(files);
	struct config *c = arena_alloc(mem, sizeof(*c));
	struct config_faults faults;

	load_all(&spec, mem, c, &faults);
	return faults;
}

int config_override(struct config *c, const char *key, struct str text, const char *flag, struct err *err)
{
	struct config_leaf leaf;

	TRY(config_leaf(c, str_from(key), &leaf, err));
	if (field_parse(leaf.field, text, c->mem, leaf.base, err) < 0 || keys_accept(c, &leaf, err) < 0)
		return err_wrap(err, "%s", flag);
	*leaf.origin = (struct config_origin){ .layer = CONFIG_FLAG, .file = flag };
	return 0;
}
