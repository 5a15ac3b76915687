/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "tool/change.h"
#include "tool/match.h"
#include "tool/result.h"
#include "tool/table_priv.h"

#define WHY_MAX   (64 * 1024)
#define EDITS_MAX 200

enum edit_kind { EDIT_REPLACE, EDIT_CREATE };

static const char *const kinds[] = { "replace", "create", NULL };

struct edit {
	int kind;
	struct str old_string, new_string;
};

struct edit_args {
	struct str path;
	struct obj_list edits; /* struct edit */
};

static const struct field edit_fields[] = {
	{ "kind", &field_enum, offsetof(struct edit, kind), .dflt = "replace", .choices = kinds },
	{ "old_string", &field_str, offsetof(struct edit, old_string), .dflt = "",
		.help = "exact text that occurs once; empty for create" },
	{ "new_string", &field_str, offsetof(struct edit, new_string), .flags = FIELD_REQUIRED },
};

static const struct field fields[] = {
	{ "path", &field_str, offsetof(struct edit_args, path), .flags = FIELD_REQUIRED | FIELD_NONEMPTY },
	{ "edits", &field_objs, offsetof(struct edit_args, edits), .flags = FIELD_REQUIRED | FIELD_NONEMPTY,
		.max = EDITS_MAX, .sub = edit_fields, .nsub = COUNT(edit_fields), .sub_size = sizeof(struct edit) },
};

static int check_shape(const struct edit_args *a, struct err *err)
{
	const struct edit *list = a->edits.p;

	for (size_t i = 0; i < a->edits.n; i++) {
		if (list[i].kind != EDIT_CREATE)
			continue;
		if (a->edits.n > 1)
			return err_set(err, ERR_INVALID, "invalid arguments: edits[%zu].kind: create must be the only edit", i);
		if (list[i].old_string.n > 0)
			return err_set(err, ERR_INVALID, "invalid arguments: edits[%zu].old_string: must be empty for create", i);
	}
	return 0;
}

static int done(struct tool_ctx *ctx, const struct tool_path *p, struct str applied, struct buf *out,
	struct tool_outcome *oc, struct err *err)
{
	oc->edited = true;
	outcome_add_path(ctx, oc, p->shown);
	oc->summary = str_printf(ctx->mem, "applied=[" STR_FMT "] path=" STR_FMT, STR_ARG(applied), STR_ARG(p->shown));
	TRY(buf_addz(out, "{\"applied\":[", err));
	for (struct str rest = applied; rest.n > 0;) {
		struct str one = str_cut(&rest, ',');

		TRY(json_add_quoted(out, str_trim(one), err));
		TRY(buf_addz(out, rest.n > 0 ? "," : "", err));
	}
	TRY(buf_addc(out, ']', err));
	TRY(json_add_member(out, "path", p->shown, err));
	return buf_addc(out, '}', err);
}

static int create(struct tool_ctx *ctx, const struct tool_path *p, struct str text, struct buf *out,
	struct tool_outcome *oc, struct err *err)
{
	struct change c = { .kind = CHANGE_CREATE, .path = *p, .bytes = text };

	if (p->exists)
		return err_set(err, ERR_EXIST, STR_FMT " exists already; edit it with replace", STR_ARG(p->shown));
	TRY(changes_apply(&c, 1, err));
	return done(ctx, p, STR("create"), out, oc, err);
}

/* A failed edit says where it stands in the list and, when the text was not found, what is there. */
static int not_applied(struct tool_ctx *ctx, const struct tool_path *p, size_t i, size_t n, const struct err *cause,
	struct str why, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	struct str where = n > 1 ? str_printf(ctx->mem, "edits[%zu]: ", i) : STR("");
	auto_buf struct buf text = BUF_MAX(WHY_MAX + 2048);

	TRY(buf_addf(&text, err, STR_FMT ": " STR_FMT "%s. ", STR_ARG(p->shown), STR_ARG(where), cause->msg));
	if (n > 1)
		TRY(buf_addz(&text, "None of the edits was applied. ", err));
	TRY(buf_add(&text, why, err));
	oc->ok = false;
	oc->summary = str_printf(ctx->mem, STR_FMT ": " STR_FMT "%s", STR_ARG(p->shown), STR_ARG(where), cause->msg);
	return result_error(out, buf_str(&text), err);
}

static int replace(struct tool_ctx *ctx, struct tool_path *p, const struct edit_args *a, struct buf *out,
	struct tool_outcome *oc, struct err *err)
{
	const struct edit *list = a->edits.p;
	auto_buf struct buf text = BUF_MAX(TOOL_FILE_MAX), why = BUF_MAX(WHY_MAX), applied = BUF_MAX(EDITS_MAX * 20);

	if (!p->exists)
		return err_set(err, ERR_NOENT, STR_FMT " does not exist; make it with create", STR_ARG(p->shown));
	TRY(change_read(p, TOOL_FILE_MAX, &text, err));
	for (size_t i = 0; i < a->edits.n; i++) {
		struct match_plan plan;
		struct err cause = { 0 };
		/* The CRs of a place may have to follow the text that replaces it: twice its size is enough. */
		text.max = TOOL_FILE_MAX + 2 * list[i].new_string.n + 64;

		if (match_plan(buf_str(&text), list[i].old_string, list[i].new_string, ctx->mem, &plan, &why, &cause) < 0)
			return not_applied(ctx, p, i, a->edits.n, &cause, buf_str(&why), out, oc, err);
		TRY(buf_splice(&text, plan.at, plan.del, plan.ins, err));
		TRY(buf_addf(&applied, err, "%s%s", i > 0 ? ", " : "", plan.reindented ? "replace~indent" : "replace"));
	}

	struct change c = { .kind = CHANGE_REWRITE, .path = *p, .bytes = buf_str(&text) };
	TRY(changes_apply(&c, 1, err));
	return done(ctx, p, buf_str(&applied), out, oc, err);
}

static int run(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct edit_args *a = args;
	const struct edit *first = a->edits.p;
	struct tool_path p;

	TRY(check_shape(a, err));
	TRY(path_resolve(ctx, a->path, PATH_WRITE, &p, err));
	if (first->kind == EDIT_CREATE)
		return create(ctx, &p, first->new_string, out, oc, err);
	return replace(ctx, &p, a, out, oc, err);
}

const struct tool tool_apply_edit = {
	.name = "apply_edit",
	.help = "Edit one file: replace exact text, or create a file. Edits apply in order, all or none.",
	.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct edit_args),
	.modes = MODE_RUN, .effect = EFFECT_EDIT, .run = run,
};
