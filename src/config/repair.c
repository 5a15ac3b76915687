/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/repair.h"

#include "base/vec.h"
#include "config/keys_priv.h"
#include "config/load_priv.h"
#include "config/target_priv.h"
#include "sys/file.h"

#include <string.h>

#define REMOVED_MAX 500
#define VALUE_SHOWN 200

/* So many lines went, from this one on, in what was left then. */
struct cut {
	int line, n;
};

/* One layer's file while it is worked on. */
struct repair {
	struct load_spec spec;
	enum config_layer layer;
	struct buf text;
	struct target target;
	struct arena *mem;
	bool changed;
	struct {
		VEC(struct cut);
	} cuts;
};

static void repair_fini(struct repair *r)
{
	buf_fini(&r->text);
	target_close(&r->target);
	vec_fini(&r->cuts);
}

/* The files as they are, but for the text that is worked on. */
static struct load_spec spec_now(const struct repair *r)
{
	struct load_spec spec = r->spec;

	spec.layers[r->layer].replaced = true;
	spec.layers[r->layer].text = buf_str(&r->text);
	return spec;
}

static int open_layer(struct repair *r, struct err *err)
{
	const struct load_layer *layer = &r->spec.layers[r->layer];
	struct toml *root;

	TRY(target_open(layer->path, &r->target, err));
	if (!r->target.exists)
		return 0;
	TRY(load_text(&r->spec, layer, &r->text, err));
	return toml_parse(buf_str(&r->text), layer->path, r->mem, &root, err);
}

static int save(struct repair *r, struct err *err)
{
	return r->changed ? file_replace(r->target.dir, r->target.name, buf_str(&r->text), r->target.mode, err) : 0;
}

/* ------------------------------------------------------------------ fill */

static int fill_key(struct repair *r, const struct config_leaf *leaf, struct config_filled *out, struct err *err)
{
	auto_buf struct buf value = BUF_MAX(TOML_MAX);
	struct str *path;
	size_t n;

	if (leaf->field->flags & KEY_DEMANDS) {
		out->left_out.p[out->left_out.n++] = leaf->key;
		return 0;
	}
	TRY(field_print(leaf->field, leaf->base, &value, err));
	TRY(toml_key(leaf->key, r->mem, &path, &n, err));
	TRY(toml_set(&r->text, path, n, buf_str(&value), err));
	r->changed = true;
	out->added++;
	return 0;
}

int config_fill(const struct config_files *files, bool force, struct arena *mem, struct config_filled *out, struct err *err)
{
	CLEANUP(repair_fini) struct repair r = { .spec = load_spec_of(files), .layer = CONFIG_GLOBAL, .text = BUF_MAX(TOML_MAX),
		.target = { .dir = -1 }, .mem = mem };
	struct config *c = arena_alloc(mem, sizeof(*c)), *now = arena_alloc(mem, sizeof(*now));
	struct config_filled done = { .file = r.spec.layers[CONFIG_GLOBAL].path };
	struct config_faults faults;
	struct config_leaf *leaves;
	struct load_spec spec;
	size_t n;

	TRY(open_layer(&r, err));
	if (r.target.exists && !force) {
		err_set(err, ERR_BUSY, "%s is there already", done.file);
		err_hint(err, "--force adds what it does not say, and keeps the rest as it is");
		return -ERR_BUSY;
	}
	r.spec.layers[CONFIG_REPO].path = r.spec.layers[CONFIG_FILE].path = NULL;
	r.spec.preset = STR("");
	r.spec.plain = true;
	load_all(&r.spec, mem, c, &faults);
	if (faults.n > 0) {
		*err = faults.p[0];
		return -(int)err->code;
	}
	n = config_leaves(c, mem, &leaves);
	done.left_out.p = arena_array(mem, n + 1, sizeof(struct str));
	for (size_t i = 0; i < n; i++)
		if (leaves[i].origin->layer == CONFIG_DEFAULT && field_find(keys_fixed.p, keys_fixed.n, leaves[i].key))
			TRY(fill_key(&r, &leaves[i], &done, err));
	spec = spec_now(&r);
	load_all(&spec, mem, now, &faults);
	if (faults.n > 0) {
		*err = faults.p[0];
		err->at = (struct err_place){ 0 };
		return -(int)err->code;
	}
	TRY(save(&r, err));
	*out = done;
	return 0;
}

/* ------------------------------------------------------------------ fix */

/* A key, all that is below it, or what it is in: the smallest that holds the place. */
static const struct toml *at_place(const struct toml *t, size_t at)
{
	for (const struct toml *c = t->first; c; c = c->next) {
		bool inside = at >= c->at && at < c->end;

		if (t->kind == TOML_TABLE && at >= c->line_at && at < c->key_end)
			inside = true;
		const struct toml *below = c->kind == TOML_TABLE || c->form == TOML_ELEMENTS || inside ? at_place(c, at) : NULL;

		if (below || inside)
			return below ? below : c;
	}
	return NULL;
}

static size_t offset_of(struct str text, int line, int col)
{
	size_t at = 0;

	for (int l = 1; l < line && at < text.n; at++)
		l += text.p[at] == '\n';
	return at + (size_t)(col > 0 ? col - 1 : 0);
}

/* What is to be taken out with it: an item of a list or of a value goes with all of it, what is in a [[table]] with that. */
static const struct toml *whole_of(const struct toml *t)
{
	for (const struct toml *up = t; up && up->parent; up = up->parent)
		if (up->parent->form == TOML_ELEMENTS)
			t = up;
		else if (up->parent->kind != TOML_TABLE || up->parent->form == TOML_VALUE)
			t = up->parent;
	return t;
}

static size_t path_of(const struct toml *t, struct arena *mem, struct str **out)
{
	size_t n = 0, depth = 0;

	for (const struct toml *up = t; up && up->parent; up = up->parent)
		depth += up->name.n > 0 || up->parent->kind == TOML_TABLE;
	*out = arena_array(mem, depth + 1, sizeof(**out));
	for (const struct toml *up = t; up && up->parent; up = up->parent)
		if (up->name.n > 0 || up->parent->kind == TOML_TABLE)
			(*out)[depth - ++n] = up->name;
	return depth;
}

static struct str dotted(const struct str *path, size_t n, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(65536);

	for (size_t i = 0; i < n; i++)
		if ((i > 0 && buf_addc(&b, '.', ERR_DISCARD) < 0) || toml_add_key(&b, path[i], ERR_DISCARD) < 0)
			break;
	return str_dup(mem, buf_str(&b));
}

/* A table with its header and what is set in it. Tables below with headers of their own are for the next look. */
static int cut_table(struct repair *r, const struct toml *t, struct err *err)
{
	size_t from = t->at;

	while (from > 0 && r->text.p[from - 1] != '\n')
		from--;
	if (t->body_end <= from)
		return 0;
	TRY(buf_splice(&r->text, from, t->body_end - from, STR(""), err));
	return 1;
}

static int lines_of(struct str s)
{
	int n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == '\n';
	return n;
}

static void note_cut(struct repair *r, struct str before)
{
	struct str after = buf_str(&r->text);
	size_t same = 0;

	while (same < before.n && same < after.n && before.p[same] == after.p[same])
		same++;
	*vec_new(&r->cuts) = (struct cut){ 1 + lines_of(str_head(before, same)), lines_of(before) - lines_of(after) };
}

/* Of the file that the person has, before anything was taken out. */
static int line_there(const struct repair *r, int line)
{
	for (size_t i = r->cuts.n; i > 0; i--)
		if (line >= r->cuts.p[i - 1].line)
			line += r->cuts.p[i - 1].n;
	return line;
}

/* 1: the fault's key is gone; 0: it is in another file, or nothing stands there. */
static int take_out(struct repair *r, const struct err *fault, struct config_removed *out, struct err *err)
{
	const char *file = r->spec.layers[r->layer].path;
	const struct toml *t;
	struct toml *root;
	struct str *path, text = str_dup(r->mem, buf_str(&r->text));
	size_t n;
	int gone;

	if (fault->at.line == 0 || !fault->at.file[0] || strcmp(fault->at.file, file) != 0)
		return 0;
	TRY(toml_parse(text, file, r->mem, &root, err));
	t = at_place(root, offset_of(text, fault->at.line, fault->at.col));
	while (t && ((t->kind == TOML_TABLE && t->form != TOML_HEADER && t->form != TOML_VALUE) || t->form == TOML_ELEMENTS))
		t = t->first;
	if (!t)
		return 0;
	t = whole_of(t);
	n = path_of(t, r->mem, &path);
	*out = (struct config_removed){ .layer = r->layer, .file = file, .key = dotted(path, n, r->mem), .why = *fault };
	if (t->kind != TOML_TABLE && t->end > t->at && !str_starts(out->key, STR("providers.")) && !str_starts(out->key, STR("mcp.")))
		out->value = str_head(str_skip(text, t->at), t->end - t->at < VALUE_SHOWN ? t->end - t->at : VALUE_SHOWN);
	gone = t->kind == TOML_TABLE && t->form == TOML_HEADER ? cut_table(r, t, err) : toml_unset(&r->text, path, n, err);
	TRY(gone);
	if (gone == 0)
		return 0;
	out->why.at.line = line_there(r, fault->at.line);
	note_cut(r, text);
	r->changed = true;
	return 1;
}

static int fix_layer(struct repair *r, struct config_removed *out, size_t *n, struct err *err)
{
	for (bool again = true; again && *n < REMOVED_MAX;) {
		struct config *c = arena_alloc(r->mem, sizeof(*c));
		struct load_spec spec = spec_now(r);
		struct config_faults faults;

		again = false;
		load_all(&spec, r->mem, c, &faults);
		for (size_t i = 0; i < faults.n && !again; i++) {
			int gone = take_out(r, &faults.p[i], &out[*n], err);

			TRY(gone);
			again = gone > 0;
		}
		*n += again;
	}
	return 0;
}

int config_fix(const struct config_files *files, struct arena *mem, struct config_removed **out, size_t *n,
	struct config_faults *left, struct err *err)
{
	static const enum config_layer layers[] = { CONFIG_GLOBAL, CONFIG_REPO, CONFIG_FILE };
	struct config_removed *list = arena_array(mem, REMOVED_MAX + 1, sizeof(*list));
	size_t have = 0;

	for (size_t i = 0; i < COUNT(layers); i++) {
		CLEANUP(repair_fini) struct repair r = { .spec = load_spec_of(files), .layer = layers[i], .text = BUF_MAX(TOML_MAX),
			.target = { .dir = -1 }, .mem = mem };

		if (!r.spec.layers[layers[i]].path)
			continue;
		TRY(open_layer(&r, err));
		if (!r.target.exists)
			continue;
		TRY(fix_layer(&r, list, &have, err));
		TRY(save(&r, err));
	}
	*out = list;
	*n = have;
	*left = config_check(files, mem);
	return 0;
}
