/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* complete: what may stand next on a command line, from the tables of commands and fields.
 *
 * Shape    complete_words looks at the words after "agent6"; the last one is being typed and may be empty. Each
 *          candidate is a line "word\thelp". Nothing printed: the shell offers file names.
 *          What only this machine knows (ids, keys, providers) comes from the callback.
 * Memory   Candidates are added to the buffer; the callback's words are copied.
 * Errors   Of the buffer and of the callback. A line that makes no sense has no candidates, which is no error.
 */
#ifndef UI_CLI_COMPLETE_H
#define UI_CLI_COMPLETE_H

#include "ui/cli/args.h"

enum complete_what {
	COMPLETE_OTHER, /* a file, or words of the person's own */
	COMPLETE_ID,    /* a session of this repository */
	COMPLETE_KEY,   /* a key of the configuration */
	COMPLETE_VALUE, /* of the key `before` */
	COMPLETE_PRESET,
	COMPLETE_ROLE,
	COMPLETE_PROVIDER, /* that is configured */
	COMPLETE_MODEL,    /* of the provider `before`, as its server listed them last */
	COMPLETE_SKILL,
	COMPLETE_SKILL_ALL,    /* those too that are disabled */
	COMPLETE_KEY_OR_TABLE, /* a provider or a server with all its keys too */
	COMPLETE_SERVER,       /* an MCP server that is configured */
	COMPLETE_CONNECT,      /* a provider that is known, or configured */
	COMPLETE_SIDE,         /* a model beside a session */
	COMPLETE_PERSONA,      /* what a reviewer looks for */
	COMPLETE_PERSONAS,     /* several, with commas between them */
	COMPLETE_BRANCH,       /* of this repository, where it keeps its refs as files */
	COMPLETE_NOTE,         /* a note of this repository that is in force */
};

struct complete {
	struct str typed;  /* candidates begin with it */
	struct str before; /* the word before it that is no flag, or empty */
	struct buf *out;
};
int complete_add(const struct complete *c, struct str word, struct str help, struct err *err) CHECKED;

typedef int complete_values(void *self, enum complete_what what, const struct complete *c, struct err *err);

struct arena;
int complete_branches(struct arena *mem, const struct complete *c, struct err *err) CHECKED;
int complete_words(struct args_words words, complete_values *values, void *self, struct buf *out, struct err *err) CHECKED;

#endif
