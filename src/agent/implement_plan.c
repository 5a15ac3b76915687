/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/implement_priv.h"

#include "fmt/fence.h"
#include "fmt/json.h"

#define STEPS_MAX     20
#define QUESTIONS_MAX 8
#define PLAN_TOKENS   8000
#define CONFIRM_MAX   5 /* times, when what is said is neither yes nor no */
#define PROCEED       "Proceed with this plan? (y/n)"

/* ---- typed answers ---- */

static const struct field step_fields[] = {
	{ "title", &field_str, offsetof(struct plan_step, title), .flags = FIELD_REQUIRED | FIELD_NONEMPTY, .max = 200 },
	{ "rationale", &field_str, offsetof(struct plan_step, rationale), .max = 2000 },
	{ "files", &field_strs, offsetof(struct plan_step, files), .max = 32 },
	{ "acceptance", &field_str, offsetof(struct plan_step, acceptance), .max = 2000, .help = "what shows that it is done" },
};
static const struct field plan_fields[] = {
	{ "summary", &field_str, offsetof(struct plan, summary), .flags = FIELD_REQUIRED, .max = 4000 },
	{ "steps", &field_objs, offsetof(struct plan, steps), .flags = FIELD_REQUIRED | FIELD_NONEMPTY, .max = STEPS_MAX,
		.sub = step_fields, .nsub = COUNT(step_fields), .sub_size = sizeof(struct plan_step) },
};

struct question {
	struct str id, question;
};
struct critique {
	int verdict;
	struct str reason;
	struct obj_list questions;
};
enum { CRITIC_OK, CRITIC_QUESTIONS, CRITIC_ABORT };
static const char *const critic_verdicts[] = { "ok", "questions", "abort", NULL };
static const struct field question_fields[] = {
	{ "id", &field_str, offsetof(struct question, id), .max = 40 },
	{ "question", &field_str, offsetof(struct question, question), .flags = FIELD_REQUIRED | FIELD_NONEMPTY, .max = 1000 },
};
static const struct field critique_fields[] = {
	{ "verdict", &field_enum, offsetof(struct critique, verdict), .flags = FIELD_REQUIRED, .choices = critic_verdicts },
	{ "reason", &field_str, offsetof(struct critique, reason), .max = 4000 },
	{ "questions", &field_objs, offsetof(struct critique, questions), .max = QUESTIONS_MAX, .sub = question_fields,
		.nsub = COUNT(question_fields), .sub_size = sizeof(struct question) },
};

static const char planner_rules[] =
	"You plan a change to a repository for a worker who has the files and the tools. Split it into steps, in order, each small "
	"enough to be checked by itself and leaving the repository in a working state. Name files. Do not plan commits, and no step "
	"that only looks or only runs tests: after each step the verify command runs and a reviewer looks.";
static const char critic_rules[] =
	"You judge a plan before anything is changed. verdict ok: it can be carried out. verdict questions: something that only the "
	"person can decide is open and a wrong guess would waste the work; ask it. verdict abort: the task cannot or must not be "
	"done; say why. Be sparing: a choice that can be changed later is no question.";

/* ---- the plan as text ---- */

int plan_read(const struct run *r, struct arena *mem, struct plan *out, struct err *err)
{
	auto_json json_t *j = NULL;

	TRY(json_decode(r->st.plan, JSON_EXACT, &j, err));
	return fields_from_json(plan_fields, COUNT(plan_fields), j, mem, out, sizeof(*out), err);
}

int plan_encode(const struct plan *p, struct buf *out, struct err *err)
{
	const struct plan_step *s = p->steps.p;

	TRY(buf_addz(out, "{\"summary\":", err));
	TRY(json_add_quoted(out, p->summary, err));
	TRY(buf_addz(out, ",\"steps\":[", err));
	for (size_t i = 0; i < p->steps.n; i++) {
		auto_note struct note n = NOTE;

		note_str(&n, "title", s[i].title);
		note_str(&n, "rationale", s[i].rationale);
		note_strs(&n, "files", s[i].files);
		note_str(&n, "acceptance", s[i].acceptance);
		TRY(buf_addz(out, i > 0 ? "," : "", err));
		TRY(buf_add(out, note_text(&n), err));
	}
	return buf_addz(out, "]}", err);
}

static int step_text(const struct plan_step *s, size_t i, struct buf *out, struct err *err)
{
	TRY(buf_addf(out, err, "%zu. " STR_FMT "\n", i + 1, STR_ARG(s->title)));
	if (s->rationale.n > 0)
		TRY(buf_addf(out, err, "   " STR_FMT "\n", STR_ARG(s->rationale)));
	for (size_t k = 0; k < s->files.n; k++)
		TRY(buf_addf(out, err, "%s" STR_FMT "%s", k == 0 ? "   Files: " : ", ", STR_ARG(s->files.p[k]),
			k + 1 == s->files.n ? "\n" : ""));
	return s->acceptance.n > 0 ? buf_addf(out, err, "   Done when: " STR_FMT "\n", STR_ARG(s->acceptance)) : 0;
}

/* A planner's words go to other roles in a block: what it read in the repository may have had it say anything. */
int plan_add_step(const struct plan_step *s, size_t i, struct buf *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(PLAN_MAX);

	TRY(step_text(s, i, &text, err));
	return fence_add(out, "step", STR(""), buf_str(&text), err);
}

static int plan_text(const struct plan *p, struct buf *out, struct err *err)
{
	const struct plan_step *s = p->steps.p;

	TRY(buf_addf(out, err, STR_FMT "\n\n", STR_ARG(p->summary)));
	for (size_t i = 0; i < p->steps.n; i++)
		TRY(step_text(&s[i], i, out, err));
	return 0;
}

int plan_add(const struct plan *p, struct buf *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(PLAN_MAX);

	TRY(plan_text(p, &text, err));
	return fence_add(out, "plan", STR(""), buf_str(&text), err);
}

/* ---- planner and critic ---- */

/* What the planner knows: the opening of the conversation, what the person said since, and answers to questions. */
static int planner_sees(struct run *r, struct str answers, struct buf *out, struct err *err)
{
	auto_json json_t *j = NULL;
	auto_buf struct buf steer = BUF_MAX(CHAN_BODY_MAX);
	const json_t *b;
	size_t i;

	TRY(json_decode(conversation_get(r->conv, 0), JSON_REPAIR, &j, err));
	json_array_foreach(json_object_get(j, "content"), i, b) TRY(buf_add_utf8(out, json_get_str(b, "text"), err));
	TRY(links_pump(r->links, 0, err));
	while (links_take_steer(r->links, &steer))
		if (str_trim(buf_str(&steer)).n > 0)
			TRY(buf_addf(out, err, "\n" PERSON_SAYS STR_FMT "\n", STR_ARG(str_trim(buf_str(&steer)))));
	if (r->p->resume && r->p->context.n > 0)
		TRY(buf_addf(out, err, "\n" STR_FMT, STR_ARG(r->p->context)));
	return buf_add_utf8(out, answers, err);
}

static const struct seat_ask planner = { .role = CONFIG_PLANNER, .name = "planner", .max_tokens = PLAN_TOKENS,
	.fields = plan_fields, .nfields = COUNT(plan_fields), .size = sizeof(struct plan) };
static const struct seat_ask critic = { .role = CONFIG_CRITIC, .name = "critic", .max_tokens = SEAT_TOKENS,
	.fields = critique_fields, .nfields = COUNT(critique_fields), .size = sizeof(struct critique) };

static int ask_planner(struct run *r, struct str user, struct arena *mem, struct plan *out, struct err *err)
{
	struct seat_ask q = planner;

	q.system = str_from(planner_rules);
	q.user = user;
	return seat_typed(r, &q, mem, out, err);
}

/* A critic that says nothing usable has no objection. */
static int ask_critic(struct run *r, struct str user, const struct plan *p, struct arena *mem, struct critique *out,
	struct err *err)
{
	auto_buf struct buf text = BUF_MAX(2 * PLAN_MAX);
	struct seat_ask q = critic;
	int rc;

	TRY(buf_add(&text, user, err));
	TRY(buf_addz(&text, "\n\nPLAN:\n", err));
	TRY(plan_add(p, &text, err));
	q.system = str_from(critic_rules);
	q.user = buf_str(&text);
	rc = seat_typed(r, &q, mem, out, err);
	if (rc != -ERR_INVALID)
		return rc;
	*out = (struct critique){ .verdict = CRITIC_OK };
	return 0;
}

/* Asked of the person where there is one; else the run ends with them, and a resume brings the answers. */
static int ask_person(struct run *r, const struct critique *c, struct buf *answers, struct err *err)
{
	const struct question *q = c->questions.p;
	struct str texts[QUESTIONS_MAX];
	struct str_list options[QUESTIONS_MAX] = { 0 }, got;
	auto_arena struct arena *mem = arena_new();
	size_t n = c->questions.n < QUESTIONS_MAX ? c->questions.n : QUESTIONS_MAX, given = 0;
	bool answered = false;

	for (size_t i = 0; i < n; i++)
		texts[i] = q[i].question;
	if (r->p->attended && n > 0)
		TRY(asks_put(&r->asks, texts, options, n, mem, &got, &answered, err));
	for (size_t i = 0; answered && i < n && i < got.n; i++) {
		given += got.p[i].n > 0;
		TRY(buf_addf(answers, err, "\nQ: " STR_FMT "\nA: " STR_FMT "\n", STR_ARG(texts[i]),
			STR_ARG(got.p[i].n > 0 ? got.p[i] : STR("(no answer: decide)"))));
	}
	return given == 0 ? modes_open_questions(r, texts, n, err) : 0;
}

static int say_str(struct run *r, struct str text, struct err *err)
{
	auto_note struct note n = NOTE;

	note_str(&n, "text", text);
	return note_send(&n, r->keep, EVENT_LOOP_NOTE, err);
}

static int say(struct run *r, const char *text, struct err *err)
{
	return say_str(r, str_from(text), err);
}

int plan_make(struct run *r, struct arena *mem, struct plan *out, struct err *err)
{
	auto_buf struct buf user = BUF_MAX(4 * PLAN_MAX), answers = BUF_MAX(64 * 1024);
	struct critique c;
	bool told;

	TRY(planner_sees(r, STR(""), &user, err));
	told = str_find(buf_str(&user), STR("\n" PERSON_SAYS)) < user.n || (r->p->resume && r->p->context.n > 0);
	TRY(say(r, "the planner splits the task into steps", err));
	TRY(ask_planner(r, buf_str(&user), mem, out, err));
	TRY(say(r, "the critic looks at the plan", err));
	TRY(ask_critic(r, buf_str(&user), out, mem, &c, err));
	if (c.verdict == CRITIC_ABORT) {
		run_stop(r, REASON_PLAN_REJECTED, c.reason.n > 0 ? c.reason : STR("the critic rejects the plan and does not say why"));
		return 0;
	}
	if (c.verdict != CRITIC_QUESTIONS || c.questions.n == 0 || told)
		return 0;
	TRY(ask_person(r, &c, &answers, err));
	if (r->reason != REASON_NONE)
		return 0;
	TRY(buf_add(&user, buf_str(&answers), err));
	TRY(say(r, "the planner plans anew with the answers", err));
	return ask_planner(r, buf_str(&user), mem, out, err);
}

/* ---- the plan on record ---- */

static int note_plan(const struct plan *p, struct note *n, struct err *err)
{
	auto_buf struct buf steps = BUF_MAX(PLAN_MAX);
	const struct plan_step *s = p->steps.p;

	TRY(buf_addc(&steps, '[', err));
	for (size_t i = 0; i < p->steps.n; i++) {
		TRY(buf_addz(&steps, i > 0 ? "," : "", err));
		TRY(json_add_quoted(&steps, s[i].title, err));
	}
	TRY(buf_addc(&steps, ']', err));
	note_str(n, "summary", p->summary);
	note_json(n, "steps", buf_str(&steps));
	return 0;
}

int plan_put(struct run *r, const struct plan *p, struct err *err)
{
	auto_buf struct buf md = BUF_MAX(PLAN_MAX);
	auto_note struct note n = NOTE;

	TRY(buf_addz(&md, "# Plan\n\n", err));
	TRY(plan_text(p, &md, err));
	TRY(keep_put(r->keep, RECORD_FILE, 0, STR("plan.md"), buf_str(&md), err));
	TRY(note_plan(p, &n, err));
	return note_send(&n, r->keep, EVENT_PLAN_READY, err);
}

/* ---- the person's yes ---- */

/* The question is one line of every front-end; the steps are said before it. */
static int say_steps(struct run *r, const struct plan *p, struct err *err)
{
	const struct plan_step *s = p->steps.p;

	for (size_t i = 0; i < p->steps.n; i++) {
		auto_buf struct buf text = BUF_MAX(PLAN_MAX);

		TRY(step_text(&s[i], i, &text, err));
		for (size_t k = 0; k < text.n; k++)
			if (text.p[k] == '\n')
				text.p[k] = ' ';
		TRY(say_str(r, buf_str(&text), err));
	}
	return 0;
}

bool implement_asks_for_yes(struct str question)
{
	return str_find(question, STR(PROCEED)) < question.n;
}

static struct str question_about(const struct plan *p, struct arena *mem)
{
	return str_printf(mem, "%zu step%s. " PROCEED, p->steps.n, p->steps.n == 1 ? "" : "s");
}

static bool is_yes(struct str answer)
{
	return str_eqz(answer, "yes") || str_eqz(answer, "y") || str_eqz(answer, "Y");
}

static bool is_no(struct str answer)
{
	return answer.n == 0 || str_eqz(answer, "no") || str_eqz(answer, "n") || str_eqz(answer, "N");
}

/* Before anything is changed. Nothing said is a no: the run ends, and a resume plans anew. */
int plan_confirm(struct run *r, const struct plan *p, struct err *err)
{
	struct str choices[] = { STR("yes"), STR("no") };
	struct str_list options = { choices, COUNT(choices) }, got;
	auto_arena struct arena *mem = arena_new();
	struct str question = question_about(p, mem);
	bool answered;

	if (!r->p->confirm_plan)
		return 0;
	TRY(say_steps(r, p, err));
	TRY(keep_barrier(r->keep, err)); /* the question takes another way to the record, and must come behind them */
	for (int i = 0; i < CONFIRM_MAX; i++) {
		TRY(asks_put(&r->asks, &question, &options, 1, mem, &got, &answered, err));
		if (answered && is_yes(got.p[0]))
			return 0;
		if (!answered || is_no(got.p[0]))
			break;
		if (i == 0)
			question = str_printf(mem, IMPLEMENT_AGAIN STR_FMT, STR_ARG(question));
	}
	run_stop(r, REASON_PLAN_DECLINED, STR("nothing was changed; agent6 resume --steer \"...\" says what is to be different, and plans anew"));
	return 0;
}

/* ---- what the others said, once more ---- */

bool implement_note_plan(struct str answer, struct arena *mem, struct note *n)
{
	struct plan p;

	return seat_decode(&planner, answer, mem, &p, ERR_DISCARD) == 0 && note_plan(&p, n, ERR_DISCARD) == 0;
}

struct str implement_question(struct str answer, struct arena *mem)
{
	struct plan p;

	return seat_decode(&planner, answer, mem, &p, ERR_DISCARD) == 0 ? question_about(&p, mem) : STR("");
}

enum implement_says implement_critic(struct str answer, struct arena *mem)
{
	struct critique c;

	if (seat_decode(&critic, answer, mem, &c, ERR_DISCARD) < 0)
		return SAYS_NOTHING;
	if (c.verdict == CRITIC_ABORT)
		return SAYS_NO;
	return c.verdict == CRITIC_QUESTIONS && c.questions.n > 0 ? SAYS_QUESTIONS : SAYS_YES;
}

struct str implement_step_title(struct str plan, int64_t step, struct arena *mem)
{
	struct plan p;

	if (plan.n == 0 || seat_decode(&planner, plan, mem, &p, ERR_DISCARD) < 0 || step < 0 || step >= (int64_t)p.steps.n)
		return STR("");
	return ((const struct plan_step *)p.steps.p)[step].title;
}

const struct side side_planner = { "planner", CONFIG_PLANNER, "first, with workflow.default = \"implement\"",
	"the first message as the run would have it", planner_rules, plan_fields, COUNT(plan_fields) };
const struct side side_critic = { "critic", CONFIG_CRITIC, "after the planner", "the same, and the plan", critic_rules, critique_fields,
	COUNT(critique_fields) };
