/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/usage.h"

#include <inttypes.h>
#include <string.h>

#define PICO_PER_MICRO 1000000

void usage_fini(struct usage_totals *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->p[i].model);
	vec_fini(t);
}

/* Counters come from outside: they stop at the largest number instead of wrapping to a small one. */
static void add(int64_t *to, int64_t n)
{
	if (n > 0 && __builtin_add_overflow(*to, n, to))
		*to = INT64_MAX;
}

static int64_t product(int64_t tokens, int64_t price)
{
	int64_t p;

	return tokens <= 0 || price <= 0 ? 0 : __builtin_mul_overflow(tokens, price, &p) ? INT64_MAX : p;
}

static int64_t prompt_of(const struct usage *u)
{
	int64_t sum = 0;

	add(&sum, u->input);
	add(&sum, u->cache_read);
	add(&sum, u->cache_write);
	return sum;
}

/* Micro-dollars per million tokens times tokens is pico-dollars. */
static int64_t estimate(const struct model_facts *f, const struct usage *u)
{
	int64_t prompt = prompt_of(u), sum = 0;
	bool tier = f->tier_above > 0 && prompt > f->tier_above;
	double factor = tier && f->in > 0 ? (double)f->tier_in / (double)f->in : 1;

	add(&sum, product(u->input, tier ? f->tier_in : f->in));
	add(&sum, product(u->output, tier ? f->tier_out : f->out));
	add(&sum, product(u->cache_read, (int64_t)((double)f->cache_read * factor)));
	add(&sum, product(u->cache_write, (int64_t)((double)f->cache_write * factor)));
	return sum;
}

/* Three bytes a token is more tokens than any model makes of prose or code: a bound errs to the safe side. */
#define BYTES_PER_TOKEN 3

static int64_t guess(size_t bytes)
{
	return (int64_t)(bytes / BYTES_PER_TOKEN) + 1;
}

bool usage_estimate(struct usage *u, size_t bytes_sent, size_t bytes_got)
{
	bool sent = (u->known & USAGE_INPUT) && (u->input > 0 || u->cache_read > 0 || u->cache_write > 0);
	bool got = u->known & USAGE_OUTPUT;

	if (!sent)
		u->input = guess(bytes_sent);
	if (!got)
		u->output = guess(bytes_got);
	u->known |= USAGE_INPUT | USAGE_OUTPUT;
	u->estimated = u->estimated || !sent || !got;
	return !sent || !got;
}

#define GROWTH_SEEN          8192 /* bytes that no text packs into so few tokens */
#define BYTES_PER_TOKEN_MOST 32

struct usage usage_next(const struct usage_forecast *f, size_t bytes)
{
	struct usage next = { .known = USAGE_INPUT };
	double least = (double)bytes / BYTES_PER_TOKEN_MOST;
	double tokens = f->bytes > 0 ? (double)prompt_of(&f->last) / (double)f->bytes * (double)bytes : least;
	bool kept = f->last.cache_read > 0 || f->last.cache_write > 0;

	next.input = tokens < 1e15 ? (int64_t)tokens : (int64_t)1e15;
	if (!kept)
		return next;
	next.cache_read = prompt_of(&f->last) < next.input ? prompt_of(&f->last) : next.input;
	next.input -= next.cache_read;
	return next;
}

bool usage_was_cut(const struct usage_forecast *before, size_t bytes, const struct usage *now)
{
	int64_t grown = prompt_of(now) - prompt_of(&before->last);

	if (before->bytes == 0 || before->last.estimated || bytes < before->bytes + GROWTH_SEEN)
		return false;
	return grown < (int64_t)((bytes - before->bytes) / BYTES_PER_TOKEN_MOST);
}

static struct usage_row *row_of(struct usage_totals *t, struct str model)
{
	struct usage_row *row;

	for (size_t i = 0; i < t->n; i++)
		if (str_eqz(model, t->p[i].model))
			return &t->p[i];
	row = vec_new(t);
	row->model = mem_alloc(model.n + 1);
	if (model.n > 0)
		memcpy(row->model, model.p, model.n);
	return row;
}

void usage_add(struct usage_totals *t, struct str model, const struct model_facts *facts, const struct usage *u)
{
	struct usage_row *row = row_of(t, model);
	bool metered = u->known & (USAGE_INPUT | USAGE_OUTPUT);

	row->calls++;
	add(&row->input, u->input);
	add(&row->output, u->output);
	add(&row->cache_read, u->cache_read);
	add(&row->cache_write, u->cache_write);
	add(&row->reasoning, u->reasoning);
	row->estimated_calls += u->estimated;
	if (!metered)
		row->unmetered_calls++;
	if ((u->known & USAGE_COST) && u->cost_picousd > 0) {
		row->reported_calls++;
		add(&row->reported_picousd, u->cost_picousd);
	} else if (facts->price_known && metered) {
		add(&row->estimated_picousd, estimate(facts, u));
	} else {
		row->unpriced_calls++;
	}
}

int64_t usage_input(const struct usage_totals *t)
{
	int64_t sum = 0;

	for (size_t i = 0; i < t->n; i++) {
		add(&sum, t->p[i].input);
		add(&sum, t->p[i].cache_write);
	}
	return sum;
}

int64_t usage_output(const struct usage_totals *t)
{
	int64_t sum = 0;

	for (size_t i = 0; i < t->n; i++)
		add(&sum, t->p[i].output);
	return sum;
}

int64_t usage_microusd(const struct usage_totals *t, bool *complete)
{
	int64_t sum = 0;

	*complete = true;
	for (size_t i = 0; i < t->n; i++) {
		add(&sum, t->p[i].reported_picousd);
		add(&sum, t->p[i].estimated_picousd);
		if (t->p[i].unpriced_calls > 0)
			*complete = false;
	}
	return sum / PICO_PER_MICRO + (sum % PICO_PER_MICRO >= PICO_PER_MICRO / 2);
}

bool usage_price_known(const struct usage_totals *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->p[i].calls > t->p[i].unpriced_calls)
			return true;
	return false;
}

/* Dollars as people read them: cents from $0.995 on, else four digits. */
static int add_dollars(struct buf *out, int64_t microusd, struct err *err)
{
	double usd = (double)microusd / 1e6;

	return buf_addf(out, err, usd >= 0.995 ? "$%.2f" : "$%.4f", usd);
}

struct ledger {
	const char *name;
	int64_t spent, cap;
	bool money; /* micro-dollars, said as dollars; otherwise tokens */
};

#define AMOUNT_MAX 32

/* For an answer about a bound. A cent's hundredth is not cut off here: it may be all that the bound is about. */
static const char *amount(char out[AMOUNT_MAX], const struct ledger *l, int64_t n)
{
	if (!l->money)
		snprintf(out, AMOUNT_MAX, "%" PRId64, n);
	else
		snprintf(out, AMOUNT_MAX, n % 100 == 0 ? "$%.4f" : "$%.6f", (double)n / 1e6);
	return out;
}

static void ledgers_of(const struct budget *b, const struct usage_totals *t, struct ledger out[3])
{
	bool complete;

	out[0] = (struct ledger){ "max_input_tokens", usage_input(t), b->max_input_tokens, false };
	out[1] = (struct ledger){ "max_output_tokens", usage_output(t), b->max_output_tokens, false };
	out[2] = (struct ledger){ "max_usd", usage_microusd(t, &complete), b->max_microusd, true };
}

int budget_check(const struct budget *b, const struct usage_totals *t, const struct usage *next,
	const struct model_facts *facts, struct err *err)
{
	int64_t more[3] = { 0 };
	struct ledger l[3];

	ledgers_of(b, t, l);
	if (next) {
		more[0] = next->input;
		more[2] = facts->price_known ? estimate(facts, next) / PICO_PER_MICRO : 0;
	}
	for (size_t i = 0; i < COUNT(l); i++) {
		int64_t after = l[i].spent;

		add(&after, more[i]);
		if (l[i].cap < 0 || (l[i].spent < l[i].cap && after <= l[i].cap))
			continue;
		char spent[AMOUNT_MAX], cap[AMOUNT_MAX], next_one[AMOUNT_MAX];
		const char *unit = l[i].money ? "" : " tokens";

		amount(spent, &l[i], l[i].spent);
		amount(cap, &l[i], l[i].cap);
		if (l[i].spent < l[i].cap)
			err_set(err, ERR_LIMIT, "budget.%s would be passed: %s of %s%s are used, the next request takes about %s", l[i].name,
				spent, cap, unit, amount(next_one, &l[i], more[i]));
		else
			err_set(err, ERR_LIMIT, "budget.%s is used up: %s of %s%s", l[i].name, spent, cap, unit);
		err_hint(err, "agent6 resume goes on with a fresh budget");
		return -ERR_LIMIT;
	}
	return 0;
}

double budget_remaining(const struct budget *b, const struct usage_totals *t)
{
	struct ledger l[3];
	double least = 1;

	ledgers_of(b, t, l);
	for (size_t i = 0; i < COUNT(l); i++) {
		double left = l[i].cap < 0 ? 1
			: l[i].spent >= l[i].cap ? 0 : 1 - (double)l[i].spent / (double)l[i].cap;

		if (left < least)
			least = left;
	}
	return least;
}

/* Every column is as wide as its longest entry. */
static int add_cell(struct buf *out, size_t start, size_t width, struct err *err)
{
	size_t n = out->n - start;

	return buf_addf(out, err, "%*s", n < width ? (int)(width - n) + 1 : 1, "");
}

struct widths {
	size_t model, in, out;
};

static size_t digits(int64_t v)
{
	return (size_t)snprintf(NULL, 0, "%" PRId64, v);
}

static struct widths measure(const struct usage_totals *t)
{
	struct widths w = { 0 };

	for (size_t i = 0; i < t->n; i++) {
		size_t model = strlen(t->p[i].model), in = digits(t->p[i].input), out = digits(t->p[i].output);

		w.model = model > w.model ? model : w.model;
		w.in = in > w.in ? in : w.in;
		w.out = out > w.out ? out : w.out;
	}
	return w;
}

static int add_row(struct buf *out, const struct usage_row *row, const struct widths *w, struct err *err)
{
	bool estimated = row->calls > row->reported_calls + row->unpriced_calls;
	const char *note = row->reported_calls == 0 ? ""
		: row->unpriced_calls > 0           ? " (reported, some calls unpriced)"
		: estimated                         ? " (reported + estimated)"
						    : " (reported)";
	int64_t pico = 0;

	size_t at = out->n;

	TRY(buf_addf(out, err, "  %s:", row->model));
	TRY(add_cell(out, at, w->model + 3, err));
	at = out->n;
	TRY(buf_addf(out, err, "in=%" PRId64, row->input));
	TRY(add_cell(out, at, w->in + 3, err));
	at = out->n;
	TRY(buf_addf(out, err, "out=%" PRId64, row->output));
	TRY(add_cell(out, at, w->out + 4, err));
	TRY(buf_addf(out, err, "cache_r=%" PRId64 " cache_c=%" PRId64 " calls=%" PRId64 " ", row->cache_read,
		row->cache_write, row->calls));
	const char *guessed = row->estimated_calls > 0 ? " (tokens estimated)" : "";

	if (row->unpriced_calls == row->calls)
		return buf_addf(out, err, "$? (unknown price)%s\n", guessed);
	add(&pico, row->reported_picousd);
	add(&pico, row->estimated_picousd);
	TRY(add_dollars(out, pico / PICO_PER_MICRO, err));
	return buf_addf(out, err, "%s%s\n", note, guessed);
}

static int add_bound(struct buf *out, int64_t cap, struct err *err)
{
	return cap < 0 ? 0 : buf_addf(out, err, "/%" PRId64, cap);
}

static int add_total(struct buf *out, const struct usage_totals *t, const struct budget *b, struct err *err)
{
	bool complete;
	int64_t microusd = usage_microusd(t, &complete);

	TRY(buf_addf(out, err, "  TOTAL: in=%" PRId64, usage_input(t)));
	TRY(add_bound(out, b->max_input_tokens, err));
	TRY(buf_addf(out, err, " out=%" PRId64, usage_output(t)));
	TRY(add_bound(out, b->max_output_tokens, err));
	TRY(buf_addz(out, " cost~", err));
	if (t->n > 0 && !usage_price_known(t))
		TRY(buf_addz(out, "$?", err));
	else
		TRY(add_dollars(out, microusd, err));
	if (b->max_microusd >= 0 && t->n > 0 && !usage_price_known(t)) { /* nothing is counted against it */
		TRY(buf_addz(out, " (no price is known: the limit of ", err));
		TRY(add_dollars(out, b->max_microusd, err));
		TRY(buf_addz(out, " limits nothing)", err));
	} else if (b->max_microusd >= 0) {
		TRY(buf_addz(out, " of ", err));
		TRY(add_dollars(out, b->max_microusd, err));
	}
	if (!complete && usage_price_known(t))
		TRY(buf_addz(out, " (at least: some calls have no known price)", err));
	return buf_addz(out, "\n", err);
}

int usage_summary(const struct usage_totals *t, const struct budget *b, struct buf *out, struct err *err)
{
	struct widths w = measure(t);
	struct err over = { 0 };

	TRY(buf_addz(out, "Token + cost summary:\n", err));
	for (size_t i = 0; i < t->n; i++)
		TRY(add_row(out, &t->p[i], &w, err));
	TRY(add_total(out, t, b, err));
	if (budget_check(b, t, NULL, NULL, &over) < 0)
		TRY(buf_addf(out, err, "  STATUS: BUDGET EXCEEDED (%s)\n", over.msg));
	return 0;
}
