/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/ending.h"
#include "ui/cli/term_priv.h"
#include "ui/cli/typed.h"

#include "agent/gate.h"
#include "fmt/json.h"
#include "fmt/shellword.h"

#include <string.h>

#define FILES_SHOWN 10

/* ---- asking ---- */

/* The nth question of the prompt with its options: "question\n option\n option\n". */
static struct str nth_question(struct str text, size_t nth, struct str *options)
{
	struct str q = { 0 };

	for (size_t i = 0; i <= nth && text.n > 0; i++) {
		q = str_trim(str_line(&text));
		*options = text;
		while (text.n > 0 && text.p[0] == ' ')
			str_line(&text);
		options->n = (size_t)(text.p - options->p);
	}
	return q;
}

static int ask_question(struct term_view *t, const struct view_prompt *p, size_t nth, struct err *err)
{
	struct str options = { 0 }, q = nth_question(buf_str(&p->text), nth, &options);
	int n = 0;

	TRY(term_glyph(t, LOOK_WARN, GLYPH_ASK, err));
	TRY(term_wrap(t, LOOK_BOLD, q, 2, "  ", err));
	TRY(term_newline(t, err));
	while (options.n > 0) {
		auto_buf struct buf number = BUF_MAX(32);

		TRY(buf_addf(&number, err, "  %d  ", ++n));
		TRY(term_put(t, LOOK_DIM, buf_str(&number), err));
		TRY(term_wrap(t, LOOK_PLAIN, str_trim(str_line(&options)), (int)number.n, "     ", err));
		TRY(term_newline(t, err));
	}
	return term_put(t, LOOK_BOLD, n > 0 ? STR("  a number, or words; your answer: ") : STR("  your answer: "), err);
}

int term_view_ask(struct term_view *t, const struct view_prompt *p, size_t nth, struct err *err)
{
	TRY(term_fresh_line(t, err));
	if (p->question)
		return ask_question(t, p, nth, err);
	TRY(term_glyph(t, LOOK_WARN, GLYPH_ASK, err));
	TRY(term_wrap(t, LOOK_BOLD, buf_str(&p->text), 2, "  ", err));
	TRY(term_newline(t, err));
	return term_put(t, LOOK_BOLD, p->of_tool ? STR("  y once / a all calls of this tool / n no / N never: ")
						   : STR("  y once / a all commands of this run / n no / N never: "), err);
}

/* ---- the end ---- */

static const struct { const char *word; enum look look; } word_looks[] = {
	{ "passed", LOOK_OK },   { "answered", LOOK_OK }, { "planned", LOOK_OK },
	{ "failed", LOOK_FAIL }, { "stopped", LOOK_WARN }, { "finished", LOOK_WARN },
};

static enum look look_of(const char *word)
{
	for (size_t i = 0; i < COUNT(word_looks); i++)
		if (strcmp(word_looks[i].word, word) == 0)
			return word_looks[i].look;
	return LOOK_PLAIN;
}

static int headline(struct term_view *t, const struct view_state *s, struct err *err)
{
	struct view_status st = view_status(s, false);
	enum look look = look_of(st.word);

	TRY(term_glyph(t, look, GLYPH_RUN, err));
	TRY(term_put(t, look, str_from(st.word), err));
	if (st.reason) {
		TRY(term_put(t, LOOK_PLAIN, STR(": "), err));
		TRY(term_put(t, LOOK_PLAIN, str_from(st.reason), err));
	} else if (!view_reason(buf_str(&s->end.reason)) && s->end.reason.n > 0) {
		TRY(term_put(t, LOOK_PLAIN, STR(": "), err));
		TRY(term_line(t, LOOK_PLAIN, buf_str(&s->end.reason), t->cols - 20, err));
	}
	return term_newline(t, err);
}

static int fact(struct term_view *t, const char *name, struct str text, struct err *err)
{
	if (str_trim(text).n == 0)
		return 0;
	auto_buf struct buf typed = BUF_MAX(16 * text.n + 64);

	TRY(term_put(t, LOOK_DIM, str_from(name), err));
	if (t->style.root)
		TRY(typed_add(&typed, text, err));
	text = t->style.root ? buf_str(&typed) : text;
	TRY(term_prose(t, LOOK_PLAIN, str_trim(text), (int)strlen(name), "           ", err));
	return term_newline(t, err);
}

/* How a recorded verdict is said. */
static const struct { const char *verdict, *said; } gates[] = {
	{ "passed", "green" },
	{ "failed", "red" },
	{ "unverified", "never ran on the final state" },
	{ "not_applicable", "" },
};

static int gate(struct term_view *t, const struct view_state *s, struct err *err)
{
	struct str verdict = buf_str(&s->end.verified);
	const char *unasked = view_gate_unasked(s);

	if (unasked)
		return fact(t, "  gate     ", str_from(unasked), err);
	for (size_t i = 0; i < COUNT(gates); i++)
		if (str_eqz(verdict, gates[i].verdict))
			return fact(t, "  gate     ", str_from(gates[i].said), err);
	return fact(t, "  gate     ", verdict, err);
}

/* A better gate that the model proposed: its words, and the command that adopts them. */
static int stale_gate(struct term_view *t, struct str proposed, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf words = BUF_MAX(1 << 20), line = BUF_MAX(4 << 20);
	struct str_list l = gate_words(str_trim(proposed), mem);

	TRY(fact(t, "  stale    ", proposed, err));
	if (l.n == 0)
		return 0;
	for (size_t i = 0; i < l.n; i++) {
		TRY(buf_addc(&words, i == 0 ? '[' : ',', err));
		TRY(json_add_quoted(&words, l.p[i], err));
	}
	TRY(buf_addc(&words, ']', err));
	TRY(buf_addz(&line, "agent6 config set workflow.verify_command ", err));
	TRY(shellword_add(&line, buf_str(&words), err));
	return fact(t, "  adopt    ", buf_str(&line), err);
}

static int unjudged(struct term_view *t, const struct view_state *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(128);

	if (s->unjudged == 0)
		return 0;
	TRY(buf_addf(&b, err, "nobody judged: %lld abstained", (long long)s->unjudged));
	return fact(t, "  review   ", buf_str(&b), err);
}

static int commits(struct term_view *t, const struct view_state *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(1024);
	int64_t n = s->end.commits >= 0 ? s->end.commits : s->ncommits;

	if (n == 0)
		return 0;
	TRY(buf_addf(&b, err, "%lld", (long long)n));
	if (s->end.branch.n > 0)
		TRY(buf_addf(&b, err, " on " STR_FMT, STR_ARG(str_head(buf_str(&s->end.branch), 200))));
	return fact(t, "  commits  ", buf_str(&b), err);
}

static int left_behind(struct term_view *t, const struct view_state *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(128);

	if (s->end.uncommitted <= 0)
		return 0;
	TRY(buf_addf(&b, err, "%lld file%s not committed", (long long)s->end.uncommitted,
		s->end.uncommitted == 1 ? "" : "s"));
	TRY(fact(t, "  left     ", buf_str(&b), err));
	return term_block(t, LOOK_DIM, buf_str(&s->end.files), "             ", FILES_SHOWN, err);
}

/* What else the person must know before they take the work over. */
static int warnings(struct term_view *t, const struct view_end *e, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf untracked = BUF_MAX(1 << 20), gate = BUF_MAX(1 << 20);
	struct str_list edited = view_names(&e->edited_untracked, mem), deleted = view_names(&e->deleted_untracked, mem);
	struct str_list touched = view_names(&e->gate_touched, mem);

	TRY(ending_say_untracked(&edited, &deleted, &untracked, err));
	TRY(ending_say_gate(&touched, &gate, err));
	TRY(fact(t, "  left     ", buf_str(&untracked), err));
	return fact(t, "  note     ", buf_str(&gate), err);
}

/* Each leg has its own account and its own table; what the whole run took is said below the newest. */
static int all_legs(struct term_view *t, const struct view_state *s, struct err *err)
{
	const struct view_budget *b = &s->budget;
	auto_buf struct buf line = BUF_MAX(256);

	if (s->legs < 2)
		return 0;
	TRY(buf_addf(&line, err, "%d legs: in=%lld out=%lld", (int)s->legs, (long long)(b->input + b->input_before),
		(long long)(b->output + b->output_before)));
	if (b->usd >= 0 || b->usd_before > 0)
		TRY(buf_addf(&line, err, " cost~$%.4f%s", (b->usd > 0 ? b->usd : 0) + b->usd_before,
			b->usd_partial || b->usd < 0 ? " (at least)" : ""));
	else
		TRY(buf_addz(&line, " cost~$?", err));
	return fact(t, "  all      ", buf_str(&line), err);
}

static int cost(struct term_view *t, const struct view_state *s, struct err *err)
{
	const struct view_budget *b = &s->budget;
	auto_buf struct buf line = BUF_MAX(256);

	if (s->end.usage.n > 0) {
		TRY(term_put(t, LOOK_DIM, STR("  usage\n"), err));
		TRY(term_block(t, LOOK_PLAIN, buf_str(&s->end.usage), "    ", 0, err));
		return all_legs(t, s, err);
	}
	if (b->input == 0 && b->output == 0)
		return 0;
	TRY(buf_addf(&line, err, "%lld tokens in, %lld out", (long long)b->input, (long long)b->output));
	if (b->usd >= 0)
		TRY(buf_addf(&line, err, ", %s$%.4f", b->usd_partial ? "~" : "", b->usd + b->usd_before));
	return fact(t, "  cost     ", buf_str(&line), err);
}

static int command(struct term_view *t, const char *what, const char *verb, const char *id, const char *flags,
	struct err *err)
{
	TRY(term_put(t, LOOK_DIM, str_from(what), err));
	TRY(term_put(t, LOOK_PLAIN, t->style.root ? STR("agent6 --allow-root ") : STR("agent6 "), err));
	TRY(term_put(t, LOOK_PLAIN, str_from(verb), err));
	TRY(term_put(t, LOOK_PLAIN, STR(" "), err));
	TRY(term_line(t, LOOK_PLAIN, str_from(id), 0, err));
	TRY(term_put(t, LOOK_PLAIN, str_from(flags), err));
	return term_newline(t, err);
}

static int next_commands(struct term_view *t, const struct view_state *s, struct err *err)
{
	bool has_commits = s->end.commits > 0 || (s->end.commits < 0 && s->ncommits > 0);

	if (s->run_id[0] == '\0')
		return 0;
	if (strcmp(s->mode, "plan") == 0 && ending_is_final(buf_str(&s->end.reason))) {
		TRY(command(t, "  edit     ", "plan edit", s->run_id, "", err));
		TRY(command(t, "  revise   ", "plan revise \"...\"", s->run_id, "", err));
		TRY(command(t, "  execute  ", "run --from-plan", s->run_id, "", err));
	}
	if (has_commits) {
		TRY(command(t, "  see      ", "runs diff", s->run_id, "", err));
		TRY(command(t, "  merge    ", "runs merge", s->run_id, "", err));
	}
	if (str_eqz(buf_str(&s->end.reason), "open_questions"))
		return command(t, "  resume   ", "resume", s->run_id, " --answers-file FILE", err);
	return command(t, "  resume   ", "resume", s->run_id,
		ending_is_final(buf_str(&s->end.reason)) ? " --steer \"...\"" : "", err);
}

int term_view_end(struct term_view *t, const struct view_state *s, struct err *err)
{
	const struct view_end *e = &s->end;

	TRY(term_fresh_line(t, err));
	TRY(term_newline(t, err));
	TRY(headline(t, s, err));
	if (strcmp(s->mode, "ask") != 0) /* an answer was read as it came */
		TRY(term_block(t, LOOK_PLAIN, buf_str(&e->summary), "  ", 0, err));
	TRY(e->message.n > 0 && !str_eq(buf_str(&e->message), buf_str(&e->summary))
		? term_block(t, LOOK_PLAIN, buf_str(&e->message), "  ", 0, err) : 0);
	TRY(gate(t, s, err));
	TRY(stale_gate(t, buf_str(&e->stale_gate), err));
	TRY(unjudged(t, s, err));
	TRY(commits(t, s, err));
	TRY(left_behind(t, s, err));
	TRY(warnings(t, e, err));
	TRY(cost(t, s, err));
	return next_commands(t, s, err);
}
