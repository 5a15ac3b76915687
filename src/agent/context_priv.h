/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* context_priv: what the files of the context share. */
#ifndef AGENT_CONTEXT_PRIV_H
#define AGENT_CONTEXT_PRIV_H

#include "agent/run_priv.h"
#include "fmt/jscan.h"

/* How much is set aside. */
enum elide_how {
	ELIDE_DOWN,     /* old results, down to half of what is allowed, when that is worth a new prefix */
	ELIDE_ALL_OLD,  /* all but the newest turn's */
	ELIDE_ALL,      /* the newest turn's too */
};

/* elide.c: the cheap tier. Returns the bytes it freed. */
int elide_results(struct run *r, enum elide_how how, size_t *freed, struct err *err) CHECKED;

void elide_count(const struct run *r, int64_t *elided, int64_t *gists); /* results that are set aside, and those with a gist */

struct jval context_call(struct jval calls, struct jval id); /* the call of that id among a message's blocks; JSCAN_NONE: none */

/* gist.c: what stands for a result that was set aside; text is its content as the tool gave it. */
int gist_write(struct buf *out, struct str text, bool with_gist, struct err *err) CHECKED;
bool gist_is(struct str content); /* a result that was set aside before */
bool gist_is_bare(struct str content);

/* restart.c: the summary tier. *done is false when there is nothing to set aside. */
struct restart_how {
	struct str focus;
	size_t keep;     /* bytes of the newest turns that stay */
	bool mechanical; /* when no summary can be had, a list of what was done will do */
};
int restart_conversation(struct run *r, struct turn *t, const struct restart_how *how, bool *done,
	struct err *err) CHECKED;

/* The record of the conversation from message i on is written again. */
int context_record_from(struct run *r, size_t i, struct err *err) CHECKED;
int context_add_json_text(struct buf *out, struct str text, struct err *err) CHECKED; /* {"type":"text",...} */

#endif
