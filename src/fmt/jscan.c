/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/jscan.h"
#include "fmt/json.h"

#include "base/vec.h"

#include <string.h>

#define DEPTH_MAX 200

static const struct {
	struct str word;
	enum jscan_type type;
} words[] = {
	{ STR("null"), JSCAN_NULL },
	{ STR("true"), JSCAN_TRUE },
	{ STR("false"), JSCAN_FALSE },
	{ STR("NaN"), JSCAN_NULL },
	{ STR("Infinity"), JSCAN_NULL },
	{ STR("-Infinity"), JSCAN_NULL },
};

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

static bool is_digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

static const char *skip_digits(const char *p, const char *end)
{
	while (is_digit(p, end))
		p++;
	return p;
}

static const char *scan_number(const char *p, const char *end)
{
	if (p < end && *p == '-')
		p++;
	if (!is_digit(p, end))
		return NULL;
	p = *p == '0' ? p + 1 : skip_digits(p, end);
	if (p < end && *p == '.') {
		if (!is_digit(p + 1, end))
			return NULL;
		p = skip_digits(p + 1, end);
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		if (!is_digit(p, end))
			return NULL;
		p = skip_digits(p, end);
	}
	return p;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The unit of the \uXXXX at p, or -1. */
static int32_t unit_at(const char *p, const char *end)
{
	int32_t v = 0;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int d = hex_digit(p[i]);

		if (d < 0)
			return -1;
		v = v * 16 + d;
	}
	return v;
}

/* Up to a quote or a backslash, eight bytes at a time; of a last few bytes only to where they begin. */
static const char *skip_plain(const char *p, const char *end)
{
	const uint64_t ones = 0x0101010101010101ULL, tops = 0x8080808080808080ULL;

	for (; end - p >= 8; p += 8) {
		uint64_t w, quote, back, hit;

		memcpy(&w, p, 8);
		quote = w ^ (ones * '"');
		back = w ^ (ones * '\\');
		hit = (((quote - ones) & ~quote) | ((back - ones) & ~back)) & tops;
		if (hit == 0)
			continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		p += __builtin_ctzll(hit) / 8; /* the lowest is a true one; above it a borrow may make others */
#endif
		break;
	}
	return p;
}

static const char *scan_string(const char *p, const char *end)
{
	for (p = skip_plain(p + 1, end); p < end; p++) {
		if (*p == '"')
			return p + 1;
		if (*p != '\\')
			continue;
		if (end - p < 2)
			return NULL;
		if (p[1] == 'u' ? unit_at(p, end) < 0 : !memchr("\"\\/bfnrt", p[1], 8))
			return NULL;
		p = skip_plain(p + 2, end) - 1;
	}
	return NULL;
}

static const char *scan_value(const char *p, const char *end, int depth, enum jscan_type *type);

/* An array or an object from its bracket on. */
static const char *scan_container(const char *p, const char *end, int depth, char close)
{
	enum jscan_type t;

	if (depth >= DEPTH_MAX)
		return NULL;
	p = skip_blanks(p + 1, end);
	if (p < end && *p == close)
		return p + 1;
	for (;;) {
		if (close == '}') {
			if (p >= end || *p != '"' || !(p = scan_string(p, end)))
				return NULL;
			p = skip_blanks(p, end);
			if (p >= end || *p++ != ':')
				return NULL;
			p = skip_blanks(p, end);
		}
		p = scan_value(p, end, depth + 1, &t);
		if (!p)
			return NULL;
		p = skip_blanks(p, end);
		if (p >= end || (*p != ',' && *p != close))
			return NULL;
		if (*p == close)
			return p + 1;
		p = skip_blanks(p + 1, end);
	}
}

static const char *scan_value(const char *p, const char *end, int depth, enum jscan_type *type)
{
	if (p >= end)
		return NULL;
	if (*p == '"') {
		*type = JSCAN_STRING;
		return scan_string(p, end);
	}
	if (*p == '{' || *p == '[') {
		*type = *p == '{' ? JSCAN_OBJECT : JSCAN_ARRAY;
		return scan_container(p, end, depth, *p == '{' ? '}' : ']');
	}
	for (size_t i = 0; !is_digit(p, end) && i < COUNT(words); i++)
		if (str_starts(str_of(p, (size_t)(end - p)), words[i].word)) {
			*type = words[i].type;
			return p + words[i].word.n;
		}
	*type = JSCAN_NUMBER;
	return scan_number(p, end);
}

struct jval jval_head(struct str text)
{
	struct jval v = { JSCAN_NONE, { NULL, 0 } };
	enum jscan_type type = JSCAN_NONE;
	const char *end, *p, *after;

	if (text.n == 0) /* p may be NULL then */
		return v;
	end = text.p + text.n;
	p = skip_blanks(text.p, end);
	after = scan_value(p, end, 0, &type);
	if (after)
		v = (struct jval){ type, str_of(p, (size_t)(after - p)) };
	return v;
}

struct jval jval_from(struct str text)
{
	struct jval v = jval_head(text);

	if (v.type == JSCAN_NONE || skip_blanks(v.text.p + v.text.n, text.p + text.n) == text.p + text.n)
		return v;
	return (struct jval){ JSCAN_NONE, { NULL, 0 } };
}

bool jval_next(struct jval c, size_t *pos, struct jval *key, struct jval *value)
{
	bool keyed = c.type == JSCAN_OBJECT;

	if (!keyed && c.type != JSCAN_ARRAY)
		return false;

	/* The text was scanned as a whole when c was made, so its members are well formed. */
	const char *end = c.text.p + c.text.n, *p = c.text.p + (*pos > 0 ? *pos : 1), *after;

	p = skip_blanks(p, end);
	if (*p == ',')
		p = skip_blanks(p + 1, end);
	if (*p == ']' || *p == '}')
		return false;
	if (keyed) {
		after = scan_string(p, end);
		BUG_IF(!after);
		if (key)
			*key = (struct jval){ JSCAN_STRING, str_of(p, (size_t)(after - p)) };
		p = skip_blanks(after, end);
		BUG_IF(*p != ':');
		p = skip_blanks(p + 1, end);
	} else if (key) {
		*key = (struct jval){ JSCAN_NONE, { NULL, 0 } };
	}
	after = scan_value(p, end, 1, &value->type);
	BUG_IF(!after);
	value->text = str_of(p, (size_t)(after - p));
	*pos = (size_t)(after - c.text.p);
	return true;
}

/* One character of a string at p: its bytes go to out (at most 4), the return is what follows. */
static const char *decode_escape(const char *p, const char *end, char out[4], size_t *n)
{
	static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
	int32_t u = unit_at(p, end);

	if (u < 0) {
		const char *at = memchr(names, p[1], 5);

		out[0] = at ? values[at - names] : p[1];
		*n = 1;
		return p + 2;
	}
	p += 6;
	if (u >= 0xd800 && u <= 0xdbff) {
		int32_t low = unit_at(p, end);

		if (low >= 0xdc00 && low <= 0xdfff) {
			u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
			p += 6;
		}
	}
	*n = u < 0x80 ? 1 : u < 0x800 ? 2 : u < 0x10000 ? 3 : 4;
	if (*n == 1) {
		out[0] = (char)u;
		return p;
	}
	for (size_t i = *n - 1; i > 0; i--, u >>= 6)
		out[i] = (char)(0x80 | (u & 0x3f));
	out[0] = (char)((0xf0 << (4 - *n)) | u);
	return p;
}

/* How many bytes at s.p[i], which begin no valid character, stand for one U+FFFD: the longest run that
 * begins one (Unicode 15, 3.9, "maximal subpart"). */
static size_t bad_run(struct str s, size_t i)
{
	unsigned char c = (unsigned char)s.p[i];
	size_t want = c >= 0xf0 && c <= 0xf4 ? 4 : c >= 0xe0 && c < 0xf0 ? 3 : 1;
	unsigned char lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	unsigned char hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	size_t n = 1;

	while (n < want && i + n < s.n) {
		unsigned char b = (unsigned char)s.p[i + n];

		if (b < lo || b > hi)
			break;
		lo = 0x80;
		hi = 0xbf;
		n++;
	}
	return n;
}

static int add_raw(struct buf *b, struct str s, enum jtext_nul nul, struct err *err)
{
	size_t good = 0;

	for (size_t i = 0; i < s.n;) {
		size_t at = i;
		int32_t c = utf8_next(s, &i);

		if (c > 0 || (c == 0 && nul == NUL_KEEP))
			continue;
		i = c == 0 ? i : at + bad_run(s, at);
		TRY(buf_add(b, str_of(s.p + good, at - good), err));
		TRY(buf_add(b, STR("\xEF\xBF\xBD"), err));
		good = i;
	}
	return buf_add(b, str_skip(s, good), err);
}

int jval_add_text(struct buf *b, struct jval string, enum jtext_nul nul, struct err *err)
{
	if (string.type != JSCAN_STRING)
		return 0;

	const char *p = string.text.p + 1, *end = string.text.p + string.text.n - 1;

	while (p < end) {
		const char *esc = memchr(p, '\\', (size_t)(end - p));
		const char *stop = esc ? esc : end;
		char out[4];
		size_t n;

		TRY(add_raw(b, str_of(p, (size_t)(stop - p)), nul, err));
		if (!esc)
			break;
		p = decode_escape(esc, end, out, &n);
		if (n == 1 && out[0] == '\0' && nul == NUL_REPLACE)
			TRY(buf_add(b, STR("\xEF\xBF\xBD"), err));
		else
			TRY(buf_add(b, str_of(out, n), err));
	}
	return 0;
}

/* The surrogate that the three bytes at p spell, or -1. */
static int32_t surrogate_at(const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;

	if (n < 3 || u[0] != 0xed || u[1] < 0xa0 || u[1] > 0xbf || (u[2] & 0xc0) != 0x80)
		return -1;
	return 0xd000 | ((u[1] & 0x3f) << 6) | (u[2] & 0x3f);
}

void jtext_repair(struct buf *b, size_t from)
{
	size_t to = from;

	for (size_t i = from; i < b->n;) {
		const char *at = memchr(b->p + i, 0xed, b->n - i);
		size_t run = (at ? (size_t)(at - b->p) : b->n) - i;

		memmove(b->p + to, b->p + i, run);
		to += run;
		i += run;
		if (!at)
			break;
		int32_t high = surrogate_at(b->p + i, b->n - i), low = -1;
		if (high < 0) {
			b->p[to++] = b->p[i++];
			continue;
		}
		if (high < 0xdc00 && b->n - i > 3)
			low = surrogate_at(b->p + i + 3, b->n - i - 3);
		if (low >= 0xdc00) {
			uint32_t c = 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);

			for (int k = 3; k > 0; k--, c >>= 6)
				b->p[to + (size_t)k] = (char)(0x80 | (c & 0x3f));
			b->p[to] = (char)(0xf0 | c);
			to += 4;
			i += 6;
		} else {
			memcpy(b->p + to, "\xEF\xBF\xBD", 3);
			to += 3;
			i += 3;
		}
	}
	if (b->p)
		buf_shrink(b, to);
}

size_t jtext_whole(struct str s)
{
	int32_t last = s.n >= 3 ? surrogate_at(s.p + s.n - 3, 3) : -1;

	return last >= 0 && last < 0xdc00 ? s.n - 3 : s.n;
}

/* With escapes in it, which no writer needs for a name of ours. */
static bool is_spelt(struct jval string, const char *want)
{
	auto_buf struct buf text = BUF_MAX(256); /* no name we compare with is longer */

	return string.text.n < 256 && jval_add_text(&text, string, NUL_KEEP, ERR_DISCARD) == 0 &&
		str_eqz(buf_str(&text), want);
}

bool jval_is(struct jval string, const char *want)
{
	size_t n = strlen(want);

	if (string.type != JSCAN_STRING || string.text.n < n + 2)
		return false;
	if (string.text.n == n + 2 && memcmp(string.text.p + 1, want, n) == 0)
		return true;
	return memchr(string.text.p, '\\', string.text.n) && is_spelt(string, want);
}

void jval_pick(struct jval object, const char *const *keys, size_t n, struct jval *out)
{
	struct jval k, v;
	size_t pos = 0;

	memset(out, 0, n * sizeof(*out)); /* JSCAN_NONE */
	if (object.type != JSCAN_OBJECT)
		return;
	while (jval_next(object, &pos, &k, &v)) {
		char first = k.text.p[1];

		for (size_t i = 0; i < n; i++)
			if ((first == keys[i][0] || first == '\\' || keys[i][0] == '\0') && jval_is(k, keys[i]))
				out[i] = v;
	}
}

struct jval jval_get(struct jval object, const char *key)
{
	struct jval found;

	jval_pick(object, &key, 1, &found);
	return found;
}

bool jval_to_f64(struct jval v, double *out)
{
	return v.type == JSCAN_NUMBER && str_to_f64(v.text, out, ERR_DISCARD) == 0;
}

bool jval_to_i64(struct jval v, int64_t *out)
{
	double d;

	if (v.type != JSCAN_NUMBER)
		return false;
	if (str_to_i64(v.text, out, ERR_DISCARD) == 0)
		return true;
	if (!jval_to_f64(v, &d) || d < -9e15 || d > 9e15 || d != (double)(int64_t)d)
		return false;
	*out = (int64_t)d;
	return true;
}

/* True when a strict reader takes the string as it stands, quotes and all. */
static bool is_strict(struct str s)
{
	const char *end = s.p + s.n;

	if (!utf8_valid(s))
		return false;
	for (const char *p = s.p; p < end; p++) {
		p += json_plain(str_of(p, (size_t)(end - p)));
		if (p == end)
			break;
		if ((unsigned char)*p < ' ')
			return false;
		if (*p != '\\')
			continue;
		int32_t u = unit_at(p, end), low = p[1] == 'u' ? unit_at(p + 6, end) : -1;
		bool pair = u >= 0xd800 && u <= 0xdbff && low >= 0xdc00 && low <= 0xdfff;

		if (u == 0 || (!pair && u >= 0xd800 && u <= 0xdfff))
			return false;
		p += pair ? 11 : 1;
	}
	return true;
}

static int add_string(struct buf *b, struct jval v, enum jtext_nul nul, struct err *err)
{
	if (is_strict(v.text))
		return buf_add(b, v.text, err);

	auto_buf struct buf text = BUF_MAX(3 * v.text.n);

	TRY(jval_add_text(&text, v, nul, err));
	jtext_repair(&text, 0);
	return json_add_quoted(b, buf_str(&text), err);
}

struct member {
	struct str key;   /* decoded, in the buf beside */
	size_t at, order; /* offset of the key there; position in the object */
	struct jval k, v;
	bool dead;
};

static int by_key(const void *a, const void *b)
{
	const struct member *x = *(const struct member *const *)a, *y = *(const struct member *const *)b;
	int r = str_cmp(x->key, y->key);

	return r != 0 ? r : (x->order > y->order) - (x->order < y->order);
}

/* Of members with equal keys only the last lives: strict readers refuse a text that has both. */
static void drop_doubles(struct member *m, size_t n)
{
	autofree struct member **sorted = mem_grow(NULL, n + 1, sizeof(struct member *));

	for (size_t i = 0; i < n; i++)
		sorted[i] = &m[i];
	qsort(sorted, n, sizeof(*sorted), by_key);
	for (size_t i = 1; i < n; i++)
		if (str_eq(sorted[i - 1]->key, sorted[i]->key))
			sorted[i - 1]->dead = true;
}

struct members {
	VEC(struct member);
};

static void members_fini(struct members *m)
{
	vec_fini(m);
}

static int add_value(struct buf *b, struct jval v, enum jtext_nul nul, struct err *err);

static int add_object(struct buf *b, struct jval v, enum jtext_nul nul, struct err *err)
{
	CLEANUP(members_fini) struct members list = { 0 };
	auto_buf struct buf keys = BUF_MAX(3 * v.text.n);
	struct jval k, member;
	bool first = true;

	for (size_t pos = 0; jval_next(v, &pos, &k, &member);) {
		struct member *m = vec_new(&list);

		*m = (struct member){ .at = keys.n, .order = list.n, .k = k, .v = member };
		TRY(jval_add_text(&keys, k, nul, err));
		jtext_repair(&keys, m->at);
		m->key.n = keys.n - m->at;
	}
	for (size_t i = 0; i < list.n; i++)
		list.p[i].key.p = keys.p ? keys.p + list.p[i].at : "";
	drop_doubles(list.p, list.n);
	TRY(buf_addc(b, '{', err));
	for (size_t i = 0; i < list.n; i++) {
		if (list.p[i].dead)
			continue;
		if (!first)
			TRY(buf_addc(b, ',', err));
		first = false;
		TRY(add_string(b, list.p[i].k, nul, err));
		TRY(buf_addc(b, ':', err));
		TRY(add_value(b, list.p[i].v, nul, err));
	}
	return buf_addc(b, '}', err);
}

static int add_value(struct buf *b, struct jval v, enum jtext_nul nul, struct err *err)
{
	struct jval item;
	bool first = true;

	switch (v.type) {
	case JSCAN_OBJECT:
		return add_object(b, v, nul, err);
	case JSCAN_ARRAY:
		TRY(buf_addc(b, '[', err));
		for (size_t pos = 0; jval_next(v, &pos, NULL, &item); first = false) {
			if (!first)
				TRY(buf_addc(b, ',', err));
			TRY(add_value(b, item, nul, err));
		}
		return buf_addc(b, ']', err);
	case JSCAN_STRING:
		return add_string(b, v, nul, err);
	case JSCAN_NONE:
	case JSCAN_NULL:
		return buf_add(b, STR("null"), err);
	case JSCAN_FALSE:
	case JSCAN_TRUE:
	case JSCAN_NUMBER:
		break;
	}
	return buf_add(b, v.text, err);
}

/* ---- what needs no rewriting, which is nearly everything ---- */

#define AS_IS_DEPTH 16
#define AS_IS_KEYS  24

/* No control characters, and UTF-8. */
static bool is_clean(struct str s)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;

	for (size_t i = 0; i < s.n;) {
		for (uint64_t w; s.n - i >= sizeof(w); i += sizeof(w)) {
			memcpy(&w, s.p + i, sizeof(w));
			if ((w | (w - ones * ' ')) & tops)
				break;
		}
		if (i < s.n && ((unsigned char)s.p[i] < ' ' || utf8_next(s, &i) < 0))
			return false;
	}
	return true;
}

static const char *as_is_string(const char *p, const char *end, bool escapes)
{
	const char *after = p < end && *p == '"' ? scan_string(p, end) : NULL;

	return after && (!escapes || is_strict(str_of(p, (size_t)(after - p)))) ? after : NULL;
}

static const char *as_is_value(const char *p, const char *end, int depth, bool escapes);

/* A key that is spelt with escapes may be another one's double: that is for add_object to find out. */
static const char *as_is_key(const char *p, const char *end, bool escapes, struct str *keys, size_t *n)
{
	const char *after = as_is_string(p, end, escapes);

	if (!after || after >= end || *after != ':' || *n == AS_IS_KEYS)
		return NULL;
	struct str key = str_of(p, (size_t)(after - p));

	if (escapes && memchr(key.p, '\\', key.n))
		return NULL;
	for (size_t i = 0; i < *n; i++)
		if (str_eq(keys[i], key))
			return NULL;
	keys[(*n)++] = key;
	return after + 1;
}

static const char *as_is_container(const char *p, const char *end, int depth, bool escapes)
{
	char close = *p == '{' ? '}' : ']';
	struct str keys[AS_IS_KEYS];
	size_t n = 0;

	if (depth >= AS_IS_DEPTH)
		return NULL;
	if (p + 1 < end && p[1] == close)
		return p + 2;
	do {
		p++;
		if (close == '}')
			p = as_is_key(p, end, escapes, keys, &n);
		p = p ? as_is_value(p, end, depth + 1, escapes) : NULL;
	} while (p && p < end && *p == ',');
	return p && p < end && *p == close ? p + 1 : NULL;
}

/* What follows the value at p, or NULL when add_value would write it in another way. */
static const char *as_is_value(const char *p, const char *end, int depth, bool escapes)
{
	enum jscan_type type = JSCAN_NONE;
	const char *after;

	if (p < end && (*p == '{' || *p == '['))
		return as_is_container(p, end, depth, escapes);
	if (p < end && *p == '"')
		return as_is_string(p, end, escapes);
	after = scan_value(p, end, 0, &type);
	return type == JSCAN_NULL && *p != 'n' ? NULL : after;
}

static bool is_as_is(struct jval v)
{
	const char *end = v.text.p + v.text.n;

	return (v.type == JSCAN_OBJECT || v.type == JSCAN_ARRAY) && is_clean(v.text) &&
		as_is_value(v.text.p, end, 0, memchr(v.text.p, '\\', v.text.n) != NULL) == end;
}

int jval_add(struct buf *b, struct jval v, enum jtext_nul nul, struct err *err)
{
	return is_as_is(v) ? buf_add(b, v.text, err) : add_value(b, v, nul, err);
}
