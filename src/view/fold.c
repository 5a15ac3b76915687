/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "view/fold_priv.h"

#include "view/brief.h"
#include "view/sentence.h"

#include "session/chain.h"
#include "session/journal.h"

#include <string.h>

static void end_fini(struct view_end *e)
{
	struct buf *const texts[] = { &e->reason, &e->message, &e->summary, &e->verified, &e->branch, &e->base_branch,
		&e->head_sha, &e->usage, &e->stale_gate, &e->files,
		&e->edited_untracked, &e->deleted_untracked, &e->gate_touched };

	for (size_t i = 0; i < COUNT(texts); i++)
		buf_fini(texts[i]);
	*e = (struct view_end){ 0 };
}

/* ---- one function per kind of event ---- */

static void begin_leg(struct view *v, struct view_item *it)
{
	struct view_state *s = &v->state;

	s->started = true;
	s->legs++;
	s->budget.usd_before += s->legs > 1 && s->budget.usd > 0 ? s->budget.usd : 0;
	s->budget.usd = -1;
	s->budget.input_before += s->budget.input;
	s->budget.output_before += s->budget.output;
	s->budget.input = s->budget.output = 0;
	s->verify_running = s->streaming = false;
	s->nbackground = 0; /* none outlives its leg */
	s->paused = s->detached = false;
	s->review_seats = s->unjudged = 0;
	prompts_drop(s); /* their ids start again */
	end_fini(&s->end);
	it->kind = VIEW_START;
	it->text = member_text(v, "user_task");
	keep_z(s->run_id, sizeof(s->run_id), member_text(v, "run_id"));
	keep_z(s->mode, sizeof(s->mode), member_text(v, "mode"));
	if (it->text.n > 0)
		keep_text(&s->task, it->text);
}

static void on_start(struct view *v, struct view_item *it)
{
	begin_leg(v, it);
	keep_text(&v->state.model, member_text(v, "model"));
	keep_text(&v->state.isolation, member_text(v, "isolation"));
	keep_text(&v->state.preset, member_text(v, "preset"));
	keep_z(v->state.start_ts, sizeof(v->state.start_ts), it->ts);
}

static void on_resume(struct view *v, struct view_item *it)
{
	begin_leg(v, it);
	it->resumed = true;
	it->code = member_int(v, "iteration", 0);
	keep_text(&v->state.preset, member_text(v, "preset"));
}

static void on_end(struct view *v, struct view_item *it)
{
	struct view_end *e = &v->state.end;

	end_fini(e);
	e->seen = true;
	keep_text(&e->reason, member_text(v, "reason"));
	keep_text(&e->message, member_text(v, "message"));
	keep_text(&e->summary, member_text(v, "summary"));
	keep_text(&e->verified, member_text(v, "verified"));
	keep_text(&e->branch, member_text(v, "branch"));
	keep_text(&e->base_branch, member_text(v, "base_branch"));
	keep_text(&e->head_sha, member_text(v, "head_sha"));
	keep_text(&e->usage, member_text(v, "usage_text"));
	keep_text(&e->stale_gate, member_text(v, "stale_gate"));
	keep_strs(v, "uncommitted_files", &e->files);
	keep_strs(v, "edited_untracked", &e->edited_untracked);
	keep_strs(v, "deleted_untracked", &e->deleted_untracked);
	keep_strs(v, "gate_touched", &e->gate_touched);
	e->all_passed = member_tri(v, "all_passed");
	e->gated = member_get(v, "verify_command").text.n > 2;
	e->iterations = member_int(v, "iterations", -1);
	e->commits = member_int(v, "commits", -1);
	e->uncommitted = member_int(v, "uncommitted", -1);
	e->exit_code = member_int(v, "exit_code", -1);
	if (member_num(v, "usd", -1) >= 0)
		v->state.budget.usd = member_num(v, "usd", -1);
	v->state.verify_running = v->state.streaming = v->state.paused = false;
	v->state.nbackground = 0;
	prompts_drop(&v->state);
	it->kind = VIEW_END;
}

static void on_role_call(struct view *v, struct view_item *it)
{
	(void)it;
	v->state.streaming = false;
	if (v->state.model.n == 0)
		keep_text(&v->state.model, member_text(v, "model"));
}

/* Only the conversation itself is shown as it streams. What other roles say is for the harness, mostly one JSON object,
 * and what came of it is told by an event of its own. */
static bool is_aside(struct view *v)
{
	return !str_eqz(member_text(v, "role"), "worker");
}

static void on_delta(struct view *v, struct view_item *it)
{
	if (is_aside(v))
		return;
	it->kind = VIEW_TEXT;
	it->role = member_text(v, "role");
	it->text = member_text(v, "text");
	v->state.streaming = true;
}

static void on_thinking(struct view *v, struct view_item *it)
{
	if (is_aside(v))
		return;
	it->kind = VIEW_THINKING;
	it->role = member_text(v, "role");
	it->text = member_text(v, "text");
}

static void on_role_result(struct view *v, struct view_item *it)
{
	if (is_aside(v) && member_flag(v, "ok"))
		return;
	it->role = member_text(v, "role");
	it->ok = member_flag(v, "ok");
	it->streamed = v->state.streaming;
	v->state.streaming = false;
	if (!it->ok) /* what becomes of it is an event of its own: another try, or the end, with the same words */
		return;
	it->kind = VIEW_REPLY;
	it->text = member_text(v, "text");
	if (str_trim(it->text).n > 0)
		keep_text(&v->state.reply, it->text);
}

static void on_budget(struct view *v, struct view_item *it)
{
	struct view_budget *b = &v->state.budget;

	(void)it;
	b->input = member_int(v, "input_total", 0);
	b->output = member_int(v, "output_total", 0);
	b->input_cap = member_int(v, "input_cap", -1);
	b->output_cap = member_int(v, "output_cap", -1);
	b->usd = member_num(v, "usd_total", -1);
	b->usd_cap = member_num(v, "usd_cap", -1);
	b->usd_partial = b->usd_partial || member_flag(v, "usd_partial"); /* sticky */
}

static void on_call(struct view *v, struct view_item *it)
{
	struct view_state *s = &v->state;
	struct view_call *c = &s->calls[s->ncalls++ % VIEW_CALLS];

	*c = (struct view_call){ 0 };
	it->kind = VIEW_CALL;
	it->name = member_text(v, "name");
	it->arg = member_brief(v, "args");
	it->whole = v->mode == VIEW_ALL ? member_whole(v, "args") : it->arg;
	it->command = jval_get(member_get(v, "args"), "argv").type == JSCAN_ARRAY;
	keep_z(c->name, sizeof(c->name), it->name);
	keep_z(c->arg, sizeof(c->arg), it->arg);
	keep_z(c->id, sizeof(c->id), member_text(v, "call_id"));
}

/* By id, else the newest unanswered one of that name. */
static struct view_call *find_call(struct view_state *s, struct str id, struct str name)
{
	struct view_call *by_name = NULL;

	for (int64_t i = s->ncalls - 1; i >= 0 && i >= s->ncalls - VIEW_CALLS; i--) {
		struct view_call *c = &s->calls[i % VIEW_CALLS];

		if (!c->done && id.n > 0 && str_eqz(str_head(id, sizeof(c->id) - 1), c->id))
			return c;
		if (!c->done && !by_name && str_eqz(name, c->name))
			by_name = c;
	}
	return by_name;
}

/* What it wrote at the end: of both streams, what fails is told on either. One alone stands in detail. */
static void tails(struct view *v, struct view_item *it)
{
	it->detail = member_text(v, "stdout_tail");
	it->errs = member_text(v, "stderr_tail");
	if (str_trim(it->detail).n == 0) {
		it->detail = it->errs;
		it->errs = STR("");
	}
}

static void on_result(struct view *v, struct view_item *it)
{
	it->kind = VIEW_RESULT;
	it->name = member_text(v, "name");
	it->ok = member_flag(v, "ok");
	it->text = member_text(v, "summary");
	tails(v, it);
	it->seconds = member_num(v, "duration_s", -1);
	it->code = member_int(v, "exit_code", 0);
	v->state.verify_running = false; /* a gate that was not let run has no end of its own */
	struct view_call *c = find_call(&v->state, member_text(v, "call_id"), it->name);

	if (!c)
		return;
	c->done = true;
	c->ok = it->ok;
	it->arg = str_from(c->arg);
}

static void on_verify_start(struct view *v, struct view_item *it)
{
	(void)it;
	v->state.verify_running = true;
}

static void on_verify(struct view *v, struct view_item *it)
{
	it->kind = VIEW_VERIFY;
	it->arg = member_brief(v, "cmd");
	it->whole = v->mode == VIEW_ALL ? member_whole(v, "cmd") : it->arg;
	it->code = member_int(v, "exit_code", -1);
	it->seconds = member_num(v, "duration_s", -1);
	it->ok = it->code == 0;
	it->timed_out = member_flag(v, "timed_out");
	tails(v, it);
	v->state.verify_seen = true;
	v->state.verify_running = false;
	v->state.verify_code = it->code;
}

static void on_commit(struct view *v, struct view_item *it)
{
	it->kind = VIEW_COMMIT;
	it->name = member_text(v, "sha");
	it->text = member_text(v, "subject");
	v->state.ncommits++;
}

/* The monitor's event: the agent's own account of it could be made up. */
static void on_steer(struct view *v, struct view_item *it)
{
	it->text = member_text(v, "text");
	if (it->text.n == 0)
		return;
	it->kind = VIEW_STEER;
	keep_text(&v->state.said, it->text);
	v->state.said_calls = v->state.ncalls;
	v->state.said_commits = v->state.ncommits;
}

static void on_parked(struct view *v, struct view_item *it)
{
	it->text = member_text(v, "reason");
	v->state.paused = str_eqz(it->text, "paused");
	it->kind = v->state.paused ? VIEW_PAUSED : VIEW_MARKER;
}

static void on_parked_resumed(struct view *v, struct view_item *it)
{
	(void)it;
	v->state.paused = false;
}

static void on_detached(struct view *v, struct view_item *it)
{
	v->state.detached = true;
	it->kind = VIEW_MARKER;
	it->text = STR("detached");
	it->detail = member_text(v, "away");
}

static void on_aside(struct view *v, struct view_item *it)
{
	it->kind = VIEW_ASIDE;
	it->arg = member_text(v, "question");
	it->text = member_text(v, "text");
}

static void on_pin(struct view *v, struct view_item *it)
{
	struct buf *b = &v->state.pinned;

	it->kind = VIEW_MARKER;
	it->name = STR("pinned");
	it->text = member_text(v, "text");
	if (b->max == 0)
		*b = BUF_MAX(TEXT_BYTES);
	if (buf_add(b, it->text, ERR_DISCARD) < 0 || buf_addc(b, '\n', ERR_DISCARD) < 0)
		return; /* it is a list for the eye; the run knows all of them */
}

/* The whole list, in place of what was known. */
static void on_pins_restored(struct view *v, struct view_item *it)
{
	(void)it;
	v->state.pins = member_int(v, "count", v->state.pins);
	keep_strs(v, "pins", &v->state.pinned);
}

static void on_restored(struct view *v, struct view_item *it)
{
	(void)it;
	v->state.elided = member_int(v, "elided", v->state.elided);
}

static void on_heartbeat(struct view *v, struct view_item *it)
{
	struct view_state *s = &v->state;

	(void)it;
	s->context_tokens = member_int(v, "context_tokens", s->context_tokens);
	s->window_tokens = member_int(v, "window_tokens", s->window_tokens);
	s->elided = member_int(v, "elided", s->elided);
	s->pins = member_int(v, "pins", s->pins);
}

/* ---- events that are one sentence to read ---- */

/* Words of the record that a person says otherwise. */
static const struct {
	const char *member, *recorded, *said; /* both as JSON */
} words[] = {
	{ "source", "\"agents_md\"", "\"AGENTS.md\"" },
	{ "source", "\"llm\"", "\"named by the reviewer's model\"" },
	{ "source", "\"pyproject\"", "\"pyproject.toml\"" },
	{ "trigger", "\"command\"", "\"asked for\"" },
	{ "trigger", "\"on_verify_fail\"", "\"the gate is red\"" },
	{ "trigger", "\"before_finish\"", "\"before the end\"" },
	{ "trigger", "\"periodic\"", "\"from time to time\"" },
};

static struct jval field_of(const void *self, struct str name)
{
	struct jval v;
	char z[64];

	keep_z(z, sizeof(z), name);
	v = member_get(self, z);
	for (size_t i = 0; i < COUNT(words); i++)
		if (strcmp(z, words[i].member) == 0 && str_eqz(v.text, words[i].recorded))
			return jval_from(str_from(words[i].said));
	return v;
}

static void on_line(struct view *v, struct view_item *it, enum event_id id)
{
	const struct sentence *sentence = sentence_of(id);
	size_t at = v->scratch.n;

	if (id == EVENT_VERIFY_INFERRED && member_get(v, "command").text.n <= 2) {
		it->kind = VIEW_MARKER;
		it->text = str_eqz(member_text(v, "source"), "commands_off") ? STR("no gate: commands may not run (sandbox.run_commands)")
			: STR("no gate: no command checks the work; set workflow.verify_command");
		return;
	}
	if (sentence && sentence_add(sentence, field_of, v, &v->scratch, ERR_DISCARD) == 0) {
		it->kind = sentence->kind;
		it->text = str_skip(buf_str(&v->scratch), at);
	}
	if (id == EVENT_RUN_NOTICE && str_eqz(member_text(v, "level"), "warning"))
		it->kind = VIEW_WARNING;
	if ((id == EVENT_RUN_PAUSE || id == EVENT_RUN_STOP) && jval_is(member_get(v, "source"), "sigint") && jval_is(member_get(v, "how"), "after the step") &&
		buf_addz(&v->scratch, "; a second Ctrl-C does not wait for it", ERR_DISCARD) == 0)
		it->text = str_skip(buf_str(&v->scratch), at);
	v->state.torn = v->state.torn || id == EVENT_RECORD_TORN;
}

/* ---- the fold ---- */

static void on_background(struct view *v, struct view_item *it)
{
	struct view_state *s = &v->state;

	on_line(v, it, EVENT_COMMAND_BACKGROUND);
	if (s->nbackground == VIEW_BACKGROUND)
		return;
	struct view_background *b = &s->background[s->nbackground++];
	keep_z(b->id, sizeof(b->id), member_text(v, "id"));
	keep_z(b->command, sizeof(b->command), member_text(v, "command"));
}

static void on_background_end(struct view *v, struct view_item *it)
{
	struct view_state *s = &v->state;
	struct str id = member_text(v, "id");

	on_line(v, it, EVENT_COMMAND_ENDED);
	for (size_t i = 0; i < s->nbackground; i++)
		if (str_eqz(id, s->background[i].id)) {
			memmove(&s->background[i], &s->background[i + 1], (--s->nbackground - i) * sizeof(s->background[0]));
			return;
		}
}

static void on_review_start(struct view *v, struct view_item *it)
{
	v->state.review_seats = member_int(v, "seats", 0);
	on_line(v, it, EVENT_REVIEW_START);
}

/* Votes that nobody gave are no verdict, whatever rule they would have been counted by. */
static void on_panel(struct view *v, struct view_item *it)
{
	struct view_state *s = &v->state;
	int64_t abstained = member_int(v, "n_abstain", 0);
	size_t at = v->scratch.n;

	s->unjudged = abstained > 0 && abstained == s->review_seats ? abstained : 0;
	if (s->unjudged == 0) {
		on_line(v, it, EVENT_REVIEW_PANEL);
		return;
	}
	BUG_IF(buf_addf(&v->scratch, ERR_DISCARD, "review: nobody judged: %lld abstained", (long long)abstained) < 0);
	it->kind = VIEW_WARNING;
	it->text = str_skip(buf_str(&v->scratch), at);
}

static const struct {
	enum event_id id;
	void (*fold)(struct view *v, struct view_item *it);
} folds[] = {
	{ EVENT_RUN_START, on_start },           { EVENT_RUN_RESUME, on_resume },
	{ EVENT_RUN_END, on_end },               { EVENT_ROLE_CALL, on_role_call },
	{ EVENT_ROLE_TEXT, on_delta },           { EVENT_ROLE_THINKING, on_thinking },
	{ EVENT_ROLE_RESULT, on_role_result },   { EVENT_BUDGET_UPDATE, on_budget },
	{ EVENT_TOOL_CALL, on_call },            { EVENT_TOOL_RESULT, on_result },
	{ EVENT_VERIFY_START, on_verify_start }, { EVENT_VERIFY_END, on_verify },
	{ EVENT_AUTO_COMMIT, on_commit },        { EVENT_APPROVAL_PROMPT, prompt_approval },
	{ EVENT_APPROVAL_ANSWER, prompt_approved },  { EVENT_QUESTION_PROMPT, prompt_question },
	{ EVENT_QUESTION_ANSWER, prompt_answers },   { EVENT_RUN_STEER, on_steer },
	{ EVENT_PARKED, on_parked },             { EVENT_PARKED_RESUMED, on_parked_resumed },
	{ EVENT_RUN_DETACHED, on_detached },     { EVENT_BTW_ANSWER, on_aside },
	{ EVENT_LOOP_BUDGET, on_heartbeat },     { EVENT_PIN_ADDED, on_pin },
	{ EVENT_PIN_RESTORED, on_pins_restored }, { EVENT_COMPACT_RESTORED, on_restored },
	{ EVENT_COMMAND_BACKGROUND, on_background }, { EVENT_COMMAND_ENDED, on_background_end },
	{ EVENT_REVIEW_START, on_review_start }, { EVENT_REVIEW_PANEL, on_panel },
};

static bool event_is_shown(enum event_id id)
{
	for (size_t i = 0; i < COUNT(folds); i++)
		if (folds[i].id == id)
			return true;
	return sentence_of(id) != NULL;
}

static bool is_wanted(const struct view *v, const struct journal_line *l, enum event_id id)
{
	if (l->kind == LINE_BAD || id == EVENT_COUNT)
		return false;
	bool delta = event_at(id)->flags & EVENT_VOLATILE;

	/* Outside the chain only deltas count: nobody can slip in an approval there. */
	return event_is_shown(id) && delta == (l->kind == LINE_VOLATILE) && !(delta && v->mode == VIEW_STATE_ONLY);
}

static void fold_one(struct view *v, struct view_item *it, enum event_id id)
{
	for (size_t i = 0; i < COUNT(folds); i++)
		if (folds[i].id == id) {
			folds[i].fold(v, it);
			return;
		}
	on_line(v, it, id);
}

struct view_item view_line(struct view *v, struct str line)
{
	struct view_item it = { .kind = VIEW_NOTHING };

	line = str_trim_suffix(line, STR("\n"));
	struct journal_line l = line_parse(line);
	enum event_id id = event_id_of(l.type);

	if (line.n > JOURNAL_LINE || !is_wanted(v, &l, id))
		return it;
	keep_z(v->state.last_ts, sizeof(v->state.last_ts), l.ts);
	buf_clear(&v->scratch);
	BUG_IF(buf_reserve(&v->scratch, 6 * line.n + WHOLE_BYTES + 4096, ERR_DISCARD) < 0);
	const char *const scratch = v->scratch.p;

	members_read(v, line);
	it.ts = l.ts;
	fold_one(v, &it, id);
	BUG_IF(v->scratch.p != scratch); /* the item's texts would dangle */
	return it;
}

struct view *view_new(enum view_mode mode)
{
	struct view *v = mem_alloc(sizeof(*v));

	v->mode = mode;
	v->scratch = BUF_MAX(8 * (size_t)JOURNAL_LINE + WHOLE_BYTES + 4096);
	v->state.budget = (struct view_budget){ .input_cap = -1, .output_cap = -1, .usd = -1, .usd_cap = -1 };
	return v;
}

void view_free(struct view *v)
{
	if (!v)
		return;
	prompts_drop(&v->state);
	end_fini(&v->state.end);
	buf_fini(&v->state.task);
	buf_fini(&v->state.model);
	buf_fini(&v->state.said);
	buf_fini(&v->state.pinned);
	buf_fini(&v->state.reply);
	buf_fini(&v->state.isolation);
	buf_fini(&v->state.preset);
	buf_fini(&v->scratch);
	free(v);
}

const struct view_state *view_state(const struct view *v)
{
	return &v->state;
}

void view_assume_started(struct view *v)
{
	v->state.started = true;
}
