/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* gate_files: which files the gate's command names, and which of them a change touches.
 *
 * Shape    gate_touched judges; gate_names says what it looks for.
 * Memory   Lists live in the arena; what gate_touched gives is C-quoted where need be, each name once.
 * Source   docs/git.md, "Merges". A word counts as it is given, relative to the top of the workspace; of a word that has blanks or
 *          signs of a shell in it, each piece does too. What a named file runs in turn is not looked for.
 */
#ifndef AGENT_GATE_FILES_H
#define AGENT_GATE_FILES_H

#include "fmt/field.h"

struct str_list gate_names(struct str_list words, struct arena *mem);
struct str_list gate_touched(struct str_list words, struct str_list changed, struct arena *mem);

#endif
