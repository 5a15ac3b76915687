/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* pool: processes that read one source file after the other with code that we did not write, and may die of it.
 *
 * Shape    pool_open before the first thread is made; pool_read from one thread a lane; pool_close. A lane is two
 *          processes: a reader, which parses, and a keeper, which waits and makes a new reader when one has died.
 * Memory   What is told to fn lives during the call.
 * Errors   pool_read: a file that killed its reader, or was too much for it, is -ERR_SYS or -ERR_TIMEOUT and costs
 *          nothing else. After POOL_DEATHS_MAX of them a lane gives up (-ERR_LIMIT for every file).
 * Units    A file may take parse_ms (the worker: POOL_PARSE_MS) to parse and POOL_CPU_S of processor time in all, a
 *          reader POOL_MEMORY_MB. What a reader says is bounded and checked: it may have been taken over by a file.
 * Source   docs/index.md
 */
#ifndef INDEX_POOL_H
#define INDEX_POOL_H

#include "tool/search.h"

#define POOL_PARSE_MS   2000
#define POOL_CPU_S      4
#define POOL_WALL_MS    20000
#define POOL_MEMORY_MB  1024
#define POOL_DEATHS_MAX 20
#define POOL_SYMBOLS    50000              /* of one file */
#define POOL_ANSWER_MAX ((size_t)8 << 20)

struct pool;

/* seed: of the cache that names are for (tool/search_cache.h); any, where there is none. */
int pool_open(int rootfd, size_t lanes, int64_t parse_ms, uint64_t seed, struct pool **out, struct err *err) CHECKED;
void pool_close(struct pool *p); /* waits for its processes */
/* What the worker hands to the search; self of it is the pool. */
struct symbol_reader pool_reader(struct pool *p);

#endif
