/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Any bytes as the files of a repository that are read without git: its .git, HEAD, index, refs, configuration, modules.
 * Nothing is found outside of what git itself would take, and no path of an index leads out. */
#include "git/alternates.h"
#include "git/discover.h"
#include "git/gitindex.h"
#include "git/gitop.h"
#include "git/head.h"
#include "git/ongoing.h"
#include "git/plain.h"
#include "sys/file.h"

#include "test/fuzz/place.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static const char *const dirs[] = { ".git", ".git/objects", ".git/objects/info", ".git/refs", ".git/refs/heads", ".git/info", ".git/modules",
	".git/modules/sub", ".git/modules/sub/objects", ".git/modules/sub/refs", ".git/worktrees", ".git/worktrees/w",
	".git/rebase-merge", "sub" };
/* The first byte of a piece says which. */
static const char *const files[] = { ".git/HEAD", ".git/index", ".git/packed-refs", ".git/refs/heads/main", ".git/config",
	".git/commondir", ".git/gitdir", ".git/modules/sub/HEAD", ".git/modules/sub/config", ".git/modules/sub/index",
	".git/worktrees/w/gitdir", ".git/worktrees/w/HEAD", ".git/rebase-merge/head-name", ".git/MERGE_HEAD", ".git/BISECT_START",
	"sub/.git", ".git/config.worktree", ".git/modules/sub/commondir", ".git/objects/info/alternates" };

static void at(char out[128], const char *name)
{
	snprintf(out, 128, "%s/%s", place, name);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	autoclose int top = place_new();

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(dirs); i++)
		BUG_IF(mkdirat(top, dirs[i], 0755) < 0);
	return 0;
}

/* Pieces: which file, how long, the bytes; each file once, the rest of it is the last. */
static void lay_out(const uint8_t *data, size_t size)
{
	while (size >= 3) {
		size_t n = (size_t)data[1] << 8 | data[2];
		char path[128];

		at(path, files[data[0] % COUNT(files)]);
		data += 3, size -= 3;
		n = n < size ? n : size;
		autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

		BUG_IF(fd < 0 || write(fd, data, n) != (ssize_t)n);
		data += n, size -= n;
	}
}

static void clear(void)
{
	for (size_t i = 0; i < COUNT(files); i++) {
		char path[128];

		at(path, files[i]);
		unlink(path);
	}
}

/* What git need not be asked. */
static void check_plain(const struct discovered *d, struct arena *mem)
{
	struct str_list names = { 0 }, stores = { 0 };
	struct str sha = { 0 };
	size_t total = 0;

	if (plain_config(d) && plain_files(d, 50, mem, &names, &total))
		BUG_IF(names.n > 50 || names.n > total);
	for (size_t i = 0; i < names.n; i++)
		BUG_IF(names.p[i].n == 0 || memchr(names.p[i].p, '\0', names.p[i].n) || (i > 0 && str_eq(names.p[i], names.p[i - 1])));
	if (plain_ref(d, STR("refs/heads/main"), mem, &sha) > 0)
		BUG_IF(!git_sha_ok(sha));
	if (alternates_find(d->common_dir, mem, &stores, ERR_DISCARD) == 0)
		for (size_t i = 0; i < stores.n; i++)
			BUG_IF(stores.p[i].n == 0 || stores.p[i].p[0] != '/');
}

static int link_found(void *self, struct str path, struct err *err)
{
	(void)err;
	BUG_IF(path.n == 0 || path.p[0] == '/' || memchr(path.p, '\0', path.n));
	for (struct str rest = path; rest.n > 0;) {
		struct str part = str_cut(&rest, '/');

		BUG_IF(part.n == 0 || str_eqz(part, ".") || str_eqz(part, ".."));
	}
	return ++*(size_t *)self > 100 ? -ERR_LIMIT : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena *mem = arena_new();
	struct discovered d;
	struct discovered_inner in;
	struct repo_head head = { 0 };
	struct err err = { 0 };
	size_t links = 0;

	(void)!gitindex_links(str_of(data, size), link_found, &links, ERR_DISCARD);
	lay_out(data, size);
	int r = discover_repo(place, mem, &d, &err);
	BUG_IF(r < 0 && err.msg[0] == '\0');
	if (r == 0 && strcmp(d.top, place) == 0) {
		if (discover_inner(&d, mem, &in, ERR_DISCARD) == 0)
			for (size_t i = 0; i < in.n; i++)
				BUG_IF(!path_is_within(in.dirs[i], place));
		if (head_read(&d, mem, &head, ERR_DISCARD) > 0)
			BUG_IF((head.sha.n != 0 && head.sha.n != 40 && head.sha.n != 64) || memchr(head.branch.p ? head.branch.p : "", '\n', head.branch.n));
		check_plain(&d, mem);
		(void)!ongoing_check(&d, STR("main"), mem, ERR_DISCARD);
	}
	clear();
	return 0;
}
