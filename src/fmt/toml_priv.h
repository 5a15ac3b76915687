/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* toml_priv: what the parser's two files share: toml.c knows tables, toml_scalar.c knows what one
 * value looks like. */
#ifndef FMT_TOML_PRIV_H
#define FMT_TOML_PRIV_H

#include "fmt/toml.h"

struct toml_parser {
	struct str s;      /* the whole text */
	size_t i;          /* the next byte */
	const char *file;
	struct arena *mem; /* borrowed */
	struct err *err;   /* borrowed */
	int depth;
	struct toml **slots; /* every key of every table, found by (table, name) */
	size_t nslots, nkeys;
};

int toml_fail(struct toml_parser *p, size_t at, const char *fmt, ...) FORMAT(3, 4);

/* The byte at i, or '\0' at the end. A NUL in the text is legal nowhere, so the two need no telling apart. */
static inline char toml_peek(const struct toml_parser *p)
{
	return p->i < p->s.n ? p->s.p[p->i] : '\0';
}

bool toml_is_bare(char c); /* may stand in a key without quotes */
bool toml_is_control(char c); /* may stand nowhere but in an escape */

/* A quoted string at i; `lines` allows the forms with three quotes. */
int toml_read_string(struct toml_parser *p, bool lines, struct str *out) CHECKED;
/* Anything at i but a string, an array or a table. */
int toml_read_scalar(struct toml_parser *p, struct toml *out) CHECKED;

#endif
