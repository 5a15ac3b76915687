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

int procmask_lock(struct err *err) CHECKED; /* covers the listed names, then makes /proc read-only */

struct procmask {
	const char *path;
	bool dir;
};
extern const struct procmask procmasks[]; /* path NULL ends */

#endif
