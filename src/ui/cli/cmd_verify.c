/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* runs verify: what the record itself can prove, and what a hash that was kept elsewhere can. */
#include "ui/cli/cmd_runs_priv.h"

#include "session/proof.h"
#include "session/store.h"
#include "sys/file.h"
#include "sys/term.h"

#include <fcntl.h>

struct verify_args {
	struct str id, head;
	bool json;
};

static const struct field fields[] = {
	{ "id", &field_str, offsetof(struct verify_args, id), .flags = FIELD_POSITIONAL,
		.help = "A session's id or the beginning of it; the newest when left out." },
	{ "head", &field_str, offsetof(struct verify_args, head),
		.help = "A hash that this command printed earlier, or its first 16 digits or more: the journal must still hold it." },
	{ "json", &field_bool, offsetof(struct verify_args, json), .help = "Print one JSON object." },
};

static json_t *number_or_null(int64_t n)
{
	return n > 0 ? json_integer(n) : json_null();
}

static json_t *differences_json(const struct proof *p)
{
	json_t *list = json_array();

	for (const struct proof_difference *d = p->differences; d; d = d->next)
		BUG_IF(json_array_append_new(list, json_pack("{s:o,s:o,s:o}", "member", json_text(d->member), "recorded",
			json_text(d->recorded), "found", json_text(d->found))) < 0);
	return list;
}

static int print_json(const char *id, const struct proof *p, bool torn, bool whole, struct err *err)
{
	const struct journal_report *j = &p->journal;
	auto_json json_t *o = json_object();
	const struct { const char *key; json_t *value; } rows[] = {
		{ "run_id", json_text(str_from(id)) },
		{ "whole", json_boolean(whole) },
		{ "events", json_integer(j->chained) },
		{ "head", json_text(str_from(j->head)) },
		{ "seen_event", number_or_null(p->seen) },
		{ "head_event", number_or_null(p->head) },
		{ "bad_line", number_or_null(j->bad_line) },
		{ "reason", j->bad_line > 0 ? json_text(str_from(j->reason)) : json_null() },
		{ "torn_bytes", json_integer(torn ? j->torn_bytes : 0) },
		{ "cut", json_boolean(p->cut) },
		{ "replaced_event", number_or_null(p->replaced) },
		{ "differences", differences_json(p) },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		BUG_IF(json_object_set_new(o, rows[i].key, rows[i].value) < 0);
	return runs_print_json(o, err);
}

/* What the record says comes from whoever wrote it. */
static int say(const char *id, struct str what, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(1024 * 1024);

	TRY(term_clean(what, TERM_LINE, &b, err));
	cli_out("%s: " STR_FMT "\n", id, STR_ARG(buf_str(&b)));
	return 0;
}

static int print_differences(const char *id, const struct proof *p, struct arena *mem, struct err *err)
{
	for (const struct proof_difference *d = p->differences; d; d = d->next)
		TRY(say(id, str_printf(mem, "manifest.json was changed: " STR_FMT " is " STR_FMT ", the journal recorded " STR_FMT,
			STR_ARG(d->member), STR_ARG(d->found), STR_ARG(d->recorded)), err));
	return 0;
}

static int print_text(const char *id, const struct proof *p, struct str head, bool torn, struct arena *mem, struct err *err)
{
	const struct journal_report *j = &p->journal;

	if (j->bad_line > 0)
		TRY(say(id, str_printf(mem, "line %lld is wrong: %s", (long long)j->bad_line, j->reason), err));
	if (torn)
		cli_out("%s: after line %lld stand %lld bytes of an incomplete line\n", id, (long long)j->lines, (long long)j->torn_bytes);
	if (p->cut)
		cli_out("%s: cut: the journal ends at event %lld, " STORE_MESSAGES " has seen event %lld\n", id, (long long)j->chained,
			(long long)p->seen);
	if (p->replaced > 0)
		cli_out("%s: event %lld is not the one that " STORE_MESSAGES " has seen: the journal was cut before it or written anew\n", id,
			(long long)p->replaced);
	if (head.n > 0 && p->head == 0)
		cli_out("%s: no event has the hash " STR_FMT ": the journal was cut before it or written anew\n", id, STR_ARG(head));
	return print_differences(id, p, mem, err);
}

static int run_verify(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct verify_args *args = decoded;
	autoclose int record = -1;
	struct session_ref ref;
	struct place place;
	struct proof p;

	if (args->head.n > 0 && !proof_head_ok(args->head))
		return err_set(err, ERR_INVALID, "--head: a hash is %d to %d digits of 0-9 and a-f, as `agent6 runs verify` prints it",
			PROOF_HEAD_MIN, JOURNAL_HEX);
	TRY(runs_find(ctx, args->id, SESSION_ANY, &place, &ref, err));
	TRY(dir_open(AT_FDCWD, session_path(place.repo_dir, &ref, "record", ctx->mem), &record, err));
	bool live = session_is_live(place.repo_dir, &ref);

	TRY(runs_confine_to(&place, err));
	TRY(proof_read(record, args->head, ctx->mem, &p, err));
	bool torn = p.journal.torn_bytes > 0 && !live, whole = proof_is_whole(&p, live, args->head);

	if (args->json)
		TRY(print_json(ref.id, &p, torn, whole, err));
	else if (!whole)
		TRY(print_text(ref.id, &p, args->head, torn, ctx->mem, err));
	else
		cli_out("%s: %lld events in an unbroken chain%s, head %s\n", ref.id, (long long)p.journal.chained,
			args->head.n > 0 ? str_printf(ctx->mem, ", the kept hash is event %lld", (long long)p.head).p : "", p.journal.head);
	return whole ? 0 : 1;
}

static const struct command commands[] = {
	{ .name = "runs verify", .help = "prove that a session's journal and manifest were not changed",
		.about = "Follows the hash chain through every event of the journal, compares where it ends with what the conversation has seen "
			 "of it, and manifest.json with what the journal says was set. Whether the conversation and the transcripts are what they "
			 "were is for `agent6 replay` to find. Exit status 1 when something is wrong, and what. Who "
			 "can write the whole record can make another one of it: keep the head that this prints in another place, and give it "
			 "back with --head.",
		.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct verify_args), .run = run_verify, .needs_no_root_check = true },
};

const struct command_group commands_verify = { commands, COUNT(commands), NULL };
