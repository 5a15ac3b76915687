/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* read_background and stop_background: what goes on while the model does other things. */
#include "fmt/json.h"
#include "tool/result.h"
#include "tool/table_priv.h"

#define OUTPUT_MAX 40000 /* encoded bytes */
#define WAIT_MAX_S 3600

struct read_args {
	struct str id;
	int64_t tail_lines;
	int64_t wait_s;
};

static const struct field read_fields[] = {
	{ "id", &field_str, offsetof(struct read_args, id), .max = 40, .help = "as bg1; empty lists all" },
	{ "tail_lines", &field_int, offsetof(struct read_args, tail_lines), .dflt = "200", .min = 1, .max = 2000,
		.help = "at most so many, the last" },
	{ "wait_s", &field_int, offsetof(struct read_args, wait_s), .dflt = "0", .max = WAIT_MAX_S,
		.help = "seconds to wait for its end" },
};

struct stop_args {
	struct str id;
};

static const struct field stop_fields[] = {
	{ "id", &field_str, offsetof(struct stop_args, id), .flags = FIELD_REQUIRED | FIELD_NONEMPTY, .max = 40,
		.help = "as bg1" },
};

/* The last n lines; *dropped counts the bytes before them. */
static struct str last_lines(struct str text, int64_t n, size_t *dropped)
{
	size_t at = str_ends(text, STR("\n")) ? text.n - 1 : text.n;

	while (at > 0 && (text.p[at - 1] != '\n' || --n > 0))
		at--;
	*dropped = at;
	return str_skip(text, at);
}

static int add_output(struct buf *out, const struct background_report *r, int64_t lines, struct err *err)
{
	size_t dropped;
	struct str tail = last_lines(r->text, lines, &dropped);

	if (dropped == 0)
		return result_add_stream(out, "output", r->text, r->gap_at, r->total, OUTPUT_MAX, err);
	TRY(result_add_stream(out, "output", tail, tail.n, tail.n, OUTPUT_MAX, err));
	return buf_addf(out, err, ",\"bytes_before\":%llu", (unsigned long long)(r->total - tail.n));
}

static int answer(struct tool_ctx *ctx, const struct background_request *req, int64_t lines, struct buf *out,
	struct tool_outcome *oc, struct err *err)
{
	struct background_report r;

	TRY(ctx->host->background(ctx->host->self, req, ctx->mem, &r, err));
	TRY(buf_addz(out, "{\"shells\":[", err));
	for (size_t i = 0; i < r.shells.n; i++) {
		TRY(buf_addz(out, i > 0 ? "," : "", err));
		TRY(json_add_quoted(out, r.shells.p[i], err));
	}
	TRY(buf_addc(out, ']', err));
	oc->summary = r.shells.n == 1 ? r.shells.p[0] : str_printf(ctx->mem, "%zu background", r.shells.n);
	if (req->op != BACKGROUND_LIST)
		TRY(add_output(out, &r, lines, err));
	return buf_addc(out, '}', err);
}

static int run_read(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct read_args *a = args;
	struct background_request req = { .op = a->id.n > 0 ? BACKGROUND_READ : BACKGROUND_LIST, .id = a->id,
		.wait_ms = a->wait_s * 1000 };

	TRY(answer(ctx, &req, a->tail_lines, out, oc, err));
	oc->waited = a->wait_s > 0;
	return 0;
}

static int run_stop(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct stop_args *a = args;
	struct background_request req = { .op = BACKGROUND_STOP, .id = a->id };

	return answer(ctx, &req, 200, out, oc, err);
}

const struct tool tool_read_background = {
	.name = "read_background", .help = "State of background commands, and what one wrote since it was read last.",
	.fields = read_fields, .nfields = COUNT(read_fields), .size = sizeof(struct read_args),
	.modes = MODE_RUN, .effect = EFFECT_BACKGROUND, .run = run_read,
};

const struct tool tool_stop_background = {
	.name = "stop_background", .help = "Kill a background command and all it started.",
	.fields = stop_fields, .nfields = COUNT(stop_fields), .size = sizeof(struct stop_args),
	.modes = MODE_RUN, .effect = EFFECT_BACKGROUND, .run = run_stop,
};
