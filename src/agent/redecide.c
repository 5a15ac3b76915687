/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/redecide_priv.h"
#include "fmt/json.h"
#include "session/record.h"

#include <string.h>

/* What is said about a counter, and when. */
static const struct rule {
	enum event_id event;
	size_t counter;     /* in struct loop_state */
	const char *member; /* of the event: its value */
	size_t at, again;   /* in struct loop_limits: said when it is that; 0: whenever the event is there */
} rules[REDECIDE_RULES] = {
#define COUNTER(m) offsetof(struct loop_state, m)
#define LIMIT(m)   offsetof(struct loop_limits, m)
	{ EVENT_TOOL_ERROR, COUNTER(error_streak), "streak", LIMIT(error_nudge), LIMIT(error_escalate) },
	{ EVENT_NO_PROGRESS, COUNTER(verify_streak), "streak", LIMIT(verify_nudge), LIMIT(verify_escalate) },
	{ EVENT_VERIFY_SETTLED, COUNTER(idle), "idle", LIMIT(settled_nudge), 0 },
	{ EVENT_LOOP_GUARD, COUNTER(same_call_streak), "streak", 0, 0 },
	{ EVENT_WENT_QUIET, COUNTER(quiet_streak), "nudges_used", 0, 0 },
	{ EVENT_SILENT_NO_WORK, COUNTER(silent_nudges), "nudges_used", 0, 0 },
	{ EVENT_VERIFY_GATED, COUNTER(finish_gated), "nudges_used", 0, 0 },
};

/* Reasons that a counter brought about, and from which value on. */
static const struct stop {
	enum run_reason why;
	size_t counter, limit;
} stops[] = {
	{ REASON_TOOL_ERROR, COUNTER(error_streak), LIMIT(error_stop) },
	{ REASON_NO_PROGRESS, COUNTER(verify_streak), LIMIT(verify_stop) },
	{ REASON_SETTLED, COUNTER(idle), LIMIT(settled_stop) },
	{ REASON_VERIFY_SETTLED, COUNTER(idle), LIMIT(settled_stop) },
	{ REASON_LOOP_GUARD, COUNTER(same_call_streak), LIMIT(same_call_stop) },
	{ REASON_WENT_QUIET, COUNTER(quiet_streak), LIMIT(quiet_nudges) },
};

static int64_t counter_of(const struct loop_state *s, size_t offset)
{
	int64_t v;

	memcpy(&v, (const char *)s + offset, sizeof(v));
	return v;
}

static int64_t limit_of(size_t offset)
{
	int64_t v;

	memcpy(&v, (const char *)&loop_limits + offset, sizeof(v));
	return v;
}

/* As a gate is whose runner is missing. */
static bool gate_is_brief(struct jval seconds)
{
	double s;

	return jval_to_f64(seconds, &s) && s * 1000 <= GATE_DEAD_WITHIN_MS;
}

int64_t redecide_int(struct jval obj, const char *key)
{
	int64_t v;

	return jval_to_i64(jval_get(obj, key), &v) ? v : -1;
}

struct str redecide_text(struct redecide *d, struct jval obj, const char *key)
{
	auto_buf struct buf b = BUF_MAX(EVENT_JSON_MAX);
	struct jval v = jval_get(obj, key);

	if (v.type != JSCAN_STRING || jval_add_text(&b, v, NUL_KEEP, ERR_DISCARD) < 0)
		return STR("");
	return str_dup(d->turn, buf_str(&b));
}

struct redecided redecided_no(void)
{
	return (struct redecided){ 0 };
}

struct redecided redecided_yes(const struct journal_line *line, const char *what, struct str was, struct str now)
{
	struct redecided r = { .differs = true, .at_event = line != NULL, .what = what, .was = was, .now = now };

	if (line)
		r.line = *line;
	return r;
}

struct str redecide_said(struct redecide *d, const char *member, int64_t v)
{
	return str_printf(d->turn, "%s %lld", member, (long long)v);
}

struct redecided redecide_same(struct arena *mem, const struct journal_line *line, struct str event, struct str made, const char *what)
{
	auto_json json_t *was = NULL, *now = NULL, *part = json_object();
	auto_buf struct buf a = BUF_MAX(RECORD_TRANSCRIPT_MAX), b = BUF_MAX(RECORD_TRANSCRIPT_MAX);
	const char *key;
	json_t *value;

	if (json_decode(event, JSON_REPAIR, &was, ERR_DISCARD) < 0 || json_decode(made, JSON_REPAIR, &now, ERR_DISCARD) < 0)
		return redecided_yes(line, what, event, made);
	json_object_foreach(now, key, value) if (json_object_get(was, key))
		BUG_IF(json_object_set(part, key, json_object_get(was, key)) < 0);
	if (json_equal(part, now))
		return redecided_no();
	if (json_add(&a, part, ERR_DISCARD) < 0 || json_add(&b, now, ERR_DISCARD) < 0)
		return redecided_yes(line, what, event, made);
	return redecided_yes(line, what, str_dup(mem, buf_str(&a)), str_dup(mem, buf_str(&b)));
}

static void forget_turn(struct redecide *d)
{
	arena_reset(d->turn);
	memset(d->seen, 0, sizeof(d->seen));
	memset(d->last, 0, sizeof(d->last));
	d->gate.ran = d->waited = d->finish = false;
	d->ncalls = 0;
	d->same_call = d->before.same_call;
	d->same_call_streak = d->before.same_call_streak;
	d->left = -1;
	d->fresh = true;
	d->overflowed = d->measured = d->full = d->has_reviewed = d->asked_for_fixes = d->blocked = false;
	d->reviewed = d->steps_ended = 0;
	d->nanswers = 0;
	d->run->context.refused = 0;
}

/* ---- a leg ---- */

static void run_close(struct run *r)
{
	if (!r)
		return;
	caller_fini(&r->caller);
	context_fini(&r->context);
	free(r->keep);
	free(r);
}

/* Nothing of it is connected to anything. */
static struct run *run_open(struct redecide *d)
{
	struct run *r = mem_alloc(sizeof(*r));

	r->mem = d->leg;
	r->p = &d->settings.params;
	r->keep = mem_alloc(sizeof(*r->keep));
	r->keep->loaded_fd = -1;
	r->caller.keep = r->keep;
	r->caller.spec = MODEL_SPEC;
	context_init(&r->context);
	return r;
}

void redecide_open(struct redecide *d, struct str graph)
{
	struct arena **all[] = { &d->mem[0], &d->mem[1], &d->leg, &d->turn };

	for (size_t i = 0; i < COUNT(all); i++)
		*all[i] = arena_new();
	d->graph = graph_new();
	d->graph_lines = d->graph_all = graph;
	redecide_begin(d, false);
}

void redecide_begin(struct redecide *d, bool looks)
{
	run_close(d->run);
	arena_reset(d->leg);
	d->run = run_open(d);
	d->settings = (struct settings){ 0 };
	d->has_settings = d->counted = d->stop_asked = d->stop_now = d->pending = false;
	d->planner = d->critic = STR("");
	d->in_flight = 0;
	d->iteration = -1;
	d->known = false;
	d->looks = looks;
	d->before = d->began = (struct loop_state){ 0 };
	compact_forget(d);
	forget_turn(d);
}

void redecide_fini(struct redecide *d)
{
	run_close(d->run);
	graph_free(d->graph);
	vec_fini(&d->compact);
	for (size_t i = 0; i < COUNT(d->mem); i++)
		arena_free(d->mem[i]);
	arena_free(d->leg);
	arena_free(d->turn);
}

static struct redecided settings(struct redecide *d, const struct journal_line *line, struct str text)
{
	const struct run_params *p = &d->settings.params;
	struct err why = { 0 };

	if (settings_read(jval_from(text), d->leg, &d->settings, &why) < 0)
		return redecided_yes(line, "what the run decides by cannot be read", STR(""), str_dup(d->turn, str_from(why.msg)));
	d->has_settings = d->counted = true;
	d->run->caller.budget = (struct budget){ .max_input_tokens = p->max_input_tokens, .max_output_tokens = p->max_output_tokens,
		.max_microusd = p->max_usd < 0 ? -1 : (int64_t)(p->max_usd * 1e6) };
	d->run->caller.facts = d->settings.models[0].facts;
	d->run->caller.spec.max_tokens = d->settings.models[0].max_tokens;
	return redecided_no();
}

/* ---- events ---- */

static void count_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct jval ev)
{
	for (size_t i = 0; i < COUNT(rules); i++) {
		if (rules[i].event != id)
			continue;
		d->seen[i].there = true;
		d->seen[i].streak = redecide_int(ev, rules[i].member);
		d->seen[i].level = redecide_int(ev, "level");
		d->seen[i].line = *line;
	}
	if (id == EVENT_VERIFY_END) {
		d->gate.ran = true;
		d->gate.green = redecide_int(ev, "exit_code") == 0;
		d->gate.brief = gate_is_brief(jval_get(ev, "duration_s"));
		d->gate.line = *line;
	}
	if (id == EVENT_TOOL_RESULT && (jval_is(jval_get(ev, "name"), "finish_run") || jval_is(jval_get(ev, "name"), "finish_planning")))
		d->finish |= jval_get(ev, "ok").type == JSCAN_TRUE;
	if (id == EVENT_RUN_STOP) {
		d->stop_asked = true;
		d->stop_now |= jval_is(jval_get(ev, "how"), "now");
	}
}

struct redecided redecide_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct str text)
{
	struct jval ev = jval_from(text);
	struct redecided r;

	if (id == EVENT_COUNT)
		return redecided_no();
	if (id == EVENT_LOOP_SETTINGS)
		return settings(d, line, text);
	if (!d->has_settings && id == EVENT_ROLE_CALL)
		return redecided_yes(line, "the record is of an older agent6 and cannot be replayed", STR(""), STR(""));
	count_event(d, id, line, ev);
	d->last[id] = (struct redecide_seen){ true, *line, text };
	if (!d->has_settings)
		return redecided_no();
	compact_event(d, id, line, text);
	r = budget_event(d, id, line, text);
	if (!r.differs)
		r = work_event(d, id, line, text);
	return r.differs ? r : review_event(d, id, line, text);
}

struct redecided redecide_answer(struct redecide *d, const struct journal_line *line, const struct redecide_answer *a)
{
	if (!d->has_settings)
		return redecided_no();
	budget_answer(d, a);
	work_answer(d, a);
	review_answer(d, a);
	return compact_answer(d, line, a);
}

void redecide_call(struct redecide *d, const struct journal_line *line, const struct reply_call *c)
{
	int64_t hash = (int64_t)run_hash(c->name, c->args_error ? c->raw_args : c->args);

	d->same_call_streak = hash == d->same_call ? d->same_call_streak + 1 : 1;
	d->same_call = hash;
	d->call = *line;
	d->ncalls++;
	d->waited |= str_eqz(c->name, "read_background");
}

static bool has_metric(const struct redecide *d)
{
	return d->settings.params.metric_command.n > 0 && !str_eqz(d->settings.params.run_commands, "no");
}

static struct redecided check_rule(struct redecide *d, size_t i, bool went_on)
{
	const struct rule *r = &rules[i];
	int64_t now = counter_of(&d->after, r->counter), was = counter_of(&d->before, r->counter);
	bool first = r->at && now == limit_of(r->at), again = r->again && now == limit_of(r->again);

	if (r->event == EVENT_NO_PROGRESS && has_metric(d)) /* the number decides, and says it in other words */
		return d->seen[i].there ? redecided_yes(&d->seen[i].line, "it was not due", STR("said"), STR("nothing")) : redecided_no();
	if (!d->seen[i].there) {
		if (went_on && now != was && (first || again))
			return redecided_yes(NULL, "what was due after the turn is not said", STR("nothing"),
				str_printf(d->turn, "%s, %s %lld", event_at(r->event)->type, r->member, (long long)now));
		return redecided_no();
	}
	if (d->seen[i].streak != now)
		return redecided_yes(&d->seen[i].line, "it was counted otherwise", redecide_said(d, r->member, d->seen[i].streak), redecide_said(d, r->member, now));
	if (r->at && !first && !again)
		return redecided_yes(&d->seen[i].line, "it was not due", redecide_said(d, r->member, now), STR("nothing"));
	if (d->seen[i].level >= 0 && d->seen[i].level != (first ? 1 : 2))
		return redecided_yes(&d->seen[i].line, "it was due at another level", redecide_said(d, "level", d->seen[i].level),
			redecide_said(d, "level", first ? 1 : 2));
	return redecided_no();
}

static bool same_strs(const struct str_list *a, const struct str_list *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!str_eq(a->p[i], b->p[i]))
			return false;
	return true;
}

/* A red gate may be no observation at all (its runner was missing): then nothing changes. */
static struct redecided check_gate(struct redecide *d)
{
	enum tri was = d->before.last_verify_ok, now = d->after.last_verify_ok;

	if (!same_strs(&d->before.verify_command, &d->after.verify_command))
		return redecided_no(); /* another gate: it begins anew */
	if (d->gate.ran && d->gate.green && now != TRI_YES)
		return redecided_yes(&d->gate.line, "the gate was green, and the run went on as if it were not", STR("green"), STR("not green"));
	if (d->gate.ran && !d->gate.green && now == TRI_YES && !(was == TRI_YES && d->gate.brief))
		return redecided_yes(&d->gate.line, "the gate was red, and the run went on as if it were not", STR("red"), STR("green"));
	if (!d->gate.ran && now != was)
		return redecided_yes(NULL, "what is known of the gate changed without a gate", STR("changed"), STR("as it was"));
	return redecided_no();
}

static struct redecided check_calls(struct redecide *d)
{
	if (d->ncalls == 0 || d->waited || (d->same_call == d->after.same_call && d->same_call_streak == d->after.same_call_streak))
		return redecided_no();
	return redecided_yes(&d->call, "repeated calls were counted otherwise", redecide_said(d, "streak", d->after.same_call_streak),
		redecide_said(d, "streak", d->same_call_streak));
}

static struct redecided check_turn(struct redecide *d, bool went_on)
{
	struct redecided r = redecided_no();

	if (d->after.standing_rounds != d->before.standing_rounds)
		return r; /* the goal began anew, and all patience with it */
	for (size_t i = 0; i < COUNT(rules) && !r.differs; i++)
		r = check_rule(d, i, went_on);
	if (!r.differs)
		r = check_gate(d);
	if (!r.differs)
		r = check_calls(d);
	if (!r.differs && d->has_settings)
		r = budget_turn(d, went_on);
	if (!r.differs && d->has_settings)
		r = work_turn(d, went_on);
	return r.differs || !d->has_settings ? r : review_turn_again(d, went_on);
}

static void begin_turn(struct redecide *d, int64_t turn)
{
	forget_turn(d);
	d->iteration = turn;
	d->run->st = d->before;
}

struct redecided redecide_turn(struct redecide *d, struct str state, bool went_on)
{
	struct redecided r = redecided_no();

	arena_reset(d->mem[!d->at]);
	if (loop_state_read(state, d->mem[!d->at], &d->after, ERR_DISCARD) < 0)
		return redecided_yes(NULL, "the checkpoint cannot be read", STR(""), STR(""));
	if (d->known)
		r = check_turn(d, went_on);
	d->at = !d->at;
	d->began = d->before;
	d->before = d->after;
	d->known = true;
	if (went_on && !r.differs)
		begin_turn(d, d->after.next_iteration);
	return r;
}

/* Why it ended, by what was counted; `before` is the last checkpoint here. */
static struct redecided check_stop(struct redecide *d, const struct journal_line *line, enum run_reason why, struct jval end)
{
	bool gated = d->before.verify_command.n > 0;

	bool step = why == REASON_NO_PROGRESS && d->last[EVENT_STEP_END].there; /* a step of a plan that failed */

	for (size_t i = 0; i < COUNT(stops); i++)
		if (stops[i].why == why && !step && counter_of(&d->before, stops[i].counter) < limit_of(stops[i].limit))
			return redecided_yes(line, "it was no reason to stop yet", redecide_said(d, "counted", counter_of(&d->before, stops[i].counter)),
				redecide_said(d, "stops at", limit_of(stops[i].limit)));
	if ((why == REASON_SETTLED && gated) || (why == REASON_VERIFY_SETTLED && !gated))
		return redecided_yes(line, "it stopped over a gate that there is not, or not over the one there is", STR(""), STR(""));
	if (why == REASON_FINISH && !d->finish)
		return redecided_yes(line, "the model did not call finish_run in the last turn", STR("finish_run"), STR("no such call"));
	if (why == REASON_SILENT_FINISH && d->ncalls > 0)
		return redecided_yes(line, "the model called something in the last turn", STR("silent_finish"), STR("a call"));
	if (why == REASON_LOOP_GUARD && redecide_int(end, "streak") != d->before.same_call_streak)
		return redecided_yes(line, "repeated calls were counted otherwise", redecide_said(d, "streak", redecide_int(end, "streak")),
			redecide_said(d, "streak", d->before.same_call_streak));
	return redecided_no();
}

struct redecided redecide_end(struct redecide *d, const struct journal_line *line, struct jval end)
{
	auto_buf struct buf word = BUF_MAX(256), verified = BUF_MAX(256);
	enum run_reason why;
	enum gate_verdict v;
	int64_t code = redecide_int(end, "exit_code");
	struct redecided r;

	if (!d->known || jval_get(end, "verified").type != JSCAN_STRING || jval_add_text(&word, jval_get(end, "reason"), NUL_KEEP, ERR_DISCARD) < 0 ||
		jval_add_text(&verified, jval_get(end, "verified"), NUL_KEEP, ERR_DISCARD) < 0)
		return redecided_no(); /* the monitor's words about a run that did not say how it ended */
	if (!run_reason_from(buf_str(&word), &why))
		return redecided_yes(line, "no run ends for this reason", str_dup(d->turn, buf_str(&word)), STR(""));
	v = gate_verdict_of(&d->before, d->looks);
	if (!str_eqz(buf_str(&verified), gate_verdict_word(v)))
		return redecided_yes(line, "the gate said something else", str_dup(d->turn, buf_str(&verified)), str_from(gate_verdict_word(v)));
	if ((v == VERDICT_PASSED) != (jval_get(end, "all_passed").type == JSCAN_TRUE))
		return redecided_yes(line, "whether all passed is not what the gate said", STR(""), str_from(gate_verdict_word(v)));
	r = check_stop(d, line, why, end);
	if (!r.differs && d->has_settings)
		r = budget_end(d, line, why);
	if (!r.differs && d->has_settings)
		r = work_end(d, line, why);
	if (!r.differs && d->has_settings)
		r = review_end(d, line, why);
	/* 5 stands for 0 where something is in no step, which git said. */
	if (!r.differs && code != run_exit_code(why, v) && !(code == EXIT_UNCOMMITTED && run_exit_code(why, v) == 0))
		return redecided_yes(line, "it ends with another exit status", redecide_said(d, "exit_code", code), redecide_said(d, "exit_code", run_exit_code(why, v)));
	return r;
}
