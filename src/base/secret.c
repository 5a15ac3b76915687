/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/secret.h"

#include <string.h>

void secret_set(struct secret *s, struct str value)
{
	secret_fini(s);
	s->hidden = mem_alloc(value.n + 1);
	if (value.n > 0)
		memcpy(s->hidden, value.p, value.n);
	s->size = value.n;
}

void secret_fini(struct secret *s)
{
	if (s->hidden)
		explicit_bzero(s->hidden, s->size);
	free(s->hidden);
	*s = (struct secret){ 0 };
}

struct str secret_reveal(const struct secret *s)
{
	return str_of(s->hidden, s->size);
}

bool secret_is_empty(const struct secret *s)
{
	return s->size == 0;
}
