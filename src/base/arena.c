/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ARENA_BLOCK 8192
#define ARENA_ALIGN 16

/* A block comes as it is, and each object is cleared when it is given out: of a block that is hardly used, only what is
 * used is touched. */

struct block {
	struct block *next;
	size_t used, size;
	_Alignas(ARENA_ALIGN) char bytes[];
};

struct arena {
	struct block *top;
};

struct arena *arena_new(void)
{
	return mem_alloc(sizeof(struct arena));
}

void arena_reset(struct arena *a)
{
	while (a->top) {
		struct block *b = a->top;

		a->top = b->next;
		free(b);
	}
}

void arena_wipe(struct arena *a)
{
	for (struct block *b = a->top; b; b = b->next)
		explicit_bzero(b->bytes, b->used);
	arena_reset(a);
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	arena_reset(a);
	free(a);
}

void *arena_alloc(struct arena *a, size_t n)
{
	BUG_IF(n > SIZE_MAX / 2);
	n = (n + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (!a->top || a->top->size - a->top->used < n) {
		size_t size = n > ARENA_BLOCK / 4 ? n : ARENA_BLOCK;
		struct block *b = mem_grow(NULL, sizeof(*b) + size, 1);

		*b = (struct block){ .size = size };
		if (a->top && size == n) { /* a large object must not retire a half empty block */
			b->used = n;
			b->next = a->top->next;
			a->top->next = b;
			return memset(b->bytes, 0, n);
		}
		b->next = a->top;
		a->top = b;
	}
	void *p = memset(a->top->bytes + a->top->used, 0, n);
	a->top->used += n;
	return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	size_t bytes;

	BUG_IF(__builtin_mul_overflow(n, size, &bytes));
	return arena_alloc(a, bytes);
}

struct str str_dup(struct arena *a, struct str s)
{
	char *p = arena_alloc(a, s.n + 1);

	if (s.n > 0)
		memcpy(p, s.p, s.n);
	return str_of(p, s.n);
}

char *str_dupz(struct arena *a, struct str s)
{
	BUG_IF(s.n > 0 && memchr(s.p, '\0', s.n));
	return (char *)str_dup(a, s).p;
}

struct str str_join(struct arena *a, const struct str *parts, size_t n, char between)
{
	size_t size = 1, at = 0;
	char *p;

	for (size_t i = 0; i < n; i++)
		size += parts[i].n + 1;
	p = arena_alloc(a, size);
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			p[at++] = between;
		if (parts[i].n > 0)
			memcpy(p + at, parts[i].p, parts[i].n);
		at += parts[i].n;
	}
	return str_of(p, at);
}

struct str str_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	BUG_IF(n < 0);
	char *p = arena_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return str_of(p, (size_t)n);
}
