/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* names: file names in a sentence: "a.c, b.c and 3 more".
 *
 * Shape    names_add behind what the sentence says of them. At most max are named.
 * Errors   Those of the buffer.
 */
#ifndef FMT_NAMES_H
#define FMT_NAMES_H

#include "base/buf.h"
#include "fmt/field.h"

int names_add(struct buf *out, const struct str_list *names, size_t max, struct err *err) CHECKED;

#endif
