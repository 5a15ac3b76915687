/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/cmd_runs_priv.h"

#include "agent/replay.h"
#include "fmt/json.h"
#include "sys/file.h"
#include "sys/term.h"

#include <fcntl.h>

struct replay_args {
	struct str id;
	bool json;
};

static const struct field replay_fields[] = {
	{ "id", &field_str, offsetof(struct replay_args, id), .flags = FIELD_POSITIONAL,
		.help = "A run's id or the beginning of it; the newest when left out." },
	{ "json", &field_bool, offsetof(struct replay_args, json), .help = "Print one JSON object." },
};

static struct str clean(struct arena *mem, const char *z)
{
	auto_buf struct buf b = BUF_MAX(16384);

	return term_clean(str_from(z), TERM_LINE, &b, ERR_DISCARD) < 0 ? STR("") : str_dup(mem, buf_str(&b));
}

static int print_json(const struct session_ref *ref, const struct replay_report *rep, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	TRY(buf_addz(&b, "{", err));
	TRY(json_add_member(&b, "run_id", str_from(ref->id), err));
	TRY(buf_addf(&b, err, ",\"same\":%s,\"events\":%lld,\"requests\":%lld,\"answers\":%lld,\"calls\":%lld,\"left_out\":%lld",
		rep->what[0] ? "false" : "true", (long long)rep->events, (long long)rep->requests, (long long)rep->answers,
		(long long)rep->calls, (long long)rep->left_out));
	if (rep->what[0]) {
		TRY(buf_addf(&b, err, ",\"seq\":%lld,\"turn\":%lld", (long long)rep->seq, (long long)rep->turn));
		TRY(json_add_member(&b, "type", str_from(rep->type), err));
		TRY(json_add_member(&b, "what", str_from(rep->what), err));
		TRY(json_add_member(&b, "was", str_from(rep->was), err));
		TRY(json_add_member(&b, "now", str_from(rep->now), err));
	}
	TRY(buf_addz(&b, "}\n", err));
	cli_json(buf_str(&b));
	return 0;
}

static void print_text(const struct session_ref *ref, const struct replay_report *rep, struct arena *mem)
{
	if (!rep->what[0]) {
		cli_out("%s: the same again: %lld requests, %lld answers, %lld calls, %lld events\n", ref->id,
			(long long)rep->requests, (long long)rep->answers, (long long)rep->calls, (long long)rep->events);
		if (rep->left_out > 0)
			cli_note("%lld requests were too large to be kept and could not be compared", (long long)rep->left_out);
		return;
	}
	cli_out("%s: the first event that differs is %lld (" STR_FMT ", turn %lld): " STR_FMT "\n", ref->id, (long long)rep->seq,
		STR_ARG(clean(mem, rep->type)), (long long)rep->turn, STR_ARG(clean(mem, rep->what)));
	if (rep->was[0] || rep->now[0])
		cli_out("  recorded  " STR_FMT "\n  now       " STR_FMT "\n", STR_ARG(clean(mem, rep->was)),
			STR_ARG(clean(mem, rep->now)));
}

static int run_replay(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct replay_args *args = decoded;
	autoclose int record = -1;
	struct replay_report rep;
	struct session_ref ref;
	struct place place;

	TRY(runs_find(ctx, args->id, SESSION_ANY, &place, &ref, err));
	TRY(dir_open(AT_FDCWD, session_path(place.repo_dir, &ref, "record", ctx->mem), &record, err));
	TRY(runs_confine(&record, 1, err));
	TRY(replay_run(record, &rep, err));
	if (args->json)
		TRY(print_json(&ref, &rep, err));
	else
		print_text(&ref, &rep, ctx->mem);
	return rep.what[0] ? 1 : 0;
}

static const struct command commands[] = {
	{ .name = "replay", .help = "make a recorded run again, without a model and without a tool, and compare",
		.about = "Requests, answers and calls are made anew from the transcripts; results of tools are those of the record.\n"
			 "Exit status 1 and the first event that differs when something does.",
		.fields = replay_fields, .nfields = COUNT(replay_fields), .size = sizeof(struct replay_args), .run = run_replay,
		.needs_no_root_check = true },
};

const struct command_group commands_replay = { commands, COUNT(commands), NULL };
