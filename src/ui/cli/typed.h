/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* typed: a command that is told for typing works for who reads it. Root types --allow-root, unless the environment says it.
 *
 * Shape    typed_add copies a text and puts the flag behind each "agent6" that one of our commands follows which wants it;
 *          typed_here does so where it is needed, and else hands the text back.
 * Memory   typed_here's text lives in the arena.
 * Errors   -ERR_LIMIT where out is full; typed_here then hands back the text as it was.
 */
#ifndef UI_CLI_TYPED_H
#define UI_CLI_TYPED_H

#include "base/arena.h"
#include "base/buf.h"

int typed_add(struct buf *out, struct str text, struct err *err) CHECKED;
struct str typed_here(struct str text, struct arena *mem);

#endif
