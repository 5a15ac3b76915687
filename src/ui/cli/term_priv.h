/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* term_priv: what the files of the terminal view share: styles, glyphs, lines. */
#ifndef UI_CLI_TERM_PRIV_H
#define UI_CLI_TERM_PRIV_H

#include "ui/cli/term_view.h"

enum look { LOOK_PLAIN, LOOK_DIM, LOOK_BOLD, LOOK_OK, LOOK_FAIL, LOOK_WARN, LOOK_CALL };
enum glyph { GLYPH_RUN, GLYPH_CALL, GLYPH_DETAIL, GLYPH_COMMIT, GLYPH_OK, GLYPH_FAIL, GLYPH_MARK, GLYPH_THINK,
	GLYPH_OPERATOR, GLYPH_ASK };

/* Ours, not cleaned. */
int term_put(struct term_view *t, enum look look, struct str text, struct err *err) CHECKED;
int term_glyph(struct term_view *t, enum look look, enum glyph g, struct err *err) CHECKED; /* and a blank */
/* Theirs: cleaned to one line, cut to cols columns (0: whole), "..." where it was cut. Returns its width. */
int term_line(struct term_view *t, enum look look, struct str text, int cols, struct err *err) CHECKED;
/* Theirs: cleaned to one text and whole, broken between words where the screen is too narrow; `used` columns of the first line
 * are taken, the others stand behind `indent`. Returns the width of the last one. */
int term_wrap(struct term_view *t, enum look look, struct str text, int used, const char *indent, struct err *err) CHECKED;
/* The same for sentences: a command of ours that one names stands on a line of its own, with what follows it, and is broken by
 * nobody but the terminal, so that it can be pasted. */
int term_prose(struct term_view *t, enum look look, struct str text, int used, const char *indent, struct err *err) CHECKED;
/* Theirs, over as many lines as it has, each behind `indent`; at most max lines, the last ones, 0: all. */
int term_block(struct term_view *t, enum look look, struct str text, const char *indent, size_t max, struct err *err)
	CHECKED;
int term_newline(struct term_view *t, struct err *err) CHECKED;
/* Ends unfinished text, so that the next thing begins at the left edge. */
int term_fresh_line(struct term_view *t, struct err *err) CHECKED;

#endif
