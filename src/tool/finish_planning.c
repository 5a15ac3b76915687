/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "tool/table_priv.h"

#define QUESTIONS_MAX 16
#define PLAN_MAX      (256 * 1024)

struct plan_args {
	struct str summary, plan_markdown;
	struct str_list questions;
};

static const struct field fields[] = {
	{ "summary", &field_str, offsetof(struct plan_args, summary), .flags = FIELD_REQUIRED | FIELD_NONEMPTY, .max = 8000 },
	{ "plan_markdown", &field_str, offsetof(struct plan_args, plan_markdown), .flags = FIELD_REQUIRED | FIELD_NONEMPTY,
		.max = PLAN_MAX },
	{ "questions", &field_strs, offsetof(struct plan_args, questions), .max = QUESTIONS_MAX,
		.help = "what only the person can decide" },
};

static int run(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct plan_args *a = args;

	(void)ctx;
	oc->finish = true;
	oc->summary_text = a->summary;
	oc->plan = a->plan_markdown;
	oc->questions = a->questions;
	TRY(buf_addz(out, "{\"acknowledged\":true", err));
	TRY(json_add_member(out, "summary", a->summary, err));
	return buf_addf(out, err, ",\"plan_bytes\":%zu}", a->plan_markdown.n);
}

const struct tool tool_finish_planning = {
	.name = "finish_planning", .help = "Hand in the plan. Call it alone; it ends the session.",
	.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct plan_args),
	.modes = MODE_PLAN, .effect = EFFECT_FINISH, .run = run,
};
