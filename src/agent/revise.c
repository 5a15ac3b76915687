/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/revise.h"

#include "agent/modes.h"
#include "agent/run_priv.h"
#include "agent/sides.h"

#define REVISE_TOKENS 2048
#define QUESTIONS_MAX 3

struct revised {
	struct str revised_task;
	struct str_list clarifying_questions;
};
static const struct field fields[] = {
	{ "revised_task", &field_str, offsetof(struct revised, revised_task), .flags = FIELD_REQUIRED | FIELD_NONEMPTY, .max = 16000 },
	{ "clarifying_questions", &field_strs, offsetof(struct revised, clarifying_questions), .max = QUESTIONS_MAX },
};

static const char rules[] =
	"Restate a task for a coding agent that works in the repository described below: what is wanted, what is to be left alone, and "
	"how it is known to be done. Keep every wish and every name of the person's words, add none, decide nothing for them. What "
	"is open and matters goes into clarifying_questions.";

static int failed(struct run *r, const char *why, struct err *err)
{
	auto_note struct note n = NOTE;

	note_str(&n, "error", str_head(str_from(why), utf8_head(str_from(why), 200)));
	TRY(note_send(&n, r->keep, EVENT_REVISION_FAILED, err));
	run_stop(r, REASON_REVISION, str_from(why));
	return 0;
}

static int put_call(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE;

	note_str(&n, "mode", r->p->revise_prompt);
	return note_send(&n, r->keep, EVENT_REVISION_CALL, err);
}

static int put_result(struct run *r, const struct revised *v, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "raw_chars", (int64_t)r->p->task.n);
	note_int(&n, "revised_chars", (int64_t)v->revised_task.n);
	note_int(&n, "questions", (int64_t)v->clarifying_questions.n);
	return note_send(&n, r->keep, EVENT_REVISION_RESULT, err);
}

/* Accept, keep the original, or type another one; then the questions. Nobody there: the run does not begin. */
static int ask_person(struct run *r, struct revised *v, struct buf *answers, bool *keep, struct err *err)
{
	struct str texts[1 + QUESTIONS_MAX], choices[] = { STR("take it"), STR("keep my words") };
	struct str_list options[1 + QUESTIONS_MAX] = { { choices, COUNT(choices) } }, got;
	size_t n = 1 + v->clarifying_questions.n;
	bool answered = false;

	*keep = false;
	texts[0] = str_printf(r->mem, "The task, restated: " STR_FMT " (take it, keep my words, or type another one)",
		STR_ARG(v->revised_task));
	for (size_t i = 1; i < n; i++)
		texts[i] = v->clarifying_questions.p[i - 1];
	if (r->p->attended)
		TRY(asks_put(&r->asks, texts, options, n, r->mem, &got, &answered, err));
	if (!answered)
		return err_set(err, ERR_DENIED, "prompt.revise_prompt is \"interactive\" and nobody answered");
	*keep = str_eq(got.p[0], choices[1]);
	if (!*keep && got.p[0].n > 0 && !str_eq(got.p[0], choices[0]))
		v->revised_task = got.p[0];
	for (size_t i = 1; i < n; i++)
		if (got.p[i].n > 0)
			TRY(buf_addf(answers, err, "Q: " STR_FMT "\nA: " STR_FMT "\n", STR_ARG(texts[i]), STR_ARG(got.p[i])));
	return 0;
}

static int revise(struct run *r, struct str context, struct err *err)
{
	auto_buf struct buf answers = BUF_MAX(64 * 1024), all = BUF_MAX(128 * 1024);
	struct seat_ask q = { .role = CONFIG_REVIEWER, .name = "reviser", .system = str_from(rules), .user = context,
		.max_tokens = REVISE_TOKENS, .fields = fields, .nfields = COUNT(fields), .size = sizeof(struct revised) };
	struct revised v;
	bool keep = false;

	TRY(put_call(r, err));
	TRY(seat_typed(r, &q, r->mem, &v, err));
	TRY(put_result(r, &v, err));
	if (str_eqz(r->p->revise_prompt, "interactive"))
		TRY(ask_person(r, &v, &answers, &keep, err));
	if (!keep && !str_eq(str_trim(v.revised_task), str_trim(r->p->task)))
		TRY(buf_addf(&all, err, "The task restated (where it differs, the words above decide):\n" STR_FMT "\n",
			STR_ARG(str_trim(v.revised_task))));
	TRY(buf_add(&all, buf_str(&answers), err));
	r->restated = str_dup(r->mem, buf_str(&all));
	return 0;
}

int revise_task(struct run *r, struct err *err)
{
	struct err why = { 0 };
	int rc;

	if (mode_looks(r) || str_eqz(r->p->revise_prompt, "off") || r->p->revise_prompt.n == 0)
		return 0;
	rc = revise(r, r->opening, &why);
	if (rc == 0)
		return 0;
	if (rc == -ERR_STOPPED || rc == -ERR_CLOSED || r->keep->lost) {
		*err = why;
		return rc;
	}
	return failed(r, why.msg, err);
}

const struct side side_reviser = { "reviser", CONFIG_REVIEWER, "before a run begins, with prompt.revise_prompt",
	"the first message as the run would have it", rules, fields, COUNT(fields) };
