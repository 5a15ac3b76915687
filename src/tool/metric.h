/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* metric: the number that a run makes better: what the operator's command prints, found by the operator's pattern.
 *
 * Shape    metric_check when a run is prepared; metric_score over the output of one run of the command.
 * Errors   -ERR_INVALID for a pattern that is none, or has no group to take the number from.
 * Source   docs/loop.md, "The metric". PCRE2 without its compiler to machine code, with a bound on its work.
 */
#ifndef TOOL_METRIC_H
#define TOOL_METRIC_H

#include "base/err.h"
#include "base/str.h"

int metric_check(struct str pattern, struct err *err) CHECKED;
/* The first group of the first match, as a number. False: there is none. full (may be NULL): the number is all there is,
 * as in "12/12". */
bool metric_score(struct str pattern, struct str text, double *out, bool *full);

/* What a task says a number shall become: those behind <, <=, >, >= and =, in order, at most METRIC_TARGETS. */
#define METRIC_TARGETS 8
size_t metric_targets(struct str task, double out[METRIC_TARGETS]);

#endif
