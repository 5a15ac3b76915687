/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* args: the words of a command line, decoded through a command's table of fields.
 *
 * Shape    args_decode fills the command's struct. --name VALUE, --name=VALUE, --flag for booleans,
 *          -x for fields named by one letter; positional fields in order, a list takes the rest;
 *          after "--" words belong to the command when it takes them, else they are positional.
 * Memory   What is decoded lives in the context's arena or in the words.
 * Errors   -ERR_INVALID naming the word, with the usage as hint.
 */
#ifndef UI_CLI_ARGS_H
#define UI_CLI_ARGS_H

#include "ui/cli/command.h"

struct args_words {
	char *const *p;
	size_t n;
};

/* Takes --config and --allow-root out from in front of the command into ctx. */
int args_global(struct args_words *words, struct command_ctx *ctx, struct err *err) CHECKED;
/* What "runs" alone stands for, "runs list"; NULL where it stands for nothing. */
const struct command *command_of_group(struct str word);
/* The command the words begin with, its name consumed; NULL with an error that lists the choices. */
int args_command(struct args_words *words, const struct command **out, struct err *err) CHECKED;
int args_decode(const struct command *c, struct args_words words, struct command_ctx *ctx, void *into,
	struct err *err) CHECKED;

/* Every group of commands, NULL ended; the one list. */
extern const struct command_group *const command_groups[];
const struct command *command_find(struct str name);

/* In lines of at most so many columns; 0: as they are written, which is what a program reads. */
#define HELP_COLS_MIN 60
#define HELP_COLS_MAX 110
int help_all(size_t cols, struct buf *out, struct err *err) CHECKED;
int help_command(const struct command *c, size_t cols, struct buf *out, struct err *err) CHECKED;
/* Of "runs", whose commands are "runs list" and so on; a word of which there is none: nothing is printed, and 0. Else 1. */
int help_group(struct str word, size_t cols, struct buf *out, struct err *err) CHECKED;
int usage_field(const struct field *f, struct buf *out, struct err *err) CHECKED; /* "--max-usd NUMBER", "ID" */
int usage_line(const struct command *c, struct buf *out, struct err *err) CHECKED;

#endif
