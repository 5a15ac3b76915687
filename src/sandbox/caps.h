/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* caps: giving power away for good.
 *
 * Shape    caps_drop_all in a process that will run, or become, something not trusted.
 * Errors   A step that fails names itself. After success the process and whatever it executes have no
 *          capability, cannot regain one and cannot gain one by executing a set-id file.
 * Source   capabilities(7), PR_SET_NO_NEW_PRIVS(2const).
 */
#ifndef SANDBOX_CAPS_H
#define SANDBOX_CAPS_H

#include "base/err.h"

#include <sys/types.h>

int caps_no_new_privs(struct err *err) CHECKED;
int caps_drop_bounding(struct err *err) CHECKED; /* what no later exec can get back */
int caps_drop_all(struct err *err) CHECKED; /* bounding set, ambient set, securebits, all sets; NO_NEW_PRIVS */
int caps_undumpable(struct err *err) CHECKED; /* no ptrace, no core, /proc/self closed to its own uid */
/* SIGKILL when the parent thread dies. `parent` is compared afterwards (0: skip, parent in another pid namespace). */
int caps_die_with_parent(pid_t parent, struct err *err) CHECKED;
/* Real, effective, saved; no groups. A user's directory may be of root's group, which no user becomes: its own number instead.
 * root only. */
int caps_become(uid_t uid, gid_t gid, struct err *err) CHECKED;
/* Whose what is open there is, where we are root and it is not: without capabilities root may touch nothing of another's. */
int caps_become_owner(int fd, struct err *err) CHECKED;

#endif
