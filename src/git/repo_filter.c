/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* repo_filter: which files have a content filter. By the attribute alone: the program may be named in the person's own
 * configuration, which is not read here, and to store what such a filter hides (git-crypt) would be worse than to leave a file
 * out that no filter is installed for. */
#include "git/repo_priv.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define NAMES_BYTES (64 << 20)

static int add_names(const struct name_list *l, struct buf *in, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		TRY(buf_add(in, l->p[i], err));
		TRY(buf_addc(in, '\0', err));
	}
	return 0;
}

static uint64_t mixed(uint64_t h, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)p)[i]) * 1099511628211u; /* FNV-1a */
	return h;
}

uint64_t repo_left_mark(struct repo *r, struct str name)
{
	auto_arena struct arena *tmp = arena_new();
	uint64_t h = mixed(14695981039346656037u, name.p, name.n);
	struct stat st;

	if (fstatat(r->workspace_fd, str_dupz(tmp, name), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return h;
	const int64_t how[] = { (int64_t)st.st_ino, (int64_t)st.st_mode, st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec };

	return mixed(h, how, sizeof(how));
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void repo_left_sort(struct repo *r)
{
	if (r->left.n > 0)
		qsort(r->left.p, r->left.n, sizeof(uint64_t), by_value);
}

bool repo_left_knows(const struct repo *r, uint64_t mark)
{
	return r->left.n > 0 && bsearch(&mark, r->left.p, r->left.n, sizeof(mark), by_value);
}

/* Set to no name, or unset: git itself filters nothing then. */
static bool is_filter(struct str value)
{
	return !str_eqz(value, "unspecified") && !str_eqz(value, "unset") && !str_eqz(value, "set");
}

int repo_take_filtered(struct repo *r, struct name_list *l, struct arena *mem, struct name_list *filtered, struct err *err)
{
	auto_buf struct buf in = BUF_MAX(NAMES_BYTES);
	struct git_result res;
	size_t kept = 0;

	if (l->n == 0)
		return 0;
	TRY(repo_settle(r, err)); /* it is what attributes are read from that are not on disk */
	TRY(add_names(l, &in, err));
	TRY(repo_must(r, "look for content filters", GIT_FILTERS, NULL, 0, buf_str(&in), mem, &res, err));
	struct str rest = res.out;
	for (size_t i = 0; i < l->n; i++) {
		struct str name = str_cut(&rest, '\0'), what = str_cut(&rest, '\0'), value = str_cut(&rest, '\0');

		if (!str_eq(name, l->p[i]) || !str_eqz(what, "filter"))
			return err_set(err, ERR_REMOTE, "look for content filters: git printed something else");
		if (is_filter(value))
			*vec_new(filtered) = name;
		else
			l->p[kept++] = l->p[i];
	}
	l->n = kept;
	return 0;
}
