/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* resume: a run goes on where its newest checkpoint stands. */
#include "agent/modes.h"
#include "agent/tasks.h"
#include "fmt/json.h"
#include "fmt/pack.h"

#define LOADED_MAX ((size_t)1024 * 1024 * 1024)

int resume_ask(struct run *r, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(16);

	pack_u32(&body, UINT32_MAX);
	TRY(pack_ok(&body, err));
	return links_send(r->links, PEER_RECORDER, WIRE_LOAD, buf_str(&body), NULL, 0, err);
}

static int load(struct run *r, struct buf *bytes, struct err *err)
{
	while (!r->keep->loaded)
		TRY(links_wait(r->links, PEER_RECORDER, -1, err));
	if (!r->keep->found)
		return err_set(err, ERR_NOENT, "this run cannot go on: " STR_FMT,
			STR_ARG(r->keep->why.n > 0 ? buf_str(&r->keep->why) : STR("it has no checkpoint")));
	return memfd_read(r->keep->loaded_fd, bytes, err);
}

#define SAID_MAX 8

void resume_say(struct run *r, struct str text)
{
	if (!r->said.p)
		r->said.p = arena_array(r->mem, SAID_MAX, sizeof(*r->said.p));
	if (r->said.n < SAID_MAX)
		r->said.p[r->said.n++] = str_dup(r->mem, text);
}

static int put_said(struct run *r, struct err *err)
{
	for (size_t i = 0; i < r->said.n; i++) {
		auto_note struct note n = NOTE;

		note_z(&n, "level", "warning");
		note_str(&n, "text", r->said.p[i]);
		TRY(note_send(&n, r->keep, EVENT_RUN_NOTICE, err));
	}
	return 0;
}

#define ASKED_MAX 5 /* times, when what is said is neither of the two */

/* Whoever is there decides whether it goes on over that; nothing said is a no. */
static int ask_to_go_on(struct run *r, struct str what, struct err *err)
{
	struct str choices[] = { STR("go on"), STR("stop") };
	struct str_list options = { choices, COUNT(choices) }, answers;
	auto_arena struct arena *mem = arena_new();
	struct str question = str_printf(mem, STR_FMT ". Go on?", STR_ARG(what));
	bool answered;

	for (int i = 0; i < ASKED_MAX && r->p->attended; i++) {
		TRY(asks_put(&r->asks, &question, &options, 1, mem, &answers, &answered, err));
		if (answered && (str_eq(answers.p[0], choices[0]) || str_eqz(answers.p[0], "yes") || str_eqz(answers.p[0], "y")))
			return 0;
		if (!answered || answers.p[0].n == 0 || str_eq(answers.p[0], choices[1]))
			break;
		if (i == 0)
			question = str_printf(mem, "not understood: 1 or 2. " STR_FMT, STR_ARG(question));
	}
	if (r->p->attended)
		run_stop(r, REASON_REFUSED, STR("nothing was gone on with: see what was done, then resume again"));
	return 0;
}

/* Tools were at work when the end came. Their turn is asked for anew, and nobody knows how far they came. */
static int tell_in_flight(struct run *r, struct str marker, struct err *err)
{
	auto_json json_t *j = NULL;
	auto_buf struct buf b = BUF_MAX(8192);
	const json_t *list;

	if (marker.n == 0 || json_decode(marker, JSON_REPAIR, &j, ERR_DISCARD) < 0)
		return 0;
	list = json_object_get(j, "tools");
	TRY(buf_addz(&b, "the last leg was cut off while these were called: ", err));
	for (size_t i = 0; i < json_array_size(list) && b.n < 1024; i++) {
		TRY(buf_addz(&b, i > 0 ? ", " : "", err));
		TRY(buf_add_utf8(&b, json_view(json_array_get(list, i)), err));
	}
	TRY(buf_addz(&b, "; some of it may be done already, so look before it is done again", err));
	resume_say(r, buf_str(&b));
	return ask_to_go_on(r, buf_str(&b), err);
}

/* What is counted in a row belongs to the leg that ended over it. */
static void forget_streaks(struct loop_state *st)
{
	st->quiet_streak = st->same_call = st->same_call_streak = st->same_call_noted = 0;
	st->error_streak = st->verify_streak = st->idle = 0;
	st->silent_nudges = st->question_nudged = st->finish_gated = 0;
	st->review_streak = st->review_capped = 0;
	st->task_gated = st->budget_nudged = st->stagnation_nudged = st->broken_nudged = st->background_nudged = 0;
}

static int restore_messages(struct run *r, const struct record_loaded *l, struct err *err)
{
	size_t first = 0;
	int changed;

	r->conv = conversation_new();
	for (size_t i = 0; i < l->nmessages; i++)
		if (conversation_add(r->conv, l->messages[i], err) < 0)
			return err_wrap(err, "message %zu of the record", i);
	changed = conversation_repair(r->conv, &first, err);
	TRY(changed);
	if (changed == 0)
		return 0;
	TRY(keep_put(r->keep, RECORD_RESTART, (uint32_t)first, STR(""), STR(""), err));
	for (size_t i = first; i < conversation_count(r->conv); i++)
		TRY(keep_put(
			r->keep, RECORD_MESSAGE, (uint32_t)i, STR(""), conversation_get(r->conv, i), err));
	return 0;
}

/* The person may have worked on the files meanwhile. */
static int look_at_tree(struct run *r, struct err *err)
{
	bool changed;

	if (!r->repo || mode_looks(r))
		return 0;
	TRY(r->st.forked ? step_exclude_later(r, &changed, err) : step_exclude_new(r, &changed, err));
	r->st.forked = r->st.ended = 0;
	r->st.step_open = changed;
	if (changed)
		r->st.edited_since_verify = 1;
	return 0;
}

static int put_resume(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE;

	note_str(&n, "run_id", r->p->run_id);
	note_str(&n, "mode", r->p->mode);
	note_int(&n, "iteration", r->st.next_iteration);
	note_int(&n, "messages", (int64_t)conversation_count(r->conv));
	note_str(&n, "user_task", r->st.original_task);
	if (r->p->preset.n > 0)
		note_str(&n, "preset", r->p->preset);
	return note_send(&n, r->keep, EVENT_RUN_RESUME, err);
}

/* The plan was changed by hand, and it is the person's from here on. */
static int put_reread(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE;

	if (r->p->plan_reread <= 0)
		return 0;
	note_z(&n, "path", "plan.md");
	note_int(&n, "bytes", r->p->plan_reread);
	return note_send(&n, r->keep, EVENT_PLAN_REREAD, err);
}

/* The first request of this leg is the like of the last one that was answered: its tokens for its bytes, none of them taken to be cached
 * still. They are no measure of what another model's server leaves out. */
static void foresee(struct run *r)
{
	if (r->st.context_bytes <= 0 || r->st.context_tokens <= 0)
		return;
	r->caller.forecast = (struct usage_forecast){ (size_t)r->st.context_bytes,
		{ .known = USAGE_INPUT, .input = r->st.context_tokens, .estimated = true } };
}

int resume_load(struct run *r, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf bytes = BUF_MAX(LOADED_MAX);
	struct record_loaded l;

	TRY(load(r, &bytes, err));
	TRY(record_loaded_unpack(buf_str(&bytes), mem, &l, err));
	TRY(loop_state_read(l.state, r->mem, &r->st, err));
	r->st.leg_start = r->st.next_iteration;
	r->iterations = r->st.next_iteration - 1;
	/* Transcripts of the turn that was cut off may have been written already. */
	r->caller.transcript = (uint32_t)r->st.transcript + RETRY_ATTEMPTS;
	r->background.last = r->st.background_last;
	r->cut_short = r->st.background;
	foresee(r);
	forget_streaks(&r->st);
	TRY(step_check_chain(r, err));
	if (r->reason != REASON_NONE)
		return 0;
	TRY(tell_in_flight(r, l.in_flight, err));
	if (r->reason != REASON_NONE)
		return 0;
	TRY(step_scan_ahead(r, err));
	TRY(tasks_open(r, l.graph, err));
	TRY(restore_messages(r, &l, err));
	TRY(look_at_tree(r, err));
	TRY(put_resume(r, err));
	TRY(context_put_restored(r, err));
	TRY(put_reread(r, err));
	return put_said(r, err);
}

/* The gate of the last leg stays unless the operator configured another one since. */
int resume_gate(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE;
	struct str_list was = r->st.verify_command, now = was;

	if (mode_looks(r) && !str_eqz(r->p->mode, "plan")) /* it has none, whatever is configured */
		return 0;
	if (str_eqz(r->p->run_commands, "no"))
		now = (struct str_list){ 0 };
	else if (r->p->verify_command.n > 0)
		now = r->p->verify_command;
	if (now.n == was.n) {
		size_t i = 0;

		while (i < now.n && str_eq(now.p[i], was.p[i]))
			i++;
		if (i == now.n)
			return 0;
	}
	r->st.verify_command = now;
	r->st.verify_origin = now.n > 0 ? STR("configured") : STR("");
	r->st.last_verify_ok = r->st.baseline_ok = TRI_UNKNOWN;
	r->st.edited_since_verify = 1;
	r->gate_swapped = true;
	note_strs(&n, "was", was);
	note_strs(&n, "now", now);
	return note_send(&n, r->keep, EVENT_VERIFY_SWAPPED, err);
}
