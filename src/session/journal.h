/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* journal: record/logs.jsonl, what happened, one JSON object per line, only ever appended to.
 *
 * A line    {"ts":"2026-11-29T20:00:42.123456Z","seq":7,"type":"tool.call",...fields...,"h":"<64 hex>"}
 *           seq counts from 1. h = hex(SHA-256(previous h || the line without its last member h)), both
 *           as the bytes in the file: 64 hex digits, then `{"ts":...}` closed by the brace. The first
 *           previous h is 64 zeros. Streaming deltas carry "volatile":true instead of seq and h and are
 *           outside the chain.
 *           The chain alone cannot show that its last lines were cut off: see session/proof.h.
 * Shape     Writer: journal_open, journal_append, journal_sync, journal_close. Reader: journal_verify;
 *           who follows a growing journal uses view/follow.h.
 * Memory    The handle owns its descriptor. Fields are borrowed for the call.
 * Errors    After a failed append the journal is as it was, never half a line longer; when even that
 *           cannot be had the handle is dead and says so. -ERR_LIMIT past JOURNAL_MAX bytes.
 */
#ifndef SESSION_JOURNAL_H
#define SESSION_JOURNAL_H

#include "session/event.h"

#define JOURNAL_NAME "logs.jsonl"
#define JOURNAL_HEX  64
#define JOURNAL_MAX  ((int64_t)1 << 30)
#define JOURNAL_LINE (EVENT_JSON_MAX + 512)

struct journal;

/* What opening an old journal found and did. */
struct journal_state {
	int64_t torn_bytes;    /* half a line at the end was cut off */
	int64_t damaged_lines; /* whole lines after the newest good one that cannot be read; they stay */
	int64_t lines;         /* seq of the newest good one */
};

int journal_open(int record_fd, struct journal **out, struct journal_state *state, struct err *err) CHECKED;
void journal_close(struct journal *j); /* NULL is fine */
static inline void journal_close_ptr(struct journal **j)
{
	journal_close(*j);
}
#define auto_journal CLEANUP(journal_close_ptr)

/* fields: one JSON object, already checked against t. */
int journal_append(struct journal *j, const struct event_type *t, const json_t *fields, struct err *err) CHECKED;
int journal_sync(struct journal *j, struct err *err) CHECKED; /* fdatasync, when anything is new */

/* Where a chain stands: the number of an event and its h. seq 0: before the first. */
struct journal_head {
	int64_t seq;
	char h[JOURNAL_HEX + 1];
};
struct journal_head journal_head(const struct journal *j);
/* The newest durable line as it was when the journal was opened, without its newline; dies at the next append. */
struct str journal_newest(const struct journal *j);

/* The whole chain, from a file descriptor at any offset. */
struct journal_report {
	int64_t lines, chained; /* read in all; of these in the chain */
	int64_t torn_bytes;     /* after the last newline */
	int64_t bad_line;       /* the first wrong one, 1-based; 0: none */
	char reason[160];       /* why */
	char head[JOURNAL_HEX + 1]; /* h of the last good line */
};
int journal_verify(int fd, struct journal_report *out, struct err *err) CHECKED;
/* The same, and each good line of the chain is handed over as it is passed. */
struct journal_line;
typedef int journal_line_fn(void *self, const struct journal_line *l, struct str line, struct err *err);
int journal_walk(int fd, journal_line_fn *on_line, void *self, struct journal_report *out, struct err *err) CHECKED;

#endif
