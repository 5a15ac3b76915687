/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* meta: modes, times and extended attributes of files, changed for a command that Landlock confines.
 *
 * Landlock knows no right for these calls, so the filter of profile "hardened" hands them to the guardian. It finds
 * the object itself, looks where that object is, and changes it only beneath a directory the command may write.
 *
 * Shape    meta_serve once per readable listener.
 * Errors   The command gets the errno; a failure here means that the listener is done.
 * Source   seccomp_unotify(2).
 */
#ifndef SANDBOX_META_H
#define SANDBOX_META_H

#include "sandbox/policy.h"

int meta_serve(int listener, const struct policy_list *roots, struct err *err) CHECKED;

#endif
