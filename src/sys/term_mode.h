/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* term_mode: a mode of the terminal that is not the person's, while a key is typed; their own comes back, whatever ends us.
 *
 * Shape    term_mode_unseen, then term_mode_restore on every way out. A signal that ends or stops us restores it by itself.
 * Memory   The person's mode is kept in src/GLOBALS: a handler cannot be passed anything. One terminal at a time.
 * Errors   What the kernel says. A process that is not in the foreground changes nothing when it ends.
 */
#ifndef SYS_TERM_MODE_H
#define SYS_TERM_MODE_H

#include "base/err.h"

/* No echo, each byte as it comes, no key that is a signal: Ctrl-C is a byte too. What was typed before is thrown away. */
int term_mode_unseen(int fd, struct err *err) CHECKED;
void term_mode_restore(void); /* async-signal-safe; a second time does nothing */

#endif
