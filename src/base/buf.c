/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void buf_fini(struct buf *b)
{
	free(b->p);
	*b = BUF_MAX(b->max);
}

void buf_clear(struct buf *b)
{
	buf_shrink(b, 0);
}

void buf_shrink(struct buf *b, size_t n)
{
	BUG_IF(n > b->n);
	b->n = n;
	if (b->p)
		b->p[n] = '\0';
}

int buf_reserve(struct buf *b, size_t more, struct err *err)
{
	size_t cap = b->cap > 0 ? b->cap : 64;

	if (more > b->max - b->n)
		return err_set(err, ERR_LIMIT, "longer than %zu bytes", b->max);
	if (b->p && b->n + more < b->cap)
		return 0;
	while (cap <= b->n + more)
		cap *= 2;
	b->p = mem_grow(b->p, cap, 1);
	b->cap = cap;
	b->p[b->n] = '\0';
	return 0;
}

int buf_add(struct buf *b, struct str s, struct err *err)
{
	TRY(buf_reserve(b, s.n, err));
	if (s.n > 0)
		memcpy(b->p + b->n, s.p, s.n);
	b->n += s.n;
	b->p[b->n] = '\0';
	return 0;
}

int buf_addz(struct buf *b, const char *z, struct err *err)
{
	return buf_add(b, str_from(z), err);
}

int buf_addc(struct buf *b, char c, struct err *err)
{
	return buf_add(b, str_of(&c, 1), err);
}

int buf_addi(struct buf *b, int64_t v, struct err *err)
{
	uint64_t left = v < 0 ? -(uint64_t)v : (uint64_t)v;
	char digits[20]; /* of 2^63, and its sign */
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + left % 10);
	while ((left /= 10) > 0);
	if (v < 0)
		digits[--at] = '-';
	return buf_add(b, str_of(digits + at, sizeof(digits) - at), err);
}

int buf_addf(struct buf *b, struct err *err, const char *fmt, ...)
{
	size_t room = b->p ? b->cap - b->n : 0; /* mostly it is enough */
	va_list ap, again;
	int n, r = 0;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(room > 0 ? b->p + b->n : NULL, room, fmt, ap);
	va_end(ap);
	BUG_IF(n < 0);
	if ((size_t)n > b->max - b->n || (size_t)n >= room) {
		if (room > 0)
			b->p[b->n] = '\0';
		r = buf_reserve(b, (size_t)n, err);
		if (r == 0)
			vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
	}
	if (r == 0)
		b->n += (size_t)n;
	va_end(again);
	return r;
}

int buf_splice(struct buf *b, size_t at, size_t del, struct str ins, struct err *err)
{
	BUG_IF(at > b->n || del > b->n - at);
	if (ins.n > del)
		TRY(buf_reserve(b, ins.n - del, err));
	if (b->p == NULL)
		return 0;
	memmove(b->p + at + ins.n, b->p + at + del, b->n - at - del);
	if (ins.n > 0)
		memcpy(b->p + at, ins.p, ins.n);
	b->n = b->n - del + ins.n;
	b->p[b->n] = '\0';
	return 0;
}

struct str buf_str(const struct buf *b)
{
	return b->p ? str_of(b->p, b->n) : STR("");
}

int buf_cstr(struct buf *b, const char **out, struct err *err)
{
	if (b->n > 0 && memchr(b->p, '\0', b->n))
		return err_set(err, ERR_INVALID, "holds a NUL byte");
	*out = b->p ? b->p : "";
	return 0;
}

char *buf_take(struct buf *b)
{
	char *p = b->p ? b->p : mem_alloc(1);

	*b = BUF_MAX(b->max);
	return p;
}

int buf_add_utf8(struct buf *b, struct str s, struct err *err)
{
	size_t good = 0;

	for (size_t i = 0; i < s.n;) {
		size_t at = i;

		if (utf8_next(s, &i) > 0)
			continue;
		TRY(buf_add(b, str_of(s.p + good, at - good), err));
		TRY(buf_add(b, STR("\xEF\xBF\xBD"), err));
		good = i;
	}
	return buf_add(b, str_skip(s, good), err);
}

int buf_add_clipped(struct buf *b, struct str s, size_t head, size_t tail, struct err *err)
{
	if (s.n <= head + tail)
		return buf_add(b, s, err);

	size_t h = utf8_head(s, head);
	struct str end = str_tail(s, tail);

	while (end.n > 0 && ((unsigned char)end.p[0] & 0xc0) == 0x80)
		end = str_skip(end, 1);
	TRY(buf_add(b, str_head(s, h), err));
	TRY(buf_addf(b, err, "\n[... %zu bytes left out ...]\n", s.n - h - end.n));
	return buf_add(b, end, err);
}
