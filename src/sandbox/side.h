/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* side: what a cell needs and its first process does not have to make itself, made beside it and handed over through a socket.
 *
 * Shape    side_open, start the first process, then side_run in the process that started it: `fn` runs in a child of that one
 *          which shares its memory while it is suspended, so `fn` may do what the other could. It gives, in an order that both
 *          know; the first process takes, as late as it can: making a network namespace takes as long as half a cell. The one
 *          closes `give`, the other `take`, which is not theirs.
 * Memory   A descriptor that is given stays the giver's; one that is taken is the taker's.
 * Errors   Giving: a taker that is gone is no error, it says itself why. What fails in side_run's child is given instead of a
 *          descriptor, so that the taker reports it. Taking: the giver's error, or -ERR_CLOSED when it died.
 * Source   unix(7), "SCM_RIGHTS"; vfork(2); network_namespaces(7).
 */
#ifndef SANDBOX_SIDE_H
#define SANDBOX_SIDE_H

#include "base/err.h"

struct side {
	int give, take; /* the two ends */
};

typedef int side_fn(const struct side *s, void *self, struct err *err);

int side_open(struct side *s, struct err *err) CHECKED;
/* Returns when the child is gone; it keeps nothing of the descriptor `life`. */
int side_run(const struct side *s, int life, side_fn *fn, void *self, struct err *err) CHECKED;
int side_give(const struct side *s, int fd, struct err *err) CHECKED;
/* A network namespace, its loopback up, then an IPC namespace, both owned by the user namespace it is in. In side_run's child
 * only, which is in them from then on. proc: the host's /proc. */
int side_give_net(const struct side *s, int proc, struct err *err) CHECKED;
int side_take(const struct side *s, int *fd, struct err *err) CHECKED;
/* Whoever may make a namespace may enter it, unless something forbids setns itself: says so, and what helps. */
int side_not_entered(int sys, const char *what, struct err *err);
/* Into the user namespace of the process behind the pidfd `cell`. In side_run's child only. */
int side_enter_users(int cell, struct err *err) CHECKED;
/* When all was taken: waits until its process is gone, and who started that holds its end no more. */
int side_end(const struct side *s, struct err *err) CHECKED;

#endif
