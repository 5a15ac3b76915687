/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/place.h"
#include "config/edit.h"
#include "config/preset.h"
#include "config/repair.h"
#include "config/show.h"
#include "sys/term.h"
#include "ui/cli/cmd_runs_priv.h"

#include <stdio.h>
#include <string.h>

#define OUTPUT_MAX ((size_t)16 * 1024 * 1024)

/* The place, and the configuration as it is there. */
static int load(struct command_ctx *ctx, struct str preset, struct place *place, struct config *c, struct err *err)
{
	TRY(place_find(STR(""), ctx->config, ctx->mem, place, err));
	place->files.preset = preset;
	return config_load(&place->files, ctx->mem, c, err);
}

static void print(const struct buf *out)
{
	fwrite(out->p ? out->p : "", 1, out->n, stdout);
}

/* ------------------------------------------------------------------ show, get, path, reference */

struct show_args {
	struct str_list keys;
	struct str preset;
	bool json, descriptions;
};

static const struct field show_fields[] = {
	{ "keys", &field_strs, offsetof(struct show_args, keys), .flags = FIELD_POSITIONAL,
		.help = "Keys or sections to show at length." },
	{ "json", &field_bool, offsetof(struct show_args, json), .help = "Print an object by key, for programs." },
	{ "preset", &field_str, offsetof(struct show_args, preset), .max = 64,
		.help = "Show it as a run with this preset would have it." },
	{ "descriptions", &field_bool, offsetof(struct show_args, descriptions), .help = "Say what each key means." },
};

static int run_show(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(OUTPUT_MAX);
	const struct show_args *args = decoded;
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	struct place place;

	TRY(load(ctx, args->preset, &place, c, err));
	if (args->json)
		TRY(config_show_json(c, args->keys, &out, err));
	else if (args->keys.n == 0)
		TRY(config_show_table(c, args->descriptions, &out, err));
	for (size_t i = 0; i < args->keys.n && !args->json; i++) {
		TRY(buf_addz(&out, i > 0 ? "\n" : "", err));
		TRY(config_show_detail(c, args->keys.p[i], &out, err));
	}
	if (args->json)
		cli_json(buf_str(&out));
	else
		print(&out);
	return 0;
}

struct get_args {
	struct str key;
	bool json;
};

static const struct field get_fields[] = {
	{ "key", &field_str, offsetof(struct get_args, key), .flags = FIELD_POSITIONAL | FIELD_REQUIRED,
		.help = "The dotted name, such as sandbox.profile." },
	{ "json", &field_bool, offsetof(struct get_args, json), .help = "Print an object by key, as config show does." },
};

static int run_get(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(OUTPUT_MAX);
	const struct get_args *args = decoded;
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	struct place place;

	TRY(load(ctx, STR(""), &place, c, err));
	TRY(config_show_line(c, args->key, &out, err)); /* one key, not a section */
	if (!args->json) {
		print(&out);
		return 0;
	}
	buf_clear(&out);
	TRY(config_show_json(c, (struct str_list){ (struct str *)&args->key, 1 }, &out, err));
	cli_json(buf_str(&out));
	return 0;
}

struct path_args {
	bool json;
};

static const struct field path_fields[] = {
	{ "json", &field_bool, offsetof(struct path_args, json), .help = "Print one JSON object." },
};

static int run_path(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct path_args *args = decoded;
	auto_json json_t *o = json_object();
	struct place p;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &p, err));
	const struct {
		const char *what, *key, *path;
	} rows[] = {
		{ "global config", "global_config", p.files.global },
		{ "repo config", "repo_config", p.files.repo },
		{ "secrets", "secrets", p.paths.secrets_file },
		{ "config dir", "config_dir", p.paths.config },
		{ "state (all repos)", "state", p.paths.state },
		{ "state (this repo)", "repo_state", p.repo_dir },
		{ "skills", "skills", str_printf(ctx->mem, "%s/skills", p.paths.data).p },
		{ "cache", "cache", p.paths.cache },
	};
	for (size_t i = 0; i < COUNT(rows); i++)
		BUG_IF(json_object_set_new(o, rows[i].key, json_pack("{s:o,s:b}", "path", json_text(str_from(rows[i].path)), "present",
			access(rows[i].path, F_OK) == 0)) < 0);
	if (args->json)
		return runs_print_json(o, err);
	for (size_t i = 0; i < COUNT(rows); i++)
		cli_out("%-18s %s%s\n", rows[i].what, rows[i].path, access(rows[i].path, F_OK) == 0 ? "" : "  (not present)");
	return 0;
}

static int run_reference(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(OUTPUT_MAX);

	(void)ctx;
	(void)decoded;
	TRY(config_print_reference(&out, err));
	print(&out);
	return 0;
}

struct presets_args {
	bool json;
};

static const struct field presets_fields[] = {
	{ "json", &field_bool, offsetof(struct presets_args, json), .help = "Print an object, for programs." },
};

static int run_presets(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(OUTPUT_MAX);
	const struct presets_args *args = decoded;
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	struct place place;

	TRY(load(ctx, STR(""), &place, c, err));
	TRY(args->json ? config_presets_json(c, &out, err) : config_presets_text(c, &out, err));
	if (args->json)
		cli_json(buf_str(&out));
	else
		print(&out);
	return 0;
}

/* ------------------------------------------------------------------ set, unset, add, remove */

struct edit_args {
	struct str key, value;
	bool repo, json;
};

#define EDIT_KEY                                                                                             \
	{ "key", &field_str, offsetof(struct edit_args, key), .flags = FIELD_POSITIONAL | FIELD_REQUIRED, \
		.help = "The dotted name, such as sandbox.profile." }
#define EDIT_VALUE                                                                                           \
	{ "value", &field_str, offsetof(struct edit_args, value), .flags = FIELD_POSITIONAL | FIELD_REQUIRED | FIELD_EMPTY,       \
		.help = "TOML, or bare text for a string." }
#define EDIT_REPO                                                                                            \
	{ "repo", &field_bool, offsetof(struct edit_args, repo),                                                    \
		.help = "Change this repository's file instead of the global one." }

#define EDIT_JSON                                                                                            \
	{ "json", &field_bool, offsetof(struct edit_args, json), .help = "Print one JSON array of what was changed." }

static const struct field edit_fields[] = { EDIT_KEY, EDIT_VALUE, EDIT_REPO, EDIT_JSON };
static const struct field unset_fields[] = { EDIT_KEY, EDIT_REPO, EDIT_JSON };

/* The values as they stand in the file now. */
static int edited_json(const struct config_change *ch, const struct config_edited *done, size_t n, struct err *err)
{
	auto_json json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct config_edited *d = &done[i];

		BUG_IF(json_array_append_new(list, json_pack("{s:o,s:b,s:o,s:o,s:b,s:o,s:o}", "key", json_text(ch[i].key), "changed", d->changed,
			"file", json_text(str_from(d->file)), "value", ch[i].op == CONFIG_UNSET ? json_null() : json_text(d->value), "loosens", d->loosens,
			"hidden_by", d->hidden_by_file ? json_string("--config") : d->hidden_by_preset ? json_text(str_from(d->hidden_by_preset)) : json_null(),
			"warning", d->warning.code != ERR_NONE ? json_text(str_from(d->warning.msg)) : json_null())) < 0);
	}
	return runs_print_json(list, err);
}

static void tell(const struct config_change *ch, const struct config_edited *done, struct arena *mem)
{
	const char *key = str_dupz(mem, ch->key), *value = str_dupz(mem, done->value);

	if (!done->changed) {
		cli_note("nothing to do: %s is %s in %s", key, ch->op == CONFIG_UNSET ? "not set" : value, done->file);
		return;
	}
	if (ch->op == CONFIG_UNSET)
		cli_out("Unset %s in %s\n", key, done->file);
	else
		cli_out("Set %s = %s in %s\n", key, value, done->file);
	if (done->loosens)
		cli_note("security: %s is not the default now. %s", key, done->help);
	if (done->hidden_by_file)
		cli_note("the file named with --config sets %s too, and wins", key);
	if (done->hidden_by_preset)
		cli_note("the preset %s sets %s too, and wins", done->hidden_by_preset, key);
}

static void warn(const struct err *warning)
{
	if (warning->code == ERR_NONE)
		return;
	if (warning->at.line > 0)
		cli_note("the configuration was wrong before and still is: %s:%d:%d: %s", warning->at.file, warning->at.line,
			warning->at.col, warning->msg);
	else
		cli_note("the configuration was wrong before and still is: %s", warning->msg);
}

/* Nothing was there to take away; where it stands instead. */
static void hint_other_layer(const struct place *place, const struct config_change *ch, struct arena *mem, int r, struct err *err)
{
	struct config *c = arena_alloc(mem, sizeof(*c));
	struct config_leaf leaf = { 0 };

	if (config_load(&place->files, mem, c, ERR_DISCARD) < 0 || config_leaf(c, ch->key, &leaf, ERR_DISCARD) < 0 ||
		leaf.origin->layer == ch->layer || (leaf.origin->layer != CONFIG_GLOBAL && leaf.origin->layer != CONFIG_REPO))
		return;
	const char *what = leaf.origin->layer == CONFIG_REPO ? "the repository's file sets it: say --repo" : "the global file sets it: leave --repo out";

	if (r < 0)
		err_hint(err, "%s", what);
	else
		cli_note("%s", what);
}

static int edit(struct command_ctx *ctx, const struct edit_args *args, enum config_op op, struct err *err)
{
	struct config_change ch = { .op = op, .layer = args->repo ? CONFIG_REPO : CONFIG_GLOBAL, .key = args->key,
		.value = args->value };
	struct config_edited done = { 0 };
	struct place place;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	int r = config_edit(&place.files, &ch, 1, ctx->mem, &done, err);

	if ((op == CONFIG_UNSET || op == CONFIG_REMOVE) && (r == -ERR_NOENT || (r == 0 && !done.changed)))
		hint_other_layer(&place, &ch, ctx->mem, r, err);
	TRY(r);
	if (args->json)
		return edited_json(&ch, &done, 1, err);
	tell(&ch, &done, ctx->mem);
	warn(&done.warning);
	return 0;
}

/* "providers.NAME", "mcp.NAME": every key of it, in one edit. Anything else is one key. */
static int run_unset(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct edit_args *args = decoded;
	struct str prefix = str_printf(ctx->mem, STR_FMT ".", STR_ARG(args->key));
	struct config *config = arena_alloc(ctx->mem, sizeof(*config));
	struct config_leaf *leaves;
	struct config_change *ch;
	struct config_edited *done;
	struct place place;
	size_t nleaves, n = 0, changed = 0;

	struct str table = args->key, kind = str_cut(&table, '.');

	if ((!str_eqz(kind, "providers") && !str_eqz(kind, "mcp")) || table.n == 0 || str_find(table, STR(".")) < table.n)
		return edit(ctx, args, CONFIG_UNSET, err);
	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	TRY(config_load(&place.files, ctx->mem, config, err));
	nleaves = config_leaves(config, ctx->mem, &leaves);
	ch = arena_array(ctx->mem, nleaves, sizeof(*ch));
	done = arena_array(ctx->mem, nleaves, sizeof(*done));
	for (size_t i = 0; i < nleaves; i++)
		if (str_starts(leaves[i].key, prefix))
			ch[n++] = (struct config_change){ .op = CONFIG_UNSET, .layer = args->repo ? CONFIG_REPO : CONFIG_GLOBAL,
				.key = leaves[i].key };
	if (n == 0)
		return edit(ctx, args, CONFIG_UNSET, err);
	TRY(config_edit(&place.files, ch, n, ctx->mem, done, err));
	if (args->json)
		return edited_json(ch, done, n, err);
	for (size_t i = 0; i < n; i++) {
		changed += done[i].changed;
		if (done[i].changed)
			tell(&ch[i], &done[i], ctx->mem);
	}
	if (changed == 0)
		cli_note("nothing to do: " STR_FMT " is not set in %s", STR_ARG(args->key), done[0].file);
	warn(&done[0].warning);
	return 0;
}

/* ------------------------------------------------------------------ fill, fix */

struct repair_args {
	bool force, json;
};

static const struct field fill_fields[] = {
	{ "force", &field_bool, offsetof(struct repair_args, force), .help = "Add to a file that is there." },
};
static const struct field fix_fields[] = {
	{ "json", &field_bool, offsetof(struct repair_args, json), .help = "Print one JSON object." },
};

static int run_fill(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct repair_args *args = decoded;
	struct config_filled done;
	struct place place;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	TRY(config_fill(&place.files, args->force, ctx->mem, &done, err));
	cli_out("%zu key%s written to %s with what is their default\n", done.added, done.added == 1 ? "" : "s", done.file);
	for (size_t i = 0; i < done.left_out.n; i++)
		cli_note(STR_FMT " was left out: written down it is a demand, also where this host cannot meet it", STR_ARG(done.left_out.p[i]));
	return 0;
}

static struct str on_a_line(struct arena *mem, struct str s)
{
	auto_buf struct buf b = BUF_MAX(65536);

	return term_clean(s, TERM_LINE, &b, ERR_DISCARD) < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

static int fixed_json(const struct config_removed *list, size_t n, const struct config_faults *left, struct err *err)
{
	auto_json json_t *o = json_object(), *removed = json_array(), *rest = json_array();

	for (size_t i = 0; i < n; i++)
		BUG_IF(json_array_append_new(removed, json_pack("{s:o,s:s,s:o,s:i,s:o}", "key", json_text(list[i].key), "layer",
			config_layer_name(list[i].layer), "file", json_text(str_from(list[i].file)), "line", list[i].why.at.line, "reason",
			json_text(str_from(list[i].why.msg)))) < 0);
	for (size_t i = 0; i < left->n; i++)
		BUG_IF(json_array_append_new(rest, json_pack("{s:o,s:i,s:o}", "file", json_text(str_from(left->p[i].at.file)), "line", left->p[i].at.line,
			"reason", json_text(str_from(left->p[i].msg)))) < 0);
	BUG_IF(json_object_set(o, "removed", removed) < 0 || json_object_set(o, "left", rest) < 0);
	return runs_print_json(o, err);
}

static int run_fix(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct repair_args *args = decoded;
	struct config_faults left;
	struct config_removed *list;
	struct place place;
	size_t n;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	TRY(config_fix(&place.files, ctx->mem, &list, &n, &left, err));
	if (args->json) {
		TRY(fixed_json(list, n, &left, err));
		return left.n > 0 ? 2 : 0;
	}
	for (size_t i = 0; i < n; i++)
		cli_out("removed " STR_FMT "%s" STR_FMT " from %s (%s): %s\n", STR_ARG(on_a_line(ctx->mem, list[i].key)),
			list[i].value.n > 0 ? " = " : "", STR_ARG(on_a_line(ctx->mem, list[i].value)), list[i].file,
			config_layer_name(list[i].layer), list[i].why.msg);
	if (n == 0 && left.n == 0)
		cli_note("nothing to fix");
	if (left.n == 0)
		return 0;
	*err = left.p[0];
	return -(int)err->code;
}

#define EDIT_COMMAND(name, op)                                                                               \
	static int name(struct command_ctx *ctx, const void *args, struct err *err)                          \
	{                                                                                                    \
		return edit(ctx, args, op, err);                                                             \
	}
EDIT_COMMAND(run_set, CONFIG_SET)
EDIT_COMMAND(run_add, CONFIG_ADD)
EDIT_COMMAND(run_remove, CONFIG_REMOVE)
#undef EDIT_COMMAND

#define FIELDS(table, type) .fields = table, .nfields = COUNT(table), .size = sizeof(struct type)

static const struct command commands[] = {
	{ .name = "config show", .help = "show the effective configuration and where each value comes from",
		FIELDS(show_fields, show_args), .run = run_show, .needs_no_root_check = true },
	{ .name = "config get", .help = "show one value and its source", FIELDS(get_fields, get_args), .run = run_get,
		.needs_no_root_check = true },
	{ .name = "config set", .help = "set one key", .about = "The value is TOML; bare text is a string. The rest of the "
		"file stays as it is. A value that\nwould make the configuration wrong is refused and nothing is written.",
		FIELDS(edit_fields, edit_args), .run = run_set },
	{ .name = "config unset", .help = "remove one key, or all of a provider or a server, from a file", FIELDS(unset_fields, edit_args), .run = run_unset },
	{ .name = "config add", .help = "add an item to a list", FIELDS(edit_fields, edit_args), .run = run_add },
	{ .name = "config remove", .help = "remove an item from a list", FIELDS(edit_fields, edit_args), .run = run_remove },
	{ .name = "config presets", .help = "list the strategy presets and what each sets", FIELDS(presets_fields, presets_args),
		.run = run_presets, .needs_no_root_check = true },
	{ .name = "config path", .help = "show where the files are", FIELDS(path_fields, path_args), .run = run_path, .needs_no_root_check = true },
	{ .name = "config fill", .help = "write each key that the global file does not say into it, with what is its default",
		FIELDS(fill_fields, repair_args), .run = run_fill },
	{ .name = "config fix", .help = "take out of the files what is wrong in them, and say it",
		.about = "A file that is no TOML is left as it is. What is valid stays, comments too.", FIELDS(fix_fields, repair_args),
		.run = run_fix },
	{ .name = "config reference", .help = "print the reference page docs/config.md", .run = run_reference,
		.needs_no_root_check = true },
};

const struct command_group commands_config = { commands, COUNT(commands), "config show" };
