/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* store: everything a session leaves in record/, written by one process, each thing whole or not at all.
 *
 * Files     logs.jsonl       the journal (session/journal.h)
 *           messages.jsonl   the conversation, appended once: {"i":0,"message":{...}}; {"cut":N} keeps the
 *                            first N; {"in_flight":{...}} or null; {"turn":N,"state":{...}} is a checkpoint:
 *                            the messages are those of the lines before it, so it stays small.
 *                            {"back":N}: checkpoint N was loaded, the lines after it count no more;
 *                            {"journal":N,"h":"..."}: the journal had come to its event N then (session/proof.h)
 *           manifest.json    session/manifest.h
 *           transcripts/     NNNN.json, one per model request
 *           plan.md, transcript.md, untracked-at-start
 * Shape     store_open; the store_* calls; store_sync when what was written must be durable; store_close.
 * Memory    The handle borrows the directory. Bytes passed in are borrowed for the call.
 * Errors    store_is_lost says that a write failed: nothing was written by halves and nothing will be
 *           written any more. Any other failure is the sender's fault and changed nothing.
 * Source    docs/architecture.md, "The record".
 */
#ifndef SESSION_STORE_H
#define SESSION_STORE_H

#include "session/event.h"

#define STORE_MESSAGES "messages.jsonl"

struct store;

/* What a crash left is mended and said with an event. */
int store_open(int record_fd, struct store **out, struct err *err) CHECKED;
void store_close(struct store *s); /* NULL is fine */
static inline void store_close_ptr(struct store **s)
{
	store_close(*s);
}
#define auto_store CLEANUP(store_close_ptr)
bool store_is_lost(const struct store *s);
/* A part of the record that the store does not write itself could not be written: r < 0 ends the record as a failed
 * write of its own does. Returns r. */
int store_lose(struct store *s, int r, const struct err *err);
/* An earlier leg stands here, or this one asked a model, ran something or kept a checkpoint: not to be removed. */
bool store_tells_of_work(const struct store *s);

/* JSON is one line: no byte below 0x20 in it. sender: EVENT_AGENT, EVENT_MONITOR or EVENT_RECORDER. */
int store_event(struct store *s, unsigned sender, struct str type, struct str json, struct err *err) CHECKED;
int store_message(struct store *s, uint32_t index, struct str json, struct err *err) CHECKED;
int store_state(struct store *s, uint32_t turn, struct str json, struct err *err) CHECKED;
int store_restart(struct store *s, uint32_t kept, struct err *err) CHECKED;
int store_in_flight(struct store *s, struct str json, struct err *err) CHECKED;
int store_transcript(struct store *s, uint32_t seq, struct str role, struct str json, struct err *err) CHECKED;
int store_manifest(struct store *s, unsigned who, struct str json, struct err *err) CHECKED;
int store_file(struct store *s, struct str name, struct str bytes, struct err *err) CHECKED;
int store_sync(struct store *s, struct err *err) CHECKED;
/* The last of this writer: the conversation says where the journal ends, and all is durable. */
int store_end(struct store *s, struct err *err) CHECKED;

/* The checkpoint of that turn, or the newest for UINT32_MAX, packed as record_loaded_unpack reads it.
 * What is written next continues from the newest when that was loaded. 1 found, 0 there is none. */
int store_load(struct store *s, uint32_t turn, struct buf *out, struct err *err) CHECKED;

#endif
