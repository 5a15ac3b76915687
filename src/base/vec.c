/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/vec.h"

#include <string.h>

void *vec_grow(void *p, size_t n, size_t *cap, size_t size)
{
	if (n == *cap) {
		*cap = *cap > 0 ? *cap * 2 : 8;
		p = mem_grow(p, *cap, size);
	}
	memset((char *)p + n * size, 0, size);
	return p;
}
