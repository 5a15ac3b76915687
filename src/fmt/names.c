/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/names.h"

int names_add(struct buf *out, const struct str_list *names, size_t max, struct err *err)
{
	for (size_t i = 0; i < names->n && i < max; i++) {
		TRY(buf_addz(out, i > 0 ? ", " : "", err));
		TRY(buf_add_utf8(out, names->p[i], err));
	}
	return names->n > max ? buf_addf(out, err, " and %zu more", names->n - max) : 0;
}
