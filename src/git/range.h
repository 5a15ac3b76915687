/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* range: what a person types for a change between two commits, taken apart; git resolves the parts.
 *
 *   FROM..TO    from FROM to TO
 *   FROM...TO   from where the two parted, to TO
 *   REV^!       what that one commit changed; REV^- is the same
 *
 * A side that is left out is HEAD.
 * Shape    range_parse, and then repo_resolve for each side.
 * Memory   Views into the text.
 * Errors   -ERR_INVALID with what was written and what is wrong with it.
 * Source   gitrevisions(7), "Specifying ranges".
 */
#ifndef GIT_RANGE_H
#define GIT_RANGE_H

#include "base/str.h"

#define RANGE_MAX 520

enum range_how { RANGE_TWO, RANGE_PARTED, RANGE_ONE };

struct range {
	enum range_how how;
	struct str from, to; /* RANGE_ONE: to alone, and from is its parent */
};

int range_parse(struct str text, struct range *out, struct err *err) CHECKED;
/* The same check for one side, named by the flag it came with. */
int range_side(const char *flag, struct str text, struct err *err) CHECKED;

#endif
