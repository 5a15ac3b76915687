/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* vec: a growable array of any type.
 *
 * Shape    struct { VEC(struct thing) } list = { 0 }; *vec_new(&list) = thing; list.p[i], list.n.
 * Memory   Owns p; vec_fini frees p, not what the elements own.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/base.h"

#define VEC(type)                                                                                            \
	type *p;                                                                                             \
	size_t n, cap

void *vec_grow(void *p, size_t n, size_t *cap, size_t size);

/* Adds one zeroed element and points to it; the pointer dies at the next vec_new. */
#define vec_new(v)                                                                                           \
	((v)->p = vec_grow((v)->p, (v)->n, &(v)->cap, sizeof(*(v)->p)), &(v)->p[(v)->n++])

#define vec_fini(v)                                                                                          \
	do {                                                                                                 \
		free((v)->p);                                                                                \
		(v)->p = NULL;                                                                               \
		(v)->n = (v)->cap = 0;                                                                       \
	} while (0)

#endif
