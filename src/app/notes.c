/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/notes.h"

#include "memory/notes.h"
#include "sys/file.h"

#include <fcntl.h>

#define TOLD_MAX 64 /* notes */

int app_notes_open(const char *repo_dir, enum notes_use use, int *fd, struct err *err)
{
	autofree char *path = path_join(repo_dir, NOTES_DIR);
	int r;

	*fd = -1;
	if (use == NOTES_WRITE)
		TRY(dir_make(path, 0700, err));
	r = dir_open(AT_FDCWD, path, fd, err);
	return r == -ERR_NOENT ? 0 : r;
}

int app_notes_list(int fd, struct arena *mem, struct str_list *out, struct err *err)
{
	struct memory_note *list;
	struct str_list l = { 0 };
	size_t n = 0;

	*out = l;
	if (fd < 0)
		return 0;
	TRY(notes_list(fd, false, mem, &list, &n, err));
	n = n < TOLD_MAX ? n : TOLD_MAX;
	l.p = arena_array(mem, 5 * n + 1, sizeof(*l.p));
	for (size_t i = 0; i < n; i++) {
		l.p[l.n++] = str_from(list[i].id);
		l.p[l.n++] = list[i].scope;
		l.p[l.n++] = list[i].text;
		l.p[l.n++] = list[i].origin;
		l.p[l.n++] = list[i].created_at;
	}
	*out = l;
	return 0;
}
