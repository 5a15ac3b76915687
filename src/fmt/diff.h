/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* diff: how two texts differ, and how much.
 *
 * Shape    diff_unified writes hunks for people and models; diff_ratio is 1 for equal and 0 for foreign texts.
 * Memory   Scratch is freed before return.
 * Errors   -ERR_LIMIT when out is too small.
 * Units    Work is bounded: diff_unified shows texts that differ in more than DIFF_EDITS_MAX lines as one
 *          replacement; diff_ratio compares at most DIFF_RATIO_MAX bytes of each.
 * Source   E. Myers, An O(ND) Difference Algorithm (1986); Ratcliff and Metzener, Pattern Matching (1988).
 */
#ifndef FMT_DIFF_H
#define FMT_DIFF_H

#include "base/buf.h"

#define DIFF_EDITS_MAX 1000
#define DIFF_RATIO_MAX 4000

/* Hunks of a -> b with `context` lines around; lines numbered from first_line. No file headers. */
int diff_unified(struct str a, struct str b, int64_t first_line, size_t context, struct buf *out, size_t *hunks,
	struct err *err) CHECKED;

/* Ratcliff-Obershelp: 2 * matching bytes / all bytes. */
double diff_ratio(struct str a, struct str b);
/* Never less than diff_ratio, and much cheaper: what a comparison without order finds. */
double diff_ratio_bound(struct str a, struct str b);

#endif
