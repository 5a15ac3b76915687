/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* init: prepares a repository for runs: its own configuration, .gitignore, AGENTS.md.
 *
 * Shape    app_init once, in a process that does nothing else. What the repository's files say is found out by a child
 *          that can write nothing; the process itself confines itself to the workspace before it adds lines there.
 * Memory   In the arena.
 * Errors   A file that is no regular file of the workspace is left alone and named in `notes`. What exists is only
 *          ever added to.
 * Source   docs/loop.md, "The gate", for how the verify command is found.
 */
#ifndef APP_INIT_H
#define APP_INIT_H

#include "app/place.h"

enum init_ecosystem { INIT_OTHER, INIT_PY, INIT_RUST, INIT_NODE };
extern const char *const init_ecosystems[]; /* their words after "other", NULL ended */

struct init_done {
	struct str_list verify;   /* the verify command that counts now; empty: none */
	const char *verify_from;  /* where it was found, or "configured" */
	bool verify_set;          /* it was written to the repository's configuration */
	size_t ignored;           /* lines added to .gitignore */
	bool agents_made, agents_added; /* AGENTS.md was made; got a verify section */
	struct str_list notes;
};

/* ecosystem: INIT_OTHER finds out by itself. */
int app_init(const struct place *place, enum init_ecosystem ecosystem, struct arena *mem, struct init_done *out,
	struct err *err) CHECKED;

#endif
