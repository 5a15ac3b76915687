/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* review_gate: a panel judges what a run has changed so far. Before a finish it may hold that back; after a red gate, or
 * every so many turns, the model is told what was found and nothing else follows. */
#include "agent/panel.h"

#include "agent/modes.h"
#include "agent/run_priv.h"

#define STREAK_MAX  2 /* finishes sent back in a row: said twice and not heeded, the person decides */
#define RAISED_MAX  20
#define RAISED_LINE 300
#define TOLD_MAX    10 /* findings that the person is shown of one panel */
#define DIFF_MAX    (4 * 1024 * 1024)
#define ADVICE_MAX  (64 * 1024)

static bool is_trigger(const struct run *r, const char *word)
{
	return str_eqz(r->p->review_trigger, word);
}

static int put_skipped(struct run *r, const struct turn *t, const char *why, double left, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "iteration", t->iteration);
	note_z(&n, "reason", why);
	note_str(&n, "trigger", r->p->review_trigger);
	note_num(&n, "remaining", left);
	return note_send(&n, r->keep, EVENT_REVIEW_SKIPPED, err);
}

/* All that differs from where the run began, committed or not, without what was the person's. Of a change that is longer
 * than any seat could read the beginning: its length must not keep it from being judged. */
static int change_so_far(struct run *r, struct turn *t, struct buf *out, struct err *err)
{
	const struct str_list *skip = r->left_out.n > 0 ? &r->left_out : &r->untracked;
	struct str patch;

	if (!r->repo)
		return 0;
	if (r->st.base_sha.n > 0) {
		TRY(repo_diff_work(r->repo, r->st.base_sha, false, t->mem, &patch, err));
		TRY(buf_add_utf8(out, str_head(patch, utf8_head(patch, DIFF_MAX / 2)), err));
	}
	int rc = review_untracked(r, skip, t->mem, out, err);

	return rc == -ERR_LIMIT ? 0 : rc;
}

static struct str raised_line(const struct finding *f, struct arena *mem)
{
	return str_printf(mem, "%s " STR_FMT ": " STR_FMT, finding_categories[f->category],
		STR_ARG(str_head(f->path, utf8_head(f->path, RAISED_LINE / 2))),
		STR_ARG(str_head(f->title, utf8_head(f->title, RAISED_LINE / 2))));
}

/* The same place and kind was told before. */
static bool was_raised(const struct run *r, const struct finding *f, struct arena *mem)
{
	struct str line = raised_line(f, mem), key = str_head(line, str_find(line, STR(": ")));

	for (size_t i = 0; i < r->st.review_raised.n; i++)
		if (str_starts(r->st.review_raised.p[i], key))
			return true;
	return false;
}

static void raise(struct run *r, struct str line)
{
	struct str_list *l = &r->st.review_raised;
	struct str *next = arena_array(r->mem, RAISED_MAX, sizeof(*next));
	size_t from = l->n < RAISED_MAX ? 0 : 1, n = 0;

	for (size_t i = from; i < l->n; i++)
		next[n++] = l->p[i];
	next[n++] = str_dup(r->mem, line);
	*l = (struct str_list){ next, n };
}

/* Each new finding is shown to the person, and written down for the next panel. */
static int tell_person(struct run *r, struct turn *t, const struct panel *p, struct err *err)
{
	size_t told = 0;

	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->seats[i].findings.n; k++) {
			const struct finding *f = (const struct finding *)p->seats[i].findings.p + k;
			auto_note struct note n = NOTE;

			if (!f->grounded || f->severity == SEVERITY_NIT || was_raised(r, f, t->mem) || ++told > TOLD_MAX)
				continue;
			raise(r, raised_line(f, t->mem));
			note_z(&n, "level", f->severity == SEVERITY_BLOCK ? "warning" : "info");
			note_str(&n, "text", str_printf(t->mem, "review: " STR_FMT, STR_ARG(raised_line(f, t->mem))));
			TRY(note_send(&n, r->keep, EVENT_RUN_NOTICE, err));
		}
	return 0;
}

static struct str verify_words(const struct run *r, struct arena *mem)
{
	if (r->st.verify_command.n == 0)
		return STR("there is no verify command");
	if (r->st.edited_since_verify || r->st.last_verify_ok == TRI_UNKNOWN)
		return STR("not run on these files");
	if (r->st.last_verify_ok == TRI_YES)
		return STR("green on these files");
	return str_printf(mem, "red on these files; the end of what it printed:\n" STR_FMT, STR_ARG(buf_str(&r->gate_tail)));
}

/* False: there is nothing to judge, or no budget for it, and that is on record. */
static int ask_panel(struct run *r, struct turn *t, enum panel_decision decision, bool disarmed, struct panel *out, bool *asked,
	struct err *err)
{
	auto_buf struct buf agents = BUF_MAX(256 * 1024), diff = BUF_MAX(DIFF_MAX), raised = BUF_MAX(RAISED_MAX * 2 * RAISED_LINE);
	double left = budget_remaining(&r->caller.budget, &r->caller.totals);
	struct panel_ask ask = { .task = r->st.original_task, .personas = r->p->review_seats, .decision = decision,
		.disarmed = disarmed, .quorum = r->p->review_quorum, .trigger = r->p->review_trigger, .iteration = t->iteration,
		.at_once = r->p->review_concurrency, .explore = str_eqz(r->p->review_tier, "explore") };

	*asked = false;
	if (left < r->p->review_budget_fraction)
		return put_skipped(r, t, "budget_fraction", left, err);
	TRY(change_so_far(r, t, &diff, err));
	if (str_trim(buf_str(&diff)).n == 0)
		return put_skipped(r, t, "no_diff", left, err);
	ask.diff = buf_str(&diff);
	if (gate_read(r->roots[0].dirfd, "AGENTS.md", &agents))
		ask.rules = buf_str(&agents);
	for (size_t i = 0; i < r->st.review_raised.n; i++)
		TRY(buf_addf(&raised, err, "- " STR_FMT "\n", STR_ARG(r->st.review_raised.p[i])));
	ask.raised = buf_str(&raised);
	ask.verify = verify_words(r, t->mem);
	int rc = panel_run(r, &ask, t->mem, out, err);

	*asked = rc == 0;
	if (rc == -ERR_STOPPED && r->links->stop == 0) /* a pause gave it up; the run goes on */
		return put_skipped(r, t, "interrupted", left, err);
	return loop_gave_up(r, rc, err);
}

/* ---- advice ---- */

static size_t worth_telling(const struct run *r, const struct panel *p, struct arena *mem)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->seats[i].findings.n; k++) {
			const struct finding *f = (const struct finding *)p->seats[i].findings.p + k;

			n += f->grounded && f->severity != SEVERITY_NIT && !was_raised(r, f, mem);
		}
	return n;
}

static struct str report(const char *head, const struct panel *p, struct arena *mem)
{
	auto_buf struct buf text = BUF_MAX(ADVICE_MAX);

	if (buf_addz(&text, head, ERR_DISCARD) < 0 || panel_markdown(p, &text, ERR_DISCARD) < 0)
		(void)!buf_addz(&text, "...\n", ERR_DISCARD); /* what fits is what is told */
	return str_dup(mem, buf_str(&text));
}

int review_turn(struct run *r, struct turn *t, struct err *err)
{
	bool due = is_trigger(r, "on_verify_fail") ? t->red
		: is_trigger(r, "periodic") && (t->iteration - r->st.leg_start + 1) % r->p->review_period == 0;
	struct panel p;
	bool asked;

	if (!due || r->reason != REASON_NONE || t->finish || mode_looks(r))
		return 0;
	TRY(ask_panel(r, t, PANEL_ADVISORY, false, &p, &asked, err));
	if (!asked || worth_telling(r, &p, t->mem) == 0)
		return 0;
	turn_notice(t, report("A review of your change so far, to be weighed and not obeyed:\n\n", &p, t->mem));
	return tell_person(r, t, &p, err);
}

/* ---- before a run may finish ---- */

static int send_back(struct run *r, struct turn *t, const struct panel *p, bool silent, struct err *err)
{
	auto_note struct note n = NOTE;

	r->st.review_streak++;
	r->st.review_rejections++;
	turn_notice(t, report("Not finished: a review of your change blocks it. Fix what it points at, or say in finish_run why it "
		"is wrong.\n\n", p, t->mem));
	note_int(&n, "iteration", t->iteration);
	return note_send(&n, r->keep, silent ? EVENT_REVIEW_SILENT : EVENT_REVIEW_REJECTED, err);
}

static int put_capped(struct run *r, const struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE;

	r->st.review_capped = 1;
	note_int(&n, "iteration", t->iteration);
	note_int(&n, "rejections", r->st.review_rejections);
	return note_send(&n, r->keep, EVENT_REVIEW_CAP, err);
}

int review_gate(struct run *r, struct turn *t, bool silent, bool *rejected, struct err *err)
{
	enum panel_decision decision = panel_decision_from(r->p->review_decision);
	bool disarmed = r->st.review_rejections >= r->p->review_max_rejections, asked;
	struct panel p;

	*rejected = false;
	if (!is_trigger(r, "before_finish"))
		return 0;
	if (r->st.review_streak >= STREAK_MAX)
		return put_capped(r, t, err);
	if (disarmed && decision != PANEL_ADVISORY && !r->st.review_capped)
		TRY(put_capped(r, t, err));
	TRY(ask_panel(r, t, disarmed ? PANEL_ADVISORY : decision, disarmed && decision != PANEL_ADVISORY, &p, &asked, err));
	if (!asked && r->links->pause && r->reason == REASON_NONE) {
		*rejected = true;
		turn_notice(t, STR("Not finished: the person interrupted the review. Call finish_run again when there is nothing more to do."));
	}
	if (!asked)
		return 0;
	TRY(tell_person(r, t, &p, err));
	*rejected = p.blocked;
	if (p.blocked)
		return send_back(r, t, &p, silent, err);
	r->st.review_streak = 0;
	r->st.review_rejections -= r->st.review_rejections > 0 && !disarmed;
	return 0;
}
