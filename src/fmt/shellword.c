/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/shellword.h"

#include <string.h>

static bool is_plain(struct str word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";

	for (size_t i = 0; i < word.n; i++)
		if (word.p[i] == '\0' || !strchr(plain, word.p[i]))
			return false;
	return word.n > 0;
}

/* A quote that a shell takes as it stands cannot show these: a line's end would look like the two letters that name it. */
static bool is_seen(struct str word)
{
	for (size_t i = 0; i < word.n;)
		if (utf8_sight(utf8_next(word, &i)) != UTF8_SEEN)
			return false;
	return true;
}

static int add_escape(struct buf *b, int32_t c, unsigned char byte, struct err *err)
{
	static const struct { int32_t c; const char *text; } known[] = { { '\n', "\\n" }, { '\t', "\\t" }, { '\r', "\\r" },
		{ '\\', "\\\\" }, { '\'', "\\'" } };

	for (size_t i = 0; i < COUNT(known); i++)
		if (c == known[i].c)
			return buf_addz(b, known[i].text, err);
	if (c < 0 || c < 0x80) /* three digits end by themselves, whatever stands behind them */
		return buf_addf(b, err, "\\%03o", c < 0 ? byte : (unsigned)c);
	return buf_addf(b, err, c > 0xFFFF ? "\\U%08x" : "\\u%04x", (unsigned)c);
}

static int add_escaped(struct buf *b, struct str word, struct err *err)
{
	TRY(buf_addz(b, "$'", err));
	for (size_t i = 0; i < word.n;) {
		size_t at = i;
		int32_t c = utf8_next(word, &i);

		TRY(utf8_sight(c) != UTF8_SEEN || c == '\\' || c == '\'' ? add_escape(b, c, (unsigned char)word.p[at], err)
			: buf_add(b, str_of(word.p + at, i - at), err));
	}
	return buf_addc(b, '\'', err);
}

int shellword_add(struct buf *b, struct str word, struct err *err)
{
	if (is_plain(word))
		return buf_add(b, word, err);
	if (!is_seen(word))
		return add_escaped(b, word, err);
	TRY(buf_addc(b, '\'', err));
	for (size_t i = 0; i < word.n; i++)
		TRY(word.p[i] == '\'' ? buf_addz(b, "'\\''", err) : buf_addc(b, word.p[i], err));
	return buf_addc(b, '\'', err);
}
