/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/gitconfig.h"

#include <string.h>

#define NAME_BYTES  4096
#define VALUE_BYTES ((size_t)1 << 20)

struct gitconfig gitconfig_from(struct str bytes)
{
	return (struct gitconfig){ .rest = str_trim_prefix(bytes, STR("\xEF\xBB\xBF")), .section = BUF_MAX(NAME_BYTES),
		.sub = BUF_MAX(NAME_BYTES), .key = BUF_MAX(NAME_BYTES), .value = BUF_MAX(VALUE_BYTES) };
}

void gitconfig_fini(struct gitconfig *c)
{
	buf_fini(&c->section);
	buf_fini(&c->sub);
	buf_fini(&c->key);
	buf_fini(&c->value);
}

/* CR LF is LF, and so is the end. */
static int next_char(struct gitconfig *c)
{
	if (str_starts(c->rest, STR("\r\n")))
		c->rest = str_skip(c->rest, 1);
	if (c->rest.n == 0)
		return '\n';
	unsigned char ch = (unsigned char)c->rest.p[0];

	c->rest = str_skip(c->rest, 1);
	return ch;
}

static bool is_letter(int ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

static bool is_of_name(int ch)
{
	return is_letter(ch) || (ch >= '0' && ch <= '9') || ch == '-';
}

static bool is_blank(int ch)
{
	return ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r';
}

static int add(struct buf *b, int ch)
{
	return ch == '\0' || buf_addc(b, (char)ch, ERR_DISCARD) < 0 ? -1 : 0;
}

static int add_small(struct buf *b, int ch)
{
	return add(b, ch >= 'A' && ch <= 'Z' ? ch - 'A' + 'a' : ch);
}

/* Behind the blank that ends the section's name: "SUB"] */
static int read_sub(struct gitconfig *c, int ch)
{
	while (is_blank(ch) && ch != '\n')
		ch = next_char(c);
	if (ch != '"')
		return -1;
	c->has_sub = true;
	while ((ch = next_char(c)) != '"') {
		if (ch == '\\')
			ch = next_char(c);
		if (ch == '\n' || add(&c->sub, ch) < 0)
			return -1;
	}
	return next_char(c) == ']' ? 0 : -1;
}

/* [a.b] is the old way to write [a "b"]; what has both, and what has no name at all, is git's to say. */
static int split_old(struct gitconfig *c)
{
	struct str name = buf_str(&c->section);
	size_t dot = str_find(name, STR("."));

	if (dot == name.n)
		return name.n == 0 && !c->has_sub ? -1 : 0;
	if (c->has_sub || buf_add(&c->sub, str_skip(name, dot + 1), ERR_DISCARD) < 0)
		return -1;
	c->has_sub = true;
	c->section.n = dot;
	return 0;
}

static int read_section(struct gitconfig *c)
{
	int ch;

	buf_clear(&c->section);
	buf_clear(&c->sub);
	c->in_section = true;
	c->has_sub = false;
	while ((ch = next_char(c)) != ']') {
		if (is_blank(ch))
			return read_sub(c, ch) < 0 ? -1 : split_old(c);
		if ((!is_of_name(ch) && ch != '.') || add_small(&c->section, ch) < 0)
			return -1;
	}
	return split_old(c);
}

static int read_escaped(struct gitconfig *c)
{
	static const char from[] = "tbn\\\"", to[] = "\t\b\n\\\"";
	int ch = next_char(c);
	const char *at = ch > 0 ? strchr(from, ch) : NULL;

	return ch == '\n' ? 0 : at ? add(&c->value, to[at - from]) : -1;
}

/* To the end of the line, or of the one that is its continuation. */
static int read_value(struct gitconfig *c)
{
	bool quoted = false, comment = false;
	size_t end = 0; /* of what is no blank */

	for (;;) {
		int ch = next_char(c);

		if (ch == '\n') {
			c->value.n = end;
			return quoted ? -1 : 0;
		}
		comment = comment || (!quoted && (ch == '#' || ch == ';'));
		if (comment)
			continue;
		if (is_blank(ch) && !quoted) {
			if (c->value.n > 0 && add(&c->value, ch) < 0)
				return -1;
			continue;
		}
		if (ch == '"')
			quoted = !quoted;
		else if ((ch == '\\' ? read_escaped(c) : add(&c->value, ch)) < 0)
			return -1;
		end = c->value.n;
	}
}

static int read_setting(struct gitconfig *c, int ch)
{
	buf_clear(&c->key);
	buf_clear(&c->value);
	for (; is_of_name(ch); ch = next_char(c))
		if (add_small(&c->key, ch) < 0)
			return -1;
	while (ch == ' ' || ch == '\t')
		ch = next_char(c);
	if (ch != '\n' && (ch != '=' || read_value(c) < 0))
		return -1;
	return 1;
}

int gitconfig_next(struct gitconfig *c)
{
	bool comment = false;

	while (c->rest.n > 0) {
		int ch = next_char(c);

		comment = ch != '\n' && (comment || ch == '#' || ch == ';');
		if (comment || is_blank(ch))
			continue;
		if (ch != '[')
			return c->in_section && is_letter(ch) ? read_setting(c, ch) : -1;
		if (read_section(c) < 0)
			return -1;
	}
	return 0;
}

bool gitconfig_is(const struct gitconfig *c, const char *section, const char *key)
{
	return !c->has_sub && str_eqz(buf_str(&c->section), section) && str_eqz(buf_str(&c->key), key);
}
