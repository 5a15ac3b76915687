/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/search_cache.h"

#include "base/vec.h"
#include "fmt/pack.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

/* On the wire: the magic, the seed, then for each text its hash, how many names, and their hashes. */
#define MAGIC       0x41364331u
#define ENTRY_HEAD  10 /* bytes */
#define ENTRIES_MAX 65536
#define ENTRIES_LEFT 49152 /* of these are written: the next search has room for new ones */

struct entry {
	uint64_t key; /* of the text and the depth */
	size_t at, n; /* in names */
};

struct search_cache {
	pthread_mutex_t lock;
	uint64_t seed;
	struct {
		VEC(struct entry);
	} entries; /* oldest first */
	struct {
		VEC(uint16_t);
	} names;
	uint32_t *slots; /* open addressing: an entry's place plus one */
	size_t nslots;
	bool changed;
};

/* ---- hashes ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 r = (unsigned __int128)a * b;

	return (uint64_t)r ^ (uint64_t)(r >> 64);
}

/* Eight bytes a step, multiplied under the seed; who does not know the seed cannot choose what it meets. */
static uint64_t hash(uint64_t seed, struct str s)
{
	uint64_t h = seed ^ UINT64_C(0x9e3779b97f4a7c15), word;
	size_t i = 0;

	for (; i + 8 <= s.n; i += 8) {
		memcpy(&word, s.p + i, 8);
		h = mix(h ^ word, seed | 1) + UINT64_C(0xa0761d6478bd642f);
	}
	word = 0;
	if (i < s.n)
		memcpy(&word, s.p + i, s.n - i);
	h = mix(h ^ word, seed | 1);
	return mix(h ^ s.n, UINT64_C(0xe7037ed1a0b428db));
}

static uint16_t hash_name(struct str name)
{
	return (uint16_t)hash(UINT64_C(0x8ebc6af09c88c6e3), name); /* two that meet cost a reading */
}

uint64_t search_text_key(uint64_t seed, struct str path, struct str text)
{
	size_t dot = str_rfind(path, '.');

	return hash(hash(seed, str_skip(path, dot)), text);
}

void search_names_fini(struct search_names *s)
{
	vec_fini(s);
}

void search_names_add(struct search_names *s, struct str name)
{
	if (s->n <= SEARCH_CACHE_NAMES)
		*vec_new(s) = hash_name(name);
}

/* ---- the table ---- */

static uint32_t *slot_of(const struct search_cache *c, uint64_t key)
{
	for (size_t i = (size_t)key & (c->nslots - 1);; i = (i + 1) & (c->nslots - 1))
		if (c->slots[i] == 0 || c->entries.p[c->slots[i] - 1].key == key)
			return &c->slots[i];
}

static void make_room(struct search_cache *c)
{
	if (c->nslots > 2 * c->entries.n)
		return;
	c->nslots = c->nslots > 0 ? c->nslots * 2 : 1024;
	free(c->slots);
	c->slots = mem_alloc(c->nslots * sizeof(*c->slots));
	for (size_t i = 0; i < c->entries.n; i++)
		*slot_of(c, c->entries.p[i].key) = (uint32_t)i + 1;
}

static uint64_t key_of(uint64_t text, enum search_depth depth)
{
	return text ^ (depth == DEPTH_PARSER ? UINT64_C(0x5851f42d4c957f2d) : 0);
}

/* False: it is there already, or there is no room. */
static bool add_entry(struct search_cache *c, uint64_t key, size_t n)
{
	if (c->entries.n == ENTRIES_MAX)
		return false;
	make_room(c);
	uint32_t *slot = slot_of(c, key);

	if (*slot != 0)
		return false;
	*vec_new(&c->entries) = (struct entry){ key, c->names.n, n };
	*slot = (uint32_t)c->entries.n;
	return true;
}

/* ---- bytes ---- */

static uint64_t new_seed(void)
{
	uint64_t seed = 0;

	BUG_IF(getentropy(&seed, sizeof(seed)) < 0);
	return seed;
}

static bool read_all(struct search_cache *c, struct str bytes, struct unpack *u)
{
	if (bytes.n > SEARCH_CACHE_MAX || unpack_u32(u) != MAGIC)
		return false;
	c->seed = unpack_u64(u);
	while (u->rest.n > 0) {
		uint64_t key = unpack_u64(u);
		size_t n = unpack_u16(u);

		if (u->bad || n > SEARCH_CACHE_NAMES || u->rest.n < 2 * n || !add_entry(c, key, n))
			return false;
		for (size_t i = 0; i < n; i++)
			*vec_new(&c->names) = unpack_u16(u);
	}
	return !u->bad;
}

struct search_cache *search_cache_open(struct str bytes)
{
	struct search_cache *c = mem_alloc(sizeof(*c));
	struct unpack u = unpack_from(bytes);

	pthread_mutex_init(&c->lock, NULL);
	if (!read_all(c, bytes, &u)) {
		c->entries.n = c->names.n = c->nslots = 0;
		c->seed = new_seed();
	}
	make_room(c);
	return c;
}

void search_cache_free(struct search_cache *c)
{
	if (!c)
		return;
	pthread_mutex_destroy(&c->lock);
	vec_fini(&c->entries);
	vec_fini(&c->names);
	free(c->slots);
	free(c);
}

static size_t size_of(const struct entry *e)
{
	return ENTRY_HEAD + 2 * e->n;
}

int search_cache_write(const struct search_cache *c, struct buf *out, struct err *err)
{
	size_t first = c->entries.n, size = 12;

	while (first > 0 && c->entries.n - first < ENTRIES_LEFT && size + size_of(&c->entries.p[first - 1]) <= SEARCH_CACHE_MAX)
		size += size_of(&c->entries.p[--first]);
	TRY(buf_reserve(out, size, err));
	pack_u32(out, MAGIC);
	pack_u64(out, c->seed);
	for (size_t i = first; i < c->entries.n; i++) {
		const struct entry *e = &c->entries.p[i];

		pack_u64(out, e->key);
		pack_u16(out, (uint16_t)e->n);
		for (size_t k = 0; k < e->n; k++)
			pack_u16(out, c->names.p[e->at + k]);
	}
	return pack_ok(out, err);
}

/* ---- use ---- */

uint64_t search_cache_seed(const struct search_cache *c)
{
	return c->seed;
}

bool search_cache_changed(const struct search_cache *c)
{
	return c->changed;
}

enum search_known search_cache_ask(struct search_cache *c, uint64_t text, enum search_depth depth, struct str name)
{
	enum search_known known = KNOWN_NOTHING;
	uint16_t want = hash_name(name);

	pthread_mutex_lock(&c->lock);
	uint32_t at = *slot_of(c, key_of(text, depth));
	if (at != 0) {
		const struct entry *e = &c->entries.p[at - 1];

		known = KNOWN_LACKS;
		for (size_t i = 0; i < e->n && known == KNOWN_LACKS; i++)
			if (c->names.p[e->at + i] == want)
				known = KNOWN_MAY_HAVE;
	}
	pthread_mutex_unlock(&c->lock);
	return known;
}

static int by_number(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

static size_t each_once(uint16_t *p, size_t n)
{
	size_t kept = 0;

	if (n > 0)
		qsort(p, n, sizeof(*p), by_number);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || p[kept - 1] != p[i])
			p[kept++] = p[i];
	return kept;
}

void search_cache_put(struct search_cache *c, uint64_t text, enum search_depth depth, const struct search_names *names)
{
	size_t n;

	if (!names->whole || names->n > SEARCH_CACHE_NAMES)
		return;
	n = each_once(names->p, names->n);
	pthread_mutex_lock(&c->lock);
	if (add_entry(c, key_of(text, depth), n)) {
		for (size_t i = 0; i < n; i++)
			*vec_new(&c->names) = names->p[i];
		c->changed = true;
	}
	pthread_mutex_unlock(&c->lock);
}
