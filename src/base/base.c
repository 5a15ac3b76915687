/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

void bug_abort(const char *file, int line, const char *what)
{
	dprintf(STDERR_FILENO, "agent6: bug at %s:%d: %s\n", file, line, what);
	abort();
}

void *mem_alloc(size_t n)
{
	void *p = calloc(1, n > 0 ? n : 1);

	BUG_IF(p == NULL);
	return p;
}

void *mem_grow(void *p, size_t n, size_t size)
{
	size_t bytes;

	BUG_IF(__builtin_mul_overflow(n, size, &bytes));
	p = realloc(p, bytes > 0 ? bytes : 1);
	BUG_IF(p == NULL);
	return p;
}

char *mem_strdup(const char *s)
{
	char *copy = strdup(s);

	BUG_IF(copy == NULL);
	return copy;
}
