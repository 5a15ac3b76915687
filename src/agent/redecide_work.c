/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* redecide_work: what is to be done next: the task list, the metric, and the steps of a plan. */
#include "agent/implement.h"
#include "agent/redecide_priv.h"
#include "agent/tasks.h"

/* ---- the task list ---- */

static bool line_version(struct str line, int64_t *version, bool *back)
{
	struct jval j = jval_from(line);

	*back = jval_is(jval_get(j, "op"), "back");
	return jval_to_i64(jval_get(j, "graph_version"), version);
}

/* As a checkpoint knows it. A leg that went on from an older version says so in the first line that it wrote. */
static void graph_to(struct redecide *d, int64_t version)
{
	bool back;
	int64_t v;

	while (d->graph_lines.n > 0) {
		struct str rest = d->graph_lines, line = str_line(&rest);

		if (!line_version(line, &v, &back)) {
			d->graph_lines = rest;
			continue;
		}
		if (!back && d->graph->version >= version)
			return;
		d->graph_lines = rest;
		if (!back) {
			graph_fold(d->graph, line, -1);
			continue;
		}
		graph_free(d->graph);
		d->graph = graph_new();
		graph_fold(d->graph, str_head(d->graph_all, d->graph_all.n - rest.n), -1);
	}
}

static struct redecided missed(struct redecide *d, enum event_id id, struct str more)
{
	return redecided_yes(NULL, "what was due after the turn is not said", STR("nothing"),
		str_printf(d->turn, "%s " STR_FMT, event_at(id)->type, STR_ARG(more)));
}

static bool has_plan(const struct redecide *d)
{
	return str_eqz(d->settings.params.workflow, "implement") && !d->looks;
}

static struct redecided same_graph(struct redecide *d, bool went_on)
{
	const struct redecide_seen *s = &d->last[EVENT_GRAPH_UPDATE];
	auto_note struct note n = NOTE;

	if (!s->there)
		return went_on && d->ncalls > 0 && d->after.graph_version != d->before.graph_version ?
			missed(d, EVENT_GRAPH_UPDATE, STR("")) : redecided_no();
	if (!went_on)
		return redecided_no(); /* a step that failed is marked behind it */
	tasks_note_update(&n, d->graph);
	return redecide_same(d->turn, &s->line, s->text, note_text(&n), "the task list is another one");
}

static struct redecided same_focus(struct redecide *d)
{
	const struct redecide_seen *said = &d->last[EVENT_TASK_SURFACED], *stuck = &d->last[EVENT_TASK_STUCK];
	const struct task *focus = d->finish ? NULL : graph_focus(d->graph);
	bool same = focus && str_eqz(d->before.focus, focus->id.z);
	int64_t turns = d->before.focus_turns + 1;
	bool due = same && turns % loop_limits.task_turns == 0 && d->before.focus_nudges < loop_limits.task_nudges;

	if (said->there && (!focus || same || !jval_is(jval_get(jval_from(said->text), "task_id"), focus->id.z)))
		return redecided_yes(&said->line, "the task list stands elsewhere", redecide_text(d, jval_from(said->text), "task_id"),
			focus && !same ? str_dup(d->turn, str_from(focus->id.z)) : STR("nothing"));
	if (focus && !same && !said->there)
		return missed(d, EVENT_TASK_SURFACED, str_from(focus->id.z));
	if (stuck->there && (!due || redecide_int(jval_from(stuck->text), "turns") != turns ||
		redecide_int(jval_from(stuck->text), "n") != d->before.focus_nudges + 1))
		return redecided_yes(&stuck->line, "it was not due", redecide_said(d, "turns", redecide_int(jval_from(stuck->text), "turns")),
			redecide_said(d, "turns", turns));
	return due && !stuck->there ? missed(d, EVENT_TASK_STUCK, STR("")) : redecided_no();
}

static struct redecided open_tasks(struct redecide *d, bool held)
{
	const struct redecide_seen *s = &d->last[EVENT_TASK_GATED];
	/* In prose it is known to be a finish when it was held back as one. */
	bool due = (d->finish || (d->ncalls == 0 && s->there)) && !held && graph_open(d->graph) > 0 && d->before.task_gated < loop_limits.finish_patience;

	if (s->there && (!due || redecide_int(jval_from(s->text), "nudges_used") != d->before.task_gated + 1))
		return redecided_yes(&s->line, "it was not due", redecide_said(d, "nudges_used", redecide_int(jval_from(s->text), "nudges_used")),
			redecide_said(d, "nudges_used", d->before.task_gated + due));
	return due && !s->there ? missed(d, EVENT_TASK_GATED, STR("")) : redecided_no();
}

/* ---- the metric ---- */

static struct redecided sample(struct redecide *d, const struct journal_line *line, struct jval ev)
{
	struct jval score = jval_get(ev, "score");
	struct turn t = { 0 };
	double v;

	d->measured = true;
	if (!jval_to_f64(score, &v))
		return redecided_no(); /* it printed no number */
	if (d->settings.params.metric_command.n == 0)
		return redecided_yes(line, "there is no metric", STR("a sample"), STR("nothing"));
	if (d->known) {
		metric_book(d->run, &t, v, jval_get(ev, "full").type == JSCAN_TRUE);
		d->full = t.metric_full;
	}
	return redecided_no();
}

static struct str shown(struct redecide *d, const struct loop_state *s)
{
	auto_buf struct buf b = BUF_MAX(4096);
	int rc = buf_addf(&b, ERR_DISCARD, "%lld samples, the best " STR_FMT ", %lld since:", (long long)s->metric_count,
		STR_ARG(s->metric_best), (long long)s->metric_stale);

	for (size_t i = 0; i < s->metric_samples.n && rc == 0; i++)
		rc = buf_addf(&b, ERR_DISCARD, " " STR_FMT, STR_ARG(s->metric_samples.p[i]));
	return str_dup(d->turn, buf_str(&b));
}

static struct redecided metric(struct redecide *d, bool went_on)
{
	const struct redecide_seen *nudge = &d->last[EVENT_METRIC_PLATEAU], *early = &d->last[EVENT_METRIC_EARLY];
	struct str was = shown(d, &d->after), now = shown(d, &d->run->st);
	struct turn t = { .measured = d->measured, .metric_full = d->full };
	enum metric_says says;
	bool holds;

	if (!str_eq(was, now))
		return redecided_yes(d->last[EVENT_METRIC_SAMPLE].there ? &d->last[EVENT_METRIC_SAMPLE].line : NULL,
			"the samples of the metric were counted otherwise", was, now);
	if (!d->counted || d->left < 0 || d->ncalls == 0)
		return redecided_no();
	d->run->st.last_verify_ok = d->after.last_verify_ok;
	d->run->st.edited_since_verify = d->after.edited_since_verify;
	says = metric_judge(d->run, &t, d->left);
	holds = d->finish && went_on && metric_would_hold(d->run, d->left);
	if (nudge->there && says != METRIC_NUDGE)
		return redecided_yes(&nudge->line, "it was not due", STR("said"), STR("nothing"));
	if (!nudge->there && says == METRIC_NUDGE && went_on)
		return missed(d, EVENT_METRIC_PLATEAU, STR(""));
	if (went_on && (says == METRIC_CEILING || says == METRIC_STOP))
		return redecided_yes(NULL, "the metric was a reason to stop", STR("another turn"), STR("metric_plateau"));
	if (early->there && !holds)
		return redecided_yes(&early->line, "it was not due", STR("held back"), STR("nothing"));
	return holds && !early->there && !d->last[EVENT_STANDING_RESUMED].there ? missed(d, EVENT_METRIC_EARLY, STR("")) : redecided_no();
}

/* ---- the steps of a plan ---- */

static struct redecided plan(struct redecide *d, const struct journal_line *line, struct str text)
{
	auto_note struct note n = NOTE;

	if (!has_plan(d))
		return redecided_no(); /* of mode plan: the model's own */
	if (implement_critic(d->critic, d->turn) == SAYS_NO)
		return redecided_yes(line, "the critic rejected the plan", STR("plan.ready"), STR("plan_rejected"));
	if (!implement_note_plan(d->planner, d->turn, &n))
		return redecided_yes(line, "the planner's answer is no plan", STR("plan.ready"), STR("plan_rejected"));
	return redecide_same(d->turn, line, text, note_text(&n), "the planner's plan is another one");
}

enum said { SAID_NOTHING, SAID_YES, SAID_NO };

/* What the person said to the plan, if that was the newest question. */
static enum said said_to_plan(struct redecide *d)
{
	const struct redecide_seen *asked = &d->last[EVENT_QUESTION_PROMPT], *said = &d->last[EVENT_QUESTION_ANSWER];
	struct jval question, answer;
	size_t q = 0, a = 0;

	if (!asked->there || !jval_next(jval_get(jval_from(asked->text), "questions"), &q, NULL, &question) ||
		!implement_asks_for_yes(redecide_text(d, question, "question")))
		return SAID_NOTHING;
	if (!said->there || !jval_next(jval_get(jval_from(said->text), "answers"), &a, NULL, &answer))
		return SAID_NO;
	return jval_is(answer, "yes") || jval_is(answer, "y") || jval_is(answer, "Y") ? SAID_YES : SAID_NO;
}

/* The person says yes to as many steps as they are told of. A question with that in it after the first step is the model's own. */
static struct redecided asks_person(struct redecide *d, const struct journal_line *line, struct jval ev)
{
	struct jval question;
	size_t at = 0;

	if (!has_plan(d) || d->known || !d->last[EVENT_PLAN_READY].there ||
		!jval_next(jval_get(ev, "questions"), &at, NULL, &question))
		return redecided_no();
	struct str said = redecide_text(d, question, "question"), due = implement_question(d->planner, d->turn);

	if (str_eq(str_trim_prefix(said, STR(IMPLEMENT_AGAIN)), due))
		return redecided_no();
	return redecided_yes(line, "the person was asked about another plan", said, due);
}

static struct redecided step_begins(struct redecide *d, const struct journal_line *line, struct jval ev)
{
	int64_t index = redecide_int(ev, "index");
	/* Within the turn that a step ended in the next one begins; the first one begins before there is a state. */
	int64_t at = (d->known ? d->before.plan_step : 0) + d->steps_ended;
	struct str title = implement_step_title(d->known ? d->before.plan : d->planner, at, d->turn);

	if (!has_plan(d) || d->planner.n + d->before.plan.n == 0)
		return redecided_yes(line, "there is no plan", STR("a step"), STR("nothing"));
	if (!d->known && said_to_plan(d) == SAID_NO)
		return redecided_yes(line, "the person did not say yes to the plan", STR("a step"), STR("plan_declined"));
	if (index != at + 1)
		return redecided_yes(line, "it is another step", redecide_said(d, "index", index), redecide_said(d, "index", at + 1));
	if (!str_eq(redecide_text(d, ev, "title"), title))
		return redecided_yes(line, "the plan calls this step otherwise", redecide_text(d, ev, "title"), title);
	return redecided_no();
}

static struct redecided step_ends(struct redecide *d, const struct journal_line *line, struct jval ev)
{
	bool passed = jval_is(jval_get(ev, "status"), "passed"), late = d->iteration - d->before.step_began >= loop_limits.step_turns;
	bool red = d->before.step_reds >= loop_limits.step_reds && d->gate.ran && !d->gate.green;
	struct redecided r = step_begins(d, line, ev);

	if (r.differs)
		return r;
	if (passed && d->asked_for_fixes)
		return redecided_yes(line, "the reviewer asked for fixes", STR("passed"), STR("in_progress"));
	if (passed && d->gate.ran && !d->gate.green && d->known && d->before.verify_command.n > 0 && !d->last[EVENT_VERIFY_BROKEN].there &&
		d->before.broken_nudged == 0)
		return redecided_yes(line, "the gate was red over this step", STR("passed"), STR("in_progress"));
	if (!passed && d->known && !late && !red)
		return redecided_yes(line, "the step had turns left", STR("failed"), STR("in_progress"));
	d->steps_ended++;
	return redecided_no();
}

static struct redecided steps(struct redecide *d, bool went_on)
{
	int64_t step = d->before.plan_step + d->steps_ended, reviews = d->before.step_reviews + d->reviewed;

	if (went_on && d->after.plan_step != step)
		return redecided_yes(NULL, "another step is in work", redecide_said(d, "step", d->after.plan_step + 1),
			redecide_said(d, "step", step + 1));
	if (d->steps_ended == 0 && d->after.step_reviews != reviews)
		return redecided_yes(NULL, "the reviews of the step were counted otherwise", redecide_said(d, "reviews", d->after.step_reviews),
			redecide_said(d, "reviews", reviews));
	if (went_on && d->steps_ended == 0 && d->reviewed > 0 && !d->asked_for_fixes)
		return redecided_yes(NULL, "the reviewer approved the step", STR("in_progress"), STR("passed"));
	if (went_on && d->ncalls > 0 && d->iteration - d->before.step_began >= loop_limits.step_turns && d->steps_ended == 0)
		return redecided_yes(NULL, "the step took more turns than it may", STR("another turn"), STR("no_progress"));
	return redecided_no();
}

/* ---- together ---- */

struct redecided work_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct str text)
{
	switch (id) {
	case EVENT_METRIC_SAMPLE:
		return sample(d, line, jval_from(text));
	case EVENT_QUESTION_PROMPT:
		return asks_person(d, line, jval_from(text));
	case EVENT_PLAN_READY:
		return plan(d, line, text);
	case EVENT_STEP_START:
		return step_begins(d, line, jval_from(text));
	case EVENT_STEP_END:
		return step_ends(d, line, jval_from(text));
	default:
		return redecided_no();
	}
}

void work_answer(struct redecide *d, const struct redecide_answer *a)
{
	enum implement_says says;

	if (!a->turn || !has_plan(d))
		return;
	if (str_eqz(a->seat, "planner"))
		d->planner = str_dup(d->leg, a->reply->text);
	else if (str_eqz(a->seat, "critic"))
		d->critic = str_dup(d->leg, a->reply->text);
	else if (str_eqz(a->seat, "reviewer") && (says = implement_reviewer(a->reply->text, d->turn)) != SAYS_NOTHING) {
		d->reviewed++;
		d->asked_for_fixes = says == SAYS_NO;
	}
}

struct redecided work_turn(struct redecide *d, bool went_on)
{
	struct redecided r = metric(d, went_on);

	graph_to(d, d->after.graph_version);
	if (!r.differs)
		r = same_graph(d, went_on);
	if (!r.differs && went_on && has_plan(d) && d->before.plan.n > 0)
		r = steps(d, went_on);
	if (!r.differs && went_on && d->ncalls > 0 && !has_plan(d))
		r = same_focus(d);
	if (!r.differs && went_on && !has_plan(d) && !d->looks)
		r = open_tasks(d, d->last[EVENT_METRIC_EARLY].there);
	return r;
}

struct redecided work_end(struct redecide *d, const struct journal_line *line, enum run_reason why)
{
	if (why == REASON_PLAN_REJECTED && d->planner.n > 0 && implement_critic(d->critic, d->turn) != SAYS_NO) {
		auto_note struct note n = NOTE;

		if (implement_note_plan(d->planner, d->turn, &n))
			return redecided_yes(line, "the critic did not reject the plan", STR("plan_rejected"), STR("plan.ready"));
	}
	if (why == REASON_PLAN_DECLINED && said_to_plan(d) != SAID_NO)
		return redecided_yes(line, "the person did not decline the plan", STR("plan_declined"), STR("step.start"));
	if ((why == REASON_FINISH || (why == REASON_SILENT_FINISH && !d->settings.params.interactive)) && d->known && !has_plan(d) && !d->looks &&
		graph_open(d->graph) > 0 && d->began.task_gated < loop_limits.finish_patience)
		return redecided_yes(line, "tasks were open", str_from(run_reason_word(why)), STR("another turn"));
	return redecided_no();
}
