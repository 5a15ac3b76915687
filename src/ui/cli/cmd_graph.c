/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/cmd_runs_priv.h"

#include "graph/disk.h"
#include "sys/file.h"
#include "sys/term.h"

#include <fcntl.h>
#include <stdio.h>

#define OUT_MAX (16 * 1024 * 1024)

struct graph_args {
	struct str id;
	bool dot, json;
};

static const struct field fields[] = {
	{ "id", &field_str, offsetof(struct graph_args, id), .flags = FIELD_POSITIONAL,
		.help = "A session's id or the beginning of it; the newest when left out." },
	{ "dot", &field_bool, offsetof(struct graph_args, dot), .help = "Print a drawing for graphviz." },
	{ "json", &field_bool, offsetof(struct graph_args, json), .help = "Print one JSON array." },
};

static int run_graph(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct graph_args *args = decoded;
	auto_buf struct buf text = BUF_MAX(OUT_MAX), clean = BUF_MAX(2 * OUT_MAX);
	auto_graph struct graph *g = NULL;
	autoclose int record = -1;
	struct session_ref ref;
	struct place place;

	if (args->dot && args->json)
		return err_set(err, ERR_INVALID, "--dot and --json exclude each other");
	TRY(runs_find(ctx, args->id, SESSION_ANY, &place, &ref, err));
	TRY(dir_open(AT_FDCWD, session_path(place.repo_dir, &ref, "record", ctx->mem), &record, err));
	TRY(runs_confine(&record, 1, err));
	TRY(graph_load(record, -1, &g, err));
	if (args->json) {
		TRY(graph_print_json(g, &text, err));
		cli_json(buf_str(&text));
		cli_out("\n");
		return 0;
	}
	if (g->n == 0 && !args->dot)
		cli_note("%s has no tasks", ref.id);
	TRY(args->dot ? graph_print_dot(g, &text, err) : graph_print_tree(g, &text, err));
	TRY(term_clean(buf_str(&text), TERM_TEXT, &clean, err));
	cli_out(STR_FMT, STR_ARG(buf_str(&clean)));
	return 0;
}

static const struct command commands[] = {
	{ .name = "runs graph", .help = "print the tasks of a session", .fields = fields, .nfields = COUNT(fields),
		.size = sizeof(struct graph_args), .run = run_graph, .needs_no_root_check = true },
	{ .name = "history graph", .help = "the same as runs graph", .fields = fields, .nfields = COUNT(fields),
		.size = sizeof(struct graph_args), .run = run_graph, .needs_no_root_check = true, .hidden = true },
};

const struct command_group commands_graph = { commands, COUNT(commands), NULL };
