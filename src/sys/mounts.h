/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* mounts: what is mounted where, and by which other names a place can be reached.
 *
 * Shape    mounts_load once, where /proc is the host's; then mounts_names per path.
 * Memory   In the arena. A text of more than 16 MiB is refused.
 * Errors   -ERR_SYNTAX with the line that is none of the kernel's, -ERR_LIMIT, or what reading it says: who cannot know the
 *          mounts knows of no place where else it lies.
 * Source   proc_pid_mountinfo(5); statx(2), STATX_MNT_ID (Linux 5.8).
 *
 * A place has another name where its file system, or the part of it that holds the place or lies in it, is mounted a second
 * time. Hard links, and the layers of an overlay under it, are names that no table of mounts tells.
 */
#ifndef SYS_MOUNTS_H
#define SYS_MOUNTS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct mount {
	uint64_t id;
	struct str device;             /* "major:minor" of the file system, never of a place in it */
	const char *root;              /* what of it is mounted */
	const char *point, *type;
};

struct mounts {
	struct mount *p;
	size_t n;
};

/* One line of mountinfo, with or without its end; false: it is none. */
bool mount_decode(struct str line, struct arena *mem, struct mount *out);
int mounts_decode(struct str text, struct arena *mem, struct mounts *out, struct err *err) CHECKED;
int mounts_load(struct arena *mem, struct mounts *out, struct err *err) CHECKED;

/* Is `path` on this very mount, no other one lying over it? Of what is not there yet, what will hold it decides. What cannot be
 * looked at for lack of permission counts as being there: that changes more easily than a mount. */
bool mount_holds(const struct mount *m, const char *path);

struct mount_names { /* never empty */
	const char **p;
	size_t n;
};

/* The path itself, then every other name under which it, or a part of it, is reached now; none of them lies in the path. It
 * is clean and without links, and need not be there. */
struct mount_names mounts_names(const struct mounts *all, const char *path, struct arena *mem);

#endif
