/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/cmd_runs_priv.h"

#include "app/history.h"
#include "fmt/json.h"
#include "sys/term.h"
#include "view/fold.h"
#include "view/listing.h"

#include <stdlib.h>

#define RUNS_MAX 64

struct compare_args {
	struct str_list ids;
	bool json;
};

static const struct field fields[] = {
	{ "id", &field_strs, offsetof(struct compare_args, ids), .flags = FIELD_POSITIONAL | FIELD_REQUIRED,
		.help = "Two runs or more, each by its id or the beginning of it." },
	{ "json", &field_bool, offsetof(struct compare_args, json), .help = "Print one JSON array, the best run first." },
};

struct candidate {
	struct session_ref ref;
	const char *word;
	enum tri passed;
	double usd; /* below 0: not known */
	int64_t tokens_in, tokens_out, turns, commits;
	struct str changes, task; /* cleaned */
	size_t given;             /* its place on the command line */
};

static struct str clean(struct arena *mem, struct str s)
{
	auto_buf struct buf b = BUF_MAX(16384);

	return term_clean(str_head(s, 1024), TERM_LINE, &b, ERR_DISCARD) < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

/* The last line of git's own summary. */
static struct str changes_of(const struct place *place, const struct session_ref *ref, struct arena *mem)
{
	const struct str_list all = { 0 };
	auto_history struct history *h = NULL;
	struct str text, last = STR("");

	if (!place->is_repo || history_open(place, ref, HISTORY_READ, mem, &h, ERR_DISCARD) < 0 ||
		history_diff(h, &all, true, &text, ERR_DISCARD) < 0)
		return STR("?");
	while (text.n > 0) {
		struct str line = str_trim(str_line(&text));

		last = line.n > 0 ? line : last;
	}
	return last.n > 0 ? clean(mem, last) : STR("no changes");
}

/* 1: it may be compared; 0: it is still going, or never came to an end. */
static int look_at(const struct place *place, struct candidate *c, struct arena *mem, struct err *err)
{
	auto_listing struct listing_one one = { 0 };

	TRY(listing_open(place->repo_dir, &c->ref, mem, &one, err));
	const struct view_state *s = view_state(one.view);

	if (one.live || !s->end.seen) {
		cli_note("%s is left out: it %s", c->ref.id, one.live ? "is running" : "never came to an end");
		return 0;
	}
	c->word = view_status(s, false).word;
	c->passed = s->end.all_passed;
	c->usd = s->budget.usd >= 0 ? s->budget.usd + s->budget.usd_before : -1;
	c->tokens_in = s->budget.input;
	c->tokens_out = s->budget.output;
	c->turns = s->end.iterations;
	c->commits = s->ncommits;
	c->task = clean(mem, s->task.n > 0 ? buf_str(&s->task) : one.manifest.user_task);
	c->changes = changes_of(place, &c->ref, mem);
	return 1;
}

/* A green gate before none, none before a red one; then the cheaper one; then as they were named. */
static int better(const void *a, const void *b)
{
	static const int rank[] = { [TRI_NULL] = 1, [TRI_TRUE] = 0, [TRI_FALSE] = 2 };
	const struct candidate *x = a, *y = b;

	if (rank[x->passed] != rank[y->passed])
		return rank[x->passed] - rank[y->passed];
	if (x->usd >= 0 && y->usd >= 0 && x->usd != y->usd)
		return x->usd < y->usd ? -1 : 1;
	if ((x->usd < 0 || y->usd < 0) && x->tokens_in + x->tokens_out != y->tokens_in + y->tokens_out)
		return x->tokens_in + x->tokens_out < y->tokens_in + y->tokens_out ? -1 : 1;
	return x->given < y->given ? -1 : 1;
}

static int print_json(const struct candidate *list, size_t n, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(1 << 20);
	auto_json json_t *all = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct candidate *c = &list[i];
		json_t *o = json_object();

		BUG_IF(json_object_set_new(o, "run_id", json_text(str_from(c->ref.id))) < 0 ||
			json_object_set_new(o, "rank", json_integer((json_int_t)i + 1)) < 0 ||
			json_object_set_new(o, "status", json_text(str_from(c->word))) < 0 ||
			json_object_set_new(o, "all_passed", c->passed == TRI_NULL ? json_null() : json_boolean(c->passed == TRI_TRUE)) < 0 ||
			json_object_set_new(o, "cost_usd", c->usd >= 0 ? json_real(c->usd) : json_null()) < 0 ||
			json_object_set_new(o, "input_tokens", json_integer(c->tokens_in)) < 0 ||
			json_object_set_new(o, "output_tokens", json_integer(c->tokens_out)) < 0 ||
			json_object_set_new(o, "iterations", json_integer(c->turns)) < 0 ||
			json_object_set_new(o, "commits", json_integer(c->commits)) < 0 ||
			json_object_set_new(o, "changes", json_text(c->changes)) < 0 ||
			json_object_set_new(o, "task", json_text(c->task)) < 0 || json_array_append_new(all, o) < 0);
	}
	TRY(json_add(&b, all, err));
	cli_json(buf_str(&b));
	cli_out("\n");
	return 0;
}

static void print_table(const struct candidate *list, size_t n, struct arena *mem)
{
	size_t cols = 2;

	for (size_t i = 0; i < n; i++)
		cols = strlen(list[i].ref.id) > cols ? strlen(list[i].ref.id) : cols;
	cli_out("%-2s  %-*s  %-10s  %8s  %9s  %5s  %7s  %s\n", "", (int)cols, "id", "status", "cost", "tokens", "turns", "commits",
		"changes");
	for (size_t i = 0; i < n; i++) {
		const struct candidate *c = &list[i];
		const char *usd = c->usd >= 0 ? str_printf(mem, "$%.4f", c->usd).p : "";

		cli_out("%-2zu  %-*s  %-10s  %8s  %9lld  %5lld  %7lld  " STR_FMT "\n", i + 1, (int)cols, c->ref.id, c->word, usd,
			(long long)(c->tokens_in + c->tokens_out), (long long)c->turns, (long long)c->commits, STR_ARG(c->changes));
	}
	cli_note("a green gate comes first, then what cost less");
}

static int find_all(struct command_ctx *ctx, const struct str_list *ids, struct place *place, struct candidate *out, size_t *n,
	struct err *err)
{
	for (size_t i = 0; i < ids->n; i++) {
		struct candidate c = { .given = i };
		int r;

		TRY(runs_find(ctx, ids->p[i], 1u << SESSION_RUN, place, &c.ref, err));
		for (size_t k = 0; k < *n; k++)
			if (strcmp(out[k].ref.id, c.ref.id) == 0)
				return err_set(err, ERR_INVALID, "%s is named twice", c.ref.id);
		TRY(r = look_at(place, &c, ctx->mem, err));
		if (r == 1)
			out[(*n)++] = c;
	}
	return 0;
}

static int run_compare(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct compare_args *args = decoded;
	struct candidate *list = arena_array(ctx->mem, args->ids.n + 1, sizeof(*list));
	struct place place;
	size_t n = 0;

	if (args->ids.n < 2 || args->ids.n > RUNS_MAX)
		return err_set(err, ERR_INVALID, "name between two and %d runs to compare", RUNS_MAX);
	TRY(find_all(ctx, &args->ids, &place, list, &n, err));
	if (n == 0)
		return err_set(err, ERR_NOENT, "none of these runs came to an end");
	qsort(list, n, sizeof(*list), better);
	if (args->json)
		return print_json(list, n, err);
	print_table(list, n, ctx->mem);
	return 0;
}

static const struct command commands[] = {
	{ .name = "runs compare", .help = "put runs side by side, the best one first",
		.about = "By the gate, then by cost. Runs that have not ended are left out, and that is said.",
		.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct compare_args), .run = run_compare,
		.needs_no_root_check = true },
};

const struct command_group commands_compare = { commands, COUNT(commands), NULL };
