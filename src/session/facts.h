/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* facts: what a later command wants to know of a session's record, read in a process that holds nothing
 * (role/reader.h) and carried over as counted strings.
 *
 * Shape    facts_read in the one, facts_pack; facts_unpack in the other. What is shown of an end is read on request: it
 *          goes through the whole journal.
 * Memory   Strings live in the arena.
 * Errors   facts_read: as manifest_load, and a journal that cannot be read. facts_unpack: -ERR_PROTOCOL for bytes that are
 *          none, and for a commit that cannot be one.
 */
#ifndef SESSION_FACTS_H
#define SESSION_FACTS_H

#include "session/manifest.h"

#define FACTS_MAX     ((size_t)1024 * 1024) /* packed */
#define FACTS_TOLD    ((size_t)16 * 1024)   /* of one text of the end */
#define FACTS_NAMES   500
#define FACTS_JOURNAL ((size_t)64 * 1024 * 1024)

struct facts {
	struct manifest manifest;
	struct str_list edited_untracked, deleted_untracked; /* of the same end: files that no step holds, as they are shown */
	struct str reason; /* of the end, when the journal's last line is one; empty: it was cut off, or goes on */
	/* With `ending`: of the last end there is, and the last change; head and tail where they are long. */
	struct str ended, outcome, message, change;
};

int facts_read(int record_fd, bool ending, struct arena *mem, struct facts *out, struct err *err) CHECKED;
void facts_pack(const struct facts *f, struct buf *out);
int facts_unpack(struct str bytes, struct arena *mem, struct facts *out, struct err *err) CHECKED;

#endif
