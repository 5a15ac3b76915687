/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/rehearse.h"
#include "fmt/json.h"
#include "sys/term.h"
#include "ui/cli/command.h"

#include <stdio.h>

#define OUTPUT_MAX ((size_t)64 * 1024 * 1024)

enum shown_mode { SHOW_RUN, SHOW_PLAN, SHOW_ASK };
static const char *const modes[] = { "run", "plan", "ask", NULL };

struct show_args {
	struct str task, preset;
	int mode;
	bool json, no_commands;
};

static const struct field fields[] = {
	{ "task", &field_str, offsetof(struct show_args, task), .flags = FIELD_POSITIONAL | FIELD_NONEMPTY, .dflt = "(your task)",
		.help = "What the first message shall ask for." },
	{ "mode", &field_enum, offsetof(struct show_args, mode), .dflt = "run", .choices = modes, .help = "Of which kind of session." },
	{ "preset", &field_str, offsetof(struct show_args, preset), .flags = FIELD_NONEMPTY, .max = 64, .help = "With this strategy preset." },
	{ "no-commands", &field_bool, offsetof(struct show_args, no_commands), .help = "As with --no-commands there." },
	{ "json", &field_bool, offsetof(struct show_args, json), .help = "Print one JSON object." },
};

static int add_json(const struct rehearsal *r, const char *mode, const json_t *tools, struct buf *out, struct err *err)
{
	TRY(buf_addz(out, "{\"mode\":", err));
	TRY(json_add_quoted(out, str_from(mode), err));
	TRY(json_add_member(out, "system", r->system, err));
	TRY(buf_addz(out, ",\"tools\":", err));
	TRY(json_add(out, tools, err));
	TRY(json_add_member(out, "first_message", r->first, err));
	return buf_addf(out, err, ",\"bytes\":{\"system\":%zu,\"tools\":%zu,\"first_message\":%zu}}\n", r->system.n, r->tools.n, r->first.n);
}

static int add_clean(struct str text, struct buf *out, struct err *err)
{
	TRY(term_clean(text, TERM_TEXT, out, err));
	return str_ends(text, STR("\n")) ? 0 : buf_addc(out, '\n', err);
}

static int add_tools(const json_t *tools, struct buf *out, struct err *err)
{
	const json_t *tool;
	size_t i;

	json_array_foreach(tools, i, tool) {
		auto_buf struct buf schema = BUF_MAX(OUTPUT_MAX);
		const json_t *s = json_object_get(tool, "input_schema");

		TRY(buf_addf(out, err, "%s" STR_FMT "\n  " STR_FMT "\n", i > 0 ? "\n" : "", STR_ARG(json_get_str(tool, "name")),
			STR_ARG(json_get_str(tool, "description"))));
		TRY(json_add(&schema, s, err));
		TRY(buf_addf(out, err, "  " STR_FMT "\n", STR_ARG(buf_str(&schema))));
	}
	return 0;
}

static int add_text(const struct rehearsal *r, const json_t *tools, struct buf *out, struct err *err)
{
	auto_buf struct buf listed = BUF_MAX(OUTPUT_MAX);

	TRY(buf_addf(out, err, "== system prompt, %zu bytes ==\n", r->system.n));
	TRY(add_clean(r->system, out, err));
	TRY(buf_addf(out, err, "\n== tools: %zu, %zu bytes ==\n", json_array_size(tools), r->tools.n));
	TRY(add_tools(tools, &listed, err));
	TRY(add_clean(buf_str(&listed), out, err));
	TRY(buf_addf(out, err, "\n== first message, %zu bytes ==\n", r->first.n));
	TRY(add_clean(r->first, out, err));
	return buf_addf(out, err, "\n== in all: %zu bytes ==\n", r->system.n + r->tools.n + r->first.n);
}

static int run_show(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct show_args *args = decoded;
	auto_buf struct buf out = BUF_MAX(OUTPUT_MAX);
	struct run_request rq = run_request_new();
	auto_json json_t *tools = NULL;
	struct rehearsal r;

	rq.mode = modes[args->mode];
	rq.task = args->task;
	rq.config = ctx->config;
	rq.preset = args->preset;
	rq.no_commands = args->no_commands;
	TRY(app_rehearse(&rq, ctx->mem, &r, err));
	TRY(json_decode(r.tools, JSON_EXACT, &tools, err));
	TRY(args->json ? add_json(&r, rq.mode, tools, &out, err) : add_text(&r, tools, &out, err));
	if (args->json)
		cli_json(buf_str(&out));
	else
		fwrite(out.p, 1, out.n, stdout);
	return 0;
}

static const struct command commands[] = {
	{ .name = "prompt show", .help = "show what a model would be told first, without telling anybody",
		.about = "The system prompt, the tools and the first message, exactly as the first request of such a session here would\n"
			 "have them. No provider is needed and none is asked; no session is kept. MCP servers that are enabled are started, in\n"
			 "their jails, since what they offer is part of it.",
		.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct show_args), .run = run_show },
};

const struct command_group commands_prompt = { commands, COUNT(commands), "prompt show" };
