/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* pool_priv: frames between the processes of a pool: four bytes of length, then so many bytes; and what an answer says. */
#ifndef INDEX_POOL_PRIV_H
#define INDEX_POOL_PRIV_H

#include "base/buf.h"
#include "tool/search.h"

/* 1; 0 at the end; -ERR_TIMEOUT past until_ms of time_mono_ms (-1: waits for ever), -ERR_LIMIT past out's max. */
int frame_read(int fd, int64_t until_ms, struct buf *out) CHECKED;

struct unpack;
/* The names of a reader's answer, which stand in front of its symbols. */
int pool_names(struct unpack *u, struct search_names *out, struct err *err) CHECKED;
/* The symbols of a reader's answer, each checked before fn sees it. -ERR_PROTOCOL: it is none. */
int pool_tell(struct unpack *u, const struct search_request *rq, symbol_fn *fn, void *self, struct err *err) CHECKED;

#endif
