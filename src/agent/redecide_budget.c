/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* redecide_budget: what was spent, from the answers themselves; whether a request could still be made; what was said about
 * what is left; and about time, which the checkpoint holds as the clock gave it. */
#include "agent/redecide_priv.h"

static struct redecided spent(struct redecide *d, const struct journal_line *line)
{
	struct caller *c = &d->run->caller;
	struct err why = { 0 };

	if (!d->counted || budget_check(&c->budget, &c->totals, NULL, NULL, &why) == 0)
		return redecided_no();
	return redecided_yes(line, "the budget was spent before this request", STR("asked"), str_dup(d->turn, str_from(why.msg)));
}

static struct redecided refused(struct redecide *d, const struct journal_line *line, struct jval ev)
{
	struct caller *c = &d->run->caller;
	int64_t bytes = redecide_int(ev, "bytes");
	const struct settings_model *lead = &d->settings.models[0];
	struct usage next;

	/* Of a question to another model the price is another; what is in flight is not counted yet; and what a leg's first
	 * request takes was foreseen from an answer of the leg before. */
	if (!d->counted || c->forecast.bytes == 0 || redecide_int(ev, "in_flight") != 0 || !jval_is(jval_get(ev, "role"), "worker") || bytes < 0)
		return redecided_no();
	next = usage_next(&c->forecast, (size_t)bytes);
	if (budget_check(&c->budget, &c->totals, &next, &lead->facts, ERR_DISCARD) < 0)
		return redecided_no();
	return redecided_yes(line, "the budget had room for this request", STR("refused"), STR("asked"));
}

static struct redecided updated(struct redecide *d, const struct journal_line *line, struct str text)
{
	auto_note struct note n = NOTE;

	if (!d->counted)
		return redecided_no();
	caller_note_budget(&n, &d->run->caller.totals, &d->run->caller.budget);
	return redecide_same(d->turn, line, text, note_text(&n), "the budget was counted otherwise");
}

static double left_now(const struct redecide *d)
{
	return budget_remaining(&d->run->caller.budget, &d->run->caller.totals);
}

static struct redecided said_left(struct redecide *d, const struct journal_line *line, struct jval ev, double below, bool always)
{
	double left = left_now(d);

	if (!d->counted)
		return redecided_no();
	if (redecide_int(ev, "budget_remaining") != (int64_t)(left * 100))
		return redecided_yes(line, "what is left of the budget is something else", redecide_said(d, "budget_remaining",
			redecide_int(ev, "budget_remaining")), redecide_said(d, "budget_remaining", (int64_t)(left * 100)));
	if (!always && left >= below)
		return redecided_yes(line, "it was not due", STR("said"), STR("nothing"));
	return redecided_no();
}

struct redecided budget_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct str text)
{
	struct jval ev = jval_from(text);

	switch (id) {
	case EVENT_ROLE_CALL:
		d->in_flight++;
		return spent(d, line);
	case EVENT_ROLE_RESULT:
		d->in_flight--;
		return redecided_no();
	case EVENT_BUDGET_REFUSED:
		return refused(d, line, ev);
	case EVENT_BUDGET_UPDATE:
		return updated(d, line, text);
	case EVENT_RUN_BUDGET:
		return said_left(d, line, ev, loop_limits.budget_nudge, false);
	case EVENT_PLAN_FINISH:
		return said_left(d, line, ev, loop_limits.plan_budget, d->iteration - d->before.leg_start + 1 >= loop_limits.plan_turns);
	case EVENT_METRIC_PLATEAU:
		return said_left(d, line, ev, 0, true);
	default:
		return redecided_no();
	}
}

void budget_answer(struct redecide *d, const struct redecide_answer *a)
{
	const struct settings_model *m = settings_model_of(&d->settings, a->endpoint, a->model);

	if (!a->read || !m)
		d->counted = false;
	if (!d->counted) {
		d->left_out++;
		return;
	}
	caller_book(&d->run->caller, a->model, &m->facts, a->reply, a->weighed, a->turn);
	if (str_eqz(a->seat, "worker"))
		d->left = left_now(d);
}

/* ---- the end of a turn ---- */

static struct redecided missed(enum event_id id)
{
	return redecided_yes(NULL, "what was due after the turn is not said", STR("nothing"), str_from(event_at(id)->type));
}

static struct redecided stagnation(struct redecide *d, bool went_on)
{
	const struct redecide_seen *s = &d->last[EVENT_STAGNATION];
	bool due = !d->looks && !d->waited && !d->before.stagnation_nudged && d->after.idle_ms >= loop_limits.stagnation_ms;
	double said = -1;

	if (!s->there)
		return due && went_on ? missed(EVENT_STAGNATION) : redecided_no();
	if (!jval_to_f64(jval_get(jval_from(s->text), "elapsed_s"), &said) || (int64_t)(said * 1000 + 0.5) != d->after.idle_ms)
		return redecided_yes(&s->line, "the clock said something else", redecide_said(d, "elapsed_ms", (int64_t)(said * 1000 + 0.5)),
			redecide_said(d, "elapsed_ms", d->after.idle_ms));
	if (!due)
		return redecided_yes(&s->line, "it was not due", redecide_said(d, "elapsed_ms", d->after.idle_ms), STR("nothing"));
	return redecided_no();
}

struct redecided budget_turn(struct redecide *d, bool went_on)
{
	bool calls = d->ncalls > 0 && went_on;

	if (calls && d->counted && d->left >= 0 && d->left < loop_limits.budget_nudge && !d->before.budget_nudged && !d->last[EVENT_RUN_BUDGET].there)
		return missed(EVENT_RUN_BUDGET);
	if (d->last[EVENT_RUN_BUDGET].there && d->before.budget_nudged)
		return redecided_yes(&d->last[EVENT_RUN_BUDGET].line, "it was said before", STR("said"), STR("nothing"));
	if (calls && str_eqz(d->settings.params.mode, "plan") && !d->before.plan_nudged && !d->finish && !d->last[EVENT_PLAN_FINISH].there &&
		(d->iteration - d->before.leg_start + 1 >= loop_limits.plan_turns || (d->counted && d->left >= 0 && d->left <= loop_limits.plan_budget)))
		return missed(EVENT_PLAN_FINISH);
	if (went_on && d->iteration >= 0 && d->settings.params.max_iterations >= 0 && d->iteration + 1 - d->before.leg_start >= d->settings.params.max_iterations)
		return redecided_yes(NULL, "the run had made as many turns as it may", STR("another turn"), STR("max_iterations"));
	return d->ncalls > 0 ? stagnation(d, went_on) : redecided_no();
}

struct redecided budget_end(struct redecide *d, const struct journal_line *line, enum run_reason why)
{
	int64_t turns = d->iteration - d->before.leg_start + 1;

	if (why == REASON_BUDGET && !d->last[EVENT_BUDGET_REFUSED].there)
		return redecided_yes(line, "no request was refused for the budget", STR("budget_exhausted"), STR("nothing"));
	if (why == REASON_MAX_ITERATIONS && d->iteration >= 0 && turns < d->settings.params.max_iterations)
		return redecided_yes(line, "the run may make more turns", redecide_said(d, "turns", turns),
			redecide_said(d, "max_iterations", d->settings.params.max_iterations));
	if ((why == REASON_STEER_ABORT || why == REASON_INTERRUPTED) && !d->stop_asked)
		return redecided_yes(line, "nobody asked for a stop", str_from(run_reason_word(why)), STR("nothing"));
	if (why == REASON_INTERRUPTED && !d->stop_now)
		return redecided_yes(line, "the stop was asked for after the step", STR("interrupted"), STR("steer_abort"));
	return redecided_no();
}
