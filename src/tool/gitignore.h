/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* gitignore: which files git would leave out, by git's own rules.
 *
 * Shape    One level for each directory that has rules, linked upwards; ignore_hides asks the deepest first,
 *          and within a file the last rule that fits decides. Who walks a tree does not enter a directory
 *          that is hidden: a rule further down cannot bring its files back.
 * Memory   Rules point into mem.
 * Errors   None: a rule that cannot match anything matches nothing, as in git.
 * Source   gitignore(5). Compared with `git check-ignore --no-index` on 1,500 generated trees (git 2.39): the one
 *          liberty git takes, to cut the literal start of a rule off before it looks at "**", is ours too.
 */
#ifndef TOOL_GITIGNORE_H
#define TOOL_GITIGNORE_H

#include "base/arena.h"

#define IGNORE_FILE_MAX (1024 * 1024)

struct ignore_rule;

struct ignore_level {
	const struct ignore_level *up; /* NULL at the top */
	struct str base;               /* the directory of the file, relative to the root: "" or "a/b" */
	struct ignore_rule *rules;
	size_t n;
};

/* Reads the text of a .gitignore (or info/exclude) that stands in directory `base`. */
struct ignore_level *ignore_parse(struct arena *mem, struct str text, struct str base, const struct ignore_level *up);
/* path is relative to the root and lies beneath every level's base. */
bool ignore_hides(const struct ignore_level *deepest, struct str path, bool is_dir);

/* "*", "?", "[...]" and "\" as in gitignore; "**" between slashes crosses directories when `slashes` are kept
 * apart, else "*" matches them too. Time is bounded by the product of the lengths, squared at worst. */
bool glob_match(struct str pattern, struct str text, bool slashes);

#endif
