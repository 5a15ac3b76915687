/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* term_diff: a patch on a terminal, or as it is into a pipe.
 *
 * Shape    term_diff(fd, style, patch). On a terminal every line is cleaned and, with colour, painted by its
 *          first character; in a pipe the bytes stay, so that `git apply` takes them.
 * Errors   Those of write(2).
 */
#ifndef UI_CLI_TERM_DIFF_H
#define UI_CLI_TERM_DIFF_H

#include "sys/term.h"

int term_diff(int fd, struct term_style style, struct str patch, struct err *err) CHECKED;

#endif
