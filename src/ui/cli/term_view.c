/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/term_priv.h"
#include "ui/cli/typed.h"

#include <stdio.h>
#include <string.h>

#define TAIL_LINES    8  /* of each stream of a failed gate */
#define FAIL_LINES    3  /* of a failed command */
#define OUTCOME_COLS  26 /* kept free behind a call */
#define SHA_SHOWN     12

/* ---- text that streams ---- */

/* A piece of text as it comes. CR LF may be cut between two pieces. */
static int put_stream(struct term_view *t, enum look look, struct str piece, struct err *err)
{
	auto_buf struct buf clean = BUF_MAX(8 * piece.n + 64), whole = BUF_MAX(piece.n + 1);

	if (t->held_cr)
		TRY(buf_addc(&whole, '\r', err));
	TRY(buf_add(&whole, piece, err));
	t->held_cr = piece.n > 0 && piece.p[piece.n - 1] == '\r';
	buf_shrink(&whole, whole.n - t->held_cr);
	TRY(term_clean(buf_str(&whole), TERM_TEXT, &clean, err));
	for (struct str rest = buf_str(&clean); rest.n > 0;)
		TRY(term_put(t, look, str_line(&rest), err));
	return 0;
}

static int on_thinking(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	(void)s;
	if (!t->thinking) {
		TRY(term_fresh_line(t, err));
		TRY(term_glyph(t, LOOK_DIM, GLYPH_THINK, err));
		t->thinking = true;
	}
	return put_stream(t, LOOK_DIM, it->text, err);
}

static int on_text(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	(void)s;
	if (t->thinking || t->open_call)
		TRY(term_fresh_line(t, err));
	return put_stream(t, LOOK_PLAIN, it->text, err);
}

static int on_reply(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	(void)s;
	if (it->streamed || str_trim(it->text).n == 0)
		return term_fresh_line(t, err);
	TRY(term_fresh_line(t, err));
	TRY(put_stream(t, LOOK_PLAIN, str_trim(it->text), err));
	return term_fresh_line(t, err);
}

/* ---- one line each ---- */

static int on_start(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	struct str task = it->text.n > 0 ? it->text : buf_str(&s->task);

	TRY(term_fresh_line(t, err));
	TRY(term_glyph(t, LOOK_BOLD, GLYPH_RUN, err));
	TRY(it->resumed ? term_put(t, LOOK_BOLD, STR("resumed: "), err) : 0);
	TRY(term_line(t, LOOK_BOLD, str_head(task, utf8_head(task, 200)), 0, err));
	TRY(term_newline(t, err));
	TRY(term_put(t, LOOK_PLAIN, STR("  "), err));
	TRY(term_line(t, LOOK_DIM, str_from(s->run_id), 0, err));
	if (s->model.n > 0) {
		TRY(term_put(t, LOOK_DIM, STR(", "), err));
		TRY(term_line(t, LOOK_DIM, buf_str(&s->model), 0, err));
	}
	if (s->isolation.n > 0) {
		TRY(term_put(t, LOOK_DIM, STR(", isolation "), err));
		TRY(term_line(t, LOOK_DIM, buf_str(&s->isolation), 0, err));
	}
	return term_newline(t, err);
}

static void call_key(const struct view_item *it, char out[200])
{
	snprintf(out, 200, STR_FMT " " STR_FMT, STR_ARG(str_head(it->name, 60)), STR_ARG(str_head(it->arg, 130)));
}

/* The line stays open: the outcome comes behind it when nothing else comes between. */
static int on_call(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	int used, w;

	(void)s;
	TRY(term_fresh_line(t, err));
	TRY(term_glyph(t, LOOK_CALL, GLYPH_CALL, err));
	TRY(used = term_line(t, LOOK_CALL, it->name, t->cols / 2, err));
	used += t->style.utf8 ? 2 : 3;
	if (it->whole.n > 0 && (it->command || t->cols == TERM_NO_COLUMNS)) { /* what is run is seen whole */
		TRY(term_put(t, LOOK_PLAIN, STR(" "), err));
		TRY(used = term_wrap(t, LOOK_PLAIN, it->whole, used + 1, "    ", err));
	} else if (it->arg.n > 0 && t->cols - used - 1 > OUTCOME_COLS) {
		TRY(term_put(t, LOOK_PLAIN, STR(" "), err));
		TRY(w = term_line(t, LOOK_PLAIN, it->arg, t->cols - used - 1 - OUTCOME_COLS, err));
		used += w + 1;
	}
	t->open_call = true;
	t->gate_told = false;
	t->call_cols = used;
	call_key(it, t->open_id);
	return 0;
}

static int on_result(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	char key[200];
	int room;

	(void)s;
	call_key(it, key);
	if (t->open_call && strcmp(key, t->open_id) == 0 && t->cols - t->call_cols >= OUTCOME_COLS) {
		TRY(term_put(t, LOOK_PLAIN, STR("  "), err));
		room = t->cols - t->call_cols - 2;
	} else {
		TRY(term_fresh_line(t, err));
		TRY(term_put(t, LOOK_PLAIN, STR("  "), err));
		TRY(term_glyph(t, LOOK_DIM, GLYPH_DETAIL, err));
		TRY(room = term_line(t, LOOK_CALL, it->name, t->cols / 2, err));
		TRY(term_put(t, LOOK_PLAIN, STR("  "), err));
		room = t->cols - room - 6;
	}
	struct str word = !it->ok ? STR("failed") : it->code == 0 ? STR("ok") : STR("");
	enum look look = !it->ok ? LOOK_FAIL : it->code == 0 ? LOOK_OK : LOOK_WARN;

	TRY(term_put(t, look, word, err));
	room -= (int)word.n + 1;
	if ((look != LOOK_OK || str_eqz(it->name, "ask_user")) && term_width(it->text) > room) { /* worth lines of its own */
		TRY(term_fresh_line(t, err));
		TRY(term_block(t, LOOK_DIM, it->text, "    ", 0, err));
	} else if (it->text.n > 0 && room > 6 && !str_eq(it->text, word)) {
		TRY(word.n > 0 ? term_put(t, LOOK_PLAIN, STR(" "), err) : 0);
		TRY(term_line(t, word.n > 0 ? LOOK_DIM : look, it->text, room, err));
	}
	TRY(term_fresh_line(t, err));
	if (look == LOOK_OK || (t->gate_told && str_eqz(it->name, "run_verify_command")))
		return 0;
	TRY(term_block(t, LOOK_DIM, it->detail, "    ", FAIL_LINES, err));
	return term_block(t, LOOK_DIM, it->errs, "    ", FAIL_LINES, err);
}

static int on_verify(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	auto_buf struct buf how = BUF_MAX(128);

	(void)s;
	t->gate_told = true;
	TRY(term_fresh_line(t, err));
	TRY(term_glyph(t, it->ok ? LOOK_OK : LOOK_FAIL, it->ok ? GLYPH_OK : GLYPH_FAIL, err));
	TRY(buf_addf(&how, err, "exit %lld in %.1fs", (long long)it->code, it->seconds < 0 ? 0 : it->seconds));
	TRY(term_put(t, LOOK_BOLD, STR("gate "), err));
	TRY(term_line(t, LOOK_PLAIN, t->cols == TERM_NO_COLUMNS ? it->whole : it->arg, t->cols - 12 - (int)how.n, err));
	TRY(term_put(t, LOOK_PLAIN, STR("  "), err));
	TRY(term_put(t, it->ok ? LOOK_OK : LOOK_FAIL, buf_str(&how), err));
	TRY(term_newline(t, err));
	if (it->timed_out)
		TRY(term_block(t, LOOK_WARN, STR("its time was up: workflow.verify_timeout_s says how long it may take"), "    ", 0, err));
	if (it->ok)
		return 0;
	TRY(term_block(t, LOOK_DIM, it->detail, "    ", TAIL_LINES, err));
	return term_block(t, LOOK_DIM, it->errs, "    ", TAIL_LINES, err);
}

static int on_commit(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	(void)s;
	TRY(term_fresh_line(t, err));
	TRY(term_glyph(t, LOOK_OK, GLYPH_COMMIT, err));
	TRY(term_put(t, LOOK_OK, STR("commit "), err));
	TRY(term_line(t, LOOK_PLAIN, str_head(it->name, SHA_SHOWN), 0, err));
	TRY(term_put(t, LOOK_PLAIN, STR(" "), err));
	TRY(term_line(t, LOOK_PLAIN, it->text, t->cols - 24, err));
	return term_newline(t, err);
}

static int on_marker(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	enum look look = it->kind == VIEW_WARNING ? LOOK_WARN : LOOK_DIM;
	auto_buf struct buf typed = BUF_MAX(16 * it->text.n + 64);
	int used = 0;

	(void)s;
	if (t->style.root)
		TRY(typed_add(&typed, it->text, err));
	TRY(term_fresh_line(t, err));
	TRY(term_glyph(t, look, GLYPH_MARK, err));
	if (it->name.n > 0) {
		TRY(used = term_line(t, look, it->name, 40, err));
		TRY(term_put(t, look, STR(": "), err));
		used += 2;
	}
	TRY(term_prose(t, look, t->style.root ? buf_str(&typed) : it->text, used + 3, "   ", err));
	return term_newline(t, err);
}

static int on_answer(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	(void)s;
	struct str key = STR("  (a: allowed)");

	if (it->standing && !it->ok) /* the call's own result says so */
		return 0;
	if (it->standing && t->open_call && t->cols - t->call_cols > (int)key.n) { /* nobody was asked: no line of its own */
		t->call_cols += (int)key.n;
		return term_put(t, LOOK_DIM, key, err);
	}
	TRY(term_fresh_line(t, err));
	TRY(term_put(t, LOOK_PLAIN, STR("  "), err));
	TRY(term_glyph(t, LOOK_DIM, GLYPH_DETAIL, err));
	TRY(term_line(t, it->ok ? LOOK_OK : LOOK_FAIL, it->text, t->cols - 8, err));
	if (it->detail.n > 0) {
		TRY(term_put(t, LOOK_DIM, STR(" ("), err));
		TRY(term_line(t, LOOK_DIM, it->detail, 40, err));
		TRY(term_put(t, LOOK_DIM, STR(")"), err));
	}
	return term_newline(t, err);
}

static int on_steer(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	(void)s;
	TRY(term_fresh_line(t, err));
	TRY(term_glyph(t, LOOK_BOLD, GLYPH_OPERATOR, err));
	TRY(term_wrap(t, LOOK_BOLD, it->text, 2, "  ", err));
	return term_newline(t, err);
}

/* Who cannot answer here still sees what is asked. */
static int on_asked(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	TRY(term_fresh_line(t, err));
	if (it->kind == VIEW_PROMPT) {
		TRY(term_glyph(t, LOOK_WARN, GLYPH_ASK, err));
		TRY(term_wrap(t, LOOK_WARN, it->text, 2, "  ", err));
		return term_newline(t, err);
	}
	for (size_t i = 0; i < s->nprompts; i++)
		if (str_eqz(it->name, s->prompts[i].id)) {
			TRY(term_glyph(t, LOOK_WARN, GLYPH_ASK, err));
			TRY(term_put(t, LOOK_WARN, STR("the agent asks:\n"), err));
			return term_block(t, LOOK_PLAIN, buf_str(&s->prompts[i].text), "  ", 0, err);
		}
	return 0;
}

static int on_aside(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	(void)s;
	TRY(term_fresh_line(t, err));
	TRY(term_glyph(t, LOOK_DIM, GLYPH_MARK, err));
	TRY(term_put(t, LOOK_DIM, STR("btw: "), err));
	TRY(term_line(t, LOOK_DIM, it->arg, 0, err));
	TRY(term_newline(t, err));
	return term_block(t, LOOK_PLAIN, it->text, "   ", 0, err);
}

/* Who cannot answer here only sees that it waits. */
static int on_paused(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	const struct view_item mark = { .kind = VIEW_MARKER, .text = it->text };

	return on_marker(t, &mark, s, err);
}

static int on_end(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	(void)it;
	return term_view_end(t, s, err);
}

static int (*const shows[])(struct term_view *t, const struct view_item *it, const struct view_state *s,
	struct err *err) = {
	[VIEW_NOTHING] = NULL,
	[VIEW_START] = on_start,
	[VIEW_THINKING] = on_thinking,
	[VIEW_TEXT] = on_text,
	[VIEW_REPLY] = on_reply,
	[VIEW_CALL] = on_call,
	[VIEW_RESULT] = on_result,
	[VIEW_VERIFY] = on_verify,
	[VIEW_COMMIT] = on_commit,
	[VIEW_MARKER] = on_marker,
	[VIEW_WARNING] = on_marker,
	[VIEW_PROMPT] = on_asked,
	[VIEW_QUESTION] = on_asked,
	[VIEW_ANSWER] = on_answer,
	[VIEW_STEER] = on_steer,
	[VIEW_PAUSED] = on_paused,
	[VIEW_ASIDE] = on_aside,
	[VIEW_END] = on_end,
};
_Static_assert(COUNT(shows) == VIEW_END + 1, "every kind of item has its look");

int term_view_item(struct term_view *t, const struct view_item *it, const struct view_state *s, struct err *err)
{
	BUG_IF((size_t)it->kind >= COUNT(shows));
	return shows[it->kind] ? shows[it->kind](t, it, s, err) : 0;
}

int term_view_note(struct term_view *t, const char *text, struct err *err)
{
	const struct view_item it = { .kind = VIEW_MARKER, .text = str_from(text) };

	return on_marker(t, &it, NULL, err);
}
