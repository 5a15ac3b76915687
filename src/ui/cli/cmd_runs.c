/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/cmd_runs_priv.h"

#include "base/time.h"
#include "sandbox/confine.h"
#include "session/answers.h"
#include "session/ending.h"
#include "sys/file.h"
#include "sys/term.h"
#include "ui/cli/typed.h"
#include "view/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TASK_COLS_PIPED 60
#define ASK_COLS        90
#define TASK_COLS_MIN   24 /* for these the reasons of a status are shortened ... */
#define TASK_COLS_LAST  10 /* ... and then the tasks */
#define REASON_COLS     40
#define REASON_COLS_MIN 10
#define LONG_STEP_MS    (120 * 1000)

struct show_args {
	struct str id;
	bool json;
};
struct stop_args {
	struct str id;
	bool now, json;
};
struct list_args {
	bool json;
};

static const struct field id_fields[] = {
	{ "id", &field_str, offsetof(struct id_args, id), .flags = FIELD_POSITIONAL,
		.help = "A session's id or the beginning of it; the newest when left out." },
};
static const struct field show_fields[] = {
	{ "id", &field_str, offsetof(struct show_args, id), .flags = FIELD_POSITIONAL,
		.help = "A session's id or the beginning of it; the newest when left out." },
	{ "json", &field_bool, offsetof(struct show_args, json), .help = "Print one JSON object." },
};
static const struct field stop_fields[] = {
	{ "id", &field_str, offsetof(struct stop_args, id), .flags = FIELD_POSITIONAL,
		.help = "A session's id or the beginning of it; the newest when left out." },
	{ "now", &field_bool, offsetof(struct stop_args, now),
		.help = "At once: the answer or the command that is under way is given up. It can be resumed as well." },
	{ "json", &field_bool, offsetof(struct stop_args, json), .help = "Print one JSON object." },
};
static const struct field list_fields[] = {
	{ "json", &field_bool, offsetof(struct list_args, json), .help = "Print one JSON array." },
};

int runs_find(struct command_ctx *ctx, struct str word, unsigned kinds, struct place *place, struct session_ref *ref,
	struct err *err)
{
	TRY(place_find(STR(""), ctx->config, ctx->mem, place, err));
	int r = session_resolve(place->repo_dir, word, kinds, ref, err);

	if (r == -ERR_NOENT)
		err_hint(err, "`agent6 runs list` shows the sessions of %.120s", place->workspace);
	return r;
}

int runs_confine(const int *dirs, size_t n, struct err *err)
{
	struct ll_rule rules[2];
	int r;

	BUG_IF(n > COUNT(rules));
	for (size_t i = 0; i < n; i++)
		rules[i] = (struct ll_rule){ .kind = LL_FD, .fd = dirs[i], .access = LL_RO };
	tzset(); /* the zone's file cannot be opened afterwards */
	r = confine_self(SECCOMP_VIEW, rules, n, err);
	if (r != -ERR_UNSUPPORTED)
		return r;
	cli_note_why("this host cannot confine who reads the record", err);
	return 0;
}

int runs_confine_to(const struct place *place, struct err *err)
{
	autoclose int dir = -1;
	int r = dir_open(AT_FDCWD, place->repo_dir, &dir, err);

	return r == -ERR_NOENT ? 0 : r < 0 ? r : runs_confine(&dir, 1, err);
}

/* ---- small words ---- */

static struct str clean(struct arena *mem, struct str s, int cols)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);
	int width;

	if (term_clean(str_head(s, 4096), TERM_LINE, &b, ERR_DISCARD) < 0)
		return STR("");
	size_t fits = term_fit(buf_str(&b), cols, &width);

	if (fits == b.n)
		return str_dup(mem, buf_str(&b));
	return str_printf(mem, STR_FMT "...", STR_ARG(str_head(buf_str(&b), term_fit(buf_str(&b), cols - 3, NULL))));
}

static const char *cost(struct arena *mem, double usd, bool partial)
{
	if (usd < 0 || (usd == 0 && !partial))
		return "";
	return str_printf(mem, "%s$%.*f", partial ? "~" : "", usd >= 0.995 ? 2 : 4, usd).p;
}

static const char *duration(struct arena *mem, int64_t ms)
{
	int64_t s = ms > 0 ? ms / 1000 : 0;

	if (s < 60)
		return str_printf(mem, "%llds", (long long)s).p;
	if (s < 3600)
		return str_printf(mem, "%lldm%02llds", (long long)s / 60, (long long)s % 60).p;
	return str_printf(mem, "%lldh%02lldm", (long long)s / 3600, (long long)s / 60 % 60).p;
}

static const char *when(struct arena *mem, int64_t ms)
{
	time_t t = (time_t)(ms / 1000);
	struct tm tm;
	char text[16];

	if (!localtime_r(&t, &tm) || strftime(text, sizeof(text), "%m-%d %H:%M", &tm) == 0)
		return "";
	return str_printf(mem, "%s", text).p;
}

static const char *status(struct arena *mem, const struct listing_row *row, int reason_cols)
{
	bool mode = row->mode.n > 0 && !str_eqz(row->mode, "run") && !str_eqz(row->word, "planned") &&
		!str_eqz(row->word, "answered");

	return str_printf(mem, STR_FMT "%s" STR_FMT "%s" STR_FMT "%s%s", STR_ARG(mode ? clean(mem, row->mode, reason_cols) : STR("")), mode ? ": " : "",
		STR_ARG(row->word), row->reason.n > 0 ? " (" : "", STR_ARG(clean(mem, row->reason, reason_cols)),
		row->reason.n > 0 ? ")" : "", row->unmerged ? ", unmerged" : "").p;
}

/* ---- list ---- */

static int add_row_json(json_t *list, const struct listing_row *row)
{
	json_t *o = json_object();

	if (json_object_set_new(o, "run_id", json_text(str_from(row->entry.ref.id))) < 0 ||
		json_object_set_new(o, "kind", json_text(str_from(session_word(row->entry.ref.kind)))) < 0 ||
		json_object_set_new(o, "mode", json_text(row->mode)) < 0 ||
		json_object_set_new(o, "status", json_text(row->word)) < 0 ||
		json_object_set_new(o, "reason", row->reason.n > 0 ? json_text(row->reason) : json_null()) < 0 ||
		json_object_set_new(o, "live", json_boolean(row->entry.live)) < 0 ||
		json_object_set_new(o, "task", json_text(row->task)) < 0 ||
		json_object_set_new(o, "updated_ms", json_integer(row->entry.active_ms)) < 0 ||
		json_object_set_new(o, "cost_usd", row->usd >= 0 ? json_real(row->usd) : json_null()) < 0 ||
		json_object_set_new(o, "usd_partial", json_boolean(row->usd_partial)) < 0)
		return -1;
	return json_array_append_new(list, o);
}

int runs_print_json(const json_t *j, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024 * 1024);

	TRY(json_add(&b, j, err));
	cli_json(buf_str(&b));
	cli_out("\n");
	return 0;
}

/* How wide each column is. */
struct columns {
	int reason, status, cost, id, task;
};

static struct columns fit(struct arena *mem, const struct listing_row *rows, size_t n, int reason_cols)
{
	struct columns c = { .reason = reason_cols, .status = 6, .cost = 4, .id = 2 };

	for (size_t i = 0; i < n; i++) {
		int st = term_width(str_from(status(mem, &rows[i], reason_cols))), id = (int)strlen(rows[i].entry.ref.id),
		    usd = (int)strlen(cost(mem, rows[i].usd, rows[i].usd_partial));

		c.status = st > c.status ? st : c.status;
		c.cost = usd > c.cost ? usd : c.cost;
		c.id = id > c.id ? id : c.id;
	}
	c.task = term_columns(STDOUT_FILENO) - 11 - c.status - c.cost - c.id - 8;
	return c;
}

/* On a terminal a row is a line: reasons give way first, then the task. */
static void print_rows(struct arena *mem, const struct listing_row *rows, size_t n)
{
	struct columns c = fit(mem, rows, n, REASON_COLS);

	if (!term_is_tty(STDOUT_FILENO))
		c.task = TASK_COLS_PIPED;
	while (c.task < TASK_COLS_MIN && c.reason > REASON_COLS_MIN)
		c = fit(mem, rows, n, c.reason - 5);
	c.task = c.task < TASK_COLS_LAST ? TASK_COLS_LAST : c.task;
	cli_out("%-11s  %-*s  %*s  %-*s  %s\n", "updated", c.status, "status", c.cost, "cost", c.id, "id", "task");
	for (size_t i = 0; i < n; i++) {
		const struct listing_row *r = &rows[i];
		const char *st = status(mem, r, c.reason);

		cli_out("%-11s  %s%*s  %*s  %-*s  " STR_FMT "\n", when(mem, r->entry.active_ms), st,
			c.status - term_width(str_from(st)), "", c.cost, cost(mem, r->usd, r->usd_partial), c.id,
			r->entry.ref.id, STR_ARG(clean(mem, r->task, c.task)));
	}
}

static int run_asks(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	struct place place;
	const struct list_args *args = decoded;
	auto_json json_t *list = json_array();
	struct listing_row *rows;
	size_t n;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	TRY(runs_confine_to(&place, err));
	TRY(listing_load(place.repo_dir, 1u << SESSION_ASK, ctx->mem, &rows, &n, err));
	for (size_t i = 0; i < n && args->json; i++)
		BUG_IF(add_row_json(list, &rows[i]) < 0);
	if (args->json)
		return runs_print_json(list, err);
	for (size_t i = 0; i < n; i++)
		cli_out("%s  " STR_FMT "\n", rows[i].entry.ref.id, STR_ARG(clean(ctx->mem, rows[i].task, ASK_COLS)));
	if (n == 0)
		cli_out("No asks yet.\n");
	return 0;
}

static int run_list(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct list_args *args = decoded;
	auto_json json_t *list = json_array();
	struct place place;
	struct listing_row *rows;
	size_t n;

	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	TRY(runs_confine_to(&place, err));
	TRY(listing_load(place.repo_dir, SESSION_ANY, ctx->mem, &rows, &n, err));
	if (args->json) {
		for (size_t i = 0; i < n; i++)
			BUG_IF(add_row_json(list, &rows[i]) < 0);
		return runs_print_json(list, err);
	}
	if (n == 0)
		cli_note("there are no sessions of %s yet; `agent6 run \"...\"` starts one", place.workspace);
	else
		print_rows(ctx->mem, rows, n);
	return 0;
}

/* ---- show ---- */

static struct view_status status_of(const struct listing_one *one)
{
	const struct view_state *s = view_state(one->view);

	if (!s->started && one->manifest.parked_task.n > 0)
		return (struct view_status){ "parked", one->manifest.parked_reason.p };
	return view_status(s, one->live);
}

static double total_usd(const struct view_budget *b)
{
	return b->usd >= 0 ? b->usd + b->usd_before : b->usd_before > 0 ? b->usd_before : -1;
}

/* A clock that was set back makes no time negative. */
static int64_t between_ms(int64_t from, int64_t to)
{
	return to > from ? to - from : 0;
}

static int64_t last_age_ms(const struct listing_one *one)
{
	return one->last_ms > 0 ? between_ms(one->last_ms, time_now_ms()) : -1;
}

static json_t *text_or_null(struct str s)
{
	return s.n > 0 ? json_text(s) : json_null();
}

static json_t *int_or_null(int64_t n)
{
	return n >= 0 ? json_integer(n) : json_null();
}

/* What runs in the background. A run that was killed never said that they ended, but they did. */
static json_t *background_json(const struct listing_one *one)
{
	const struct view_state *s = view_state(one->view);
	json_t *list = json_array();

	for (size_t i = 0; one->live && i < s->nbackground; i++)
		BUG_IF(json_array_append_new(list, json_pack("{s:o,s:o}", "id", json_text(str_from(s->background[i].id)),
			"command", json_text(str_from(s->background[i].command)))) < 0);
	return list;
}

static json_t *lines_json(const struct buf *lines)
{
	auto_arena struct arena *mem = arena_new();
	struct str_list l = view_names(lines, mem);

	return runs_names_json(&l);
}

static int show_json(const struct listing_one *one, struct err *err)
{
	const struct view_state *s = view_state(one->view);
	const struct manifest *m = &one->manifest;
	struct view_status st = status_of(one);
	double usd = total_usd(&s->budget);
	auto_json json_t *o = json_object();
	const struct { const char *key; json_t *value; } rows[] = {
		{ "run_id", json_text(str_from(one->ref.id)) },
		{ "mode", text_or_null(m->mode) },
		{ "model", text_or_null(m->worker_model.n > 0 ? m->worker_model : buf_str(&s->model)) },
		{ "status", json_text(str_from(st.word)) },
		{ "reason", st.reason ? json_text(str_from(st.reason)) : json_null() },
		{ "live", json_boolean(one->live) },
		{ "pid", one->owner > 0 ? json_integer(one->owner) : json_null() },
		{ "task", text_or_null(s->task.n > 0 ? buf_str(&s->task) : m->user_task) },
		{ "last_event", text_or_null(str_from(s->last_ts)) },
		{ "last_event_age_s", last_age_ms(one) >= 0 ? json_real((double)last_age_ms(one) / 1e3) : json_null() },
		{ "elapsed_s", one->start_ms > 0 ? json_real((double)between_ms(one->start_ms, one->last_ms) / 1e3) : json_null() },
		{ "end_reason", text_or_null(buf_str(&s->end.reason)) },
		{ "all_passed", s->end.all_passed == TRI_NULL ? json_null() : json_boolean(s->end.all_passed == TRI_TRUE) },
		{ "exit_code", int_or_null(s->end.seen ? s->end.exit_code : -1) },
		{ "iterations", int_or_null(s->end.seen ? s->end.iterations : -1) },
		{ "legs", json_integer(s->legs) },
		{ "tool_calls", json_integer(s->ncalls) },
		{ "commits", json_integer(s->ncommits) },
		{ "input_tokens", json_integer(s->budget.input) },
		{ "output_tokens", json_integer(s->budget.output) },
		{ "cost_usd", usd >= 0 ? json_real(usd) : json_null() },
		{ "usd_partial", json_boolean(s->budget.usd_partial) },
		{ "run_branch", text_or_null(m->run_branch.n > 0 ? m->run_branch : buf_str(&s->end.branch)) },
		{ "base_branch", text_or_null(m->base_branch) },
		{ "base_sha", text_or_null(m->base_sha) },
		{ "merged_into", text_or_null(m->merged_into) },
		{ "stash", text_or_null(m->stash) },
		{ "parent_run_id", text_or_null(m->parent_run_id) },
		{ "edited_untracked", lines_json(&s->end.edited_untracked) },
		{ "deleted_untracked", lines_json(&s->end.deleted_untracked) },
		{ "gate_touched", lines_json(&s->end.gate_touched) },
		{ "background", background_json(one) },
		{ "record_damaged", json_boolean(s->torn) },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		BUG_IF(json_object_set_new(o, rows[i].key, rows[i].value) < 0);
	return runs_print_json(o, err);
}

static void row(const char *name, struct arena *mem, struct str value)
{
	if (value.n > 0)
		cli_out("%-13s" STR_FMT "\n", name, STR_ARG(clean(mem, value, 4096)));
}

static struct str state_text(const struct listing_one *one, struct arena *mem)
{
	struct view_status st = status_of(one);
	struct str text = str_printf(mem, "%s%s%s%s", st.word, st.reason ? " (" : "", st.reason ? st.reason : "",
		st.reason ? ")" : "");

	if (one->owner > 0)
		text = str_printf(mem, STR_FMT ", process %lld", STR_ARG(text), (long long)one->owner);
	if (one->live && strcmp(st.word, "running") == 0 && last_age_ms(one) > LONG_STEP_MS)
		text = str_printf(mem, STR_FMT ", in a long step", STR_ARG(text));
	if (strcmp(st.word, "stale") == 0)
		text = str_printf(mem, STR_FMT "; `agent6 resume %s` goes on", STR_ARG(text), one->ref.id);
	if (strcmp(st.word, "waiting") == 0)
		text = str_printf(mem, STR_FMT "; `agent6 watch %s` to answer", STR_ARG(text), one->ref.id);
	return typed_here(text, mem);
}

static struct str changes_text(const struct listing_one *one, struct arena *mem)
{
	const struct view_state *s = view_state(one->view);
	const struct manifest *m = &one->manifest;
	struct str branch = m->run_branch.n > 0 ? m->run_branch : buf_str(&s->end.branch);

	if (m->merged_into.n > 0)
		return str_printf(mem, "merged into " STR_FMT, STR_ARG(m->merged_into));
	if (s->ncommits == 0)
		return STR("no commits");
	return typed_here(str_printf(mem, "%lld commit%s on " STR_FMT "; `agent6 runs merge %s`", (long long)s->ncommits,
		s->ncommits == 1 ? "" : "s", STR_ARG(branch.n > 0 ? branch : STR("its side chain")), one->ref.id), mem);
}

static void show_warnings(const struct view_end *e, struct arena *mem)
{
	auto_buf struct buf untracked = BUF_MAX(1 << 20), gate = BUF_MAX(1 << 20);
	struct str_list edited = view_names(&e->edited_untracked, mem), deleted = view_names(&e->deleted_untracked, mem);
	struct str_list touched = view_names(&e->gate_touched, mem);

	if (ending_say_untracked(&edited, &deleted, &untracked, ERR_DISCARD) == 0)
		row("left:", mem, buf_str(&untracked));
	if (ending_say_gate(&touched, &gate, ERR_DISCARD) == 0)
		row("note:", mem, buf_str(&gate));
}

static void show_text(const struct listing_one *one, struct arena *mem)
{
	const struct view_state *s = view_state(one->view);
	const struct manifest *m = &one->manifest;
	double usd = total_usd(&s->budget);

	row("session:", mem, str_printf(mem, "%s  %s", one->ref.id, m->mode.n > 0 ? m->mode.p : "?"));
	row("task:", mem, s->task.n > 0 ? buf_str(&s->task) : m->user_task);
	row("forked from:", mem, m->parent_run_id);
	row("model:", mem, m->worker_model.n > 0 ? m->worker_model : buf_str(&s->model));
	row("status:", mem, state_text(one, mem));
	if (s->end.iterations >= 0 && s->end.seen)
		row("iteration:", mem, str_printf(mem, "%lld", (long long)s->end.iterations));
	if (one->last_ms > 0)
		row("last event:", mem, str_printf(mem, "%s ago", duration(mem, last_age_ms(one))));
	if (one->start_ms > 0)
		row("elapsed:", mem, str_from(duration(mem, between_ms(one->start_ms, one->last_ms))));
	const char *legs = s->legs > 1 && usd >= 0 ? str_printf(mem, " (all %d legs)", s->legs).p : "";

	row("usage:", mem, str_printf(mem, "%lld in, %lld out (latest leg)%s%s%s", (long long)s->budget.input,
		(long long)s->budget.output, usd >= 0 ? ", " : "", cost(mem, usd, s->budget.usd_partial), legs));
	for (size_t i = 0; one->live && i < s->nbackground; i++)
		row("background:", mem, str_printf(mem, "%s  %s", s->background[i].id, s->background[i].command));
	if (view_gate_unasked(s))
		row("gate:", mem, str_from(view_gate_unasked(s)));
	if (s->unjudged > 0)
		row("review:", mem, str_printf(mem, "nobody judged: %lld abstained", (long long)s->unjudged));
	row("changes:", mem, changes_text(one, mem));
	show_warnings(&s->end, mem);
	if (m->stash.n > 0)
		row("set aside:", mem, str_printf(mem, STR_FMT " before it began; while it is, refs/agent6-stash/%s is there",
			STR_ARG(str_head(m->stash, 12)), one->ref.id));
	if (s->torn)
		row("record:", mem, STR("an incomplete last line was cut off after a crash"));
}

static int show(struct command_ctx *ctx, struct str id, bool json, struct err *err)
{
	auto_listing struct listing_one one = { 0 };
	struct session_ref ref;
	struct place place;

	TRY(runs_find(ctx, id, SESSION_ANY, &place, &ref, err));
	TRY(runs_confine_to(&place, err));
	TRY(listing_open(place.repo_dir, &ref, ctx->mem, &one, err));
	if (json)
		return show_json(&one, err);
	show_text(&one, ctx->mem);
	return 0;
}

static int run_show(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct show_args *args = decoded;

	return show(ctx, args->id, args->json, err);
}

int runs_show(struct command_ctx *ctx, struct str id, struct err *err)
{
	return show(ctx, id, false, err);
}

/* ---- dir, stop ---- */

static int run_dir(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct id_args *args = decoded;
	struct session_ref ref;
	struct place place;

	if (args->id.n > 0) {
		TRY(runs_find(ctx, args->id, SESSION_ANY, &place, &ref, err));
		cli_out("%s\n", session_path(place.repo_dir, &ref, NULL, ctx->mem));
		return 0;
	}
	TRY(place_find(STR(""), ctx->config, ctx->mem, &place, err));
	cli_out("%s\n", place.repo_dir);
	return 0;
}

static int stop_json(const struct session_ref *ref, bool live, bool now, struct err *err)
{
	auto_json json_t *o = json_pack("{s:s,s:b,s:b}", "run_id", ref->id, "asked", live, "now", now);

	BUG_IF(!o);
	return runs_print_json(o, err);
}

static int run_stop(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct stop_args *args = decoded;
	autoclose int answers = -1;
	struct session_ref ref;
	struct place place;

	TRY(runs_find(ctx, args->id, SESSION_ANY, &place, &ref, err));
	if (!session_is_live(place.repo_dir, &ref)) {
		if (args->json)
			return stop_json(&ref, false, args->now, err);
		cli_note("%s is not running", ref.id);
		return 0;
	}
	TRY(dir_open(AT_FDCWD, session_path(place.repo_dir, &ref, "answers", ctx->mem), &answers, err));
	TRY(args->now ? answers_tell(answers, ANSWER_STOP, STR("now"), err) : file_replace(answers, "stop.request", STR(""), 0600, err));
	if (args->json)
		return stop_json(&ref, true, args->now, err);
	struct str next = typed_here(str_printf(ctx->mem, "agent6 resume %s", ref.id), ctx->mem);

	cli_out("%s stops %s; go on with: " STR_FMT "\n", ref.id, args->now ? "now" : "after the step it is in", STR_ARG(next));
	return 0;
}

static int run_events(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	auto_buf struct buf page = BUF_MAX(256 * 1024);

	(void)ctx;
	(void)decoded;
	TRY(events_print(&page, err));
	cli_out(STR_FMT, STR_ARG(buf_str(&page)));
	return 0;
}

#define FIELDS(table, type) .fields = table, .nfields = COUNT(table), .size = sizeof(struct type)

static const struct command commands[] = {
	{ .name = "ask list", .help = "list what was asked here, newest first", FIELDS(list_fields, list_args), .run = run_asks, .needs_no_root_check = true },
	{ .name = "runs list", .help = "list the sessions of this repository, newest first", FIELDS(list_fields, list_args),
		.run = run_list, .needs_no_root_check = true },
	{ .name = "runs show", .help = "show how one session stands", FIELDS(show_fields, show_args), .run = run_show,
		.needs_no_root_check = true },
	{ .name = "runs stop", .help = "ask a running session to stop after its step, or at once", FIELDS(stop_fields, stop_args), .run = run_stop },
	{ .name = "runs dir", .help = "print where this repository's sessions are kept, or one of them",
		FIELDS(id_fields, id_args), .run = run_dir, .needs_no_root_check = true },
	{ .name = "runs events", .help = "print the reference page docs/events.md", .run = run_events,
		.needs_no_root_check = true, .hidden = true },
};

const struct command_group commands_runs = { commands, COUNT(commands), "runs list" };
