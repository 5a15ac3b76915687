/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* search: where a text stands in what sessions left: journal, conversation, transcripts, plan and answer.
 *
 * A line of the record holds whole texts, and texts of JSON within them: each is taken apart, and what is shown is one line of
 * what somebody said, with who it was. Words are looked for in what was said, not in the JSON around it; a regular expression
 * that matches only as the line stands in the record is shown as it stands there.
 *
 * Shape    search_new compiles the pattern, to machine code, before the process is confined: no memory becomes
 *          executable afterwards. search_record then goes through one record.
 * Memory   One file at a time is held. A hit dies when on_hit returns.
 * Errors   -ERR_INVALID for a pattern that is none, saying where; what a file cannot be read for is passed on.
 *          on_hit returns 1 to stop.
 * Units    Lines and turns from 1; turn 0: not known.
 */
#ifndef VIEW_SEARCH_H
#define VIEW_SEARCH_H

#include "base/arena.h"
#include "base/buf.h"

struct search_spec {
	struct str pattern;
	bool regex; /* a regular expression over the text as it stands in the record; else the words themselves */
	bool ignore_case;
};

struct search_hit {
	const char *file; /* "transcripts/0003.json" */
	int64_t line, turn;
	struct str type;    /* of an event; else empty */
	struct str who;     /* "you", "model", "tool", "agent6", "plan"; "request" and "answer": what was sent to a model and came */
	struct str snippet; /* one line, cut around the match; nothing in it can move a cursor */
	size_t mark, mark_n; /* the match in it */
};
typedef int search_hit_fn(void *self, const struct search_hit *hit, struct err *err);

struct search;
int search_new(const struct search_spec *spec, struct search **out, struct err *err) CHECKED;
void search_free(struct search *s);
static inline void search_free_ptr(struct search **s)
{
	search_free(*s);
}
#define auto_search CLEANUP(search_free_ptr)

/* The same words in another file of the record are told once. */
int search_record(struct search *s, int record_fd, search_hit_fn *on_hit, void *self, struct err *err) CHECKED;
int64_t search_bytes(const struct search *s); /* looked through so far */

#endif
