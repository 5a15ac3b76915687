/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* capture: what a command printed, its head and its tail, however much it was.
 *
 * Shape    capture_feed with every read; capture_add writes what is kept, with a line that says what is missing.
 * Memory   At most CAPTURE_HEAD + CAPTURE_TAIL bytes.
 * Errors   capture_add: -ERR_LIMIT when out is full.
 */
#ifndef SANDBOX_CAPTURE_H
#define SANDBOX_CAPTURE_H

#include "base/buf.h"

#define CAPTURE_HEAD (192 * 1024)
#define CAPTURE_TAIL (192 * 1024)

struct capture {
	struct buf head;
	char *tail; /* a ring; next points to the oldest byte once it is full */
	size_t tail_n, next;
	uint64_t total;
};

void capture_init(struct capture *c);
void capture_fini(struct capture *c);
#define auto_capture CLEANUP(capture_fini)
void capture_feed(struct capture *c, struct str bytes);
int capture_add(const struct capture *c, struct buf *out, struct err *err) CHECKED;

#endif
