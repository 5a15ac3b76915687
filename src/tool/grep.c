/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/cquote.h"
#include "fmt/json.h"
#include "tool/index_ask.h"
#include "tool/path.h"
#include "tool/result.h"
#include "tool/table_priv.h"

#include <string.h>

#define SHOWN_MAX  48000             /* encoded bytes of rows */

struct grep_args {
	struct str pattern, path, glob;
	bool case_insensitive;
};

static const struct field fields[] = {
	{ "pattern", &field_str, offsetof(struct grep_args, pattern), .flags = FIELD_REQUIRED | FIELD_NONEMPTY,
		.max = SEARCH_PATTERN_MAX, .help = "Perl-like regex, matched per line" },
	{ "path", &field_str, offsetof(struct grep_args, path), .dflt = ".", .help = "file or directory" },
	{ "glob", &field_str, offsetof(struct grep_args, glob), .dflt = "", .max = SEARCH_PATTERN_MAX,
		.help = "such as *.c or src/**" },
	{ "case_insensitive", &field_bool, offsetof(struct grep_args, case_insensitive), .dflt = "false" },
};

/* ------------------------------------------------------------------ the worker's answer */

struct rows {
	struct buf *out;
	struct str prefix; /* in front of every path: where another root is */
	struct arena *mem;
	size_t shown, size;
	bool truncated;
};

static struct str full_name(const struct rows *r, struct str path)
{
	struct str bytes;

	if (r->prefix.n == 0 || cquote_read(path, r->mem, &bytes, ERR_DISCARD) < 0)
		return path;
	return cquote_dup(r->mem, str_printf(r->mem, STR_FMT "/" STR_FMT, STR_ARG(r->prefix), STR_ARG(bytes)));
}

static int add_row(void *self, const json_t *j, struct err *err)
{
	struct rows *r = self;
	struct str path = full_name(r, json_get_str(j, "path")), text = json_get_str(j, "text");
	int64_t line = json_get_int(j, "line", 0);

	if (path.n == 0 || line <= 0)
		return err_set(err, ERR_PROTOCOL, "grep failed: the search worker answered with a row that is none");
	r->size += result_quoted_size(path) + result_quoted_size(text) + 40;
	if (r->size > SHOWN_MAX) {
		r->truncated = true;
		return 0;
	}
	TRY(buf_addz(r->out, r->shown++ > 0 ? ",{" : "{", err));
	TRY(json_add_member(r->out, "path", path, err));
	TRY(buf_addf(r->out, err, ",\"line\":%lld", (long long)line));
	TRY(json_add_member(r->out, "text", text, err));
	return buf_addc(r->out, '}', err);
}

/* ------------------------------------------------------------------ the request */

static int run(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct grep_args *a = args;
	struct tool_path p;
	struct index_answer answer;

	TRY(path_resolve(ctx, a->path, PATH_READ, &p, err));
	if (!p.exists)
		return err_set(err, ERR_NOENT, STR_FMT " does not exist", STR_ARG(p.shown));
	bool workspace = p.root == ctx->roots;
	struct search_request s = { .pattern = a->pattern, .glob = a->glob, .case_insensitive = a->case_insensitive,
		.root = workspace ? STR("") : p.root->path, .path = p.rel, .hidden = path_hidden_beneath(ctx, &p) };

	struct rows r = { .out = out, .prefix = workspace ? STR("") : p.root->path, .mem = ctx->mem };

	TRY(buf_addz(out, "{\"matches\":[", err));
	TRY(index_ask(ctx, "grep", &s, add_row, &r, &answer, err));
	bool truncated = r.truncated || answer.truncated;
	TRY(buf_addf(out, err, "],\"count\":%zu,\"truncated\":%s", r.shown, truncated ? "true" : "false"));
	if (answer.note.n > 0)
		TRY(json_add_member(out, "note", answer.note, err));
	oc->summary = str_printf(ctx->mem, "%zu matches%s", r.shown, truncated ? " (truncated)" : "");
	return buf_addc(out, '}', err);
}

const struct tool tool_grep = {
	.name = "grep", .help = "Search files for a regex. Leaves out what .gitignore names unless path names it.",
	.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct grep_args),
	.modes = MODES_ALL, .effect = EFFECT_NONE, .run = run,
};
