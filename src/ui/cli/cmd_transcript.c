/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/cmd_runs_priv.h"

#include "fmt/json.h"
#include "session/record.h"
#include "session/store.h"
#include "sys/file.h"
#include "sys/term.h"
#include "view/transcript.h"

#include <fcntl.h>

#define MESSAGES_MAX ((size_t)2 << 30)
#define CLEAN_MAX    ((size_t)RECORD_MESSAGE_MAX * 16)

struct transcript_args {
	struct str id;
	bool json, no_thinking;
	int tools;
};

enum tools_shown { TOOLS_BOTH, TOOLS_CALLS, TOOLS_NONE };
static const char *const tools_words[] = { "both", "calls", "none", NULL };

static const struct field fields[] = {
	{ "id", &field_str, offsetof(struct transcript_args, id), .flags = FIELD_POSITIONAL,
		.help = "A session's id or the beginning of it; the newest when left out." },
	{ "json", &field_bool, offsetof(struct transcript_args, json), .help = "Print one JSON array." },
	{ "no-thinking", &field_bool, offsetof(struct transcript_args, no_thinking), .help = "Leave out what the model thought." },
	{ "tools", &field_enum, offsetof(struct transcript_args, tools), .dflt = "both", .choices = tools_words,
		.help = "Calls and their results, calls alone, or neither." },
};

struct printing {
	const struct transcript_args *args;
	struct buf clean;
	enum transcript_kind last;
	int64_t items, last_turn;
};

static bool is_shown(const struct printing *p, enum transcript_kind kind)
{
	if (kind == TRANSCRIPT_THINKING)
		return !p->args->no_thinking;
	if (kind == TRANSCRIPT_CALL)
		return p->args->tools != TOOLS_NONE;
	return kind != TRANSCRIPT_RESULT || p->args->tools == TOOLS_BOTH;
}

static int print_json(struct printing *p, const struct transcript_item *item, struct err *err)
{
	auto_json json_t *o = json_object();

	if (json_object_set_new(o, "turn", json_integer(item->turn)) < 0 ||
		json_object_set_new(o, "kind", json_text(str_from(transcript_kind_word(item->kind)))) < 0 ||
		(item->name.n > 0 && json_object_set_new(o, "name", json_text(item->name)) < 0) ||
		(item->failed && json_object_set_new(o, "failed", json_true()) < 0) ||
		json_object_set_new(o, "text", json_text(item->text)) < 0)
		return err_set(err, ERR_SYS, "no JSON");
	buf_clear(&p->clean);
	autofree char *text = json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII); /* so that no control stands in it */

	if (!text)
		return err_set(err, ERR_LIMIT, "a message is too long to be printed as JSON");
	cli_out("%s%s", p->items > 1 ? ",\n " : "[", text);
	return 0;
}

/* A fence that is longer than any in the text, so that nothing in it ends the block. */
static void print_fenced(struct printing *p, struct str text, const char *lang)
{
	int longest = 2, run = 0;

	for (size_t i = 0; i < text.n; i++) {
		run = text.p[i] == '`' ? run + 1 : 0;
		longest = run > longest && run < 100 ? run : longest;
	}
	(void)p;
	for (int i = 0; i <= longest; i++)
		cli_out("`");
	cli_out("%s\n" STR_FMT "%s", lang, STR_ARG(text), text.n > 0 && text.p[text.n - 1] == '\n' ? "" : "\n");
	for (int i = 0; i <= longest; i++)
		cli_out("`");
	cli_out("\n\n");
}

static int print_markdown(struct printing *p, const struct transcript_item *item, struct err *err)
{
	auto_buf struct buf name = BUF_MAX(4096);
	enum transcript_kind group = item->kind == TRANSCRIPT_PERSON ? TRANSCRIPT_PERSON : TRANSCRIPT_MODEL;

	buf_clear(&p->clean);
	TRY(term_clean(item->text, TERM_TEXT, &p->clean, err));
	TRY(term_clean(str_head(item->name, 256), TERM_LINE, &name, err));
	struct str text = buf_str(&p->clean);

	if (item->kind != TRANSCRIPT_MARK && (group != p->last || item->turn != p->last_turn || p->items == 1) &&
		item->kind != TRANSCRIPT_RESULT) {
		cli_out("## %s, turn %lld\n\n", group == TRANSCRIPT_PERSON ? "To the model" : "Model", (long long)item->turn);
		p->last = group;
		p->last_turn = item->turn;
	}
	switch (item->kind) {
	case TRANSCRIPT_PERSON:
	case TRANSCRIPT_MODEL:
		cli_out(STR_FMT "\n\n", STR_ARG(str_trim(text)));
		return 0;
	case TRANSCRIPT_THINKING:
		cli_out("*Thinking:*\n\n");
		print_fenced(p, text, "");
		return 0;
	case TRANSCRIPT_CALL:
		cli_out("**" STR_FMT "**\n\n", STR_ARG(buf_str(&name)));
		print_fenced(p, text, "json");
		return 0;
	case TRANSCRIPT_RESULT:
		cli_out("%s:\n\n", item->failed ? "failed" : "result");
		print_fenced(p, text, "");
		return 0;
	case TRANSCRIPT_MARK:
		cli_out("---\n\n*" STR_FMT "*\n\n", STR_ARG(text));
		return 0;
	}
	return 0;
}

static int on_item(void *self, const struct transcript_item *item, struct err *err)
{
	struct printing *p = self;

	if (!is_shown(p, item->kind))
		return 0;
	p->items++;
	return p->args->json ? print_json(p, item, err) : print_markdown(p, item, err);
}

static int run_transcript(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct transcript_args *args = decoded;
	auto_buf struct buf text = BUF_MAX(MESSAGES_MAX);
	struct printing p = { .args = args, .clean = BUF_MAX(CLEAN_MAX) };
	autoclose int record = -1;
	struct session_ref ref;
	struct place place;

	TRY(runs_find(ctx, args->id, SESSION_ANY, &place, &ref, err));
	if (args->id.n == 0)
		cli_note("the conversation of %s", ref.id);
	TRY(dir_open(AT_FDCWD, session_path(place.repo_dir, &ref, "record", ctx->mem), &record, err));
	TRY(runs_confine(&record, 1, err));
	int r = file_read(record, STORE_MESSAGES, &text, err);

	if (r == -ERR_NOENT)
		return err_set(err, ERR_NOENT, "%s %s has no conversation yet", session_word(ref.kind), ref.id);
	TRY(r);
	r = transcript_read(buf_str(&text), on_item, &p, err);
	buf_fini(&p.clean);
	TRY(r);
	if (args->json)
		cli_out("%s]\n", p.items == 0 ? "[" : "");
	return 0;
}

static const struct command commands[] = {
	{ .name = "runs transcript", .help = "print the conversation of a session",
		.about = "As markdown, in the order it was had; what was set aside for lack of room is in it too.",
		.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct transcript_args), .run = run_transcript,
		.needs_no_root_check = true },
};

const struct command_group commands_transcript = { commands, COUNT(commands), NULL };
