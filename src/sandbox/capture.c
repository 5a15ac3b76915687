/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/capture.h"

#include <string.h>

void capture_init(struct capture *c)
{
	*c = (struct capture){ .head = BUF_MAX(CAPTURE_HEAD) };
}

void capture_fini(struct capture *c)
{
	buf_fini(&c->head);
	free(c->tail);
	c->tail = NULL;
}

static void feed_tail(struct capture *c, struct str s)
{
	s = str_tail(s, CAPTURE_TAIL);
	if (!c->tail)
		c->tail = mem_alloc(CAPTURE_TAIL);
	while (s.n > 0) {
		size_t room = CAPTURE_TAIL - c->next;
		struct str part = str_head(s, room);

		memcpy(c->tail + c->next, part.p, part.n);
		c->next = (c->next + part.n) % CAPTURE_TAIL;
		c->tail_n = c->tail_n + part.n > CAPTURE_TAIL ? CAPTURE_TAIL : c->tail_n + part.n;
		s = str_skip(s, part.n);
	}
}

void capture_feed(struct capture *c, struct str s)
{
	struct str head = str_head(s, CAPTURE_HEAD - c->head.n);

	c->total += s.n;
	if (head.n > 0)
		BUG_IF(buf_add(&c->head, head, ERR_DISCARD) < 0);
	s = str_skip(s, head.n);
	if (s.n > 0)
		feed_tail(c, s);
}

int capture_add(const struct capture *c, struct buf *out, struct err *err)
{
	uint64_t missing = c->total - c->head.n - c->tail_n;
	size_t start = c->tail_n == CAPTURE_TAIL ? c->next : 0;

	TRY(buf_add(out, buf_str(&c->head), err));
	if (missing > 0)
		TRY(buf_addf(out, err, "\n[%llu bytes are missing here]\n", (unsigned long long)missing));
	if (c->tail_n == 0)
		return 0;
	TRY(buf_add(out, str_of(c->tail + start, c->tail_n - start), err));
	return buf_add(out, str_of(c->tail, start), err);
}
