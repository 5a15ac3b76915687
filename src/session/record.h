/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* record: how the agent and the monitor hand something to the recorder.
 *
 * Shape    record_event(&to, EVENT_TOOL_CALL, json). The agent opens {fd, WIRE_RECORD}, the monitor
 *          {fd, WIRE_NOTE}. Nothing is answered; the agent asks for durability with record_sync and
 *          gets WIRE_SYNCED with its token, or WIRE_LOST at any time.
 *          JSON is compact, on one line: as json_add writes it. Messages are numbered without gaps from
 *          0, or from what WIRE_LOADED held, or from what RECORD_RESTART kept.
 * Memory   Borrows what it is given. What does not fit a message travels as a sealed memfd.
 * Errors   As chan_send. -ERR_LIMIT past the maximum of that kind of record.
 * Source   docs/architecture.md, "The record".
 */
#ifndef SESSION_RECORD_H
#define SESSION_RECORD_H

#include "base/arena.h"
#include "fmt/wire.h"
#include "session/event.h"

#define RECORD_MESSAGE_MAX    (32 * 1024 * 1024)
#define RECORD_STATE_MAX      (1024 * 1024)
#define RECORD_TRANSCRIPT_MAX (64 * 1024 * 1024)
#define RECORD_FILE_MAX       (8 * 1024 * 1024)
#define RECORD_SMALL_MAX      (256 * 1024) /* manifest members, the in-flight marker, an operation, a note */

struct record_to {
	int fd;
	uint16_t type; /* WIRE_RECORD or WIRE_NOTE */
};

int record_event(const struct record_to *to, enum event_id id, struct str json, struct err *err) CHECKED;
/* RECORD_MESSAGE, RECORD_STATE, RECORD_TRANSCRIPT, RECORD_MANIFEST, RECORD_FILE, RECORD_IN_FLIGHT,
 * RECORD_RESTART: arg, name and json as in fmt/wire.h; what a kind does not use is 0 and empty. */
int record_put(const struct record_to *to, enum record_what what, uint32_t arg, struct str name, struct str json,
	struct err *err) CHECKED;
size_t record_max(enum record_what what); /* bytes of json; 0 where none is allowed */
int record_sync(const struct record_to *to, uint32_t token, struct err *err) CHECKED;

/* WIRE_LOADED's memfd: u32 turn, str state, str in_flight, u32 n, n x str message, and where there is one
 * str graph. */
struct record_loaded {
	uint32_t turn;
	struct str state;
	struct str in_flight; /* the marker that was never removed: tools ran when the end came; or empty */
	struct str *messages; /* JSON texts, into bytes */
	size_t nmessages;
	struct str graph; /* graph.jsonl, or empty */
};
int record_loaded_unpack(struct str bytes, struct arena *mem, struct record_loaded *out, struct err *err) CHECKED;

/* Names RECORD_FILE may have: "plan.md", "untracked-at-start", "transcript.md", "result.md", "result.json",
 * "questions.json". */
bool record_file_ok(struct str name);

#endif
