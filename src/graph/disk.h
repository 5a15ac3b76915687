/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* disk: a graph in record/: graph.jsonl, every operation, and nodes/<id>.md, each task as a page to read.
 *
 * Shape    The recorder alone opens it; an operation is checked against the graph that stands there before it is
 *          written. Nothing is made before the first operation. Readers: graph_load.
 * Memory   Borrows the directory.
 * Errors   -ERR_INVALID, -ERR_LIMIT: the sender's fault, and nothing was written. Anything else: the disk's.
 */
#ifndef GRAPH_DISK_H
#define GRAPH_DISK_H

#include "graph/graph.h"

struct graph_disk;

/* torn: bytes of half a line that were cut off; bad: lines that could not be used. */
int graph_disk_open(int record_fd, struct graph_disk **out, int64_t *torn, int64_t *bad, struct err *err) CHECKED;
void graph_disk_close(struct graph_disk *d); /* NULL is fine */

/* The operation makes that version: the next one, or an older one after a leg went on from before it. */
int graph_disk_apply(struct graph_disk *d, int64_t version, struct str op, struct err *err) CHECKED;
int graph_disk_sync(struct graph_disk *d, struct err *err) CHECKED;
int graph_disk_text(struct graph_disk *d, struct buf *out, struct err *err) CHECKED; /* graph.jsonl, whole */

/* The graph of a record, as of a version; -1: the newest. A record without one gives an empty graph. */
int graph_load(int record_fd, int64_t version, struct graph **out, struct err *err) CHECKED;

#endif
