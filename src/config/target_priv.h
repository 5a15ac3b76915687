/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* target_priv: the file that a write to one of our paths really changes, locked.
 *
 * Errors   -ERR_NOENT "is a link to nothing"; target_foreign for a file of somebody else.
 */
#ifndef CONFIG_TARGET_PRIV_H
#define CONFIG_TARGET_PRIV_H

#include "base/str.h"

#include <sys/types.h>

struct target {
	int dir;     /* of the file behind all links; its lock is held while it is open */
	char *name;  /* in dir; owned */
	bool exists;
	mode_t mode; /* of the file, or 0600 */
};

/* -ERR_DENIED: a file of ours belongs to `owner`. Says what to do. */
int target_foreign(const char *path, uid_t owner, struct err *err);
/* Makes the directory (0700) when it is missing. */
int target_open(const char *path, struct target *out, struct err *err) CHECKED;
void target_close(struct target *t);
#define auto_target CLEANUP(target_close)

#endif
