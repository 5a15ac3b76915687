/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* tasks: add_task, update_task, list_tasks. */
#include "base/time.h"
#include "fmt/json.h"
#include "tool/table_priv.h"

#include <string.h>

#define TITLE_SHOWN 60
#define ROOT_TITLE  120

/* ---- changing ---- */

static bool has_graph(const struct tool_ctx *ctx, struct err *err)
{
	if (ctx->graph)
		return true;
	err_set(err, ERR_UNSUPPORTED, "there is no task list here");
	return false;
}

/* Here first, where the rules are checked, then to the record. */
static int change(struct tool_ctx *ctx, const struct graph_op *op, struct tool_outcome *oc, struct err *err)
{
	TRY(graph_apply(ctx->graph, op, time_now_us(), err));
	oc->graph_changed = true;
	return ctx->host->graph(ctx->host->self, op, ctx->graph->version, err);
}

static const struct task *root_of(const struct graph *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->p[i].parent.z[0] == '\0')
			return &g->p[i];
	return NULL;
}

/* The first task brings the run's own with it. */
static int root_id(struct tool_ctx *ctx, struct str *out, struct tool_outcome *oc, struct err *err)
{
	const struct task *root = root_of(ctx->graph);
	struct str task = str_trim(ctx->task), title = str_trim(str_line(&task));
	struct task_id id;

	if (root) {
		*out = str_dup(ctx->mem, str_from(root->id.z));
		return 0;
	}
	task_id_new(&id);
	*out = str_dup(ctx->mem, str_from(id.z));
	return change(ctx, &(struct graph_op){ .op = GRAPH_ADD, .id = *out, .by = STR("user"),
		.title = title.n > 0 ? str_head(title, utf8_head(title, ROOT_TITLE)) : STR("the task") }, oc, err);
}

/* ---- showing ---- */

static int add_ids(struct buf *out, const struct task *t, struct err *err)
{
	if (t->ndeps == 0)
		return 0;
	TRY(buf_addz(out, ",\"depends_on\":[", err));
	for (size_t i = 0; i < t->ndeps; i++)
		TRY(buf_addf(out, err, "%s\"%s\"", i > 0 ? "," : "", t->deps[i].z));
	return buf_addc(out, ']', err);
}

static int add_paths(struct buf *out, const struct task *t, struct err *err)
{
	if (t->paths.n == 0)
		return 0;
	TRY(buf_addz(out, ",\"relevant_paths\":[", err));
	for (size_t i = 0; i < t->paths.n; i++) {
		TRY(buf_addz(out, i > 0 ? "," : "", err));
		TRY(json_add_quoted(out, t->paths.p[i], err));
	}
	return buf_addc(out, ']', err);
}

static int add_head(struct buf *out, const struct task *t, struct err *err)
{
	TRY(buf_addf(out, err, "{\"id\":\"%s\"", t->id.z));
	TRY(t->parent.z[0] ? json_add_member(out, "parent_id", str_from(t->parent.z), err) : buf_addz(out, ",\"parent_id\":null", err));
	TRY(json_add_member(out, "title", t->title, err));
	return json_add_member(out, "status", str_from(task_statuses[t->status]), err);
}

static struct str summary(struct tool_ctx *ctx, const struct task *t)
{
	return str_printf(ctx->mem, "%s: " STR_FMT, task_statuses[t->status],
		STR_ARG(str_head(t->title, utf8_head(t->title, TITLE_SHOWN))));
}

/* ---- add_task ---- */

struct add_args {
	struct str title, parent_id, after, rationale, acceptance;
	struct str_list relevant_paths, depends_on;
	bool standing;
};

static const struct field add_fields[] = {
	{ "title", &field_str, offsetof(struct add_args, title), .flags = FIELD_REQUIRED | FIELD_NONEMPTY, .max = 200 },
	{ "parent_id", &field_str, offsetof(struct add_args, parent_id), .help = "task it is a part of" },
	{ "after", &field_str, offsetof(struct add_args, after), .flags = FIELD_HIDDEN },
	{ "acceptance", &field_str, offsetof(struct add_args, acceptance), .max = 2000, .help = "what shows that it is done" },
	{ "rationale", &field_str, offsetof(struct add_args, rationale), .flags = FIELD_HIDDEN, .max = 2000 },
	{ "relevant_paths", &field_strs, offsetof(struct add_args, relevant_paths), .max = 32 },
	{ "depends_on", &field_strs, offsetof(struct add_args, depends_on), .max = 16, .help = "ids to be done before" },
	{ "standing", &field_bool, offsetof(struct add_args, standing), .flags = FIELD_HIDDEN, .dflt = "false" },
};

static int run_add(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct add_args *a = args;
	struct graph_op op = { .op = GRAPH_ADD, .parent_id = a->parent_id, .after = a->after, .title = a->title,
		.rationale = a->rationale, .acceptance = a->acceptance, .relevant_paths = a->relevant_paths,
		.depends_on = a->depends_on, .standing = a->standing, .by = STR("worker") };
	struct task_id id;

	if (!has_graph(ctx, err))
		return -ERR_UNSUPPORTED;
	if (op.parent_id.n == 0)
		TRY(root_id(ctx, &op.parent_id, oc, err));
	task_id_new(&id);
	op.id = str_from(id.z);
	TRY(change(ctx, &op, oc, err));
	const struct task *t = graph_find(ctx->graph, op.id);

	oc->summary = summary(ctx, t);
	TRY(add_head(out, t, err));
	return buf_addc(out, '}', err);
}

const struct tool tool_add_task = {
	.name = "add_task", .help = "Note a step of a larger job.",
	.fields = add_fields, .nfields = COUNT(add_fields), .size = sizeof(struct add_args),
	.modes = MODE_RUN | MODE_PLAN, .effect = EFFECT_TASKS, .run = run_add,
};

/* ---- update_task ---- */

struct update_args {
	struct str id, note;
	int status;
	struct str_list depends_on;
};

static const char *const choices[] = { "unchanged", "pending", "in_progress", "passed", "failed", "skipped", "obsolete", NULL };

static const struct field update_fields[] = {
	{ "id", &field_str, offsetof(struct update_args, id), .flags = FIELD_REQUIRED | FIELD_NONEMPTY },
	{ "status", &field_enum, offsetof(struct update_args, status), .dflt = "unchanged", .choices = choices },
	{ "note", &field_str, offsetof(struct update_args, note), .max = 2000 },
	{ "depends_on", &field_strs, offsetof(struct update_args, depends_on), .flags = FIELD_HIDDEN, .max = 16 },
};

static int run_update(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct update_args *a = args;
	const struct graph_op op = { .op = GRAPH_UPDATE, .id = a->id, .status = a->status, .note = a->note,
		.depends_on = a->depends_on, .by = STR("worker") };

	if (!has_graph(ctx, err))
		return -ERR_UNSUPPORTED;
	TRY(change(ctx, &op, oc, err));
	const struct task *t = graph_find(ctx->graph, a->id);

	oc->summary = summary(ctx, t);
	TRY(add_head(out, t, err));
	TRY(add_ids(out, t, err));
	return buf_addc(out, '}', err);
}

const struct tool tool_update_task = {
	.name = "update_task", .help = "Set a task's status, or add a note to it.",
	.fields = update_fields, .nfields = COUNT(update_fields), .size = sizeof(struct update_args),
	.modes = MODE_RUN | MODE_PLAN, .effect = EFFECT_TASKS, .run = run_update,
};

/* ---- list_tasks ---- */

struct list_args {
	int status;
};

static const char *const filters[] = { "all", "pending", "in_progress", "passed", "failed", "skipped", "obsolete", NULL };

static const struct field list_fields[] = {
	{ "status", &field_enum, offsetof(struct list_args, status), .flags = FIELD_HIDDEN, .dflt = "all", .choices = filters },
};

static int add_task(struct buf *out, const struct task *t, struct err *err)
{
	TRY(add_head(out, t, err));
	if (t->acceptance.n > 0)
		TRY(json_add_member(out, "acceptance", t->acceptance, err));
	TRY(add_paths(out, t, err));
	TRY(add_ids(out, t, err));
	return buf_addc(out, '}', err);
}

static int run_list(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct list_args *a = args;
	struct graph_row *rows;
	size_t n, shown = 0;

	if (!has_graph(ctx, err))
		return -ERR_UNSUPPORTED;
	n = graph_rows(ctx->graph, ctx->mem, &rows);
	TRY(buf_addz(out, "{\"tasks\":[", err));
	for (size_t i = 0; i < n; i++) {
		if (a->status > 0 && (int)rows[i].task->status != a->status - 1)
			continue;
		TRY(buf_addz(out, shown++ > 0 ? "," : "", err));
		TRY(add_task(out, rows[i].task, err));
	}
	oc->summary = str_printf(ctx->mem, "%zu task%s", shown, shown == 1 ? "" : "s");
	return buf_addf(out, err, "],\"count\":%zu}", shown);
}

const struct tool tool_list_tasks = {
	.name = "list_tasks", .help = "List the tasks.",
	.fields = list_fields, .nfields = COUNT(list_fields), .size = sizeof(struct list_args),
	.modes = MODE_RUN | MODE_PLAN, .effect = EFFECT_NONE, .run = run_list,
};
