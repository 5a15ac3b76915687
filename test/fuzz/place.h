/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* place: a directory in memory for all runs of one fuzzer.
 *
 * Shape    place_new once, from LLVMFuzzerInitialize. It is removed with all in it when the fuzzer ends by itself.
 * Memory   The descriptor is the caller's.
 */
#ifndef TEST_FUZZ_PLACE_H
#define TEST_FUZZ_PLACE_H

#include "sys/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static char place[64]; /* its path */

static inline void place_leave(void)
{
	(void)!dir_remove_tree(AT_FDCWD, place, ERR_DISCARD);
}

static inline int place_new(void)
{
	int fd = -1;

	snprintf(place, sizeof(place), "/dev/shm/agent6-fuzz-XXXXXX");
	BUG_IF(!mkdtemp(place) || dir_open(AT_FDCWD, place, &fd, ERR_DISCARD) < 0);
	atexit(place_leave);
	return fd;
}

#endif
