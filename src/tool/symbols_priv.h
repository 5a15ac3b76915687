/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* symbols_priv: tokens of a source file, and what a language says about them. */
#ifndef TOOL_SYMBOLS_PRIV_H
#define TOOL_SYMBOLS_PRIV_H

#include "tool/symbols.h"

enum symbol_style { /* how methods and functions without a keyword are written */
	STYLE_KEYWORDS, /* only with one */
	STYLE_C,        /* name(...) { outside of a body */
	STYLE_METHODS,  /* name(...) { inside of a class */
	STYLE_SHELL,    /* name() { */
	STYLE_INDENT,   /* blocks are by indentation */
	STYLE_JSON,     /* the keys of the outermost object */
};

enum symbol_quotes {
	QUOTE_DOUBLE = 1 << 0,
	QUOTE_SINGLE = 1 << 1,
	QUOTE_CHAR = 1 << 2,    /* 'x' is a character, 'x alone is not */
	QUOTE_BACK = 1 << 3,    /* `...` over lines */
	QUOTE_TRIPLE = 1 << 4,  /* """...""" over lines */
	QUOTE_RAW = 1 << 5,     /* r"...", r#"..."#, R"x(...)x", @"..." by language */
	QUOTE_REGEX = 1 << 6,   /* /.../ where no value stands before it */
	QUOTE_LINES = 1 << 7,   /* a plain string may cross lines */
};

struct symbol_word {
	const char *word, *kind;
};

struct symbol_lang {
	const char *name;
	const char *ends[9];      /* file names end with one of these */
	const char *comment[2];   /* to the end of the line */
	bool block, nested;       /* slash star ... star slash; it may hold others of its kind */
	bool preprocessor;        /* # lines: #define NAME is a macro, the rest of them holds plain tokens */
	unsigned quotes;
	enum symbol_style style;
	struct symbol_word words[16]; /* keyword NAME: a definition */
	const char *const *containers; /* keywords whose block holds methods; NULL ended */
};
extern const struct symbol_lang symbol_langs[];
extern const size_t nsymbol_langs;

enum token_type { TOKEN_NAME, TOKEN_MARK, TOKEN_OTHER /* a number or a string */ };

struct token {
	struct str text;
	int32_t line, col;
	enum token_type type;
	bool first; /* of its line */
};

struct tokens {
	struct token *p;
	size_t n, cap;
};

void tokens_read(const struct symbol_lang *lang, struct str text, struct tokens *out);
void tokens_fini(struct tokens *t);
#define auto_tokens CLEANUP(tokens_fini)

#endif
