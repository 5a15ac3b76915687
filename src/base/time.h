/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* time: clocks that tests can replace.
 *
 * Shape    time_now_ms for what is written down, time_mono_ms for how long something takes.
 * Memory   time_iso answers in the caller's array.
 * Units    Milliseconds. time_now_ms is the epoch, UTC; time_mono_ms never goes back.
 */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include "base/buf.h"

int64_t time_now_ms(void);
int64_t time_now_us(void);
int64_t time_mono_ms(void);
void time_fake_mono(int64_t ms); /* tests: hold time_mono_ms there; 0: the real clock */
void time_fake_step(int64_t ms); /* tests: each look at time_mono_ms takes so long; 0: no longer than it does */
void time_fake(int64_t now_ms); /* tests: freeze time_now_*; 0 brings the real clock back */

#define TIME_ISO_MAX 32
const char *time_iso(int64_t us, char out[TIME_ISO_MAX]); /* 2026-11-29T20:00:42.123456Z */

#endif
