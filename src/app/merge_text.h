/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* merge_text: the message of a commit that brings a run to a branch.
 *
 * Shape    A headline from the task, at most 72 bytes and up to the end of its first sentence; the whole task when it is longer,
 *          wrapped; what each step did, once; or, combined, the subjects of all steps as they are. The model's own: what it said
 *          of its work, as git/message.h lets it through, instead; nothing said, and it is the first form. Conventional: a kind by
 *          the paths before the headline. Then the run, and the trailer.
 * Memory   In the arena.
 * Errors   -ERR_LIMIT past 128 KiB, or 64 KiB in a line.
 * Source   docs/git.md, "Merges".
 */
#ifndef APP_MERGE_TEXT_H
#define APP_MERGE_TEXT_H

#include "base/arena.h"
#include "git/repo.h"

struct merge_text {
	struct str task, trailer, model; /* {model} in the trailer stands for model */
	const char *run_id;
	struct repo_commit *steps; /* oldest first */
	size_t nsteps;
	bool merge;   /* a merge commit: the steps are its second parent's, and are not told again */
	enum merge_style { MERGE_AGENT6, MERGE_CONVENTIONAL, MERGE_COMBINE, MERGE_MODEL } style;
	struct str said;   /* MODEL: at the end of the run */
	struct message_path *paths; /* CONVENTIONAL: what changed */
	size_t npaths;
};

int merge_text(const struct merge_text *t, struct arena *mem, struct str *out, struct err *err) CHECKED;

#endif
