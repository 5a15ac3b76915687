/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/params.h"
#include "fmt/pack.h"

static void put_strs(struct buf *b, struct str_list l)
{
	pack_strs(b, l.p, l.n);
}

static struct str get_str(struct unpack *u, struct arena *mem)
{
	return str_dup(mem, unpack_str(u));
}

static struct str_list get_strs(struct unpack *u, struct arena *mem)
{
	struct str_list l = { 0 };

	l.p = unpack_strs(u, mem, PACK_STRS_MAX, &l.n);
	for (size_t i = 0; i < l.n; i++)
		l.p[i] = str_dup(mem, l.p[i]);
	return l;
}

#define PUT_STR(m)  pack_str(out, p->m);
#define PUT_INT(m)  pack_i64(out, p->m);
#define PUT_NUM(m)  pack_f64(out, p->m);
#define PUT_STRS(m) put_strs(out, p->m);
#define GET_STR(m)  p.m = get_str(&u, mem);
#define GET_INT(m)  p.m = unpack_i64(&u);
#define GET_NUM(m)  p.m = unpack_f64(&u);
#define GET_STRS(m) p.m = get_strs(&u, mem);

int run_params_pack(const struct run_params *p, struct buf *out, struct err *err)
{
#define X(kind, member) PUT_##kind(member)
	RUN_PARAMS(X)
#undef X
	return pack_ok(out, err);
}

int run_params_unpack(struct str bytes, struct arena *mem, struct run_params *out, struct err *err)
{
	struct unpack u = unpack_from(bytes);
	struct run_params p = { 0 };

#define X(kind, member) GET_##kind(member)
	RUN_PARAMS(X)
#undef X
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "the start parameters do not fit this version of agent6");
	*out = p;
	return 0;
}

int seat_params_pack(const struct seat_params *p, struct buf *out, struct err *err)
{
#define X(kind, member) PUT_##kind(member)
	SEAT_PARAMS(X)
#undef X
	return pack_ok(out, err);
}

int seat_params_unpack(struct str bytes, struct arena *mem, struct seat_params *out, struct err *err)
{
	struct unpack u = unpack_from(bytes);
	struct seat_params p = { 0 };

#define X(kind, member) GET_##kind(member)
	SEAT_PARAMS(X)
#undef X
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "the model of a role does not fit this version of agent6");
	*out = p;
	return 0;
}

void seat_params_lead(const struct seat_params *p, struct run_params *out)
{
#define X(kind, member) out->member = p->member;
	SEAT_PARAMS(X)
#undef X
}

struct seat_params seat_params_of(const struct run_params *p)
{
	struct seat_params out = { 0 };

#define X(kind, member) out.member = p->member;
	SEAT_PARAMS(X)
#undef X
	return out;
}

int server_params_pack(const struct server_params *p, struct buf *out, struct err *err)
{
#define X(kind, member) PUT_##kind(member)
	SERVER_PARAMS(X)
#undef X
	return pack_ok(out, err);
}

int server_params_unpack(struct str bytes, struct arena *mem, struct server_params *out, struct err *err)
{
	struct unpack u = unpack_from(bytes);
	struct server_params p = { 0 };

#define X(kind, member) GET_##kind(member)
	SERVER_PARAMS(X)
#undef X
	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "what is said of a server does not fit this version of agent6");
	*out = p;
	return 0;
}
