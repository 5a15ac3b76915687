/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* turn: the tool calls of one turn, in order, each with exactly one result. */
#include "agent/run_priv.h"
#include "base/time.h"
#include "fmt/json.h"
#include "fmt/jscan.h"

#define PREVIEW_STR   2000        /* of one string argument, in the event */
#define PREVIEW_ANY   4000        /* of any other */
#define PREVIEW_ALL   (64 * 1024) /* of all arguments */
#define PREVIEW_NAME  200
#define SUMMARY_MAX   2000
#define IN_FLIGHT_MAX 64 /* calls named in the marker */
#define CUT_OFF_ARGS  20000
#define GATE_TAIL     2000
#define UNREACHABLE_MAX 32 /* programs that are told of as not there */
#define ANSWERED_MAX  (8 * 1024 * 1024) /* of all results of a turn; escapes may double and triple it */

void turn_notice(struct turn *t, struct str text)
{
	if (text.n > 0 && t->nnotices < loop_limits.notices)
		t->notices[t->nnotices++] = text;
}

/* ---- what the record shows of a call ---- */

/* What the model chose the length of: an event must fit the record whatever it is. */
static void note_short(struct note *n, const char *key, struct str s, size_t max)
{
	note_str(n, key, str_head(s, utf8_head(s, max)));
}

static int preview_value(struct note *n, const char *key, const json_t *v, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(TOOL_RESULT_MAX * 20);
	struct str s = json_view(v);

	if (json_is_string(v) && s.n > PREVIEW_STR) {
		TRY(buf_add_clipped(&text, s, PREVIEW_STR / 2, PREVIEW_STR / 2, err));
		note_str(n, key, buf_str(&text));
		return 0;
	}
	if (json_add(&text, v, ERR_DISCARD) < 0 || (!json_is_string(v) && text.n > PREVIEW_ANY)) {
		note_z(n, key, "(long)");
		return 0;
	}
	note_json(n, key, buf_str(&text));
	return 0;
}

static int preview_args(struct note *n, struct str args, struct err *err)
{
	auto_json json_t *j = NULL;
	auto_note struct note obj = NOTE;
	const char *key;
	json_t *value;

	if (json_decode(args, JSON_REPAIR, &j, ERR_DISCARD) == 0 && json_is_object(j))
		json_object_foreach(j, key, value) TRY(preview_value(&obj, key, value, err));
	note_json(n, "args", note_text(&obj));
	return 0;
}

int turn_note_call(struct note *n, const struct reply_call *c, struct err *err)
{
	note_short(n, "name", c->name, PREVIEW_NAME);
	TRY(preview_args(n, c->args, err));
	note_short(n, "call_id", c->id, PREVIEW_NAME);
	return 0;
}

static int put_call(struct run *r, const struct turn *t, const struct reply_call *c, struct err *err)
{
	auto_note struct note n = NOTE, m = NOTE;

	note_short(&m, "name", c->name, PREVIEW_NAME);
	note_int(&m, "iteration", t->iteration);
	TRY(note_send(&m, r->keep, EVENT_LOOP_TOOL, err));
	TRY(turn_note_call(&n, c, err));
	return note_send(&n, r->keep, EVENT_TOOL_CALL, err);
}

/* The person is told once of each program that a jail does not have; the model has it in its result. */
static int put_unreachable(struct run *r, const struct reply_call *c, const struct tool_outcome *oc, struct err *err)
{
	auto_note struct note n = NOTE;
	auto_buf struct buf b = BUF_MAX(256 * 1024);
	struct jval argv = jval_get(jval_from(c->args), "argv"), first = { 0 };
	struct str_list *l = &r->unreachable;
	size_t pos = 0;

	if (oc->job.why != JOB_UNRUNNABLE || !str_eqz(c->name, "run_command") || !jval_next(argv, &pos, NULL, &first) ||
		jval_add_text(&b, first, NUL_REPLACE, ERR_DISCARD) < 0)
		return 0;
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(l->p[i], buf_str(&b)))
			return 0;
	if (!l->p)
		l->p = arena_array(r->mem, UNREACHABLE_MAX, sizeof(*l->p));
	if (l->n == UNREACHABLE_MAX)
		return 0;
	l->p[l->n++] = str_dup(r->mem, buf_str(&b));
	note_short(&n, "binary", buf_str(&b), PREVIEW_NAME);
	return note_send(&n, r->keep, EVENT_TOOL_UNREACHABLE, err);
}

static void note_tail(struct note *n, const char *key, struct str s)
{
	s = str_tail(s, loop_limits.tail_bytes);
	if (s.n > 0)
		note_str(n, key, s);
}

static int put_result(
	struct run *r, const struct reply_call *c, const struct tool_outcome *oc, struct err *err)
{
	auto_note struct note n = NOTE;

	note_short(&n, "name", c->name, PREVIEW_NAME);
	note_bool(&n, "ok", oc->ok);
	note_short(&n, "summary",
		oc->summary.n > 0 ? oc->summary
		: oc->ok          ? STR("ok")
				  : STR("failed"),
		SUMMARY_MAX);
	note_short(&n, "call_id", c->id, PREVIEW_NAME);
	note_tail(&n, "stdout_tail", oc->out_tail);
	note_tail(&n, "stderr_tail", oc->errs_tail);
	note_tail(&n, "head_tail", oc->head);
	if (oc->lines_total > 0)
		note_int(&n, "lines_total", oc->lines_total);
	if (oc->job.why != 0) {
		note_num(&n, "duration_s", (double)oc->job.wall_ms / 1000);
		note_int(&n, "exit_code", oc->job.code);
	}
	return note_send(&n, r->keep, EVENT_TOOL_RESULT, err);
}

static int put_verify_start(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE;

	note_strs(&n, "cmd", r->st.verify_command);
	note_num(&n, "timeout_s", (double)r->tools.verify_timeout_ms / 1000);
	return note_send(&n, r->keep, EVENT_VERIFY_START, err);
}

static int put_verify_end(struct run *r, const struct job_result *job, struct err *err)
{
	auto_note struct note n = NOTE;

	note_strs(&n, "cmd", r->st.verify_command);
	note_int(&n, "exit_code", job->code);
	note_num(&n, "duration_s", (double)job->wall_ms / 1000);
	note_num(&n, "timeout_s", (double)r->tools.verify_timeout_ms / 1000);
	if (job->why == JOB_TIMEOUT)
		note_bool(&n, "timed_out", true);
	note_tail(&n, "stdout_tail", job->out);
	note_tail(&n, "stderr_tail", job->errs);
	return note_send(&n, r->keep, EVENT_VERIFY_END, err);
}

/* What a call that was not run, or could not be, gets instead of a result. */
static int add_error(struct buf *out, struct tool_outcome *oc, struct str text, struct err *err)
{
	buf_clear(out);
	oc->ok = false;
	oc->summary = text;
	TRY(buf_addz(out, "{\"error\":", err));
	TRY(json_add_quoted(out, text, err));
	return buf_addc(out, '}', err);
}

/* ---- what an outcome means for the run ---- */

static int baseline(struct run *r, struct turn *t, bool ok, struct err *err)
{
	auto_note struct note n = NOTE;
	bool changed = r->st.ever_changed != 0 || r->st.commits > 0;

	if (r->st.baseline_ok != TRI_UNKNOWN || r->st.verify_ever_passed || changed)
		return 0;
	TRY(step_is_changed(r, &changed, err));
	if (changed)
		return 0;
	r->st.baseline_ok = ok ? TRI_YES : TRI_NO;
	t->baseline = true;
	note_bool(&n, "ok", ok);
	note_int(&n, "iteration", t->iteration);
	return note_send(&n, r->keep, EVENT_BASELINE, err);
}

/* What turned the gate green after it was red may have taken effort to find: once in a run the model is reminded that
 * it can leave a note. It costs no turn. */
static int remind_of_notes(struct run *r, struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE;

	if (r->st.memory_nudged || r->notes_written > 0)
		return 0;
	r->st.memory_nudged = 1;
	turn_notice(t, STR("The verify command is green now. If you found out something on the way that a later run in this "
			   "repository should know, leave it with add_memory; otherwise go on."));
	note_int(&n, "iteration", t->iteration);
	return note_send(&n, r->keep, EVENT_MEMORY_FLIP, err);
}

/* The end of what the gate printed, for those who judge the change. */
static int keep_tail(struct run *r, const struct job_result *job, struct err *err)
{
	struct str texts[] = { str_tail(job->out, GATE_TAIL / 2), str_tail(job->errs, GATE_TAIL / 2) };

	buf_fini(&r->gate_tail);
	r->gate_tail = BUF_MAX(8 * GATE_TAIL);
	for (size_t i = 0; i < COUNT(texts); i++)
		TRY(buf_add_utf8(&r->gate_tail, texts[i], err));
	return 0;
}

static int account_verify(struct run *r, struct turn *t, const struct tool_outcome *oc, struct err *err)
{
	uint64_t sig;

	t->worked = true;
	if (!oc->verify_ok && gate_did_not_run(&oc->job)) {
		t->did_not_run = true; /* no observation of the code at all */
		return 0;
	}
	if (oc->job.why == JOB_EXITED)
		TRY(baseline(r, t, oc->verify_ok, err));
	if (oc->verify_ok && r->st.last_verify_ok == TRI_NO)
		TRY(remind_of_notes(r, t, err));
	r->st.last_verify_ok = oc->verify_ok ? TRI_YES : TRI_NO;
	r->st.edited_since_verify = 0;
	t->green = oc->verify_ok;
	t->red = !oc->verify_ok;
	TRY(keep_tail(r, &oc->job, err));
	if (oc->verify_ok) {
		r->st.verify_ever_passed = 1;
		r->st.verify_streak = 0;
		return 0;
	}
	sig = gate_signature(&oc->job);
	r->st.verify_streak = (int64_t)sig == r->st.verify_signature ? r->st.verify_streak + 1 : 1;
	r->st.verify_signature = (int64_t)sig;
	return 0;
}

static void mark_changed(struct run *r, struct turn *t)
{
	t->changed = true;
	t->green = false;
	r->st.edited_since_verify = 1;
	r->st.ever_changed = 1;
	r->st.step_open = 1;
}

/* Whether a command changed the tree only git can say; it is asked where the answer matters: without a
 * gate (each change is a step), and when the gate is green. */
static int account_command(struct run *r, struct turn *t, struct err *err)
{
	bool gateless = r->st.verify_command.n == 0;
	bool green = r->st.last_verify_ok == TRI_YES && !r->st.edited_since_verify;
	bool changed;

	if (!gateless && !green) {
		r->st.step_open = 1;
		return 0;
	}
	TRY(step_is_changed(r, &changed, err));
	if (changed)
		mark_changed(r, t);
	return 0;
}

int turn_background(struct run *r, struct turn *t, struct err *err)
{
	if (!r->background.active)
		return 0;
	r->background.active = background_running(&r->background) > 0;
	return account_command(r, t, err);
}

static int account(struct run *r, struct turn *t, const struct tool_outcome *oc, struct err *err)
{
	r->st.tool_calls++;
	r->st.ok_tool_calls += oc->ok;
	if (oc->edited) {
		mark_changed(r, t);
		t->worked = true;
		untracked_note_edits(r, &oc->paths);
	}
	if (oc->ran_command && !oc->verified)
		TRY(account_command(r, t, err));
	if (oc->verified)
		TRY(account_verify(r, t, oc, err));
	if (oc->metric)
		TRY(metric_sample(r, t, oc, err));
	if (t->worked)
		r->last_work_ms = time_mono_ms();
	r->graph_changed = r->graph_changed || oc->graph_changed;
	if (oc->finish) {
		t->finish = true;
		r->summary = str_dup(r->mem, oc->summary_text);
		r->result_json = str_dup(r->mem, oc->result_json);
		r->stale_gate = str_dup(r->mem, oc->stale_gate);
		if (oc->plan.n > 0) {
			r->result = str_dup(r->mem, oc->plan);
			r->questions = (struct str_list){ arena_array(r->mem, oc->questions.n + 1, sizeof(struct str)), 0 };
			for (size_t i = 0; i < oc->questions.n; i++)
				r->questions.p[r->questions.n++] = str_dup(r->mem, oc->questions.p[i]);
		}
	}
	return 0;
}

/* ---- one call ---- */

static int run_tool(struct run *r, struct turn *t, const struct reply_call *c, struct buf *out,
	struct tool_outcome *oc, struct err *err)
{
	const struct tool *tool = tool_find(c->name);
	bool effect = tool_may_change(&r->tools, c->name);
	/* A gate that there is not, or that may not run, is refused by the tool: it never started. */
	bool gate = tool && tool->effect == EFFECT_VERIFY && r->st.verify_command.n > 0 &&
		!str_eqz(r->p->run_commands, "no");
	int rc;

	if (effect && t->green) /* the tree that the gate saw becomes the step, not what comes after it */
		TRY(step_commit(r, t, "verify passed", err));
	if (gate)
		TRY(put_verify_start(r, err));
	if (str_eqz(c->name, "run_metric_command") && metric_is_set(r))
		TRY(metric_starts(r, err));
	if (effect)
		TRY(keep_barrier(r->keep, err));
	rc = tool_call(&r->tools, c->name, c->args, out, oc, err);
	if (rc == -ERR_STOPPED && r->links->stop == 0) /* paused: the run goes on, this call does not */
		return add_error(out, oc, STR("interrupted: the person who started this run stopped this call"), err);
	if (rc == -ERR_STOPPED) {
		run_stop_asked(r);
		return add_error(out, oc, STR("interrupted: the operator stopped the run"), err);
	}
	if (rc == -ERR_UNSUPPORTED) {
		run_stop(r, REASON_UNEXECUTABLE, str_from(err->msg));
		TRY(add_error(out, oc, str_dup(t->mem, str_from(err->msg)), err));
	} else if (rc < 0) {
		return rc;
	}
	if (gate && oc->verified) /* one that was denied, or lost, has nothing to say of the code */
		TRY(put_verify_end(r, &oc->job, err));
	if (oc->edited)
		TRY(lsp_touched(&r->lsp, oc->paths, err));
	TRY(put_unreachable(r, c, oc, err));
	return account(r, t, oc, err);
}

int turn_gate(struct run *r, struct turn *t, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct reply_call c = { .id = STR("harness"), .name = STR("run_verify_command"), .args = STR("{}") };

	return run_tool(r, t, &c, out, oc, err);
}

/* A call whose arguments are no object says so in words that help a model to do better. */
static int refuse_args(const struct reply_call *c, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	if (c->raw_args.n > CUT_OFF_ARGS)
		return add_error(out, oc,
			STR("the arguments were cut off while they were written; send a much smaller call, "
			    "in several "
			    "steps"),
			err);
	return add_error(out, oc,
		STR("the arguments were not valid JSON; send the call again with one JSON object"), err);
}

/* The same answer to the same call tells a model nothing twice; it only fills its context. */
static int shorten_repeat(struct run *r, struct buf *out, struct err *err)
{
	int64_t hash = (int64_t)run_hash(buf_str(out), STR("result"));
	bool same = r->st.same_call_streak > 1 && hash == r->st.same_result && out->n > loop_limits.stub_min;

	r->st.same_result = hash;
	if (!same)
		return 0;
	buf_clear(out);
	return buf_addz(out,
		"{\"same_as_before\":true,\"note\":\"the result is the same as that of the identical call "
		"before\"}",
		err);
}

static void add_pictures(struct turn *t, const struct reply_call *c, const struct mcp_pictures *all, struct call_result *out)
{
	struct picture *p = arena_array(t->mem, all->n + 1, sizeof(*p));

	for (size_t i = 0; i < all->n; i++) {
		p[i] = (struct picture){ str_from(all->p[i].type), all->p[i].data,
			str_printf(t->mem, "A picture from " STR_FMT ":", STR_ARG(c->name)) };
		t->answered += p[i].data.n;
	}
	out->pictures = p;
	out->npictures = all->n;
}

static int one_call(struct run *r, struct turn *t, size_t i, struct err *err)
{
	const struct reply_call *c = &t->reply.calls[i];
	auto_buf struct buf out = BUF_MAX(2 * TOOL_RESULT_MAX);
	struct tool_outcome oc = { 0 };
	bool ran = false;

	watch_call(r, c);
	TRY(put_call(r, t, c, err));
	if (r->links->stop == STOP_NOW)
		run_stop_asked(r);
	if (r->reason != REASON_NONE)
		TRY(add_error(&out, &oc, STR("not run: the run is ending"), err));
	else if (r->links->pause == TELL_PAUSE_NOW)
		TRY(add_error(&out, &oc, STR("not run: the person who started this run paused it"), err));
	else if (r->st.same_call_streak > loop_limits.same_call_stop)
		TRY(add_error(&out, &oc, STR("not run: the same call again"), err));
	else if (t->answered > ANSWERED_MAX)
		TRY(add_error(&out, &oc, STR("not run: too many results in one turn; call it again in the next"), err));
	else {
		ran = true;
		TRY(c->args_error ? refuse_args(c, &out, &oc, err) : run_tool(r, t, c, &out, &oc, err));
	}
	if (ran)
		watch_result(r, c->name, buf_str(&out), &oc);
	if (oc.waited) { /* to wait again is not to go round in a circle */
		t->waited = true;
		r->st.same_call_streak = 0;
	}
	TRY(put_result(r, c, &oc, err));
	TRY(shorten_repeat(r, &out, err));
	t->answered += out.n;
	t->results[i] = (struct call_result){
		.call_id = c->id, .text = str_dup(t->mem, buf_str(&out)), .is_error = !oc.ok
	};
	add_pictures(t, c, &oc.pictures, &t->results[i]);
	return 0;
}

/* It stands until the next checkpoint, which holds what came of them. */
static int put_in_flight(struct run *r, const struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE;
	size_t ncalls = t->reply.ncalls < IN_FLIGHT_MAX ? t->reply.ncalls : IN_FLIGHT_MAX;
	struct str_list names = { arena_array(t->mem, ncalls, sizeof(struct str)), ncalls };
	bool put = false;

	for (size_t i = 0; i < names.n; i++) {
		names.p[i] = str_head(
			t->reply.calls[i].name, utf8_head(t->reply.calls[i].name, PREVIEW_NAME));
		put = put || tool_may_change(&r->tools, t->reply.calls[i].name);
	}
	if (!put) /* nothing that could be half done */
		return 0;
	note_int(&n, "iteration", t->iteration);
	note_strs(&n, "tools", names);
	return note_put(&n, r->keep, RECORD_IN_FLIGHT, 0, "", err);
}

int turn_dispatch(struct run *r, struct turn *t, struct err *err)
{
	t->results = arena_array(t->mem, t->reply.ncalls, sizeof(*t->results));
	TRY(put_in_flight(r, t, err));
	for (size_t i = 0; i < t->reply.ncalls; i++)
		TRY(one_call(r, t, i, err));
	return 0;
}
