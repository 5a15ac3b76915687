/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fuzz_tool_args: whatever a model sends to whichever tool, the answer is one bounded JSON object in UTF-8.
 * The first byte chooses the tool; the rest are its arguments. The workspace is an empty directory that is
 * made anew for each input and holds one file. */
#include "fmt/json.h"
#include "graph/graph.h"
#include "sys/file.h"
#include "tool/language.h"
#include "tool/tool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int job(void *self, const struct job_request *req, struct arena *mem, struct job_result *out, struct err *err)
{
	(void)mem;
	(void)err;
	/* What the model sent comes back as the output of the program, or as the worker's answer. */
	*out = (struct job_result){ .why = 1 + req->argc % 8, .out = *(struct str *)self, .out_total = 1 << 20,
		.errs = *(struct str *)self };
	return 0;
}

static int ask(void *self, const struct str *questions, const struct str_list *options, size_t n, struct arena *mem,
	struct str_list *answers, bool *answered, struct err *err)
{
	(void)options;
	(void)mem;
	(void)err;
	*answers = (struct str_list){ (struct str *)questions, n };
	*answered = ((struct str *)self)->n % 2;
	return 0;
}

static int background(void *self, const struct background_request *req, struct arena *mem, struct background_report *out,
	struct err *err)
{
	(void)mem;
	if (req->op != BACKGROUND_LIST && !str_eq(req->id, STR("bg1")))
		return err_set(err, ERR_NOENT, "no such background command: bg1");
	*out = (struct background_report){ .shells = { self, 1 }, .text = *(struct str *)self, .total = 1 << 20,
		.gap_at = ((struct str *)self)->n / 2 };
	return 0;
}

static int mcp(void *self, const struct mcp_tool *tool, struct str args, struct arena *mem, struct mcp_reply *out, struct err *err)
{
	(void)tool;
	(void)args;
	(void)mem;
	(void)err;
	*out = (struct mcp_reply){ .why = JOB_LOST, .note = *(struct str *)self };
	return 0;
}

static bool language_knows(void *self, struct str path)
{
	(void)self;
	return path.n % 2;
}

/* Places made of the bytes: some of them in the file that is there. */
static int language(void *self, struct tool_ctx *ctx, const struct language_ask *what, struct language_answer *out, struct err *err)
{
	struct str in = *(struct str *)self;

	(void)err;
	BUG_IF(what->nseeds == 0 || what->nseeds > LANGUAGE_SEEDS_MAX);
	*out = (struct language_answer){ .p = arena_array(ctx->mem, in.n + 1, sizeof(*out->p)), .server = "server", .note = in };
	for (size_t i = 0; i + 3 < in.n && i < 200; i++) {
		struct str path = in.p[i] & 1 ? str_printf(ctx->mem, STR_FMT "/f", STR_ARG(ctx->roots[0].path)) : str_skip(in, i);

		out->p[out->n++] = (struct language_place){ .path = path, .line = in.p[i + 1], .col = in.p[i + 2], .end = in.p[i + 3],
			.bytes = in.p[i] & 2, .kind = in.p[i] & 4 ? symbol_kinds[0] : NULL, .name = in, .in = str_skip(in, i) };
	}
	return 0;
}

static int graph(void *self, const struct graph_op *op, int64_t version, struct err *err)
{
	(void)self;
	(void)op;
	(void)version;
	(void)err;
	return 0;
}

static int note(void *self, enum note_how how, struct str id, struct str json, struct err *err)
{
	(void)self;
	(void)how;
	(void)err;
	BUG_IF(id.n == 0 || (how == NOTE_KEEP && json.n == 0));
	return 0;
}

static void call(const struct tool *t, struct str args, int dirfd, struct str path)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf out = BUF_MAX(1 << 20);
	auto_json json_t *j = NULL;
	auto_graph struct graph *tasks = graph_new();
	size_t written = 0;
	struct tool_root root = { dirfd, path, true };
	struct tool_host host = { .self = &args, .job = job, .ask = ask, .background = background, .mcp = mcp,
		.language_knows = language_knows, .language = language, .graph = graph, .note = note };
	struct tool_ctx ctx = { .mem = mem, .host = &host, .roots = &root, .nroots = 1, .mode = MODE_RUN,
		.commands_allowed = true, .verify_command = { &STR("true"), 1 }, .command_checkin_ms = 1000,
		.metric_command = { &STR("true"), 1 }, .metric_pattern = STR("([0-9]+)"), .task = STR("a task"),
		.graph = tasks, .notes_written = &written };
	struct tool_outcome oc;

	if (tool_call(&ctx, t ? str_from(t->name) : args, args, &out, &oc, ERR_DISCARD) < 0)
		return;
	BUG_IF(out.n == 0 || out.n > TOOL_RESULT_MAX || !utf8_valid(buf_str(&out)));
	BUG_IF(json_decode(buf_str(&out), JSON_EXACT, &j, ERR_DISCARD) < 0 || !json_is_object(j));
	BUG_IF(oc.ok && json_object_get(j, "error"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = "/tmp/agent6-fuzz-XXXXXX";
	size_t all = 0;

	if (size < 1 || !mkdtemp(path))
		return 0;
	while (tools[all])
		all++;
	autoclose int dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	BUG_IF(file_replace(dirfd, "f", STR("one\r\ntwo\n\tthree\n"), 0644, ERR_DISCARD) < 0);
	call(data[0] % (all + 1) == all ? NULL : tools[data[0] % (all + 1)], str_of(data + 1, size - 1), dirfd, str_from(path));
	BUG_IF(dir_remove_tree(AT_FDCWD, path, ERR_DISCARD) < 0);
	return 0;
}
