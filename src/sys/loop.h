/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* loop: one thread, one epoll, handlers that never wait.
 *
 * Shape    loop_open, loop_watch and loop_after, loop_run until loop_quit or an error.
 * Memory   The loop borrows descriptors and `self`; a watch removed during dispatch is freed after
 *          the round.
 * Errors   A handler's failure ends loop_run and is returned from it.
 * Units    Milliseconds.
 */
#ifndef SYS_LOOP_H
#define SYS_LOOP_H

#include "base/err.h"

#include <sys/epoll.h>

struct loop;
typedef int loop_fn(void *self, uint32_t events, struct err *err);

int loop_open(struct loop **out, struct err *err) CHECKED;
void loop_close(struct loop *l);
int loop_watch(struct loop *l, int fd, uint32_t events, loop_fn *fn, void *self, struct err *err) CHECKED;
void loop_unwatch(struct loop *l, int fd);
/* Calls fn once after delay_ms with events 0; at most one timer per (fn, self): a new one replaces it. */
int loop_after(struct loop *l, int64_t delay_ms, loop_fn *fn, void *self, struct err *err) CHECKED;
void loop_cancel(struct loop *l, loop_fn *fn, const void *self);
int loop_run(struct loop *l, struct err *err) CHECKED;
void loop_quit(struct loop *l); /* loop_run returns 0 after this round */

/* Blocks the set of signals and returns a signalfd for them. */
int loop_signals(const int *sigs, size_t n, int *out_fd, struct err *err) CHECKED;

#endif
