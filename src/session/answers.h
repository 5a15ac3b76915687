/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* answers: what a front-end tells a live run: one small file each in the run's answers/, whole or not at
 * all. The monitor alone reads and deletes them, and nothing that a model or a tool can reach lies there:
 * what comes this way comes from the operator.
 *
 * Shape    A front-end: answers_tell for a word of its own, answers_reply to a prompt. The monitor:
 *          answers_take until it returns 0, then the replies it waits for by their id.
 * Memory   Texts go into the caller's buf.
 * Errors   -ERR_LIMIT for a text that is longer than ANSWER_TEXT_MAX, -ERR_INVALID for an empty one where
 *          its kind needs words. Otherwise the file system's.
 * Source   docs/steering.md. A file is named KIND.TIME-PID, so that what is said first is heard first and
 *          two front-ends never write the same name.
 */
#ifndef SESSION_ANSWERS_H
#define SESSION_ANSWERS_H

#include "base/buf.h"

#define ANSWER_TEXT_MAX 16384

/* X(kind, word, needs words)   what the text says */
#define ANSWER_KINDS(X)                                                                                      \
	X(ANSWER_STEER, "steer", true)       /* goes to the model with the next results, a pause stays; "/pin TEXT" pins it */ \
	X(ANSWER_COMPACT, "compact", false)  /* make the context smaller; text: what to keep in mind */      \
	X(ANSWER_BTW, "btw", true)           /* a question beside the work, answered without tools */        \
	X(ANSWER_PAUSE, "pause", false)      /* wait after the step; text "now": give up the call in flight */ \
	X(ANSWER_CONTINUE, "continue", false) /* go on */                                                    \
	X(ANSWER_STOP, "stop", false)        /* end after the step; text "now": at once */                   \
	X(ANSWER_DETACH, "detach", false)    /* go on without the terminal; text: wait, deny or approve */   \
	X(ANSWER_UNDO, "undo", false)        /* end, and let who holds the terminal go back to before the last words */

enum answer_kind {
#define X(kind, word, needs) kind,
	ANSWER_KINDS(X)
#undef X
		ANSWER_COUNT
};

int answers_tell(int dirfd, enum answer_kind kind, struct str text, struct err *err) CHECKED;
/* To the approval or question of this id, as src/view shows it. */
int answers_reply(int dirfd, const char *id, struct str text, struct err *err) CHECKED;

/* The oldest word of a front-end: 1, and its file is gone; 0: there is none. One that cannot be read is
 * gone too, and taken for none. */
int answers_take(int dirfd, enum answer_kind *kind, struct buf *text, struct err *err) CHECKED;

const char *answer_word(enum answer_kind kind);

/* The one answer to a question of the agent that the monitor knows: what is not committed is set aside, and the run begins anew. */
#define ANSWER_SET_ASIDE "set them aside first"
bool answer_sets_aside(struct str answer); /* it, or "stash" */

#endif
