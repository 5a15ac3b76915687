/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/context_priv.h"

#define BYTES_PER_TOKEN  4.0   /* until a server has counted, */
#define RATIO_MIN        1.0   /* and where what it counted cannot be true */
#define RATIO_MAX        8.0
#define DROP_FALLBACK    256000 /* bytes, where the window is not known */
#define SUMMARY_FALLBACK 768000
#define DROP_SHARE       0.45   /* of the window */
#define REGROWTH         5 / 4  /* since the last restart, before the next */
#define TURNS_MIN        3
#define OVERFLOWS_MAX    3
#define PINS_BYTES       4000
#define FOCUS_BYTES      4096

void context_init(struct context *c)
{
	*c = (struct context){ .focus = BUF_MAX(FOCUS_BYTES) };
}

void context_fini(struct context *c)
{
	buf_fini(&c->focus);
}

int context_ask(struct context *c, struct str focus, struct err *err)
{
	c->asked = true;
	buf_clear(&c->focus);
	focus = str_trim(focus);
	return buf_add_utf8(&c->focus, str_head(focus, utf8_head(focus, FOCUS_BYTES / 4)), err);
}

/* ---- where the tiers begin ---- */

int64_t context_window(const struct run *r)
{
	return r->p->context_tokens > 0 ? r->p->context_tokens : r->caller.facts.window;
}

static double bytes_per_token(const struct run *r)
{
	double ratio = r->st.context_tokens > 0 ? (double)r->st.context_bytes / (double)r->st.context_tokens : 0;

	return ratio < RATIO_MIN || ratio > RATIO_MAX ? BYTES_PER_TOKEN : ratio;
}

/* The window less one answer; of a small one the answer gets a quarter. */
static double room(const struct run *r, int64_t window)
{
	double answer = (double)r->caller.spec.max_tokens, quarter = (double)window / 4;

	return (double)window - (answer < quarter ? answer : quarter);
}

struct context_limits context_limits_of(const struct run *r)
{
	int64_t window = context_window(r), drop = r->p->drop_at_chars, all = r->p->summarise_at_chars;
	double ratio = bytes_per_token(r);

	if (drop == 0)
		drop = window > 0 ? (int64_t)((double)window * DROP_SHARE * ratio) : DROP_FALLBACK;
	if (all == 0)
		all = window > 0 ? (int64_t)(room(r, window) * ratio) : SUMMARY_FALLBACK;
	/* What a server refused is more than its window, whatever was believed before. */
	if (r->st.context_ceiling > 0 && all > r->st.context_ceiling * 4 / 5)
		all = r->st.context_ceiling * 4 / 5;
	if (drop > all * 3 / 5)
		drop = all * 3 / 5;
	return (struct context_limits){ (size_t)drop, (size_t)all };
}

void context_answered(struct run *r, const struct turn *t)
{
	const struct usage *u = &t->reply.usage;
	int64_t tokens = u->input + u->cache_read + u->cache_write;

	r->context.refused = 0;
	if (tokens <= 0)
		return;
	r->st.context_tokens = tokens;
	r->st.context_bytes = (int64_t)conversation_total(r->conv);
}

/* ---- the tiers ---- */

static size_t recent(const struct run *r, const struct context_limits *lim)
{
	size_t quarter = lim->summarise_at / 4, keep = (size_t)r->p->keep_recent_chars;

	return keep < quarter ? keep : quarter;
}

static int put_refused(struct run *r, const char *reason, struct err *err)
{
	auto_note struct note n = NOTE;

	note_z(&n, "reason", reason);
	return note_send(&n, r->keep, EVENT_COMPACT_REFUSED, err);
}

/* The state before it is on record already when a summary is asked for, which takes its time. */
static int summarise(struct run *r, struct turn *t, const struct restart_how *how, bool *done, struct err *err)
{
	TRY(loop_put_state(r, t->iteration, err));
	return restart_conversation(r, t, how, done, err);
}

static int keep_by_hand(struct run *r, struct turn *t, const struct context_limits *lim, struct err *err)
{
	struct restart_how how = { .focus = str_dup(t->mem, buf_str(&r->context.focus)), .keep = recent(r, lim) };
	size_t half = conversation_bytes(r->conv) / 2;
	bool done;

	r->context.asked = false;
	if (how.keep > half) /* asked for by hand, it shall do something */
		how.keep = half;
	TRY(summarise(r, t, &how, &done, err));
	return done ? 0 : put_refused(r, "there is nothing to set aside yet", err);
}

static bool needs_summary(const struct run *r, const struct context_limits *lim)
{
	size_t total = conversation_total(r->conv), before = (size_t)r->st.context_restarted;

	return total > lim->summarise_at && total > before * REGROWTH &&
		conversation_count(r->conv) > 2 * TURNS_MIN;
}

static bool has_many_results(const struct run *r, const struct context_limits *lim)
{
	return conversation_bytes(r->conv) > lim->drop_at && conversation_bytes(r->conv) >= r->context.look_at;
}

bool context_is_due(const struct run *r)
{
	struct context_limits lim = context_limits_of(r);

	return r->context.asked || has_many_results(r, &lim) || needs_summary(r, &lim);
}

int context_keep(struct run *r, struct turn *t, struct err *err)
{
	struct context_limits lim = context_limits_of(r);
	struct restart_how how = { .keep = recent(r, &lim) };
	size_t freed;
	bool done;

	if (r->context.asked)
		return keep_by_hand(r, t, &lim, err);
	if (has_many_results(r, &lim))
		TRY(elide_results(r, ELIDE_DOWN, &freed, err));
	if (!needs_summary(r, &lim))
		return 0;
	TRY(summarise(r, t, &how, &done, err));
	if (!done) /* the next try when it has grown by as much again */
		r->st.context_restarted = (int64_t)conversation_total(r->conv);
	return 0;
}

int context_overflow(struct run *r, struct turn *t, bool *again, struct err *err)
{
	int64_t total = (int64_t)conversation_total(r->conv);
	struct restart_how how = { .mechanical = true };
	size_t freed;

	*again = false;
	if (r->context.refused++ == OVERFLOWS_MAX)
		return 0;
	if (r->st.context_ceiling == 0 || total < r->st.context_ceiling)
		r->st.context_ceiling = total;
	struct context_limits lim = context_limits_of(r);

	how.keep = recent(r, &lim) / (size_t)r->context.refused;
	TRY(elide_results(r, r->context.refused > 1 ? ELIDE_ALL : ELIDE_ALL_OLD, &freed, err));
	*again = freed > 0;
	if ((int64_t)conversation_total(r->conv) <= total * 4 / 5)
		return 0;
	TRY(summarise(r, t, &how, again, err));
	*again = *again || freed > 0;
	return 0;
}

/* ---- pins ---- */

struct str context_pins_text(const struct run *r, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(8 * PINS_BYTES);

	if (r->st.pins.n == 0 || buf_addz(&b, "Pinned by the person who started this run; it holds until the end:\n", ERR_DISCARD) < 0)
		return STR("");
	for (size_t i = 0; i < r->st.pins.n; i++)
		if (buf_addz(&b, "- ", ERR_DISCARD) < 0 || buf_add_utf8(&b, r->st.pins.p[i], ERR_DISCARD) < 0 ||
			buf_addc(&b, '\n', ERR_DISCARD) < 0)
			break;
	return str_dup(mem, buf_str(&b));
}

static size_t pins_bytes(const struct run *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->st.pins.n; i++)
		n += r->st.pins.p[i].n;
	return n;
}

static void add_pin(struct run *r, struct str text)
{
	struct str *bigger = arena_array(r->mem, r->st.pins.n + 1, sizeof(*bigger));

	if (r->st.pins.n > 0)
		memcpy(bigger, r->st.pins.p, r->st.pins.n * sizeof(*bigger));
	bigger[r->st.pins.n] = str_dup(r->mem, text);
	r->st.pins = (struct str_list){ bigger, r->st.pins.n + 1 };
}

int context_pin(struct run *r, struct turn *t, struct str text, struct err *err)
{
	auto_note struct note n = NOTE;

	text = str_trim(text);
	if (text.n == 0 || pins_bytes(r) + text.n > PINS_BYTES) {
		note_int(&n, "chars", (int64_t)text.n);
		note_int(&n, "limit", PINS_BYTES);
		return note_send(&n, r->keep, EVENT_PIN_REFUSED, err);
	}
	add_pin(r, text);
	if (t)
		turn_notice(t, str_printf(t->mem, "Pinned by the person who started this run; it holds until the end:\n" STR_FMT,
				STR_ARG(text)));
	note_str(&n, "text", text);
	note_int(&n, "chars", (int64_t)text.n);
	note_int(&n, "count", (int64_t)r->st.pins.n);
	return note_send(&n, r->keep, EVENT_PIN_ADDED, err);
}

int context_put_restored(struct run *r, struct err *err)
{
	auto_note struct note n = NOTE, p = NOTE;
	int64_t elided, gists;

	elide_count(r, &elided, &gists);
	note_int(&n, "elided", elided);
	note_int(&n, "gists", gists);
	if (elided > 0)
		TRY(note_send(&n, r->keep, EVENT_COMPACT_RESTORED, err));
	note_strs(&p, "pins", r->st.pins);
	note_int(&p, "count", (int64_t)r->st.pins.n);
	return r->st.pins.n > 0 ? note_send(&p, r->keep, EVENT_PIN_RESTORED, err) : 0;
}
