/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* proof: whether a record still says what was recorded.
 *
 * The chain ties each event to the one before (session/journal.h), and no line can be changed without all after it. What it
 * cannot show is that its last lines were cut off. So the conversation, a file of its own, says at each checkpoint, before
 * what may change something, and at the end, how far the journal had come (session/store.h); a journal that ends before that,
 * or has another event there, was cut. Who cuts both, or writes both anew, is found by the hash that a person kept. What
 * a run sets of the manifest stands in the chain as record.manifest, and so the file can be compared with it.
 *
 * Shape    proof_read over a record/ directory.
 * Memory   Strings live in the arena.
 * Errors   -ERR_NOENT without a journal, where nothing has seen one; as file_read. That something is wrong is a result.
 */
#ifndef SESSION_PROOF_H
#define SESSION_PROOF_H

#include "base/arena.h"
#include "session/journal.h"

#define PROOF_HEAD_MIN 16 /* digits of a hash that is looked for */

struct proof_difference {
	struct str member;          /* of manifest.json */
	struct str recorded, found; /* as JSON; "nothing": it is not there */
	struct proof_difference *next;
};

struct proof {
	struct journal_report journal;
	int64_t seen;     /* the newest event that messages.jsonl has seen; 0: it says of none */
	bool cut;         /* the journal ends before that */
	int64_t replaced; /* the first event that is not the one that messages.jsonl has seen; 0: none */
	int64_t head;     /* the event with the hash that was asked for; 0: none has it */
	struct proof_difference *differences; /* NULL: none */
};

bool proof_head_ok(struct str head); /* 16 to 64 hex digits, small ones */
/* head: the hash to look for, or empty. */
int proof_read(int record_fd, struct str head, struct arena *mem, struct proof *out, struct err *err) CHECKED;
bool proof_is_whole(const struct proof *p, bool live, struct str head); /* live: a line may be on its way */

#endif
