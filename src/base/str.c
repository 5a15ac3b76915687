/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct str str_from(const char *z)
{
	return (struct str){ z, z ? strlen(z) : 0 };
}

struct str str_of(const void *p, size_t n)
{
	return (struct str){ p, n };
}

bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_eqz(struct str a, const char *z)
{
	return str_eq(a, str_from(z));
}

int str_cmp(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int r = n > 0 ? memcmp(a.p, b.p, n) : 0;

	return r != 0 ? r : (a.n > b.n) - (a.n < b.n);
}

bool str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n && str_eq(str_head(s, prefix.n), prefix);
}

bool str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n && str_eq(str_tail(s, suffix.n), suffix);
}

size_t str_find(struct str s, struct str needle)
{
	if (needle.n == 0)
		return 0;
	if (s.n == 0)
		return s.n;
	const char *at = memmem(s.p, s.n, needle.p, needle.n);
	return at ? (size_t)(at - s.p) : s.n;
}

size_t str_find_any(struct str s, struct str bytes)
{
	for (size_t i = 0; i < s.n; i++)
		if (memchr(bytes.p, s.p[i], bytes.n))
			return i;
	return s.n;
}

size_t str_rfind(struct str s, char c)
{
	const char *at = s.n > 0 ? memrchr(s.p, c, s.n) : NULL;

	return at ? (size_t)(at - s.p) : s.n;
}

struct str str_head(struct str s, size_t n)
{
	return (struct str){ s.p, n < s.n ? n : s.n };
}

struct str str_skip(struct str s, size_t n)
{
	if (n >= s.n)
		return (struct str){ s.p ? s.p + s.n : NULL, 0 };
	return (struct str){ s.p + n, s.n - n };
}

struct str str_tail(struct str s, size_t n)
{
	return str_skip(s, n < s.n ? s.n - n : 0);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
	while (s.n > 0 && is_space(s.p[0]))
		s = str_skip(s, 1);
	while (s.n > 0 && is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

struct str str_trim_prefix(struct str s, struct str prefix)
{
	return str_starts(s, prefix) ? str_skip(s, prefix.n) : s;
}

struct str str_trim_suffix(struct str s, struct str suffix)
{
	return str_ends(s, suffix) ? str_head(s, s.n - suffix.n) : s;
}

struct str str_cut(struct str *rest, char sep)
{
	const char *at = rest->n > 0 ? memchr(rest->p, sep, rest->n) : NULL;
	size_t n = at ? (size_t)(at - rest->p) : rest->n;
	struct str head = str_head(*rest, n);

	*rest = str_skip(*rest, n + 1);
	return head;
}

struct str str_line(struct str *rest)
{
	const char *at = rest->n > 0 ? memchr(rest->p, '\n', rest->n) : NULL;
	size_t n = at ? (size_t)(at - rest->p) + 1 : rest->n;
	struct str line = str_head(*rest, n);

	*rest = str_skip(*rest, n);
	return line;
}

int str_to_i64(struct str s, int64_t *out, struct err *err)
{
	bool minus = str_starts(s, STR("-"));
	struct str digits = minus ? str_skip(s, 1) : s;
	int64_t v = 0;

	if (digits.n == 0)
		return err_set(err, ERR_SYNTAX, "\"" STR_FMT "\" is not a whole number", STR_ARG(s));
	for (size_t i = 0; i < digits.n; i++) {
		int d = digits.p[i] - '0';

		if (d < 0 || d > 9)
			return err_set(err, ERR_SYNTAX, "\"" STR_FMT "\" is not a whole number", STR_ARG(s));
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, d, &v))
			return err_set(err, ERR_LIMIT, "\"" STR_FMT "\" does not fit 64 bits", STR_ARG(s));
	}
	if (!minus && __builtin_sub_overflow(0, v, &v))
		return err_set(err, ERR_LIMIT, "\"" STR_FMT "\" does not fit 64 bits", STR_ARG(s));
	*out = v;
	return 0;
}

int str_to_f64(struct str s, double *out, struct err *err)
{
	char z[64];
	char *end;

	if (s.n == 0 || s.n >= sizeof(z) || is_space(s.p[0]) || memchr(s.p, '\0', s.n))
		return err_set(err, ERR_SYNTAX, "\"" STR_FMT "\" is not a number", STR_ARG(str_head(s, 64)));
	memcpy(z, s.p, s.n);
	z[s.n] = '\0';
	double v = strtod(z, &end);
	if (*end != '\0' || !isfinite(v))
		return err_set(err, ERR_SYNTAX, "\"%s\" is not a number", z);
	*out = v;
	return 0;
}

int32_t utf8_next(struct str s, size_t *i)
{
	static const int32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned char c = (unsigned char)s.p[*i];
	size_t more = c < 0x80 ? 0 : c < 0xc2 ? 4 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 4;
	int32_t cp = more == 0 ? c : c & (0x3f >> more);
	size_t at = *i;

	(*i)++;
	if (more == 4 || s.n - at <= more)
		return -1;
	for (size_t k = 1; k <= more; k++) {
		unsigned char b = (unsigned char)s.p[at + k];

		if ((b & 0xc0) != 0x80)
			return -1;
		cp = (cp << 6) | (b & 0x3f);
	}
	if (cp < least[more] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return -1;
	*i = at + more + 1;
	return cp;
}

/* Unicode 15.0: Default_Ignorable_Code_Point, UAX #9, what separates lines, and General_Category Zs. */
static const struct {
	int32_t first, last;
	enum utf8_sight is;
} sights[] = {
	{ -1, 0x1F, UTF8_HIDDEN },
	{ 0x7F, 0x9F, UTF8_HIDDEN },
	{ 0xA0, 0xA0, UTF8_BLANK },        /* no-break space */
	{ 0xAD, 0xAD, UTF8_HIDDEN },       /* soft hyphen */
	{ 0x034F, 0x034F, UTF8_JOINS },    /* combining grapheme joiner */
	{ 0x061C, 0x061C, UTF8_HIDDEN },   /* Arabic letter mark */
	{ 0x115F, 0x1160, UTF8_HIDDEN },   /* Hangul fillers */
	{ 0x1680, 0x1680, UTF8_BLANK },
	{ 0x17B4, 0x17B5, UTF8_HIDDEN },   /* Khmer inherent vowels */
	{ 0x180B, 0x180D, UTF8_JOINS },    /* Mongolian variants */
	{ 0x180E, 0x180E, UTF8_HIDDEN },   /* Mongolian vowel separator */
	{ 0x180F, 0x180F, UTF8_JOINS },
	{ 0x2000, 0x200A, UTF8_BLANK },
	{ 0x200B, 0x200B, UTF8_HIDDEN },   /* zero width space */
	{ 0x200C, 0x200D, UTF8_JOINS },    /* joiners */
	{ 0x200E, 0x200F, UTF8_HIDDEN },   /* left-to-right and right-to-left marks */
	{ 0x2028, 0x202E, UTF8_HIDDEN },   /* line and paragraph separators, embeddings and overrides */
	{ 0x202F, 0x202F, UTF8_BLANK },
	{ 0x205F, 0x205F, UTF8_BLANK },
	{ 0x2060, 0x206F, UTF8_HIDDEN },   /* invisible operators, isolates, deprecated controls */
	{ 0x2800, 0x2800, UTF8_BLANK },    /* the empty Braille pattern */
	{ 0x3000, 0x3000, UTF8_BLANK },
	{ 0x3164, 0x3164, UTF8_HIDDEN },   /* Hangul filler */
	{ 0xFE00, 0xFE0F, UTF8_JOINS },    /* variants */
	{ 0xFEFF, 0xFEFF, UTF8_HIDDEN },   /* byte order mark inside a text */
	{ 0xFFA0, 0xFFA0, UTF8_HIDDEN },   /* Hangul filler */
	{ 0xFFF0, 0xFFFB, UTF8_HIDDEN },   /* interlinear annotation */
	{ 0x1BCA0, 0x1BCA3, UTF8_HIDDEN }, /* shorthand controls */
	{ 0x1D173, 0x1D17A, UTF8_HIDDEN }, /* musical controls */
	{ 0xE0000, 0xE0FFF, UTF8_HIDDEN }, /* tags: text nobody sees */
};

enum utf8_sight utf8_sight(int32_t c)
{
	if (c >= 0x20 && c < 0x7F)
		return UTF8_SEEN;
	for (size_t i = 0; i < COUNT(sights); i++)
		if (c <= sights[i].last)
			return c >= sights[i].first ? sights[i].is : UTF8_SEEN;
	return UTF8_SEEN;
}

bool utf8_valid(struct str s)
{
	for (size_t i = 0; i < s.n;) {
		uint64_t w;

		for (; s.n - i >= sizeof(w); i += sizeof(w)) {
			memcpy(&w, s.p + i, sizeof(w));
			if (w & 0x8080808080808080u)
				break;
		}
		if (i < s.n && utf8_next(s, &i) < 0)
			return false;
	}
	return true;
}

size_t utf8_head(struct str s, size_t max)
{
	if (s.n <= max)
		return s.n;
	while (max > 0 && ((unsigned char)s.p[max] & 0xc0) == 0x80)
		max--;
	return max;
}

size_t str_distance(struct str a, struct str b)
{
	size_t row[65];

	if (a.n > 64 || b.n > 64)
		return 1000;
	for (size_t j = 0; j <= b.n; j++)
		row[j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		size_t diag = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			size_t best = diag + (a.p[i - 1] != b.p[j - 1]);

			diag = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b.n];
}
