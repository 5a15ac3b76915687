/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/edit.h"
#include "config/keys_priv.h"
#include "config/load_priv.h"
#include "config/target_priv.h"
#include "sys/file.h"

#include <string.h>

/* One edit on its way. */
struct edit {
	struct load_spec spec;
	enum config_layer layer;
	struct buf text; /* of the layer's file, changed as we go */
	struct arena *mem;
};

static void edit_fini(struct edit *e)
{
	buf_fini(&e->text);
}
#define auto_edit CLEANUP(edit_fini)

/* The configuration up to this layer, with the text as it is now. */
static void load_below(const struct edit *e, struct config *c)
{
	struct load_spec spec = e->spec;
	struct config_faults ignored;

	spec.plain = true;
	spec.layers[e->layer].replaced = true;
	spec.layers[e->layer].text = buf_str(&e->text);
	for (int id = e->layer + 1; id < CONFIG_FLAG; id++)
		spec.layers[id].path = NULL;
	load_all(&spec, e->mem, c, &ignored);
}

/* ------------------------------------------------------------------ what was typed */

/* Bare text is a string, and so is anything a string was asked for; the rest is TOML. */
static int read_typed(struct edit *e, struct str text, bool want_string, struct toml *out, struct err *err)
{
	struct toml *v = NULL;
	bool quoted = str_starts(text, STR("\"")) || str_starts(text, STR("'"));

	*out = (struct toml){ .kind = TOML_STRING, .form = TOML_VALUE, .text = text };
	if (want_string && !quoted)
		return 0;
	if (toml_value(text, e->mem, &v, err) >= 0) {
		*out = *v;
		return 0;
	}
	/* What only looked like TOML is told as such; what did not is a string. */
	return quoted || str_find_any(text, STR("[{")) == 0 ? err_wrap(err, "the value") : 0;
}

/* Decodes the typed value into the leaf and prints it as it will stand in the file. */
static int canonical(struct edit *e, struct config *c, const struct config_leaf *leaf, struct str text,
	struct str *out, struct err *err)
{
	const struct field *f = leaf->field;
	auto_buf struct buf value = BUF_MAX(TOML_MAX);
	struct toml v;

	TRY(read_typed(e, text, f->type == &field_str || f->type == &field_enum, &v, err));
	if (load_value(c, leaf, &v, e->layer, err) < 0) {
		if (f->type == &field_strs && v.kind == TOML_STRING)
			err_hint(err,
				"a list is written '[\"a\", \"b\"]'; \"agent6 config add\" adds one item");
		return -(int)err->code;
	}
	TRY(field_print(f, leaf->base, &value, err));
	*out = str_dup(e->mem, buf_str(&value));
	return 0;
}

/* One item of a list, checked as the list would be. */
static int canonical_item(struct edit *e, struct config *c, const struct config_leaf *leaf, struct str text,
	struct str *out, struct err *err)
{
	auto_buf struct buf value = BUF_MAX(TOML_MAX);
	struct str_list *list = (struct str_list *)((char *)leaf->base + leaf->field->offset);
	struct toml v, whole;

	TRY(read_typed(e, text, true, &v, err));
	v.next = NULL;
	whole = (struct toml){ .kind = TOML_ARRAY, .first = &v, .last = &v, .n = 1 };
	TRY(load_value(c, leaf, &whole, e->layer, err));
	TRY(toml_add_string(&value, list->p[0], err));
	*out = str_dup(e->mem, buf_str(&value));
	return 0;
}

/* ------------------------------------------------------------------ one change */

static int split_key(
	struct edit *e, const struct config_leaf *leaf, struct str **path, size_t *n, struct err *err)
{
	return toml_key(leaf->key, e->mem, path, n, err);
}

/* A list that this file does not have yet starts from what the layers below it say. */
static int change_list(struct edit *e, struct config *c, const struct config_change *ch,
	const struct config_leaf *leaf, struct err *err)
{
	auto_buf struct buf below = BUF_MAX(TOML_MAX);
	struct str *path = NULL, item;
	size_t n = 0;

	if (leaf->field->type != &field_strs)
		return err_set(err, ERR_INVALID, STR_FMT " is %s, not a list; use \"agent6 config set\"",
			STR_ARG(leaf->key), leaf->field->type->word);
	TRY(split_key(e, leaf, &path, &n, err));
	bool inherited = leaf->origin->layer != e->layer;
	TRY(field_print(leaf->field, leaf->base, &below, err));
	TRY(canonical_item(e, c, leaf, ch->value, &item, err));
	if (!inherited)
		return ch->op == CONFIG_ADD ? toml_append(&e->text, path, n, item, err)
					    : toml_drop(&e->text, path, n, item, err);

	auto_buf struct buf draft = BUF_MAX(TOML_MAX);
	struct str x[] = { STR("x") };
	TRY(buf_addf(&draft, err, "x = " STR_FMT "\n", STR_ARG(buf_str(&below))));
	int r = ch->op == CONFIG_ADD ? toml_append(&draft, x, 1, item, err)
				     : toml_drop(&draft, x, 1, item, err);
	if (r <= 0)
		return r;
	struct str whole = str_trim(str_trim_prefix(buf_str(&draft), STR("x = ")));
	return toml_set(&e->text, path, n, whole, err);
}

/* What was in the table may have been all. The header of a provider or a server stays: it says that there is one. */
static int unset(struct edit *e, const struct str *path, size_t n, struct err *err)
{
	int r = toml_unset(&e->text, path, n, err);
	bool is_named = str_eqz(path[0], "providers") || str_eqz(path[0], "mcp");

	if (r <= 0 || n < 2 || is_named)
		return r;
	TRY(toml_prune(&e->text, path, n - 1, err));
	return r;
}

static int change_value(struct edit *e, struct config *c, const struct config_change *ch,
	const struct config_leaf *leaf, struct err *err)
{
	struct str *path = NULL, value;
	size_t n = 0;

	TRY(split_key(e, leaf, &path, &n, err));
	if (ch->op == CONFIG_UNSET)
		return unset(e, path, n, err);
	TRY(canonical(e, c, leaf, ch->value, &value, err));
	return toml_set(&e->text, path, n, value, err);
}

static int change(struct edit *e, const struct config_change *ch, bool *changed, struct err *err)
{
	struct config *c = arena_alloc(e->mem, sizeof(*c));
	struct config_leaf leaf = { 0 };
	bool is_list = ch->op == CONFIG_ADD || ch->op == CONFIG_REMOVE;
	int r;

	load_below(e, c);
	TRY(config_leaf(c, ch->key, &leaf, err));
	r = is_list ? change_list(e, c, ch, &leaf, err) : change_value(e, c, ch, &leaf, err);
	if (r >= 0)
		*changed = r > 0;
	return r;
}

/* ------------------------------------------------------------------ the whole */

static bool is_new(const struct err *fault, const struct config_faults *old)
{
	for (size_t i = 0; i < old->n; i++)
		if (strcmp(old->p[i].msg, fault->msg) == 0)
			return false;
	return true;
}

/* Refuses what the edit broke; what was broken before is a warning. */
static int check_result(const struct edit *e, struct config *now, struct err *warning, struct err *err)
{
	struct config *before = arena_alloc(e->mem, sizeof(*before));
	struct config_faults old, faults;
	struct load_spec spec = e->spec;

	load_all(&e->spec, e->mem, before, &old);
	spec.layers[e->layer].replaced = true;
	spec.layers[e->layer].text = buf_str(&e->text);
	load_all(&spec, e->mem, now, &faults);
	for (size_t i = 0; i < faults.n; i++)
		if (is_new(&faults.p[i], &old)) {
			*err = faults.p[i];
			err->at = (struct err_place){ 0 }; /* a place in a text that was not written */
			return -(int)err->code;
		}
	*warning = faults.n > 0 ? faults.p[0] : (struct err){ 0 };
	return 0;
}

static bool is_looser(const struct config_leaf *leaf, struct arena *mem)
{
	auto_buf struct buf now = BUF_MAX(TOML_MAX), dflt = BUF_MAX(TOML_MAX);
	size_t size = leaf->field->offset + leaf->field->type->size;
	void *fresh = arena_alloc(mem, size);
	const struct field *f = leaf->field;

	BUG_IF(f->dflt && field_parse(f, str_from(f->dflt), mem, fresh, ERR_DISCARD) < 0);
	if (field_print(f, leaf->base, &now, ERR_DISCARD) < 0 || field_print(f, fresh, &dflt, ERR_DISCARD) < 0)
		return true;
	struct str value = str_trim_suffix(str_trim_prefix(buf_str(&now), STR("\"")), STR("\""));
	return !str_eq(buf_str(&now), buf_str(&dflt)) && !(f->strict && str_eqz(value, f->strict));
}

static int describe(struct edit *e, struct config *now, const struct config_change *ch,
	struct config_edited *out, struct err *err)
{
	auto_buf struct buf value = BUF_MAX(TOML_MAX);
	struct config *own = arena_alloc(e->mem, sizeof(*own));
	struct config_leaf leaf = { 0 }, seen = { 0 };

	load_below(e, own);
	TRY(config_leaf(own, ch->key, &leaf, err));
	TRY(config_leaf(now, ch->key, &seen, err));
	TRY(field_print(leaf.field, leaf.base, &value, err));
	out->file = e->spec.layers[e->layer].path;
	out->value = str_dup(e->mem, buf_str(&value));
	out->help = leaf.field->help;
	out->loosens = (leaf.field->flags & FIELD_LOOSENS) && ch->op != CONFIG_UNSET &&
		       is_looser(&leaf, e->mem);
	out->hidden_by_preset = seen.origin->layer == CONFIG_PRESET ? seen.origin->preset : NULL;
	out->hidden_by_file = e->layer < CONFIG_FILE && seen.origin->layer == CONFIG_FILE;
	return 0;
}

static int open_text(struct edit *e, const struct target *t, enum config_op op, struct err *err)
{
	const struct load_layer *layer = &e->spec.layers[e->layer];
	struct toml *root = NULL;

	if (!t->exists)
		return op == CONFIG_UNSET || op == CONFIG_REMOVE || e->layer == CONFIG_FILE
			       ? err_set(err, ERR_NOENT, "%s does not exist", layer->path)
			       : 0;
	TRY(load_text(&e->spec, layer, &e->text, err));
	return toml_parse(buf_str(&e->text), layer->path, e->mem, &root, err);
}

int config_edit(const struct config_files *files, const struct config_change *changes, size_t n,
	struct arena *mem, struct config_edited *out, struct err *err)
{
	auto_edit struct edit e = { .spec = load_spec_of(files), .text = BUF_MAX(TOML_MAX), .mem = mem };
	auto_target struct target t = { .dir = -1 };
	struct config_edited *done = arena_array(mem, n, sizeof(*done));
	struct config *now = arena_alloc(mem, sizeof(*now));
	struct err warning = { 0 };
	bool any = false;

	BUG_IF(n == 0);
	e.layer = changes[0].layer;
	BUG_IF(!e.spec.layers[e.layer].path);
	TRY(target_open(e.spec.layers[e.layer].path, &t, err));
	TRY(open_text(&e, &t, changes[0].op, err));
	for (size_t i = 0; i < n; i++) {
		BUG_IF(changes[i].layer != e.layer);
		TRY(change(&e, &changes[i], &done[i].changed, err));
		any = any || done[i].changed;
	}
	TRY(check_result(&e, now, &warning, err));
	for (size_t i = 0; i < n; i++) {
		TRY(describe(&e, now, &changes[i], &done[i], err));
		done[i].warning = warning;
	}
	if (any)
		TRY(file_replace(t.dir, t.name, buf_str(&e.text), t.mode, err));
	memcpy(out, done, n * sizeof(*done));
	return 0;
}
