/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* procmask: what /proc shows of the machine rather than of the jail, covered.
 *
 * Shape    procmask_lock in a mount namespace of one's own, after /proc of the jail was mounted.
 * Errors   A name that this kernel does not have is skipped; anything else is a failure.
 */
#ifndef SANDBOX_PROCMASK_H
#define SANDBOX_PROCMASK_H

#include "base/err.h"

/* Covers the listed names, and makes /proc read-only. Not NULL: the one without either, for who has no right to mount any
 * more when it has to be written. */
int procmask_lock(int *writable, struct err *err) CHECKED;

struct procmask {
	const char *path;
	bool dir;
};
extern const struct procmask procmasks[]; /* path NULL ends */

#endif
