/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/vec.h"
#include "fmt/cquote.h"
#include "fmt/json.h"
#include "tool/index_ask.h"
#include "tool/language.h"
#include "tool/path.h"
#include "tool/result.h"
#include "tool/symbols.h"
#include "tool/table_priv.h"

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

/* A row of the answer: the index's, a language server's, or what both say of one place. */
struct row {
	struct str path, name, kind, in;
	int64_t line, col, end;
	bool resolved; /* a language server says so */
};

struct rows {
	struct arena *mem;
	enum search_what what;
	VEC(struct row);
};

static int take_row(void *self, const json_t *j, struct err *err)
{
	struct rows *r = self;
	struct str name = json_get_str(j, "text"), kind = str_cut(&name, ' ');
	struct row row = { .path = json_get_str(j, "path"), .line = json_get_int(j, "line", 0), .col = json_get_int(j, "col", 0),
		.end = json_get_int(j, "end", 0) };

	if (row.path.n == 0 || name.n == 0 || row.line <= 0 || row.col <= 0)
		return err_set(err, ERR_PROTOCOL, "the index worker answered with a row that is none");
	row.path = str_dup(r->mem, row.path);
	row.name = str_dup(r->mem, name);
	row.kind = str_dup(r->mem, kind);
	row.in = str_dup(r->mem, json_get_str(j, "in"));
	*vec_new(r) = row;
	return 0;
}

static void rows_fini(struct rows *r)
{
	vec_fini(r);
}
#define auto_rows CLEANUP(rows_fini)

static int add_row(const struct row *r, enum search_what what, bool first, struct buf *out, struct err *err)
{
	TRY(buf_addz(out, first ? "{" : ",{", err));
	TRY(json_add_quoted(out, STR("name"), err));
	TRY(buf_addc(out, ':', err));
	TRY(json_add_quoted(out, r->name, err));
	if (forms[what].kinds && r->kind.n > 0)
		TRY(json_add_member(out, "kind", r->kind, err));
	if (forms[what].paths)
		TRY(json_add_member(out, "path", r->path, err));
	TRY(buf_addf(out, err, ",\"line\":%lld,\"col\":%lld", (long long)r->line, (long long)r->col));
	if (forms[what].kinds && r->end > r->line)
		TRY(buf_addf(out, err, ",\"end\":%lld", (long long)r->end));
	if (forms[what].kinds && r->in.n > 0)
		TRY(json_add_member(out, "in", r->in, err));
	return buf_addc(out, '}', err);
}

/* ---- what a language server adds ---- */

static bool same_place(const struct row *a, const struct row *b)
{
	return a->line == b->line && a->col == b->col && str_eq(a->path, b->path);
}

static struct row *row_at(const struct rows *r, const struct row *place)
{
	for (size_t i = 0; i < r->n; i++)
		if (same_place(&r->p[i], place))
			return &r->p[i];
	return NULL;
}

/* What the index says of a place stands beside what the server says. */
static void merge(struct rows *to, const struct rows *known, const struct language_place *p, const struct language_row *found)
{
	struct row row = { .path = cquote_dup(to->mem, found->path), .name = found->name, .line = found->line, .col = found->col,
		.in = symbols_word_ok(p->in) ? p->in : STR(""), .resolved = true }; /* no sentence of the server's gets to the model */
	struct row *same = row_at(to, &row);
	const struct row *told = known ? row_at(known, &row) : NULL;

	if (p->kind) {
		row.kind = str_from(p->kind);
		row.end = p->end + 1;
	}
	if (same) {
		same->resolved = true;
		return;
	}
	if (told && row.kind.n == 0 && !str_eqz(told->kind, "use")) {
		row.kind = told->kind;
		row.end = told->end;
		row.in = told->in;
	}
	*vec_new(to) = row;
}

static int by_place(const struct row *a, const struct row *b)
{
	int d = str_cmp(a->path, b->path);

	return d != 0 ? d : a->line != b->line ? (a->line > b->line) - (a->line < b->line) : (a->col > b->col) - (a->col < b->col);
}

static int by_line(const void *a, const void *b)
{
	return by_place(a, b);
}

static int resolved_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->resolved != y->resolved ? (x->resolved ? -1 : 1) : by_place(x, y);
}

struct server_said {
	const char *server; /* NULL: none was asked, or none answered */
	size_t resolved, outside, false_places;
	struct str note;
};

static int ask_server(struct tool_ctx *ctx, const struct language_ask *ask, struct str symbol, const struct rows *known, struct rows *rows,
	struct server_said *said, struct err *err)
{
	CLEANUP(language_reader_fini) struct language_reader reader = { .ctx = ctx };
	struct language_answer a;

	TRY(ctx->host->language(ctx->host->self, ctx, ask, &a, err));
	said->note = a.note;
	said->server = a.server;
	for (size_t i = 0; i < a.n; i++) {
		struct language_place p = a.p[i];
		struct language_row found;

		if (ask->what == SEARCH_OUTLINE) /* the protocol does not say it again for each */
			p.path = str_printf(ctx->mem, STR_FMT "/" STR_FMT, STR_ARG(ctx->roots[0].path), STR_ARG(ask->seeds[0].path));
		enum language_verdict v = language_row(&reader, &p, symbol, &found);

		said->outside += v == LANGUAGE_OUTSIDE;
		said->false_places += v == LANGUAGE_FALSE;
		if (v == LANGUAGE_HOLDS)
			merge(rows, known, &p, &found);
	}
	for (size_t i = 0; i < rows->n; i++)
		said->resolved += rows->p[i].resolved;
	if (rows->n > 0)
		qsort(rows->p, rows->n, sizeof(*rows->p), ask->what == SEARCH_OUTLINE ? by_line : resolved_first);
	return 0;
}

static bool has_seed_in(const struct language_ask *ask, struct str path)
{
	for (size_t i = 0; i < ask->nseeds; i++)
		if (str_eq(ask->seeds[i].path, path))
			return true;
	return false;
}

/* Where a server is asked: places of one kind, in files that one knows, one a file. */
static void choose_seeds(const struct tool_ctx *ctx, const struct rows *r, bool uses, struct language_ask *ask)
{
	for (size_t i = 0; i < r->n && ask->nseeds < LANGUAGE_SEEDS_MAX; i++) {
		const struct row *row = &r->p[i];

		if (str_eqz(row->kind, "use") == uses && !str_starts(row->path, STR("\"")) && !has_seed_in(ask, row->path) &&
			ctx->host->language_knows(ctx->host->self, row->path))
			ask->seeds[ask->nseeds++] = (struct language_seed){ row->path, row->line, row->col };
	}
}

static bool any_known(const struct tool_ctx *ctx, const struct rows *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (ctx->host->language_knows(ctx->host->self, r->p[i].path))
			return true;
	return false;
}

/* A use knows its definition; the definition its uses. Where the name is only defined, the definition is asked about itself. */
static int resolve(struct tool_ctx *ctx, const struct search_request *s, struct rows *rows, struct server_said *said, struct err *err)
{
	auto_rows struct rows all = { .mem = ctx->mem, .what = SEARCH_REFERENCES };
	struct language_ask ask = { .what = (enum search_what)s->what };
	struct search_request uses = *s;
	struct index_answer ignored;

	if (s->what == SEARCH_OUTLINE) {
		ask.seeds[ask.nseeds++] = (struct language_seed){ s->path, 0, 0 };
		return s->root.n == 0 && ctx->host->language_knows(ctx->host->self, s->path) ?
			ask_server(ctx, &ask, STR(""), NULL, rows, said, err) : 0;
	}
	if (s->what == SEARCH_DEFINITIONS && rows->n > 0 && !any_known(ctx, rows))
		return 0;
	uses.what = SEARCH_REFERENCES;
	if (s->what == SEARCH_DEFINITIONS)
		TRY(index_ask(ctx, forms[s->what].tool, &uses, take_row, &all, &ignored, err));
	choose_seeds(ctx, s->what == SEARCH_DEFINITIONS ? &all : rows, s->what == SEARCH_DEFINITIONS, &ask);
	if (ask.nseeds == 0)
		choose_seeds(ctx, s->what == SEARCH_DEFINITIONS ? &all : rows, s->what != SEARCH_DEFINITIONS, &ask);
	return ask.nseeds > 0 ? ask_server(ctx, &ask, s->symbol, &all, rows, said, err) : 0;
}

/* ---- the answer ---- */

static int add_notes(const struct server_said *said, struct str of_index, size_t rows, struct arena *mem, struct buf *out, struct err *err)
{
	struct str parts[5];
	size_t n = 0;

	if (of_index.n > 0)
		parts[n++] = of_index;
	if (said->server && said->resolved > 0 && said->resolved < rows)
		parts[n++] = str_printf(mem, "%s knows %zu of them, and those come first; of the others no more is known than the name",
			said->server, said->resolved);
	if (said->outside > 0)
		parts[n++] = str_printf(mem, "%zu more outside of the workspace", said->outside);
	if (said->false_places > 0)
		parts[n++] = str_printf(mem, "%zu places of the language server's were dropped: the name does not stand there", said->false_places);
	if (said->note.n > 0)
		parts[n++] = said->note;
	if (n == 0)
		return 0;
	auto_buf struct buf text = BUF_MAX(8192);

	for (size_t i = 0; i < n; i++) {
		TRY(buf_addz(&text, i > 0 ? "; " : "", err));
		TRY(buf_add(&text, parts[i], err));
	}
	return json_add_member(out, "note", buf_str(&text), err);
}

static int add_source(const struct server_said *said, struct str of_index, size_t rows, struct arena *mem, struct buf *out, struct err *err)
{
	struct str source = of_index;

	if (said->resolved > 0)
		source = of_index.n > 0 && said->resolved < rows ? str_printf(mem, "%s," STR_FMT, said->server, STR_ARG(of_index)) :
			str_from(said->server);
	return source.n > 0 ? json_add_member(out, "source", source, err) : 0;
}

static int ask(struct tool_ctx *ctx, const struct search_request *s, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	auto_rows struct rows r = { .mem = ctx->mem, .what = (enum search_what)s->what };
	struct index_answer answer;
	struct server_said said = { 0 };
	size_t shown = 0, size = 0;

	TRY(buf_addf(out, err, "{\"%s\":[", forms[s->what].member));
	TRY(index_ask(ctx, forms[s->what].tool, s, take_row, &r, &answer, err));
	if (ctx->host->language)
		TRY(resolve(ctx, s, &r, &said, err));
	for (; shown < r.n; shown++) {
		const struct row *row = &r.p[shown];

		size += result_quoted_size(row->path) + result_quoted_size(row->name) + result_quoted_size(row->in) + 90;
		if (size > SHOWN_MAX)
			break;
		TRY(add_row(row, r.what, shown == 0, out, err));
	}
	bool truncated = shown < r.n || answer.truncated;
	TRY(buf_addf(out, err, "],\"truncated\":%s", truncated ? "true" : "false"));
	TRY(add_source(&said, answer.source, r.n, ctx->mem, out, err));
	TRY(add_notes(&said, answer.note, r.n, ctx->mem, out, err));
	oc->summary = str_printf(ctx->mem, "%zu %s%s", shown, forms[s->what].member, truncated ? " (truncated)" : "");
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
