/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* keep: hands what must survive to the recorder, and waits until it is on the disk.
 *
 * Shape    keep_put as things happen; keep_barrier before each side effect, keep_barrier_begin before each
 *          model request and keep_barrier_await once its answer is here.
 *          An event's fields are written with a struct note, then note_send.
 * Memory   Everything is borrowed for the call.
 * Errors   -ERR_CLOSED, and keep.lost is true, once nothing can be saved any more: the run must stop.
 * Source   docs/events.md; WIRE_RECORD in fmt/wire.h.
 */
#ifndef AGENT_KEEP_H
#define AGENT_KEEP_H

#include "agent/links.h"
#include "fmt/field.h"
#include "session/record.h"

struct keep {
	struct links *links;
	uint32_t token, synced; /* the last barrier asked for, and the last one that holds */
	bool unsynced;          /* something was put since the last barrier was asked for */
	bool lost;
	struct buf why; /* what the recorder said */
	bool loaded;    /* the answer to WIRE_LOAD is here */
	bool found;
	int loaded_fd; /* owned, -1 when absent */
	/* Replay: what would be kept goes there, and nowhere else. NULL else. */
	int (*sink)(void *self, enum record_what what, uint32_t arg, struct str name, struct str json, struct err *err);
	void *sink_self;
};

void keep_init(struct keep *k, struct links *l);
void keep_fini(struct keep *k);
#define auto_keep CLEANUP(keep_fini)

int keep_put(struct keep *k, enum record_what what, uint32_t arg, struct str name, struct str json,
	struct err *err) CHECKED;
int keep_barrier(struct keep *k, struct err *err) CHECKED;
/* Its two halves: the disk may work while a model thinks. Nothing of the answer is acted upon in between. */
int keep_barrier_begin(struct keep *k, struct err *err) CHECKED;
int keep_barrier_await(struct keep *k, struct err *err) CHECKED;

/* One event. A member that does not fit latches; note_send then fails with -ERR_LIMIT. */
struct note {
	struct buf b;
	bool bad;
};

#define NOTE_MAX RECORD_TRANSCRIPT_MAX
#define NOTE     ((struct note){ .b = BUF_MAX(NOTE_MAX) })
void note_fini(struct note *n);
#define auto_note CLEANUP(note_fini)

void note_str(struct note *n, const char *key, struct str s); /* cleaned to UTF-8 */
void note_z(struct note *n, const char *key, const char *z);
void note_int(struct note *n, const char *key, int64_t v);
void note_num(struct note *n, const char *key, double v);
void note_bool(struct note *n, const char *key, bool v);
void note_null(struct note *n, const char *key);
void note_strs(struct note *n, const char *key, struct str_list l);
void note_json(struct note *n, const char *key, struct str json); /* a value that is JSON already */
struct str note_text(struct note *n);                             /* closes the object */
int note_put(struct note *n, struct keep *k, enum record_what what, uint32_t arg, const char *name,
	struct err *err) CHECKED;
int note_send(struct note *n, struct keep *k, enum event_id id, struct err *err) CHECKED;

#endif
