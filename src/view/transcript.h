/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* transcript: a recorded conversation, piece by piece, in the order it was had.
 *
 * Shape    transcript_read calls on_item for each piece: what was said, what was called and what came of it, and
 *          marks where the conversation was written anew or a leg began anew.
 * Memory   An item dies when on_item returns. Its texts are bytes of the record: hostile, cleaned by who prints.
 * Errors   on_item's; a line that is none of the record's is left out.
 * Source   session/store.h, "Files"; provider/conversation.h, "Source".
 */
#ifndef VIEW_TRANSCRIPT_H
#define VIEW_TRANSCRIPT_H

#include "base/arena.h"
#include "base/buf.h"

enum transcript_kind {
	TRANSCRIPT_PERSON, /* the task, what the person said, and notices */
	TRANSCRIPT_MODEL,
	TRANSCRIPT_THINKING,
	TRANSCRIPT_CALL,   /* name, text: the arguments as JSON */
	TRANSCRIPT_RESULT, /* text */
	TRANSCRIPT_MARK,   /* text says what happened */
};

struct transcript_item {
	enum transcript_kind kind;
	int64_t turn; /* from 1 */
	struct str name, text;
	bool failed;  /* a result */
};
typedef int transcript_item_fn(void *self, const struct transcript_item *item, struct err *err);

int transcript_read(struct str messages, transcript_item_fn *on_item, void *self, struct err *err) CHECKED;
const char *transcript_kind_word(enum transcript_kind kind);

#endif
