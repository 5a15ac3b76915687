/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* arena: many small objects, one lifetime.
 *
 * Shape    arena_new, any number of arena_alloc, arena_free; or arena_reset to start again.
 * Memory   Everything from one arena dies together. Memory comes zeroed and aligned for any type.
 * Errors   None: sizes from outside are bounded before they get here.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *a); /* NULL is fine */
static inline void arena_free_ptr(struct arena **a)
{
	arena_free(*a);
}
#define auto_arena CLEANUP(arena_free_ptr)

void arena_reset(struct arena *a);
void arena_wipe(struct arena *a); /* overwrites all it holds, then resets */
void *arena_alloc(struct arena *a, size_t n);
void *arena_array(struct arena *a, size_t n, size_t size); /* aborts on overflow */

struct str str_dup(struct arena *a, struct str s); /* the copy is NUL ended, for the kernel's sake */
char *str_dupz(struct arena *a, struct str s);     /* the same as a C string; s must hold no NUL */
struct str str_join(struct arena *a, const struct str *parts, size_t n, char between);
struct str str_printf(struct arena *a, const char *fmt, ...) FORMAT(2, 3);

#endif
