/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* base: the words every other file is written in.
 *
 * Shape    Macros for ownership and checking; BUG_IF for broken invariants; banned functions.
 * Memory   `autofree` frees, `autoclose` closes when the variable leaves its block. `take` and
 *          `take_fd` hand a value over and leave the variable empty.
 * Errors   Running out of memory aborts: sizes from outside are bounded before we allocate.
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn)     __attribute__((cleanup(fn)))
#define CHECKED         __attribute__((warn_unused_result))
#define FORMAT(fmt, va) __attribute__((format(printf, fmt, va)))
#define TYPEOF(x)       __typeof__(x)

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The only macro that hides a return: passes a failure on unchanged. */
#define TRY(call)                                                                                            \
	do {                                                                                                 \
		int try_r_ = (call);                                                                         \
		if (try_r_ < 0)                                                                              \
			return try_r_;                                                                       \
	} while (0)

/* A broken invariant, never bad input: says where and aborts, in release builds too. */
#define BUG_IF(cond)                                                                                         \
	do {                                                                                                 \
		if (__builtin_expect(!!(cond), 0))                                                           \
			bug_abort(__FILE__, __LINE__, #cond);                                                \
	} while (0)

_Noreturn void bug_abort(const char *file, int line, const char *what);

static inline void base_free_ptr(void *p)
{
	free(*(void **)p);
}
#define autofree CLEANUP(base_free_ptr)

static inline void base_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
#define autoclose CLEANUP(base_close_fd)

static inline void *base_take(void *pp)
{
	void *p = *(void **)pp;
	*(void **)pp = NULL;
	return p;
}
#define take(pp) ((TYPEOF(*(pp)))base_take(pp))

static inline int take_fd(int *fd)
{
	int f = *fd;
	*fd = -1;
	return f;
}

/* malloc, calloc, realloc that abort instead of returning NULL. */
void *mem_alloc(size_t n);                 /* zeroed */
void *mem_grow(void *p, size_t n, size_t size); /* n elements of size bytes; aborts on overflow */
char *mem_strdup(const char *s);

#include "base/banned.h"
#endif
