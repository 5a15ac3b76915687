/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* redecide_context: whether the conversation had to be made shorter before a request, and how: the code that did it does it
 * again on the conversation as it was, with the summary that stands in the record. Events and result must be the same. */
#include "agent/redecide_priv.h"

static bool is_compaction(enum event_id id)
{
	static const enum event_id all[] = { EVENT_COMPACT_DEDUPED, EVENT_COMPACT_DROPPED, EVENT_COMPACT_GISTS, EVENT_COMPACT_PICTURES, EVENT_COMPACT_THINKING,
		EVENT_COMPACT_SUMMARISE, EVENT_COMPACT_SUMMARISED, EVENT_COMPACT_FAILED, EVENT_COMPACT_REFUSED };

	for (size_t i = 0; i < COUNT(all); i++)
		if (all[i] == id)
			return true;
	return false;
}

void compact_forget(struct redecide *d)
{
	d->compact.n = 0;
	d->by_hand = d->waited_for = d->gave_up = d->has_note = false;
	d->note = STR("");
}

void compact_event(struct redecide *d, enum event_id id, const struct journal_line *line, struct str text)
{
	if (is_compaction(id))
		*vec_new(&d->compact) = (struct redecide_seen){ true, *line, text };
	d->waited_for |= id == EVENT_PARKED;
	if (id == EVENT_COMPACT_REQUESTED) {
		d->pending = true;
		d->focus = str_dup(d->leg, redecide_text(d, jval_from(text), "focus"));
	}
}

/* ---- the run that decides again ---- */

struct sink {
	struct redecide *d;
	size_t next; /* of the recorded events */
	struct redecided found;
};

static struct str type_of(struct str line)
{
	return line.n > 0 ? line_parse(line).type : STR("nothing");
}

/* What the code says, against what stands next in the record. */
static int on_keep(void *self, enum record_what what, uint32_t arg, struct str name, struct str json, struct err *err)
{
	struct sink *s = self;
	const struct redecide_seen *was = s->next < s->d->compact.n ? &s->d->compact.p[s->next] : NULL;

	(void)arg;
	(void)err;
	if (what != RECORD_EVENT || s->found.differs || !is_compaction(event_id_of(name)))
		return 0;
	s->next++;
	if (!was)
		s->found = redecided_yes(NULL, "the conversation had to be made shorter", STR("nothing"), str_dup(s->d->turn, name));
	else if (!str_eq(was->line.type, name))
		s->found = redecided_yes(&was->line, "the conversation was made shorter in another way", type_of(was->text),
			str_dup(s->d->turn, name));
	else if (!str_eqz(name, event_at(EVENT_COMPACT_FAILED)->type)) /* why it failed is the provider's word */
		s->found = redecide_same(s->d->turn, &was->line, was->text, json, "the conversation was made shorter in another way");
	return 0;
}

static int play_note(void *self, const char *role, struct arena *mem, struct reply *out, struct err *err)
{
	struct redecide *d = self;

	if (!d->has_note)
		return err_set(err, ERR_REMOTE, "the %s gave no answer", role);
	out->text = str_dup(mem, d->note);
	return 0;
}

static int build(const struct redecide_answer *a, struct run *r, struct err *err)
{
	r->conv = conversation_new();
	TRY(conversation_set_prompt(r->conv, a->system, a->tools, err));
	for (size_t i = 0; i < (a->before ? a->nbefore : conversation_count(a->conv)); i++)
		TRY(conversation_add(r->conv, a->before ? a->before[i] : conversation_get(a->conv, i), err));
	return 0;
}

static struct redecided compare(const struct redecide *d, const struct journal_line *line, const struct conversation *was,
	const struct conversation *now)
{
	size_t n = conversation_count(was), m = conversation_count(now);
	/* While the person watched, words of theirs may have come behind it. */
	size_t same = d->waited_for ? 1 : n > m ? n : m;

	for (size_t i = 0; i < same; i++) {
		struct str a = i < n ? conversation_get(was, i) : STR(""), b = i < m ? conversation_get(now, i) : STR("");

		if (!str_eq(a, b))
			return redecided_yes(line, "the conversation was made shorter to something else", a, str_dup(d->turn, b));
	}
	return redecided_no();
}

static int shorten(struct redecide *d, struct run *r, struct err *err)
{
	struct turn t = { .mem = d->turn, .iteration = d->iteration, .notices = arena_array(d->turn, loop_limits.notices, sizeof(struct str)) };
	bool again;

	if (d->overflowed)
		return context_overflow(r, &t, &again, err);
	if (d->by_hand)
		TRY(context_ask(&r->context, d->focus, err));
	return context_keep(r, &t, err);
}

static struct redecided run_again(struct redecide *d, const struct journal_line *line, const struct redecide_answer *a)
{
	struct sink s = { .d = d };
	struct run *r = d->run;
	struct err why = { 0 };
	struct redecided found;

	r->keep->sink = on_keep;
	r->keep->sink_self = &s;
	r->caller.play = play_note;
	r->caller.play_self = d;
	r->graph = d->graph;
	if (build(a, r, &why) < 0 || shorten(d, r, &why) < 0)
		found = redecided_yes(line, "the conversation cannot be made shorter again", STR(""), str_dup(d->turn, str_from(why.msg)));
	else if (s.found.differs)
		found = s.found;
	else if (s.next < d->compact.n)
		found = redecided_yes(&d->compact.p[s.next].line, "the conversation did not have to be made shorter",
			type_of(d->compact.p[s.next].text), STR("nothing"));
	else
		found = compare(d, line, a->conv, r->conv);
	conversation_free(r->conv);
	r->conv = NULL;
	r->graph = NULL;
	return found;
}

/* ---- what the record holds of it ---- */

static size_t count(const struct redecide *d, enum event_id id)
{
	size_t n = 0;

	for (size_t i = 0; i < d->compact.n; i++)
		n += event_id_of(d->compact.p[i].line.type) == id;
	return n;
}

bool redecide_set_aside(const struct redecide *d)
{
	return count(d, EVENT_COMPACT_DEDUPED) + count(d, EVENT_COMPACT_DROPPED) + count(d, EVENT_COMPACT_GISTS) > 0;
}

/* A summary that began without anything being set aside before it, while the person wanted one. When they said so is theirs. */
static void look_for_hand(struct redecide *d)
{
	enum event_id first;

	if (!d->pending || d->compact.n == 0)
		return;
	first = event_id_of(d->compact.p[0].line.type);
	d->by_hand = first == EVENT_COMPACT_SUMMARISE || first == EVENT_COMPACT_REFUSED;
	d->pending = !d->by_hand;
}

static struct redecided before_request(struct redecide *d, const struct journal_line *line, const struct redecide_answer *a)
{
	struct run *r = d->run;
	struct redecided found = redecided_no();
	bool due;

	look_for_hand(d);
	r->conv = a->conv;
	r->context.asked = false;
	due = d->compact.n > 0 || d->overflowed || context_is_due(r);
	r->conv = NULL;
	if (d->gave_up || !d->known || count(d, EVENT_COMPACT_SUMMARISE) > 1)
		d->left_out += d->compact.n > 0;
	else if (due)
		found = run_again(d, line, a);
	d->overflowed = false;
	return found;
}

static bool is_overflow(struct str outcome)
{
	return str_eqz(outcome, provider_fault_name(FAULT_OVERFLOW)) || str_eqz(outcome, provider_fault_name(FAULT_TOO_LARGE));
}

struct redecided compact_answer(struct redecide *d, const struct journal_line *line, const struct redecide_answer *a)
{
	struct redecided found = redecided_no();

	if (str_eqz(a->seat, "summarizer")) {
		d->has_note = a->turn;
		d->note = a->turn ? str_dup(d->leg, a->reply->text) : STR("");
		d->gave_up |= str_eqz(a->outcome, provider_fault_name(FAULT_STOPPED));
	}
	if (!str_eqz(a->seat, "worker") || !a->conv)
		return found;
	/* The same request once more, after a fault: it was looked at before. */
	if (d->compact.n > 0 || d->overflowed || d->fresh)
		found = before_request(d, line, a);
	d->fresh = false;
	compact_forget(d);
	if (is_overflow(a->outcome))
		d->overflowed = true;
	else if (a->turn)
		d->run->context.refused = 0;
	return found;
}
