/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/term_priv.h"

#include "sys/file.h"

#include <string.h>

#define COLS_MIN   4
#define LINE_BYTES (64 * 1024) /* of one cleaned line; what is longer is cut and says so */

static const char *const looks[] = {
	[LOOK_PLAIN] = "", [LOOK_DIM] = "\x1b[2m", [LOOK_BOLD] = "\x1b[1m", [LOOK_OK] = "\x1b[32m",
	[LOOK_FAIL] = "\x1b[31m", [LOOK_WARN] = "\x1b[33m", [LOOK_CALL] = "\x1b[36m",
};

static const struct { const char *utf8, *ascii; } glyphs[] = {
	[GLYPH_RUN] = { "\xE2\x97\x8F", "*" },      [GLYPH_CALL] = { "\xE2\x86\x92", "->" },
	[GLYPH_DETAIL] = { "\xE2\x94\x94", "|" },   [GLYPH_COMMIT] = { "\xE2\x9C\x8E", "+" },
	[GLYPH_OK] = { "\xE2\x9C\x93", "ok" },      [GLYPH_FAIL] = { "\xE2\x9C\x97", "FAIL" },
	[GLYPH_MARK] = { "\xE2\x94\x80\xE2\x94\x80", "--" }, [GLYPH_THINK] = { "\xC2\xB7", "." },
	[GLYPH_OPERATOR] = { "\xE2\x9D\xAF", ">" }, [GLYPH_ASK] = { "?", "?" },
};

void term_view_init(struct term_view *t, int fd, struct term_style style, int cols)
{
	*t = (struct term_view){ .fd = fd, .style = style, .cols = cols < 20 ? 20 : cols,
		.out = BUF_MAX(TERM_VIEW_BYTES + 4 * LINE_BYTES) };
}

void term_view_fini(struct term_view *t)
{
	buf_fini(&t->out);
}

int term_view_flush(struct term_view *t, struct err *err)
{
	if (t->fd < 0 || t->out.n == 0)
		return 0;
	int r = file_write_fd(t->fd, buf_str(&t->out), err);

	buf_clear(&t->out);
	return r;
}

static int make_room(struct term_view *t, struct err *err)
{
	return t->out.n > TERM_VIEW_BYTES ? term_view_flush(t, err) : 0;
}

int term_put(struct term_view *t, enum look look, struct str text, struct err *err)
{
	bool colored = t->style.color && look != LOOK_PLAIN && text.n > 0;

	TRY(make_room(t, err));
	TRY(colored ? buf_addz(&t->out, looks[look], err) : 0);
	TRY(buf_add(&t->out, text, err));
	TRY(colored ? buf_addz(&t->out, "\x1b[0m", err) : 0);
	t->mid_line = text.n > 0 ? text.p[text.n - 1] != '\n' : t->mid_line;
	return 0;
}

int term_glyph(struct term_view *t, enum look look, enum glyph g, struct err *err)
{
	TRY(term_put(t, look, str_from(t->style.utf8 ? glyphs[g].utf8 : glyphs[g].ascii), err));
	return term_put(t, LOOK_PLAIN, STR(" "), err);
}

int term_line(struct term_view *t, enum look look, struct str text, int cols, struct err *err)
{
	auto_buf struct buf clean = BUF_MAX(2 * LINE_BYTES);
	struct str head = str_head(text, LINE_BYTES / 8); /* a byte may become eight */
	int width;

	if (cols != 0 && cols < COLS_MIN)
		cols = COLS_MIN;
	TRY(term_clean(head, TERM_LINE, &clean, err));
	struct str s = buf_str(&clean);
	size_t fits = term_fit(s, cols > 0 ? cols : INT_MAX, &width);

	if (fits == s.n && head.n == text.n) {
		TRY(term_put(t, look, s, err));
		return width;
	}
	fits = cols > 0 ? term_fit(s, cols - 3, &width) : s.n;
	TRY(term_put(t, look, str_head(s, fits), err));
	TRY(term_put(t, look, STR("..."), err));
	return width + 3;
}

/* How much of s stands on one line of so many columns: up to a blank, or 0 when its first word is too long. */
static size_t fit_words(struct str s, int cols, int *width)
{
	size_t n = term_fit(s, cols, width);

	if (n == s.n || s.p[n] == ' ')
		return n;
	while (n > 0 && s.p[n - 1] != ' ')
		n--;
	return n;
}

int term_wrap(struct term_view *t, enum look look, struct str text, int used, const char *indent, struct err *err)
{
	auto_buf struct buf clean = BUF_MAX(2 * LINE_BYTES);
	struct str rest, head = str_head(text, LINE_BYTES / 8);
	int width = 0, left = (int)strlen(indent);

	TRY(term_clean(head, TERM_LINE, &clean, err));
	if (head.n < text.n)
		TRY(buf_addz(&clean, "...", err));
	for (rest = buf_str(&clean); rest.n > 0; used = left) {
		size_t n = fit_words(rest, t->cols - used, &width);

		if (n == 0 && used <= left) /* longer than a line */
			n = term_fit(rest, t->cols - used < COLS_MIN ? COLS_MIN : t->cols - used, &width);
		TRY(term_put(t, look, str_trim_suffix(str_head(rest, n), STR(" ")), err));
		rest = str_skip(rest, n);
		while (rest.n > 0 && n > 0 && rest.p[0] == ' ')
			rest = str_skip(rest, 1);
		if (rest.n == 0)
			break;
		TRY(term_newline(t, err));
		TRY(term_put(t, LOOK_PLAIN, str_from(indent), err));
	}
	return used + width;
}

int term_prose(struct term_view *t, enum look look, struct str text, int used, const char *indent, struct err *err)
{
	size_t at = str_find(text, STR("agent6 "));
	bool begins = at < text.n && (at == 0 || str_find(STR(" \"`"), str_of(text.p + at - 1, 1)) < 3);
	struct str command = str_skip(text, begins ? at : text.n);

	if (command.n == 0 || term_width(text) <= t->cols - used)
		return term_wrap(t, look, text, used, indent, err);
	if (at > 0) {
		size_t quote = text.p[at - 1] != ' ';

		command = str_skip(text, at - quote);
		TRY(term_wrap(t, look, str_trim(str_head(text, at - quote)), used, indent, err));
		TRY(term_newline(t, err));
		TRY(term_put(t, LOOK_PLAIN, str_from(indent), err));
	}
	return term_line(t, look, command, 0, err);
}

int term_newline(struct term_view *t, struct err *err)
{
	return term_put(t, LOOK_PLAIN, STR("\n"), err);
}

int term_fresh_line(struct term_view *t, struct err *err)
{
	if (t->mid_line)
		TRY(term_newline(t, err));
	t->thinking = t->open_call = t->held_cr = false;
	return 0;
}

static size_t count_lines(struct str text)
{
	size_t n = 0;

	for (; text.n > 0; n++)
		str_line(&text);
	return n;
}

int term_block(struct term_view *t, enum look look, struct str text, const char *indent, size_t max, struct err *err)
{
	text = str_trim(text);
	size_t n = count_lines(text), skip = max > 0 && n > max ? n - max : 0;

	if (skip > 0) {
		auto_buf struct buf more = BUF_MAX(64);

		TRY(buf_addf(&more, err, "(%zu line%s before)", skip, skip == 1 ? "" : "s"));
		TRY(term_put(t, LOOK_PLAIN, str_from(indent), err));
		TRY(term_put(t, LOOK_DIM, buf_str(&more), err));
		TRY(term_newline(t, err));
	}
	for (size_t i = 0; text.n > 0; i++) {
		struct str line = str_trim_suffix(str_trim_suffix(str_line(&text), STR("\n")), STR("\r"));
		auto_buf struct buf tabs = BUF_MAX(LINE_BYTES);

		if (i < skip)
			continue;
		TRY(term_clean(str_head(line, LINE_BYTES / 8), TERM_TEXT, &tabs, err));
		TRY(term_put(t, LOOK_PLAIN, str_from(indent), err));
		if (max == 0 && line.n > 0 && line.p[0] != ' ' && line.p[0] != '\t') /* prose; what is set in is code or a table */
			TRY(term_prose(t, look, buf_str(&tabs), (int)strlen(indent), indent, err));
		else
			TRY(term_line(t, look, buf_str(&tabs), max > 0 ? t->cols - (int)strlen(indent) : 0, err));
		TRY(term_newline(t, err));
	}
	return 0;
}
