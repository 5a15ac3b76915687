/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/complete.h"

#include "app/place.h"
#include "git/gitop.h"
#include "sys/file.h"
#include "ui/cli/cmd_runs_priv.h"

#include <dirent.h>
#include <fcntl.h>

#define HEADS      "refs/heads"
#define PACKED_MAX (1u << 20)
#define DIR_MAX    2000
#define DEPTH_MAX  6

/* A name that git would not take as a branch is none. */
static int add_branch(const struct complete *c, struct str name, struct err *err)
{
	return git_branch_ok(name) ? complete_add(c, name, STR("a branch"), err) : 0;
}

static int add_loose(const struct complete *c, int dir, struct str prefix, int depth, struct arena *mem, struct err *err)
{
	struct dir_entry *list;
	size_t n;

	if (depth > DEPTH_MAX || dir_list(dir, mem, DIR_MAX, &list, &n, ERR_DISCARD) < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		struct str name = str_printf(mem, STR_FMT STR_FMT, STR_ARG(prefix), STR_ARG(list[i].name));
		autoclose int below = -1;

		if (list[i].type == DT_REG)
			TRY(add_branch(c, name, err));
		if (list[i].type == DT_DIR && dir_open(dir, str_dupz(mem, list[i].name), &below, ERR_DISCARD) == 0)
			TRY(add_loose(c, below, str_printf(mem, STR_FMT "/", STR_ARG(name)), depth + 1, mem, err));
	}
	return 0;
}

/* "SHA REF" a line. */
static int add_packed(const struct complete *c, int common, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(PACKED_MAX);
	autoclose int fd = -1;

	if (file_open(common, "packed-refs", true, &fd, ERR_DISCARD) < 0 || file_read_fd(fd, &b, ERR_DISCARD) < 0)
		return 0;
	for (struct str rest = buf_str(&b); rest.n > 0;) {
		struct str line = str_trim(str_line(&rest)), sha = str_cut(&line, ' ');

		if (sha.n > 0 && str_starts(line, STR(HEADS "/")))
			TRY(add_branch(c, str_skip(line, strlen(HEADS "/")), err));
	}
	return 0;
}

int complete_branches(struct arena *mem, const struct complete *c, struct err *err)
{
	autoclose int common = -1, heads = -1;
	struct workspace w;

	TRY(place_workspace(STR(""), mem, &w, err));
	if (!w.is_repo)
		return 0;
	TRY(dir_open(AT_FDCWD, w.repo.common_dir, &common, err));
	TRY(runs_confine(&common, 1, err)); /* a run may have written them */
	TRY(add_packed(c, common, err));
	if (dir_open(common, HEADS, &heads, ERR_DISCARD) < 0)
		return 0;
	return add_loose(c, heads, STR(""), 0, mem, err);
}
