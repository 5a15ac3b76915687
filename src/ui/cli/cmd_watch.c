/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/cmd_runs_priv.h"
#include "ui/cli/term_live.h"

#include "fmt/jscan.h"
#include "sandbox/confine.h"
#include "session/chain.h"
#include "sys/file.h"
#include "sys/loop.h"
#include "view/follow.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define RAW_VALUE_MAX 80

struct watch_args {
	struct str id;
	bool raw;
};

static const struct field watch_fields[] = {
	{ "id", &field_str, offsetof(struct watch_args, id), .flags = FIELD_POSITIONAL,
		.help = "A session's id or the beginning of it; the newest when left out." },
	{ "raw", &field_bool, offsetof(struct watch_args, raw), .help = "Print the recorded events, one a line, and end." },
};

struct watched {
	int record, answers, owner, stop; /* descriptors, or -1 */
};

static void watched_fini(struct watched *w)
{
	base_close_fd(&w->record);
	base_close_fd(&w->answers);
	base_close_fd(&w->owner);
	base_close_fd(&w->stop);
}

/* From here on the journal is read, whose every byte may be hostile. */
static int confine(const struct watched *w, struct err *err)
{
	const struct ll_rule rules[] = {
		{ .kind = LL_FD, .fd = w->record, .access = LL_RO },
		{ .kind = LL_FD, .fd = w->answers, .access = LL_RO | LL_WRITE_FILE | LL_MAKE_REG | LL_REMOVE_FILE | LL_TRUNCATE },
	};
	int r = confine_self(SECCOMP_VIEW, rules, w->answers >= 0 ? 2 : 1, err);

	if (r != -ERR_UNSUPPORTED)
		return r;
	cli_note_why("this host cannot confine the view", err);
	return 0;
}

/* ---- raw ---- */

static int print_raw_value(struct buf *b, struct jval v, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(8 * v.text.n + 64), clean = BUF_MAX(64 * v.text.n + 64);

	TRY(buf_add(&text, v.text, err));
	TRY(term_clean(buf_str(&text), TERM_LINE, &clean, err));
	struct str s = buf_str(&clean);
	size_t fits = term_fit(s, RAW_VALUE_MAX, NULL);

	if (fits == s.n)
		return buf_add(b, s, err);
	TRY(buf_add(b, str_head(s, term_fit(s, RAW_VALUE_MAX - 3, NULL)), err));
	return buf_addz(b, "...", err);
}

static int print_raw(void *self, struct str line, struct err *err)
{
	struct journal_line l = line_parse(line);
	auto_buf struct buf b = BUF_MAX(1024 * 1024), head = BUF_MAX(2 * 1024 * 1024), clean = BUF_MAX(16 * 1024 * 1024);
	struct jval obj = jval_from(line), key, value;

	(void)self;
	if (l.kind == LINE_BAD) {
		TRY(term_clean(str_head(line, 4096), TERM_LINE, &b, err));
		cli_out(STR_FMT "\n", STR_ARG(buf_str(&b)));
		return 0;
	}
	for (size_t pos = 0; jval_next(obj, &pos, &key, &value);) {
		if (jval_is(key, "ts") || jval_is(key, "type") || jval_is(key, "h") || jval_is(key, "seq") || jval_is(key, "volatile"))
			continue;
		TRY(buf_addf(&b, err, " " STR_FMT "=", STR_ARG(str_of(key.text.p + 1, key.text.n - 2))));
		TRY(print_raw_value(&b, value, err));
	}
	TRY(buf_addf(&head, err, STR_FMT "  " STR_FMT "%*s", STR_ARG(str_head(str_skip(l.ts, 11), 12)), STR_ARG(l.type),
		l.type.n < 26 ? 26 - (int)l.type.n : 0, ""));
	TRY(buf_add(&head, buf_str(&b), err));
	TRY(term_clean(buf_str(&head), TERM_LINE, &clean, err)); /* keys and types are bytes of the file too */
	cli_out(STR_FMT "\n", STR_ARG(buf_str(&clean)));
	return 0;
}

static int show_raw(const struct watched *w, struct err *err)
{
	auto_follow struct follow *f = NULL;

	TRY(follow_open(w->record, &f, err));
	TRY(confine(w, err));
	return follow_read(f, print_raw, NULL, err);
}

/* ---- live ---- */

static int show_live(const struct watched *w, const struct session_ref *ref, struct err *err)
{
	bool tty = term_is_tty(STDOUT_FILENO), keys = tty && term_is_tty(STDIN_FILENO) && w->answers >= 0;
	struct term_live_spec spec = { .run_id = ref->id, .record_fd = w->record, .answers_fd = w->answers,
		.out_fd = STDOUT_FILENO, .in_fd = keys ? STDIN_FILENO : -1, .over_fd = w->owner, .stop_fd = w->stop, .signals_fd = -1,
		.style = term_style_env() };
	auto_term_live struct term_live *live = NULL;
	enum term_live_end end;

	spec.style.color = spec.style.color && tty;
	TRY(term_live_open(&spec, &live, err));
	TRY(confine(w, err));
	TRY(term_live_run(live, &end, err));
	if (end == LIVE_LEFT)
		cli_note("watch: stopped; the run goes on");
	if (end == LIVE_GONE)
		cli_note("%s is not running and never said how it ended; `agent6 runs show %s` says more", ref->id, ref->id);
	return 0;
}

static int run_watch(struct command_ctx *ctx, const void *decoded, struct err *err)
{
	const struct watch_args *args = decoded;
	CLEANUP(watched_fini) struct watched w = { -1, -1, -1, -1 };
	const int sigs[] = { SIGINT, SIGTERM };
	struct session_ref ref;
	struct place place;

	TRY(runs_find(ctx, args->id, SESSION_ANY, &place, &ref, err));
	if (args->id.n == 0)
		cli_note("watching %s", ref.id);
	TRY(dir_open(AT_FDCWD, session_path(place.repo_dir, &ref, "record", ctx->mem), &w.record, err));
	w.owner = session_owner_pidfd(place.repo_dir, &ref);
	if (args->raw)
		return show_raw(&w, err);
	if (w.owner >= 0) {
		TRY(dir_open(AT_FDCWD, session_path(place.repo_dir, &ref, "answers", ctx->mem), &w.answers, err));
		TRY(loop_signals(sigs, COUNT(sigs), &w.stop, err));
	}
	return show_live(&w, &ref, err);
}

static const struct command commands[] = {
	{ .name = "watch", .help = "follow a run from another terminal, or read a finished one again",
		.about = "On a terminal it also asks what the run asks: whoever answers first, counts.",
		.fields = watch_fields, .nfields = COUNT(watch_fields), .size = sizeof(struct watch_args), .run = run_watch,
		.needs_no_root_check = true },
	{ .name = "attach", .help = "follow a run from another terminal, or read a finished one again",
		.about = "On a terminal it also asks what the run asks: whoever answers first, counts.",
		.fields = watch_fields, .nfields = COUNT(watch_fields), .size = sizeof(struct watch_args), .run = run_watch,
		.needs_no_root_check = true, .hidden = true },
};

const struct command_group commands_watch = { commands, COUNT(commands), NULL };
