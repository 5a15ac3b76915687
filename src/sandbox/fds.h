/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fds: a forked process keeps only the descriptors it is meant to have.
 *
 * Shape    fds_keep first thing in the child: no descriptor that somebody forgot gets further.
 * Errors   The kernel refused to close: who was not to have them must not go on.
 * Source   close_range(2).
 */
#ifndef SANDBOX_FDS_H
#define SANDBOX_FDS_H

#include "base/err.h"

#define FDS_KEEP_MAX 48

/* Closes every descriptor but 0, 1, 2 and those in keep; negative ones are passed over. */
int fds_keep(const int *keep, size_t n, struct err *err) CHECKED;

#endif
