/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/priors.h"

#include "base/vec.h"
#include "fmt/cquote.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MAX     60
#define NAMES_MAX    6  /* of one directory */
#define PAIRS_MAX    20
#define COMMIT_FILES 20 /* a commit of more says nothing about any two of them */
#define NAME_SHOWN   120

/* ---- where files are ---- */

struct dir {
	struct str name;
	size_t depth, first, files; /* first: where its own files begin in the sorted list */
};
struct dirs {
	VEC(struct dir);
};

static struct str parent_of(struct str path)
{
	size_t slash = str_rfind(path, '/');

	return slash < path.n ? str_head(path, slash) : STR("");
}

static int by_dir(const void *a, const void *b)
{
	const struct str *x = a, *y = b;
	int d = str_cmp(parent_of(*x), parent_of(*y));

	return d != 0 ? d : str_cmp(*x, *y);
}

static int shallow_first(const void *a, const void *b)
{
	const struct dir *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return str_cmp(x->name, y->name);
}

static size_t depth_of(struct str dir)
{
	size_t n = 0;

	for (size_t i = 0; i < dir.n; i++)
		n += dir.p[i] == '/';
	return n;
}

/* On one line, whatever it holds: a name is somebody else's text. */
static int add_name(struct buf *out, struct str name, struct err *err)
{
	return cquote_add(out, str_head(name, utf8_head(name, NAME_SHOWN)), err);
}

static int add_row(const struct dir *d, const struct str *sorted, struct buf *out, struct err *err)
{
	TRY(buf_addz(out, "  ", err));
	TRY(add_name(out, d->name, err));
	TRY(buf_addz(out, ":", err));
	for (size_t i = 0; i < d->files && i < NAMES_MAX; i++) {
		struct str name = str_skip(sorted[d->first + i], d->name.n + 1);

		TRY(buf_addc(out, ' ', err));
		TRY(add_name(out, name, err));
	}
	if (d->files > NAMES_MAX)
		TRY(buf_addf(out, err, " +%zu", d->files - NAMES_MAX));
	return buf_addc(out, '\n', err);
}

static void collect(const struct str *sorted, size_t n, struct dirs *out)
{
	for (size_t i = 0; i < n;) {
		struct str dir = parent_of(sorted[i]);
		size_t end = i;

		while (end < n && str_eq(parent_of(sorted[end]), dir))
			end++;
		if (dir.n > 0)
			*vec_new(out) = (struct dir){ dir, depth_of(dir), i, end - i };
		i = end;
	}
}

int priors_map(const struct str_list *files, struct arena *mem, struct buf *out, struct err *err)
{
	struct str *sorted = arena_array(mem, files->n + 1, sizeof(*sorted));
	auto_buf struct buf rows = BUF_MAX(PRIORS_MAP);
	struct dirs dirs = { 0 };
	size_t shown = 0;
	int r = 0;

	if (files->n > 0)
		memcpy(sorted, files->p, files->n * sizeof(*sorted));
	qsort(sorted, files->n, sizeof(*sorted), by_dir);
	collect(sorted, files->n, &dirs);
	if (dirs.n > 0)
		qsort(dirs.p, dirs.n, sizeof(*dirs.p), shallow_first);
	for (; shown < dirs.n && shown < ROWS_MAX; shown++) {
		auto_buf struct buf row = BUF_MAX(4096);

		if (add_row(&dirs.p[shown], sorted, &row, ERR_DISCARD) < 0 || buf_add(&rows, buf_str(&row), ERR_DISCARD) < 0)
			break;
	}
	if (shown > 0) {
		r = buf_addz(out, "Directories and their files:\n", err);
		r = r < 0 ? r : buf_add(out, buf_str(&rows), err);
		if (r == 0 && shown < dirs.n)
			r = buf_addf(out, err, "  and %zu directories more\n", dirs.n - shown);
	}
	vec_fini(&dirs);
	return r;
}

/* ---- what changes together ---- */

struct names {
	VEC(struct str);
};
struct pairs {
	VEC(uint64_t); /* two indices into the sorted tracked files */
};
struct counted {
	uint64_t pair;
	size_t n;
};
struct counts {
	VEC(struct counted);
};

static int by_name(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static int by_pair(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int most_first(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->pair < y->pair ? -1 : x->pair > y->pair;
}

static void end_commit(const struct names *names, const struct str *tracked, size_t n, struct pairs *out)
{
	uint32_t at[COMMIT_FILES];
	size_t known = 0;

	if (names->n > COMMIT_FILES)
		return;
	for (size_t i = 0; i < names->n; i++) {
		const struct str *hit = n > 0 ? bsearch(&names->p[i], tracked, n, sizeof(*tracked), by_name) : NULL;

		if (hit)
			at[known++] = (uint32_t)(hit - tracked);
	}
	for (size_t i = 0; i < known; i++)
		for (size_t k = i + 1; k < known; k++) {
			uint32_t low = at[i] < at[k] ? at[i] : at[k], high = at[i] < at[k] ? at[k] : at[i];

			if (low != high)
				*vec_new(out) = (uint64_t)low << 32 | high;
		}
}

/* A commit begins with \1; its names follow, NUL separated, the first one behind a newline. */
static void read_log(struct str log, const struct str *tracked, size_t n, struct pairs *out)
{
	struct names names = { 0 };

	while (log.n > 0) {
		struct str token = str_cut(&log, '\0');

		while (token.n > 0 && (token.p[0] == '\n' || token.p[0] == '\1')) {
			if (token.p[0] == '\1') {
				end_commit(&names, tracked, n, out);
				names.n = 0;
			}
			token = str_skip(token, 1);
		}
		if (token.n > 0)
			*vec_new(&names) = token;
	}
	end_commit(&names, tracked, n, out);
	vec_fini(&names);
}

static void count(struct pairs *all, struct counts *out)
{
	if (all->n > 0)
		qsort(all->p, all->n, sizeof(*all->p), by_pair);
	for (size_t i = 0; i < all->n;) {
		size_t end = i;

		while (end < all->n && all->p[end] == all->p[i])
			end++;
		if (end - i >= 2)
			*vec_new(out) = (struct counted){ all->p[i], end - i };
		i = end;
	}
	if (out->n > 0)
		qsort(out->p, out->n, sizeof(*out->p), most_first);
}

static int add_pairs(const struct counts *c, const struct str *tracked, struct buf *out, struct err *err)
{
	auto_buf struct buf rows = BUF_MAX(PRIORS_PAIRS);

	for (size_t i = 0; i < c->n && i < PAIRS_MAX; i++) {
		auto_buf struct buf row = BUF_MAX(1024);
		struct str a = tracked[c->p[i].pair >> 32], b = tracked[(uint32_t)c->p[i].pair];

		TRY(buf_addz(&row, "  ", err));
		TRY(add_name(&row, a, err));
		TRY(buf_addz(&row, " + ", err));
		TRY(add_name(&row, b, err));
		TRY(buf_addf(&row, err, " (%zu)\n", c->p[i].n));
		if (buf_add(&rows, buf_str(&row), ERR_DISCARD) < 0)
			break;
	}
	if (rows.n == 0)
		return 0;
	TRY(buf_addz(out, "Files that commits change together (how often):\n", err));
	return buf_add(out, buf_str(&rows), err);
}

int priors_pairs(struct str log, const struct str_list *files, struct arena *mem, struct buf *out, struct err *err)
{
	struct str *tracked = arena_array(mem, files->n + 1, sizeof(*tracked));
	struct pairs pairs = { 0 };
	struct counts counts = { 0 };
	int r;

	if (files->n > 0)
		memcpy(tracked, files->p, files->n * sizeof(*tracked));
	qsort(tracked, files->n, sizeof(*tracked), by_name);
	read_log(log, tracked, files->n, &pairs);
	count(&pairs, &counts);
	r = add_pairs(&counts, tracked, out, err);
	vec_fini(&pairs);
	vec_fini(&counts);
	return r;
}
