/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fence: somebody else's text in a prompt, between <tag> and </tag>.
 *
 * Shape    fence_add writes the whole block. In the text whatever reads like the tag, open or closed, in any case and
 *          with blanks in it, loses its '<' to a '(': nothing in a block can end it or begin another one.
 * Memory   Appends to out.
 * Errors   -ERR_LIMIT when out is full; the block is half there then.
 */
#ifndef FMT_FENCE_H
#define FMT_FENCE_H

#include "base/buf.h"

/* attributes: with a blank before each, or empty. */
int fence_add(struct buf *out, const char *tag, struct str attributes, struct str text, struct err *err) CHECKED;
/* The text alone, for who writes the tags. */
int fence_text(struct buf *out, const char *tag, struct str text, struct err *err) CHECKED;

#endif
