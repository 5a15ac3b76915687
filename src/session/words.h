/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* words: what the names of sessions are made of.
 *
 * Shape    One word for any 16 random bits.
 */
#ifndef SESSION_WORDS_H
#define SESSION_WORDS_H

#include "base/base.h"

const char *word_adjective(unsigned random);
const char *word_noun(unsigned random);

#endif
