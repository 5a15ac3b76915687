/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* append: a file of lines that only grows, a whole line or none at a time.
 *
 * Shape    append_open cuts a torn tail off; append_write adds bytes that end in a newline;
 *          append_sync makes them durable, once for all that are new.
 * Memory   append_close closes the descriptor.
 * Errors   After a failed write the file is as it was. When even that cannot be had, or a sync failed,
 *          the file is dead: nothing is written any more, and every call says so.
 */
#ifndef SESSION_APPEND_H
#define SESSION_APPEND_H

#include "base/buf.h"

struct append {
	const char *name; /* for messages; outlives the struct */
	int fd;
	int64_t size, max;
	bool dirty; /* written, not yet synced */
	bool dead;
};

#define APPEND_NONE ((struct append){ .fd = -1 })

/* torn: bytes of half a line that were cut off the end. */
int append_open(int dirfd, const char *name, int64_t max, struct append *out, int64_t *torn, struct err *err) CHECKED;
void append_close(struct append *a);
int append_write(struct append *a, struct str lines, struct err *err) CHECKED;
int append_sync(struct append *a, struct err *err) CHECKED;

/* The last `want` bytes, or fewer when the file is shorter. */
int append_tail(const struct append *a, size_t want, struct buf *out, struct err *err) CHECKED;

#endif
