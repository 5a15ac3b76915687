/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "memory/skill.h"
#include "tool/table_priv.h"

#define NAME_MAX_BYTES 100
#define FILE_MAX_BYTES 300
#define FILES_SHOWN    40

struct skill_args {
	struct str name, file;
};

static const struct field fields[] = {
	{ "name", &field_str, offsetof(struct skill_args, name), .flags = FIELD_REQUIRED | FIELD_NONEMPTY, .max = NAME_MAX_BYTES },
	{ "file", &field_str, offsetof(struct skill_args, file), .max = FILE_MAX_BYTES,
		.help = "Another file of the skill; its instructions when left out." },
};

static int unknown_skill(const struct tool_ctx *ctx, struct str name, struct err *err)
{
	auto_buf struct buf names = BUF_MAX(sizeof(err->hint));

	for (size_t i = 0; i < ctx->skills->n; i++)
		if (!ctx->skills->p[i].fault && !ctx->skills->p[i].hidden &&
			buf_addf(&names, ERR_DISCARD, "%s" STR_FMT, names.n > 0 ? ", " : "", STR_ARG(ctx->skills->p[i].name)) < 0)
			break;
	err_set(err, ERR_NOENT, "there is no skill named " STR_FMT, STR_ARG(str_head(name, utf8_head(name, 64))));
	err_hint(err, "there are: " STR_FMT, STR_ARG(buf_str(&names)));
	return -ERR_NOENT;
}

static int add_files(const struct skill *s, struct buf *out, struct err *err)
{
	size_t shown = 0;

	if (s->nfiles < 2)
		return 0;
	TRY(buf_addz(out, ",\"files\":[", err));
	for (size_t i = 0; i < s->nfiles && shown < FILES_SHOWN; i++) {
		if (str_eqz(s->files[i].path, "SKILL.md"))
			continue;
		TRY(buf_addz(out, shown++ > 0 ? "," : "", err));
		TRY(json_add_quoted(out, s->files[i].path, err));
	}
	TRY(buf_addc(out, ']', err));
	return shown + 1 < s->nfiles ? buf_addf(out, err, ",\"more_files\":%zu", s->nfiles - 1 - shown) : 0;
}

static int run(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct skill_args *a = args;
	const struct skill *s = skills_find(ctx->skills, a->name);
	auto_buf struct buf text = BUF_MAX(4 * SKILL_FILE_MAX);
	bool whole = a->file.n == 0 || str_eqz(a->file, "SKILL.md");

	if (!s || s->hidden)
		return unknown_skill(ctx, a->name, err);
	const struct skill_file *f = skill_file(s, whole ? STR("SKILL.md") : a->file);
	if (!f)
		return err_set(err, ERR_NOENT, "the skill " STR_FMT " has no file " STR_FMT, STR_ARG(s->name),
			STR_ARG(str_head(a->file, utf8_head(a->file, 100))));
	if (f->left_out)
		return err_set(err, ERR_LIMIT, STR_FMT " is larger than %zu KiB", STR_ARG(f->path), SKILL_FILE_MAX / 1024);
	TRY(buf_add_utf8(&text, whole ? s->body : f->bytes, err));
	TRY(buf_addc(out, '{', err));
	TRY(json_add_quoted(out, STR("skill"), err));
	TRY(buf_addc(out, ':', err));
	TRY(json_add_quoted(out, s->name, err));
	TRY(json_add_member(out, "file", f->path, err));
	TRY(json_add_member(out, "content", buf_str(&text), err));
	if (whole)
		TRY(add_files(s, out, err));
	oc->summary = str_printf(ctx->mem, "skill " STR_FMT "/" STR_FMT " (%zu bytes)", STR_ARG(s->name), STR_ARG(f->path), text.n);
	return buf_addc(out, '}', err);
}

static bool shown(const struct tool_ctx *ctx)
{
	return ctx->skills && skills_any(ctx->skills);
}

const struct tool tool_use_skill = {
	.name = "use_skill", .help = "Read a skill that the operator installed: its instructions, or one of its files.",
	.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct skill_args),
	.modes = MODE_RUN, .effect = EFFECT_NONE, .shown = shown, .run = run,
};
