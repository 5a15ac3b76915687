/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/tool.h"

#include "fmt/cquote.h"
#include "fmt/json.h"
#include "tool/result.h"
#include "tool/table_priv.h"

#include <string.h>

#define RAW_RESULT_MAX   ((size_t)8 * 1024 * 1024)
#define CUT_ARGUMENTS    20000 /* longer broken arguments were cut off by the output limit */
#define NAME_SHOWN       64

const struct tool *const tools[] = {
	&tool_read_file, &tool_list_dir, &tool_grep, &tool_outline, &tool_find_definition, &tool_find_references,
	&tool_apply_edit, &tool_apply_patch, &tool_run_verify_command,
	&tool_run_command, &tool_run_metric_command, &tool_ask_user, &tool_add_task, &tool_update_task, &tool_list_tasks, &tool_add_memory,
	&tool_invalidate_memory, &tool_use_skill, &tool_finish_run, &tool_finish_planning, &tool_read_background, &tool_stop_background, NULL,
};

static const struct {
	enum tool_mode mode;
	const char *word;
} modes[] = { { MODE_RUN, "run" }, { MODE_PLAN, "plan" }, { MODE_ASK, "ask" }, { MODE_REVIEW, "review" } };

static const char *mode_word(enum tool_mode mode)
{
	for (size_t i = 0; i < COUNT(modes); i++)
		if (modes[i].mode == mode)
			return modes[i].word;
	return "this";
}

bool tool_mode_from(struct str word, enum tool_mode *out)
{
	for (size_t i = 0; i < COUNT(modes); i++)
		if (str_eqz(word, modes[i].word)) {
			*out = modes[i].mode;
			return true;
		}
	return false;
}

const struct tool *tool_find(struct str name)
{
	for (size_t i = 0; tools[i]; i++)
		if (str_eqz(name, tools[i]->name))
			return tools[i];
	return NULL;
}

bool tool_exposed(const struct tool *t, const struct tool_ctx *ctx)
{
	if (!(t->modes & ctx->mode))
		return false;
	if ((t->effect == EFFECT_COMMAND || t->effect == EFFECT_VERIFY || t->effect == EFFECT_BACKGROUND) &&
		!ctx->commands_allowed)
		return false;
	if (t->shown && !t->shown(ctx))
		return false;
	return t->effect != EFFECT_VERIFY || ctx->verify_command.n > 0;
}

void outcome_add_path(struct tool_ctx *ctx, struct tool_outcome *oc, struct str shown)
{
	struct str *list = arena_array(ctx->mem, oc->paths.n + 1, sizeof(*list));

	if (oc->paths.n > 0)
		memcpy(list, oc->paths.p, oc->paths.n * sizeof(*list));
	list[oc->paths.n] = shown;
	oc->paths = (struct str_list){ list, oc->paths.n + 1 };
}

/* ------------------------------------------------------------------ guards */

static int unknown_name(struct str name, const struct tool_ctx *ctx, struct err *err)
{
	const char *near = NULL;
	size_t best = 4;

	for (size_t i = 0; tools[i]; i++) {
		size_t d = str_distance(name, str_from(tools[i]->name));

		if (d < best && tool_exposed(tools[i], ctx)) {
			best = d;
			near = tools[i]->name;
		}
	}
	err_set(err, ERR_INVALID, "there is no tool named " STR_FMT, STR_ARG(cquote_dup(ctx->mem, str_head(name, utf8_head(name, NAME_SHOWN)))));
	if (near)
		err_hint(err, "did you mean %s?", near);
	return -ERR_INVALID;
}

static int permitted(const struct tool *t, const struct tool_ctx *ctx, struct tool_outcome *oc, struct err *err)
{
	if (tool_exposed(t, ctx))
		return 0;
	oc->refused = true;
	if (!(t->modes & ctx->mode))
		return err_set(err, ERR_DENIED, "%s is not available in %s mode", t->name, mode_word(ctx->mode));
	if (!ctx->commands_allowed)
		return err_set(err, ERR_DENIED, "%s is refused: " STR_FMT, t->name,
			STR_ARG(ctx->commands_why.n > 0 ? ctx->commands_why : STR("sandbox.run_commands is \"no\"")));
	if (t->shown && !t->shown(ctx))
		return err_set(err, ERR_DENIED, "%s is not available in this run", t->name);
	return err_set(err, ERR_DENIED, "%s is not available: no verify command is configured", t->name);
}

/* The text that a provider could not parse arrives as the only member of an object. */
static bool raw_arguments(const json_t *obj, struct str *raw)
{
	const json_t *v = json_object_get(obj, "_raw_arguments");

	if (json_object_size(obj) != 1 || !json_is_string(v))
		return false;
	*raw = json_view(v);
	return true;
}

static int not_json(size_t n, struct err *err)
{
	if (n > CUT_ARGUMENTS)
		return err_set(err, ERR_SYNTAX, "the arguments were cut off after %zu bytes, before their end: send a much "
			"smaller call, for example several small edits", n);
	return err_set(err, ERR_SYNTAX, "the arguments were not valid JSON: send one valid JSON object again");
}

static int decode(const struct tool *t, struct str text, struct tool_ctx *ctx, void **out, struct err *err)
{
	auto_json json_t *obj = NULL;
	struct str raw = str_trim(text);

	if (raw.n == 0)
		text = STR("{}");
	if (json_decode(text, JSON_REPAIR, &obj, ERR_DISCARD) < 0)
		return not_json(text.n, err);
	if (!json_is_object(obj))
		return err_set(err, ERR_INVALID, "invalid arguments: expected one JSON object");
	if (raw_arguments(obj, &raw))
		return not_json(raw.n, err);
	*out = arena_alloc(ctx->mem, t->size + 1);
	if (fields_from_json(t->fields, t->nfields, obj, ctx->mem, *out, t->size, err) < 0)
		return err_wrap(err, "invalid arguments");
	return 0;
}

/* ------------------------------------------------------------------ tools of servers */

static const struct mcp_tool *find_mcp(const struct tool_ctx *ctx, struct str name)
{
	return ctx->mcp && ctx->mode == MODE_RUN ? mcp_tool_find(ctx->mcp, name) : NULL;
}

bool tool_may_change(const struct tool_ctx *ctx, struct str name)
{
	static const bool changes[] = { [EFFECT_EDIT] = true, [EFFECT_VERIFY] = true, [EFFECT_COMMAND] = true, [EFFECT_BACKGROUND] = true,
		[EFFECT_NOTES] = false };
	const struct tool *t = tool_find(name);

	return t ? changes[t->effect] : find_mcp(ctx, name) != NULL;
}

static int call_mcp(struct tool_ctx *ctx, const struct mcp_tool *t, struct str text, struct buf *json, struct tool_outcome *oc,
	struct err *err)
{
	auto_buf struct buf args = BUF_MAX(RAW_RESULT_MAX);
	struct str raw = str_trim(text);
	struct jval v = jval_from(raw.n == 0 ? STR("{}") : raw);
	struct mcp_reply r = { 0 };

	if (v.type != JSCAN_OBJECT)
		return not_json(text.n, err);
	TRY(jval_add(&args, v, NUL_REPLACE, err));
	TRY(ctx->host->mcp(ctx->host->self, t, buf_str(&args), ctx->mem, &r, err));
	oc->refused = r.why == JOB_DENIED || r.why == JOB_REFUSED;
	if (r.why != JOB_EXITED)
		return err_set(err, ERR_DENIED, STR_FMT " %s: " STR_FMT, STR_ARG(t->shown),
			r.why == JOB_DENIED ? "was denied" : r.why == JOB_REFUSED ? "was refused" : "failed", STR_ARG(r.note));
	oc->ok = !r.failed;
	oc->ran_command = r.may_have_written;
	oc->pictures = r.pictures;
	oc->summary = str_printf(ctx->mem, "%s%zu bytes in %.1fs", r.failed ? "failed, " : "", r.json.n, (double)r.wall_ms / 1000.0);
	return buf_add(json, r.json, err);
}

static int add_mcp_schemas(const struct tool_ctx *ctx, const char *sep, struct buf *out, struct err *err)
{
	for (size_t i = 0; ctx->mcp && ctx->mode == MODE_RUN && i < ctx->mcp->n; i++) {
		const struct mcp_tool *t = &ctx->mcp->p[i];

		TRY(buf_addf(out, err, "%s{\"name\":\"" STR_FMT "\"", sep, STR_ARG(t->shown)));
		TRY(json_add_member(out, "description", t->help, err));
		TRY(buf_addf(out, err, ",\"input_schema\":" STR_FMT "}", STR_ARG(t->schema)));
		sep = ",";
	}
	return 0;
}

/* ------------------------------------------------------------------ calling */

static int run(const struct tool *t, struct tool_ctx *ctx, struct str args, struct buf *json,
	struct tool_outcome *oc, struct err *err)
{
	void *decoded = NULL;
	int r;

	TRY(permitted(t, ctx, oc, err));
	TRY(decode(t, args, ctx, &decoded, err));
	oc->ok = true;
	r = t->run(ctx, decoded, json, oc, err);
	if (r < 0)
		oc->ok = false;
	return r;
}

/* Failures that are ours or the operator's to handle, never the model's. */
static bool ends_the_run(const struct tool *t, int r)
{
	return r == -ERR_STOPPED || r == -ERR_CLOSED || (r == -ERR_UNSUPPORTED && t && t->effect == EFFECT_VERIFY);
}

static int report(const struct err *failure, struct buf *json, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(sizeof(failure->msg) + sizeof(failure->hint) + 16);

	TRY(buf_addz(&text, failure->msg, err));
	if (failure->hint[0])
		TRY(buf_addf(&text, err, " (%s)", failure->hint));
	return result_error(json, buf_str(&text), err);
}

int tool_call(struct tool_ctx *ctx, struct str name, struct str args, struct buf *out, struct tool_outcome *oc,
	struct err *err)
{
	auto_buf struct buf json = BUF_MAX(RAW_RESULT_MAX);
	const struct tool *t = tool_find(name);
	const struct mcp_tool *m = t ? NULL : find_mcp(ctx, name);
	struct err failure = { 0 };
	int r = t || m ? 0 : unknown_name(name, ctx, &failure);

	*oc = (struct tool_outcome){ 0 };
	if (t)
		r = run(t, ctx, args, &json, oc, &failure);
	else if (m)
		r = call_mcp(ctx, m, args, &json, oc, &failure);
	if ((t || m) && r < 0 && ends_the_run(t, r)) {
		*err = failure;
		return r;
	}
	if (r < 0) {
		buf_clear(&json);
		TRY(report(&failure, &json, err));
		oc->summary = str_dup(ctx->mem, str_from(failure.msg));
	}
	if (oc->summary.n == 0)
		oc->summary = STR("ok");
	return result_cap(t ? t->name : m ? str_dupz(ctx->mem, m->shown) : "unknown", buf_str(&json), out, err);
}

int tools_schema(const struct tool_ctx *ctx, struct buf *out, struct err *err)
{
	const char *sep = "";

	TRY(buf_addc(out, '[', err));
	for (size_t i = 0; tools[i]; i++) {
		if (!tool_exposed(tools[i], ctx))
			continue;
		TRY(buf_addf(out, err, "%s{\"name\":\"%s\"", sep, tools[i]->name));
		TRY(json_add_member(out, "description", str_from(tools[i]->help), err));
		TRY(buf_addz(out, ",\"input_schema\":", err));
		TRY(fields_schema(tools[i]->fields, tools[i]->nfields, out, err));
		TRY(buf_addc(out, '}', err));
		sep = ",";
	}
	TRY(add_mcp_schemas(ctx, sep, out, err));
	return buf_addc(out, ']', err);
}
