/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* asks: questions to the person who watches the run, through the monitor.
 *
 * Shape    asks_init once; asks_put waits for the answers.
 * Memory   Answers live in the arena; there are as many as questions, empty ones where none came.
 * Errors   -ERR_STOPPED when the operator wants out meanwhile. Nobody there: *answered is false.
 */
#ifndef AGENT_ASKS_H
#define AGENT_ASKS_H

#include "agent/links.h"
#include "fmt/field.h"

#define ASKS_MAX 8

struct asks {
	struct links *links;
	bool attended;
	uint32_t last;
	struct buf answer; /* the body of the answer that was waited for */
	bool got;
};

void asks_init(struct asks *a, struct links *l, bool attended);
void asks_fini(struct asks *a);
#define auto_asks CLEANUP(asks_fini)

int asks_put(struct asks *a, const struct str *questions, const struct str_list *options, size_t n,
	struct arena *mem, struct str_list *answers, bool *answered, struct err *err) CHECKED;

#endif
