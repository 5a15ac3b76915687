/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/cquote.h"

#include <string.h>

/* The letter after the backslash and the byte it stands for. */
static const struct {
	char letter, byte;
} escapes[] = {
	{ 'a', '\a' }, { 'b', '\b' }, { 't', '\t' }, { 'n', '\n' }, { 'v', '\v' },
	{ 'f', '\f' }, { 'r', '\r' }, { '"', '"' },  { '\\', '\\' },
};

/* Bidirectional overrides reorder what a person reads; they count as controls. */
static bool is_control(int32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

bool cquote_needed(struct str name)
{
	if (name.n > 0 && name.p[0] == '"')
		return true;
	for (size_t i = 0; i < name.n;)
		if (is_control(utf8_next(name, &i))) /* -1, not UTF-8, is below 0x20 too */
			return true;
	return false;
}

static int add_byte(struct buf *out, char byte, struct err *err)
{
	for (size_t i = 0; i < COUNT(escapes); i++)
		if (escapes[i].byte == byte)
			return buf_addf(out, err, "\\%c", escapes[i].letter);
	return buf_addf(out, err, "\\%03o", (unsigned)(unsigned char)byte);
}

int cquote_add(struct buf *out, struct str name, struct err *err)
{
	if (!cquote_needed(name))
		return buf_add(out, name, err);
	TRY(buf_addc(out, '"', err));
	for (size_t i = 0; i < name.n;) {
		size_t at = i;
		int32_t c = utf8_next(name, &i);

		if (!is_control(c) && c != '"' && c != '\\') {
			TRY(buf_add(out, str_of(name.p + at, i - at), err));
			continue;
		}
		for (; at < i; at++)
			TRY(add_byte(out, name.p[at], err));
	}
	return buf_addc(out, '"', err);
}

struct str cquote_dup(struct arena *mem, struct str name)
{
	auto_buf struct buf text = BUF_MAX(name.n * 4 + 2);

	BUG_IF(cquote_add(&text, name, ERR_DISCARD) < 0);
	return str_dup(mem, buf_str(&text));
}

static int read_octal(struct str s, size_t *i, char *out, struct err *err)
{
	int v = 0;

	for (size_t k = 0; k < 3; k++, (*i)++) {
		if (*i >= s.n || s.p[*i] < '0' || s.p[*i] > '7')
			return err_set(err, ERR_SYNTAX, "a backslash and digits in a quoted name mean three octal digits");
		v = v * 8 + (s.p[*i] - '0');
	}
	if (v == 0 || v > 255)
		return err_set(err, ERR_SYNTAX, "\\%03o in a quoted name is not a byte of a name", (unsigned)v);
	*out = (char)v;
	return 0;
}

static int read_escape(struct str s, size_t *i, char *out, struct err *err)
{
	if (*i < s.n && s.p[*i] >= '0' && s.p[*i] <= '7')
		return read_octal(s, i, out, err);
	for (size_t k = 0; *i < s.n && k < COUNT(escapes); k++)
		if (escapes[k].letter == s.p[*i]) {
			*out = escapes[k].byte;
			(*i)++;
			return 0;
		}
	return err_set(err, ERR_SYNTAX, "a backslash in a quoted name needs one of a b t n v f r \" \\ or octal digits");
}

int cquote_take(struct str *text, struct arena *mem, struct str *out, struct err *err)
{
	struct str s = *text;
	char *name = arena_alloc(mem, s.n + 1);
	size_t n = 0;

	if (s.n == 0 || s.p[0] != '"')
		return err_set(err, ERR_SYNTAX, "a quoted name starts with \"");
	for (size_t i = 1; i < s.n;) {
		char c = s.p[i++];

		if (c == '"') {
			*out = str_of(name, n);
			*text = str_skip(s, i);
			return 0;
		}
		if (c == '\\')
			TRY(read_escape(s, &i, &c, err));
		name[n++] = c;
	}
	return err_set(err, ERR_SYNTAX, "the quoted name " STR_FMT " has no closing quote", STR_ARG(str_head(s, 100)));
}

int cquote_read(struct str text, struct arena *mem, struct str *out, struct err *err)
{
	struct str rest = text, name;

	if (text.n == 0 || text.p[0] != '"') {
		*out = str_dup(mem, text);
		return 0;
	}
	TRY(cquote_take(&rest, mem, &name, err));
	if (rest.n > 0)
		return err_set(err, ERR_SYNTAX, "text after the closing quote of the name " STR_FMT,
			STR_ARG(str_head(text, 100)));
	*out = name;
	return 0;
}
