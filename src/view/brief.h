/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* brief: what a tool call is about, in a few words: a command as typed, a path, a pattern.
 *
 * Shape    brief_args on the arguments of a call, or on a list of words.
 * Memory   Appends to the buf, at most BRIEF_BYTES, or max; what is longer ends in "...".
 * Errors   -ERR_LIMIT when the buf is full.
 */
#ifndef VIEW_BRIEF_H
#define VIEW_BRIEF_H

#include "fmt/jscan.h"

#define BRIEF_BYTES 120
#define WHOLE_BYTES 8000 /* what a view shows of one command */

int brief_args(struct jval args, struct buf *out, struct err *err) CHECKED;
int brief_upto(struct jval args, size_t max, struct buf *out, struct err *err) CHECKED;

#endif
