/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* change: several files are created, rewritten or deleted, all of them or none.
 *
 * Shape    Plan everything, then changes_apply. All new contents are on disk under temporary names before
 *          the first file is touched; what was swapped in is swapped back when a later step fails.
 * Memory   Borrows the changes; leaves no temporary file and no new directory behind on failure.
 * Errors   -ERR_EXIST when a file to create is there, -ERR_CONFLICT when one to rewrite is not the one that
 *          was read any more. The message names the file.
 *          A rewritten file keeps its mode, owner, extended attributes and hard links (several hard links:
 *          it is written in place). Nothing is synced: a step's commit is what survives a power cut.
 */
#ifndef TOOL_CHANGE_H
#define TOOL_CHANGE_H

#include "tool/path.h"

enum change_kind { CHANGE_CREATE, CHANGE_REWRITE, CHANGE_DELETE };

struct change {
	enum change_kind kind;
	struct tool_path path;        /* resolved for writing; REWRITE, DELETE: path.st is of what was read */
	struct str bytes;             /* the new content */
	mode_t mode;                  /* permission bits; 0: as it was, or 0644 */
	const struct tool_path *like; /* CREATE: extended attributes come from there; may be NULL */
};

/* Reads what a change starts from and notes in p->st which file that was. */
int change_read(struct tool_path *p, size_t max, struct buf *out, struct err *err) CHECKED;
int changes_apply(const struct change *list, size_t n, struct err *err) CHECKED;

#endif
