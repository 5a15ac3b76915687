/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* loop: turn after turn, until something says why it ends. */
#include "agent/implement.h"
#include "agent/modes.h"
#include "agent/tasks.h"

#define NOTICES_JOINED (256 * 1024)

uint64_t run_hash(struct str a, struct str b)
{
	const struct str parts[] = { a, b };
	uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

	for (size_t k = 0; k < COUNT(parts); k++) {
		for (size_t i = 0; i < parts[k].n; i++)
			h = (h ^ (unsigned char)parts[k].p[i]) * 0x100000001b3ULL;
		h = (h ^ 0xff) * 0x100000001b3ULL;
	}
	return h;
}

void run_stop(struct run *r, enum run_reason why, struct str message)
{
	if (r->reason != REASON_NONE)
		return;
	r->reason = why;
	r->message = str_dup(r->mem, message);
}

void run_stop_asked(struct run *r)
{
	bool now = r->links->stop == STOP_NOW && !r->links->aborted;

	run_stop(r, now ? REASON_INTERRUPTED : REASON_STEER_ABORT, STR(""));
}

/* ---- what is kept of a turn ---- */

static int put_heartbeat(struct run *r, const struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "iteration", t->iteration);
	note_int(&n, "input_tokens", usage_input(&r->caller.totals));
	note_int(&n, "output_tokens", usage_output(&r->caller.totals));
	note_int(&n, "context_tokens", r->st.context_tokens);
	note_int(&n, "window_tokens", context_window(r));
	note_int(&n, "elided", r->st.context_elided);
	note_int(&n, "pins", (int64_t)r->st.pins.n);
	return note_send(&n, r->keep, EVENT_LOOP_BUDGET, err);
}

int loop_put_state(struct run *r, int64_t next_iteration, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(RECORD_STATE_MAX);
	auto_arena struct arena *mem = arena_new();

	r->st.next_iteration = next_iteration;
	r->st.transcript = r->caller.transcript;
	r->st.background_last = r->background.last;
	r->st.background = r->cut_short.n > 0 ? r->cut_short : background_list(&r->background, mem);
	r->st.graph_version = r->graph ? r->graph->version : 0;
	TRY(loop_state_write(&r->st, &b, err));
	return keep_put(r->keep, RECORD_STATE, (uint32_t)next_iteration, STR(""), buf_str(&b), err);
}

static int put_last_message(struct run *r, struct err *err)
{
	size_t i = conversation_count(r->conv) - 1;

	return keep_put(r->keep, RECORD_MESSAGE, (uint32_t)i, STR(""), conversation_get(r->conv, i), err);
}

/* What ended meanwhile is told once. */
static void tell_background(struct run *r, struct turn *t)
{
	struct str_list news = background_news(&r->background, t->mem);

	for (size_t i = 0; i < news.n; i++)
		turn_notice(t,
			str_printf(t->mem, STR_FMT "\nread_background shows what it wrote last.", STR_ARG(news.p[i])));
}

/* ---- one turn ---- */

/* The last line of what the model said, to call the step by. */
static struct str last_line(struct str text)
{
	struct str last = STR("");

	while (text.n > 0) {
		struct str line = str_trim(str_line(&text));

		if (line.n > 0)
			last = line;
	}
	return last;
}

/* What came of a call that the caller gave up. */
static int no_answer(struct run *r, struct turn *t, int rc, const struct provider_fault *fault, struct err *err)
{
	if (rc == -ERR_STOPPED) {
		run_stop_asked(r);
		return 0;
	}
	if (rc == -ERR_LIMIT) {
		run_stop(r, r->caller.over_budget ? REASON_BUDGET : REASON_PROVIDER, str_from(err->msg));
		return 0;
	}
	if (rc == -ERR_REMOTE || (rc == -ERR_CLOSED && r->links->peer[PEER_CLIENT].gone)) {
		run_stop(r, REASON_PROVIDER,
			fault->hint[0] ? str_printf(t->mem, "%s (%s)", err->msg, fault->hint)
				       : str_from(err->msg));
		return 0;
	}
	return rc;
}

int loop_gave_up(struct run *r, int rc, struct err *err)
{
	const struct provider_fault none = { 0 };
	auto_arena struct arena *mem = arena_new();
	struct turn t = { .mem = mem };

	return rc < 0 ? no_answer(r, &t, rc, &none, err) : 0;
}

static bool is_overflow(int rc, const struct provider_fault *f)
{
	return rc == -ERR_REMOTE && (f->kind == FAULT_OVERFLOW || f->kind == FAULT_TOO_LARGE);
}

/* A pause gave up what was in flight; the run goes on. */
static bool is_paused(const struct run *r, int rc)
{
	return rc == -ERR_STOPPED && r->links->stop == 0;
}

/* A conversation that is too long for the model is made shorter and sent again. */
static int ask_model(struct run *r, struct turn *t, struct err *err)
{
	for (;;) {
		struct provider_fault fault = { 0 };
		bool again = false;
		int rc = caller_ask(
			&r->caller, "worker", r->conv, buf_str(&r->tools_json), t->mem, &t->reply, &fault, err);

		if (rc == 0) {
			context_answered(r, t);
			return 0;
		}
		if (is_paused(r, rc)) {
			TRY(boundary(r, t, err));
			TRY(loop_put_state(r, t->iteration, err));
			if (r->links->stop == 0)
				continue;
		}
		if (is_overflow(rc, &fault)) {
			struct err why = *err;
			int made = context_overflow(r, t, &again, err);

			TRY(is_paused(r, made) ? boundary(r, t, err) : made);
			if (again || is_paused(r, made)) {
				TRY(loop_put_state(r, t->iteration, err));
				continue;
			}
			TRY(caller_put_fatal(&r->caller, &fault, err));
			*err = why;
		}
		return no_answer(r, t, rc, &fault, err);
	}
}

/* A run without a gate looks again for one after each step: the task may have been to write the tests. */
static int adopt_gate(struct run *r, struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE, m = NOTE, w = NOTE;
	struct gate_found found;

	if (r->st.verify_command.n > 0 || !r->p->verify_infer || str_eqz(r->p->run_commands, "no"))
		return 0;
	gate_infer(r->roots[0].dirfd, &r->p->tool_paths, r->mem, &found);
	if (found.command.n == 0)
		return 0;
	r->st.verify_command = r->tools.verify_command = found.command;
	r->st.verify_origin = STR("adopted");
	r->st.last_verify_ok = TRI_UNKNOWN;
	r->st.edited_since_verify = 1;
	turn_notice(t, STR("The repository has a verify command now, and from here on it decides: call "
			   "run_verify_command "
			   "before you finish. Steps are recorded when it is green."));
	note_strs(&n, "command", found.command);
	note_z(&n, "source", found.source);
	note_int(&n, "adopted_at", t->iteration);
	TRY(note_send(&n, r->keep, EVENT_VERIFY_INFERRED, err));
	note_strs(&w, "verify_command", found.command);
	note_z(&w, "verify_origin", "adopted");
	note_json(&m, "workflow", note_text(&w));
	return note_put(&m, r->keep, RECORD_MANIFEST, 0, "", err);
}

static int record_step(struct run *r, struct turn *t, struct err *err)
{
	int64_t commits = r->st.commits;

	if (t->green) {
		TRY(step_commit(r, t, "verify passed", err));
		return turn_background(r, t, err); /* what it writes from here on the gate did not see */
	}
	TRY(turn_background(r, t, err));
	if (r->st.verify_command.n > 0 || !t->changed)
		return 0;
	TRY(step_commit(r, t, "edits", err));
	return r->st.commits > commits ? adopt_gate(r, t, err) : 0;
}

static int join_notices(const struct turn *t, struct buf *out, struct err *err)
{
	for (size_t i = 0; i < t->nnotices; i++) {
		TRY(buf_addz(out, i > 0 ? "\n\n" : "", err));
		TRY(buf_add(out, t->notices[i], err));
	}
	return 0;
}

/* Results first, then what the harness and the person have to say, in one message. */
static int answer_model(struct run *r, struct turn *t, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(NOTICES_JOINED);

	if (t->reply.ncalls > 0) {
		TRY(conversation_add_results(
			r->conv, t->results, t->reply.ncalls, t->notices, t->nnotices, err));
		return put_last_message(r, err);
	}
	if (t->nnotices == 0)
		return 0;
	TRY(join_notices(t, &text, err));
	TRY(conversation_add_user(r->conv, buf_str(&text), err));
	return put_last_message(r, err);
}

/* ---- what goes on after an end ---- */

/* Ends that a standing goal absorbs: not those of budgets, faults and the person. */
static bool is_soft(enum run_reason why)
{
	static const enum run_reason soft[] = { REASON_FINISH, REASON_SILENT_FINISH, REASON_SETTLED, REASON_VERIFY_SETTLED, REASON_METRIC_PLATEAU,
		REASON_RED_AT_BASE, REASON_GATE_STALE, REASON_WENT_QUIET, REASON_NO_PROGRESS };

	for (size_t i = 0; i < COUNT(soft); i++)
		if (why == soft[i])
			return true;
	return false;
}

static int put_standing(struct run *r, const struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE;

	note_z(&n, "reason", run_reason_word(r->reason));
	note_int(&n, "iteration", t->iteration);
	return note_send(&n, r->keep, EVENT_STANDING_RESUMED, err);
}

/* The task is done, or nothing moves any more: the run goes on with its standing goal. */
static int absorb(struct run *r, struct turn *t, struct err *err)
{
	int64_t worked = r->st.tool_calls - r->st.standing_mark - t->finish;

	if (r->st.standing.n == 0 || !is_soft(r->reason))
		return 0;
	r->st.standing_fruitless = worked > 0 || r->st.standing_rounds == 0 ? 0 : r->st.standing_fruitless + 1;
	if (r->p->standing_patience >= 0 && r->st.standing_fruitless > r->p->standing_patience)
		return 0;
	TRY(put_standing(r, t, err));
	r->reason = REASON_NONE;
	r->message = STR("");
	r->st.standing_rounds++;
	r->st.standing_mark = r->st.tool_calls;
	r->st.idle = r->st.quiet_streak = r->st.verify_streak = r->st.finish_gated = r->st.silent_nudges = 0;
	turn_notice(t, str_printf(t->mem, "That part is over. This run has a standing goal and goes on with it:\n" STR_FMT,
			STR_ARG(r->st.standing)));
	return 0;
}

/* With a person who wants to see each step, a step and words without a call are where the run waits. */
static void wait_after_step(struct run *r, int64_t commits)
{
	if (!r->p->interactive)
		return;
	if (r->reason == REASON_SILENT_FINISH)
		r->reason = REASON_NONE;
	else if (r->st.commits == commits)
		return;
	r->links->pause = TELL_PAUSE;
}

/* Up to the model's answer. -ERR_STOPPED: the operator wants out before there is one. */
static int ask_turn(struct run *r, struct turn *t, struct err *err)
{
	int rc;

	TRY(put_heartbeat(r, t, err));
	do {
		TRY(boundary(r, t, err));
		if (r->links->stop != 0)
			return err_set(err, ERR_STOPPED, "the operator stopped the run");
		rc = context_keep(r, t, err);
	} while (is_paused(r, rc));
	TRY(rc);
	TRY(loop_put_state(r, t->iteration, err));
	return ask_model(r, t, err);
}

static int one_turn(struct run *r, struct turn *t, struct err *err)
{
	int64_t commits = r->st.commits;
	int rc = ask_turn(r, t, err);

	if (rc == -ERR_STOPPED)
		run_stop_asked(r);
	else
		TRY(rc);
	if (r->reason != REASON_NONE)
		return 0; /* nothing of a turn that did not come whole is kept */
	r->iterations = t->iteration;
	t->prose = last_line(t->reply.text);
	t->was_good = watch_is_good(r);
	if (t->reply.message.n > 0) {
		TRY(conversation_add(r->conv, t->reply.message, err));
		TRY(put_last_message(r, err));
	}
	if (t->reply.ncalls > 0) {
		TRY(turn_dispatch(r, t, err));
		TRY(record_step(r, t, err));
		TRY(metric_auto(r, t, err));
		TRY(review_turn(r, t, err));
		TRY(watch_turn(r, t, err));
		TRY(watch_finish(r, t, err));
		TRY(tasks_turn(r, t, err));
		TRY(modes_turn(r, t, err));
		TRY(implement_turn(r, t, err));
	} else {
		TRY(turn_background(r, t, err));
		TRY(watch_quiet(r, t, err));
	}
	TRY(absorb(r, t, err));
	if (r->reason == REASON_NONE)
		tell_background(r, t);
	if (r->reason == REASON_NONE || r->reason == REASON_SILENT_FINISH)
		TRY(boundary_steers(r, t, err));
	if (r->reason == REASON_SILENT_FINISH && t->nnotices > 0) /* the person is not done yet */
		r->reason = REASON_NONE;
	wait_after_step(r, commits);
	TRY(answer_model(r, t, err));
	if (r->links->stop != 0)
		run_stop_asked(r);
	return 0;
}

static int tell_cut_short(struct run *r, struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE;
	auto_buf struct buf b = BUF_MAX(16384);

	TRY(buf_addz(&b, "ended with the last leg: ", err));
	for (size_t i = 0; i < r->cut_short.n; i++) {
		TRY(buf_addz(&b, i > 0 ? "; " : "", err));
		TRY(buf_add(&b, r->cut_short.p[i], err));
	}
	turn_notice(t, str_printf(t->mem, "Commands that ran in the background " STR_FMT ". Start again what you still need.",
			       STR_ARG(buf_str(&b))));
	r->cut_short = (struct str_list){ 0 };
	note_z(&n, "level", "info");
	note_str(&n, "text", str_printf(t->mem, "in the background, " STR_FMT, STR_ARG(buf_str(&b))));
	return note_send(&n, r->keep, EVENT_RUN_NOTICE, err);
}

/* A resumed conversation hears what changed and what the person wants now, before the first call. It must
 * not end with the model's own words: there would be nothing to answer. */
static int reopen(struct run *r, struct turn *t, struct err *err)
{
	size_t n = conversation_count(r->conv);

	if (!r->p->resume)
		return 0;
	if (r->gate_swapped)
		turn_notice(t, r->st.verify_command.n > 0
				       ? STR("The run was resumed with another verify command; "
					     "run_verify_command runs the new one.")
				       : STR("The run was resumed without a verify command."));
	if (r->p->pins.n > 0)
		turn_notice(t, context_pins_text(r, t->mem));
	if (r->cut_short.n > 0)
		TRY(tell_cut_short(r, t, err));
	if (r->p->context.n > 0 && !implement_is_on(r)) /* there it is the planner's, or of no more use */
		turn_notice(t, str_trim(r->p->context));
	for (size_t i = 0; i < r->said.n; i++)
		turn_notice(t, str_printf(t->mem, "The run was resumed: " STR_FMT ".", STR_ARG(r->said.p[i])));
	TRY(boundary_steers(r, t, err));
	if (t->nnotices == 0 && n > 0 && !conversation_is_user(r->conv, n - 1))
		turn_notice(t, STR("The run was resumed. Go on with the task."));
	TRY(answer_model(r, t, err));
	t->nnotices = 0;
	return 0;
}

/* A failure of ours, as the reason of the run's end. Whose death it was the monitor sees too, and says the
 * same: either may be first. */
static void stop_by_error(struct run *r, const struct err *err)
{
	static const struct {
		enum peer peer;
		enum run_reason why;
		const char *message;
	} deaths[] = {
		{ PEER_ZYGOTE, REASON_JAIL_LOST, "the process that runs commands died" },
		{ PEER_GIT, REASON_JAIL_LOST, "the process that runs git died" },
		{ PEER_CLIENT, REASON_PROVIDER, "the process that talks to the provider died" },
	};

	if (r->keep->lost) {
		run_stop(r, REASON_RECORD_LOST, str_from(err->msg));
		return;
	}
	for (size_t i = 0; i < COUNT(deaths); i++)
		if (r->links->peer[deaths[i].peer].gone)
			run_stop(r, deaths[i].why, str_from(deaths[i].message)); /* the first reason stays */
	if (r->git_late.n > 0)
		run_stop(r, REASON_GIT_OVERDUE, r->git_late);
	run_stop(r, REASON_CRASHED, str_from(err->msg));
}

int loop_failed(struct run *r, int rc, const struct err *why, struct err *err)
{
	(void)err;
	if (rc == -ERR_STOPPED)
		run_stop_asked(r);
	else if (rc == -ERR_LIMIT && r->caller.over_budget)
		run_stop(r, REASON_BUDGET, str_from(why->msg));
	else if (rc == -ERR_REMOTE)
		run_stop(r, REASON_PROVIDER, str_from(why->msg));
	else
		stop_by_error(r, why);
	return 0;
}

int loop_turns(struct run *r, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct err why = { 0 };

	for (int64_t i = r->st.next_iteration; r->reason == REASON_NONE; i++) {
		struct turn t = { .mem = mem, .iteration = i };

		if (r->p->max_iterations >= 0 && i - r->st.leg_start >= r->p->max_iterations) {
			run_stop(r, REASON_MAX_ITERATIONS,
				str_printf(r->mem, "the limit is %lld turn%s", (long long)r->p->max_iterations,
					r->p->max_iterations == 1 ? "" : "s"));
			break;
		}
		arena_reset(mem);
		r->tools.mem = mem;
		t.notices = arena_array(mem, loop_limits.notices, sizeof(*t.notices));
		if ((i > r->st.leg_start || reopen(r, &t, &why) == 0) && one_turn(r, &t, &why) == 0) {
			if (r->git_late.n > 0)
				run_stop(r, REASON_GIT_OVERDUE, r->git_late);
			continue;
		}
		if (r->links->peer[PEER_MONITOR].gone)
			return err_set(err, ERR_CLOSED, "%s", why.msg);
		stop_by_error(r, &why);
	}
	return 0;
}
