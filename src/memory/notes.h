/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* notes: what earlier runs wrote down for later ones, one small file each in <state>/<repo-id>/memories/.
 *
 * Shape    notes_list for all; note_add, note_invalidate, note_remove. A note that a model wrote is hostile to the
 *          next run: it is bounded and cleaned when it is written, its origin is kept, and notes_prompt frames
 *          it as data. An invalidated note stays on disk for the audit and is shown to no model.
 * Memory   Lists live in the arena.
 * Errors   -ERR_INVALID for a scope or a text that is none; -ERR_NOENT for an id that is not there. A file that
 *          is no note is left out of lists.
 * Source   docs/memory.md.
 */
#ifndef MEMORY_NOTES_H
#define MEMORY_NOTES_H

#include "base/arena.h"
#include "base/buf.h"

#define NOTES_DIR       "memories"
#define NOTE_ID_LEN     10   /* m-XXXXXXXX */
#define NOTE_SCOPE_MAX  64
#define NOTE_TEXT_MAX   2000
#define NOTE_REASON_MAX 300
#define NOTES_MAX       1024 /* files that are looked at */
#define NOTES_PER_RUN   32   /* that one run may write */
#define NOTES_PROMPT    4096 /* bytes of a prompt that notes may take */

struct memory_note {
	char id[NOTE_ID_LEN + 1];
	struct str scope, text;
	struct str origin;     /* "run sunny-otter-K4Q7B2" or "operator" */
	struct str created_at; /* ISO */
	struct str invalidated_at, invalidated_by, reason; /* empty: in force */
};

bool note_id_ok(struct str id);
void note_id_new(char id[NOTE_ID_LEN + 1]);
bool note_scope_ok(struct str scope); /* [a-z0-9-], 1 to 64 */
/* The text as it is kept: UTF-8, no control but newlines, trimmed, bounded. -ERR_INVALID when nothing is left of it
 * or it is too long. */
int note_text_clean(struct str text, struct buf *out, struct err *err) CHECKED;

/* Newest first; `all` with those that were invalidated. */
int notes_list(int dirfd, bool all, struct arena *mem, struct memory_note **out, size_t *n, struct err *err) CHECKED;
/* word: an id or the unambiguous beginning of one. */
int note_find(int dirfd, struct str word, struct arena *mem, struct memory_note *out, struct err *err) CHECKED;
/* id: a new one, from note_id_new; -ERR_EXIST when it is taken. */
int note_add(int dirfd, struct str id, struct str scope, struct str text, struct str origin, struct err *err) CHECKED;
int note_invalidate(int dirfd, struct str id, struct str reason, struct str by, struct err *err) CHECKED;
int note_remove(int dirfd, struct str id, struct err *err) CHECKED;

/* The block of a prompt: as many as fit, newest first, each on one line with its id and origin. Nothing when there
 * is none. */
int notes_prompt(const struct memory_note *notes, size_t n, struct buf *out, struct err *err) CHECKED;

#endif
