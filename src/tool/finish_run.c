/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "tool/table_priv.h"

struct finish_args {
	struct str summary;
	struct str result; /* JSON text */
	struct str stale_gate;
};

static const struct field fields[] = {
	{ "summary", &field_str, offsetof(struct finish_args, summary), .flags = FIELD_REQUIRED | FIELD_NONEMPTY,
		.help = "what was done, and what was not" },
	{ "result", &field_json, offsetof(struct finish_args, result) },
	{ "stale_gate", &field_str, offsetof(struct finish_args, stale_gate), .dflt = "",
		.help = "a better verify command, if the configured one is wrong" },
};

static int run(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct finish_args *a = args;

	(void)ctx;
	oc->finish = true;
	oc->summary_text = a->summary;
	oc->result_json = a->result;
	oc->stale_gate = a->stale_gate;
	TRY(buf_addz(out, "{\"acknowledged\":true", err));
	TRY(json_add_member(out, "summary", a->summary, err));
	TRY(buf_addz(out, ",\"result\":", err));
	TRY(buf_add(out, a->result.n > 0 ? a->result : STR("null"), err));
	if (a->stale_gate.n > 0)
		TRY(json_add_member(out, "stale_gate", a->stale_gate, err));
	return buf_addc(out, '}', err);
}

const struct tool tool_finish_run = {
	.name = "finish_run", .help = "End the run. Call it alone, when the task is done or cannot be done.",
	.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct finish_args),
	.modes = MODE_RUN, .effect = EFFECT_FINISH, .run = run,
};
