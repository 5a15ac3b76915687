/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* term: text that is safe on a terminal, and how many columns it takes.
 *
 * Shape    term_clean every byte that came from outside before it is written; term_width and term_fit
 *          measure cleaned text.
 * Memory   Appends to the caller's buf.
 * Errors   -ERR_LIMIT when the buf is full; it is unchanged then.
 * Source   ECMA-48 (C0, C1), Unicode 14.0: UAX #9 (bidirectional controls), UAX #11 (width), UTS #51
 *          (emoji sequences). A width is what common terminals do, not what a font draws.
 */
#ifndef SYS_TERM_H
#define SYS_TERM_H

#include "base/buf.h"

enum term_keep {
	TERM_LINE, /* one line: newlines and tabs are shown as \n and \t too */
	TERM_TEXT, /* newlines stay, CR LF is a newline, a tab becomes spaces to the next multiple of 8 */
	TERM_JSON, /* a text of JSON stays one with the same values: \u009b instead of \x9b; newlines stay, blanks are spaces */
};

/* Control characters, escape sequences, bidirectional and invisible format controls and bytes that are
 * not UTF-8 come out as visible text: \x1b, \u202e, \xff. What is left cannot move a cursor. */
int term_clean(struct str in, enum term_keep keep, struct buf *out, struct err *err) CHECKED;

int term_width(struct str s); /* columns; controls count nothing */
/* Bytes of the longest prefix that fits in cols columns and parts no character; its width, when asked. */
size_t term_fit(struct str s, int cols, int *width);

/* What the person's environment says about decoration: NO_COLOR, TERM, and whether the locale is UTF-8.
 * The words travel to a view that has no environment: "color", "utf8", "root". */
#define TERM_WORDS_MAX 3
struct term_style {
	bool color, utf8;
	bool root; /* it is root who reads, and a command has to say that this is meant: AGENT6_ALLOW_ROOT does not */
};
bool term_env_flag(const char *name); /* a variable that is set, and not to "0", "false" or "no" */
struct term_style term_style_env(void);
size_t term_style_words(struct term_style style, struct str out[TERM_WORDS_MAX]);
struct term_style term_style_from(const struct str *words, size_t n); /* unknown words are ignored */

/* Columns of the terminal behind fd; 80 when it is none or does not say. */
int term_columns(int fd);
bool term_is_tty(int fd);

/* A line of so many bytes may have lost its end: a terminal in its line mode keeps 4096 with the end of the line, and drops
 * what is typed behind them without a word (termios(3)). */
#define TERM_TYPED_MAX 4094

#endif
