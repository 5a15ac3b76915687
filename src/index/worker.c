/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "index/worker.h"
#include "index/pool.h"

#include "fmt/json.h"
#include "sys/file.h"
#include "tool/search.h"

#include <fcntl.h>

static void close_pool(struct pool **p)
{
	pool_close(*p);
}

static void free_cache(struct search_cache **c)
{
	search_cache_free(*c);
}

static int put_cache(const struct search_cache *c, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(SEARCH_CACHE_MAX);

	TRY(search_cache_write(c, &b, err));
	return file_write_fd(STDOUT_FILENO, buf_str(&b), err);
}

static int serve(struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf text = BUF_MAX(SEARCH_REQUEST_MAX + 1 + SEARCH_CACHE_MAX);
	CLEANUP(free_cache) struct search_cache *cache = NULL;
	CLEANUP(close_pool) struct pool *pool = NULL;
	struct symbol_reader reader;
	struct search_request r;
	autoclose int root = -1;

	TRY(file_read_fd(STDIN_FILENO, &text, err));
	size_t line = str_find(buf_str(&text), STR("\n"));

	TRY(search_decode(str_head(buf_str(&text), line), mem, &r, err));
	TRY(dir_open(AT_FDCWD, r.root.n > 0 ? r.root.p : ".", &root, err));
	if (r.what == SEARCH_LINES || r.what == SEARCH_PRIORS)
		return search_run(&r, root, NULL, STDOUT_FILENO, err);
	/* Before search_run makes its threads: a process with threads is no good to fork. Where none can be forked patterns
	 * answer, and the answer says so. */
	if (r.what == SEARCH_DEFINITIONS && line < text.n)
		cache = search_cache_open(str_skip(buf_str(&text), line + 1));
	if (pool_open(root, r.what == SEARCH_OUTLINE ? 1 : search_lanes(), POOL_PARSE_MS, cache ? search_cache_seed(cache) : 0, &pool,
		    ERR_DISCARD) < 0)
		return search_run(&r, root, NULL, STDOUT_FILENO, err);
	reader = pool_reader(pool);
	reader.cache = cache;
	TRY(search_run(&r, root, &reader, STDOUT_FILENO, err));
	return cache && search_cache_changed(cache) ? put_cache(cache, err) : 0;
}

int index_worker_main(void)
{
	struct err err = { 0 };
	auto_buf struct buf out = BUF_MAX(4096);

	if (serve(&err) == 0)
		return 0;
	/* Whoever asked reads JSON lines, also of a failure. */
	if (buf_addz(&out, "{", &err) < 0 || json_add_member(&out, "error", str_from(err.msg), &err) < 0 ||
		buf_addz(&out, "}\n", &err) < 0 || file_write_fd(STDOUT_FILENO, buf_str(&out), &err) < 0)
		return 1;
	return 1;
}
