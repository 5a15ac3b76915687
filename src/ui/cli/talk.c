/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/talk.h"

#include "session/answers.h"
#include "sys/term.h"
#include "ui/cli/attended.h"
#include "ui/cli/cmd_runs_priv.h"
#include "ui/cli/prompt.h"

#include <string.h>

enum said { SAID_QUESTION, SAID_COST, SAID_RESET, SAID_END };

static const struct {
	const char *word;
	enum said what;
} words[] = {
	{ "/cost", SAID_COST }, { "/reset", SAID_RESET }, { "/quit", SAID_END }, { "/q", SAID_END }, { "/exit", SAID_END },
};

static void tell_words(struct str line)
{
	auto_buf struct buf clean = BUF_MAX(256);

	if (!str_eqz(line, "/help") && !str_eqz(line, "/h") && !str_eqz(line, "/?") &&
		term_clean(str_head(line, utf8_head(line, 40)), TERM_LINE, &clean, ERR_DISCARD) == 0)
		cli_note(STR_FMT " is no command here; nothing was sent", STR_ARG(buf_str(&clean)));
	cli_note("anything else is a question; /cost: what it took so far, /reset: begin anew, /quit: end");
}

/* What begins with a slash is said to us, and is never a question. */
static enum said read_line(struct arena *mem, struct str *out)
{
	for (;;) {
		struct err err = { 0 };
		int r = prompt_words("ask> ", mem, out, &err);

		if (r == -ERR_LIMIT) {
			cli_note("%s; nothing was sent. --file attaches what is long", err.msg);
			continue;
		}
		if (r < 0)
			return SAID_END;
		for (size_t i = 0; i < COUNT(words); i++)
			if (str_eqz(*out, words[i].word))
				return words[i].what;
		if (str_starts(*out, STR("/")))
			tell_words(*out);
		else if (out->n > ANSWER_TEXT_MAX)
			cli_note("longer than %d bytes; nothing was sent. --file attaches what is long", ANSWER_TEXT_MAX);
		else if (out->n > 0)
			return SAID_QUESTION;
	}
}

/* A record is read by a process that gives up everything else first. 1: this is that process. */
static int show_cost(struct command_ctx *ctx, const char *id, struct err *err)
{
	struct proc_status st;
	struct proc p;
	int r;

	if (id[0] == '\0') {
		cli_note("nothing was asked yet");
		return 0;
	}
	TRY(r = proc_fork(&p, err));
	if (r == 1) {
		TRY(runs_show(ctx, str_from(id), err));
		return 1;
	}
	return proc_wait(&p, &st, err);
}

/* 1: this is the process that answers, and *status is how that went. */
static int ask(struct run_request *rq, struct str question, char id[SESSION_ID_MAX + 1], int *status, bool *left, struct err *err)
{
	struct leash_end end;
	struct run_request leg = *rq;
	int r;

	leg.resume = id[0] != '\0';
	leg.run_id = leg.resume ? str_from(id) : rq->run_id;
	leg.task = leg.resume ? STR("") : question;
	leg.steer = leg.resume ? question : STR("");
	leg.context = leg.resume ? STR("") : rq->context;
	TRY(r = run_leg(&leg, &end, status, err));
	if (r == 1)
		return 1;
	if (end.run_id[0] != '\0')
		memcpy(id, end.run_id, sizeof(end.run_id));
	*status = end.status;
	*left = end.detached || id[0] == '\0'; /* refused before there was a session: the next question would be too */
	return 0;
}

int talk_run(struct command_ctx *ctx, struct run_request *rq, struct err *err)
{
	struct str question = str_trim(rq->task);
	char id[SESSION_ID_MAX + 1] = "";
	bool left = false;
	int status = 0, r;

	while (!left) {
		enum said what = question.n > 0 ? SAID_QUESTION : read_line(ctx->mem, &question);

		if (what == SAID_END)
			break;
		if (what == SAID_COST) {
			TRY(r = show_cost(ctx, id, err));
			if (r == 1)
				return 0;
		} else if (what == SAID_RESET) {
			id[0] = '\0';
			rq->run_id = STR(""); /* the one that was wanted is in use now */
			cli_note("what is asked next is a new conversation");
		} else {
			TRY(r = ask(rq, question, id, &status, &left, err));
			if (r == 1)
				return status;
		}
		question = STR("");
	}
	if (id[0] != '\0')
		cli_note("resume with: agent6 resume %s --steer \"...\"", id);
	return status;
}
