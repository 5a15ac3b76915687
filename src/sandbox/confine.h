/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* confine: how our own programs lock themselves in, after they opened what they need and before they
 * read the first byte they do not trust.
 *
 * Shape    confine_self(SECCOMP_RECORDER, rules, COUNT(rules), err), once, single-threaded.
 * Errors   A failure means that the process is not confined: the caller must exit. -ERR_UNSUPPORTED without
 *          Landlock in the kernel.
 */
#ifndef SANDBOX_CONFINE_H
#define SANDBOX_CONFINE_H

#include "sandbox/landlock.h"
#include "sandbox/seccomp.h"

/* Drops every capability, NO_NEW_PRIVS, not dumpable, no core, Landlock with these rules, then seccomp. */
int confine_self(enum seccomp_profile profile, const struct ll_rule *rules, size_t n, struct err *err) CHECKED;

#endif
