/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* boundary: what the person said, between two turns: words for the model, questions beside the work, a wish for a
 * smaller context, and waiting while the run is paused. The conversation ends with the user here, and nothing is
 * in flight. */
#include "agent/prompt.h"
#include "agent/run_priv.h"
#include "agent/sides.h"

#define ANSWER_SHOWN 40000 /* of an answer beside the work, in its event */
#define QUESTION_MAX 16384

/* "/pin TEXT": the word stands alone at the very beginning. */
static bool is_directive(struct str text, const char *word)
{
	struct str rest = str_trim_prefix(text, str_from(word));

	return rest.n < text.n && (rest.n == 0 || strchr(" \t\n", rest.p[0]));
}

static int put_steer(struct run *r, struct str text, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "chars", (int64_t)text.n);
	note_str(&n, "text", text);
	return note_send(&n, r->keep, EVENT_STEER_INJECTED, err);
}

/* The loop has come to where it listens. */
static int put_heard(struct run *r, const struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "iteration", t->iteration);
	return note_send(&n, r->keep, EVENT_STEER_REQUESTED, err);
}

static int put_asked(struct run *r, struct str focus, struct err *err)
{
	auto_note struct note n = NOTE;

	note_str(&n, "focus", focus);
	return note_send(&n, r->keep, EVENT_COMPACT_REQUESTED, err);
}

static int put_notice(struct run *r, const char *text, struct err *err)
{
	auto_note struct note n = NOTE;

	note_z(&n, "level", "warning");
	note_z(&n, "text", text);
	return note_send(&n, r->keep, EVENT_RUN_NOTICE, err);
}

/* "/skill NAME ...", or "/NAME ..." where there is such a skill: the model is given its text behind the person's words.
 * A name of "/skill" that is none is told to the person, and the words go to nobody. */
static int add_skill(struct run *r, struct turn *t, struct str text, bool *wrong, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(CHAN_BODY_MAX);
	struct str rest = text, word = str_cut(&rest, ' ');
	bool asked = str_eqz(word, "/skill");
	struct str name = asked ? str_cut(&rest, ' ') : str_trim_prefix(word, STR("/"));
	const struct skill *k = str_starts(text, STR("/")) ? skills_find(&r->skills, name) : NULL;

	*wrong = asked && !k;
	if (*wrong)
		return put_notice(r, "there is no such skill; agent6 skills list shows which there are", err);
	if (!k)
		return 0;
	TRY(prompt_skill(r->p, k, &b, err));
	turn_notice(t, str_printf(t->mem, "The skill that the person names, their own instructions:\n" STR_FMT, STR_ARG(buf_str(&b))));
	return 0;
}

int boundary_steers(struct run *r, struct turn *t, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(CHAN_BODY_MAX);

	bool heard = false;

	TRY(links_pump(r->links, 0, err));
	while (links_take_steer(r->links, &b)) {
		struct str text = str_trim(buf_str(&b));

		if (text.n == 0)
			continue;
		if (!heard)
			TRY(put_heard(r, t, err));
		heard = true;
		if (is_directive(text, "/pin")) {
			TRY(context_pin(r, t, str_skip(text, 4), err));
			continue;
		}
		bool wrong = false;

		TRY(add_skill(r, t, text, &wrong, err));
		if (wrong)
			continue;
		turn_notice(t, str_printf(t->mem, PERSON_SAYS STR_FMT, STR_ARG(text)));
		TRY(put_steer(r, text, err));
	}
	if (!r->links->crowded)
		return 0;
	r->links->crowded = false;
	return put_notice(r, "more was said at once than a run keeps; the last words are lost", err);
}

/* ---- beside the work ---- */

static int put_aside(struct run *r, struct str question, struct str text, struct err *err)
{
	auto_note struct note n = NOTE;

	note_str(&n, "question", question);
	note_str(&n, "text", str_head(text, utf8_head(text, ANSWER_SHOWN)));
	return note_send(&n, r->keep, EVENT_BTW_ANSWER, err);
}

/* The question stands behind the last message for one call, so that the cache serves the rest, and is taken away
 * again: neither it nor the answer is part of the run. */
static int ask_aside(struct run *r, struct turn *t, struct str question, struct err *err)
{
	size_t n = conversation_count(r->conv), last = n - 1;
	struct str before = str_dup(t->mem, conversation_get(r->conv, last));
	bool answered = !conversation_is_user(r->conv, last);
	struct str words = str_printf(t->mem, "A question of the person beside the work. Answer it in a few sentences from what "
		"you know, and call no tool; it changes nothing about your task:\n" STR_FMT, STR_ARG(question));
	struct provider_fault fault = { 0 };
	struct reply reply = { 0 };
	struct err why = { 0 };
	int rc;

	TRY(answered ? conversation_add_user(r->conv, words, err) : conversation_append(r->conv, words, err));
	r->caller.no_calls = true;
	rc = caller_ask(&r->caller, "btw", r->conv, buf_str(&r->tools_json), t->mem, &reply, &fault, &why);
	r->caller.no_calls = false;
	conversation_truncate(r->conv, n);
	if (!answered)
		TRY(conversation_replace(r->conv, last, before, err));
	if (rc == -ERR_STOPPED && r->links->stop == 0)
		return put_aside(r, question, STR("(given up)"), err);
	if (rc == -ERR_REMOTE || rc == -ERR_LIMIT)
		return put_aside(r, question, str_printf(t->mem, "(no answer: %s)", why.msg), err);
	if (rc < 0) {
		*err = why;
		return rc;
	}
	reply.text = str_trim(reply.text);
	return put_aside(r, question, reply.text.n > 0 ? reply.text : STR("(no answer)"), err);
}

static int serve_tells(struct run *r, struct turn *t, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(CHAN_BODY_MAX);
	enum wire_tell what;

	while (r->links->stop == 0 && links_take_tell(r->links, &what, &b)) {
		struct str text = str_trim(buf_str(&b));

		if (what == TELL_COMPACT) {
			TRY(context_ask(&r->context, text, err));
			TRY(put_asked(r, buf_str(&r->context.focus), err));
		} else if (text.n > 0)
			TRY(ask_aside(r, t, str_dup(t->mem, str_head(text, utf8_head(text, QUESTION_MAX))), err));
	}
	return 0;
}

/* ---- waiting ---- */

static int put_parked(struct run *r, const struct turn *t, const char *reason, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "iteration", t->iteration);
	note_z(&n, "reason", reason);
	TRY(note_send(&n, r->keep, EVENT_PARKED, err));
	return keep_barrier(r->keep, err);
}

static int put_resumed(struct run *r, const struct turn *t, struct err *err)
{
	auto_note struct note n = NOTE;

	note_int(&n, "iteration", t->iteration);
	return note_send(&n, r->keep, EVENT_PARKED_RESUMED, err);
}

static int wait_for_person(struct run *r, struct turn *t, struct err *err)
{
	TRY(put_parked(r, t, "paused", err));
	while (r->links->pause && r->links->stop == 0) {
		r->links->pause = TELL_PAUSE; /* nothing is in flight any more */
		TRY(serve_tells(r, t, err));
		if (r->context.asked) { /* at once: the person watches */
			int rc = context_keep(r, t, err);

			TRY(rc == -ERR_STOPPED && r->links->stop == 0 ? 0 : rc); /* given up: the pause stays */
		}
		TRY(boundary_steers(r, t, err)); /* pins */
		if (r->links->pause && r->links->stop == 0 && r->links->tells.n == 0)
			TRY(links_pump(r->links, -1, err));
	}
	return put_resumed(r, t, err);
}

/* The model must have something to answer; what it has not answered yet gets the words behind it. */
static int add_notices(struct run *r, struct turn *t, struct err *err)
{
	size_t last = conversation_count(r->conv) - 1;
	bool answered = !conversation_is_user(r->conv, last);

	if (answered && t->nnotices == 0)
		turn_notice(t, STR("Go on with the task."));
	if (t->nnotices == 0)
		return 0;
	if (answered) {
		last++;
		TRY(conversation_add_results(r->conv, NULL, 0, t->notices, t->nnotices, err));
	} else {
		for (size_t i = 0; i < t->nnotices; i++)
			TRY(conversation_append(r->conv, t->notices[i], err));
		TRY(keep_put(r->keep, RECORD_RESTART, (uint32_t)last, STR(""), STR(""), err));
	}
	t->nnotices = 0;
	return keep_put(r->keep, RECORD_MESSAGE, (uint32_t)last, STR(""), conversation_get(r->conv, last), err);
}

int boundary(struct run *r, struct turn *t, struct err *err)
{
	TRY(links_pump(r->links, 0, err));
	TRY(serve_tells(r, t, err));
	if (r->links->pause)
		TRY(wait_for_person(r, t, err));
	TRY(boundary_steers(r, t, err));
	return add_notices(r, t, err);
}

const struct side side_btw = { "btw", CONFIG_WORKER, "on /btw QUESTION", "the conversation as it is, and the question", NULL, NULL, 0 };
