/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/cquote.h"
#include "fmt/json.h"
#include "tool/path.h"
#include "tool/result.h"
#include "tool/search.h"
#include "tool/table.h"

#include <string.h>

#define ANSWER_MAX (2 * 1024 * 1024) /* what the worker may say; it promises much less */
#define SHOWN_MAX  48000             /* encoded bytes of rows */
#define TIMEOUT_MS 60000

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
	bool truncated, done;
	struct str failure, note;
};

static struct str full_name(const struct rows *r, struct str path)
{
	struct str bytes;

	if (r->prefix.n == 0 || cquote_read(path, r->mem, &bytes, ERR_DISCARD) < 0)
		return path;
	return cquote_dup(r->mem, str_printf(r->mem, STR_FMT "/" STR_FMT, STR_ARG(r->prefix), STR_ARG(bytes)));
}

static int add_row(struct rows *r, const json_t *j, struct err *err)
{
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

/* The worker reads hostile files: its lines are taken as hostile too. */
static int take_line(struct rows *r, struct str line, struct err *err)
{
	auto_json json_t *j = NULL;

	if (json_decode(line, JSON_EXACT, &j, ERR_DISCARD) < 0 || !json_is_object(j) || r->done)
		return err_set(err, ERR_PROTOCOL, "grep failed: the search worker's answer cannot be read");
	if (!json_object_get(j, "done") && !json_object_get(j, "error"))
		return add_row(r, j, err);
	r->done = true;
	r->note = str_dup(r->mem, json_get_str(j, "note"));
	r->failure = str_dup(r->mem, json_get_str(j, "error"));
	r->truncated = r->truncated || json_is_true(json_object_get(j, "truncated"));
	return 0;
}

static int put(struct tool_ctx *ctx, const struct job_result *job, struct str prefix, struct buf *out,
	struct tool_outcome *oc, struct err *err)
{
	struct rows r = { .out = out, .prefix = prefix, .mem = ctx->mem };

	TRY(buf_addz(out, "{\"matches\":[", err));
	for (struct str rest = job->out; rest.n > 0;)
		TRY(take_line(&r, str_trim(str_line(&rest)), err));
	if (r.failure.n > 0)
		return err_set(err, ERR_INVALID, STR_FMT, STR_ARG(r.failure));
	if (!r.done)
		return err_set(err, ERR_SYS, "grep failed: the search worker ended early (exit %d)", job->code);
	TRY(buf_addf(out, err, "],\"count\":%zu,\"truncated\":%s", r.shown, r.truncated ? "true" : "false"));
	if (r.note.n > 0)
		TRY(json_add_member(out, "note", r.note, err));
	oc->summary = str_printf(ctx->mem, "%zu matches%s", r.shown, r.truncated ? " (truncated)" : "");
	return buf_addc(out, '}', err);
}

/* ------------------------------------------------------------------ the request */

static int run(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct grep_args *a = args;
	struct tool_path p;
	auto_buf struct buf request = BUF_MAX(SEARCH_REQUEST_MAX);
	struct job_request req = { .class = JOB_INDEX, .timeout_ms = TIMEOUT_MS, .keep_head = ANSWER_MAX };
	struct job_result job = { 0 };

	TRY(path_resolve(ctx, a->path, PATH_READ, &p, err));
	if (!p.exists)
		return err_set(err, ERR_NOENT, STR_FMT " does not exist", STR_ARG(p.shown));
	bool workspace = p.root == ctx->roots;
	struct search_request s = { .pattern = a->pattern, .glob = a->glob, .case_insensitive = a->case_insensitive,
		.root = workspace ? STR("") : p.root->path, .path = p.rel, .hidden = path_hidden_beneath(ctx, &p) };

	TRY(search_encode(&s, &request, err));
	req.in = buf_str(&request);
	TRY(ctx->host->job(ctx->host->self, &req, ctx->mem, &job, err));
	if (job.why != JOB_EXITED)
		return err_set(err, job.why == JOB_TIMEOUT ? ERR_TIMEOUT : ERR_SYS, "grep failed: %s",
			job.note.n > 0 ? str_dup(ctx->mem, job.note).p : job.why == JOB_TIMEOUT ? "it took too long; narrow it"
			: "the search worker died");
	return put(ctx, &job, workspace ? STR("") : p.root->path, out, oc, err);
}

const struct tool tool_grep = {
	.name = "grep", .help = "Search files for a regex. Leaves out what .gitignore names unless path names it.",
	.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct grep_args),
	.modes = MODES_ALL, .effect = EFFECT_NONE, .run = run,
};
