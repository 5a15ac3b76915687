/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* redecide_review: when a panel was asked, what each seat's answer says once its findings are looked up in the diff that it was
 * shown, what the panel decided by that, and what followed. */
#include "agent/panel.h"
#include "agent/redecide_priv.h"
#include "fmt/json.h"

#define HEAD  "DIFF:\n"
#define MARK  "\n\n" HEAD
#define DEPTH 8

static bool is_trigger(const struct redecide *d, const char *word)
{
	return str_eqz(d->settings.params.review_trigger, word);
}

/* ---- what a seat was shown ---- */

/* The text of a request that holds the diff, whatever the wire calls the member it stands in. */
static struct str find_text(const json_t *j, int depth)
{
	const char *key;
	const json_t *v;
	struct str found = STR("");
	size_t i;

	if (json_is_string(j)) {
		struct str s = json_view(j);

		return str_find(s, STR(MARK)) < s.n || str_starts(s, STR(HEAD)) ? s : STR("");
	}
	if (depth == DEPTH)
		return found;
	if (json_is_object(j))
		json_object_foreach((json_t *)j, key, v) found = found.n > 0 ? found : find_text(v, depth + 1);
	else
		json_array_foreach(j, i, v) found = found.n > 0 ? found : find_text(v, depth + 1);
	return found;
}

/* What stands before it is the person's, or in blocks of its own; the last mark is ours. */
static struct str diff_of(struct str text)
{
	size_t at;

	if (str_starts(text, STR(HEAD)))
		text = str_skip(text, sizeof(HEAD) - 1);
	while ((at = str_find(text, STR(MARK))) < text.n)
		text = str_skip(text, at + sizeof(MARK) - 1);
	return str_trim_suffix(text, STR("\n\n"));
}

void review_answer(struct redecide *d, const struct redecide_answer *a)
{
	struct str persona = str_trim_prefix(a->seat, STR("review:"));
	auto_json json_t *sent = NULL;
	struct str text;

	if (persona.n == a->seat.n)
		return;
	d->left = -1; /* a panel costs something too, and what is said later was said of what it left */
	if (d->nanswers == COUNT(d->answers)) {
		d->panel_known = false;
		return;
	}
	text = json_decode(a->sent, JSON_REPAIR, &sent, ERR_DISCARD) == 0 ? find_text(sent, 0) : STR("");
	/* One that was shown with its middle cut out: what stood there nobody can look up again. */
	d->answers[d->nanswers].cut = diff_of(text).n >= PANEL_DIFF_MAX;
	d->answers[d->nanswers].persona = str_dup(d->turn, persona);
	d->answers[d->nanswers].model = str_dup(d->turn, a->model);
	d->answers[d->nanswers].text = a->turn ? str_dup(d->turn, a->reply->text) : STR("");
	d->answers[d->nanswers].diff = str_dup(d->turn, diff_of(text));
	d->answers[d->nanswers].transcript = a->transcript;
	d->answers[d->nanswers++].read = a->turn && text.n > 0;
}

/* ---- a panel ---- */

static struct redecided start(struct redecide *d, const struct journal_line *line, struct jval ev)
{
	d->nanswers = 0;
	d->blocks = d->abstains = 0;
	d->panel_known = true;
	if (!d->looks && !str_eq(redecide_text(d, ev, "trigger"), d->settings.params.review_trigger))
		return redecided_yes(line, "no review was due by this trigger", redecide_text(d, ev, "trigger"), d->settings.params.review_trigger);
	return redecided_no();
}

static const char *const verdicts[] = { "pass", "block", "abstain" };

/* Which of the answers a seat was judged by. */
static struct redecided seat(struct redecide *d, const struct journal_line *line, struct jval ev)
{
	int64_t transcript = redecide_int(ev, "transcript");
	struct str persona = redecide_text(d, ev, "persona"), model = redecide_text(d, ev, "model"), was = redecide_text(d, ev, "verdict");
	struct panel_seat s = { .verdict = SEAT_ABSTAIN };
	bool cut = false;

	persona = str_head(persona, utf8_head(persona, 40));
	for (size_t i = 0; i < d->nanswers; i++) {
		if (!d->answers[i].read || !str_eq(d->answers[i].persona, persona) || !str_eq(d->answers[i].model, model) ||
			(transcript >= 0 && d->answers[i].transcript != transcript))
			continue;
		cut |= d->answers[i].cut;
		if (!d->answers[i].cut && panel_seat_read(d->answers[i].text, d->answers[i].diff, d->turn, &s, ERR_DISCARD) < 0)
			s.verdict = SEAT_ABSTAIN;
	}
	if (cut) {
		d->panel_known = false;
		d->left_out++;
		return redecided_no();
	}
	d->blocks += s.verdict == SEAT_BLOCK;
	d->abstains += s.verdict == SEAT_ABSTAIN;
	if (!str_eqz(was, verdicts[s.verdict]))
		return redecided_yes(line, "the reviewer's answer means something else", was, str_from(verdicts[s.verdict]));
	if (redecide_int(ev, "findings") != (int64_t)s.findings.n)
		return redecided_yes(line, "the reviewer found something else", redecide_said(d, "findings", redecide_int(ev, "findings")),
			redecide_said(d, "findings", (int64_t)s.findings.n));
	return redecided_no();
}

/* By what a panel decides: before a finish by the operator's rule until too much was sent back, else as advice. */
static enum panel_decision rule(const struct redecide *d, bool *disarmed)
{
	const struct run_params *p = &d->settings.params;
	enum panel_decision by = panel_decision_from(p->review_decision);

	*disarmed = false;
	if (d->looks)
		return by;
	if (!is_trigger(d, "before_finish"))
		return PANEL_ADVISORY;
	*disarmed = d->before.review_rejections >= p->review_max_rejections && by != PANEL_ADVISORY;
	return *disarmed ? PANEL_ADVISORY : by;
}

static struct redecided panel(struct redecide *d, const struct journal_line *line, struct jval ev)
{
	static const char *const words[] = { "advisory", "veto", "quorum", "all" };
	int64_t seats = redecide_int(jval_from(d->last[EVENT_REVIEW_START].text), "seats");
	struct panel p = { .n = seats < 0 ? 0 : (size_t)seats, .blocks = (size_t)d->blocks, .abstains = (size_t)d->abstains };
	bool disarmed, blocked = jval_get(ev, "blocked").type == JSCAN_TRUE, now;
	enum panel_decision by = rule(d, &disarmed);

	d->blocked = blocked;
	if (!d->known && !d->looks)
		return redecided_no();
	if (!jval_is(jval_get(ev, "decision"), words[by]))
		return redecided_yes(line, "the panel decides by another rule", redecide_text(d, ev, "decision"), str_from(words[by]));
	if (!d->panel_known)
		return redecided_no();
	now = panel_blocks(&p, by, d->settings.params.review_quorum);
	if (now != blocked)
		return redecided_yes(line, "the panel decided otherwise", blocked ? STR("blocked") : STR("not blocked"),
			now ? STR("blocked") : STR("not blocked"));
	if (redecide_int(ev, "n_block") != d->blocks || redecide_int(ev, "n_abstain") != d->abstains)
		return redecided_yes(line, "the panel's votes were counted otherwise", redecide_said(d, "n_block", redecide_int(ev, "n_block")),
			redecide_said(d, "n_block", d->blocks));
	return redecided_no();
}

static struct redecided skipped(struct redecide *d, const struct journal_line *line, struct jval ev)
{
	double left = budget_remaining(&d->run->caller.budget, &d->run->caller.totals), said;
	bool due = left < d->settings.params.review_budget_fraction;

	if (!d->counted || !jval_to_f64(jval_get(ev, "remaining"), &said))
		return redecided_no();
	if (due != jval_is(jval_get(ev, "reason"), "budget_fraction") || said - left > 1e-5 || left - said > 1e-5)
		return redecided_yes(line, "what is left of the budget is something else", redecide_said(d, "percent", (int64_t)(said * 100)),
			redecide_said(d, "percent", (int64_t)(left * 100)));
	return redecided_no();
}

struct redecided review_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct str text)
{
	switch (id) {
	case EVENT_REVIEW_START:
		return start(d, line, jval_from(text));
	case EVENT_REVIEW_SEAT:
		return seat(d, line, jval_from(text));
	case EVENT_REVIEW_SKIPPED:
		return skipped(d, line, jval_from(text));
	case EVENT_REVIEW_PANEL:
		return panel(d, line, jval_from(text));
	default:
		return redecided_no();
	}
}

/* ---- what followed ---- */

static struct redecided missed(const char *what)
{
	return redecided_yes(NULL, "what was due after the turn is not said", STR("nothing"), str_from(what));
}

static bool was_asked(const struct redecide *d)
{
	return d->last[EVENT_REVIEW_START].there || d->last[EVENT_REVIEW_SKIPPED].there;
}

struct redecided review_turn_again(struct redecide *d, bool went_on)
{
	bool calls = d->ncalls > 0 && !d->finish;
	bool red = d->gate.ran && !d->gate.green;
	/* A runner that is missing is no red gate, and counts as none. */
	bool counts = d->after.verify_streak != d->before.verify_streak || d->after.verify_signature != d->before.verify_signature;
	bool due = is_trigger(d, "on_verify_fail") ? red && counts
		: is_trigger(d, "periodic") && d->settings.params.review_period > 0 &&
			(d->iteration - d->before.leg_start + 1) % d->settings.params.review_period == 0;
	const struct redecide_seen *back = d->last[EVENT_REVIEW_REJECTED].there ? &d->last[EVENT_REVIEW_REJECTED] : &d->last[EVENT_REVIEW_SILENT];
	int64_t sent_back = d->before.review_rejections + back->there;

	if (d->looks)
		return redecided_no();
	if (went_on && due && calls && !was_asked(d))
		return missed("loop.review.start");
	if (!is_trigger(d, "before_finish") && was_asked(d) && (d->ncalls == 0 || d->finish ||
		(is_trigger(d, "periodic") && !due) || (is_trigger(d, "on_verify_fail") && !red)))
		return redecided_yes(d->last[EVENT_REVIEW_START].there ? &d->last[EVENT_REVIEW_START].line : &d->last[EVENT_REVIEW_SKIPPED].line,
			"it was not due", STR("a review"), STR("nothing"));
	if (back->there && !d->blocked)
		return redecided_yes(&back->line, "the panel did not block", STR("sent back"), STR("let go"));
	if (d->blocked && !back->there)
		return missed("loop.review.rejected_finish");
	if (back->there && (d->after.review_rejections != sent_back || d->after.review_streak != d->before.review_streak + 1))
		return redecided_yes(&back->line, "what reviews sent back was counted otherwise", redecide_said(d, "rejections", d->after.review_rejections),
			redecide_said(d, "rejections", sent_back));
	return redecided_no();
}

struct redecided review_end(struct redecide *d, const struct journal_line *line, enum run_reason why)
{
	bool by_gate = why == REASON_FINISH || why == REASON_SILENT_FINISH || why == REASON_RED_AT_BASE || why == REASON_GATE_STALE;

	if (d->looks && (why == REASON_BLOCKED || why == REASON_REVIEWED) && d->last[EVENT_REVIEW_PANEL].there && (why == REASON_BLOCKED) != d->blocked)
		return redecided_yes(line, "the panel decided otherwise", str_from(run_reason_word(why)), d->blocked ? STR("review_blocked") : STR("reviewed"));
	if (d->looks || !by_gate || !is_trigger(d, "before_finish"))
		return redecided_no();
	if (d->blocked)
		return redecided_yes(line, "the panel blocked this finish", str_from(run_reason_word(why)), STR("another turn"));
	if (d->known && !was_asked(d) && !d->last[EVENT_REVIEW_CAP].there)
		return redecided_yes(line, "no panel was asked before this finish", str_from(run_reason_word(why)), STR("loop.review.start"));
	return redecided_no();
}
