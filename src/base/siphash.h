/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* siphash: a number of some bytes that who does not know the key can neither foresee nor make other bytes have.
 *
 * Shape    One call for one text; the key is random and the caller's.
 * Source   SipHash-2-4, Aumasson and Bernstein, 2012.
 */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include "base/str.h"

#include <stdint.h>

uint64_t siphash(const uint64_t key[2], struct str s);

#endif
