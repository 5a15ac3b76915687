/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* talk: the conversation as the lines of messages.jsonl add up, and its checkpoints.
 *
 * Shape    talk_all over the file's text, or over talk_until of it for the checkpoint of one turn; then
 *          t->found says whether there is a checkpoint, talk_message gives its messages.
 * Memory   Views into the text; talk_fini frees the lists.
 * Errors   None: a line that is none of ours is left out and counted.
 * Source   session/store.h, "Files".
 */
#ifndef SESSION_TALK_H
#define SESSION_TALK_H

#include "base/str.h"
#include "base/vec.h"

struct talk_list {
	VEC(struct str);
};

/* {"journal":N,"h":"..."}: how far the journal had come when this line was written. n 0: none. */
struct talk_witness {
	uint32_t n;
	struct str h; /* 64 hex digits */
};
bool talk_witness(struct str line, struct talk_witness *out);

/* The conversation as the lines add up, and its newest checkpoint. */
struct talk {
	struct talk_list now;        /* JSON texts */
	struct talk_list aside;      /* the checkpoint's own, once a cut went below it */
	uint32_t kept;               /* messages of the checkpoint; they begin `now` unless set aside */
	struct str state, in_flight; /* of the checkpoint; the marker as the last line left it */
	uint32_t turn;
	bool found, is_aside;
	bool hole;                   /* a message is missing: what comes after it is no conversation */
	struct talk_witness seen;    /* the newest */
};

void talk_fini(struct talk *t);
#define auto_talk CLEANUP(talk_fini)

/* One line. False: it is none of ours. */
bool talk_line(struct talk *t, struct str line);
int64_t talk_all(struct talk *t, struct str text); /* how many lines were none of ours */
struct str talk_message(const struct talk *t, uint32_t i); /* of the checkpoint, i < kept */
/* The text up to the last checkpoint of that turn; the empty view when there is none. */
struct str talk_until(struct str text, uint32_t turn);
/* The checkpoint that a line is: its turn and state. */
bool talk_checkpoint(struct str line, uint32_t *turn, struct str *state);

#endif
