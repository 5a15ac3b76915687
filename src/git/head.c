/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/head.h"

#include "git/gitop.h"
#include "git/plain.h"
#include "sys/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define POINTER_MAX 8192
#define PACKED_MAX  (64u << 20)
#define HEADS       "refs/heads/"

/* As git has them: no blank before, and nothing behind but the end of the line. */
static bool is_object(struct str s, size_t digits)
{
	static const char zeros[] = "0000000000000000000000000000000000000000"; /* no object, and no beginning of one */

	return s.n == digits && git_sha_ok(s) && !str_starts(s, str_from(zeros));
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

/* "SHA REF" a line, by the letters of REF; what begins with '#' or '^' is something else. 1, 0: it is not there, -1: git must
 * be asked, which looks through a file that is not in order, or has one twice, in ways of its own. */
static int find_packed(struct str bytes, struct str ref, size_t digits, struct str *sha)
{
	struct str last = STR("");
	int r = 0;

	if (bytes.n > 0 && !str_ends(bytes, STR("\n")))
		return -1;
	while (bytes.n > 0) {
		struct str line = str_trim_suffix(str_line(&bytes), STR("\n"));

		if (line.n > 0 && (line.p[0] == '#' || line.p[0] == '^'))
			continue;
		struct str id = str_cut(&line, ' ');

		if (!is_object(id, digits) || line.n == 0 || (last.n > 0 && str_cmp(last, line) >= 0))
			return -1;
		last = line;
		if (!str_eq(line, ref))
			continue;
		*sha = id;
		r = 1;
	}
	return r;
}

/* 1; 0: the files do not tell. */
static int look_in_packed(const char *common_dir, struct str ref, size_t digits, struct arena *mem, struct repo_head *out,
	struct err *err)
{
	auto_buf struct buf b = { 0 };
	const char *path = str_printf(mem, "%s/packed-refs", common_dir).p;
	struct stat st;
	struct str sha;
	int r = read_plain(path, PACKED_MAX, &b, err);

	TRY(r);
	if (r == 0 && lstat(path, &st) == 0)
		return 0; /* a link, or worse */
	r = find_packed(buf_str(&b), ref, digits, &sha);
	out->unborn = r == 0;
	if (r > 0)
		out->sha = str_dup(mem, sha);
	return r >= 0;
}

static int find_branch(const char *common_dir, struct str name, size_t digits, struct arena *mem, struct repo_head *out,
	struct err *err)
{
	struct str ref = str_printf(mem, HEADS STR_FMT, STR_ARG(name));
	auto_buf struct buf b = { 0 };
	struct stat st;
	const char *path = str_printf(mem, "%s/" STR_FMT, common_dir, STR_ARG(ref)).p;
	int r = read_plain(path, POINTER_MAX, &b, err);

	TRY(r);
	if (r == 0 && lstat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return 0; /* a link, or worse */
	struct str id = str_trim_suffix(buf_str(&b), STR("\n"));

	if (r > 0 && !is_object(id, digits))
		return 0;
	out->branch = str_dup(mem, name);
	if (r == 0)
		return look_in_packed(common_dir, ref, digits, mem, out, err);
	out->sha = str_dup(mem, id);
	return 1;
}

int head_read(const struct discovered *d, struct arena *mem, struct repo_head *out, struct err *err)
{
	auto_buf struct buf b = { 0 };
	struct repo_head head = { 0 };
	int r = read_plain(str_printf(mem, "%s/HEAD", d->git_dir).p, POINTER_MAX, &b, err);
	size_t digits = plain_names(d, mem);
	struct str what = str_trim_suffix(buf_str(&b), STR("\n"));

	if (r <= 0 || digits == 0)
		return r < 0 ? r : 0;
	if (is_object(what, digits)) {
		head.sha = str_dup(mem, what);
		*out = head;
		return 1;
	}
	if (!str_starts(what, STR("ref:")))
		return 0;
	what = str_trim(str_skip(what, 4));
	if (!str_starts(what, STR(HEADS)) || !git_branch_ok(str_skip(what, strlen(HEADS))))
		return 0; /* ".invalid" is what stands there when refs are kept otherwise */
	r = find_branch(d->common_dir, str_skip(what, strlen(HEADS)), digits, mem, &head, err);
	if (r > 0)
		*out = head;
	return r;
}
