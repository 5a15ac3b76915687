/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/jsonr.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void jsonr_init(struct jsonr *r, struct str text, size_t string_max, struct arena *mem, struct err *err)
{
	r->text = text;
	r->at = 0;
	r->depth = 0;
	r->failed = 0;
	r->string_max = string_max;
	r->mem = mem;
	r->err = err;
}

int jsonr_fail(struct jsonr *r, enum err_code code, const char *fmt, ...)
{
	char msg[512];
	int line = 1, col = 1;
	va_list ap;

	if (r->failed < 0)
		return r->failed;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < r->at && i < r->text.n; i++) {
		bool nl = r->text.p[i] == '\n';

		line += nl;
		col = nl ? 1 : col + 1;
	}
	r->failed = err_set(r->err, code, "%d:%d: %s", line, col, msg);
	return r->failed;
}

static int peek(struct jsonr *r)
{
	while (r->at < r->text.n && r->text.p[r->at] != '\0' && strchr(" \t\r\n", r->text.p[r->at]))
		r->at++;
	return r->at < r->text.n ? (unsigned char)r->text.p[r->at] : -1;
}

static int expect(struct jsonr *r, char c)
{
	if (r->failed < 0)
		return r->failed;
	if (peek(r) != c)
		return jsonr_fail(r, ERR_SYNTAX, "expected '%c'", c);
	r->at++;
	return 0;
}

static const char *word_of(int c)
{
	return c == '{'			    ? "an object"
		: c == '['		    ? "a list"
		: c == '"'		    ? "a string"
		: c == 't' || c == 'f'	    ? "true or false"
		: c == 'n'		    ? "null"
		: c == '-' || (c >= '0' && c <= '9') ? "a number"
						     : "something that is not JSON";
}

/* Another kind of value is a wrong type; no value at all is a syntax error. */
static int want(struct jsonr *r, const char *first, const char *word)
{
	int c;

	if (r->failed < 0)
		return r->failed;
	c = peek(r);
	if (c < 0)
		return jsonr_fail(r, ERR_SYNTAX, "the text ends where %s was expected", word);
	if (c == 0 || !strchr(first, c))
		return jsonr_fail(r, strchr("{[\"tfn-0123456789", c) && c ? ERR_INVALID : ERR_SYNTAX,
			"expected %s, got %s", word, word_of(c));
	return 0;
}

static int enter(struct jsonr *r, bool object)
{
	TRY(want(r, object ? "{" : "[", object ? "an object" : "a list"));
	if (r->depth == JSONR_DEPTH)
		return jsonr_fail(r, ERR_LIMIT, "nested deeper than %d levels", JSONR_DEPTH);
	r->at++;
	r->level[r->depth].object = object;
	r->level[r->depth].first = true;
	r->level[r->depth].nkeys = 0;
	r->depth++;
	return 0;
}

int jsonr_object(struct jsonr *r)
{
	return enter(r, true);
}

int jsonr_array(struct jsonr *r)
{
	return enter(r, false);
}

/* 1: another member follows; 0: the level is closed. */
static int more(struct jsonr *r, char close)
{
	struct jsonr_level *l;

	if (r->failed < 0)
		return r->failed;
	BUG_IF(r->depth == 0 || r->level[r->depth - 1].object != (close == '}'));
	l = &r->level[r->depth - 1];
	if (peek(r) == close) {
		r->at++;
		r->depth--;
		return 0;
	}
	if (!l->first)
		TRY(expect(r, ','));
	l->first = false;
	return 1;
}

int jsonr_item(struct jsonr *r)
{
	return more(r, ']');
}

int jsonr_key(struct jsonr *r, struct str *key)
{
	struct jsonr_level *l;
	size_t keep = r->string_max;
	int m = more(r, '}');

	if (m <= 0)
		return m;
	l = &r->level[r->depth - 1];
	r->string_max = JSONR_KEY_MAX;
	int got = jsonr_string(r, key);
	r->string_max = keep;
	TRY(got);
	TRY(expect(r, ':'));
	for (size_t i = 0; i < l->nkeys; i++)
		if (str_eq(l->keys[i], *key))
			return jsonr_fail(r, ERR_SYNTAX, "\"" STR_FMT "\" is there twice", STR_ARG(*key));
	if (l->nkeys == JSONR_KEYS_MAX)
		return jsonr_fail(r, ERR_LIMIT, "more than %d members", JSONR_KEYS_MAX);
	l->keys[l->nkeys++] = *key;
	return 1;
}

static int hex4(struct jsonr *r, uint32_t *out)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++) {
		char c = r->at < r->text.n ? r->text.p[r->at] : 0;
		uint32_t d = c >= '0' && c <= '9' ? (uint32_t)(c - '0')
			: c >= 'a' && c <= 'f'	  ? (uint32_t)(c - 'a' + 10)
			: c >= 'A' && c <= 'F'	  ? (uint32_t)(c - 'A' + 10)
						  : 16;
		if (d == 16)
			return jsonr_fail(r, ERR_SYNTAX, "\\u wants four hexadecimal digits");
		v = v << 4 | d;
		r->at++;
	}
	*out = v;
	return 0;
}

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

static int unicode_escape(struct jsonr *r, char *to, size_t *n)
{
	uint32_t c, low;

	TRY(hex4(r, &c));
	if (c == 0)
		return jsonr_fail(r, ERR_SYNTAX, "U+0000 is not allowed in a string");
	if (c >= 0xdc00 && c <= 0xdfff)
		return jsonr_fail(r, ERR_SYNTAX, "half of a surrogate pair");
	if (c >= 0xd800 && c <= 0xdbff) {
		if (!str_starts(str_skip(r->text, r->at), STR("\\u")))
			return jsonr_fail(r, ERR_SYNTAX, "half of a surrogate pair");
		r->at += 2;
		TRY(hex4(r, &low));
		if (low < 0xdc00 || low > 0xdfff)
			return jsonr_fail(r, ERR_SYNTAX, "half of a surrogate pair");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	*n = put_utf8(to, c);
	return 0;
}

static int escape(struct jsonr *r, char *to, size_t *n)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	char c = r->at < r->text.n ? r->text.p[r->at] : 0;
	const char *hit = c ? strchr(from, c) : NULL;

	r->at++;
	if (c == 'u')
		return unicode_escape(r, to, n);
	if (!hit)
		return jsonr_fail(r, ERR_SYNTAX, "unknown escape in a string");
	to[0] = into[hit - from];
	*n = 1;
	return 0;
}

/* Where the closing quote is, so that one allocation is enough: unescaping never makes it longer. */
static int string_end(struct jsonr *r, size_t *end)
{
	for (size_t i = r->at; i < r->text.n; i++) {
		if (r->text.p[i] == '"') {
			*end = i;
			return 0;
		}
		if ((unsigned char)r->text.p[i] < 0x20)
			return jsonr_fail(r, ERR_SYNTAX, "a control character inside a string");
		i += r->text.p[i] == '\\';
	}
	return jsonr_fail(r, ERR_SYNTAX, "a string is not closed");
}

int jsonr_string(struct jsonr *r, struct str *out)
{
	size_t end = 0, n = 0, k = 0;
	char *to;

	TRY(want(r, "\"", "a string"));
	r->at++;
	TRY(string_end(r, &end));
	if (end - r->at > r->string_max)
		return jsonr_fail(r, ERR_LIMIT, "a string longer than %zu bytes", r->string_max);
	to = arena_alloc(r->mem, end - r->at + 1);
	while (r->at < end) {
		if (r->text.p[r->at] != '\\') {
			to[n++] = r->text.p[r->at++];
			continue;
		}
		r->at++;
		TRY(escape(r, to + n, &k));
		n += k;
	}
	r->at = end + 1;
	to[n] = '\0';
	if (!utf8_valid(str_of(to, n)))
		return jsonr_fail(r, ERR_SYNTAX, "a string that is not valid UTF-8");
	*out = str_of(to, n);
	return 0;
}

/* The grammar of RFC 8259, section 6; whole says that only an integer will do. */
static int number_text(struct jsonr *r, bool whole, struct str *out)
{
	size_t from, digits;

	TRY(want(r, "-0123456789", "a number"));
	from = r->at;
	const char *p = r->text.p;
	size_t i = r->at, n = r->text.n;

	i += p[i] == '-';
	for (digits = i; i < n && p[i] >= '0' && p[i] <= '9'; i++)
		;
	if (i == digits || (p[digits] == '0' && i - digits > 1))
		return jsonr_fail(r, ERR_SYNTAX, "not a number as JSON writes them");
	if (i < n && p[i] == '.') {
		for (digits = ++i; i < n && p[i] >= '0' && p[i] <= '9'; i++)
			;
		if (i == digits)
			return jsonr_fail(r, ERR_SYNTAX, "a number ends after its point");
		if (whole)
			return jsonr_fail(r, ERR_INVALID, "expected a whole number");
	}
	if (i < n && (p[i] == 'e' || p[i] == 'E')) {
		i++;
		i += i < n && (p[i] == '+' || p[i] == '-');
		for (digits = i; i < n && p[i] >= '0' && p[i] <= '9'; i++)
			;
		if (i == digits)
			return jsonr_fail(r, ERR_SYNTAX, "a number ends after its exponent");
		if (whole)
			return jsonr_fail(r, ERR_INVALID, "expected a whole number without exponent");
	}
	r->at = i;
	*out = str_of(p + from, i - from);
	return 0;
}

int jsonr_int(struct jsonr *r, int64_t *out)
{
	struct str text = { 0 };
	int64_t v = 0;

	TRY(number_text(r, true, &text));
	if (str_to_i64(text, &v, ERR_DISCARD) < 0)
		return jsonr_fail(r, ERR_INVALID, "a number out of range");
	*out = v;
	return 0;
}

int jsonr_num(struct jsonr *r, double *out)
{
	struct str text = { 0 };
	double v = 0;

	TRY(number_text(r, false, &text));
	if (str_to_f64(text, &v, ERR_DISCARD) < 0 || !isfinite(v))
		return jsonr_fail(r, ERR_INVALID, "a number out of range");
	*out = v;
	return 0;
}

int jsonr_bool(struct jsonr *r, bool *out)
{
	TRY(want(r, "tf", "true or false"));
	struct str rest = str_skip(r->text, r->at);
	bool yes = str_starts(rest, STR("true"));

	if (!yes && !str_starts(rest, STR("false")))
		return jsonr_fail(r, ERR_SYNTAX, "expected true or false");
	r->at += yes ? 4 : 5;
	*out = yes;
	return 0;
}

int jsonr_end(struct jsonr *r)
{
	if (r->failed < 0)
		return r->failed;
	if (peek(r) >= 0)
		return jsonr_fail(r, ERR_SYNTAX, "something follows the document");
	return 0;
}

static int quote_one(struct buf *b, char c, struct err *err)
{
	static const char from[] = "\"\\\b\f\n\r\t", into[] = "\"\\bfnrt";
	const char *hit = c ? strchr(from, c) : NULL;

	if (hit) {
		char two[2] = { '\\', into[hit - from] };

		return buf_add(b, str_of(two, 2), err);
	}
	return buf_addf(b, err, "\\u%04x", (unsigned)(unsigned char)c);
}

int jsonw_quoted(struct buf *b, struct str s, struct err *err)
{
	size_t from = 0, i = 0;

	TRY(buf_addc(b, '"', err));
	while (i < s.n) {
		size_t at = i;
		int32_t c = utf8_next(s, &i);
		bool plain = c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;

		if (plain)
			continue;
		TRY(buf_add(b, str_of(s.p + from, at - from), err));
		from = i;
		if (c < 0)
			TRY(buf_addz(b, "\xef\xbf\xbd", err));
		else
			TRY(quote_one(b, (char)c, err));
	}
	TRY(buf_add(b, str_of(s.p + from, s.n - from), err));
	return buf_addc(b, '"', err);
}
