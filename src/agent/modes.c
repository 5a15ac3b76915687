/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/modes.h"

#include "agent/run_priv.h"
#include "fmt/json.h"

#define RESULT_MAX (1024 * 1024)

bool mode_looks(const struct run *r)
{
	return !str_eqz(r->p->mode, "run");
}

static bool is_mode(const struct run *r, const char *word)
{
	return str_eqz(r->p->mode, word);
}

static int put_file(struct run *r, const char *name, struct str bytes, struct err *err)
{
	return keep_put(r->keep, RECORD_FILE, 0, str_from(name), bytes, err);
}

int modes_begin(struct run *r, struct err *err)
{
	if (!mode_looks(r) || !r->p->resume)
		return 0;
	TRY(put_file(r, "result.md", STR(""), err));
	return put_file(r, "result.json", STR(""), err);
}

/* ---- turns ---- */

int modes_quiet(struct run *r, struct turn *t, struct str prose, bool *done, struct err *err)
{
	auto_note struct note n = NOTE;

	*done = mode_looks(r);
	if (is_mode(r, "ask")) {
		r->result = str_dup(r->mem, prose);
		r->summary = r->result;
		run_stop(r, REASON_ANSWERED, STR(""));
		return 0;
	}
	if (!is_mode(r, "plan"))
		return 0;
	if (r->st.quiet_streak >= loop_limits.quiet_nudges) {
		run_stop(r, REASON_WENT_QUIET, STR("no plan was handed in"));
		return 0;
	}
	r->st.quiet_streak++;
	turn_notice(t, STR("Text alone is no plan. Look further with the tools, or hand the plan in with finish_planning."));
	note_int(&n, "iteration", t->iteration);
	note_int(&n, "nudges_used", r->st.quiet_streak);
	return note_send(&n, r->keep, EVENT_WENT_QUIET, err);
}

int modes_turn(struct run *r, struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE;
	double left = budget_remaining(&r->caller.budget, &r->caller.totals);

	if (!is_mode(r, "plan") || r->st.plan_nudged || r->reason != REASON_NONE || t->finish)
		return 0;
	if (t->iteration - r->st.leg_start + 1 < loop_limits.plan_turns && left > loop_limits.plan_budget)
		return 0;
	r->st.plan_nudged = 1;
	turn_notice(t, STR("You have looked around enough to plan. Hand the plan in with finish_planning; put what you could not "
			   "find out into its questions."));
	note_int(&n, "iteration", t->iteration);
	note_int(&n, "budget_remaining", (int64_t)(left * 100));
	return note_send(&n, r->keep, EVENT_PLAN_FINISH, err);
}

/* ---- the result ---- */

static struct str said_by_person(struct str text)
{
	struct str rest = str_trim_prefix(text, STR(PERSON_SAYS));

	return rest.n < text.n ? rest : STR("");
}

static int add_turn(struct buf *out, const char *who, struct str text, struct err *err)
{
	if (str_trim(text).n == 0)
		return 0;
	TRY(buf_addf(out, err, "## %s\n\n", who));
	TRY(buf_add(out, str_trim(text), err));
	return buf_addz(out, "\n\n", err);
}

/* One message of the conversation: what the person asked, or what was answered without a call. */
static int add_message(struct buf *out, struct str message, struct err *err)
{
	auto_json json_t *j = NULL;
	const json_t *blocks, *b;
	bool called = false;
	size_t i;

	if (json_decode(message, JSON_REPAIR, &j, ERR_DISCARD) < 0)
		return 0;
	blocks = json_object_get(j, "content");
	json_array_foreach(blocks, i, b) called = called || str_eqz(json_get_str(b, "type"), "tool_use");
	json_array_foreach(blocks, i, b)
	{
		struct str text = json_get_str(b, "text");

		if (!str_eqz(json_get_str(b, "type"), "text"))
			continue;
		if (str_eqz(json_get_str(j, "role"), "user"))
			TRY(add_turn(out, "Question", said_by_person(text), err));
		else if (!called)
			TRY(add_turn(out, "Answer", text, err));
	}
	return 0;
}

static int put_transcript(struct run *r, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(RECORD_FILE_MAX);

	TRY(add_turn(&out, "Question", r->st.original_task, err));
	for (size_t i = 1; i < conversation_count(r->conv); i++)
		if (add_message(&out, conversation_get(r->conv, i), ERR_DISCARD) < 0)
			break; /* longer than a file of the record may be */
	return put_file(r, "transcript.md", buf_str(&out), err);
}

static int put_questions(struct run *r, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(RESULT_MAX);

	TRY(buf_addz(&out, "{\"questions\":[", err));
	for (size_t i = 0; i < r->questions.n; i++) {
		TRY(buf_addf(&out, err, "%s\n  {\"id\":\"q%zu\",\"question\":", i > 0 ? "," : "", i + 1));
		TRY(json_add_quoted(&out, r->questions.p[i], err));
		TRY(buf_addz(&out, ",\"answer\":\"\"}", err));
	}
	TRY(buf_addz(&out, r->questions.n > 0 ? "\n]}\n" : "]}\n", err));
	return put_file(r, "questions.json", buf_str(&out), err);
}

int modes_open_questions(struct run *r, const struct str *questions, size_t n, struct err *err)
{
	struct str *all = arena_array(r->mem, r->questions.n + n, sizeof(*all));
	auto_buf struct buf say = BUF_MAX(4096);

	for (size_t i = 0; i < r->questions.n; i++)
		all[i] = r->questions.p[i];
	for (size_t i = 0; i < n; i++)
		all[r->questions.n + i] = str_dup(r->mem, questions[i]);
	r->questions = (struct str_list){ all, r->questions.n + n };
	TRY(put_questions(r, err));
	for (size_t i = 0; i < r->questions.n; i++)
		if (buf_addf(&say, ERR_DISCARD, "%s" STR_FMT, i > 0 ? " / " : "", STR_ARG(r->questions.p[i])) < 0)
			break;
	run_stop(r, REASON_QUESTIONS, buf_str(&say));
	return 0;
}

static int put_json(struct run *r, const char *member, struct err *err)
{
	auto_note struct note n = NOTE;

	note_str(&n, "id", r->p->run_id);
	note_str(&n, "mode", r->p->mode);
	note_str(&n, "summary", r->summary);
	note_str(&n, member, r->result);
	if (is_mode(r, "plan"))
		note_strs(&n, "questions", r->questions);
	if (is_mode(r, "review"))
		note_json(&n, "review", r->review_json);
	return put_file(r, "result.json", note_text(&n), err);
}

static int put_plan(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE, w = NOTE;

	TRY(put_file(r, "plan.md", r->result, err));
	TRY(put_questions(r, err));
	note_z(&w, "path", "plan.md");
	note_int(&w, "bytes", (int64_t)r->result.n);
	TRY(note_send(&w, r->keep, EVENT_PLAN_WRITTEN, err));
	note_str(&n, "summary", r->summary);
	note_json(&n, "steps", STR("[]"));
	return note_send(&n, r->keep, EVENT_PLAN_READY, err);
}

int modes_put_result(struct run *r, struct err *err)
{
	if (!mode_looks(r) || r->result.n == 0)
		return 0;
	TRY(put_file(r, "result.md", r->result, err));
	if (is_mode(r, "plan"))
		TRY(put_plan(r, err));
	if (is_mode(r, "ask"))
		TRY(put_transcript(r, err));
	return put_json(r, is_mode(r, "plan") ? "plan_markdown" : is_mode(r, "ask") ? "answer" : "report", err);
}
