/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/keep.h"
#include "fmt/pack.h"

#include <math.h>

static int on_recorder(void *self, struct chan_msg *m, struct err *err)
{
	struct keep *k = self;
	struct unpack u = unpack_from(m->body);

	switch (m->type) {
	case WIRE_SYNCED:
		k->synced = unpack_u32(&u);
		break;
	case WIRE_LOST:
		k->lost = true;
		buf_clear(&k->why);
		TRY(buf_add_utf8(&k->why, unpack_str(&u), err));
		break;
	default: /* WIRE_LOADED; wire_check let nothing else through */
		k->found = unpack_u8(&u) != 0;
		buf_clear(&k->why);
		TRY(buf_add_utf8(&k->why, unpack_str(&u), err));
		base_close_fd(&k->loaded_fd);
		k->loaded_fd = chan_take_fd(m, 0);
		k->loaded = true;
		break;
	}
	return unpack_done(&u) ? 0 : err_set(err, ERR_PROTOCOL, "%s with a wrong body", wire_name(m->type));
}

void keep_init(struct keep *k, struct links *l)
{
	*k = (struct keep){ .links = l, .why = BUF_MAX(16384), .loaded_fd = -1 };
	links_serve(l, PEER_RECORDER, on_recorder, k);
}

void keep_fini(struct keep *k)
{
	buf_fini(&k->why);
	base_close_fd(&k->loaded_fd);
}

static int lost(struct keep *k, struct err *err)
{
	k->lost = true;
	return err_set(err, ERR_CLOSED, "the record cannot be written: " STR_FMT,
		STR_ARG(k->why.n > 0 ? buf_str(&k->why) : STR("the recorder is gone")));
}

int keep_put(struct keep *k, enum record_what what, uint32_t arg, struct str name, struct str json,
	struct err *err)
{
	int r;

	if (k->sink)
		return k->sink(k->sink_self, what, arg, name, json, err);
	if (k->lost || k->links->peer[PEER_RECORDER].gone)
		return lost(k, err);

	const struct record_to to = { k->links->peer[PEER_RECORDER].fd, WIRE_RECORD };

	r = record_put(&to, what, arg, name, json, err);
	if (r == -ERR_CLOSED)
		return lost(k, err);
	k->unsynced = true;
	return r;
}

int keep_barrier_begin(struct keep *k, struct err *err)
{
	const struct record_to to = { k->links->peer[PEER_RECORDER].fd, WIRE_RECORD };
	int r;

	if (k->lost || k->links->peer[PEER_RECORDER].gone)
		return lost(k, err);
	if (!k->unsynced)
		return 0;
	r = record_sync(&to, ++k->token, err);
	if (r == -ERR_CLOSED)
		return lost(k, err);
	TRY(r);
	k->unsynced = false;
	return 0;
}

int keep_barrier_await(struct keep *k, struct err *err)
{
	int r = 0;

	while (r >= 0 && k->synced != k->token && !k->lost)
		r = links_wait(k->links, PEER_RECORDER, -1, err);
	if (k->lost || (r == -ERR_CLOSED && k->links->peer[PEER_RECORDER].gone))
		return lost(k, err);
	return r < 0 ? r : 0;
}

int keep_barrier(struct keep *k, struct err *err)
{
	TRY(keep_barrier_begin(k, err));
	return keep_barrier_await(k, err);
}

void note_fini(struct note *n)
{
	buf_fini(&n->b);
}

static void latch(struct note *n, int r)
{
	if (r < 0)
		n->bad = true;
}

static void key(struct note *n, const char *k)
{
	latch(n, buf_addc(&n->b, n->b.n == 0 ? '{' : ',', ERR_DISCARD));
	latch(n, json_add_quoted(&n->b, str_from(k), ERR_DISCARD));
	latch(n, buf_addc(&n->b, ':', ERR_DISCARD));
}

void note_str(struct note *n, const char *k, struct str s)
{
	key(n, k);
	latch(n, json_add_quoted(&n->b, s, ERR_DISCARD));
}

void note_z(struct note *n, const char *k, const char *z)
{
	note_str(n, k, str_from(z));
}

void note_int(struct note *n, const char *k, int64_t v)
{
	key(n, k);
	latch(n, buf_addf(&n->b, ERR_DISCARD, "%lld", (long long)v));
}

void note_num(struct note *n, const char *k, double v)
{
	if (!isfinite(v)) {
		note_null(n, k);
		return;
	}
	key(n, k);
	latch(n, buf_addf(&n->b, ERR_DISCARD, "%.6f", v));
}

void note_bool(struct note *n, const char *k, bool v)
{
	key(n, k);
	latch(n, buf_addz(&n->b, v ? "true" : "false", ERR_DISCARD));
}

void note_null(struct note *n, const char *k)
{
	key(n, k);
	latch(n, buf_addz(&n->b, "null", ERR_DISCARD));
}

void note_strs(struct note *n, const char *k, struct str_list l)
{
	key(n, k);
	latch(n, buf_addc(&n->b, '[', ERR_DISCARD));
	for (size_t i = 0; i < l.n; i++) {
		if (i > 0)
			latch(n, buf_addc(&n->b, ',', ERR_DISCARD));
		latch(n, json_add_quoted(&n->b, l.p[i], ERR_DISCARD));
	}
	latch(n, buf_addc(&n->b, ']', ERR_DISCARD));
}

void note_json(struct note *n, const char *k, struct str json)
{
	key(n, k);
	latch(n, buf_add(&n->b, json.n > 0 ? json : STR("null"), ERR_DISCARD));
}

struct str note_text(struct note *n)
{
	if (n->b.n == 0)
		latch(n, buf_addc(&n->b, '{', ERR_DISCARD));
	latch(n, buf_addc(&n->b, '}', ERR_DISCARD));
	return buf_str(&n->b);
}

int note_put(struct note *n, struct keep *k, enum record_what what, uint32_t arg, const char *name,
	struct err *err)
{
	struct str text = note_text(n);

	if (n->bad)
		return err_set(err, ERR_LIMIT, "an entry of the record is longer than %d bytes", NOTE_MAX);
	return keep_put(k, what, arg, str_from(name), text, err);
}

int note_send(struct note *n, struct keep *k, enum event_id id, struct err *err)
{
	const struct event_type *t = event_at(id);

	return note_put(n, k, RECORD_EVENT, t->flags & EVENT_VOLATILE ? 1 : 0, t->type, err);
}
