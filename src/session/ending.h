/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* ending: what the end of a run means to those who come after, and how it is said.
 *
 * Shape    ending_is_final of a reason that was recorded; ending_number and ending_word across a channel. One table holds every
 *          reason. ending_say_untracked and ending_say_gate make a sentence, or nothing where no file is named.
 * Memory   Words are static.
 * Errors   Those of the buffer.
 * Source   docs/loop.md, "How a run ends".
 */
#ifndef SESSION_ENDING_H
#define SESSION_ENDING_H

#include "fmt/field.h"

/* The run did what it was asked: to go on, it must be told what to do next. */
bool ending_is_final(struct str reason);

/* A reason as a number and back, for who must not pass on words of an agent: what is not in the table is 0, "other". */
uint8_t ending_number(struct str reason);
const char *ending_word(uint8_t number);

/* Names as they are shown; ten of them at most. */
int ending_say_untracked(const struct str_list *edited, const struct str_list *deleted, struct buf *out, struct err *err) CHECKED;
int ending_say_gate(const struct str_list *touched, struct buf *out, struct err *err) CHECKED;

#endif
