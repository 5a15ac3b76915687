/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* search: grep over a tree, as the index worker does it.
 *
 * Shape    The agent encodes a request; the worker decodes it and writes JSON lines: rows
 *          {"path","line","text"} sorted by path and line (of symbols with "col", perhaps "end" and "in", and "KIND NAME" as
 *          text), then {"done":true,"count","truncated"} (of symbols with "source"), or {"error"} instead of everything.
 *          Behind the line of a request there may be what the search before left (tool/search_cache.h); then what this one
 *          leaves, if that is new, stands behind the last line of the answer.
 * Memory   Decoded requests live in mem.
 * Errors   search_run fails only when its answer cannot be written; what the model got wrong is {"error"}.
 * Units    Rows, their text, the time and the memory are bounded; "truncated" tells.
 * Source   docs/tools.md, "grep"; gitignore(5); pcre2api(3).
 */
#ifndef TOOL_SEARCH_H
#define TOOL_SEARCH_H

#include "fmt/field.h"
#include "tool/search_cache.h"
#include "tool/symbols.h"

#define SEARCH_PATTERN_MAX 4096
#define SEARCH_REQUEST_MAX (256 * 1024)
#define SEARCH_ROWS_MAX    200
#define SEARCH_TEXT_MAX    300 /* bytes of a matching line, around the match */
#define SEARCH_TIME_MS     30000
#define SEARCH_PARSED      300 /* files with the name of a definition; in later ones patterns must see one too */

/* What is looked for: lines, or names of source files (tool/symbols.h). */
enum search_what {
	SEARCH_LINES,
	SEARCH_OUTLINE,
	SEARCH_DEFINITIONS,
	SEARCH_REFERENCES,
	SEARCH_PRIORS, /* of `files`: rows "hot NAME" with the number of files that use it as line, then "names A B C +N" */
};
#define SEARCH_PRIOR_FILES 200
#define SEARCH_PRIOR_FILE  ((size_t)64 * 1024)

struct search_request {
	int what;
	struct str symbol; /* of definitions and references; `pattern` is made from it */
	struct str pattern, glob;
	bool case_insensitive;
	struct str root;        /* absolute; empty: where the worker stands, the workspace */
	struct str path;        /* relative to root, without links */
	struct str_list hidden; /* relative to root: not entered, not read */
	struct str_list files;  /* of SEARCH_PRIORS: relative to root, at most SEARCH_PRIOR_FILES */
};

/* Who reads source files better than tool/symbols.h does. A thread of the search has a lane of its own. */
enum symbol_source { SOURCE_PATTERNS, SOURCE_TREE, SOURCE_CTAGS, SOURCE_COUNT };
extern const char *const symbol_sources[SOURCE_COUNT];
struct symbol_reader {
	void *self;
	size_t lanes;
	struct search_cache *cache; /* NULL: none */
	/* 1: what the file holds was told. 0: this is no file for it. Fails when the file was too much for it. names: of
	 * definitions, those that the file defines, under the cache's seed. */
	int (*read)(void *self, size_t lane, struct str path, const struct search_request *rq, symbol_fn *fn, void *fn_self,
		enum symbol_source *source, struct search_names *names, struct err *err);
};

int search_encode(const struct search_request *r, struct buf *out, struct err *err) CHECKED;
int search_decode(struct str text, struct arena *mem, struct search_request *out, struct err *err) CHECKED;
size_t search_lanes(void); /* how many threads a search has at most */
/* rootfd is the directory that `path` is relative to. reader: NULL where there is none. */
int search_run(const struct search_request *r, int rootfd, const struct symbol_reader *reader, int outfd, struct err *err) CHECKED;

#endif
