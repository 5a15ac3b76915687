/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/asks.h"
#include "fmt/pack.h"

#define BODY_MAX 32768

static int on_answer(void *self, struct chan_msg *m, struct err *err)
{
	struct asks *a = self;
	struct unpack u = unpack_from(m->body);

	if (m->type != WIRE_ANSWER)
		return err_set(err, ERR_PROTOCOL, "%s was not expected now", wire_name(m->type));
	if (unpack_u32(&u) != a->last || a->got) /* of a question we gave up on */
		return 0;
	a->got = true;
	buf_clear(&a->answer);
	return buf_add(&a->answer, u.rest, err);
}

void asks_init(struct asks *a, struct links *l, bool attended)
{
	*a = (struct asks){ .links = l, .attended = attended, .answer = BUF_MAX(BODY_MAX), .got = true };
	links_serve(l, PEER_MONITOR, on_answer, a);
}

void asks_fini(struct asks *a)
{
	buf_fini(&a->answer);
}

static int read_answer(struct asks *a, size_t n, struct arena *mem, struct str_list *answers, bool *answered,
	struct err *err)
{
	struct unpack u = unpack_from(buf_str(&a->answer));
	bool yes = unpack_u8(&u) != 0;
	size_t got;
	struct str *list = unpack_strs(&u, mem, ASKS_MAX, &got);

	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "an answer that is not a list of texts");
	for (size_t i = 0; i < n && i < got; i++) {
		auto_buf struct buf clean = BUF_MAX(4 * BODY_MAX);

		TRY(buf_add_utf8(&clean, list[i], err));
		answers->p[i] = str_dup(mem, buf_str(&clean));
	}
	*answered = yes;
	return 0;
}

int asks_put(struct asks *a, const struct str *questions, const struct str_list *options, size_t n,
	struct arena *mem, struct str_list *answers, bool *answered, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(BODY_MAX);

	answers->p = arena_array(mem, n, sizeof(*answers->p));
	answers->n = n;
	*answered = false;
	if (!a->attended)
		return 0;
	pack_u32(&body, ++a->last);
	pack_u32(&body, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		pack_str(&body, questions[i]);
		pack_strs(&body, options[i].p, options[i].n);
	}
	if (pack_ok(&body, ERR_DISCARD) < 0)
		return err_set(err, ERR_LIMIT, "the questions are longer than %d bytes together", BODY_MAX);
	a->got = false;
	TRY(links_send(a->links, PEER_MONITOR, WIRE_ASK, buf_str(&body), NULL, 0, err));
	while (!a->got) {
		if (a->links->stop == STOP_NOW)
			return err_set(err, ERR_STOPPED, "the operator stopped the run");
		TRY(links_wait(a->links, PEER_MONITOR, -1, err));
	}
	return read_answer(a, n, mem, answers, answered, err);
}
