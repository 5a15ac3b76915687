/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* search_priv: the two halves of the search: lines in one file, files in a tree. */
#ifndef TOOL_SEARCH_PRIV_H
#define TOOL_SEARCH_PRIV_H

#include "tool/search.h"

struct search_row {
	int64_t line, col; /* col: of a symbol; 0: of none */
	int64_t end;       /* of a definition, where it is known */
	char *in;          /* owned; of a definition that belongs to something, or NULL */
	char *text; /* owned; n bytes as they are in the file, clipped around the match */
	size_t n;
	bool cut_front, cut_back;
};

struct search_hits {
	struct search_row *rows;
	size_t n, cap;
	bool more;        /* the file has more than SEARCH_ROWS_MAX */
	bool too_complex; /* the pattern ran into its limit here */
	unsigned sources; /* of symbols: 1 << who told them */
	bool failed;      /* the better reader could not, and patterns stood in for it */
	uint64_t *words;  /* owned; of SEARCH_PRIORS */
	size_t nwords;
	bool skimmed;     /* only patterns were asked, and saw no definition */
};

void search_hits_fini(struct search_hits *h);

/* Bytes that every match of a pattern holds, case and all; a view into it, empty when none are known. The pattern compiles. */
struct str search_literal(struct str pattern);
struct search_needle {
	struct str text; /* borrowed, not empty where it is looked for */
	size_t at;       /* of its byte that is the rarest in most texts */
};
void search_needle_set(struct search_needle *n, struct str literal);
size_t search_needle_find(const struct search_needle *n, struct str text, size_t from); /* where; text.n when it is nowhere */

struct search_pattern; /* compiled, shared by all threads */
int search_pattern_new(struct str pattern, bool case_insensitive, struct search_pattern **out, struct err *err) CHECKED;
void search_pattern_free(struct search_pattern *p);

struct search_reader; /* one thread's buffer and match data */
struct search_reader *search_reader_new(const struct search_pattern *p);
void search_reader_free(struct search_reader *r);
/* The matching lines of an open file. A binary file has none. */
int search_file(struct search_reader *r, int fd, struct search_hits *out, struct err *err) CHECKED;
/* The symbols of an open file that the request is for: rows "KIND NAME". Of a file in no language that we know, none. */
struct symbol_lane {
	const struct symbol_reader *reader; /* NULL: none */
	size_t lane;
	size_t *parsed; /* shared by all: files that had the name */
};
int search_symbols(struct search_reader *r, const struct search_request *rq, const struct symbol_lane *lane, struct str path, int fd,
	struct search_hits *out, struct err *err) CHECKED;
struct prior_file {
	const char *path;
	struct search_hits *hits;
};
int search_priors_read(struct str path, int fd, struct search_hits *out, struct err *err) CHECKED;
/* f in the order of the request; its rows are put into another one. */
int search_priors_put(const struct prior_file *f, size_t n, struct arena *mem, struct buf *out, struct err *err) CHECKED;
bool search_symbols_skips(struct str name); /* a directory that holds no source of the project's own */

#endif
