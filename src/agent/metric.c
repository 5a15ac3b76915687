/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* metric: a number that the run makes better. It is taken after each green gate and whenever the model asks, and the
 * model is told how it stands. */
#include "agent/run_priv.h"
#include "tool/metric.h"

#include <stdlib.h>

#define SHOWN          5    /* samples that the model sees */
#define PLATEAU_COUNT  5    /* samples before there is a plateau at all */
#define PLATEAU_STALE  3    /* ... without a better one */
#define FINISH_GATED   3    /* finishes that are sent back over a worse number */
#define STOP_BELOW     0.25 /* of the budget */
#define EXPLORE_ABOVE  0.5

bool metric_is_set(const struct run *r)
{
	return r->p->metric_command.n > 0 && r->tools.commands_allowed;
}

static double number(struct str s)
{
	char z[64];

	snprintf(z, sizeof(z), STR_FMT, STR_ARG(str_head(s, sizeof(z) - 1)));
	return strtod(z, NULL);
}

static bool is_better(const struct run *r, double a, double b)
{
	return str_eqz(r->p->metric_goal, "minimize") ? a < b : a > b;
}

static void add_sample(struct run *r, struct str shown)
{
	struct str_list *l = &r->st.metric_samples;
	struct str *next = arena_array(r->mem, SHOWN, sizeof(*next));
	size_t from = l->n < SHOWN ? 0 : 1, n = 0;

	for (size_t i = from; i < l->n; i++)
		next[n++] = l->p[i];
	next[n++] = shown;
	*l = (struct str_list){ next, n };
}

static int put_sample(struct run *r, const struct turn *t, const struct tool_outcome *oc, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "iteration", t->iteration);
	note_str(&n, "label", r->p->metric_goal);
	if (oc->has_score)
		note_num(&n, "score", oc->score);
	note_int(&n, "returncode", oc->job.code);
	if (r->st.head_sha.n > 0)
		note_str(&n, "sha", r->st.head_sha);
	if (oc->metric_full)
		note_bool(&n, "full", true);
	return note_send(&n, r->keep, EVENT_METRIC_SAMPLE, err);
}

static int put_run(struct run *r, const struct tool_outcome *oc, struct err *err)
{
	auto_note struct note n = NOTE;

	note_strs(&n, "cmd", r->p->metric_command);
	note_int(&n, "exit_code", oc->job.code);
	note_num(&n, "duration_s", (double)oc->job.wall_ms / 1000);
	if (oc->has_score)
		note_num(&n, "score", oc->score);
	return note_send(&n, r->keep, EVENT_METRIC_END, err);
}

/* The nearest number that the task names and the best sample has not reached. 1: there is one; 0: there are none; -1: all
 * are reached. */
static int next_target(const struct run *r, double best, double *out)
{
	double all[METRIC_TARGETS];
	size_t n = metric_targets(r->st.original_task, all);
	bool found = false;

	for (size_t i = 0; i < n; i++)
		if (is_better(r, all[i], best) && (!found || is_better(r, *out, all[i]))) {
			*out = all[i];
			found = true;
		}
	return found ? 1 : n > 0 ? -1 : 0;
}

static int tell(struct run *r, struct turn *t, struct str shown, bool best, struct str before, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(4096);
	double target;

	TRY(buf_addf(&b, err, "The metric (" STR_FMT ") is " STR_FMT ", ", STR_ARG(r->p->metric_goal), STR_ARG(shown)));
	if (r->st.metric_count == 1)
		TRY(buf_addz(&b, "the first sample.", err));
	else if (best)
		TRY(buf_addf(&b, err, "the best so far; before it was " STR_FMT ".", STR_ARG(before)));
	else
		TRY(buf_addf(&b, err, "no better than the best, " STR_FMT ".", STR_ARG(before)));
	TRY(buf_addz(&b, " Newest samples:", err));
	for (size_t i = 0; i < r->st.metric_samples.n; i++)
		TRY(buf_addf(&b, err, "%s " STR_FMT, i > 0 ? "," : "", STR_ARG(r->st.metric_samples.p[i])));
	switch (next_target(r, number(r->st.metric_best), &target)) {
	case 1:
		TRY(buf_addf(&b, err, ". Next target: %.10g.", target));
		break;
	case -1:
		TRY(buf_addz(&b, ". Every number that the task names is reached.", err));
		break;
	}
	turn_notice(t, str_dup(t->mem, buf_str(&b)));
	return 0;
}

bool metric_book(struct run *r, struct turn *t, double score, bool full)
{
	struct str shown = str_printf(r->mem, "%.10g", score);
	bool best = r->st.metric_count == 0 || is_better(r, score, number(r->st.metric_best));

	t->measured = true;
	t->metric_full = full && str_eqz(r->p->metric_goal, "maximize");
	r->st.metric_count++;
	r->st.metric_stale = best ? 0 : r->st.metric_stale + 1;
	r->st.metric_nudged = best ? 0 : r->st.metric_nudged;
	if (best)
		r->st.metric_best = shown;
	add_sample(r, shown);
	return best;
}

int metric_sample(struct run *r, struct turn *t, const struct tool_outcome *oc, struct err *err)
{
	struct str before = r->st.metric_best;
	bool best;

	t->measured = true;
	TRY(put_run(r, oc, err));
	TRY(put_sample(r, t, oc, err));
	if (!oc->has_score) {
		turn_notice(t, STR("The metric command printed no number that its pattern finds; that is no sample."));
		return 0;
	}
	best = metric_book(r, t, oc->score, oc->metric_full);
	return tell(r, t, r->st.metric_samples.p[r->st.metric_samples.n - 1], best, before, err);
}

int metric_starts(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE;

	note_strs(&n, "cmd", r->p->metric_command);
	return note_send(&n, r->keep, EVENT_METRIC_START, err);
}

/* After a green gate, where the model did not ask for it itself. */
int metric_auto(struct run *r, struct turn *t, struct err *err)
{
	auto_buf struct buf out = BUF_MAX(2 * TOOL_RESULT_MAX);
	struct tool_outcome oc = { 0 };
	int rc;

	if (!metric_is_set(r) || !t->green || t->measured || r->reason != REASON_NONE)
		return 0;
	TRY(metric_starts(r, err));
	TRY(keep_barrier(r->keep, err));
	rc = tool_call(&r->tools, STR("run_metric_command"), STR("{}"), &out, &oc, err);
	if (rc == -ERR_STOPPED) {
		if (r->links->stop != 0)
			run_stop_asked(r);
		return 0;
	}
	TRY(rc);
	return oc.metric ? metric_sample(r, t, &oc, err) : 0;
}

enum metric_says metric_judge(const struct run *r, const struct turn *t, double left)
{
	if (t->metric_full && (r->st.verify_command.n == 0 || watch_is_good(r)))
		return METRIC_CEILING;
	if (!t->measured || r->st.metric_count < PLATEAU_COUNT || r->st.metric_stale < PLATEAU_STALE)
		return METRIC_GOES_ON;
	if (left < STOP_BELOW)
		return METRIC_STOP;
	return r->st.metric_nudged || left < EXPLORE_ABOVE ? METRIC_GOES_ON : METRIC_NUDGE;
}

int metric_watch(struct run *r, struct turn *t, struct err *err)
{
	double left = budget_remaining(&r->caller.budget, &r->caller.totals);
	enum metric_says says = metric_judge(r, t, left);
	auto_note struct note n = NOTE;

	if (says == METRIC_CEILING) {
		note_int(&n, "iteration", t->iteration);
		note_num(&n, "score", number(r->st.metric_best));
		run_stop(r, REASON_METRIC_PLATEAU, str_printf(r->mem, "the metric is all there is, " STR_FMT, STR_ARG(r->st.metric_best)));
		return note_send(&n, r->keep, EVENT_METRIC_CEILING, err);
	}
	if (says == METRIC_STOP) {
		run_stop(r, REASON_METRIC_PLATEAU,
			str_printf(r->mem, "the metric did not get better for %lld samples; the best is " STR_FMT,
				(long long)r->st.metric_stale, STR_ARG(r->st.metric_best)));
		return 0;
	}
	if (says != METRIC_NUDGE)
		return 0;
	r->st.metric_nudged = 1;
	turn_notice(t, STR("The metric has not got better for some samples. Try something of another kind, or call finish_run if there is "
			   "nothing left to try."));
	note_int(&n, "iteration", t->iteration);
	note_int(&n, "nudges_used", 1);
	note_int(&n, "budget_remaining", (int64_t)(left * 100));
	return note_send(&n, r->keep, EVENT_METRIC_PLATEAU, err);
}

/* The newest sample is as good as the task asks for. */
static bool is_reached(const struct run *r)
{
	const struct str_list *l = &r->st.metric_samples;
	double target;

	return l->n > 0 && next_target(r, number(l->p[l->n - 1]), &target) < 0;
}

bool metric_would_hold(const struct run *r, double left)
{
	return r->p->metric_command.n > 0 && !str_eqz(r->p->run_commands, "no") && r->st.metric_stale > 0 && !is_reached(r) &&
		left >= STOP_BELOW && r->st.metric_gated < FINISH_GATED;
}

/* A finish over a number that is worse than the best one, while there is budget. */
bool metric_holds_finish(struct run *r, struct turn *t)
{
	if (!metric_would_hold(r, budget_remaining(&r->caller.budget, &r->caller.totals)))
		return false;
	r->st.metric_gated++;
	turn_notice(t, str_printf(t->mem,
			"Not finished: the last sample of the metric is no better than the best, " STR_FMT
			". Go back to what was better or make it better, run run_metric_command, then call finish_run again.",
			STR_ARG(r->st.metric_best)));
	return true;
}
