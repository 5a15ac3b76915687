/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* jstrict: proves that a text is one JSON object, and copies it without blanks between its values.
 *
 * Shape    One call. What comes out is one line of valid UTF-8 that any JSON reader takes the same way.
 * Memory   None but what is added to the buf; the depth is bounded, not the size.
 * Errors   -ERR_SYNTAX with the byte offset; -ERR_LIMIT past JSTRICT_DEPTH levels, JSTRICT_MEMBERS members or the buf's max. The buf is
 *          as it was then.
 * Source   RFC 8259. Stricter than it: valid UTF-8 only, no lone surrogate, no U+0000, no member named twice,
 *          however it is spelled.
 */
#ifndef FMT_JSTRICT_H
#define FMT_JSTRICT_H

#include "base/buf.h"

#define JSTRICT_DEPTH   64
#define JSTRICT_MEMBERS 256 /* of one object */

int jstrict_add_object(struct buf *out, struct str text, struct err *err) CHECKED;

#endif
