/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* apparmor: the profile that lets agent6-jail, and nothing else, make user namespaces where AppArmor restricts them:
 * for all (kernel.apparmor_restrict_unprivileged_userns = 1, Ubuntu's), or in a profile that is around whoever starts agent6. A person runs this by hand, with root's rights; no
 * process of a run does, and nothing of a workspace is looked at.
 *
 * Shape    apparmor_status, apparmor_install, apparmor_remove. What happens is said line by line, each program that is run
 *          before it runs.
 * Memory   In the arena.
 * Errors   -ERR_UNSUPPORTED where the host has no AppArmor, or nothing to be allowed; -ERR_DENIED without root's rights, for
 *          a launcher that others may replace, for a file that is not ours. Install leaves the old state or the new one.
 * Source   apparmor.d(5), apparmor_parser(8), as of AppArmor 4.0; docs/sandbox.md, "AppArmor".
 */
#ifndef APP_APPARMOR_H
#define APP_APPARMOR_H

#include "base/arena.h"
#include "base/buf.h"

#include <sys/types.h>

struct apparmor {
	struct arena *mem;
	const char *root;     /* "" for this host; a test has a directory of its own */
	uid_t uid;            /* whose rights we have; 0 may install */
	uid_t owner;          /* who must own everything on the way to the launcher: 0; a test's own id */
	const char *launcher; /* absolute and without links: agent6-jail as it is found by agent6 */
	void (*say)(void *self, const char *line);
	void *self;
};

int apparmor_status(const struct apparmor *a, struct err *err) CHECKED;
int apparmor_install(const struct apparmor *a, struct err *err) CHECKED;
int apparmor_remove(const struct apparmor *a, struct err *err) CHECKED;

/* The text of the profile. -ERR_INVALID for a launcher whose path would be a pattern there. */
int apparmor_profile(const char *launcher, struct buf *out, struct err *err) CHECKED;

#endif
