/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* ending: what the reason of a run's end means to those who come after.
 *
 * Shape    ending_is_final of a reason that was recorded; ending_number and ending_word across a channel. One table holds every
 *          reason.
 * Memory   Words are static.
 * Source   docs/loop.md, "How a run ends".
 */
#ifndef SESSION_ENDING_H
#define SESSION_ENDING_H

#include "base/str.h"

/* The run did what it was asked: to go on, it must be told what to do next. */
bool ending_is_final(struct str reason);

/* A reason as a number and back, for who must not pass on words of an agent: what is not in the table is 0, "other". */
uint8_t ending_number(struct str reason);
const char *ending_word(uint8_t number);

#endif
