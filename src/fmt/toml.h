/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* toml: TOML 1.0 with the place of everything, and edits that leave the rest of the file alone.
 *
 * Shape    toml_parse gives a tree; every value knows where its key and itself stand in the text.
 *          toml_set and its sisters change a text in place: comments, order, spacing, line endings
 *          and a byte order mark stay as they were.
 * Memory   The tree lives in the arena and does not point into the text.
 * Errors   -ERR_SYNTAX with file, line and column; -ERR_LIMIT past 1 MiB or 200 levels. A failed
 *          edit leaves the text as it was. What an edit produced is parsed again before it counts.
 * Units    Offsets are bytes from the start of the text; lines and columns count from 1, columns in
 *          characters.
 * Source   TOML v1.0.0.
 */
#ifndef FMT_TOML_H
#define FMT_TOML_H

#include "base/arena.h"
#include "base/buf.h"
#include "fmt/json.h"

#define TOML_MAX       ((size_t)1024 * 1024)
#define TOML_DEPTH_MAX 200

enum toml_kind {
	TOML_STRING,
	TOML_INTEGER,
	TOML_FLOAT,
	TOML_BOOL,
	TOML_DATETIME,       /* with an offset */
	TOML_LOCAL_DATETIME,
	TOML_LOCAL_DATE,
	TOML_LOCAL_TIME,
	TOML_ARRAY,
	TOML_TABLE,
};

enum toml_form {
	TOML_VALUE,    /* written after a '=' or inside an array: closed */
	TOML_IMPLICIT, /* a table that only a longer header names */
	TOML_HEADER,   /* a table with a [header] or a [[header]] of its own; the root */
	TOML_DOTTED,   /* a table made by a dotted key */
	TOML_ELEMENTS, /* an array made of [[headers]] */
};

struct toml {
	enum toml_kind kind;
	enum toml_form form;
	struct str name; /* the key, decoded; empty for the root and for items */
	struct str text; /* a string's content; a date or time as it was written */
	union {
		int64_t integer;
		double real;
		bool boolean;
	};
	uint32_t line_at;         /* where the whole key stands, dots and all; for items as at */
	uint32_t key_at, key_end; /* where this part of the key stands */
	uint32_t at, end;         /* where the value stands; for a header its brackets */
	uint32_t body_end;        /* tables: after the line of the last key set in it */
	uint32_t n;               /* children */
	struct toml *parent, *first, *last, *next;
};

int toml_parse(struct str text, const char *file, struct arena *mem, struct toml **out, struct err *err) CHECKED;
int toml_value(struct str text, struct arena *mem, struct toml **out, struct err *err) CHECKED; /* one value alone */
/* A dotted key as it is written in a file or typed by a person: a."b c".d */
int toml_key(struct str text, struct arena *mem, struct str **out, size_t *out_n, struct err *err) CHECKED;

struct toml *toml_get(const struct toml *table, struct str name);                    /* NULL when absent */
struct toml *toml_find(const struct toml *root, const struct str *path, size_t n);   /* the same, deeper */
const char *toml_kind_name(enum toml_kind kind);                                     /* "a string", ... */
bool toml_equal(const struct toml *a, const struct toml *b); /* values, not their spelling */
/* Dates become strings; an infinite or undefined number is -ERR_INVALID. */
int toml_to_json(const struct toml *v, json_t **out, struct err *err) CHECKED;
int toml_add_key(struct buf *out, struct str name, struct err *err) CHECKED; /* one part, quoted when it must be */
int toml_add_string(struct buf *out, struct str s, struct err *err) CHECKED; /* "..." on one line */

void toml_place(struct str text, size_t at, int *line, int *col);

/* Edits. `value` is in TOML spelling. set: 1. unset, prune, append, drop: 1 when the text changed, 0 when
 * there was nothing to do. A key inside an array of tables cannot be edited: -ERR_INVALID. */
int toml_set(struct buf *text, const struct str *path, size_t n, struct str value, struct err *err) CHECKED;
int toml_unset(struct buf *text, const struct str *path, size_t n, struct err *err) CHECKED;
/* Takes a table's header away where nothing stands in the table, nor a comment in it, behind its header or on the line above. */
int toml_prune(struct buf *text, const struct str *path, size_t n, struct err *err) CHECKED;
int toml_append(struct buf *text, const struct str *path, size_t n, struct str value, struct err *err) CHECKED;
int toml_drop(struct buf *text, const struct str *path, size_t n, struct str value, struct err *err) CHECKED;

#endif
