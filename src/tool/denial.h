/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* denial: whether it was the jail that made a command fail, and which key of the configuration would allow it.
 *
 * Shape    denial_explain after a command. It says something only when the command failed and the end of its error
 *          output names what the jail refuses: a path outside the grants, the network, a privileged call. What a
 *          failing test suite prints about paths inside the workspace says nothing.
 * Memory   The note lives in the arena.
 * Errors   None: no note is a result. It is a guess from words, for people and the model; nothing is decided by it.
 * Source   docs/tools.md, "Commands".
 */
#ifndef TOOL_DENIAL_H
#define TOOL_DENIAL_H

#include "tool/tool.h"

struct denial {
	struct str note; /* empty: not the jail, as far as can be told */
	const char *key; /* what the operator could set; NULL: nothing allows it */
};

void denial_explain(const struct tool_ctx *ctx, const struct job_result *job, struct arena *mem, struct denial *out);

#endif
