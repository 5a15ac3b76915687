/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/pack.h"

#include <string.h>

/* A message that did not fit is marked by a max of 0, which no honest buf has. */
static void put(struct buf *b, const void *p, size_t n)
{
	if (b->max == 0 || buf_add(b, str_of(p, n), ERR_DISCARD) < 0)
		b->max = 0;
}

static void put_le(struct buf *b, uint64_t v, size_t n)
{
	char raw[8];

	for (size_t i = 0; i < n; i++)
		raw[i] = (char)(v >> (8 * i));
	put(b, raw, n);
}

void pack_u8(struct buf *b, uint8_t v)
{
	put_le(b, v, 1);
}

void pack_u16(struct buf *b, uint16_t v)
{
	put_le(b, v, 2);
}

void pack_u32(struct buf *b, uint32_t v)
{
	put_le(b, v, 4);
}

void pack_u64(struct buf *b, uint64_t v)
{
	put_le(b, v, 8);
}

void pack_i64(struct buf *b, int64_t v)
{
	put_le(b, (uint64_t)v, 8);
}

void pack_f64(struct buf *b, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	put_le(b, bits, 8);
}

void pack_str(struct buf *b, struct str s)
{
	BUG_IF(s.n > UINT32_MAX);
	pack_u32(b, (uint32_t)s.n);
	put(b, s.p, s.n);
}

void pack_strs(struct buf *b, const struct str *list, size_t n)
{
	BUG_IF(n > UINT32_MAX);
	pack_u32(b, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		pack_str(b, list[i]);
}

int pack_ok(const struct buf *b, struct err *err)
{
	if (b->max == 0)
		return err_set(err, ERR_LIMIT, "the message is too long");
	return 0;
}

struct unpack unpack_from(struct str body)
{
	return (struct unpack){ .rest = body };
}

static uint64_t get_le(struct unpack *u, size_t n)
{
	uint64_t v = 0;

	if (u->bad || u->rest.n < n) {
		u->bad = true;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)(unsigned char)u->rest.p[i] << (8 * i);
	u->rest = str_skip(u->rest, n);
	return v;
}

uint8_t unpack_u8(struct unpack *u)
{
	return (uint8_t)get_le(u, 1);
}

uint16_t unpack_u16(struct unpack *u)
{
	return (uint16_t)get_le(u, 2);
}

uint32_t unpack_u32(struct unpack *u)
{
	return (uint32_t)get_le(u, 4);
}

uint64_t unpack_u64(struct unpack *u)
{
	return get_le(u, 8);
}

int64_t unpack_i64(struct unpack *u)
{
	return (int64_t)get_le(u, 8);
}

double unpack_f64(struct unpack *u)
{
	uint64_t bits = get_le(u, 8);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

struct str unpack_str(struct unpack *u)
{
	size_t n = unpack_u32(u);
	struct str s;

	if (u->bad || u->rest.n < n) {
		u->bad = true;
		return STR("");
	}
	s = str_head(u->rest, n);
	u->rest = str_skip(u->rest, n);
	return s;
}

struct str *unpack_strs(struct unpack *u, struct arena *mem, size_t max, size_t *n)
{
	size_t count = unpack_u32(u);
	struct str *list;

	*n = 0;
	/* Each string takes at least four bytes, so a lying count never makes us allocate. */
	if (u->bad || count > max || count > u->rest.n / 4) {
		u->bad = true;
		return NULL;
	}
	list = arena_array(mem, count, sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = unpack_str(u);
	if (!u->bad)
		*n = count;
	return list;
}

bool unpack_done(const struct unpack *u)
{
	return !u->bad && u->rest.n == 0;
}
