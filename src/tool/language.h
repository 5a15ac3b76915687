/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* language: what a language server is asked, and what is believed of its answer.
 *
 * Shape    tool_host.language answers with places; language_row makes a row of one, or says that it is none.
 * Memory   In the arena of the tool's context.
 * Errors   language_text: as path_resolve and file_read. A place is never an error: it holds or it does not.
 * Units    Lines and columns of places begin at 0, as in the protocol; those of rows at 1, and they count bytes.
 *
 * A server is hostile: it has read the model's files. A place counts only where it lies in the workspace, in a file that the
 * model may read, and where the name that was asked for stands as a word of its own.
 */
#ifndef TOOL_LANGUAGE_H
#define TOOL_LANGUAGE_H

#include "tool/search.h"
#include "tool/tool.h"

#define LANGUAGE_SEEDS_MAX  4
#define LANGUAGE_PLACES_MAX 2000
#define LANGUAGE_TEXT_MAX   SYMBOLS_FILE_MAX

struct language_seed { /* where the name stands that is asked about */
	struct str path;   /* relative to the workspace */
	int64_t line, col; /* as of a row; 0: the file as a whole */
};

struct language_ask {
	enum search_what what; /* SEARCH_OUTLINE: of the first seed's file */
	struct language_seed seeds[LANGUAGE_SEEDS_MAX];
	size_t nseeds;
};

struct language_place {
	struct str path; /* absolute, as the server says */
	int64_t line, col, end;
	bool bytes;      /* col counts bytes, else UTF-16 units */
	const char *kind; /* of an outline: one of symbol_kinds */
	struct str name, in;
};

struct language_answer {
	struct language_place *p;
	size_t n, cap;
	bool more;          /* beyond LANGUAGE_PLACES_MAX */
	const char *server; /* who answered; NULL: nobody did */
	struct str note;    /* why nobody did, or not all; may be empty */
};

struct language_row {
	struct str path, name;
	int64_t line, col;
};

/* A file of the workspace, whole, if the model may read it. */
int language_text(struct tool_ctx *ctx, struct str rel, struct buf *out, struct err *err) CHECKED;
/* Line `line` of a text, from 0, without its end; false: there is none. */
bool language_line(struct str text, int64_t line, struct str *out);

struct language_reader { /* keeps the file of the place before */
	struct tool_ctx *ctx;
	struct str path;
	bool there;
	struct buf text;
	size_t files; /* read so far */
};
void language_reader_fini(struct language_reader *r);
enum language_verdict { LANGUAGE_HOLDS, LANGUAGE_OUTSIDE, LANGUAGE_FALSE };
/* symbol: empty for an outline, whose names are taken from the text. */
enum language_verdict language_row(struct language_reader *r, const struct language_place *p, struct str symbol, struct language_row *out);

#endif
