/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* sweep: ends what is left beneath a process that adopts orphans, where no pid namespace does it.
 *
 * Shape    sweep_open once, in a process that is a subreaper (PR_SET_CHILD_SUBREAPER); sweep_all as often as wanted.
 *          Everybody whose parent died is a child of the subreaper, so children are all there is to find, again
 *          and again.
 * Memory   A descriptor. It is opened before confinement, and may be -1: then /proc is walked, where it opens.
 * Errors   None: a process that cannot be killed is waited for.
 * Source   proc_pid_children(5).
 */
#ifndef SANDBOX_SWEEP_H
#define SANDBOX_SWEEP_H

#include "base/base.h"

#include <sys/types.h>

int sweep_open(void);
/* Kills and reaps every child but those in keep. */
void sweep_all(int fd, const pid_t *keep, size_t nkeep);
/* Where whoever this process may signal is to be ended: also those who fork faster than a list is read. */
void sweep_domain(int fd);

#endif
