/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/plain.h"

#include "git/gitconfig.h"
#include "git/gitindex.h"
#include "git/gitop.h"
#include "sys/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG_MAX (256 * 1024)
#define INDEX_MAX  ((size_t)256 << 20)
#define PACKED_MAX ((size_t)64 << 20)
#define LOOSE_MAX  256

/* A section's name stands right behind its bracket, and both are of one line; so does a key's name. */
static const char *const telling[] = { "[filter", "[merge", "[include", "[extensions", "sharedrepository" };

/* 1; 0: there is no such file; -1: it is something else, or cannot be read. */
static int read_regular(const char *path, size_t max, struct buf *out)
{
	struct stat st;

	out->max = max;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -1;
	return S_ISREG(st.st_mode) && file_read(AT_FDCWD, path, out, ERR_DISCARD) == 0 ? 1 : -1;
}

static const char *path_in(const char *dir, struct str name, struct arena *mem)
{
	return str_printf(mem, "%s/" STR_FMT, dir, STR_ARG(name)).p;
}

/* Git reads it to its end, and its format is the first one, or the one that counts extensions, of which there are none. */
static bool is_known(struct str bytes)
{
	auto_gitconfig struct gitconfig c = gitconfig_from(bytes);
	int r;

	while ((r = gitconfig_next(&c)) > 0)
		if (gitconfig_is(&c, "core", "repositoryformatversion") && !str_eqz(buf_str(&c.value), "0") &&
			!str_eqz(buf_str(&c.value), "1"))
			return false;
	return r == 0;
}

bool plain_config(const struct discovered *d)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf b = { 0 };

	/* An empty one is what stands where a file is hidden; git itself writes a section at least. */
	if (read_regular(path_in(d->common_dir, STR("config"), mem), CONFIG_MAX, &b) <= 0 || b.n == 0)
		return false;
	if (!is_known(buf_str(&b)))
		return false;
	for (size_t i = 0; i < b.n; i++)
		b.p[i] = (char)tolower((unsigned char)b.p[i]);
	for (size_t i = 0; i < COUNT(telling); i++)
		if (str_find(buf_str(&b), str_from(telling[i])) < b.n)
			return false;
	return true;
}

bool plain_files(const struct discovered *d, size_t max, struct arena *mem, struct str_list *out, size_t *total)
{
	auto_buf struct buf b = { 0 };

	return read_regular(path_in(d->git_dir, STR("index"), mem), INDEX_MAX, &b) > 0 &&
		gitindex_names(buf_str(&b), 40, max, mem, out, total, ERR_DISCARD) == 0;
}

/* In neither place: one that was packed and changed since stands in both. */
static int find_packed(const struct discovered *d, struct str ref, struct arena *mem)
{
	auto_buf struct buf b = { 0 };
	int r = read_regular(path_in(d->common_dir, STR("packed-refs"), mem), PACKED_MAX, &b);

	return r > 0 && str_find(buf_str(&b), ref) < b.n ? -1 : r < 0 ? -1 : 0;
}

int plain_ref(const struct discovered *d, struct str ref, struct arena *mem, struct str *sha)
{
	auto_buf struct buf b = { 0 };
	int r = read_regular(path_in(d->common_dir, ref, mem), LOOSE_MAX, &b);
	struct str got = str_trim_suffix(buf_str(&b), STR("\n"));

	if (r == 0)
		return find_packed(d, ref, mem);
	if (r < 0 || got.n != 40 || !git_sha_ok(got) || str_starts(got, STR("0000000000000000000000000000000000000000")))
		return -1;
	*sha = str_dup(mem, got);
	return 1;
}

size_t plain_names(const struct discovered *d, struct arena *mem)
{
	auto_buf struct buf b = { 0 };
	size_t digits = 40;
	int r = read_regular(path_in(d->common_dir, STR("config"), mem), CONFIG_MAX, &b);
	auto_gitconfig struct gitconfig c = gitconfig_from(buf_str(&b));

	while (r > 0 && (r = gitconfig_next(&c)) > 0) {
		struct str value = buf_str(&c.value);

		if (gitconfig_is(&c, "extensions", "objectformat"))
			digits = str_eqz(value, "sha1") ? 40 : str_eqz(value, "sha256") ? 64 : 0;
		if (digits == 0 || (gitconfig_is(&c, "extensions", "refstorage") && !str_eqz(value, "files")))
			return 0;
	}
	return r < 0 ? 0 : digits;
}

bool plain_is_cut(const struct discovered *d, struct str sha, struct arena *mem)
{
	auto_buf struct buf b = { 0 };

	return read_regular(path_in(d->common_dir, STR("shallow"), mem), PACKED_MAX, &b) > 0 && str_find(buf_str(&b), sha) < b.n;
}
