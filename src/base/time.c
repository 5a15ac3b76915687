/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/time.h"

#include <stdio.h>
#include <time.h>

static int64_t time_fake_ms;
static int64_t time_held_ms, time_step_ms, time_skipped_ms;

static int64_t read_us(clockid_t clock)
{
	struct timespec ts;

	BUG_IF(clock_gettime(clock, &ts) < 0);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t time_now_us(void)
{
	return time_fake_ms ? time_fake_ms * 1000 : read_us(CLOCK_REALTIME);
}

int64_t time_now_ms(void)
{
	return time_now_us() / 1000;
}

int64_t time_mono_ms(void)
{
	time_skipped_ms += time_step_ms;
	return (time_held_ms ? time_held_ms : read_us(CLOCK_MONOTONIC) / 1000) + time_skipped_ms;
}

void time_fake_mono(int64_t ms)
{
	time_held_ms = ms;
}

void time_fake_step(int64_t ms)
{
	time_step_ms = ms;
	time_skipped_ms = 0;
}

void time_fake(int64_t now_ms)
{
	time_fake_ms = now_ms;
}

const char *time_iso(int64_t us, char out[TIME_ISO_MAX])
{
	time_t s = (time_t)(us / 1000000);
	struct tm tm;
	size_t n;

	BUG_IF(us < 0 || !gmtime_r(&s, &tm));
	n = strftime(out, TIME_ISO_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, TIME_ISO_MAX - n, ".%06dZ", (int)(us % 1000000));
	return out;
}
