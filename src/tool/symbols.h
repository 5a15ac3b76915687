/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* symbols: names in one source file: what it defines, and where a name is used.
 *
 * Shape    symbols_lang by the file's name, then symbols_scan over its text. Comments and strings hold no names.
 *          It reads tokens, not grammar: no scopes are resolved, and a definition is what is written as one.
 * Memory   Names are views into the text.
 * Errors   None: a file that is no valid program of its language still has names.
 * Units    Lines and columns begin at 1; columns are bytes. A file has at most SYMBOLS_TOKENS_MAX tokens looked at.
 * Source   The keyword tables are in symbols_lang.c, one row a language.
 */
#ifndef TOOL_SYMBOLS_H
#define TOOL_SYMBOLS_H

#include "base/arena.h"
#include "base/str.h"

#define SYMBOLS_FILE_MAX   ((size_t)4 * 1024 * 1024)
#define SYMBOLS_TOKENS_MAX 1000000

struct symbol {
	struct str name;
	const char *kind; /* one of symbol_kinds; NULL: a use */
	int64_t line, col;
	int64_t end;      /* the last line of a definition; 0: not known */
	struct str in;    /* what it belongs to: a class, a type, a namespace; empty: nothing, or not known */
	bool minor;       /* a member, a variable: found by its name, left out of an outline */
};
extern const char *const symbol_kinds[]; /* NULL ended */
typedef void symbol_fn(void *self, const struct symbol *s);

struct symbol_lang;
const struct symbol_lang *symbols_lang(struct str path); /* by its ending; NULL: a language that we do not know */
/* Definitions in the order of the file. only: names that are not this one are left out, and uses of it are told
 * too, each place once; empty: all definitions, no uses. */
void symbols_scan(const struct symbol_lang *lang, struct str text, struct str only, symbol_fn *fn, void *self);
bool symbols_word_ok(struct str word); /* could be a name: letters, digits, '_', '$', bytes above 127 */

#endif
