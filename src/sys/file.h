/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* file: whole files and directories, safely.
 *
 * Shape    Every call takes a directory descriptor (AT_FDCWD is fine) and a name relative to it.
 * Memory   Bytes go into the caller's buf, whose max is the limit.
 * Errors   -ERR_LIMIT for a file larger than the buf's max, -ERR_INVALID "not a regular file" for
 *          a FIFO, socket, device or directory; opening never blocks. Otherwise the errno's code.
 * Source   open(2), openat2(2), rename(2).
 */
#ifndef SYS_FILE_H
#define SYS_FILE_H

#include "base/arena.h"
#include "base/buf.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* Opens a regular file for reading without ever blocking on it; follows no link when nofollow. */
int file_open(int dirfd, const char *name, bool nofollow, int *out, struct err *err) CHECKED;
int file_read(int dirfd, const char *name, struct buf *out, struct err *err) CHECKED;
int file_read_fd(int fd, struct buf *out, struct err *err) CHECKED; /* from the current offset to the end */
int file_write_fd(int fd, struct str bytes, struct err *err) CHECKED; /* all of it */

/* Temporary file beside it, write, fsync, rename, fsync of the directory: the old or the new file,
 * never another, and no temporary file stays behind. name must hold no '/'. */
int file_replace(int dirfd, const char *name, struct str bytes, mode_t mode, struct err *err) CHECKED;

int dir_make(const char *path, mode_t mode, struct err *err) CHECKED; /* with parents; existing is fine */
int dir_open(int dirfd, const char *name, int *out, struct err *err) CHECKED;

struct dir_entry {
	struct str name;    /* bytes as the kernel gave them */
	unsigned char type; /* DT_*; DT_UNKNOWN is resolved by a stat */
};
/* Sorted by bytes, without "." and "..". -ERR_LIMIT past max entries. */
int dir_list(int dirfd, struct arena *mem, size_t max, struct dir_entry **out, size_t *out_n,
	struct err *err) CHECKED;
int dir_remove_tree(int dirfd, const char *name, struct err *err) CHECKED; /* follows no link */

/* openat2: flags as for open, resolve RESOLVE_*. Retries EINTR and EAGAIN. Where the call is refused with
 * ENOSYS, RESOLVE_BENEATH is kept by hand. */
int file_openat2(int dirfd, const char *name, int flags, mode_t mode, uint64_t resolve);

/* renameat2(2): musl before 1.2.5 has neither the call nor its flags. -1 and errno. */
int file_rename(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE  2
#endif
#ifndef LOCK_EX /* musl has them in the system's sys/file.h alone, which this one hides */
#define LOCK_EX 2
#define LOCK_NB 4
#endif

char *path_join(const char *dir, const char *name); /* owned by the caller */
bool path_is_within(const char *path, const char *dir); /* dir itself or below it, by the letters of clean paths */
bool path_is_clean(struct str path); /* absolute, no "", ".", ".." component, no NUL, no trailing '/' */

#endif
