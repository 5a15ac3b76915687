/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/cquote.h"
#include "fmt/json.h"
#include "tool/index_ask.h"
#include "tool/path.h"
#include "tool/result.h"
#include "tool/symbols.h"
#include "tool/table.h"

#define SHOWN_MAX  48000 /* encoded bytes of rows */

struct symbol_args {
	struct str symbol, path;
};

/* How the three answer: the member that holds the rows, and what stands in one. */
static const struct {
	const char *tool, *member;
	bool kinds, paths;
} forms[] = {
	[SEARCH_OUTLINE] = { "outline", "symbols", true, false },
	[SEARCH_DEFINITIONS] = { "find_definition", "definitions", true, true },
	[SEARCH_REFERENCES] = { "find_references", "references", false, true },
};

struct rows {
	struct buf *out;
	enum search_what what;
	size_t shown, size;
	bool truncated;
};

static int add_row(void *self, const json_t *j, struct err *err)
{
	struct rows *r = self;
	struct str path = json_get_str(j, "path"), name = json_get_str(j, "text"), kind = str_cut(&name, ' ');
	struct str in = json_get_str(j, "in");
	int64_t line = json_get_int(j, "line", 0), col = json_get_int(j, "col", 0), end = json_get_int(j, "end", 0);

	if (path.n == 0 || name.n == 0 || line <= 0 || col <= 0)
		return err_set(err, ERR_PROTOCOL, "the index worker answered with a row that is none");
	r->size += result_quoted_size(path) + result_quoted_size(name) + result_quoted_size(in) + 90;
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
	TRY(buf_addf(r->out, err, ",\"line\":%lld,\"col\":%lld", (long long)line, (long long)col));
	if (forms[r->what].kinds && end > line)
		TRY(buf_addf(r->out, err, ",\"end\":%lld", (long long)end));
	if (forms[r->what].kinds && in.n > 0)
		TRY(json_add_member(r->out, "in", in, err));
	return buf_addc(r->out, '}', err);
}

static int ask(struct tool_ctx *ctx, const struct search_request *s, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	struct rows r = { .out = out, .what = (enum search_what)s->what };
	struct index_answer answer;

	TRY(buf_addf(out, err, "{\"%s\":[", forms[s->what].member));
	TRY(index_ask(ctx, forms[s->what].tool, s, add_row, &r, &answer, err));
	bool truncated = r.truncated || answer.truncated;
	TRY(buf_addf(out, err, "],\"truncated\":%s", truncated ? "true" : "false"));
	if (answer.source.n > 0)
		TRY(json_add_member(out, "source", answer.source, err));
	if (answer.note.n > 0)
		TRY(json_add_member(out, "note", answer.note, err));
	oc->summary = str_printf(ctx->mem, "%zu %s%s", r.shown, forms[s->what].member, truncated ? " (truncated)" : "");
	return buf_addc(out, '}', err);
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
