/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "view/fold_priv.h"

#include <string.h>

void prompts_drop(struct view_state *s)
{
	for (size_t i = 0; i < s->nprompts; i++)
		buf_fini(&s->prompts[i].text);
	s->nprompts = 0;
}

static struct view_prompt *add_prompt(struct view *v, struct view_item *it, bool question)
{
	struct view_state *s = &v->state;

	it->name = member_text(v, "id");
	if (s->nprompts == VIEW_PROMPTS || it->name.n >= sizeof(s->prompts[0].id))
		return NULL;
	struct view_prompt *p = &s->prompts[s->nprompts++];
	*p = (struct view_prompt){ .question = question, .text = BUF_MAX(64 * 1024) };
	keep_z(p->id, sizeof(p->id), it->name);
	return p;
}

void prompt_approval(struct view *v, struct view_item *it)
{
	struct view_prompt *p = add_prompt(v, it, false);

	it->kind = VIEW_PROMPT;
	it->text = member_text(v, "prompt");
	if (!p)
		return;
	p->of_tool = str_starts(member_text(v, "scope"), STR("mcp."));
	BUG_IF(buf_add(&p->text, str_head(it->text, p->text.max), ERR_DISCARD) < 0);
}

/* A newline in a question would make an option of it. */
static int add_line(struct buf *b, struct jval s, const char *indent)
{
	size_t at;

	TRY(buf_addz(b, indent, ERR_DISCARD));
	at = b->n;
	TRY(jval_add_text(b, s, NUL_REPLACE, ERR_DISCARD));
	for (size_t i = at; i < b->n; i++)
		if (b->p[i] == '\n')
			b->p[i] = ' ';
	return buf_addc(b, '\n', ERR_DISCARD);
}

void prompt_question(struct view *v, struct view_item *it)
{
	struct view_prompt *p = add_prompt(v, it, true);
	struct jval list = member_get(v, "questions"), q, option;

	it->kind = VIEW_QUESTION;
	for (size_t pos = 0; p && jval_next(list, &pos, NULL, &q);) {
		if (add_line(&p->text, jval_get(q, "question"), "") < 0)
			return;
		p->nquestions++;
		for (size_t at = 0; jval_next(jval_get(q, "options"), &at, NULL, &option);)
			if (add_line(&p->text, option, " ") < 0)
				return;
	}
}

static void answered(struct view *v, struct view_item *it)
{
	struct view_state *s = &v->state;
	size_t i = 0;

	it->kind = VIEW_ANSWER;
	it->name = member_text(v, "id");
	while (i < s->nprompts && !str_eqz(it->name, s->prompts[i].id))
		i++;
	if (i == s->nprompts)
		return;
	buf_fini(&s->prompts[i].text);
	memmove(&s->prompts[i], &s->prompts[i + 1], (s->nprompts - i - 1) * sizeof(s->prompts[0]));
	s->nprompts--;
}

/* Who answered, as a person would say it. */
static struct str who_answered(struct str source)
{
	static const struct {
		const char *source, *words;
	} known[] = { { "frontend", "by you" }, { "away", "nobody is there" }, { "withdrawn", "the command is over" },
		{ "standing", "as you said of all" } };

	for (size_t i = 0; i < COUNT(known); i++)
		if (str_eqz(source, known[i].source))
			return str_from(known[i].words);
	return source;
}

void prompt_approved(struct view *v, struct view_item *it)
{
	answered(v, it);
	it->ok = member_flag(v, "approved");
	it->standing = str_eqz(member_text(v, "source"), "standing");
	it->text = it->ok ? STR("allowed") : STR("refused");
	it->detail = who_answered(member_text(v, "source"));
}

void prompt_answers(struct view *v, struct view_item *it)
{
	answered(v, it);
	it->ok = true;
	it->text = member_brief(v, "answers");
	it->detail = who_answered(member_text(v, "source"));
}
