/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* run_command and run_verify_command: one jailed program each, one shape of result. */
#include "fmt/json.h"
#include "tool/denial.h"
#include "tool/metric.h"
#include "tool/result.h"
#include "tool/table_priv.h"

#include <string.h>

#define KEEP_HEAD   8000
#define KEEP_TAIL   12000
#define STREAM_MAX  26000 /* encoded bytes of one stream; both fit a result */
#define TAIL_RECORD 2000
#define ARGV_MAX    512

struct command_args {
	struct str_list argv;
	bool background;
};

static const struct field command_fields[] = {
	{ "argv", &field_strs, offsetof(struct command_args, argv), .flags = FIELD_REQUIRED | FIELD_NONEMPTY,
		.max = ARGV_MAX, .help = "program and arguments; no shell" },
	{ "background", &field_bool, offsetof(struct command_args, background),
		.help = "return at once and let it run on, as a server has to" },
};

static bool is_plain_word(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=:,@%+", s.p[i]) ||
			s.p[i] == '\0')
			return false;
	return s.n > 0;
}

/* As a person could paste it into a shell. */
static int add_shell_words(struct buf *out, const struct str_list *argv, struct err *err)
{
	for (size_t i = 0; i < argv->n; i++) {
		struct str rest = argv->p[i];

		TRY(buf_addz(out, i > 0 ? " " : "", err));
		if (is_plain_word(rest)) {
			TRY(buf_add(out, rest, err));
			continue;
		}
		TRY(buf_addc(out, '\'', err));
		while (rest.n > 0) {
			size_t quote = str_find(rest, STR("'"));

			TRY(buf_add(out, str_head(rest, quote), err));
			TRY(buf_addz(out, quote < rest.n ? "'\\''" : "", err));
			rest = str_skip(rest, quote + (quote < rest.n));
		}
		TRY(buf_addc(out, '\'', err));
	}
	return 0;
}

static struct str clean_tail(struct arena *mem, struct str raw)
{
	auto_buf struct buf text = BUF_MAX(3 * TAIL_RECORD + 16);
	struct str tail = str_tail(raw, TAIL_RECORD);

	while (tail.n > 0 && tail.n < raw.n && ((unsigned char)tail.p[0] & 0xc0) == 0x80)
		tail = str_skip(tail, 1);
	BUG_IF(buf_add_utf8(&text, tail, ERR_DISCARD) < 0);
	return str_dup(mem, str_tail(buf_str(&text), text.n));
}

static struct str describe(struct arena *mem, enum job_class class, const struct job_result *r, int64_t timeout_ms)
{
	bool gate = class == JOB_VERIFY || class == JOB_METRIC;
	double s = (double)r->wall_ms / 1000.0;

	if (r->behind != 0)
		return str_printf(mem, "still running as " STR_FMT " after %.1fs", STR_ARG(r->behind_id), s);
	if (r->why == JOB_TIMEOUT)
		return str_printf(mem, "exit=124 (timed out at %llds, %s) in %.1fs", (long long)(timeout_ms / 1000),
			gate ? "workflow.verify_timeout_s" : "workflow.command_timeout_s", s);
	return str_printf(mem, "exit=%d in %.1fs", r->code, s);
}

static int put(const struct job_result *r, struct str command, struct str denied, int64_t timeout_ms, struct buf *out, struct err *err)
{
	bool unrunnable = r->why == JOB_UNRUNNABLE;

	if (r->behind != 0)
		TRY(buf_addz(out, "{\"returncode\":null", err));
	else
		TRY(buf_addf(out, err, "{\"returncode\":%d", r->code));
	TRY(result_add_stream(out, "stdout", r->out, KEEP_HEAD, r->out_total, STREAM_MAX, err));
	if (unrunnable && r->errs.n == 0)
		TRY(json_add_member(out, "stderr", r->note, err));
	else
		TRY(result_add_stream(out, "stderr", r->errs, KEEP_HEAD, r->errs_total, STREAM_MAX, err));
	TRY(buf_addf(out, err, ",\"duration_s\":%.1f,\"exec_failed\":%s", (double)r->wall_ms / 1000.0,
		unrunnable ? "true" : "false"));
	if (command.n > 0)
		TRY(json_add_member(out, "command", command, err));
	if (denied.n > 0)
		TRY(json_add_member(out, "jail", denied, err));
	if (r->why == JOB_TIMEOUT)
		TRY(buf_addf(out, err, ",\"timed_out\":true,\"timeout_s\":%lld", (long long)(timeout_ms / 1000)));
	if (r->why == JOB_STOPPED)
		TRY(buf_addz(out, ",\"stopped\":true", err));
	if (r->behind != 0) {
		TRY(buf_addz(out, ",\"still_running\":true", err));
		TRY(json_add_member(out, "background_id", r->behind_id, err));
	}
	return buf_addc(out, '}', err);
}

static struct str note_of(const struct job_result *r)
{
	return r->note.n > 0 ? r->note : STR("no reason was given");
}

/* Ends that left no program's output behind. */
static int no_result(const char *name, const struct job_result *r, struct tool_outcome *oc, struct err *err)
{
	switch (r->why) {
	case JOB_DENIED:
		oc->refused = true;
		return err_set(err, ERR_DENIED, "%s was denied: " STR_FMT, name, STR_ARG(note_of(r)));
	case JOB_REFUSED:
		oc->refused = true;
		return err_set(err, ERR_INVALID, "%s was refused: " STR_FMT, name, STR_ARG(note_of(r)));
	case JOB_LOST:
		return err_set(err, ERR_SYS, "%s failed: " STR_FMT, name, STR_ARG(note_of(r)));
	default:
		return 0;
	}
}

static int start(struct tool_ctx *ctx, enum job_class class, const struct str_list *argv, int64_t timeout_ms,
	struct denial *denied, struct tool_outcome *oc, struct err *err)
{
	bool looked_after = class == JOB_COMMAND && ctx->mode == MODE_RUN;
	struct job_request req = { .class = class, .argv = argv->p, .argc = argv->n, .timeout_ms = timeout_ms,
		.keep_head = KEEP_HEAD, .keep_tail = KEEP_TAIL, .checkin_ms = looked_after ? ctx->command_checkin_ms : 0 };

	const struct denial_jail jail = { .roots = ctx->roots, .nroots = ctx->nroots, .cwd = ctx->nroots > 0 ? ctx->roots[0].path : STR("/"),
		.hide_paths = ctx->hide_paths ? *ctx->hide_paths : (struct str_list){ 0 }, .online = ctx->commands_online, .git_open = ctx->git_open,
		.no_namespaces = ctx->no_namespaces, .memory_each = ctx->memory_each, .looks = ctx->mode != MODE_RUN, .unconfined = ctx->unconfined,
		.look = denial_disk, .looks_outside = ctx->no_namespaces,
		.commands = denial_commands(argv, ctx->mem) };

	for (size_t i = 0; i < argv->n; i++)
		if (argv->p[i].n > 0 && memchr(argv->p[i].p, '\0', argv->p[i].n))
			return err_set(err, ERR_INVALID, "invalid arguments: argv[%zu]: holds a NUL byte", i);
	TRY(ctx->host->job(ctx->host->self, &req, ctx->mem, &oc->job, err));
	oc->out_tail = clean_tail(ctx->mem, oc->job.out);
	oc->errs_tail = clean_tail(ctx->mem, oc->job.errs);
	oc->summary = describe(ctx->mem, class, &oc->job, timeout_ms);
	*denied = (struct denial){ 0 };
	if (oc->job.behind == 0)
		denial_explain(&jail, &oc->job, ctx->mem, denied);
	/* Of a program that ran, a note is what its jail saw it do. */
	if (oc->job.note.n > 0 && (oc->job.why == JOB_EXITED || oc->job.why == JOB_SIGNALED || oc->job.why == JOB_TIMEOUT))
		denied->note = denied->note.n == 0 ? oc->job.note
						   : str_printf(ctx->mem, STR_FMT "; " STR_FMT, STR_ARG(oc->job.note), STR_ARG(denied->note));
	if (denied->note.n > 0)
		oc->summary = str_printf(ctx->mem, STR_FMT ", jail: " STR_FMT, STR_ARG(oc->summary), STR_ARG(denied->note));
	return 0;
}

static int run_command(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc,
	struct err *err)
{
	const struct command_args *a = args;
	struct denial denied;

	if (a->argv.p[0].n == 0)
		return err_set(err, ERR_INVALID, "invalid arguments: argv[0]: the program's name is empty");
	if (a->background && ctx->mode != MODE_RUN)
		return err_set(err, ERR_INVALID, "invalid arguments: background: only a run may leave a command behind");
	if (a->background)
		TRY(start(ctx, JOB_BACKGROUND, &a->argv, 0, &denied, oc, err));
	else
		TRY(start(ctx, JOB_COMMAND, &a->argv, ctx->command_timeout_ms, &denied, oc, err));
	TRY(no_result("run_command", &oc->job, oc, err));
	oc->ran_command = oc->job.why != JOB_UNRUNNABLE;
	return put(&oc->job, STR(""), denied.note, ctx->command_timeout_ms, out, err);
}

static int run_verify(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc,
	struct err *err)
{
	auto_buf struct buf command = BUF_MAX(1024 * 1024);
	struct denial denied;

	(void)args;
	TRY(add_shell_words(&command, &ctx->verify_command, err));
	TRY(start(ctx, JOB_VERIFY, &ctx->verify_command, ctx->verify_timeout_ms, &denied, oc, err));
	TRY(no_result("run_verify_command", &oc->job, oc, err));
	if (oc->job.why == JOB_UNRUNNABLE) {
		err_set(err, ERR_UNSUPPORTED, "the verify command %.200s cannot be executed: " STR_FMT, buf_str(&command).p,
			STR_ARG(note_of(&oc->job)));
		err_hint(err, "check workflow.verify_command");
		return -ERR_UNSUPPORTED;
	}
	oc->ran_command = true;
	oc->verified = oc->job.why == JOB_EXITED || oc->job.why == JOB_SIGNALED || oc->job.why == JOB_TIMEOUT;
	oc->verify_ok = oc->job.why == JOB_EXITED && oc->job.code == 0;
	return put(&oc->job, str_head(buf_str(&command), utf8_head(buf_str(&command), 1000)), denied.note,
		ctx->verify_timeout_ms, out, err);
}

static bool has_metric(const struct tool_ctx *ctx)
{
	return ctx->metric_command.n > 0;
}

static int run_metric(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc,
	struct err *err)
{
	auto_buf struct buf text = BUF_MAX(16 * STREAM_MAX);
	struct denial denied;

	(void)args;
	TRY(start(ctx, JOB_METRIC, &ctx->metric_command, ctx->verify_timeout_ms, &denied, oc, err));
	TRY(no_result("run_metric_command", &oc->job, oc, err));
	oc->ran_command = oc->metric = oc->job.why != JOB_UNRUNNABLE;
	TRY(buf_add_utf8(&text, oc->job.out, err));
	TRY(buf_addc(&text, '\n', err));
	TRY(buf_add_utf8(&text, oc->job.errs, err));
	oc->has_score = oc->metric && metric_score(ctx->metric_pattern, buf_str(&text), &oc->score, &oc->metric_full);
	TRY(put(&oc->job, STR(""), denied.note, ctx->verify_timeout_ms, out, err));
	buf_shrink(out, out->n - 1); /* one member more */
	if (oc->has_score)
		return buf_addf(out, err, ",\"score\":%.10g}", oc->score);
	return buf_addz(out, ",\"score\":null}", err);
}

const struct tool tool_run_metric_command = {
	.name = "run_metric_command", .help = "Run the operator's metric command, whose number the run shall make better.",
	.modes = MODE_RUN, .effect = EFFECT_COMMAND, .shown = has_metric, .run = run_metric,
};

const struct tool tool_run_command = {
	.name = "run_command", .help = "Run a program in the workspace, in a jail where .git is read-only.",
	.fields = command_fields, .nfields = COUNT(command_fields), .size = sizeof(struct command_args),
	.modes = MODE_RUN | MODE_PLAN | MODE_ASK, .effect = EFFECT_COMMAND, .run = run_command,
};

const struct tool tool_run_verify_command = {
	.name = "run_verify_command", .help = "Run the configured verify command, which decides what counts as done.",
	.modes = MODE_RUN | MODE_PLAN | MODE_ASK, .effect = EFFECT_VERIFY, .run = run_verify,
};
