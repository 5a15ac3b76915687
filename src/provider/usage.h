/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* usage: what the model calls cost, and whether the next one may be made.
 *
 * Shape    usage_add after each call, also after a failed one that reported usage; budget_check
 *          before each call; usage_summary at the end.
 * Memory   struct usage_totals owns its rows; usage_fini or auto_usage.
 * Errors   budget_check: -ERR_LIMIT naming the ledger and its bound.
 * Units    Tokens. Money is pico-dollars inside, so that many small calls do not round to nothing;
 *          micro-dollars and dollars are for people. -1 is "unknown" for money, never 0.
 */
#ifndef PROVIDER_USAGE_H
#define PROVIDER_USAGE_H

#include "base/buf.h"
#include "base/vec.h"
#include "provider/model.h"

enum usage_known {
	USAGE_INPUT = 1 << 0,
	USAGE_OUTPUT = 1 << 1,
	USAGE_CACHE_READ = 1 << 2,
	USAGE_CACHE_WRITE = 1 << 3,
	USAGE_REASONING = 1 << 4,
	USAGE_COST = 1 << 5,
};

struct usage {
	unsigned known;      /* enum usage_known: which counters the server reported */
	int64_t input;       /* prompt tokens neither read from nor written to a cache */
	int64_t output;      /* with reasoning */
	int64_t cache_read, cache_write;
	int64_t reasoning;
	int64_t cost_picousd; /* reported by the server */
	bool estimated;      /* the counters are ours: usage_estimate */
};

/* Where the server counted nothing, tokens are guessed from the length of what went and came, and marked:
 * a call that cost something is never booked as nothing, and a budget can be kept. True when it was so. */
bool usage_estimate(struct usage *u, size_t bytes_sent, size_t bytes_got);

struct usage_row {
	char *model; /* owned */
	int64_t calls, unmetered_calls, unpriced_calls, reported_calls, estimated_calls;
	int64_t input, output, cache_read, cache_write, reasoning;
	int64_t reported_picousd, estimated_picousd;
};

struct usage_totals {
	VEC(struct usage_row);
};

void usage_fini(struct usage_totals *t);
#define auto_usage CLEANUP(usage_fini)

/* facts may be overridden by the caller with prices it knows better. A call without counters has an
 * unknown cost; one that failed before the server counted anything (known is 0) is not added at all. */
void usage_add(struct usage_totals *t, struct str model, const struct model_facts *facts, const struct usage *u);

int64_t usage_input(const struct usage_totals *t);  /* fresh and written to a cache; reads are not counted */
int64_t usage_output(const struct usage_totals *t);
/* The part that is known; *complete is false when some call has no price. */
int64_t usage_microusd(const struct usage_totals *t, bool *complete);
bool usage_price_known(const struct usage_totals *t);                 /* false: not one call has a price */

struct budget {
	int64_t max_input_tokens, max_output_tokens; /* -1 no limit, 0 nothing */
	int64_t max_microusd;                        /* -1 no limit */
};

/* What the next request will at least take, as far as the one before it tells: its counters for its
 * length, and whether the server keeps what it has seen. All zero before the first answer: then as few tokens
 * as any text of that length has. */
struct usage_forecast {
	size_t bytes;      /* of the last request that was counted */
	struct usage last; /* and what it took */
};
struct usage usage_next(const struct usage_forecast *f, size_t bytes);
/* The request grew by much and its tokens did not: the server reads only a part of it. Local servers cut
 * a conversation that outgrows their window, without an error (Ollama, from its code, 2026-08). */
bool usage_was_cut(const struct usage_forecast *before, size_t bytes, const struct usage *now);

/* Before a call: a bound that is reached, or that the request to come would pass, ends the run. An answer
 * may still pass one, since nobody knows its length. next may be NULL. */
int budget_check(const struct budget *b, const struct usage_totals *t, const struct usage *next,
	const struct model_facts *facts, struct err *err) CHECKED;
double budget_remaining(const struct budget *b, const struct usage_totals *t); /* 1 untouched .. 0 spent */

/* One line per model, then TOTAL; the seed's format. */
int usage_summary(const struct usage_totals *t, const struct budget *b, struct buf *out,
	struct err *err) CHECKED;

#endif
