/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* tree: names in one source file, as a tree-sitter grammar sees them.
 *
 * Shape    tree_new, then tree_read file after file; a grammar is made ready when the first file needs it.
 * Memory   Names are views into the text.
 * Errors   -ERR_TIMEOUT when a file takes longer than it may. Grammars and the library are code that we did not
 *          write, reading hostile bytes: whoever calls this must be a process that may die (index/pool.h). What it
 *          can do to the stack is bounded by the process, not here; our own walk uses none.
 * Units    Lines and columns begin at 1; columns are bytes.
 * Source   tree_sitter/api.h of 0.20.7; which nodes are definitions: tree_lang.c, one table a language.
 */
#ifndef INDEX_TREE_H
#define INDEX_TREE_H

#include "tool/symbols.h"

struct tree;
struct tree *tree_new(int64_t time_ms); /* that one file may take */
void tree_free(struct tree *t);

bool tree_knows(struct str path); /* by its ending; never, in a build without grammars */
const char *tree_version(void);   /* for people: the library and how many grammars */
/* As symbols_scan: definitions, or those of one name and its uses. 1, or 0 for a file that tree_knows not. */
int tree_read(struct tree *t, struct str path, struct str text, struct str only, symbol_fn *fn, void *self, struct err *err) CHECKED;

#endif
