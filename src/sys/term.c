/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/term.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TAB_STOP 8

static int add_visible(struct buf *out, int32_t c, struct err *err)
{
	switch (c) {
	case '\n':
		return buf_addz(out, "\\n", err);
	case '\r':
		return buf_addz(out, "\\r", err);
	case '\t':
		return buf_addz(out, "\\t", err);
	default:
		return buf_addf(out, err, c < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)c);
	}
}

/* What stands for c inside a JSON string and is white space outside of one. */
static int add_json(struct buf *out, int32_t c, struct err *err)
{
	if (c == '\n' || c == '\t' || c == '\r')
		return buf_addc(out, c == '\n' ? '\n' : ' ', err);
	if (c < 0)
		return buf_addz(out, "\\ufffd", err);
	if (c > 0xFFFF)
		TRY(buf_addf(out, err, "\\u%04x", 0xD800u + (((unsigned)c - 0x10000) >> 10)));
	return buf_addf(out, err, "\\u%04x", c > 0xFFFF ? 0xDC00u + ((unsigned)c & 0x3FF) : (unsigned)c);
}

static int add_tab(struct buf *out, size_t line_start, struct err *err)
{
	int at = term_width(str_skip(buf_str(out), line_start));

	do
		TRY(buf_addc(out, ' ', err));
	while (++at % TAB_STOP != 0);
	return 0;
}

static int clean(struct str in, enum term_keep keep, struct buf *out, struct err *err)
{
	size_t line_start = out->n, plain = 0;

	for (size_t i = 0; i < in.n;) {
		size_t at = i;
		int32_t c = utf8_next(in, &i);

		if (c >= 0 && utf8_sight(c) != UTF8_HIDDEN)
			continue;
		/* What stood before it is copied in one piece. */
		TRY(buf_add(out, str_of(in.p + plain, at - plain), err));
		plain = i;
		if (keep == TERM_JSON) {
			TRY(add_json(out, c, err));
		} else if (c < 0) {
			TRY(buf_addf(out, err, "\\x%02x", (unsigned char)in.p[at]));
		} else if (keep == TERM_TEXT && c == '\n') {
			TRY(buf_addc(out, '\n', err));
			line_start = out->n;
		} else if (keep == TERM_TEXT && c == '\t') {
			TRY(add_tab(out, line_start, err));
		} else if (!(keep == TERM_TEXT && c == '\r' && i < in.n && in.p[i] == '\n')) {
			TRY(add_visible(out, c, err));
		}
	}
	return buf_add(out, str_skip(in, plain), err);
}

int term_clean(struct str in, enum term_keep keep, struct buf *out, struct err *err)
{
	size_t before = out->n;
	int r = clean(in, keep, out, err);

	if (r < 0)
		buf_shrink(out, before);
	return r;
}

static bool is_set(const char *name)
{
	const char *v = getenv(name);

	return v && *v;
}

static bool locale_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" }; /* the first that is set decides */

	for (size_t i = 0; i < COUNT(names); i++)
		if (is_set(names[i]))
			return strcasestr(getenv(names[i]), "utf-8") || strcasestr(getenv(names[i]), "utf8");
	return false;
}

bool term_env_flag(const char *name)
{
	const char *v = getenv(name);

	return v && *v && strcmp(v, "0") != 0 && strcmp(v, "false") != 0 && strcmp(v, "no") != 0;
}

struct term_style term_style_env(void)
{
	const char *term = getenv("TERM");
	bool dumb = !term || !*term || strcmp(term, "dumb") == 0;

	return (struct term_style){ .color = !dumb && !is_set("NO_COLOR"), .utf8 = locale_is_utf8(),
		.root = geteuid() == 0 && !term_env_flag("AGENT6_ALLOW_ROOT") };
}

size_t term_style_words(struct term_style style, struct str out[TERM_WORDS_MAX])
{
	size_t n = 0;

	if (style.color)
		out[n++] = STR("color");
	if (style.utf8)
		out[n++] = STR("utf8");
	if (style.root)
		out[n++] = STR("root");
	return n;
}

struct term_style term_style_from(const struct str *words, size_t n)
{
	struct term_style style = { 0 };

	for (size_t i = 0; i < n; i++) {
		style.color = style.color || str_eqz(words[i], "color");
		style.utf8 = style.utf8 || str_eqz(words[i], "utf8");
		style.root = style.root || str_eqz(words[i], "root");
	}
	return style;
}

int term_columns(int fd)
{
	struct winsize ws = { 0 };

	return ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0 ? ws.ws_col : 80;
}

bool term_is_tty(int fd)
{
	return isatty(fd) == 1;
}
