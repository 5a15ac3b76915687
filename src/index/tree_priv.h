/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* tree_priv: what the grammars call things, as data. */
#ifndef INDEX_TREE_PRIV_H
#define INDEX_TREE_PRIV_H

#include "base/base.h"
#include "base/str.h"

#include <tree_sitter/api.h>

enum {
	TREE_DECLARATOR = 1 << 0, /* its name lies at the end of its declarators, as in C */
	TREE_BODY = 1 << 1,       /* only where it has a body: else it is a mention */
	TREE_TOP = 1 << 2,        /* only outside of functions */
	TREE_MINOR = 1 << 3,      /* found by name, left out of an outline */
	TREE_CLASS = 1 << 4,      /* what it holds belongs to it, and functions in it are methods */
	TREE_SPACE = 1 << 5,      /* what it holds belongs to it */
	TREE_FUNCTION = 1 << 6,   /* names in it are its own */
	TREE_SILENT = 1 << 7,     /* tells nothing itself: an impl */
	TREE_VALUE = 1 << 8,      /* a function where its value is one, else what the row says */
	TREE_RECEIVER = 1 << 9,   /* belongs to the type of its receiver */
	TREE_KEY = 1 << 10,       /* a key of the outermost object */
	TREE_FIRST = 1 << 12,     /* its name is the first thing in it */
	TREE_UPPER = 1 << 11,     /* a constant when its name is in capitals, else a variable, and minor */
};

struct tree_rule {
	const char *node, *kind;
	const char *field; /* that holds the name; NULL: "name" */
	unsigned flags;
};

struct tree_lang {
	const char *name;
	const TSLanguage *(*language)(void);
	const char *ends[9];
	const struct tree_rule *rules;
	size_t nrules;
};
extern const struct tree_lang tree_langs[];
extern const size_t ntree_langs;

/* Leaves that are names wherever they stand, in any of the grammars. */
extern const char *const tree_names[];
extern const size_t ntree_names;

#endif
