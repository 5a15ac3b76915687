/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#ifndef TOOL_DENIAL_PRIV_H
#define TOOL_DENIAL_PRIV_H

#include "tool/denial.h"

#define DENIAL_LINES    12 /* the last ones that are not blank */
#define DENIAL_NEAR_END 3  /* for words that mean something else as often */

/* Of a line that names a path the path decides; of any other the rule is known by it alone. */
enum denial_cause {
	CAUSE_WRITE = DENIAL_RULES, /* refused, as only writing is */
	CAUSE_OPEN,                 /* refused, reading or writing */
	CAUSE_GONE,                 /* not there: outside the grants nothing is */
};

/* Every word stands in the line, in any case. The first row that fits a line counts. */
struct denial_row {
	unsigned cause; /* a rule, or what it has to do with a path */
	const char *words[2];
	size_t within; /* of the last lines */
};
extern const struct denial_row denial_rows[];
extern const size_t denial_nrows;

#endif
