/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fuzz_search_cache: what a taken-over worker leaves behind is read within its bounds, and written back the same. */
#include "tool/search_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct buf first = BUF_MAX(SEARCH_CACHE_MAX), second = BUF_MAX(SEARCH_CACHE_MAX);
	struct search_cache *c = search_cache_open(str_of(data, size));
	CLEANUP(search_names_fini) struct search_names names = { .whole = true };
	uint64_t text = search_text_key(search_cache_seed(c), STR("a.c"), str_of(data, size));

	search_names_add(&names, str_of(data, size));
	search_cache_put(c, text, DEPTH_PARSER, &names);
	BUG_IF(search_cache_ask(c, text, DEPTH_PARSER, STR("x")) == KNOWN_NOTHING);
	BUG_IF(search_cache_write(c, &first, ERR_DISCARD) < 0);
	search_cache_free(c);
	c = search_cache_open(buf_str(&first));
	BUG_IF(search_cache_write(c, &second, ERR_DISCARD) < 0 || !str_eq(buf_str(&first), buf_str(&second)));
	search_cache_free(c);
	return 0;
}
