/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/gitindex.h"
#include "base/siphash.h"
#include "sys/file.h"

#include <limits.h>
#include <string.h>

#define STAT_BYTES 40 /* of an entry, before the name of its object */
#define MODE_AT    24
#define MODE_LINK  0160000
#define MODE_DIR   0040000 /* a sparse index: a directory whose files are not named */
#define EXTENDED   0x4000
#define ASSUMED    0x8000 /* of flags: git is to believe that the file is unchanged ... */
#define SKIPPED    0x4000u /* of the extended ones: ... or is not to look for it */
#define ANNOUNCED  0x2000u /* git add -N */
#define LENGTH     0x0fff /* of flags; as much: longer than that */

struct reading {
	struct str rest;
	size_t hash; /* bytes of an object's name */
	unsigned version;
	char path[PATH_MAX]; /* '/', and the name of the entry before, which version 4 continues */
	size_t name_n;
	bool whole;          /* the last name continues nothing */
	struct str offsets;  /* of an extension: where blocks of entries begin, which git reads each by itself */
};

static unsigned be(const char *p, size_t n)
{
	unsigned v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

static int broken(struct err *err)
{
	return err_set(err, ERR_INVALID, "the index is not whole, or sparse, or split, or of a version we do not know");
}

/* n bytes, or NULL. */
static const char *take_bytes(struct reading *r, size_t n)
{
	const char *p = r->rest.p;

	if (n > r->rest.n)
		return NULL;
	r->rest.p += n;
	r->rest.n -= n;
	return p;
}

/* How much of the name before is cut off at its end. */
static int take_cut(struct reading *r, size_t *out, struct err *err)
{
	const char *c = take_bytes(r, 1);
	size_t v = c ? (size_t)(*c & 127) : 0;

	while (c && (*c & 128) != 0 && v < PATH_MAX) {
		c = take_bytes(r, 1);
		v = c ? ((v + 1) << 7) + (size_t)(*c & 127) : 0;
	}
	if (!c || v > r->name_n)
		return broken(err);
	*out = v;
	return 0;
}

static int take_name(struct reading *r, size_t fixed, struct err *err)
{
	size_t cut = r->name_n, n;
	const char *end;

	if (r->version == 4)
		TRY(take_cut(r, &cut, err));
	r->whole = cut == r->name_n;
	end = r->rest.n > 0 ? memchr(r->rest.p, '\0', r->rest.n) : NULL;
	n = end ? (size_t)(end - r->rest.p) : 0;
	if (!end || r->name_n - cut + n >= sizeof(r->path))
		return broken(err);
	memcpy(r->path + 1 + r->name_n - cut, r->rest.p, n);
	r->name_n = r->name_n - cut + n;
	/* Version 4 ends with one zero; before, one to eight fill up to a multiple of eight. */
	if (!take_bytes(r, r->version == 4 ? n + 1 : ((fixed + n + 8) & ~(size_t)7) - fixed))
		return broken(err);
	return 0;
}

struct entry {
	unsigned mode, flags, extended;
	struct str path;
};

typedef int entry_fn(void *self, const struct entry *e, struct err *err);

static int read_entry(struct reading *r, entry_fn *each, void *self, struct err *err)
{
	size_t fixed = STAT_BYTES + r->hash + 2;
	const char *p = take_bytes(r, fixed);
	unsigned mode, flags, extended = 0;

	if (!p)
		return broken(err);
	mode = be(p + MODE_AT, 4);
	flags = be(p + fixed - 2, 2);
	if (flags & EXTENDED) {
		fixed += 2;
		const char *more = take_bytes(r, 2);

		if (r->version < 3 || !more)
			return broken(err);
		extended = be(more, 2);
		if (extended & ~(SKIPPED | ANNOUNCED))
			return broken(err);
	}
	TRY(take_name(r, fixed, err));
	if ((flags & LENGTH) != (r->name_n < LENGTH ? r->name_n : LENGTH))
		return broken(err);
	if (mode == MODE_DIR || r->name_n == 0)
		return broken(err);
	const struct entry e = { mode, flags, extended, str_of(r->path + 1, r->name_n) };

	return each(self, &e, err);
}

/* They end where the checksum begins. What git would read by another way than from the beginning must be the same that way. */
static int read_extensions(struct reading *r, size_t begin, struct err *err)
{
	while (r->rest.n > r->hash) {
		const char *p = take_bytes(r, 8), *body = p ? take_bytes(r, be(p + 4, 4)) : NULL;

		if (!body || p[0] < 'A' || p[0] > 'Z') /* a small letter: who does not know it must not read on */
			return broken(err);
		if (memcmp(p, "EOIE", 4) == 0 && (be(p + 4, 4) < 4 || be(body, 4) != begin))
			return broken(err);
		if (memcmp(p, "IEOT", 4) == 0)
			r->offsets = str_of(body, be(p + 4, 4));
	}
	return r->rest.n == r->hash ? 0 : broken(err);
}

static int no_entry(void *self, const struct entry *e, struct err *err)
{
	(void)self;
	(void)e;
	(void)err;
	return 0;
}

/* A version, then an offset and a number of entries for each block: every block begins where the one before it ended, with a
 * whole name, and all of them are all. */
static int check_offsets(struct str bytes, const struct reading *all, unsigned n, struct err *err)
{
	struct reading r = { .rest = str_skip(bytes, 12), .hash = all->hash, .version = all->version, .path = "/" };
	struct str o = str_skip(all->offsets, 4);

	if (all->offsets.n < 4 || o.n % 8 != 0)
		return broken(err);
	for (; o.n > 0; o = str_skip(o, 8)) {
		unsigned block = be(o.p + 4, 4);

		if (be(o.p, 4) != (size_t)(r.rest.p - bytes.p) || block > n || block == 0)
			return broken(err);
		for (unsigned i = 0; i < block; i++) {
			TRY(read_entry(&r, no_entry, NULL, err));
			if (i == 0 && r.version == 4 && !r.whole)
				return broken(err);
		}
		n -= block;
	}
	return n == 0 ? 0 : broken(err);
}

static int read_all(struct str bytes, size_t hash, entry_fn *each, void *self, struct err *err)
{
	struct reading r = { .rest = bytes, .hash = hash, .path = "/" };
	const char *head = take_bytes(&r, 12);
	unsigned n;

	if (!head || memcmp(head, "DIRC", 4) != 0)
		return broken(err);
	r.version = be(head + 4, 4);
	n = be(head + 8, 4);
	if (r.version < 2 || r.version > 4)
		return broken(err);
	for (unsigned i = 0; i < n; i++)
		TRY(read_entry(&r, each, self, err));
	TRY(read_extensions(&r, (size_t)(r.rest.p - bytes.p), err));
	return r.offsets.p ? check_offsets(bytes, &r, n, err) : 0;
}

/* Names of objects have 20 bytes or 32: what can be read either way is taken as both, since whoever wrote it may have meant
 * the other one. */
static int read_either(struct str bytes, entry_fn *each, void *self, struct err *err)
{
	int r = read_all(bytes, 20, each, self, err);

	if (r < 0 && r != -ERR_INVALID)
		return r;
	int other = read_all(bytes, 32, each, self, r < 0 ? err : ERR_DISCARD);

	return other == -ERR_INVALID ? r : other;
}

struct links {
	gitindex_found_fn *found;
	void *self;
};

static int only_links(void *self, const struct entry *e, struct err *err)
{
	const struct links *l = self;
	char path[PATH_MAX + 1] = "/";

	if (e->mode != MODE_LINK)
		return 0;
	memcpy(path + 1, e->path.p, e->path.n);
	if (!path_is_clean((struct str){ path, e->path.n + 1 }))
		return broken(err);
	return l->found(l->self, e->path, err);
}

int gitindex_links(struct str bytes, gitindex_found_fn *found, void *self, struct err *err)
{
	struct links l = { found, self };

	return read_either(bytes, only_links, &l, err);
}

/* ---- the names ---- */

struct names {
	struct arena *mem;
	struct str *p; /* max of them */
	size_t max, total;
	char last[PATH_MAX];
	size_t last_n;
};

/* An entry of a conflict stands there up to three times, one after the other. */
static int add_name(void *self, const struct entry *e, struct err *err)
{
	struct names *l = self;

	(void)err;
	if (str_eq(str_of(l->last, l->last_n), e->path))
		return 0;
	memcpy(l->last, e->path.p, e->path.n);
	l->last_n = e->path.n;
	if (l->total++ < l->max)
		l->p[l->total - 1] = str_dup(l->mem, e->path);
	return 0;
}

int gitindex_names(struct str bytes, size_t digits, size_t max, struct arena *mem, struct str_list *out, size_t *total, struct err *err)
{
	size_t most = bytes.n / STAT_BYTES; /* each entry has more */
	struct names l = { .mem = mem, .max = max < most ? max : most };

	l.p = arena_array(mem, l.max + 1, sizeof(*l.p));

	TRY(read_all(bytes, digits / 2, add_name, &l, err));
	*out = (struct str_list){ l.p, l.total < l.max ? l.total : l.max };
	*total = l.total;
	return 0;
}

/* ---- the digest ---- */

struct digest {
	const uint64_t *key;
	uint64_t sum;
};

static int add_entry(void *self, const struct entry *e, struct err *err)
{
	struct digest *d = self;
	unsigned flags = e->flags & ASSUMED, more = e->extended & SKIPPED;
	const uint64_t all[] = { d->sum, e->mode == MODE_LINK, flags, more, siphash(d->key, e->path) };

	(void)err;
	if (e->mode != MODE_LINK && flags == 0 && more == 0)
		return 0;
	d->sum = siphash(d->key, str_of((const char *)all, sizeof(all)));
	return 0;
}

int gitindex_digest(struct str bytes, const uint64_t key[2], uint64_t *out, struct err *err)
{
	struct digest as20 = { key, 0 }, as32 = { key, 0 };
	int r = read_all(bytes, 20, add_entry, &as20, ERR_DISCARD), other = read_all(bytes, 32, add_entry, &as32, err);

	if (r < 0)
		TRY(other);
	const uint64_t both[] = { r < 0 ? 0 : as20.sum, other < 0 ? 0 : as32.sum }; /* what was made of it before it failed is nothing */

	*out = siphash(key, str_of((const char *)both, sizeof(both)));
	return 0;
}
