/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/symbols_priv.h"

#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const struct symbol_lang *lang;
	struct str text;
	size_t at, line_start;
	int32_t line;
	bool first; /* nothing but blanks on this line so far */
	struct tokens *out;
};

void tokens_fini(struct tokens *t)
{
	free(t->p);
	*t = (struct tokens){ 0 };
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

bool symbols_word_ok(struct str word)
{
	if (word.n == 0 || word.n > 200 || isdigit((unsigned char)word.p[0]))
		return false;
	for (size_t i = 0; i < word.n; i++)
		if (!is_name(word.p[i]))
			return false;
	return true;
}

static bool here(const struct reader *r, const char *what)
{
	return what && r->at < r->text.n && r->text.p[r->at] == what[0] && str_starts(str_skip(r->text, r->at), str_from(what));
}

/* Moves on by n bytes and counts the lines in them. */
static void skip(struct reader *r, size_t n)
{
	size_t end = r->at + n > r->text.n ? r->text.n : r->at + n;

	for (const char *nl; (nl = memchr(r->text.p + r->at, '\n', end - r->at)) != NULL;) {
		r->line++;
		r->at = r->line_start = (size_t)(nl - r->text.p) + 1;
		r->first = true;
	}
	r->at = end;
}

/* To the next byte that may mean something in a comment or a string that ends with `close`. */
static void skip_plain(struct reader *r, char close, char other)
{
	size_t n = 0;

	for (; r->at + n < r->text.n; n++) {
		char c = r->text.p[r->at + n];

		if (c == close || c == other || c == '\n')
			break;
	}
	r->at += n;
}

static void add(struct reader *r, enum token_type type, size_t n)
{
	struct tokens *t = r->out;

	if (t->n == t->cap) {
		t->cap = t->cap > 0 ? t->cap * 2 : 1024;
		t->p = mem_grow(t->p, t->cap, sizeof(*t->p));
	}
	t->p[t->n++] = (struct token){ str_of(r->text.p + r->at, n), r->line, (int32_t)(r->at - r->line_start) + 1, type, r->first };
	r->first = false;
}

static void skip_line(struct reader *r)
{
	const char *nl = memchr(r->text.p + r->at, '\n', r->text.n - r->at);

	r->at = nl ? (size_t)(nl - r->text.p) : r->text.n;
}

static void skip_block(struct reader *r)
{
	int depth = 1;

	skip(r, 2);
	while (r->at < r->text.n && depth > 0) {
		skip_plain(r, '*', '/');
		if (here(r, "*/"))
			depth--;
		else if (r->lang->nested && here(r, "/*"))
			depth++;
		else {
			skip(r, 1);
			continue;
		}
		skip(r, 2);
	}
}

/* To the closing word; `escapes`: a backslash hides the byte after it; `lines`: may cross them. */
static void skip_quoted(struct reader *r, const char *close, bool escapes, bool lines)
{
	for (;;) {
		skip_plain(r, close[0], '\\');
		if (r->at >= r->text.n || here(r, close))
			break;
		char c = r->text.p[r->at];

		if (c == '\n' && !lines)
			return;
		skip(r, escapes && c == '\\' && r->at + 1 < r->text.n ? 2 : 1);
	}
	skip(r, strlen(close));
}

/* r"..", r#".."#, R"x(..)x", @"..": true when one was there. */
static bool skip_raw(struct reader *r)
{
	struct str rest = str_skip(r->text, r->at);
	char close[24] = "\"";
	size_t n = 1;

	if (str_starts(rest, STR("@\""))) {
		skip(r, 2);
		skip_quoted(r, "\"", false, true);
		return true;
	}
	if (rest.n < 3 || (rest.p[0] != 'r' && rest.p[0] != 'R'))
		return false;
	while (n < rest.n && n < sizeof(close) - 3 && rest.p[0] == 'r' && rest.p[n] == '#')
		close[n++] = '#';
	if (n >= rest.n || rest.p[n] != '"')
		return false;
	if (rest.p[0] == 'R') {
		size_t open = str_find_any(rest, STR("("));

		if (open > 18 || open >= rest.n)
			return false;
		close[0] = ')';
		memcpy(close + 1, rest.p + 2, open - 2);
		close[open - 1] = '"';
		n = open;
	}
	close[n] = '\0';
	skip(r, n + 1);
	skip_quoted(r, close, false, true);
	return true;
}

/* Where a value cannot stand before it, a slash opens a regular expression. */
static bool regex_may_begin(const struct reader *r)
{
	const struct token *t = r->out->n > 0 ? &r->out->p[r->out->n - 1] : NULL;

	if (!t)
		return true;
	if (t->type == TOKEN_NAME)
		return str_eqz(t->text, "return") || str_eqz(t->text, "typeof") || str_eqz(t->text, "case") || str_eqz(t->text, "if");
	return t->type == TOKEN_MARK && t->text.p[0] != ')' && t->text.p[0] != ']' && t->text.p[0] != '}';
}

static void skip_regex(struct reader *r)
{
	bool class = false;

	for (skip(r, 1); r->at < r->text.n && r->text.p[r->at] != '\n'; skip(r, 1)) {
		char c = r->text.p[r->at];

		if (c == '\\')
			skip(r, 1);
		else if (c == '[' || c == ']')
			class = c == '[';
		else if (c == '/' && !class)
			break;
	}
	skip(r, r->at < r->text.n && r->text.p[r->at] == '/' ? 1 : 0);
}

/* 'x' and '\n' are characters; a lone quote is a lifetime or a digit separator. */
static bool skip_char(struct reader *r)
{
	struct str rest = str_skip(r->text, r->at);
	size_t n = 1;

	if (n < rest.n && rest.p[n] == '\\')
		n++;
	n++;
	while (n < rest.n && n < 12 && rest.p[n] != '\'' && rest.p[n] != '\n' && (rest.p[1] == '\\' || (unsigned char)rest.p[n] >= 0x80))
		n++;
	if (n >= rest.n || rest.p[n] != '\'')
		return false;
	skip(r, n + 1);
	return true;
}

/* True when a string of some kind began here and was passed over. */
static bool take_string(struct reader *r)
{
	static const struct {
		const char *open;
		unsigned needs;
		bool escapes, lines;
	} rows[] = {
		{ "\"\"\"", QUOTE_TRIPLE, true, true }, { "'''", QUOTE_TRIPLE | QUOTE_SINGLE, true, true },
		{ "`", QUOTE_BACK, true, true }, { "\"", QUOTE_DOUBLE, true, false }, { "'", QUOTE_SINGLE, true, false },
	};
	unsigned have = r->lang->quotes;
	size_t from = r->at;

	if ((have & QUOTE_RAW) && skip_raw(r))
		return true;
	if ((have & QUOTE_CHAR) && here(r, "'"))
		return skip_char(r);
	if ((have & QUOTE_REGEX) && here(r, "/") && regex_may_begin(r)) {
		skip_regex(r);
		return true;
	}
	for (size_t i = 0; i < COUNT(rows); i++)
		if ((have & rows[i].needs) == rows[i].needs && here(r, rows[i].open)) {
			skip(r, strlen(rows[i].open));
			skip_quoted(r, rows[i].open, rows[i].escapes, rows[i].lines || (have & QUOTE_LINES));
			return r->at > from;
		}
	return false;
}

static bool take_comment(struct reader *r)
{
	const struct symbol_lang *l = r->lang;
	char before = r->at > 0 ? r->text.p[r->at - 1] : ' ';

	if (l->block && here(r, "/*")) {
		skip_block(r);
		return true;
	}
	for (size_t i = 0; i < COUNT(l->comment); i++)
		/* "$#" and "${#x}" of a shell are no comments */
		if (here(r, l->comment[i]) && (l->style != STYLE_SHELL || isspace((unsigned char)before) || before == ';')) {
			skip_line(r);
			return true;
		}
	return false;
}

static void take_token(struct reader *r)
{
	size_t n = 1;

	if (is_name(r->text.p[r->at])) {
		while (r->at + n < r->text.n && is_name(r->text.p[r->at + n]))
			n++;
		add(r, isdigit((unsigned char)r->text.p[r->at]) ? TOKEN_OTHER : TOKEN_NAME, n);
	} else {
		add(r, TOKEN_MARK, 1);
	}
	r->at += n;
}

void tokens_read(const struct symbol_lang *lang, struct str text, struct tokens *out)
{
	struct reader r = { .lang = lang, .text = text, .line = 1, .first = true, .out = out };

	while (r.at < text.n && out->n < SYMBOLS_TOKENS_MAX) {
		struct reader before = r;

		if (isspace((unsigned char)text.p[r.at])) {
			if (text.p[r.at] == '\n')
				skip(&r, 1);
			else
				r.at++;
			continue;
		}
		if (take_comment(&r))
			continue;
		if (!take_string(&r)) {
			take_token(&r);
			continue;
		}
		add(&before, TOKEN_OTHER, r.at - before.at); /* its place counts, its words do not */
		r.first = r.first && r.line > before.line;
	}
}
