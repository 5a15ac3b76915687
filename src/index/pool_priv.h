/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* pool_priv: frames between the processes of a pool: four bytes of length, then so many bytes. */
#ifndef INDEX_POOL_PRIV_H
#define INDEX_POOL_PRIV_H

#include "base/buf.h"

/* 1; 0 at the end; -ERR_TIMEOUT past until_ms of time_mono_ms (-1: waits for ever), -ERR_LIMIT past out's max. */
int frame_read(int fd, int64_t until_ms, struct buf *out) CHECKED;

#endif
