/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* term_say: what the view says by itself when a person asks: the pause, how the run stands, what happened. All of it
 * comes from the folded journal; no model is asked. */
#include "ui/cli/composer.h"
#include "ui/cli/term_priv.h"

#include <stdio.h>

#define SHOWN_MAX 400 /* of somebody's words */

static int line(struct term_view *t, enum look look, struct str text, struct err *err)
{
	TRY(term_put(t, LOOK_PLAIN, STR("  "), err));
	TRY(term_wrap(t, look, text, 2, "    ", err));
	return term_newline(t, err);
}

int term_view_pause(struct term_view *t, struct err *err)
{
	TRY(term_fresh_line(t, err));
	TRY(term_glyph(t, LOOK_WARN, GLYPH_MARK, err));
	TRY(term_wrap(t, LOOK_WARN, STR("paused. Enter goes on, words go to the model, q stops, d detaches, /help lists the rest"), 3,
		"   ", err));
	TRY(term_newline(t, err));
	TRY(term_glyph(t, LOOK_BOLD, GLYPH_OPERATOR, err));
	return 0;
}

static int add_context(const struct view_state *s, struct buf *b, struct err *err)
{
	if (s->context_tokens > 0)
		TRY(buf_addf(b, err, ", context %lld tokens", (long long)s->context_tokens));
	if (s->context_tokens > 0 && s->window_tokens > 0)
		TRY(buf_addf(b, err, " (%lld%%)", (long long)(s->context_tokens * 100 / s->window_tokens)));
	if (s->elided > 0)
		TRY(buf_addf(b, err, ", %lld results set aside", (long long)s->elided));
	return s->pins > 0 ? buf_addf(b, err, ", %lld pinned", (long long)s->pins) : 0;
}

static int add_cost(const struct view_budget *c, struct buf *b, struct err *err)
{
	if (c->usd >= 0)
		return buf_addf(b, err, ", %s$%.4f", c->usd_partial ? "~" : "", c->usd + c->usd_before);
	return buf_addf(b, err, ", %lld tokens in, %lld out", (long long)c->input, (long long)c->output);
}

int term_view_status(struct term_view *t, const struct view_state *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(1024);
	struct view_status st = view_status(s, true);

	TRY(buf_addf(&b, err, "%s%s%s, %lld call%s, %lld commit%s", st.word, st.reason ? ": " : "", st.reason ? st.reason : "",
		(long long)s->ncalls, s->ncalls == 1 ? "" : "s", (long long)s->ncommits, s->ncommits == 1 ? "" : "s"));
	TRY(add_cost(&s->budget, &b, err));
	TRY(add_context(s, &b, err));
	if (s->preset.n > 0)
		TRY(buf_addf(&b, err, ", preset " STR_FMT, STR_ARG(buf_str(&s->preset))));
	TRY(term_fresh_line(t, err));
	TRY(line(t, LOOK_BOLD, buf_str(&b), err));
	TRY(line(t, LOOK_DIM, buf_str(&s->model), err));
	return line(t, LOOK_DIM, str_head(buf_str(&s->task), utf8_head(buf_str(&s->task), SHOWN_MAX)), err);
}

int term_view_restate(struct term_view *t, const struct view_state *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(1024);
	struct str said = s->said.n > 0 ? buf_str(&s->said) : buf_str(&s->task), reply = str_trim(buf_str(&s->reply));

	TRY(term_fresh_line(t, err));
	TRY(line(t, LOOK_BOLD, str_head(said, utf8_head(said, SHOWN_MAX)), err));
	TRY(buf_addf(&b, err, "since then: %lld call%s, %lld commit%s%s", (long long)(s->ncalls - s->said_calls),
		s->ncalls - s->said_calls == 1 ? "" : "s", (long long)(s->ncommits - s->said_commits),
		s->ncommits - s->said_commits == 1 ? "" : "s",
		!s->verify_seen ? "" : s->verify_code == 0 ? ", the gate was green last" : ", the gate was red last"));
	TRY(line(t, LOOK_PLAIN, buf_str(&b), err));
	return reply.n > 0 ? term_block(t, LOOK_DIM, str_head(reply, utf8_head(reply, SHOWN_MAX)), "  ", 0, err) : 0;
}

int term_view_pins(struct term_view *t, const struct view_state *s, struct err *err)
{
	TRY(term_fresh_line(t, err));
	return s->pinned.n > 0 ? term_block(t, LOOK_PLAIN, buf_str(&s->pinned), "  ", 0, err)
			       : line(t, LOOK_DIM, STR("nothing is pinned"), err);
}

int term_view_preset(struct term_view *t, const struct view_state *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(1024);

	TRY(term_fresh_line(t, err));
	if (s->preset.n == 0)
		return line(t, LOOK_DIM, STR("no preset"), err);
	TRY(buf_addf(&b, err, "preset " STR_FMT, STR_ARG(buf_str(&s->preset))));
	return line(t, LOOK_PLAIN, buf_str(&b), err);
}

int term_view_shells(struct term_view *t, const struct view_state *s, struct err *err)
{
	TRY(term_fresh_line(t, err));
	if (s->nbackground == 0)
		return line(t, LOOK_DIM, STR("nothing runs in the background"), err);
	for (size_t i = 0; i < s->nbackground; i++) {
		auto_buf struct buf b = BUF_MAX(256);

		TRY(buf_addf(&b, err, "%s  %s", s->background[i].id, s->background[i].command));
		TRY(line(t, LOOK_PLAIN, buf_str(&b), err));
	}
	return 0;
}

int term_view_help(struct term_view *t, struct err *err)
{
	TRY(term_fresh_line(t, err));
	for (size_t i = 0; i < ncomposer_commands; i++) {
		const struct composer_command *c = &composer_commands[i];
		auto_buf struct buf b = BUF_MAX(256);

		TRY(buf_addf(&b, err, "%s%s%s", c->name, c->words ? " " : "", c->words ? c->words : ""));
		while (b.n < COMPOSER_NAME_WIDTH)
			TRY(buf_addc(&b, ' ', err));
		TRY(buf_addz(&b, c->help, err));
		TRY(line(t, LOOK_PLAIN, buf_str(&b), err));
	}
	return line(t, LOOK_DIM, STR("anything else goes to the model with its next results"), err);
}
