/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/sides.h"
#include "app/place.h"
#include "app/rehearse.h"
#include "fmt/json.h"
#include "sys/term.h"
#include "ui/cli/cmd_runs_priv.h"

#include <stdio.h>

#define OUTPUT_MAX ((size_t)64 * 1024 * 1024)

enum shown_mode { SHOW_RUN, SHOW_PLAN, SHOW_ASK };
static const char *const modes[] = { "run", "plan", "ask", NULL };

struct show_args {
	struct str task, preset, role;
	int mode;
	bool json, no_commands;
};

static const struct field fields[] = {
	{ "task", &field_str, offsetof(struct show_args, task), .flags = FIELD_POSITIONAL, .dflt = "(your task)",
		.help = "What the first message shall ask for." },
	{ "mode", &field_enum, offsetof(struct show_args, mode), .dflt = "run", .choices = modes, .help = "Of which kind of session." },
	{ "role", &field_str, offsetof(struct show_args, role), .max = 1000,
		.help = "Of a model that is asked beside a session: planner, critic, reviewer, gate, reviser, subject, summarizer, btw, or review, "
			"review:PERSONA." },
	{ "preset", &field_str, offsetof(struct show_args, preset), .max = 64, .help = "With this strategy preset." },
	{ "no-commands", &field_bool, offsetof(struct show_args, no_commands), .help = "As with --no-commands there." },
	{ "json", &field_bool, offsetof(struct show_args, json), .help = "Print one JSON object." },
};

/* Servers over HTTP are asked by a run alone. */
static json_t *pending(struct command_ctx *ctx)
{
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	json_t *list = json_array();
	struct place place;

	if (place_find(STR(""), ctx->config, ctx->mem, &place, ERR_DISCARD) < 0 || config_load(&place.files, ctx->mem, c, ERR_DISCARD) < 0)
		return list;
	for (size_t i = 0; i < c->nmcp; i++)
		if (c->mcp[i]->enabled && c->mcp[i]->url.n > 0 && c->mcp[i]->approval != APPROVAL_NO)
			BUG_IF(json_array_append_new(list, json_text(c->mcp[i]->name)) < 0);
	return list;
}

static int add_json(const struct rehearsal *r, const char *mode, const json_t *tools, const json_t *waiting, struct buf *out, struct err *err)
{
	TRY(buf_addz(out, "{\"mode\":", err));
	TRY(json_add_quoted(out, str_from(mode), err));
	TRY(json_add_member(out, "system", r->system, err));
	TRY(buf_addz(out, ",\"tools\":", err));
	TRY(json_add(out, tools, err));
	TRY(json_add_member(out, "first_message", r->first, err));
	TRY(buf_addz(out, ",\"mcp_tools_pending\":", err));
	TRY(json_add(out, waiting, err));
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

static int show_session(struct command_ctx *ctx, const struct show_args *args, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(OUTPUT_MAX);
	struct run_request rq = run_request_new();
	auto_json json_t *tools = NULL, *waiting = args->mode == SHOW_RUN ? pending(ctx) : json_array();
	struct rehearsal r;

	rq.mode = modes[args->mode];
	rq.task = args->task;
	rq.config = ctx->config;
	rq.preset = args->preset;
	rq.no_commands = args->no_commands;
	TRY(app_rehearse(&rq, ctx->mem, &r, err));
	TRY(json_decode(r.tools, JSON_EXACT, &tools, err));
	TRY(args->json ? add_json(&r, rq.mode, tools, waiting, &out, err) : add_text(&r, tools, &out, err));
	for (size_t i = 0; i < json_array_size(waiting) && !args->json; i++)
		cli_note("the tools of " STR_FMT " are not shown: it is asked over HTTP, which agent6 mcp list does",
			STR_ARG(json_view(json_array_get(waiting, i))));
	if (args->json)
		cli_json(buf_str(&out));
	else
		fwrite(out.p, 1, out.n, stdout);
	return 0;
}

/* ---- models beside a session ---- */

static int find_side(struct str name, struct arena *mem, struct side *out, struct err *err)
{
	struct str persona = name, first = str_cut(&persona, ':');

	if (str_eqz(first, "review")) {
		*out = side_review(persona.n > 0 ? persona : STR("reviewer"), mem);
		return 0;
	}
	for (size_t i = 0; sides[i]; i++)
		if (str_eqz(name, sides[i]->name)) {
			*out = *sides[i];
			return 0;
		}
	return err_set(err, ERR_INVALID, "--role: \"" STR_FMT "\" is not one of planner, critic, reviewer, gate, reviser, subject, summarizer, btw, "
		"review, review:PERSONA", STR_ARG(str_head(name, utf8_head(name, 80))));
}

static int side_json(const struct side *s, struct str system, const struct config_model *m, struct err *err)
{
	auto_json json_t *o = json_pack("{s:o,s:s,s:o,s:o,s:s,s:s,s:o,s:I}", "role", json_text(str_from(s->name)), "model_of", config_role_name(s->role), "provider",
		m->provider.n > 0 ? json_text(m->provider) : json_null(), "model", m->model.n > 0 ? json_text(m->model) : json_null(), "asked", s->when,
		"shown", s->shown, "system", s->system ? json_text(system) : json_null(), "bytes", (json_int_t)system.n);

	BUG_IF(!o);
	return runs_print_json(o, err);
}

static int show_side(struct command_ctx *ctx, const struct show_args *args, struct err *err)
{
	auto_buf struct buf system = BUF_MAX(OUTPUT_MAX), out = BUF_MAX(OUTPUT_MAX);
	struct config *c = arena_alloc(ctx->mem, sizeof(*c));
	struct config_model m;
	struct place place;
	struct side s;

	TRY(find_side(args->role, ctx->mem, &s, err));
	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	place.files.preset = args->preset;
	TRY(config_load(&place.files, ctx->mem, c, err));
	m = config_model_of(c, s.role);
	TRY(side_prompt(&s, &system, err));
	if (args->json)
		return side_json(&s, buf_str(&system), &m, err);
	TRY(buf_addf(&out, err, "asked     %s\nmodel     %s: " STR_FMT "\nis shown  %s\n", s.when, config_role_name(s.role),
		STR_ARG(m.model.n > 0 ? m.model : STR("not chosen")), s.shown));
	TRY(buf_addf(&out, err, s.system ? "\n== system prompt, %zu bytes ==\n" : "\nThe prompt and the tools are those of the session itself.\n",
		system.n));
	TRY(s.system ? add_clean(buf_str(&system), &out, err) : 0);
	fwrite(out.p, 1, out.n, stdout);
	return 0;
}

static int run_show(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct show_args *args = decoded;

	return args->role.n > 0 ? show_side(ctx, args, err) : show_session(ctx, args, err);
}

static const struct command commands[] = {
	{ .name = "prompt show", .help = "show what a model would be told first, without telling anybody",
		.about = "The system prompt, the tools and the first message, exactly as the first request of such a session here would\n"
			 "have them. No provider is needed and none is asked; no session is kept. MCP servers that are enabled are started, in\n"
			 "their jails, since what they offer is part of it. With --role what a model beside a session is told.",
		.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct show_args), .run = run_show },
};

const struct command_group commands_prompt = { commands, COUNT(commands), "prompt show" };
