/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/keys_priv.h"
#include "config/load_priv.h"
#include "config/preset.h"

/* In the form a file would define them. */
static const char built_in[] =
	"[standard]\n"
	"[quick]\n"
	"review.trigger = \"off\"\n"
	"[ultra]\n"
	"review.trigger = \"before_finish\"\n"
	"review.decision = \"veto\"\n"
	"review.seats = [\"correctness\", \"security\", \"tests\"]\n"
	"review.concurrency = 3\n"
	"[paranoid]\n"
	"review.trigger = \"before_finish\"\n"
	"review.decision = \"veto\"\n"
	"review.seats = [\"correctness\", \"security\", \"tests\", \"edge-cases\", \"over-engineering\"]\n"
	"review.concurrency = 4\n"
	"review.tier = \"explore\"\n"
	"workflow.require_verify_to_finish = true\n";

const struct config_preset *presets_built_in(struct arena *mem, size_t *n)
{
	struct config_preset *list;
	struct toml *root = NULL;

	BUG_IF(toml_parse(str_from(built_in), "", mem, &root, ERR_DISCARD) < 0);
	list = arena_array(mem, root->n, sizeof(*list));
	*n = 0;
	for (const struct toml *t = root->first; t; t = t->next)
		list[(*n)++] = (struct config_preset){ .name = t->name, .table = t, .text = str_from(built_in) };
	return list;
}

static const struct config_preset *find_in(const struct config_preset *list, size_t n, struct str name)
{
	for (size_t i = n; i > 0; i--) /* the highest layer's definition is the one */
		if (str_eq(list[i - 1].name, name))
			return &list[i - 1];
	return NULL;
}

const struct config_preset *preset_find(const struct config *c, struct str name)
{
	const struct config_preset *p = find_in(c->presets, c->npresets, name);
	size_t n;

	if (p)
		return p;
	const struct config_preset *ours = presets_built_in(c->mem, &n);
	return find_in(ours, n, name);
}

/* Every name once: ours, then those that only files know. */
static size_t all_of(const struct config *c, const struct config_preset ***out)
{
	size_t n, count = 0;
	const struct config_preset *ours = presets_built_in(c->mem, &n);

	*out = arena_array(c->mem, n + c->npresets, sizeof(**out));
	for (size_t i = 0; i < n; i++)
		(*out)[count++] = preset_find(c, ours[i].name);
	for (size_t i = 0; i < c->npresets; i++)
		if (!find_in(ours, n, c->presets[i].name) && preset_find(c, c->presets[i].name) == &c->presets[i])
			(*out)[count++] = &c->presets[i];
	return count;
}

int preset_unknown(const struct config *c, const char *where, struct str name, struct err *err)
{
	auto_buf struct buf known = BUF_MAX(600);
	const struct config_preset **all;
	size_t n = all_of(c, &all);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = buf_addf(&known, ERR_DISCARD, "%s" STR_FMT, i > 0 ? ", " : "", STR_ARG(all[i]->name));
	return err_set(err, ERR_INVALID, "%s: \"" STR_FMT "\" is not one of " STR_FMT, where,
		STR_ARG(str_head(name, utf8_head(name, 64))), STR_ARG(buf_str(&known)));
}

/* ------------------------------------------------------------------ listing them */

/* The keys a preset sets, as leaves of a configuration that holds nothing else. */
static size_t leaves_of(const struct config *c, const struct config_preset *p, struct config_leaf **out)
{
	struct config *alone = arena_alloc(c->mem, sizeof(*alone));
	struct config_faults faults = { 0 };
	struct config_leaf *all;
	size_t n, count = 0;

	*alone = (struct config){ .mem = c->mem, .home = c->home };
	load_preset(alone, p, &faults);
	n = config_leaves(alone, c->mem, &all);
	for (size_t i = 0; i < n; i++)
		if (all[i].origin->layer == CONFIG_PRESET)
			all[count++] = all[i];
	*out = all;
	return count;
}

static int add_value(const struct config_leaf *leaf, struct buf *out, struct err *err)
{
	return field_print(leaf->field, leaf->base, out, err);
}

static int add_text(const struct config *c, const struct config_preset *p, struct buf *out, struct err *err)
{
	struct config_leaf *leaves;
	size_t n = leaves_of(c, p, &leaves);

	TRY(buf_addf(out, err, "%c " STR_FMT, str_eq(p->name, c->preset) ? '*' : ' ', STR_ARG(p->name)));
	TRY(p->layer.path ? buf_addf(out, err, "  %s:%d\n", p->layer.path, p->line) : buf_addz(out, "  built in\n", err));
	if (n == 0)
		return buf_addz(out, "      nothing: what the configuration says\n", err);
	for (size_t i = 0; i < n; i++) {
		TRY(buf_addf(out, err, "      " STR_FMT " = ", STR_ARG(leaves[i].key)));
		TRY(add_value(&leaves[i], out, err));
		TRY(buf_addc(out, '\n', err));
	}
	return 0;
}

static const struct config_origin *chosen_at(struct config *c)
{
	struct config_leaf leaf = { 0 };

	BUG_IF(config_leaf(c, STR("preset"), &leaf, ERR_DISCARD) < 0);
	return leaf.origin;
}

static int add_chosen(const struct config *c, const struct config_origin *at, struct buf *out, struct err *err)
{
	TRY(buf_addf(out, err, STR_FMT " is chosen  [%s", STR_ARG(c->preset), config_layer_name(at->layer)));
	if (at->file)
		TRY(buf_addf(out, err, "%s %s", at->line > 0 ? "," : "", at->file));
	if (at->line > 0)
		TRY(buf_addf(out, err, ":%d", at->line));
	return buf_addz(out, "]\n\n", err);
}

int config_presets_text(struct config *c, struct buf *out, struct err *err)
{
	const struct config_origin *at = chosen_at(c);
	const struct config_preset **all;
	size_t n = all_of(c, &all);

	if (c->preset.n == 0)
		TRY(buf_addz(out, "no preset is chosen; \"agent6 config set preset NAME\" or --preset NAME chooses one\n\n", err));
	else
		TRY(add_chosen(c, at, out, err));
	for (size_t i = 0; i < n; i++)
		TRY(add_text(c, all[i], out, err));
	return 0;
}

static int add_json(const struct config *c, const struct config_preset *p, struct buf *out, struct err *err)
{
	struct config_leaf *leaves;
	size_t n = leaves_of(c, p, &leaves);

	TRY(buf_addz(out, "{\"name\":", err));
	TRY(json_add_quoted(out, p->name, err));
	if (p->layer.path)
		TRY(json_add_member(out, "file", str_from(p->layer.path), err));
	TRY(buf_addf(out, err, ",\"built_in\":%s,\"chosen\":%s,\"keys\":{", p->layer.path ? "false" : "true",
		str_eq(p->name, c->preset) ? "true" : "false"));
	for (size_t i = 0; i < n; i++) {
		auto_buf struct buf value = BUF_MAX(TOML_MAX);
		auto_json json_t *j = NULL;
		struct toml *v = NULL;

		TRY(add_value(&leaves[i], &value, err));
		TRY(toml_value(buf_str(&value), c->mem, &v, err));
		TRY(toml_to_json(v, &j, err));
		TRY(buf_addz(out, i > 0 ? "," : "", err));
		TRY(json_add_quoted(out, leaves[i].key, err));
		TRY(buf_addc(out, ':', err));
		TRY(json_add(out, j, err));
	}
	return buf_addz(out, "}}", err);
}

int config_presets_json(struct config *c, struct buf *out, struct err *err)
{
	const struct config_origin *at = chosen_at(c);
	const struct config_preset **all;
	size_t n = all_of(c, &all);

	TRY(buf_addz(out, "{\"chosen\":", err));
	TRY(c->preset.n > 0 ? json_add_quoted(out, c->preset, err) : buf_addz(out, "null", err));
	TRY(json_add_member(out, "source", str_from(config_layer_name(at->layer)), err));
	TRY(buf_addz(out, ",\"presets\":[", err));
	for (size_t i = 0; i < n; i++) {
		TRY(buf_addz(out, i > 0 ? ",\n" : "\n", err));
		TRY(add_json(c, all[i], out, err));
	}
	return buf_addz(out, "\n]}\n", err);
}

struct str_list config_preset_names(const struct config *c)
{
	const struct config_preset **all;
	size_t n = all_of(c, &all);
	struct str_list out = { arena_array(c->mem, n + 1, sizeof(struct str)), 0 };

	for (size_t i = 0; i < n; i++)
		out.p[out.n++] = all[i]->name;
	return out;
}
