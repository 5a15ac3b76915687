/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "view/fold.h"

#include "view/brief.h"
#include "view/sentence.h"

#include "fmt/jscan.h"
#include "session/chain.h"
#include "session/journal.h"

#include <stdio.h>
#include <string.h>

#define MEMBERS_MAX 48
#define TEXT_BYTES  8192 /* of one kept text */

struct view {
	enum view_mode mode;
	struct view_state state;
	struct buf scratch; /* decoded texts of the current item */
	size_t nmembers;
	struct {
		struct str key; /* without quotes */
		struct jval value;
	} members[MEMBERS_MAX];
};

/* ---- members of the current line ---- */

static void read_members(struct view *v, struct str line)
{
	struct jval obj = jval_from(line), key, value;

	v->nmembers = 0;
	for (size_t pos = 0; v->nmembers < MEMBERS_MAX && jval_next(obj, &pos, &key, &value);) {
		v->members[v->nmembers].key = str_of(key.text.p + 1, key.text.n - 2);
		v->members[v->nmembers++].value = value;
	}
}

static struct jval get(const struct view *v, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < v->nmembers; i++)
		if (v->members[i].key.n == n && memcmp(v->members[i].key.p, name, n) == 0)
			return v->members[i].value;
	return (struct jval){ .type = JSCAN_NONE };
}

/* scratch was reserved for the whole line, so earlier views into it stay where they are. */
static struct str text(struct view *v, const char *name)
{
	struct jval j = get(v, name);
	size_t at = v->scratch.n;

	if (j.type != JSCAN_STRING || jval_add_text(&v->scratch, j, NUL_KEEP, ERR_DISCARD) < 0)
		return STR("");
	jtext_repair(&v->scratch, at);
	return str_skip(buf_str(&v->scratch), at);
}

static int64_t integer(const struct view *v, const char *name, int64_t dflt)
{
	int64_t n;

	return jval_to_i64(get(v, name), &n) ? n : dflt;
}

static double number(const struct view *v, const char *name, double dflt)
{
	double d;

	return jval_to_f64(get(v, name), &d) ? d : dflt;
}

static bool flag(const struct view *v, const char *name)
{
	return get(v, name).type == JSCAN_TRUE;
}

static enum tri tri(const struct view *v, const char *name)
{
	struct jval j = get(v, name);

	return j.type == JSCAN_TRUE ? TRI_TRUE : j.type == JSCAN_FALSE ? TRI_FALSE : TRI_NULL;
}

static struct str brief_member(struct view *v, const char *name)
{
	size_t at = v->scratch.n;

	if (brief_args(get(v, name), &v->scratch, ERR_DISCARD) < 0)
		return STR("");
	return str_skip(buf_str(&v->scratch), at);
}

/* ---- keeping ---- */

static void keep(struct buf *b, struct str s)
{
	if (b->max == 0)
		*b = BUF_MAX(TEXT_BYTES);
	buf_clear(b);
	BUG_IF(buf_add(b, str_head(s, utf8_head(s, TEXT_BYTES)), ERR_DISCARD) < 0);
}

static void keep_z(char *to, size_t size, struct str s)
{
	snprintf(to, size, STR_FMT, STR_ARG(str_head(s, utf8_head(s, size - 1))));
}

static void drop_prompts(struct view_state *s)
{
	for (size_t i = 0; i < s->nprompts; i++)
		buf_fini(&s->prompts[i].text);
	s->nprompts = 0;
}

static void end_fini(struct view_end *e)
{
	struct buf *const texts[] = { &e->reason, &e->message, &e->summary, &e->verified, &e->branch, &e->base_branch,
		&e->head_sha, &e->usage, &e->stale_gate, &e->files };

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
	drop_prompts(s); /* their ids start again */
	end_fini(&s->end);
	it->kind = VIEW_START;
	it->text = text(v, "user_task");
	keep_z(s->run_id, sizeof(s->run_id), text(v, "run_id"));
	keep_z(s->mode, sizeof(s->mode), text(v, "mode"));
	if (it->text.n > 0)
		keep(&s->task, it->text);
}

static void on_start(struct view *v, struct view_item *it)
{
	begin_leg(v, it);
	keep(&v->state.model, text(v, "model"));
	keep(&v->state.isolation, text(v, "isolation"));
	keep(&v->state.preset, text(v, "preset"));
	keep_z(v->state.start_ts, sizeof(v->state.start_ts), it->ts);
}

static void on_resume(struct view *v, struct view_item *it)
{
	begin_leg(v, it);
	it->resumed = true;
	it->code = integer(v, "iteration", 0);
	keep(&v->state.preset, text(v, "preset"));
}

static void keep_strs(struct view *v, const char *name, struct buf *out)
{
	struct jval list = get(v, name), item;

	if (out->max == 0)
		*out = BUF_MAX(TEXT_BYTES);
	buf_clear(out);
	for (size_t pos = 0; jval_next(list, &pos, NULL, &item);)
		if (jval_add_text(out, item, NUL_REPLACE, ERR_DISCARD) < 0 || buf_addc(out, '\n', ERR_DISCARD) < 0)
			return;
}

static void on_end(struct view *v, struct view_item *it)
{
	struct view_end *e = &v->state.end;

	end_fini(e);
	e->seen = true;
	keep(&e->reason, text(v, "reason"));
	keep(&e->message, text(v, "message"));
	keep(&e->summary, text(v, "summary"));
	keep(&e->verified, text(v, "verified"));
	keep(&e->branch, text(v, "branch"));
	keep(&e->base_branch, text(v, "base_branch"));
	keep(&e->head_sha, text(v, "head_sha"));
	keep(&e->usage, text(v, "usage_text"));
	keep(&e->stale_gate, text(v, "stale_gate"));
	keep_strs(v, "uncommitted_files", &e->files);
	e->all_passed = tri(v, "all_passed");
	e->iterations = integer(v, "iterations", -1);
	e->commits = integer(v, "commits", -1);
	e->uncommitted = integer(v, "uncommitted", -1);
	e->exit_code = integer(v, "exit_code", -1);
	if (number(v, "usd", -1) >= 0)
		v->state.budget.usd = number(v, "usd", -1);
	v->state.verify_running = v->state.streaming = v->state.paused = false;
	v->state.nbackground = 0;
	drop_prompts(&v->state);
	it->kind = VIEW_END;
}

static void on_role_call(struct view *v, struct view_item *it)
{
	(void)it;
	v->state.streaming = false;
	if (v->state.model.n == 0)
		keep(&v->state.model, text(v, "model"));
}

/* Only the conversation itself is shown as it streams. What other roles say is for the harness, mostly one JSON object,
 * and what came of it is told by an event of its own. */
static bool is_aside(struct view *v)
{
	return !str_eqz(text(v, "role"), "worker");
}

static void on_delta(struct view *v, struct view_item *it)
{
	if (is_aside(v))
		return;
	it->kind = VIEW_TEXT;
	it->role = text(v, "role");
	it->text = text(v, "text");
	v->state.streaming = true;
}

static void on_thinking(struct view *v, struct view_item *it)
{
	if (is_aside(v))
		return;
	it->kind = VIEW_THINKING;
	it->role = text(v, "role");
	it->text = text(v, "text");
}

static void on_role_result(struct view *v, struct view_item *it)
{
	if (is_aside(v) && flag(v, "ok"))
		return;
	it->role = text(v, "role");
	it->ok = flag(v, "ok");
	it->streamed = v->state.streaming;
	v->state.streaming = false;
	if (!it->ok) /* what becomes of it is an event of its own: another try, or the end, with the same words */
		return;
	it->kind = VIEW_REPLY;
	it->text = text(v, "text");
	if (str_trim(it->text).n > 0)
		keep(&v->state.reply, it->text);
}

static void on_budget(struct view *v, struct view_item *it)
{
	struct view_budget *b = &v->state.budget;

	(void)it;
	b->input = integer(v, "input_total", 0);
	b->output = integer(v, "output_total", 0);
	b->input_cap = integer(v, "input_cap", -1);
	b->output_cap = integer(v, "output_cap", -1);
	b->usd = number(v, "usd_total", -1);
	b->usd_cap = number(v, "usd_cap", -1);
	b->usd_partial = b->usd_partial || flag(v, "usd_partial"); /* sticky */
}

static void on_call(struct view *v, struct view_item *it)
{
	struct view_state *s = &v->state;
	struct view_call *c = &s->calls[s->ncalls++ % VIEW_CALLS];

	*c = (struct view_call){ 0 };
	it->kind = VIEW_CALL;
	it->name = text(v, "name");
	it->arg = brief_member(v, "args");
	keep_z(c->name, sizeof(c->name), it->name);
	keep_z(c->arg, sizeof(c->arg), it->arg);
	keep_z(c->id, sizeof(c->id), text(v, "call_id"));
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

static void on_result(struct view *v, struct view_item *it)
{
	it->kind = VIEW_RESULT;
	it->name = text(v, "name");
	it->ok = flag(v, "ok");
	it->text = text(v, "summary");
	it->detail = text(v, "stderr_tail");
	if (it->detail.n == 0)
		it->detail = text(v, "stdout_tail");
	it->seconds = number(v, "duration_s", -1);
	it->code = integer(v, "exit_code", 0);
	v->state.verify_running = false; /* a gate that was not let run has no end of its own */
	struct view_call *c = find_call(&v->state, text(v, "call_id"), it->name);

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
	it->arg = brief_member(v, "cmd");
	it->code = integer(v, "exit_code", -1);
	it->seconds = number(v, "duration_s", -1);
	it->ok = it->code == 0;
	it->detail = text(v, "stderr_tail");
	if (str_trim(it->detail).n == 0)
		it->detail = text(v, "stdout_tail");
	v->state.verify_seen = true;
	v->state.verify_running = false;
	v->state.verify_code = it->code;
}

static void on_commit(struct view *v, struct view_item *it)
{
	it->kind = VIEW_COMMIT;
	it->name = text(v, "sha");
	it->text = text(v, "subject");
	v->state.ncommits++;
}

static struct view_prompt *add_prompt(struct view *v, struct view_item *it, bool question)
{
	struct view_state *s = &v->state;

	it->name = text(v, "id");
	if (s->nprompts == VIEW_PROMPTS || it->name.n >= sizeof(s->prompts[0].id))
		return NULL;
	struct view_prompt *p = &s->prompts[s->nprompts++];
	*p = (struct view_prompt){ .question = question, .text = BUF_MAX(64 * 1024) };
	keep_z(p->id, sizeof(p->id), it->name);
	return p;
}

static void on_prompt(struct view *v, struct view_item *it)
{
	struct view_prompt *p = add_prompt(v, it, false);

	it->kind = VIEW_PROMPT;
	it->text = text(v, "prompt");
	if (p)
		BUG_IF(buf_add(&p->text, str_head(it->text, p->text.max), ERR_DISCARD) < 0);
}

/* A newline in a question would make an option of it. */
static int add_line(struct buf *b, struct jval s, const char *indent)
{
	size_t at;

	TRY(buf_addz(b, indent, ERR_DISCARD));
	at = b->n;
	TRY(jval_add_text(b, s, NUL_REPLACE, ERR_DISCARD));
	for (size_t i = at; i < b->n; i++)
		if (b->p[i] == '\n')
			b->p[i] = ' ';
	return buf_addc(b, '\n', ERR_DISCARD);
}

static void on_question(struct view *v, struct view_item *it)
{
	struct view_prompt *p = add_prompt(v, it, true);
	struct jval list = get(v, "questions"), q, option;

	it->kind = VIEW_QUESTION;
	for (size_t pos = 0; p && jval_next(list, &pos, NULL, &q);) {
		if (add_line(&p->text, jval_get(q, "question"), "") < 0)
			return;
		p->nquestions++;
		for (size_t at = 0; jval_next(jval_get(q, "options"), &at, NULL, &option);)
			if (add_line(&p->text, option, " ") < 0)
				return;
	}
}

static void answered(struct view *v, struct view_item *it)
{
	struct view_state *s = &v->state;
	size_t i = 0;

	it->kind = VIEW_ANSWER;
	it->name = text(v, "id");
	while (i < s->nprompts && !str_eqz(it->name, s->prompts[i].id))
		i++;
	if (i == s->nprompts)
		return;
	buf_fini(&s->prompts[i].text);
	memmove(&s->prompts[i], &s->prompts[i + 1], (s->nprompts - i - 1) * sizeof(s->prompts[0]));
	s->nprompts--;
}

/* Who answered, as a person would say it. */
static struct str who_answered(struct str source)
{
	static const struct {
		const char *source, *words;
	} known[] = { { "frontend", "by you" }, { "away", "nobody is there" }, { "withdrawn", "the command is over" } };

	for (size_t i = 0; i < COUNT(known); i++)
		if (str_eqz(source, known[i].source))
			return str_from(known[i].words);
	return source;
}

static void on_approval(struct view *v, struct view_item *it)
{
	answered(v, it);
	it->ok = flag(v, "approved");
	it->text = it->ok ? STR("allowed") : STR("refused");
	it->detail = who_answered(text(v, "source"));
}

static void on_answers(struct view *v, struct view_item *it)
{
	answered(v, it);
	it->ok = true;
	it->text = brief_member(v, "answers");
	it->detail = who_answered(text(v, "source"));
}

/* The monitor's event: the agent's own account of it could be made up. */
static void on_steer(struct view *v, struct view_item *it)
{
	it->text = text(v, "text");
	if (it->text.n == 0)
		return;
	it->kind = VIEW_STEER;
	keep(&v->state.said, it->text);
	v->state.said_calls = v->state.ncalls;
	v->state.said_commits = v->state.ncommits;
}

static void on_parked(struct view *v, struct view_item *it)
{
	it->text = text(v, "reason");
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
	it->detail = text(v, "away");
}

static void on_aside(struct view *v, struct view_item *it)
{
	it->kind = VIEW_ASIDE;
	it->arg = text(v, "question");
	it->text = text(v, "text");
}

static void on_pin(struct view *v, struct view_item *it)
{
	struct buf *b = &v->state.pinned;

	it->kind = VIEW_MARKER;
	it->name = STR("pinned");
	it->text = text(v, "text");
	if (b->max == 0)
		*b = BUF_MAX(TEXT_BYTES);
	if (buf_add(b, it->text, ERR_DISCARD) < 0 || buf_addc(b, '\n', ERR_DISCARD) < 0)
		return; /* it is a list for the eye; the run knows all of them */
}

/* The whole list, in place of what was known. */
static void on_pins_restored(struct view *v, struct view_item *it)
{
	(void)it;
	v->state.pins = integer(v, "count", v->state.pins);
	keep_strs(v, "pins", &v->state.pinned);
}

static void on_restored(struct view *v, struct view_item *it)
{
	(void)it;
	v->state.elided = integer(v, "elided", v->state.elided);
}

static void on_heartbeat(struct view *v, struct view_item *it)
{
	struct view_state *s = &v->state;

	(void)it;
	s->context_tokens = integer(v, "context_tokens", s->context_tokens);
	s->window_tokens = integer(v, "window_tokens", s->window_tokens);
	s->elided = integer(v, "elided", s->elided);
	s->pins = integer(v, "pins", s->pins);
}

/* ---- events that are one sentence to read ---- */

static struct jval field_of(const void *self, struct str name)
{
	char z[64];

	keep_z(z, sizeof(z), name);
	return get(self, z);
}

static void on_line(struct view *v, struct view_item *it, enum event_id id)
{
	const struct sentence *sentence = sentence_of(id);
	size_t at = v->scratch.n;

	if (id == EVENT_VERIFY_INFERRED && get(v, "command").text.n <= 2) /* none was found: nothing to tell */
		return;
	if (sentence && sentence_add(sentence, field_of, v, &v->scratch, ERR_DISCARD) == 0) {
		it->kind = sentence->kind;
		it->text = str_skip(buf_str(&v->scratch), at);
	}
	if (id == EVENT_RUN_NOTICE && str_eqz(text(v, "level"), "warning"))
		it->kind = VIEW_WARNING;
	if ((id == EVENT_RUN_PAUSE || id == EVENT_RUN_STOP) && jval_is(get(v, "source"), "sigint") && jval_is(get(v, "how"), "after the step") &&
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
	keep_z(b->id, sizeof(b->id), text(v, "id"));
	keep_z(b->command, sizeof(b->command), text(v, "command"));
}

static void on_background_end(struct view *v, struct view_item *it)
{
	struct view_state *s = &v->state;
	struct str id = text(v, "id");

	on_line(v, it, EVENT_COMMAND_ENDED);
	for (size_t i = 0; i < s->nbackground; i++)
		if (str_eqz(id, s->background[i].id)) {
			memmove(&s->background[i], &s->background[i + 1], (--s->nbackground - i) * sizeof(s->background[0]));
			return;
		}
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
	{ EVENT_AUTO_COMMIT, on_commit },        { EVENT_APPROVAL_PROMPT, on_prompt },
	{ EVENT_APPROVAL_ANSWER, on_approval },  { EVENT_QUESTION_PROMPT, on_question },
	{ EVENT_QUESTION_ANSWER, on_answers },   { EVENT_RUN_STEER, on_steer },
	{ EVENT_PARKED, on_parked },             { EVENT_PARKED_RESUMED, on_parked_resumed },
	{ EVENT_RUN_DETACHED, on_detached },     { EVENT_BTW_ANSWER, on_aside },
	{ EVENT_LOOP_BUDGET, on_heartbeat },     { EVENT_PIN_ADDED, on_pin },
	{ EVENT_PIN_RESTORED, on_pins_restored }, { EVENT_COMPACT_RESTORED, on_restored },
	{ EVENT_COMMAND_BACKGROUND, on_background }, { EVENT_COMMAND_ENDED, on_background_end },
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
	BUG_IF(buf_reserve(&v->scratch, 6 * line.n + 4096, ERR_DISCARD) < 0);
	const char *const scratch = v->scratch.p;

	read_members(v, line);
	it.ts = l.ts;
	fold_one(v, &it, id);
	BUG_IF(v->scratch.p != scratch); /* the item's texts would dangle */
	return it;
}

struct view *view_new(enum view_mode mode)
{
	struct view *v = mem_alloc(sizeof(*v));

	v->mode = mode;
	v->scratch = BUF_MAX(8 * (size_t)JOURNAL_LINE + 4096);
	v->state.budget = (struct view_budget){ .input_cap = -1, .output_cap = -1, .usd = -1, .usd_cap = -1 };
	return v;
}

void view_free(struct view *v)
{
	if (!v)
		return;
	drop_prompts(&v->state);
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
