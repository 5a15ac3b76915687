/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* ours: nobody else can put something of theirs in the place of what lies at a path.
 *
 * Shape    ours_check before what lies there is believed, or is made. What is not there yet is checked as far as it is.
 * Errors   -ERR_DENIED with the directory, link or file, whose it is or its mode, and the command that mends it.
 * Source   sshd(8), StrictModes; path_resolution(7); acl(5). docs/config.md is where a person reads it.
 *
 * Each directory, link and file on the way belongs to who we are, to root or to who owns "/" (in a user namespace root may have
 * another number, and who owns that can replace all of it), and nobody else may write it. In a sticky
 * directory on the way others may write, since they can replace nothing there that is not theirs; at the end they could
 * add to it. HOME (by the environment) is where it begins: what lies above it is not looked at, as sshd does. A link counts as
 * the place it has and the place it leads to. A group may write where it is our own and nobody else is in it.
 */
#ifndef SYS_OURS_H
#define SYS_OURS_H

#include "base/err.h"
#include "base/str.h"

#include <sys/types.h>

int ours_check(const char *path, struct err *err) CHECKED; /* absolute */

/* By the text of /etc/passwd and /etc/group: nobody but uid and root is in gid. Where neither knows the group, one that has
 * the user's number is the user's own, as pam_umask(8) takes it. */
bool ours_group_is_private(struct str passwd, struct str group, uid_t uid, gid_t gid);

#endif
