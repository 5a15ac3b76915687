/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* search_cache: which names a text defines, so that it is not read for definitions a second time.
 *
 * Shape    search_cache_open the bytes that the last search left, ask and put from any thread, search_cache_write.
 * Memory   search_cache_free frees all.
 * Errors   search_cache_open takes any bytes: what is not whole is an empty cache.
 * Units    SEARCH_CACHE_MAX bytes; the oldest texts are forgotten first.
 * Source   docs/index.md, "What is kept"
 *
 * A text is known by a hash over its bytes and its language, under a key that was drawn when the cache began: whatever
 * happens to a file, an entry holds of the text or is not found. The worst that wrong bytes do is a wrong answer about names.
 */
#ifndef TOOL_SEARCH_CACHE_H
#define TOOL_SEARCH_CACHE_H

#include "base/buf.h"

#define SEARCH_CACHE_MAX   ((size_t)2 * 1024 * 1024)
#define SEARCH_CACHE_NAMES 4096 /* of one text; one with more is not kept */

enum search_depth { DEPTH_PATTERNS, DEPTH_PARSER }; /* who read it */
enum search_known { KNOWN_NOTHING, KNOWN_LACKS, KNOWN_MAY_HAVE };

/* The names of one text, as they are found. */
struct search_names {
	uint64_t text; /* search_text_key of what was read */
	uint16_t *p;   /* owned */
	size_t n, cap;
	bool whole;    /* all of them are here */
};
void search_names_fini(struct search_names *s);
void search_names_add(struct search_names *s, struct str name);

struct search_cache;
struct search_cache *search_cache_open(struct str bytes);
void search_cache_free(struct search_cache *c);
uint64_t search_cache_seed(const struct search_cache *c);
uint64_t search_text_key(uint64_t seed, struct str path, struct str text);
enum search_known search_cache_ask(struct search_cache *c, uint64_t text, enum search_depth depth, struct str name);
void search_cache_put(struct search_cache *c, uint64_t text, enum search_depth depth, const struct search_names *names);
bool search_cache_changed(const struct search_cache *c); /* since it was opened */
int search_cache_write(const struct search_cache *c, struct buf *out, struct err *err) CHECKED;

#endif
