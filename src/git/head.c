/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/head.h"

#include "sys/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define POINTER_MAX 8192
#define PACKED_MAX  (64u << 20)
#define HEADS       "refs/heads/"

static bool is_object(struct str s)
{
	if (s.n != 40 && s.n != 64)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!strchr("0123456789abcdef", s.p[i]) || s.p[i] == '\0')
			return false;
	return true;
}

/* A name that git could have given, and that leads nowhere else as a path. */
static bool is_plain_branch(struct str name)
{
	if (name.n == 0 || memchr(name.p, '\0', name.n) || memchr(name.p, '\n', name.n))
		return false;
	for (struct str rest = name; rest.n > 0;) {
		struct str part = str_cut(&rest, '/');

		if (part.n == 0 || part.p[0] == '.')
			return false; /* ".invalid" is what stands there when refs are kept otherwise */
	}
	return true;
}

/* A regular file, and not one that a link leads to. 1, or 0: there is none. */
static int read_plain(const char *path, size_t max, struct buf *out, struct err *err)
{
	struct stat st;
	int r;

	out->max = max;
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	r = file_read(AT_FDCWD, path, out, err);
	return r == -ERR_NOENT ? 0 : r < 0 ? r : 1;
}

/* "SHA REF" a line; what begins with '#' or '^' is something else. */
static int find_packed(const char *common_dir, struct str ref, struct arena *mem, struct str *sha, struct err *err)
{
	auto_buf struct buf b = { 0 };
	int r = read_plain(str_printf(mem, "%s/packed-refs", common_dir).p, PACKED_MAX, &b, err);

	TRY(r);
	for (struct str rest = buf_str(&b); rest.n > 0;) {
		struct str line = str_trim(str_line(&rest)), id = str_cut(&line, ' ');

		if (str_eq(line, ref) && is_object(id)) {
			*sha = str_dup(mem, id);
			return 1;
		}
	}
	return 0;
}

static int find_branch(const char *common_dir, struct str name, struct arena *mem, struct repo_head *out, struct err *err)
{
	struct str ref = str_printf(mem, HEADS STR_FMT, STR_ARG(name));
	auto_buf struct buf b = { 0 };
	struct stat st;
	const char *path = str_printf(mem, "%s/" STR_FMT, common_dir, STR_ARG(ref)).p;
	int r = read_plain(path, POINTER_MAX, &b, err);

	TRY(r);
	if (r == 0 && lstat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return 0; /* a link, or worse */
	if (r > 0 && !is_object(str_trim(buf_str(&b))))
		return 0;
	out->branch = str_dup(mem, name);
	if (r > 0) {
		out->sha = str_dup(mem, str_trim(buf_str(&b)));
		return 1;
	}
	TRY(r = find_packed(common_dir, ref, mem, &out->sha, err));
	out->unborn = r == 0;
	return 1;
}

int head_read(const struct discovered *d, struct arena *mem, struct repo_head *out, struct err *err)
{
	auto_buf struct buf b = { 0 };
	struct repo_head head = { 0 };
	int r = read_plain(str_printf(mem, "%s/HEAD", d->git_dir).p, POINTER_MAX, &b, err);
	struct str what = str_trim(buf_str(&b));

	if (r <= 0)
		return r;
	if (is_object(what)) {
		head.sha = str_dup(mem, what);
		*out = head;
		return 1;
	}
	if (!str_starts(what, STR("ref:")))
		return 0;
	what = str_trim(str_skip(what, 4));
	if (!str_starts(what, STR(HEADS)) || !is_plain_branch(str_skip(what, strlen(HEADS))))
		return 0;
	r = find_branch(d->common_dir, str_skip(what, strlen(HEADS)), mem, &head, err);
	if (r > 0)
		*out = head;
	return r;
}
