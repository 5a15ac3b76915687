/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/command.h"

#include "app/apart.h"
#include "app/place.h"
#include "app/profile.h"
#include "app/skills_fetch.h"
#include "config/edit.h"
#include "sandbox/confine.h"
#include "sys/term.h"

#define SHOWN_MAX 200

struct skills_args {
	struct str name;
	bool json, force, always, repo;
};

static int load(struct command_ctx *ctx, struct place *place, struct skills_found *found, struct err *err)
{
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));

	TRY(place_find(STR(""), ctx->config, ctx->mem, place, err));
	TRY(config_load(&place->files, ctx->mem, c, err));
	return skills_collect(&place->paths, c, true, ctx->mem, found, err);
}

/* From here on what is in the files is looked at, and it is somebody else's. */
static int confine_and_parse(const struct skills_found *found, struct arena *mem, struct skills *out, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(SKILL_BUNDLE_MAX + 256 * 1024);
	int r;

	TRY(skills_pack(&found->skills, &b, err));
	r = confine_self(SECCOMP_VIEW, NULL, 0, err);
	if (r == -ERR_UNSUPPORTED)
		cli_note_why("this host cannot confine what reads the skills", err);
	else if (r < 0)
		return r;
	return skills_unpack(str_dup(mem, buf_str(&b)), mem, out, err);
}

static struct str clean(struct arena *mem, struct str s)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	return term_clean(str_head(s, utf8_head(s, SHOWN_MAX)), TERM_LINE, &b, ERR_DISCARD) < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

static const char *state_of(const struct skills_found *found, const struct skill *s, size_t i)
{
	return found->disabled[i] ? "disabled" : s->fault ? "unusable" : s->always ? "always" : s->hidden ? "by --skill only" : "enabled";
}

static int print_json(const struct skills_found *found, const struct skills *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(4 * SKILL_BUNDLE_MAX);

	TRY(buf_addc(&b, '[', err));
	for (size_t i = 0; i < s->n; i++) {
		TRY(buf_addf(&b, err, "%s{\"status\":\"%s\"", i > 0 ? "," : "", state_of(found, &s->p[i], i)));
		TRY(json_add_member(&b, "name", s->p[i].name, err));
		TRY(json_add_member(&b, "dir", str_from(found->dirs[i]), err));
		TRY(json_add_member(&b, "description", s->p[i].description, err));
		if (s->p[i].fault)
			TRY(json_add_member(&b, "fault", str_from(s->p[i].fault), err));
		TRY(buf_addc(&b, '}', err));
	}
	TRY(buf_addz(&b, "]\n", err));
	cli_json(buf_str(&b));
	return 0;
}

static int run_list(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct skills_args *args = decoded;
	struct skills_found found;
	struct skills s;
	struct place place;

	TRY(load(ctx, &place, &found, err));
	TRY(confine_and_parse(&found, ctx->mem, &s, err));
	for (size_t i = 0; i < found.notes.n; i++)
		cli_note(STR_FMT, STR_ARG(clean(ctx->mem, found.notes.p[i])));
	if (args->json)
		return print_json(&found, &s, err);
	if (s.n == 0)
		cli_note("there are no skills; `agent6 skills install SOURCE` puts them into %s", skills_dir(&place.paths, ctx->mem));
	for (size_t i = 0; i < s.n; i++) {
		struct str about = s.p[i].fault ? str_from(s.p[i].fault) : s.p[i].description;

		cli_out("%-24.*s %-16s " STR_FMT "\n", (int)s.p[i].name.n, s.p[i].name.p, state_of(&found, &s.p[i], i),
			STR_ARG(clean(ctx->mem, about)));
	}
	return 0;
}

/* Last of all, since it is the first look into the files. */
static int tell_unusable(const struct paths *paths, const struct skills_fetched *from, struct arena *mem, struct err *err)
{
	struct skills_found found;
	struct skills s;

	TRY(skills_collect(paths, NULL, true, mem, &found, err));
	TRY(confine_and_parse(&found, mem, &s, err));
	for (size_t i = 0; i < s.n; i++)
		for (size_t k = 0; k < from->n && s.p[i].fault; k++)
			if (str_eq(s.p[i].name, from->p[k].name))
				cli_note(STR_FMT " cannot be used as it is: %s", STR_ARG(s.p[i].name), s.p[i].fault);
	return 0;
}

/* A directory that the model may write is no place to fetch the operator's words from, without a look, again and again. */
static int keep_apart(const struct place *place, const struct config *c, struct str origin, struct arena *mem, struct err *err)
{
	struct str_list places;

	TRY(apart_places(c, place->workspace, mem, &places, err));
	return str_starts(origin, STR("/")) ? apart_path(&places, "the origin", str_dupz(mem, origin), mem, err) : 0;
}

/* The same for whom to believe that an address is what it says. */
static int fetch(const struct place *place, const struct config *c, struct str source, struct arena *mem, struct skills_fetched *out,
	struct err *err)
{
	const struct skills_how how = { profile_wish(c), c->skills.ca_file };
	struct str_list places;

	TRY(apart_places(c, place->workspace, mem, &places, err));
	if (how.ca_file.n > 0)
		TRY(apart_path(&places, "skills.ca_file", str_dupz(mem, how.ca_file), mem, err));
	return skills_fetch(source, &how, mem, out, err);
}

static int run_install(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	auto_skills_fetched struct skills_fetched from = { 0 };
	const struct skills_args *args = decoded;
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	struct err why = { 0 };
	struct place place;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	TRY(config_load(&place.files, ctx->mem, c, err));
	TRY(fetch(&place, c, args->name, ctx->mem, &from, err));
	if (from.notice.n > 0)
		cli_note(STR_FMT, STR_ARG(from.notice));
	if (keep_apart(&place, c, from.origin, ctx->mem, &why) < 0) {
		cli_note("%s; it is copied now and not updated from there", why.msg);
		from.origin = STR("");
	}
	TRY(skills_install(&place.paths, from.p, from.n, from.origin, args->force, ctx->mem, err));
	for (size_t i = 0; i < from.n; i++)
		cli_out("installed " STR_FMT " in %s\n", STR_ARG(from.p[i].name), skills_dir(&place.paths, ctx->mem));
	cli_note("a skill is told to the model as your own words: read it before you rely on it; agent6 skills list");
	const struct skills_fetched names = from;
	skills_fetched_fini(&from); /* what was fetched can be removed no more afterwards */
	from = (struct skills_fetched){ 0 };
	return tell_unusable(&place.paths, &names, ctx->mem, err);
}

static int must_be_there(const struct skills_found *found, struct str name, struct arena *mem, struct err *err)
{
	auto_buf struct buf names = BUF_MAX(sizeof(err->hint));

	for (size_t i = 0; i < found->skills.n; i++)
		if (str_eq(found->skills.p[i].name, name))
			return 0;
	for (size_t i = 0; i < found->skills.n; i++)
		if (buf_addf(&names, ERR_DISCARD, "%s" STR_FMT, i > 0 ? ", " : "", STR_ARG(found->skills.p[i].name)) < 0)
			break;
	err_set(err, ERR_NOENT, "there is no skill \"" STR_FMT "\"", STR_ARG(clean(mem, name)));
	err_hint(err, names.n > 0 ? "there are: " STR_FMT : "agent6 skills install SOURCE" STR_FMT, STR_ARG(buf_str(&names)));
	return -ERR_NOENT;
}

enum update { UPDATE_CHANGED, UPDATE_SAME, UPDATE_NO_ORIGIN, UPDATE_GONE, UPDATE_FAILED, UPDATES };
static const char *const update_words[UPDATES] = {
	[UPDATE_CHANGED] = "updated", [UPDATE_SAME] = "unchanged", [UPDATE_NO_ORIGIN] = "skipped, nobody knows where it came from",
	[UPDATE_GONE] = "skipped, it is not there any more", [UPDATE_FAILED] = "could not be fetched",
};

static const struct skill_source *named(const struct skills_fetched *from, struct str name)
{
	for (size_t i = 0; i < from->n; i++)
		if (str_eq(from->p[i].name, name))
			return &from->p[i];
	return NULL;
}

static int update_one(const struct place *place, const struct config *c, struct str name, struct arena *mem, enum update *out,
	struct err *err)
{
	const struct paths *paths = &place->paths;
	auto_skills_fetched struct skills_fetched from = { 0 };
	const struct skill_source *one;
	struct str origin;

	TRY(skills_origin(paths, name, mem, &origin, err));
	*out = UPDATE_NO_ORIGIN;
	if (origin.n == 0)
		return 0;
	*out = UPDATE_FAILED;
	TRY(keep_apart(place, c, origin, mem, err));
	TRY(fetch(place, c, origin, mem, &from, err));
	one = named(&from, name);
	*out = !one ? UPDATE_GONE : skills_same(paths, one, mem) ? UPDATE_SAME : UPDATE_CHANGED;
	return *out == UPDATE_CHANGED ? skills_install(paths, one, 1, origin, true, mem, err) : 0;
}

static bool is_managed(const struct paths *paths, const char *dir, struct arena *mem)
{
	return str_starts(str_from(dir), str_printf(mem, "%s/", skills_dir(paths, mem)));
}

/* One after another; what cannot be fetched leaves the skill as it was and the others their turn. */
static int run_update(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct skills_args *args = decoded;
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	size_t count[UPDATES] = { 0 };
	struct skills_found found;
	struct place place;

	TRY(load(ctx, &place, &found, err));
	TRY(config_load(&place.files, ctx->mem, c, err));
	if (args->name.n > 0)
		TRY(must_be_there(&found, args->name, ctx->mem, err));
	for (size_t i = 0; i < found.skills.n; i++) {
		struct str name = found.skills.p[i].name;
		struct err why = { 0 };
		enum update what = UPDATE_FAILED;

		if ((args->name.n > 0 && !str_eq(name, args->name)) || !is_managed(&place.paths, found.dirs[i], ctx->mem))
			continue;
		if (update_one(&place, c, name, ctx->mem, &what, &why) < 0)
			what = UPDATE_FAILED;
		count[what]++;
		cli_out("%-24.*s %s%s" STR_FMT "\n", (int)name.n, name.p, update_words[what], what == UPDATE_FAILED ? ": " : "",
			STR_ARG(what == UPDATE_FAILED ? clean(ctx->mem, str_from(why.msg)) : STR("")));
	}
	cli_note("%zu updated, %zu unchanged, %zu skipped, %zu failed", count[UPDATE_CHANGED], count[UPDATE_SAME],
		count[UPDATE_NO_ORIGIN] + count[UPDATE_GONE], count[UPDATE_FAILED]);
	return count[UPDATE_FAILED] > 0;
}

static int run_remove(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct skills_args *args = decoded;
	struct place place;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	TRY(skills_remove(&place.paths, args->name, ctx->mem, err));
	cli_out("removed " STR_FMT "\n", STR_ARG(args->name));
	return 0;
}

static bool listed(struct str_list list, struct str name)
{
	for (size_t i = 0; i < list.n; i++)
		if (str_eq(list.p[i], name))
			return true;
	return false;
}

/* A list of the repository's file stands for the whole list: what is written to the other one is not heard here. The file
 * that decides against it, or NULL. */
static int hidden_by(const struct place *place, struct str name, bool disabled, struct arena *mem, const char **file, struct err *err)
{
	struct config *c = arena_alloc(mem, sizeof(*c));
	struct config_leaf leaf = { 0 };

	*file = NULL;
	TRY(config_load(&place->files, mem, c, err));
	TRY(config_leaf(c, STR("skills.disabled"), &leaf, err));
	if (listed(c->skills.disabled, name) != disabled)
		*file = leaf.origin->file ? leaf.origin->file : "--config";
	return 0;
}

static int change(struct command_ctx *ctx, const struct skills_args *args, bool disabled, bool always, struct err *err)
{
	enum config_layer layer = args->repo ? CONFIG_REPO : CONFIG_GLOBAL;
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	struct config_change changes[2];
	struct config_edited done[COUNT(changes)];
	struct skills_found found;
	struct place place;
	size_t n = 0;

	TRY(load(ctx, &place, &found, err));
	TRY(must_be_there(&found, args->name, ctx->mem, err));
	TRY(config_load(&place.files, ctx->mem, c, err));
	if (disabled != listed(c->skills.disabled, args->name))
		changes[n++] = (struct config_change){ disabled ? CONFIG_ADD : CONFIG_REMOVE, layer, STR("skills.disabled"), args->name };
	if (always != listed(c->skills.always, args->name))
		changes[n++] = (struct config_change){ always ? CONFIG_ADD : CONFIG_REMOVE, layer, STR("skills.always"), args->name };
	int r = n > 0 ? config_edit(&place.files, changes, n, ctx->mem, done, err) : 0;
	const char *hider, *word = disabled ? "disabled" : always ? "always told" : "enabled";

	if (r == -ERR_NOENT) /* there is no such file to take it out of */
		n = 0;
	else
		TRY(r);
	TRY(hidden_by(&place, args->name, disabled, ctx->mem, &hider, err));
	if (hider && (n == 0 || !done[0].changed)) {
		r = err_set(err, ERR_INVALID, STR_FMT " is %s in this repository: %s says so", STR_ARG(args->name),
			disabled ? "enabled" : "disabled", hider);
		err_hint(err, "agent6 skills %s " STR_FMT " --repo", disabled ? "disable" : "enable", STR_ARG(args->name));
		return r;
	}
	cli_out(STR_FMT " is %s%s%s\n", STR_ARG(args->name), word, n > 0 ? " in " : " already", n > 0 ? done[0].file : "");
	if (hider)
		cli_note("not in this repository: %s says otherwise; agent6 skills %s " STR_FMT " --repo", hider, disabled ? "disable" : "enable",
			STR_ARG(args->name));
	return 0;
}

static int run_enable(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct skills_args *args = decoded;

	return change(ctx, args, false, args->always, err);
}

static int run_disable(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	return change(ctx, decoded, true, false, err);
}

#define NAME                                                                                                 \
	{ "name", &field_str, offsetof(struct skills_args, name), .flags = FIELD_POSITIONAL | FIELD_REQUIRED, \
		.help = "The skill." }
#define REPO                                                                                                 \
	{ "repo", &field_bool, offsetof(struct skills_args, repo), .help = "In this repository only." }

static const struct field list_fields[] = {
	{ "json", &field_bool, offsetof(struct skills_args, json), .help = "Print one JSON array." },
};
static const struct field install_fields[] = {
	{ "source", &field_str, offsetof(struct skills_args, name), .flags = FIELD_POSITIONAL | FIELD_REQUIRED,
		.help = "A directory, a SKILL.md, the https address of one, or of a git repository." },
	{ "force", &field_bool, offsetof(struct skills_args, force), .help = "Replace skills of the same name." },
};
static const struct field name_fields[] = { NAME };
static const struct field update_fields[] = {
	{ "name", &field_str, offsetof(struct skills_args, name), .flags = FIELD_POSITIONAL, .help = "The skill; all of them when left out." },
};
static const struct field enable_fields[] = {
	NAME, { "always", &field_bool, offsetof(struct skills_args, always), .help = "Its whole text is part of every prompt." }, REPO,
};
static const struct field disable_fields[] = { NAME, REPO };

#define FIELDS(table) .fields = table, .nfields = COUNT(table), .size = sizeof(struct skills_args)

static const struct command commands[] = {
	{ .name = "skills list", .help = "show the installed skills", FIELDS(list_fields), .run = run_list, .needs_no_root_check = true },
	{ .name = "skills install", .help = "install skills from a directory, a file, an address or a git repository",
		.about = "Nothing of a skill is executed. The model is told a skill as your own words: install what you trust.",
		FIELDS(install_fields), .run = run_install },
	{ .name = "skills update", .help = "fetch skills again from where they were installed from",
		.about = "Exit status: 1 when one of them could not be fetched.", FIELDS(update_fields), .run = run_update },
	{ .name = "skills enable", .help = "let runs use a skill", FIELDS(enable_fields), .run = run_enable },
	{ .name = "skills disable", .help = "let no run use a skill", FIELDS(disable_fields), .run = run_disable },
	{ .name = "skills remove", .help = "delete an installed skill", FIELDS(name_fields), .run = run_remove },
};

const struct command_group commands_skills = { commands, COUNT(commands), "skills list" };
