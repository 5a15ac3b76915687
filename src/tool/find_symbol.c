/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/cquote.h"
#include "fmt/json.h"
#include "tool/path.h"
#include "tool/result.h"
#include "tool/search.h"
#include "tool/symbols.h"
#include "tool/table.h"

#define ANSWER_MAX (2 * 1024 * 1024)
#define SHOWN_MAX  48000 /* encoded bytes of rows */
#define TIMEOUT_MS 60000

struct symbol_args {
	struct str symbol, path;
};

/* How the three answer: the member that holds the rows, and what stands in one. */
static const struct {
	const char *member, *noun;
	bool kinds, paths;
} forms[] = {
	[SEARCH_OUTLINE] = { "symbols", "symbols", true, false },
	[SEARCH_DEFINITIONS] = { "definitions", "definitions", true, true },
	[SEARCH_REFERENCES] = { "references", "references", false, true },
};

struct rows {
	struct buf *out;
	struct arena *mem;
	enum search_what what;
	size_t shown, size;
	bool truncated, done;
	struct str failure, note;
};

static int add_row(struct rows *r, const json_t *j, struct err *err)
{
	struct str path = json_get_str(j, "path"), name = json_get_str(j, "text"), kind = str_cut(&name, ' ');
	int64_t line = json_get_int(j, "line", 0), col = json_get_int(j, "col", 0);

	if (path.n == 0 || name.n == 0 || line <= 0 || col <= 0)
		return err_set(err, ERR_PROTOCOL, "the index worker answered with a row that is none");
	r->size += result_quoted_size(path) + result_quoted_size(name) + 70;
	if (r->size > SHOWN_MAX) {
		r->truncated = true;
		return 0;
	}
	TRY(buf_addz(r->out, r->shown++ > 0 ? ",{" : "{", err));
	TRY(json_add_quoted(r->out, STR("name"), err));
	TRY(buf_addc(r->out, ':', err));
	TRY(json_add_quoted(r->out, name, err));
	if (forms[r->what].kinds)
		TRY(json_add_member(r->out, "kind", kind, err));
	if (forms[r->what].paths)
		TRY(json_add_member(r->out, "path", path, err));
	return buf_addf(r->out, err, ",\"line\":%lld,\"col\":%lld}", (long long)line, (long long)col);
}

/* The worker reads hostile files: its lines are taken as hostile too. */
static int take_line(struct rows *r, struct str line, struct err *err)
{
	auto_json json_t *j = NULL;

	if (json_decode(line, JSON_EXACT, &j, ERR_DISCARD) < 0 || !json_is_object(j) || r->done)
		return err_set(err, ERR_PROTOCOL, "the index worker's answer cannot be read");
	if (!json_object_get(j, "done") && !json_object_get(j, "error"))
		return add_row(r, j, err);
	r->done = true;
	r->note = str_dup(r->mem, json_get_str(j, "note"));
	r->failure = str_dup(r->mem, json_get_str(j, "error"));
	r->truncated = r->truncated || json_is_true(json_object_get(j, "truncated"));
	return 0;
}

static int put(struct tool_ctx *ctx, enum search_what what, const struct job_result *job, struct buf *out, struct tool_outcome *oc,
	struct err *err)
{
	struct rows r = { .out = out, .mem = ctx->mem, .what = what };

	TRY(buf_addf(out, err, "{\"%s\":[", forms[what].member));
	for (struct str rest = job->out; rest.n > 0;)
		TRY(take_line(&r, str_trim(str_line(&rest)), err));
	if (r.failure.n > 0)
		return err_set(err, ERR_INVALID, STR_FMT, STR_ARG(r.failure));
	if (!r.done)
		return err_set(err, ERR_SYS, "the index worker ended early (exit %d)", job->code);
	TRY(buf_addf(out, err, "],\"truncated\":%s", r.truncated ? "true" : "false"));
	if (r.note.n > 0)
		TRY(json_add_member(out, "note", r.note, err));
	oc->summary = str_printf(ctx->mem, "%zu %s%s", r.shown, forms[what].noun, r.truncated ? " (truncated)" : "");
	return buf_addc(out, '}', err);
}

static int ask(struct tool_ctx *ctx, const struct search_request *s, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	auto_buf struct buf request = BUF_MAX(SEARCH_REQUEST_MAX);
	struct job_request req = { .class = JOB_INDEX, .timeout_ms = TIMEOUT_MS, .keep_head = ANSWER_MAX };
	struct job_result job = { 0 };

	TRY(search_encode(s, &request, err));
	req.in = buf_str(&request);
	TRY(ctx->host->job(ctx->host->self, &req, ctx->mem, &job, err));
	if (job.why != JOB_EXITED)
		return err_set(err, job.why == JOB_TIMEOUT ? ERR_TIMEOUT : ERR_SYS, "the index failed: %s",
			job.note.n > 0 ? str_dupz(ctx->mem, job.note) : job.why == JOB_TIMEOUT ? "it took too long" : "its worker died");
	return put(ctx, (enum search_what)s->what, &job, out, oc, err);
}

static int find(struct tool_ctx *ctx, const struct symbol_args *a, enum search_what what, struct buf *out, struct tool_outcome *oc,
	struct err *err)
{
	struct tool_path p;

	if (!symbols_word_ok(a->symbol))
		return err_set(err, ERR_INVALID, "symbol: one name, without dots, blanks or parentheses; grep finds everything else");
	TRY(path_resolve(ctx, STR("."), PATH_READ, &p, err));
	struct search_request s = { .what = what, .symbol = a->symbol, .pattern = str_printf(ctx->mem, "\\Q" STR_FMT "\\E", STR_ARG(a->symbol)),
		.path = p.rel, .hidden = path_hidden_beneath(ctx, &p) };
	return ask(ctx, &s, out, oc, err);
}

static int run_definition(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	return find(ctx, args, SEARCH_DEFINITIONS, out, oc, err);
}

static int run_references(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	return find(ctx, args, SEARCH_REFERENCES, out, oc, err);
}

static int run_outline(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct symbol_args *a = args;
	struct tool_path p;

	TRY(path_resolve(ctx, a->path, PATH_READ, &p, err));
	if (!p.exists)
		return err_set(err, ERR_NOENT, STR_FMT " does not exist", STR_ARG(p.shown));
	if (!S_ISREG(p.st.st_mode))
		return err_set(err, ERR_INVALID, STR_FMT " is no regular file; outline takes one source file", STR_ARG(p.shown));
	struct search_request s = { .what = SEARCH_OUTLINE, .pattern = STR("."), .root = p.root == ctx->roots ? STR("") : p.root->path,
		.path = p.rel, .hidden = path_hidden_beneath(ctx, &p) };
	return ask(ctx, &s, out, oc, err);
}

static const struct field symbol_fields[] = {
	{ "symbol", &field_str, offsetof(struct symbol_args, symbol), .flags = FIELD_REQUIRED | FIELD_NONEMPTY, .max = 200 },
};
static const struct field outline_fields[] = {
	{ "path", &field_str, offsetof(struct symbol_args, path), .flags = FIELD_REQUIRED | FIELD_NONEMPTY },
};

#define TABLE(table) .fields = table, .nfields = COUNT(table), .size = sizeof(struct symbol_args), .modes = MODES_ALL, .effect = EFFECT_NONE

const struct tool tool_outline = { .name = "outline", .help = "List what a source file defines.", TABLE(outline_fields), .run = run_outline };
const struct tool tool_find_definition = { .name = "find_definition", .help = "Find where a name is defined.", TABLE(symbol_fields),
	.run = run_definition };
const struct tool tool_find_references = { .name = "find_references", .help = "Find where a name is used; not in comments or strings.",
	TABLE(symbol_fields), .run = run_references };
