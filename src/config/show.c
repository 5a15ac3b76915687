/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "config/show.h"
#include "config/keys_priv.h"

#include <string.h>

#define KEY_WIDTH   34
#define VALUE_WIDTH 32
#define TABLE_BYTES (7 * 1024)

/* ------------------------------------------------------------------ one value */

static int hide_values(const struct field *f, const void *base, struct buf *out, struct err *err)
{
	const struct str *text = (const void *)((const char *)base + f->offset);
	auto_json json_t *j = NULL;
	const char *name;
	json_t *value;
	const char *sep = " ";

	if (text->n == 0)
		return buf_addz(out, "{}", err);
	TRY(json_decode(*text, JSON_EXACT, &j, err));
	TRY(buf_addc(out, '{', err));
	json_object_foreach(j, name, value) {
		TRY(buf_addz(out, sep, err));
		TRY(toml_add_key(out, str_from(name), err));
		TRY(buf_addz(out, " = \"<hidden>\"", err));
		sep = ", ";
	}
	return buf_addz(out, json_object_size(j) > 0 ? " }" : "}", err);
}

/* In TOML. Headers and parameters of an address are where somebody will put a key after all. */
static int add_value(const struct config_leaf *leaf, struct buf *out, struct err *err)
{
	if (leaf->field->flags & (KEY_HEADERS | KEY_WORDS))
		return hide_values(leaf->field, leaf->base, out, err);
	return field_print(leaf->field, leaf->base, out, err);
}

static int add_default(const struct field *f, struct buf *out, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	void *fresh = arena_alloc(mem, f->offset + f->type->size);

	if (f->flags & FIELD_REQUIRED)
		return buf_addz(out, "none, it is required", err);
	if (f->dflt)
		TRY(field_parse(f, str_from(f->dflt), mem, fresh, err));
	return field_print(f, fresh, out, err);
}

static bool is_set(const struct config_leaf *leaf)
{
	return leaf->origin->layer != CONFIG_DEFAULT;
}

static int add_source(const struct config_origin *o, struct buf *out, struct err *err)
{
	TRY(buf_addz(out, config_layer_name(o->layer), err));
	if (o->preset)
		TRY(buf_addf(out, err, " %s%s", o->preset, o->file ? "" : ", built in"));
	if (o->layer == CONFIG_FLAG)
		return buf_addf(out, err, " %s", o->file);
	return o->file ? buf_addf(out, err, ", %s:%d", o->file, o->line) : 0;
}

/* ------------------------------------------------------------------ the table */

/* Text in a column of its own. printf's padding would be half of what this command costs. */
static int add_column(struct buf *out, struct str text, size_t width, struct err *err)
{
	static const char blanks[KEY_WIDTH + 1] = "                                  ";

	_Static_assert(KEY_WIDTH >= VALUE_WIDTH, "blanks for both");
	TRY(buf_add(out, text, err));
	return buf_add(out, str_of(blanks, text.n < width ? width - text.n + 1 : 1), err);
}

/* value: room for one, of the caller's, since there are so many rows. */
static int add_row(const struct config_leaf *leaf, bool descriptions, struct buf *value, struct buf *out, struct err *err)
{
	buf_clear(value);
	TRY(add_value(leaf, value, err));
	if (value->n > VALUE_WIDTH) {
		buf_shrink(value, utf8_head(buf_str(value), VALUE_WIDTH - 3));
		TRY(buf_addz(value, "...", err));
	}
	TRY(buf_addz(out, is_set(leaf) ? "* " : "  ", err));
	TRY(add_column(out, leaf->key, KEY_WIDTH, err));
	TRY(add_column(out, buf_str(value), VALUE_WIDTH, err));
	TRY(buf_addz(out, config_layer_name(leaf->origin->layer), err));
	if (leaf->origin->preset)
		TRY(buf_addf(out, err, " %s", leaf->origin->preset));
	TRY(buf_addc(out, '\n', err));
	return descriptions ? buf_addf(out, err, "      %s\n", leaf->field->help) : 0;
}

/* Roles nobody gave a model would fill a screen with the worker's defaults. */
static bool is_quiet(const struct config *c, const struct config_leaf *leaf)
{
	for (int i = CONFIG_WORKER + 1; i < CONFIG_ROLES; i++)
		if (leaf->base == &c->models[i])
			return !is_set(leaf);
	return false;
}

static bool in_section(struct str key, struct str section)
{
	return str_starts(key, section) && (key.n == section.n || key.p[section.n] == '.');
}

int config_show_table(struct config *c, bool descriptions, struct buf *out, struct err *err)
{
	auto_buf struct buf value = BUF_MAX(TOML_MAX);
	struct config_leaf *leaves;
	size_t n = config_leaves(c, c->mem, &leaves);

	TRY(buf_reserve(out, TABLE_BYTES, err)); /* nearly always enough, and so never moved */
	for (size_t s = 0; s < nkey_sections; s++) {
		struct str section = str_from(key_sections[s].name);

		if (s > 0)
			TRY(buf_addc(out, '\n', err));
		if (str_eqz(section, "providers") && c->nproviders == 0)
			TRY(buf_addz(out, "  no provider is configured; \"agent6 connect\" does it\n", err));
		if (str_eqz(section, "mcp") && c->nmcp == 0)
			TRY(buf_addz(out, "  no server is configured; \"agent6 mcp connect\" does it\n", err));
		for (size_t i = 0; i < n; i++)
			if (leaves[i].key.p[0] == section.p[0] && in_section(leaves[i].key, section) && !is_quiet(c, &leaves[i]))
				TRY(add_row(&leaves[i], descriptions, &value, out, err));
	}
	return buf_addz(out, "\n* set by a file; \"agent6 config show KEY\" tells which\n", err);
}

/* ------------------------------------------------------------------ at length */

static int add_range(const struct field *f, struct buf *out, struct err *err)
{
	bool number = f->type == &field_int || f->type == &field_num;

	if (f->choices) {
		for (size_t i = 0; f->choices[i]; i++)
			TRY(buf_addf(out, err, "%s%s", i == 0 ? "one of " : ", ", f->choices[i]));
		return 0;
	}
	TRY(buf_addz(out, f->type->word, err));
	if (number && (f->min != 0 || f->max != 0))
		return buf_addf(out, err, " from %lld to %lld", (long long)f->min, (long long)f->max);
	return !number && f->max > 0 ? buf_addf(out, err, ", at most %lld %s", (long long)f->max,
					       f->type == &field_strs ? "items" : "bytes")
				     : 0;
}

static int add_detail(const struct config_leaf *leaf, struct buf *out, struct err *err)
{
	TRY(buf_addf(out, err, STR_FMT " = ", STR_ARG(leaf->key)));
	TRY(add_value(leaf, out, err));
	TRY(buf_addz(out, "\n  source   ", err));
	TRY(add_source(leaf->origin, out, err));
	TRY(buf_addz(out, "\n  default  ", err));
	TRY(add_default(leaf->field, out, err));
	TRY(buf_addz(out, "\n  allowed  ", err));
	TRY(add_range(leaf->field, out, err));
	if (leaf->field->flags & FIELD_GLOBAL)
		TRY(buf_addz(out, "\n  set in   the global file or --config, not per repository", err));
	if (leaf->field->flags & FIELD_LOOSENS)
		TRY(buf_addz(out, "\n  note     another value than the default can loosen security", err));
	return buf_addf(out, err, "\n  meaning  %s\n", leaf->field->help);
}

static int unknown(struct config *c, struct str key, struct err *err)
{
	struct str *path = NULL;
	size_t n = 0;

	if (toml_key(key, c->mem, &path, &n, err) < 0)
		return err_wrap(err, "the key \"" STR_FMT "\"", STR_ARG(str_head(key, 80)));
	if (n > 1 && str_eqz(path[0], "providers") && config_name_ok(path[1]) && !config_provider(c, path[1]))
		return err_set(err, ERR_INVALID, "no provider \"" STR_FMT "\" is configured", STR_ARG(path[1]));
	if (n > 1 && str_eqz(path[0], "mcp") && config_name_ok(path[1]) && !config_mcp(c, path[1]))
		return err_set(err, ERR_INVALID, "no server \"" STR_FMT "\" is configured", STR_ARG(path[1]));
	return keys_unknown(key, path, n, err);
}

int config_show_line(struct config *c, struct str key, struct buf *out, struct err *err)
{
	struct config_leaf *leaves;
	size_t n = config_leaves(c, c->mem, &leaves), below = 0;

	for (size_t i = 0; i < n; i++) {
		below += in_section(leaves[i].key, key);
		if (!str_eq(leaves[i].key, key))
			continue;
		TRY(buf_addf(out, err, STR_FMT " = ", STR_ARG(key)));
		TRY(add_value(&leaves[i], out, err));
		TRY(buf_addz(out, "  [", err));
		TRY(add_source(leaves[i].origin, out, err));
		return buf_addz(out, "]\n", err);
	}
	if (below > 0)
		return err_set(err, ERR_INVALID, STR_FMT " is a table, not a key; \"agent6 config show " STR_FMT "\" shows it",
			STR_ARG(key), STR_ARG(key));
	return unknown(c, key, err);
}

int config_show_detail(struct config *c, struct str key, struct buf *out, struct err *err)
{
	struct config_leaf *leaves;
	size_t n = config_leaves(c, c->mem, &leaves), shown = 0;

	for (size_t i = 0; i < n; i++)
		if (in_section(leaves[i].key, key)) {
			if (shown++ > 0)
				TRY(buf_addc(out, '\n', err));
			TRY(add_detail(&leaves[i], out, err));
		}
	if (shown == 0 && str_eqz(key, "providers"))
		return buf_addz(out, "no provider is configured; \"agent6 connect\" does it\n", err);
	if (shown == 0 && str_eqz(key, "mcp"))
		return buf_addz(out, "no server is configured; \"agent6 mcp connect\" does it\n", err);
	return shown > 0 ? 0 : unknown(c, key, err);
}

/* ------------------------------------------------------------------ JSON */

/* TOML's spelling of a value as JSON. */
static int add_json(struct str toml, struct arena *mem, struct buf *out, struct err *err)
{
	auto_json json_t *j = NULL;
	struct toml *v = NULL;

	TRY(toml_value(toml, mem, &v, err));
	TRY(toml_to_json(v, &j, err));
	return json_add(out, j, err);
}

static int add_json_leaf(const struct config_leaf *leaf, struct buf *out, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf value = BUF_MAX(TOML_MAX), dflt = BUF_MAX(TOML_MAX);
	const struct field *f = leaf->field;

	TRY(add_value(leaf, &value, err));
	TRY(add_default(f, &dflt, err));
	TRY(json_add_quoted(out, leaf->key, err));
	TRY(buf_addz(out, ":{\"value\":", err));
	TRY(add_json(buf_str(&value), mem, out, err));
	TRY(buf_addz(out, ",\"default\":", err));
	if (f->flags & FIELD_REQUIRED)
		TRY(buf_addz(out, "null", err));
	else
		TRY(add_json(buf_str(&dflt), mem, out, err));
	TRY(json_add_member(out, "source", str_from(config_layer_name(leaf->origin->layer)), err));
	if (leaf->origin->preset)
		TRY(json_add_member(out, "preset", str_from(leaf->origin->preset), err));
	if (leaf->origin->file)
		TRY(json_add_member(out, "file", str_from(leaf->origin->file), err));
	if (leaf->origin->line > 0)
		TRY(buf_addf(out, err, ",\"line\":%d", leaf->origin->line));
	TRY(buf_addf(out, err, ",\"modified\":%s,\"loosens\":%s,\"global_only\":%s", is_set(leaf) ? "true" : "false",
		f->flags & FIELD_LOOSENS ? "true" : "false", f->flags & FIELD_GLOBAL ? "true" : "false"));
	TRY(json_add_member(out, "type", str_from(f->type->word), err));
	if (f->choices) {
		TRY(buf_addz(out, ",\"choices\":[", err));
		for (size_t i = 0; f->choices[i]; i++) {
			TRY(buf_addz(out, i > 0 ? "," : "", err));
			TRY(json_add_quoted(out, str_from(f->choices[i]), err));
		}
		TRY(buf_addc(out, ']', err));
	}
	TRY(json_add_member(out, "description", str_from(f->help), err));
	TRY(json_add_member(out, "display", buf_str(&value), err));
	TRY(json_add_member(out, "default_display", buf_str(&dflt), err));
	return buf_addc(out, '}', err);
}

static bool wanted(struct str_list only, struct str key)
{
	for (size_t i = 0; i < only.n; i++)
		if (in_section(key, only.p[i]))
			return true;
	return only.n == 0;
}

static bool exists(const struct config_leaf *leaves, size_t n, struct str key)
{
	for (size_t i = 0; i < n; i++)
		if (in_section(leaves[i].key, key))
			return true;
	return str_eqz(key, "providers") || str_eqz(key, "mcp"); /* there may be none */
}

int config_show_json(struct config *c, struct str_list only, struct buf *out, struct err *err)
{
	struct config_leaf *leaves;
	size_t n = config_leaves(c, c->mem, &leaves), shown = 0;

	TRY(buf_addz(out, "{", err));
	for (size_t i = 0; i < n; i++) {
		if (!wanted(only, leaves[i].key))
			continue;
		TRY(buf_addz(out, shown++ > 0 ? ",\n" : "\n", err));
		TRY(add_json_leaf(&leaves[i], out, err));
	}
	for (size_t k = 0; k < only.n; k++)
		if (!exists(leaves, n, only.p[k]))
			return unknown(c, only.p[k], err);
	return buf_addz(out, "\n}\n", err);
}

/* ------------------------------------------------------------------ docs/config.md */

static const char intro[] =
	"# Configuration\n"
	"\n"
	"<!-- Printed by `agent6 config reference`; edit src/config/keys.c, not this page. -->\n"
	"\n"
	"agent6 reads TOML 1.0 from these places; a later one wins, key by key:\n"
	"\n"
	"1. the defaults below;\n"
	"2. the global file, `~/.config/agent6/config.toml` (`AGENT6_CONFIG_HOME` or `XDG_CONFIG_HOME` move it);\n"
	"3. the repository's file, `config.toml` in its state directory (`agent6 config path` shows where). It lies\n"
	"   outside the workspace: nothing inside a repository is ever configuration;\n"
	"4. `--config FILE`;\n"
	"5. single flags such as `--max-usd`.\n"
	"\n"
	"The files of 2 and 3, `secrets.toml`, and the directories of configuration, state, data and cache must be yours: each\n"
	"directory, link and file on the way belongs to you, to root or to who owns `/`, and nobody else may write it. HOME is where the way begins, and\n"
	"counts; for a place outside HOME it is `/`, and a link counts where it is and where it leads. Your own group may write, as where umask is 002, when it\n"
	"is your first one, `/etc/passwd` and `/etc/group` show nobody else in it, and the directory has no access list (where neither file knows the group,\n"
	"its number must be yours). A sticky directory such as `/tmp` may be on the way, but not the place itself. Anything else is refused, with the\n"
	"directory, its mode or owner, and the command that mends it: `chmod go-w DIR`. As root with a user's HOME that is refused too: `sudo -H`, or\n"
	"HOME in a container, names one of root's. File systems that show every file as everybody's (vfat, a Windows disk without metadata) hold\n"
	"none of these places. What a server's own rules of access allow (NFS with access lists of its own) is not seen in a mode, and not known.\n"
	"\n"
	"A *preset* is several keys under one name. It stands just above the place that names it with `preset`, and with\n"
	"`--preset NAME` above both files of 2 and 3. `agent6 config presets` lists what there is; `[presets.NAME]` in a file\n"
	"defines one, or replaces one that is built in:\n"
	"\n"
	"```toml\n"
	"preset = \"careful\"\n"
	"[presets.careful]\n"
	"review.trigger = \"before_finish\"\n"
	"workflow.require_verify_to_finish = true\n"
	"```\n"
	"\n"
	"A preset holds no key marked **!**, no key of the global file alone, no provider and no server.\n"
	"\n"
	"An unknown key, a wrong type or a value out of range is an error with file, line and column; nothing is half\n"
	"used. `agent6 config show` prints the result with the source of each value, `agent6 config set KEY VALUE`\n"
	"changes one key and leaves the rest of the file, comments and all, as it was. Keys of providers are not here:\n"
	"`agent6 connect` stores them in `secrets.toml`, mode 0600, or they come from the environment. `agent6 config fix`\n"
	"takes out of the files what is wrong in them and says each key; `agent6 config fill` writes every key that the\n"
	"global file does not say into it with its default, but for those whose being written is a demand that a host may not meet:\n";

static const char marks[] =
	"\n"
	"\n"
	"**!** marks a key whose other values can loosen security.\n";

static int add_reference(const char *prefix, const struct field *f, struct buf *out, struct err *err)
{
	TRY(buf_addf(out, err, "\n### `%s%s`%s\n\n", prefix, f->name, f->flags & FIELD_LOOSENS ? " **!**" : ""));
	TRY(buf_addf(out, err, "%s\n\n", f->help));
	TRY(add_range(f, out, err));
	if (f->flags & FIELD_REQUIRED) {
		TRY(buf_addz(out, "; required", err));
	} else {
		TRY(buf_addz(out, "; default `", err));
		TRY(add_default(f, out, err));
		TRY(buf_addc(out, '`', err));
	}
	return buf_addz(out, f->flags & FIELD_GLOBAL ? "; not in a repository's file\n" : "\n", err);
}

static int add_demands(struct buf *out, struct err *err)
{
	const char *before = "";

	for (size_t i = 0; i < keys_fixed.n; i++) {
		if (!(keys_fixed.p[i].flags & KEY_DEMANDS))
			continue;
		TRY(buf_addf(out, err, "%s`%s`", before, keys_fixed.p[i].name));
		before = ", ";
	}
	return buf_addc(out, '.', err);
}

int config_print_reference(struct buf *out, struct err *err)
{
	TRY(buf_addz(out, intro, err));
	TRY(add_demands(out, err));
	TRY(buf_addz(out, marks, err));
	for (size_t s = 0; s < nkey_sections; s++) {
		struct str name = str_from(key_sections[s].name);
		const struct keys *k = str_eqz(name, "providers") ? &keys_provider
			: str_eqz(name, "mcp")                    ? &keys_mcp
			: str_eqz(name, "models")                 ? &keys_model
								  : &keys_fixed;
		const char *prefix = k == &keys_provider ? "providers.NAME."
			: k == &keys_mcp                 ? "mcp.NAME."
			: k == &keys_model               ? "models.ROLE."
							 : "";

		TRY(buf_addf(out, err, "\n## %s\n\n%s\n", key_sections[s].name, key_sections[s].help));
		for (size_t i = 0; i < k->n; i++)
			if (k != &keys_fixed || in_section(str_from(k->p[i].name), name))
				TRY(add_reference(prefix, &k->p[i], out, err));
	}
	return 0;
}
