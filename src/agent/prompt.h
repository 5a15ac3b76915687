/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* prompt: what the model is told before it begins.
 *
 * Shape    prompt_system gives the rules, the same for the whole run; prompt_first the opening message:
 *          the task, and what a newcomer to this repository would look at first.
 * Memory   Appends to out; scratch in the arena.
 * Errors   -ERR_LIMIT when out is full. prompt_first: -ERR_STOPPED and -ERR_CLOSED as from below.
 * Units    With the tools' schema both stay below PROMPT_FIRST_MAX bytes in a small repository: every
 *          byte is paid for on every turn. test_prompt.c holds them to it.
 */
#ifndef AGENT_PROMPT_H
#define AGENT_PROMPT_H

#include "agent/params.h"
#include "git/repo.h"
#include "memory/notes.h"
#include "memory/skill.h"

#define PROMPT_FIRST_MAX 12288

struct prompt_facts {
	const struct run_params *params;
	const struct str_list *verify_command; /* empty: gateless */
	const struct skills *skills;           /* NULL: none */
	struct repo *repo;                     /* NULL: not a repository */
	int root_fd;
	struct repo_head head;
	const struct memory_note *notes; /* of earlier runs */
	size_t nnotes;
	struct str restated;
	struct tool_ctx *tools;          /* whom to ask about the code; NULL: nobody */
};

int prompt_looking(const struct prompt_facts *f, struct buf *out, struct err *err) CHECKED; /* of modes that only look */
int prompt_skill(const struct run_params *p, const struct skill *k, struct buf *out, struct err *err) CHECKED; /* its whole text, in a block */
int prompt_system(const struct prompt_facts *f, struct buf *out, struct err *err) CHECKED;
/* The opening message. restated: the task in a model's words, beside the person's own; or empty. */
int prompt_first(const struct prompt_facts *f, struct arena *mem, struct buf *out, struct err *err) CHECKED;

#endif
