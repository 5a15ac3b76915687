/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/notes.h"
#include "app/place.h"
#include "memory/notes.h"
#include "sys/term.h"
#include "ui/cli/cmd_runs_priv.h"
#include "ui/cli/command.h"

#include <stdio.h>

#define TEXT_SHOWN 90

struct list_args {
	bool all, json;
};
struct note_args {
	struct str id, scope, text, reason;
	bool json;
};

static const struct field list_fields[] = {
	{ "all", &field_bool, offsetof(struct list_args, all), .help = "With those that were invalidated, and why." },
	{ "json", &field_bool, offsetof(struct list_args, json), .help = "Print one JSON array." },
};
#define ID_FIELD                                                                                             \
	{ "id", &field_str, offsetof(struct note_args, id), .flags = FIELD_POSITIONAL | FIELD_REQUIRED, \
		.max = 64, .help = "A note's id or the beginning of it." }
#define JSON_FIELD                                                                                           \
	{ "json", &field_bool, offsetof(struct note_args, json), .help = "Print one JSON object." }
static const struct field id_fields[] = { ID_FIELD };
static const struct field show_fields[] = { ID_FIELD, JSON_FIELD };
static const struct field add_fields[] = {
	{ "scope", &field_str, offsetof(struct note_args, scope), .flags = FIELD_POSITIONAL | FIELD_REQUIRED,
		.max = NOTE_SCOPE_MAX, .help = "Its topic, a word of a-z, 0-9 and \"-\"." },
	{ "text", &field_str, offsetof(struct note_args, text), .flags = FIELD_POSITIONAL | FIELD_REQUIRED,
		.max = NOTE_TEXT_MAX, .help = "What later runs are told." },
	JSON_FIELD,
};
static const struct field drop_fields[] = {
	ID_FIELD,
	{ "reason", &field_str, offsetof(struct note_args, reason), .flags = FIELD_POSITIONAL, .max = NOTE_REASON_MAX,
		.help = "Why it is no longer so." },
};

static int open_notes(struct command_ctx *ctx, enum notes_use use, int *fd, struct err *err)
{
	struct place place;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	return app_notes_open(place.repo_dir, use, fd, err);
}

static struct str clean(struct arena *mem, struct str s, enum term_keep keep)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	return term_clean(s, keep, &b, ERR_DISCARD) < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

static int add_json(const struct memory_note *m, struct buf *b, struct err *err)
{
	const struct { const char *key; struct str value; } members[] = { { "scope", m->scope }, { "text", m->text },
		{ "origin", m->origin }, { "created_at", m->created_at }, { "invalidated_at", m->invalidated_at },
		{ "invalidated_by", m->invalidated_by }, { "reason", m->reason } };

	TRY(buf_addf(b, err, "{\"id\":\"%s\"", m->id));
	for (size_t k = 0; k < COUNT(members); k++)
		TRY(json_add_member(b, members[k].key, members[k].value, err));
	return buf_addc(b, '}', err);
}

static int print_json(const struct memory_note *list, size_t n, bool array, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(16 * 1024 * 1024);

	TRY(buf_addz(&b, array ? "[" : "", err));
	for (size_t i = 0; i < n; i++) {
		TRY(buf_addz(&b, i > 0 ? "," : "", err));
		TRY(add_json(&list[i], &b, err));
	}
	cli_json(buf_str(&b));
	cli_out(array ? "]\n" : "\n");
	return 0;
}

static void print_row(struct arena *mem, const struct memory_note *m)
{
	struct str text = clean(mem, m->text, TERM_LINE);
	int fits = (int)term_fit(text, TEXT_SHOWN, NULL);

	cli_out("%s  " STR_FMT "  [" STR_FMT "] %.*s%s  (" STR_FMT ")\n", m->id, STR_ARG(str_head(clean(mem, m->created_at, TERM_LINE), 10)),
		STR_ARG(m->scope), fits, text.p, (size_t)fits < text.n ? "..." : "", STR_ARG(clean(mem, m->origin, TERM_LINE)));
	if (m->invalidated_at.n > 0)
		cli_out("            no longer so since " STR_FMT ", says " STR_FMT ": " STR_FMT "\n",
			STR_ARG(str_head(clean(mem, m->invalidated_at, TERM_LINE), 10)), STR_ARG(clean(mem, m->invalidated_by, TERM_LINE)),
			STR_ARG(clean(mem, m->reason, TERM_LINE)));
}

static int run_list(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct list_args *args = decoded;
	autoclose int fd = -1;
	struct memory_note *list;
	size_t n = 0;

	TRY(open_notes(ctx, NOTES_READ, &fd, err));
	if (fd >= 0) {
		TRY(runs_confine(&fd, 1, err)); /* a run wrote them */
		TRY(notes_list(fd, args->all, ctx->mem, &list, &n, err));
	}
	if (args->json)
		return print_json(list, n, true, err);
	for (size_t i = 0; i < n; i++)
		print_row(ctx->mem, &list[i]);
	if (n == 0)
		cli_note("there are no notes for this repository");
	return 0;
}

static int find_in(int fd, struct str word, struct arena *mem, struct memory_note *out, struct err *err)
{
	return fd < 0 ? err_set(err, ERR_NOENT, "there are no notes for this repository") : note_find(fd, word, mem, out, err);
}

static int find(struct command_ctx *ctx, struct str word, int *fd, struct memory_note *out, struct err *err)
{
	TRY(open_notes(ctx, NOTES_READ, fd, err));
	return find_in(*fd, word, ctx->mem, out, err);
}

static int run_show(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct note_args *args = decoded;
	autoclose int fd = -1;
	struct memory_note m;

	TRY(open_notes(ctx, NOTES_READ, &fd, err));
	if (fd >= 0)
		TRY(runs_confine(&fd, 1, err));
	TRY(find_in(fd, args->id, ctx->mem, &m, err));
	if (args->json)
		return print_json(&m, 1, false, err);
	cli_out(STR_FMT "\n", STR_ARG(clean(ctx->mem, m.text, TERM_TEXT)));
	cli_note("%s [" STR_FMT "], written " STR_FMT " by " STR_FMT "%s", m.id, STR_ARG(m.scope),
		STR_ARG(clean(ctx->mem, m.created_at, TERM_LINE)), STR_ARG(clean(ctx->mem, m.origin, TERM_LINE)),
		m.invalidated_at.n > 0 ? "; no longer so" : "");
	return 0;
}

static int run_add(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct note_args *args = decoded;
	autoclose int fd = -1;
	char id[NOTE_ID_LEN + 1];

	TRY(open_notes(ctx, NOTES_WRITE, &fd, err));
	note_id_new(id);
	TRY(note_add(fd, str_from(id), args->scope, args->text, STR("operator"), err));
	if (args->json)
		cli_out("{\"id\":\"%s\"}\n", id);
	else
		cli_out("%s\n", id);
	return 0;
}

static int run_invalidate(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct note_args *args = decoded;
	autoclose int fd = -1;
	struct memory_note m;

	TRY(find(ctx, args->id, &fd, &m, err));
	TRY(note_invalidate(fd, str_from(m.id), args->reason, STR("operator"), err));
	cli_out("%s is shown to no run any more\n", m.id);
	return 0;
}

static int run_rm(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct note_args *args = decoded;
	autoclose int fd = -1;
	struct memory_note m;

	TRY(find(ctx, args->id, &fd, &m, err));
	TRY(note_remove(fd, str_from(m.id), err));
	cli_out("removed %s\n", m.id);
	return 0;
}

#define FIELDS(table, type) .fields = table, .nfields = COUNT(table), .size = sizeof(struct type)

static const struct command commands[] = {
	{ .name = "memory list", .help = "list the notes that runs in this repository are told",
		.about = "Models write them, and people. A note is bounded, cleaned and signed when it is written, and framed as data\n"
			 "that may be wrong when a model reads it.",
		FIELDS(list_fields, list_args), .run = run_list, .needs_no_root_check = true },
	{ .name = "memory show", .help = "print one note whole", FIELDS(show_fields, note_args), .run = run_show,
		.needs_no_root_check = true },
	{ .name = "memory add", .help = "leave a note for later runs", FIELDS(add_fields, note_args), .run = run_add },
	{ .name = "memory invalidate", .help = "keep a note, but tell it to no run any more", FIELDS(drop_fields, note_args),
		.run = run_invalidate },
	{ .name = "memory rm", .help = "remove a note and its trail", FIELDS(id_fields, note_args), .run = run_rm },
};

const struct command_group commands_memory = { commands, COUNT(commands), "memory list" };
