/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* lister: the process that reads a server's list of models. The list is a stranger's JSON, and who asks for
 * it is an unconfined agent6 with the operator's files; so a process that holds nothing reads it.
 *
 * Shape    role_lister_main is the process; lister_ask starts it, asks once and waits for its end.
 * Memory   The list lives in the arena.
 * Errors   A text that holds no list gives an empty one. -ERR_CLOSED when the process died over it.
 * Units    Windows are tokens, 0 unknown. Prices are dollars per million tokens, below 0 unknown.
 * Source   GET /models as many servers answer it: OpenAI, OpenRouter, vLLM, Groq, Mistral, Moonshot, Together
 *          (a bare array), read 2026-11. Names are printable ASCII without blanks, or they are left out.
 */
#ifndef ROLE_LISTER_H
#define ROLE_LISTER_H

#include "base/arena.h"
#include "role/launch.h"

#define LISTED_MAX    4000
#define LISTED_ID_MAX 200

struct listed_model {
	struct str id;
	int64_t window;
	double price_in, price_out;
};

struct model_list {
	struct listed_model *p;
	size_t n;
};

int role_lister_main(void); /* exit status */

/* What the process does, and what is taken of its answer, for tests. */
struct model_list lister_read(struct str text, struct arena *mem);
int lister_take(struct str body, struct arena *mem, struct model_list *out, struct err *err) CHECKED;

int lister_ask(const struct programs *progs, struct str text, struct arena *mem, struct model_list *out,
	struct err *err) CHECKED;

#endif
