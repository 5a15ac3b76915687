/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* notes: where a repository's notes lie, and what of them an agent is told.
 *
 * Shape    app_notes_open, then app_notes_list as often as needed; the caller closes *fd.
 * Memory   The list lives in the arena.
 * Errors   A directory that is not there is no error where nothing is to be written: *fd is -1 then.
 * Source   docs/memory.md.
 */
#ifndef APP_NOTES_H
#define APP_NOTES_H

#include "fmt/field.h"

enum notes_use { NOTES_READ, NOTES_WRITE };

int app_notes_open(const char *repo_dir, enum notes_use use, int *fd, struct err *err) CHECKED;
/* Those in force, newest first, five strings each, as struct run_params wants them. */
int app_notes_list(int fd, struct arena *mem, struct str_list *out, struct err *err) CHECKED;

#endif
