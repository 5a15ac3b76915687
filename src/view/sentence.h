/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* sentence: the events that are one sentence to read, and nothing more.
 *
 * Shape    sentence_of() gives the row of an event, sentence_add() the sentence with the event's fields in it.
 * Memory   rows are constants; the text goes to the end of the caller's buffer.
 * Errors   ERR_LIMIT where the buffer is full.
 */
#ifndef VIEW_SENTENCE_H
#define VIEW_SENTENCE_H

#include "fmt/jscan.h"
#include "session/event.h"
#include "view/fold.h"

struct sentence {
	enum event_id id;
	enum view_kind kind;
	const char *form; /* {name} stands for a field of the event */
};

/* NULL: this event is none of them. */
const struct sentence *sentence_of(enum event_id id);

/* The field of this name; JSCAN_NONE: there is none, which is shown as "?". */
typedef struct jval sentence_field_fn(const void *self, struct str name);

int sentence_add(const struct sentence *s, sentence_field_fn *field, const void *self, struct buf *out, struct err *err) CHECKED;

#endif
