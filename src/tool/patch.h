/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* patch: reads a unified diff or a Begin-Patch envelope, and applies the hunks of one file to its bytes.
 *
 * Shape    patch_decode, then patch_apply for each file that is changed. No I/O here.
 * Memory   Everything decoded lives in mem and may point into the text.
 * Errors   patch_decode: -ERR_SYNTAX with the line of the patch. patch_apply: -ERR_NOENT when a hunk is
 *          found nowhere, -ERR_AMBIGUOUS when in more than one place; `why` shows what was looked for and
 *          what is on disk. Files that a patch does not describe completely are never deleted.
 * Source   POSIX diff -u; git-diff(1), "Generating patch text with -p"; docs/tools.md, "Patches".
 */
#ifndef TOOL_PATCH_H
#define TOOL_PATCH_H

#include "base/arena.h"
#include "base/buf.h"

#include <sys/types.h>

#define PATCH_FILES_MAX 1000
#define PATCH_LINES_MAX 1000000

enum patch_op { PATCH_UPDATE, PATCH_ADD, PATCH_DELETE };

struct patch_line {
	char kind;       /* ' ', '-' or '+' */
	bool no_newline; /* the mark follows it */
	struct str text; /* without its line ending */
};

struct patch_hunk {
	bool numbered;             /* old_start says where; otherwise only the content does */
	int64_t old_start;
	int64_t old_count;         /* as the header claims; the lines decide */
	size_t at_line;            /* of the patch text, 1-based */
	struct str head;           /* the header as written, for messages */
	struct str *hints;         /* texts behind @@ of an envelope */
	size_t nhints;
	struct patch_line *lines;
	size_t n;
};

struct patch_file {
	enum patch_op op;
	bool whole;                /* DELETE of an envelope: without hunks, whatever the file holds */
	struct str old_path, new_path; /* equal unless the file moves; empty: the call's own path */
	mode_t mode;               /* 0755 or 0644 when the patch says so, else 0 */
	struct patch_hunk *hunks;
	size_t n;
};

struct patch {
	struct patch_file *files;
	size_t n;
};

int patch_decode(struct str text, struct arena *mem, struct patch *out, struct err *err) CHECKED;

/* labels gets ", "-separated words for hunks that needed help: "@@ -3,2 ~indent". */
int patch_apply(const struct patch_file *f, struct str old, struct arena *mem, struct buf *out, struct buf *labels,
	struct buf *why, struct err *err) CHECKED;

#endif
