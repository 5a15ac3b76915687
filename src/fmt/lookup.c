/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/lookup.h"
#include "fmt/pack.h"

#include <string.h>

enum { NO_ADDR = 0, V4 = 4, V6 = 6 };

int lookup_ask_pack(const struct lookup_question *q, struct buf *out, struct err *err)
{
	pack_u32(out, q->link);
	pack_u32(out, q->turn);
	pack_u8(out, q->route);
	return pack_ok(out, err);
}

int lookup_ask_unpack(struct str body, struct lookup_question *out, struct err *err)
{
	struct unpack u = unpack_from(body);
	struct lookup_question q = { 0 };

	q.link = unpack_u32(&u);
	q.turn = unpack_u32(&u);
	q.route = unpack_u8(&u);
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_LOOK_UP does not decode");
	*out = q;
	return 0;
}

int lookup_answer_pack(const struct lookup_answer *a, struct buf *out, struct err *err)
{
	pack_u32(out, a->link);
	pack_u32(out, a->turn);
	pack_u32(out, (uint32_t)a->gai);
	pack_u32(out, (uint32_t)a->sys);
	for (size_t i = 0; i < LOOKUP_ADDRS; i++) {
		pack_u8(out, i >= a->n ? NO_ADDR : a->addrs[i].v6 ? V6 : V4);
		for (size_t k = 0; k < sizeof(a->addrs[i].bytes); k++)
			pack_u8(out, i < a->n ? a->addrs[i].bytes[k] : 0);
	}
	return pack_ok(out, err);
}

int lookup_answer_unpack(struct str body, struct lookup_answer *out, struct err *err)
{
	struct unpack u = unpack_from(body);
	struct lookup_answer a = { 0 };
	bool strange = false;

	a.link = unpack_u32(&u);
	a.turn = unpack_u32(&u);
	a.gai = (int)unpack_u32(&u);
	a.sys = (int)unpack_u32(&u);
	for (size_t i = 0; i < LOOKUP_ADDRS; i++) {
		struct lookup_addr addr = { 0 };
		uint8_t kind = unpack_u8(&u);

		for (size_t k = 0; k < sizeof(addr.bytes); k++)
			addr.bytes[k] = unpack_u8(&u);
		strange |= (kind != NO_ADDR && kind != V4 && kind != V6) || (kind != NO_ADDR && a.n < i);
		addr.v6 = kind == V6;
		if (kind != NO_ADDR && !strange)
			a.addrs[a.n++] = addr;
	}
	if (!unpack_done(&u) || strange)
		return err_set(err, ERR_PROTOCOL, "WIRE_LOOKED_UP does not decode");
	*out = a;
	return 0;
}
