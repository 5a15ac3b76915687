/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/notes.h"

#include "memory/notes.h"
#include "role/reader.h"
#include "sys/file.h"

#include <fcntl.h>

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

/* A run wrote them: who has the operator's rights only looks whether there are any. */
int app_notes_list(int fd, struct arena *mem, struct str_list *out, struct err *err)
{
	struct dir_entry *list;
	size_t n = 0;

	*out = (struct str_list){ 0 };
	if (fd < 0)
		return 0;
	if (dir_list(fd, mem, NOTES_MAX, &list, &n, ERR_DISCARD) == 0 && n == 0)
		return 0;
	return reader_notes(fd, mem, out, err);
}
