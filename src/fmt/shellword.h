/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* shellword: a word as a person would have to type it for a shell to read it back.
 *
 * Shape    shellword_add per word, with whatever stands between them added by the caller.
 * Errors   -ERR_LIMIT past the buf's max; then the word may be there in part.
 * Source   POSIX.1-2017, XCU 2.2.2, "Single-Quotes"; POSIX.1-2024, XCU 2.2.4, "Dollar-Single-Quotes", with \u as bash has it.
 */
#ifndef FMT_SHELLWORD_H
#define FMT_SHELLWORD_H

#include "base/buf.h"

/* As it is when it holds nothing but ASCII letters, digits and harmless marks, else in single quotes: a space of
 * another script must not look like the end of the word. What is not seen as itself (utf8_sight) is written out, in $'...'.
 * A letter of another script may still look like one of ours. */
int shellword_add(struct buf *b, struct str word, struct err *err) CHECKED;

#endif
