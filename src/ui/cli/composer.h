/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* composer: what a line means that a person types while a run is on.
 *
 * Shape    compose(line, at the pause or not). The table of commands is composer_commands; help is printed from it.
 * Memory   Views into the line; messages are fixed.
 * Source   docs/steering.md. A word that begins with '/' and stands alone is a command, or the unambiguous beginning
 *          of one; of the others only those that take words are commands with words behind them. Everything else
 *          goes to the model as it is.
 */
#ifndef UI_CLI_COMPOSER_H
#define UI_CLI_COMPOSER_H

#include "session/answers.h"

enum typed_what {
	TYPED_NOTHING,
	TYPED_TELL,    /* kind and text, for answers_tell */
	TYPED_STATUS,
	TYPED_RESTATE,
	TYPED_PINS,
	TYPED_PRESET,
	TYPED_SHELLS,
	TYPED_HELP,
	TYPED_WRONG,   /* message says what would be right */
};

struct typed {
	enum typed_what what;
	enum answer_kind kind;
	struct str text;
	const char *message;
};

#define COMPOSER_NAME_WIDTH 28 /* of a name with its words, in a list of them */

struct composer_command {
	const char *name;  /* with its slash */
	const char *words; /* what may stand behind it; NULL: nothing */
	const char *help;
	enum typed_what what;
	enum answer_kind kind;
	bool needs_words;
};

extern const struct composer_command composer_commands[];
extern const size_t ncomposer_commands;

struct typed compose(struct str line, bool paused);

#endif
