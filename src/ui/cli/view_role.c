/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/view_role.h"

#include "ui/cli/questions.h"
#include "ui/cli/term_live.h"

#include "fmt/pack.h"
#include "fmt/wire.h"
#include "role/monitor.h"
#include "sandbox/confine.h"
#include "session/layout.h"
#include "sys/chan.h"
#include "sys/loop.h"
#include "sys/file.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define MONITOR_FD 3
#define WORDS_MAX  16
#define RESULT_MAX (1024 * 1024)

struct opened {
	char run_id[SESSION_ID_MAX + 1];
	bool attended;
	char since[32]; /* empty: from the beginning */
	struct term_style style;
	int record_fd, answers_fd, questions_fd;
	struct str result; /* "", text, once (unless it was seen already), json */
	bool shown;        /* the run to its end */
};

static const char *const results[] = { "result=text", "result=once", "result=json" };

static int wait_open(struct opened *o, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct chan_msg *msg = arena_alloc(mem, sizeof(*msg));
	size_t n;

	TRY(chan_recv(MONITOR_FD, msg, err));
	TRY(wire_check(LINK_MONITOR_VIEW, WIRE_DOWN, msg->type, msg->body.n, msg->nfds, err));
	struct unpack u = unpack_from(msg->body);
	struct str id = unpack_str(&u);
	uint8_t attended = unpack_u8(&u);
	struct str *words = unpack_strs(&u, mem, WORDS_MAX, &n);

	if (!unpack_done(&u) || !session_id_ok(id))
		return err_set(err, ERR_PROTOCOL, "WIRE_VIEW_OPEN does not decode");
	memcpy(o->run_id, id.p, id.n);
	o->attended = attended != 0;
	o->style = term_style_from(words, n);
	for (size_t i = 0; i < n; i++)
		if (str_starts(words[i], STR("since=")) && words[i].n - 6 < sizeof(o->since))
			memcpy(o->since, words[i].p + 6, words[i].n - 6);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < COUNT(results); k++)
			if (str_eqz(words[i], results[k]))
				o->result = str_skip(str_from(results[k]), 7);
	o->record_fd = chan_take_fd(msg, 0);
	o->answers_fd = chan_take_fd(msg, 1);
	o->questions_fd = chan_take_fd(msg, 2);
	return 0;
}

static int confine(const struct opened *o, struct err *err)
{
	const struct ll_rule rules[] = {
		{ .kind = LL_FD, .fd = o->record_fd, .access = LL_RO },
		{ .kind = LL_FD, .fd = o->answers_fd, .access = LL_RO | LL_WRITE_FILE | LL_MAKE_REG | LL_REMOVE_FILE | LL_TRUNCATE },
	};

	return confine_self(SECCOMP_VIEW, rules, COUNT(rules), err);
}

/* A file of the record, cleaned: what a model wrote goes to a terminal or into a script. Nothing when it is not there. */
static int copy(struct opened *o, const char *name, int to, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(RESULT_MAX), clean = BUF_MAX(6 * RESULT_MAX);
	int r = file_read(o->record_fd, name, &text, err);

	if (r == -ERR_NOENT || (r == 0 && text.n == 0))
		return 0;
	TRY(r);
	TRY(term_clean(buf_str(&text), str_ends(str_from(name), STR(".json")) ? TERM_JSON : TERM_TEXT, &clean, err));
	if (clean.n > 0 && clean.p[clean.n - 1] != '\n')
		TRY(buf_addc(&clean, '\n', err));
	r = file_write_fd(to, buf_str(&clean), err);
	return r < 0 && err->sys == EPIPE ? 0 : r; /* who reads no further has enough */
}

/* What a plan leaves open, after the plan. */
static int show_questions(struct opened *o, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(RESULT_MAX);

	TRY(questions_text(o->record_fd, o->run_id, &text, err));
	return file_write_fd(STDERR_FILENO, buf_str(&text), err);
}

/* What a session was for goes to standard output, alone; everything else went to standard error. An answer that has
 * just been read on the same terminal is not said twice. */
static int show_result(struct opened *o, struct err *err)
{
	bool seen = str_eqz(o->result, "once") && term_is_tty(STDOUT_FILENO) && term_is_tty(STDERR_FILENO);

	if (o->result.n > 0 && !seen)
		TRY(copy(o, str_eqz(o->result, "json") ? "result.json" : "result.md", STDOUT_FILENO, err));
	if (o->result.n > 0)
		TRY(show_questions(o, err));
	return o->questions_fd >= 0 ? copy(o, "questions.json", o->questions_fd, err) : 0;
}

static int show(struct opened *o, struct err *err)
{
	static const int signals[] = { SIGINT, SIGTSTP };
	bool tty = term_is_tty(STDERR_FILENO);
	struct term_live_spec spec = { .run_id = o->run_id, .record_fd = o->record_fd, .answers_fd = o->answers_fd,
		.out_fd = STDERR_FILENO, .in_fd = o->attended && term_is_tty(STDIN_FILENO) ? STDIN_FILENO : -1,
		.over_fd = MONITOR_FD, .stop_fd = -1, .signals_fd = -1, .over_is_terminal = true, .since = o->since[0] ? o->since : NULL, .style = o->style };
	auto_term_live struct term_live *live = NULL;
	enum term_live_end end;

	spec.style.color = spec.style.color && tty;
	if (spec.in_fd >= 0) /* before it confines itself */
		TRY(loop_signals(signals, COUNT(signals), &spec.signals_fd, err));
	TRY(term_live_open(&spec, &live, err));
	int r = confine(o, err);

	if (r == -ERR_UNSUPPORTED)
		TRY(term_live_note(live, "this host cannot confine the view", err));
	else
		TRY(r);
	TRY(term_live_run(live, &end, err));
	o->shown = true;
	return show_result(o, err);
}

int role_view_main(void)
{
	struct opened o = { .record_fd = -1, .answers_fd = -1, .questions_fd = -1 };
	struct err err = { 0 };
	int r;

	/* Ctrl-C reaches the whole foreground group, and the monitor acts on it. SIGHUP ends the view; a write from the
	 * background must not stop it. */
	if (signal(SIGINT, SIG_IGN) == SIG_ERR || signal(SIGTSTP, SIG_IGN) == SIG_ERR || signal(SIGTTOU, SIG_IGN) == SIG_ERR ||
		signal(SIGHUP, SIG_DFL) == SIG_ERR || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return 1;
	r = wait_open(&o, &err);
	if (r == 0)
		r = show(&o, &err);
	if (r < 0 && r != -ERR_CLOSED) { /* the one thing a view may say about itself */
		auto_buf struct buf line = BUF_MAX(2048);

		if (buf_addz(&line, o.shown ? "[agent6] the result was not written: " : "[agent6] the view ended: ", ERR_DISCARD) == 0 &&
			term_clean(str_from(err.msg), TERM_LINE, &line, ERR_DISCARD) == 0 &&
			buf_addz(&line, o.shown ? "\n" : "; the run goes on\n", ERR_DISCARD) == 0)
			r = write(STDERR_FILENO, line.p, line.n) < 0 ? -1 : r;
	}
	base_close_fd(&o.record_fd);
	base_close_fd(&o.answers_fd);
	base_close_fd(&o.questions_fd);
	return r >= 0 ? 0 : o.shown ? VIEW_RESULT_LOST : 1;
}
