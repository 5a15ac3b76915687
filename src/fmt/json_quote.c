/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Writing strings needs no JSON library, and agent6-net links none. */
#include "fmt/json.h"

#include <stdio.h>
#include <string.h>

#define FFFD STR("\xEF\xBF\xBD")

/* The bytes that stand for c inside a string; 0 when c stands for itself. */
static size_t escape(unsigned char c, char out[7])
{
	static const char letters[] = "btnvfr"; /* from \b (8) to \r (13); \v has no short form */

	out[0] = '\\';
	if (c == '"' || c == '\\') {
		out[1] = (char)c;
		return 2;
	}
	if (c >= ' ')
		return 0;
	if (c >= '\b' && c <= '\r' && c != '\v') {
		out[1] = letters[c - '\b'];
		return 2;
	}
	return (size_t)snprintf(out, 7, "\\u%04x", c);
}

size_t json_plain(struct str s)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	size_t n = 0;

	/* A byte is zero where, less one, it borrows; of bytes above 0x7f that is told apart by `w` itself.
	 */
	for (uint64_t w, quote, back; s.n - n >= sizeof(w); n += sizeof(w)) {
		memcpy(&w, s.p + n, sizeof(w));
		quote = w ^ (ones * '"');
		back = w ^ (ones * '\\');
		if ((w | (w - ones * ' ') | ((quote - ones) & ~quote) | ((back - ones) & ~back)) & tops)
			break;
	}
	return n;
}

static int add_quoted(struct buf *b, struct str s, struct err *err)
{
	size_t good = 0;
	char esc[7];

	TRY(buf_addc(b, '"', err));
	for (size_t i = json_plain(s); i < s.n;) {
		size_t at = i;
		unsigned char c = (unsigned char)s.p[i];
		size_t n = 0;

		if (c >= 0x80 ? utf8_next(s, &i) >= 0 : (n = escape(c, esc), i++, n == 0))
			continue;
		TRY(buf_add(b, str_of(s.p + good, at - good), err));
		TRY(buf_add(b, n > 0 ? str_of(esc, n) : FFFD, err));
		good = i;
		i += json_plain(str_skip(s, i));
	}
	TRY(buf_add(b, str_skip(s, good), err));
	return buf_addc(b, '"', err);
}

int json_add_quoted(struct buf *b, struct str s, struct err *err)
{
	size_t before = b->n;
	int r = add_quoted(b, s, err);

	if (r < 0)
		buf_shrink(b, before);
	return r;
}

static int add_member(struct buf *b, const char *key, struct str s, struct err *err)
{
	if (b->n > 0 && b->p[b->n - 1] != '{')
		TRY(buf_addc(b, ',', err));
	TRY(json_add_quoted(b, str_from(key), err));
	TRY(buf_addc(b, ':', err));
	return json_add_quoted(b, s, err);
}

int json_add_member(struct buf *b, const char *key, struct str s, struct err *err)
{
	size_t before = b->n;
	int r = add_member(b, key, s, err);

	if (r < 0)
		buf_shrink(b, before);
	return r;
}
