/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* call_round: several questions at once. What goes on record does so in their order, whoever was faster. */
#include "agent/call_priv.h"

/* How many were sent; the one that could not be is the reason of the error. */
static int begin_all(struct caller *c, const struct call_round *q, struct arena *mem, struct err *err)
{
	for (size_t i = 0; i < q->n; i++) {
		int r;

		q->swap(q->self, i);
		r = call_begin(c, &c->live[i], q->one[i].role, q->one[i].conv, STR(""), mem, err);
		q->swap(q->self, i);
		TRY(r);
		c->nlive = i + 1;
	}
	return 0;
}

static int end_all(struct caller *c, struct call_round *q, bool again[], struct err *err)
{
	for (size_t i = 0; i < c->nlive; i++) {
		struct call_one *one = &q->one[i];

		q->swap(q->self, i);
		one->rc = call_end(c, &c->live[i], &one->reply, &one->fault, &again[i], &one->why);
		one->transcript = c->transcript - 1;
		q->swap(q->self, i);
		if (one->rc < 0 && one->rc != -ERR_REMOTE) {
			*err = one->why;
			return one->rc;
		}
	}
	return 0;
}

/* A bound of the budget stops the rest; what was sent before is waited for and booked. */
static int ask_all(struct caller *c, struct call_round *q, bool again[], struct arena *mem, struct err *err)
{
	int r = begin_all(c, q, mem, err);

	if (r < 0 && r != -ERR_LIMIT)
		return r;
	TRY(call_await(c, r < 0 ? ERR_DISCARD : err));
	TRY(keep_barrier_await(c->keep, r < 0 ? ERR_DISCARD : err));
	TRY(end_all(c, q, again, r < 0 ? ERR_DISCARD : err));
	return r;
}

static int again_one(struct caller *c, struct call_round *q, size_t i, bool again, struct arena *mem, struct err *err)
{
	struct call_one *one = &q->one[i];

	q->swap(q->self, i);
	one->rc = call_again(c, one->role, one->conv, STR(""), mem, &one->reply, &one->fault, again, &one->why);
	one->transcript = c->transcript - 1;
	q->swap(q->self, i);
	if (one->rc == 0 || one->rc == -ERR_REMOTE)
		return 0;
	*err = one->why;
	return one->rc;
}

int caller_ask_round(struct caller *c, struct call_round *q, struct arena *mem, struct err *err)
{
	struct call_live live[CALLS_AT_ONCE] = { 0 };
	bool again[CALLS_AT_ONCE] = { 0 };
	int r;

	BUG_IF(q->n > CALLS_AT_ONCE);
	c->over_budget = false;
	c->live = live;
	r = ask_all(c, q, again, mem, err);
	c->live = NULL;
	c->nlive = 0;
	for (size_t i = 0; i < COUNT(live); i++)
		call_fini(&live[i]);
	TRY(r);
	for (size_t i = 0; i < q->n; i++)
		if (q->one[i].rc == -ERR_REMOTE)
			TRY(again_one(c, q, i, again[i], mem, err));
	return 0;
}
