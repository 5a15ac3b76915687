/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* memory: add_memory, invalidate_memory. The recorder writes; what is refused here it would refuse too. */
#include "fmt/json.h"
#include "tool/table_priv.h"

#include <string.h>

static int may_write(struct tool_ctx *ctx, struct err *err)
{
	if (!ctx->notes_written)
		return err_set(err, ERR_UNSUPPORTED, "notes cannot be written here");
	if (*ctx->notes_written >= NOTES_PER_RUN)
		return err_set(err, ERR_LIMIT, "this run has written %d notes already; no more are kept", NOTES_PER_RUN);
	(*ctx->notes_written)++;
	return 0;
}

struct add_args {
	struct str scope, text;
};

static const struct field add_fields[] = {
	{ "scope", &field_str, offsetof(struct add_args, scope), .flags = FIELD_REQUIRED, .max = NOTE_SCOPE_MAX,
		.help = "topic: a-z, 0-9, -" },
	{ "text", &field_str, offsetof(struct add_args, text), .flags = FIELD_REQUIRED, .max = NOTE_TEXT_MAX },
};

static int run_add(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct add_args *a = args;
	auto_buf struct buf clean = BUF_MAX(2 * NOTE_TEXT_MAX), json = BUF_MAX(16 * NOTE_TEXT_MAX);
	char id[NOTE_ID_LEN + 1];

	if (!note_scope_ok(a->scope))
		return err_set(err, ERR_INVALID, "invalid arguments: scope: a word of a-z, 0-9 and \"-\" is wanted");
	if (note_text_clean(a->text, &clean, err) < 0)
		return err_wrap(err, "invalid arguments");
	TRY(may_write(ctx, err));
	note_id_new(id);
	TRY(buf_addz(&json, "{\"scope\":", err));
	TRY(json_add_quoted(&json, a->scope, err));
	TRY(json_add_member(&json, "text", buf_str(&clean), err));
	TRY(buf_addc(&json, '}', err));
	TRY(ctx->host->note(ctx->host->self, NOTE_KEEP, str_from(id), buf_str(&json), err));
	oc->noted = true;
	oc->summary = str_printf(ctx->mem, "%s [" STR_FMT "]", id, STR_ARG(a->scope));
	return buf_addf(out, err, "{\"id\":\"%s\"}", id);
}

const struct tool tool_add_memory = {
	.name = "add_memory", .help = "Leave a note for later runs in this repository: a fact that took effort to find.",
	.fields = add_fields, .nfields = COUNT(add_fields), .size = sizeof(struct add_args),
	.modes = MODE_RUN, .effect = EFFECT_NOTES, .run = run_add,
};

struct drop_args {
	struct str id, reason;
};

static const struct field drop_fields[] = {
	{ "id", &field_str, offsetof(struct drop_args, id), .flags = FIELD_REQUIRED, .max = NOTE_ID_LEN },
	{ "reason", &field_str, offsetof(struct drop_args, reason), .flags = FIELD_REQUIRED | FIELD_NONEMPTY, .max = NOTE_REASON_MAX },
};

static bool is_known(const struct tool_ctx *ctx, struct str id)
{
	for (size_t i = 0; i < ctx->nnotes; i++)
		if (str_eqz(id, ctx->notes[i].id))
			return true;
	return false;
}

static int run_drop(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct drop_args *a = args;
	auto_buf struct buf json = BUF_MAX(16 * NOTE_REASON_MAX);

	if (!note_id_ok(a->id) || !is_known(ctx, a->id))
		return err_set(err, ERR_INVALID, "invalid arguments: id: there is no note of this id among those you were shown");
	TRY(may_write(ctx, err));
	TRY(buf_addz(&json, "{\"reason\":", err));
	TRY(json_add_quoted(&json, a->reason, err));
	TRY(buf_addc(&json, '}', err));
	TRY(ctx->host->note(ctx->host->self, NOTE_DROP, a->id, buf_str(&json), err));
	oc->noted = true;
	oc->summary = str_dup(ctx->mem, a->id);
	return buf_addz(out, "{\"invalidated\":true}", err);
}

const struct tool tool_invalidate_memory = {
	.name = "invalidate_memory", .help = "Take back a note that is wrong.",
	.fields = drop_fields, .nfields = COUNT(drop_fields), .size = sizeof(struct drop_args),
	.modes = MODE_RUN, .effect = EFFECT_NOTES, .run = run_drop,
};
