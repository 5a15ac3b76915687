/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/lister.h"

#include "fmt/json.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "sandbox/confine.h"
#include "sys/chan.h"
#include "sys/file.h"

#define CHAN_FD   3
#define TEXT_MAX  ((size_t)16 * 1024 * 1024)
#define BODY_MAX  (CHAN_BODY - 64)
#define MOST_USD  1e6 /* per million tokens; more is no price */

static bool id_ok(struct str id)
{
	for (size_t i = 0; i < id.n; i++)
		if (id.p[i] <= ' ' || id.p[i] > '~')
			return false;
	return id.n > 0 && id.n <= LISTED_ID_MAX;
}

static int64_t window_checked(int64_t n)
{
	return n > 0 && n < INT64_C(1) << 40 ? n : 0;
}

static double price_checked(double usd) /* NaN and infinities are no price */
{
	return usd >= 0 && usd <= MOST_USD ? usd : -1;
}

/* The window has a name of each server's own; a model's largest one is not what a local server gives it. */
static int64_t window_of(const json_t *m)
{
	static const char *const names[] = { "context_length", "max_model_len", "context_window", "max_context_length" };

	for (size_t i = 0; i < COUNT(names); i++) {
		int64_t n = window_checked(json_get_int(m, names[i], 0));

		if (n > 0)
			return n;
	}
	return 0;
}

/* "0.000003" dollars a token; -1 is a router's "it depends". */
static double price_of(const json_t *pricing, const char *key)
{
	double v = -1;

	return str_to_f64(json_get_str(pricing, key), &v, ERR_DISCARD) < 0 ? -1 : price_checked(v * 1e6);
}

struct model_list lister_read(struct str text, struct arena *mem)
{
	auto_json json_t *j = NULL;
	struct model_list out = { 0 };
	const json_t *data, *m;
	size_t i;

	if (json_decode(text, JSON_REPAIR, &j, ERR_DISCARD) < 0)
		return out;
	data = json_is_array(j) ? j : json_object_get(j, "data");
	out.p = arena_array(mem, LISTED_MAX, sizeof(*out.p));
	json_array_foreach(data, i, m) {
		struct str id = str_trim_prefix(json_get_str(m, "id"), STR("models/")); /* Gemini's */
		const json_t *pricing = json_object_get(m, "pricing");

		if (!id_ok(id) || out.n == LISTED_MAX)
			continue;
		out.p[out.n++] = (struct listed_model){ str_dup(mem, id), window_of(m), price_of(pricing, "prompt"),
			price_of(pricing, "completion") };
	}
	return out;
}

static int work(struct chan_msg *m, struct arena *mem, struct model_list *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(TEXT_MAX);
	autoclose int fd = -1;

	TRY(wire_check(LINK_MONITOR_LISTER, WIRE_DOWN, m->type, m->body.n, m->nfds, err));
	fd = chan_take_fd(m, 0);
	TRY(confine_self(SECCOMP_RECORDER, NULL, 0, err));
	TRY(memfd_read(fd, &text, err));
	*out = lister_read(buf_str(&text), mem);
	return 0;
}

/* As many as fit one message: thousands of names are more than anybody reads. */
static int answer(const struct model_list *list, struct err *err)
{
	auto_buf struct buf rows = BUF_MAX(BODY_MAX), body = BUF_MAX(CHAN_BODY);
	uint32_t n = 0;

	for (; n < list->n && rows.n + LISTED_ID_MAX + 32 < BODY_MAX; n++) {
		pack_str(&rows, list->p[n].id);
		pack_i64(&rows, list->p[n].window);
		pack_f64(&rows, list->p[n].price_in);
		pack_f64(&rows, list->p[n].price_out);
	}
	TRY(pack_ok(&rows, err));
	pack_u32(&body, n);
	TRY(pack_ok(&body, err));
	TRY(buf_add(&body, buf_str(&rows), err));
	return chan_send(CHAN_FD, WIRE_LISTED, buf_str(&body), NULL, 0, err);
}

int role_lister_main(void)
{
	auto_arena struct arena *mem = arena_new();
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	struct model_list list = { 0 };
	struct err err = { 0 };

	if (chan_recv(CHAN_FD, m, &err) < 0 || work(m, mem, &list, &err) < 0)
		return 1;
	return answer(&list, &err) < 0;
}

/* ---- who asks ---- */

/* What comes back was made of hostile bytes: each part is of the shape it must have, or it is left out. */
int lister_take(struct str body, struct arena *mem, struct model_list *out, struct err *err)
{
	struct unpack u = unpack_from(body);
	struct model_list list = { 0 };
	uint32_t n = unpack_u32(&u);

	if (n > LISTED_MAX)
		return err_set(err, ERR_PROTOCOL, "WIRE_LISTED does not decode");
	list.p = arena_array(mem, n, sizeof(*list.p));
	for (uint32_t i = 0; i < n; i++) {
		struct listed_model one = { .id = str_dup(mem, unpack_str(&u)) };

		one.window = window_checked(unpack_i64(&u));
		one.price_in = price_checked(unpack_f64(&u));
		one.price_out = price_checked(unpack_f64(&u));
		if (id_ok(one.id))
			list.p[list.n++] = one;
	}
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_LISTED does not decode");
	*out = list;
	return 0;
}

int lister_ask(const struct programs *progs, struct str text, struct arena *mem, struct model_list *out, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	autoclose int fd = -1;
	struct peer p = PEER_NONE;
	int r;

	TRY(memfd_seal("agent6-list", text, &fd, err));
	TRY(launch_role(progs, "lister", NULL, 0, false, &p, err));
	r = chan_send(p.chan, WIRE_LIST, STR(""), &fd, 1, err);
	if (r == 0)
		r = chan_recv(p.chan, m, err);
	if (r == -ERR_CLOSED)
		r = err_set(err, ERR_CLOSED, "the process that reads the list of models died over it");
	if (r == 0) {
		r = wire_check(LINK_MONITOR_LISTER, WIRE_UP, m->type, m->body.n, m->nfds, err);
		r = r < 0 ? r : lister_take(m->body, mem, out, err);
		chan_msg_fini(m);
	}
	peer_kill(&p);
	return r;
}
