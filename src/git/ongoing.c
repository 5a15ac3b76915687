/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/ongoing.h"
#include "base/buf.h"
#include "sys/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_MAX_BYTES 8192
#define WORKTREES_MAX  4096

/* The file whose presence says so. names: it holds the branch; else the branch is what HEAD names. */
static const struct sign {
	const char *file, *what, *command;
	bool names;
} signs[] = {
	{ "rebase-merge/head-name", "a rebase", "rebase", true },
	{ "rebase-apply/head-name", "a rebase", "rebase", true },
	{ "rebase-apply/applying", "an application of patches", "am", false },
	{ "MERGE_HEAD", "a merge", "merge", false },
	{ "CHERRY_PICK_HEAD", "a cherry-pick", "cherry-pick", false },
	{ "REVERT_HEAD", "a revert", "revert", false },
	{ "BISECT_START", "a bisection", "bisect", true },
};

static struct str read_line(const char *dir, const char *file, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(NAME_MAX_BYTES);

	if (file_read(AT_FDCWD, str_printf(mem, "%s/%s", dir, file).p, &b, ERR_DISCARD) < 0)
		return STR("");
	return str_dup(mem, str_trim(buf_str(&b)));
}

static bool is_there(const char *dir, const char *file, struct arena *mem)
{
	struct stat st;

	return lstat(str_printf(mem, "%s/%s", dir, file).p, &st) == 0;
}

static int look_in(const char *dir, struct str branch, struct arena *mem, struct err *err)
{
	struct str head = str_trim_prefix(read_line(dir, "HEAD", mem), STR("ref: "));

	for (size_t i = 0; i < COUNT(signs); i++) {
		const struct sign *s = &signs[i];
		struct str name = s->names ? read_line(dir, s->file, mem) : head;

		if (!is_there(dir, s->file, mem) || !str_eq(str_trim_prefix(name, STR("refs/heads/")), branch))
			continue;
		err_set(err, ERR_CONFLICT, "%s of branch \"" STR_FMT "\" is going on (%s/%s)", s->what, STR_ARG(branch), dir,
			s->file);
		err_hint(err, "finish it or end it first: git %s %s", s->command,
			strcmp(s->command, "bisect") == 0 ? "reset" : "--abort");
		return -ERR_CONFLICT;
	}
	return 0;
}

int ongoing_check(const struct discovered *d, struct str branch, struct arena *mem, struct err *err)
{
	autoclose int fd = -1;
	struct dir_entry *list;
	size_t n;
	int r;

	TRY(look_in(d->git_dir, branch, mem, err));
	TRY(look_in(d->common_dir, branch, mem, err));
	r = dir_open(AT_FDCWD, str_printf(mem, "%s/worktrees", d->common_dir).p, &fd, err);
	if (r == -ERR_NOENT)
		return 0;
	TRY(r);
	TRY(dir_list(fd, mem, WORKTREES_MAX, &list, &n, err));
	for (size_t i = 0; i < n; i++)
		TRY(look_in(str_printf(mem, "%s/worktrees/" STR_FMT, d->common_dir, STR_ARG(list[i].name)).p, branch, mem, err));
	return 0;
}
