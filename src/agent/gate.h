/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* gate: the command that decides what counts as success: found in the repository when none was
 * configured, and what its runs say.
 *
 * Shape    gate_infer reads the workspace by fixed rules, first match wins. gate_did_not_run and
 *          gate_signature look at one run of it.
 * Memory   Results live in the arena.
 * Errors   Reading never fails a run: what cannot be read is not there.
 * Source   docs/loop.md, "The gate". Files are hostile: bounded, regular, beneath the workspace.
 */
#ifndef AGENT_GATE_H
#define AGENT_GATE_H

#include "fmt/field.h"
#include "tool/tool.h"

struct gate_found {
	struct str_list command; /* empty: none */
	const char *source;      /* "agents_md", "Makefile:test", ..., "none" */
};

/* path: directories where a command is looked for. Rules whose program is not there are passed over. */
void gate_infer(int root_fd, const struct str_list *path, struct arena *mem, struct gate_found *out);

/* Whether a jail would find the program. Where no directory of the path can be seen we do not know, and believe it. */
bool gate_resolves(int root_fd, const struct str_list *path, struct str program);

/* A text command as words; one that needs a shell becomes sh -c. */
struct str_list gate_words(struct str text, struct arena *mem);

#define GATE_DEAD_WITHIN_MS 3000

/* The gate failed within moments in a way that says the runner, not the code, is broken. */
bool gate_did_not_run(const struct job_result *job);

/* Equal for two failures that say the same, whatever the line numbers, times and addresses in them. */
uint64_t gate_signature(const struct job_result *job);

/* A bounded regular file beneath the workspace; false when there is none. */
bool gate_read(int root_fd, const char *name, struct buf *out);

#endif
