/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* watch: keeps a model on track: counts what repeats, says so in time, and ends what leads nowhere.
 * The numbers are in state.c. */
#include "agent/implement.h"
#include "agent/modes.h"
#include "agent/tasks.h"
#include "base/time.h"

#include <ctype.h>

#define SIGNED_ERROR 200

static int put_count(struct run *r, enum event_id id, int64_t iteration, const char *name, int64_t v,
	const char *name2, int64_t v2, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "iteration", iteration);
	if (name)
		note_int(&n, name, v);
	if (name2)
		note_int(&n, name2, v2);
	return note_send(&n, r->keep, id, err);
}

bool watch_is_good(const struct run *r)
{
	if (r->st.verify_command.n == 0)
		return r->st.gateless_ever_committed && !r->st.step_open;
	return r->st.last_verify_ok == TRI_YES && !r->st.edited_since_verify;
}

/* ---- calls and results ---- */

void watch_call(struct run *r, const struct reply_call *c)
{
	int64_t hash = (int64_t)run_hash(c->name, c->args_error ? c->raw_args : c->args);

	r->st.same_call_streak = hash == r->st.same_call ? r->st.same_call_streak + 1 : 1;
	r->st.same_call = hash;
}

static uint64_t error_signature(struct str tool, struct str text)
{
	char masked[SIGNED_ERROR];
	size_t n = 0;

	for (size_t i = 0; i < text.n && n < sizeof(masked); i++)
		if (!isdigit((unsigned char)text.p[i]))
			masked[n++] = text.p[i];
		else if (n == 0 || masked[n - 1] != '#')
			masked[n++] = '#';
	return run_hash(tool, str_of(masked, n));
}

void watch_result(struct run *r, struct str tool, struct str text, const struct tool_outcome *oc)
{
	int64_t sig;

	if (!str_starts(text, STR("{\"error\":"))) { /* a command that failed is an answer, not an error */
		r->st.error_streak = 0;
		r->st.error_refused = 0;
		return;
	}
	sig = (int64_t)error_signature(tool, text);
	r->st.error_streak = sig == r->st.error_signature ? r->st.error_streak + 1 : 1;
	r->st.error_signature = sig;
	r->st.error_refused = oc->refused;
}

/* ---- after the calls of a turn ---- */

/* Nudge, escalation and stop of one streak. */
struct ladder {
	int64_t nudge, escalate, stop;
	enum event_id event;
	enum run_reason reason;
	const char *nudge_text, *escalate_text;
	const char *stop_message;
};

static int climb(struct run *r, struct turn *t, const struct ladder *l, int64_t streak, struct err *err)
{
	if (streak >= l->stop) {
		run_stop(r, l->reason,
			str_printf(r->mem, "%s, %lld times in a row", l->stop_message, (long long)streak));
		return 0;
	}
	if (streak != l->nudge && streak != l->escalate)
		return 0;
	turn_notice(t, str_from(streak == l->nudge ? l->nudge_text : l->escalate_text));
	return put_count(
		r, l->event, t->iteration, "streak", streak, "level", streak == l->nudge ? 1 : 2, err);
}

static int watch_errors(struct run *r, struct turn *t, struct err *err)
{
	static const struct ladder failing = { 0, 0, 0, EVENT_TOOL_ERROR, REASON_TOOL_ERROR,
		"The same tool error came three times in a row. Read it again and do something different.",
		"The same tool error still repeats. Stop trying this way: take another tool or another "
		"approach, or call "
		"finish_run and say what blocks you.",
		"the same tool error came" };
	static const struct ladder denied = { 0, 0, 0, EVENT_TOOL_ERROR, REASON_TOOL_ERROR,
		"This was refused three times. Do not ask for it again; do what can be done without it.",
		"This is still refused. Go on without it, or call finish_run and say what you could not do.",
		"the same refused call came" };
	struct ladder l = r->st.error_refused ? denied : failing;

	l.nudge = loop_limits.error_nudge;
	l.escalate = loop_limits.error_escalate;
	l.stop = loop_limits.error_stop;
	return climb(r, t, &l, r->st.error_streak, err);
}

static int watch_gate(struct run *r, struct turn *t, struct err *err)
{
	static const struct ladder same = { 0, 0, 0, EVENT_NO_PROGRESS, REASON_NO_PROGRESS,
		"The verify command has failed four times in the same way. Look for another cause than the "
		"one you have "
		"been fixing.",
		"The verify command still fails in the same way. Take your last changes back, read the "
		"failing test and the "
		"code it exercises, and start from what they say.",
		"the verify command failed in the same way" };
	struct ladder l = same;

	l.nudge = loop_limits.verify_nudge;
	l.escalate = loop_limits.verify_escalate;
	l.stop = loop_limits.verify_stop;
	/* Where a number is made better, a gate that stays red says less than the number does. */
	return t->worked && !metric_is_set(r) ? climb(r, t, &l, r->st.verify_streak, err) : 0;
}

static int watch_settled(struct run *r, struct turn *t, struct err *err)
{
	bool gated = r->st.verify_command.n > 0;

	if (mode_looks(r) || t->waited)
		return 0;
	r->st.idle = watch_is_good(r) && t->was_good && !t->changed ? r->st.idle + 1 : 0;
	if (r->st.idle >= loop_limits.settled_stop) {
		run_stop(r, gated ? REASON_VERIFY_SETTLED : REASON_SETTLED, STR("nothing changed any more"));
		return 0;
	}
	if (r->st.idle != loop_limits.settled_nudge)
		return 0;
	turn_notice(
		t, gated ? STR("The verify command is green and nothing has changed since. If the task is "
			       "done, call "
			       "finish_run.")
			 : STR("Nothing has changed for some turns. If the task is done, call finish_run."));
	return put_count(r, EVENT_VERIFY_SETTLED, t->iteration, "idle", r->st.idle, NULL, 0, err);
}

static int watch_repeats(struct run *r, struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE;
	struct str tool = t->reply.calls[t->reply.ncalls - 1].name;
	int64_t streak = r->st.same_call_streak;

	if (streak >= loop_limits.same_call_stop && r->reason == REASON_NONE) {
		r->guard_tool = str_dup(r->mem, tool);
		run_stop(r, REASON_LOOP_GUARD,
			str_printf(r->mem, "the same call came %lld times in a row", (long long)streak));
	} else if (streak < loop_limits.same_call_notice || r->st.same_call_noted == r->st.same_call) {
		return 0;
	}
	r->st.same_call_noted = r->st.same_call;
	turn_notice(t, STR("You have made the same call several times in a row. Its answer does not change; "
			   "do something "
			   "else."));
	note_int(&n, "iteration", t->iteration);
	note_str(&n, "tool", tool);
	note_int(&n, "streak", streak);
	return note_send(&n, r->keep, EVENT_LOOP_GUARD, err);
}

static int watch_stagnation(struct run *r, struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE;
	int64_t idle_ms = r->st.idle_ms = time_mono_ms() - r->last_work_ms;

	if (mode_looks(r) || t->waited || r->st.stagnation_nudged || idle_ms < loop_limits.stagnation_ms)
		return 0;
	r->st.stagnation_nudged = 1;
	turn_notice(t, STR("Five minutes have passed without an edit or a verify. Make the change you have "
			   "in mind, or call "
			   "finish_run and say what is missing."));
	note_int(&n, "iteration", t->iteration);
	note_num(&n, "elapsed_s", (double)idle_ms / 1000);
	return note_send(&n, r->keep, EVENT_STAGNATION, err);
}

static int watch_budget(struct run *r, struct turn *t, struct err *err)
{
	double left = budget_remaining(&r->caller.budget, &r->caller.totals);

	if (r->st.budget_nudged || left >= loop_limits.budget_nudge)
		return 0;
	r->st.budget_nudged = 1;
	turn_notice(t,
		str_printf(t->mem,
			"%.0f%% of the budget is left. Bring the work to a state that can be kept and call "
			"finish_run.",
			left * 100));
	return put_count(
		r, EVENT_RUN_BUDGET, t->iteration, "budget_remaining", (int64_t)(left * 100), NULL, 0, err);
}

static int watch_broken_gate(struct run *r, struct turn *t, struct err *err)
{
	if (t->baseline && r->st.baseline_ok == TRI_NO)
		turn_notice(t, STR("The verify command was red before you changed anything. Fix it if the "
				   "task asks for that; "
				   "otherwise make your change and say so in finish_run."));
	if (!t->did_not_run || r->st.broken_nudged)
		return 0;
	r->st.broken_nudged = 1;
	turn_notice(t, STR("The verify command did not get as far as the tests: its runner is missing or "
			   "broken. This is not a "
			   "verdict on your change. Do not install anything; go on, and propose a working "
			   "command with stale_gate."));
	return put_count(r, EVENT_VERIFY_BROKEN, t->iteration, NULL, 0, NULL, 0, err);
}

int watch_turn(struct run *r, struct turn *t, struct err *err)
{
	static int (*const in_order[])(struct run *, struct turn *, struct err *) = { watch_broken_gate,
		watch_stagnation, watch_errors, watch_gate, watch_settled, metric_watch, watch_repeats, watch_budget };

	r->st.quiet_streak = 0;
	for (size_t i = 0; i < COUNT(in_order); i++)
		TRY(in_order[i](r, t, err));
	return 0;
}

/* ---- what holds a finish back ---- */

static int put_held(struct run *r, const struct turn *t, enum event_id id, int64_t used, bool silent, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "iteration", t->iteration);
	note_int(&n, "nudges_used", used);
	if (silent)
		note_z(&n, "trigger", "silent_finish");
	return note_send(&n, r->keep, id, err);
}

static int hold_unverified(struct run *r, struct turn *t, bool silent, bool *held, struct err *err)
{
	*held = r->p->require_verify_to_finish && r->st.verify_command.n > 0 && !watch_is_good(r) && r->st.baseline_ok != TRI_NO &&
		r->st.finish_gated < loop_limits.finish_patience;
	if (!*held)
		return 0;
	r->st.finish_gated++;
	turn_notice(t, STR("Not finished: the verify command must be green on the files as they are now. Run run_verify_command, fix "
			   "what it shows, then call finish_run again."));
	return put_held(r, t, EVENT_VERIFY_GATED, r->st.finish_gated, silent, err);
}

/* silent: in prose. A person who sees each step decides about those words themselves. */
static int hold_finish(struct run *r, struct turn *t, bool silent, bool *held, struct err *err)
{
	bool gates = !silent || !r->p->interactive;

	*held = gates && metric_holds_finish(r, t);
	if (*held)
		return put_held(r, t, EVENT_METRIC_EARLY, r->st.metric_gated, silent, err);
	*held = gates && !implement_is_on(r) && tasks_gate(r, t);
	if (*held)
		return put_held(r, t, EVENT_TASK_GATED, r->st.task_gated, silent, err);
	TRY(implement_done(r, t, held, err));
	if (*held || r->reason != REASON_NONE || !gates)
		return 0;
	return hold_unverified(r, t, silent, held, err);
}

/* ---- a turn without calls ---- */

static int nudge_quiet(struct run *r, struct turn *t, struct str text, struct err *err)
{
	auto_note struct note n = NOTE;

	if (r->st.quiet_streak >= loop_limits.quiet_nudges) {
		run_stop(r, REASON_WENT_QUIET, STR("the model gave no answer any more"));
		return 0;
	}
	r->st.quiet_streak++;
	turn_notice(t, text);
	note_int(&n, "iteration", t->iteration);
	note_int(&n, "nudges_used", r->st.quiet_streak);
	note_int(&n, "nudges_max", loop_limits.quiet_nudges);
	note_int(&n, "output_tokens", t->reply.usage.output);
	return note_send(&n, r->keep, EVENT_WENT_QUIET, err);
}

static int put_starved(struct run *r, const struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "iteration", t->iteration);
	note_int(&n, "reasoning_chars", (int64_t)t->reply.thinking.n);
	note_int(&n, "output_tokens", t->reply.usage.output);
	note_z(&n, "stop_reason", reply_stop_name(t->reply.stop));
	return note_send(&n, r->keep, EVENT_REASONING_STARVED, err);
}

/* Prose that may be an oversight: the model is told what it may have meant, once or twice. */
static int nudge_prose(struct run *r, struct turn *t, struct str prose, bool *done, struct err *err)
{
	*done = true;
	if (t->iteration <= loop_limits.silent_until && !r->st.ever_changed && !r->st.verify_ever_passed &&
		r->st.silent_nudges < loop_limits.silent_nudges) {
		r->st.silent_nudges++;
		turn_notice(t, STR("Text alone does nothing here. Work on the task with the tools, or call "
				   "finish_run if there is "
				   "nothing to do."));
		return put_count(r, EVENT_SILENT_NO_WORK, t->iteration, "nudges_used", r->st.silent_nudges,
			NULL, 0, err);
	}
	if (str_ends(prose, STR("?")) && !r->st.question_nudged) {
		r->st.question_nudged = 1;
		turn_notice(t, STR("If that is a question to the person, ask it with ask_user; otherwise "
				   "decide yourself and go on, "
				   "or call finish_run."));
		return put_count(r, EVENT_QUESTION_NUDGE, t->iteration, NULL, 0, NULL, 0, err);
	}
	if (background_running(&r->background) > 0 && !r->st.background_nudged) {
		r->st.background_nudged = 1;
		turn_notice(t, STR("A background command still runs. To wait for it, call read_background with wait_s; if you "
				   "are done, call finish_run, which ends it."));
		return put_count(r, EVENT_BACKGROUND_NUDGE, t->iteration, "running",
			(int64_t)background_running(&r->background), NULL, 0, err);
	}
	*done = false;
	return 0;
}

int watch_quiet(struct run *r, struct turn *t, struct err *err)
{
	struct str prose = str_trim(t->reply.text);
	bool done;

	if (prose.n == 0) {
		if (t->reply.stop == STOP_LENGTH && t->reply.thinking.n > 0)
			TRY(put_starved(r, t, err));
		return nudge_quiet(r, t,
			STR("Your answer was empty. Go on with a tool call, or call finish_run when the task "
			    "is "
			    "done."),
			err);
	}
	if (t->reply.stop == STOP_LENGTH)
		return nudge_quiet(r, t,
			STR("Your answer was cut off at the length limit. Go on with a tool call; write less "
			    "at "
			    "once."),
			err);
	TRY(modes_quiet(r, t, prose, &done, err));
	if (done)
		return 0;
	r->st.quiet_streak = 0;
	if (!r->p->interactive) { /* else the person who sees each step reads it, and answers */
		TRY(nudge_prose(r, t, prose, &done, err));
		if (done)
			return 0;
	}
	TRY(hold_finish(r, t, true, &done, err));
	if (done || r->reason != REASON_NONE)
		return 0;
	TRY(review_gate(r, t, true, &done, err));
	if (done)
		return 0;
	r->summary = str_dup(r->mem, prose);
	run_stop(r, REASON_SILENT_FINISH, STR(""));
	return 0;
}

/* ---- finish_run ---- */

int watch_finish(struct run *r, struct turn *t, struct err *err)
{
	bool held, red;

	if (!t->finish || r->reason != REASON_NONE)
		return 0;
	if (mode_looks(r)) {
		run_stop(r, REASON_PLANNED, STR(""));
		return 0;
	}
	TRY(hold_finish(r, t, false, &held, err));
	if (held || r->reason != REASON_NONE)
		return 0;
	red = r->st.verify_command.n > 0 && r->st.last_verify_ok == TRI_NO && !r->st.edited_since_verify;
	TRY(review_gate(r, t, false, &held, err));
	if (held)
		return 0;
	if (red && r->st.baseline_ok == TRI_NO)
		run_stop(r, REASON_RED_AT_BASE, STR(""));
	else if (red && r->stale_gate.n > 0)
		run_stop(r, REASON_GATE_STALE, STR(""));
	else
		run_stop(r, REASON_FINISH, STR(""));
	return 0;
}
