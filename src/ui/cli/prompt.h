/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* prompt: questions on the terminal, and answers from a pipe.
 *
 * Shape    prompt_line for what may be seen, prompt_hidden for what may not. Questions go to stderr; who stops us and
 *          comes back is asked again.
 * Memory   Answers live in the arena; a hidden one only in its secret, and is wiped everywhere else.
 * Errors   -ERR_STOPPED for Ctrl-C, -ERR_CLOSED when the input ends before anything was typed;
 *          -ERR_LIMIT past 4096 bytes. The terminal's mode is as before on every return.
 */
#ifndef UI_CLI_PROMPT_H
#define UI_CLI_PROMPT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/secret.h"

bool prompt_can_ask(void); /* stdin and stderr are terminals */
/* An empty answer is `dflt`. */
int prompt_line(const char *question, const char *dflt, struct arena *mem, struct str *out, struct err *err) CHECKED;
/* The same with nothing added to the prompt. A line that is too long is gone whole. */
int prompt_words(const char *prompt, struct arena *mem, struct str *out, struct err *err) CHECKED;
/* Nothing of the answer is shown, not even its length. */
int prompt_hidden(const char *question, struct secret *out, struct err *err) CHECKED;
/* The first line of a stdin that is no terminal, without its end. */
int prompt_piped(struct secret *out, struct err *err) CHECKED;

#endif
