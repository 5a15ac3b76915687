/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* side: the slow parts of a cell, made beside its first process by a child of it that ends before anything runs there.
 *
 * Shape    side_begin as soon as the cell's namespaces stand, side_leave once the new root is the root, side_join before
 *          anybody relies on either. Making a network namespace takes as long as all the rest of a cell, and letting go of
 *          the old root waits for every processor; neither needs what the other is doing.
 * Memory   The struct stays where it is from begin to join. After a failed begin there is nothing to join; a first process
 *          that gives up takes the child along.
 * Errors   The step that failed, and its errno.
 */
#ifndef SANDBOX_SIDE_H
#define SANDBOX_SIDE_H

#include "base/err.h"

#include <sys/types.h>

struct side {
	pid_t pid;
	bool net;
	int answer[2], left[2]; /* pipes */
	_Alignas(16) char stack[8192];
};

/* net: a network namespace is wanted, its loopback up. */
int side_begin(struct side *s, bool net, struct err *err) CHECKED;
/* The old root lies on the new one: unmount it. */
int side_leave(struct side *s, struct err *err) CHECKED;
/* Enters the network namespace. Nothing of the old root is left, nor of the child. */
int side_join(struct side *s, struct err *err) CHECKED;

#endif
