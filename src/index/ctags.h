/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* ctags: names in a source file of a language that we have no grammar for, as Universal Ctags sees them.
 *
 * Shape    ctags_new; ctags_read file after file: one process of it serves them all and is started by the first.
 *          It is given the text, opens no file and reads no configuration.
 * Memory   What fn is told dies when it returns. ctags_free ends the process.
 * Errors   -ERR_TIMEOUT past CTAGS_WALL_MS, -ERR_CLOSED when it died; the next file starts another one. What it
 *          says is taken as hostile.
 * Source   ctags-json-output(5), ctags(1) --_interactive, as Universal Ctags 5.9 does it.
 */
#ifndef INDEX_CTAGS_H
#define INDEX_CTAGS_H

#include "tool/symbols.h"

#define CTAGS_WALL_MS 5000

struct ctags;
struct ctags *ctags_new(void);
void ctags_free(struct ctags *c);
bool ctags_there(struct ctags *c); /* a program of that name is installed, and has not turned out to be another one */
/* Definitions, or those of one name. 1, or 0 when it has nothing to say. */
int ctags_read(struct ctags *c, struct str path, struct str text, struct str only, symbol_fn *fn, void *self, struct err *err) CHECKED;

#endif
