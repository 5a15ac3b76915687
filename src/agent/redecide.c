/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/redecide.h"
#include "agent/run_priv.h"

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

static int64_t int_of(struct jval obj, const char *key)
{
	int64_t v;

	return jval_to_i64(jval_get(obj, key), &v) ? v : -1;
}

static void forget_turn(struct redecide *d)
{
	memset(d->seen, 0, sizeof(d->seen));
	d->gate.ran = d->waited = d->finish = false;
	d->ncalls = 0;
	d->same_call = d->before.same_call;
	d->same_call_streak = d->before.same_call_streak;
}

void redecide_begin(struct redecide *d, bool looks)
{
	for (size_t i = 0; i < COUNT(d->mem); i++)
		if (!d->mem[i])
			d->mem[i] = arena_new();
	d->known = false;
	d->looks = looks;
	d->before = (struct loop_state){ 0 };
	forget_turn(d);
}

void redecide_fini(struct redecide *d)
{
	for (size_t i = 0; i < COUNT(d->mem); i++)
		arena_free(d->mem[i]);
}

void redecide_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct jval ev)
{
	for (size_t i = 0; i < COUNT(rules); i++) {
		if (rules[i].event != id)
			continue;
		d->seen[i].there = true;
		d->seen[i].streak = int_of(ev, rules[i].member);
		d->seen[i].level = int_of(ev, "level");
		d->seen[i].line = *line;
	}
	if (id == EVENT_VERIFY_END) {
		d->gate.ran = true;
		d->gate.green = int_of(ev, "exit_code") == 0;
		d->gate.line = *line;
	}
}

void redecide_call(struct redecide *d, const struct journal_line *line, const struct reply_call *c)
{
	int64_t hash = (int64_t)run_hash(c->name, c->args_error ? c->raw_args : c->args);

	d->same_call_streak = hash == d->same_call ? d->same_call_streak + 1 : 1;
	d->same_call = hash;
	d->call = *line;
	d->ncalls++;
	d->waited |= str_eqz(c->name, "read_background");
	d->finish |= str_eqz(c->name, "finish_run") || str_eqz(c->name, "finish_planning");
}

static struct redecided no(void)
{
	return (struct redecided){ 0 };
}

static struct redecided yes(const struct journal_line *line, const char *what, struct str was, struct str now)
{
	struct redecided r = { .differs = true, .at_event = line != NULL, .what = what, .was = was, .now = now };

	if (line)
		r.line = *line;
	return r;
}

static struct str said_as(struct redecide *d, const char *member, int64_t v)
{
	return str_printf(d->mem[!d->at], "%s %lld", member, (long long)v);
}

static struct redecided check_rule(struct redecide *d, size_t i, bool went_on)
{
	const struct rule *r = &rules[i];
	int64_t now = counter_of(&d->after, r->counter), was = counter_of(&d->before, r->counter);
	bool first = r->at && now == limit_of(r->at), again = r->again && now == limit_of(r->again);

	if (!d->seen[i].there) {
		if (went_on && now != was && (first || again))
			return yes(NULL, "what was due after the turn is not said", STR("nothing"),
				str_printf(d->mem[!d->at], "%s, %s %lld", event_at(r->event)->type, r->member, (long long)now));
		return no();
	}
	if (d->seen[i].streak != now)
		return yes(&d->seen[i].line, "it was counted otherwise", said_as(d, r->member, d->seen[i].streak), said_as(d, r->member, now));
	if (r->at && !first && !again)
		return yes(&d->seen[i].line, "it was not due", said_as(d, r->member, now), STR("nothing"));
	if (d->seen[i].level >= 0 && d->seen[i].level != (first ? 1 : 2))
		return yes(&d->seen[i].line, "it was due at another level", said_as(d, "level", d->seen[i].level),
			said_as(d, "level", first ? 1 : 2));
	return no();
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
		return no(); /* another gate: it begins anew */
	if (d->gate.ran && d->gate.green && now != TRI_YES)
		return yes(&d->gate.line, "the gate was green, and the run went on as if it were not", STR("green"), STR("not green"));
	if (d->gate.ran && !d->gate.green && now == TRI_YES)
		return yes(&d->gate.line, "the gate was red, and the run went on as if it were not", STR("red"), STR("green"));
	if (!d->gate.ran && now != was)
		return yes(NULL, "what is known of the gate changed without a gate", STR("changed"), STR("as it was"));
	return no();
}

static struct redecided check_calls(struct redecide *d)
{
	if (d->ncalls == 0 || d->waited || (d->same_call == d->after.same_call && d->same_call_streak == d->after.same_call_streak))
		return no();
	return yes(&d->call, "repeated calls were counted otherwise", said_as(d, "streak", d->after.same_call_streak),
		said_as(d, "streak", d->same_call_streak));
}

static struct redecided check_turn(struct redecide *d, bool went_on)
{
	struct redecided r = no();

	if (d->after.standing_rounds != d->before.standing_rounds)
		return r; /* the goal began anew, and all patience with it */
	for (size_t i = 0; i < COUNT(rules) && !r.differs; i++)
		r = check_rule(d, i, went_on);
	if (!r.differs)
		r = check_gate(d);
	return r.differs ? r : check_calls(d);
}

struct redecided redecide_turn(struct redecide *d, struct str state, bool went_on)
{
	struct redecided r = no();

	arena_reset(d->mem[!d->at]);
	if (loop_state_read(state, d->mem[!d->at], &d->after, ERR_DISCARD) < 0)
		return yes(NULL, "the checkpoint cannot be read", STR(""), STR(""));
	if (d->known)
		r = check_turn(d, went_on);
	d->at = !d->at;
	d->before = d->after;
	d->known = true;
	if (went_on)
		forget_turn(d);
	return r;
}

/* Why it ended, by what was counted; `before` is the last checkpoint here. */
static struct redecided check_stop(struct redecide *d, const struct journal_line *line, enum run_reason why, struct jval end)
{
	bool gated = d->before.verify_command.n > 0;

	for (size_t i = 0; i < COUNT(stops); i++)
		if (stops[i].why == why && counter_of(&d->before, stops[i].counter) < limit_of(stops[i].limit))
			return yes(line, "it was no reason to stop yet", said_as(d, "counted", counter_of(&d->before, stops[i].counter)),
				said_as(d, "stops at", limit_of(stops[i].limit)));
	if ((why == REASON_SETTLED && gated) || (why == REASON_VERIFY_SETTLED && !gated))
		return yes(line, "it stopped over a gate that there is not, or not over the one there is", STR(""), STR(""));
	if (why == REASON_FINISH && !d->finish)
		return yes(line, "the model did not call finish_run in the last turn", STR("finish_run"), STR("no such call"));
	if (why == REASON_SILENT_FINISH && d->ncalls > 0)
		return yes(line, "the model called something in the last turn", STR("silent_finish"), STR("a call"));
	if (why == REASON_LOOP_GUARD && int_of(end, "streak") != d->before.same_call_streak)
		return yes(line, "repeated calls were counted otherwise", said_as(d, "streak", int_of(end, "streak")),
			said_as(d, "streak", d->before.same_call_streak));
	return no();
}

struct redecided redecide_end(struct redecide *d, const struct journal_line *line, struct jval end)
{
	auto_buf struct buf word = BUF_MAX(256), verified = BUF_MAX(256);
	enum run_reason why;
	enum gate_verdict v;
	int64_t code = int_of(end, "exit_code");
	struct redecided r;

	if (!d->known || jval_get(end, "verified").type != JSCAN_STRING || jval_add_text(&word, jval_get(end, "reason"), NUL_KEEP, ERR_DISCARD) < 0 ||
		jval_add_text(&verified, jval_get(end, "verified"), NUL_KEEP, ERR_DISCARD) < 0)
		return no(); /* the monitor's words about a run that did not say how it ended */
	if (!run_reason_from(buf_str(&word), &why))
		return yes(line, "no run ends for this reason", str_dup(d->mem[!d->at], buf_str(&word)), STR(""));
	v = gate_verdict_of(&d->before, d->looks);
	if (!str_eqz(buf_str(&verified), gate_verdict_word(v)))
		return yes(line, "the gate said something else", str_dup(d->mem[!d->at], buf_str(&verified)), str_from(gate_verdict_word(v)));
	if ((v == VERDICT_PASSED) != (jval_get(end, "all_passed").type == JSCAN_TRUE))
		return yes(line, "whether all passed is not what the gate said", STR(""), str_from(gate_verdict_word(v)));
	r = check_stop(d, line, why, end);
	/* 5 stands for 0 where something is in no step, which git said. */
	if (!r.differs && code != run_exit_code(why, v) && !(code == EXIT_UNCOMMITTED && run_exit_code(why, v) == 0))
		return yes(line, "it ends with another exit status", said_as(d, "exit_code", code), said_as(d, "exit_code", run_exit_code(why, v)));
	return r;
}
