/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/toml_priv.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

bool toml_is_bare(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

bool toml_is_control(char c)
{
	return ((unsigned char)c < ' ' && c != '\t') || c == 0x7f;
}

/* ------------------------------------------------------------------ strings */

static int add_code_point(struct buf *b, uint32_t cp, struct err *err)
{
	char c[4];

	if (cp < 0x80)
		return buf_addc(b, (char)cp, err);
	if (cp < 0x800) {
		c[0] = (char)(0xc0 | cp >> 6);
		c[1] = (char)(0x80 | (cp & 0x3f));
		return buf_add(b, str_of(c, 2), err);
	}
	if (cp < 0x10000) {
		c[0] = (char)(0xe0 | cp >> 12);
		c[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		c[2] = (char)(0x80 | (cp & 0x3f));
		return buf_add(b, str_of(c, 3), err);
	}
	c[0] = (char)(0xf0 | cp >> 18);
	c[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	c[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	c[3] = (char)(0x80 | (cp & 0x3f));
	return buf_add(b, str_of(c, 4), err);
}

static int read_code_point(struct toml_parser *p, size_t at, size_t digits, struct buf *out)
{
	uint32_t cp = 0;

	for (size_t k = 0; k < digits; k++, p->i++) {
		unsigned char c = (unsigned char)toml_peek(p);

		if (!isxdigit(c))
			return toml_fail(p, at, "\\%c needs %zu hexadecimal digits", p->s.p[at + 1], digits);
		cp = cp << 4 | (uint32_t)(isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return toml_fail(p, at, "\\%c%0*X is not a character", p->s.p[at + 1], (int)digits, cp);
	return add_code_point(out, cp, p->err);
}

/* After a backslash that ends a line: on to the next byte that is no white space. */
static bool skip_line_end(struct toml_parser *p)
{
	size_t i = p->i;

	while (i < p->s.n && (p->s.p[i] == ' ' || p->s.p[i] == '\t'))
		i++;
	if (i == p->s.n || (p->s.p[i] != '\n' && !str_starts(str_skip(p->s, i), STR("\r\n"))))
		return false;
	while (i < p->s.n && strchr(" \t\n\r", p->s.p[i]) && p->s.p[i] != '\0') {
		if (p->s.p[i] == '\r' && !str_starts(str_skip(p->s, i), STR("\r\n")))
			break; /* a bare CR is for the caller to refuse */
		i++;
	}
	p->i = i;
	return true;
}

static int read_escape(struct toml_parser *p, bool lines, struct buf *out)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	size_t at = p->i++;
	char c = toml_peek(p);
	const char *known = c != '\0' ? strchr(from, c) : NULL;

	if (lines && skip_line_end(p))
		return 0;
	p->i++;
	if (known)
		return buf_addc(out, to[known - from], p->err);
	if (c == 'u' || c == 'U')
		return read_code_point(p, at, c == 'u' ? 4 : 8, out);
	if (isgraph((unsigned char)c))
		toml_fail(p, at, "\\%c is not an escape", c);
	else
		toml_fail(p, at, "a backslash must start an escape such as \\n or \\\\");
	err_hint(p->err, "write \\\\ for a backslash, or put the text in '...'");
	return -ERR_SYNTAX;
}

/* How many of the same quote stand at i, at most five: two of the content and three of the end. */
static size_t quotes_at(const struct toml_parser *p, char quote)
{
	size_t n = 0;

	while (n < 5 && p->i + n < p->s.n && p->s.p[p->i + n] == quote)
		n++;
	return n;
}

static int refuse_control(struct toml_parser *p)
{
	unsigned char c = (unsigned char)toml_peek(p);

	if (c == '\r')
		return toml_fail(p, p->i, "a carriage return must be followed by a line feed");
	return toml_fail(p, p->i, "control character 0x%02x in a string; it is written \\u%04X", c, c);
}

static int read_lines(struct toml_parser *p, size_t start, struct buf *out)
{
	char quote = p->s.p[start];

	if (str_starts(str_skip(p->s, p->i), STR("\r\n")))
		p->i++;
	if (toml_peek(p) == '\n')
		p->i++;
	while (p->i < p->s.n) {
		char c = toml_peek(p);
		size_t run = quotes_at(p, quote);

		if (run >= 3) {
			p->i += run;
			return buf_add(out, str_of(quote == '"' ? "\"\"" : "''", run - 3), p->err);
		}
		if (c == '\\' && quote == '"') {
			TRY(read_escape(p, true, out));
			continue;
		}
		if (str_starts(str_skip(p->s, p->i), STR("\r\n")))
			c = '\n', p->i++;
		if (toml_is_control(c) && c != '\n')
			return refuse_control(p);
		TRY(buf_addc(out, c, p->err));
		p->i++;
	}
	return toml_fail(p, start, "the string that starts here is not closed with three quotes");
}

static int read_line(struct toml_parser *p, size_t start, struct buf *out)
{
	char quote = p->s.p[start];

	while (p->i < p->s.n) {
		char c = toml_peek(p);

		if (c == quote) {
			p->i++;
			return 0;
		}
		if (c == '\n' || c == '\r')
			break;
		if (c == '\\' && quote == '"') {
			TRY(read_escape(p, false, out));
			continue;
		}
		if (toml_is_control(c))
			return refuse_control(p);
		TRY(buf_addc(out, c, p->err));
		p->i++;
	}
	return toml_fail(p, start, "the string that starts here is not closed on its line");
}

/* A string on one line without escapes needs no second copy; a key in secrets.toml is one. */
static bool read_plain(struct toml_parser *p, struct str *out)
{
	char quote = toml_peek(p);
	size_t end = p->i + 1;

	while (end < p->s.n && p->s.p[end] != quote && p->s.p[end] != '\\' && !toml_is_control(p->s.p[end]))
		end++;
	if (end == p->s.n || p->s.p[end] != quote)
		return false;
	*out = str_dup(p->mem, str_of(p->s.p + p->i + 1, end - p->i - 1));
	p->i = end + 1;
	return true;
}

int toml_read_string(struct toml_parser *p, bool lines, struct str *out)
{
	auto_buf struct buf text = BUF_MAX(TOML_MAX);
	size_t start = p->i;
	bool triple = quotes_at(p, p->s.p[start]) >= 3;

	if (triple && !lines)
		return toml_fail(p, start, "a key cannot stand in three quotes");
	if (!triple && read_plain(p, out))
		return 0;
	p->i += triple ? 3 : 1;
	TRY(triple ? read_lines(p, start, &text) : read_line(p, start, &text));
	*out = str_dup(p->mem, buf_str(&text));
	return 0;
}

/* ------------------------------------------------------------------ dates and times */

static bool is_digits(struct str s, size_t at, size_t n)
{
	for (size_t i = at; i < at + n; i++)
		if (i >= s.n || !isdigit((unsigned char)s.p[i]))
			return false;
	return true;
}

static int number_at(struct str s, size_t at, size_t n)
{
	int v = 0;

	for (size_t i = at; i < at + n; i++)
		v = v * 10 + (s.p[i] - '0');
	return v;
}

static bool date_is_right(struct str s)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	if (s.n != 10 || !is_digits(s, 0, 4) || s.p[4] != '-' || !is_digits(s, 5, 2) || s.p[7] != '-' ||
		!is_digits(s, 8, 2))
		return false;
	int year = number_at(s, 0, 4), month = number_at(s, 5, 2), day = number_at(s, 8, 2);
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

static bool time_is_right(struct str s)
{
	if (s.n < 8 || !is_digits(s, 0, 2) || s.p[2] != ':' || !is_digits(s, 3, 2) || s.p[5] != ':' ||
		!is_digits(s, 6, 2))
		return false;
	if (s.n > 8 && (s.p[8] != '.' || s.n == 9 || !is_digits(s, 9, s.n - 9)))
		return false;
	return number_at(s, 0, 2) <= 23 && number_at(s, 3, 2) <= 59 && number_at(s, 6, 2) <= 60;
}

/* Cuts the offset off the end of a date and time. */
static bool cut_offset(struct str *s, bool *has_offset)
{
	struct str tail = str_tail(*s, 6);

	*has_offset = true;
	if (str_ends(*s, STR("Z")) || str_ends(*s, STR("z"))) {
		s->n--;
		return true;
	}
	if (tail.n == 6 && (tail.p[0] == '+' || tail.p[0] == '-')) {
		s->n -= 6;
		return is_digits(tail, 1, 2) && tail.p[3] == ':' && is_digits(tail, 4, 2) &&
		       number_at(tail, 1, 2) <= 23 && number_at(tail, 4, 2) <= 59;
	}
	*has_offset = false;
	return true;
}

static bool moment_is_right(struct str s, enum toml_kind *kind)
{
	bool has_offset;

	if (s.n > 2 && s.p[2] == ':') {
		*kind = TOML_LOCAL_TIME;
		return time_is_right(s);
	}
	if (s.n <= 10) {
		*kind = TOML_LOCAL_DATE;
		return date_is_right(s);
	}
	if (!strchr("Tt ", s.p[10]) || !cut_offset(&s, &has_offset))
		return false;
	*kind = has_offset ? TOML_DATETIME : TOML_LOCAL_DATETIME;
	return date_is_right(str_head(s, 10)) && time_is_right(str_skip(s, 11));
}

/* ------------------------------------------------------------------ numbers */

/* The readers below return this, without a message, for a word that is no number at all. */
#define NO_NUMBER 1

/* The digits of s in this base without their underscores, each of which stands between two digits. */
static bool strip(struct str s, int base, struct buf *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < s.n; i++) {
		const char *d = memchr(digits, tolower((unsigned char)s.p[i]), (size_t)base);

		if (s.p[i] == '_' && i > 0 && i + 1 < s.n && s.p[i - 1] != '_')
			continue;
		if (!d || buf_addc(out, *d, ERR_DISCARD) < 0)
			return false;
	}
	return s.n > 0;
}

static bool is_leading_zero(struct str digits)
{
	return digits.n > 1 && digits.p[0] == '0';
}

static int read_integer(struct toml_parser *p, struct str s, int base, bool minus, struct toml *out)
{
	auto_buf struct buf digits = BUF_MAX(TOML_MAX);
	int64_t v = 0;

	if (!strip(s, base, &digits) || (base == 10 && is_leading_zero(buf_str(&digits))))
		return NO_NUMBER;
	for (size_t i = 0; i < digits.n; i++) {
		int d = isdigit((unsigned char)digits.p[i]) ? digits.p[i] - '0' : digits.p[i] - 'a' + 10;

		if (__builtin_mul_overflow(v, base, &v) || __builtin_sub_overflow(v, d, &v))
			return toml_fail(p, out->at, "the number does not fit 64 bits");
	}
	if (!minus && __builtin_sub_overflow(0, v, &v))
		return toml_fail(p, out->at, "the number does not fit 64 bits");
	out->kind = TOML_INTEGER;
	out->integer = v;
	return 0;
}

static int read_float(struct toml_parser *p, struct str s, bool minus, struct toml *out)
{
	auto_buf struct buf text = BUF_MAX(TOML_MAX + 8);
	struct str mantissa = str_head(s, str_find_any(s, STR("eE")));
	struct str exponent = str_skip(s, mantissa.n + 1);
	bool has_exponent = mantissa.n < s.n, has_point = str_find(mantissa, STR(".")) < mantissa.n;
	struct str fraction = mantissa, whole = str_cut(&fraction, '.');

	if (!strip(whole, 10, &text) || is_leading_zero(buf_str(&text)))
		return NO_NUMBER;
	if (has_point && (buf_addc(&text, '.', ERR_DISCARD) < 0 || !strip(fraction, 10, &text)))
		return NO_NUMBER;
	if (has_exponent) {
		bool signed_ = exponent.n > 0 && (exponent.p[0] == '+' || exponent.p[0] == '-');

		TRY(buf_addc(&text, 'e', p->err));
		TRY(buf_add(&text, str_head(exponent, signed_), p->err));
		if (!strip(str_skip(exponent, signed_), 10, &text))
			return NO_NUMBER;
	}
	out->kind = TOML_FLOAT;
	out->real = strtod(text.p, NULL);
	if (isinf(out->real))
		return toml_fail(p, out->at, "the number is too large; inf is written as inf");
	if (minus)
		out->real = -out->real;
	return 0;
}

static int read_number(struct toml_parser *p, struct str word, struct toml *out)
{
	static const struct {
		struct str prefix;
		int base;
	} bases[] = { { { "0x", 2 }, 16 }, { { "0o", 2 }, 8 }, { { "0b", 2 }, 2 } };
	bool has_sign = word.n > 0 && (word.p[0] == '+' || word.p[0] == '-');
	bool minus = has_sign && word.p[0] == '-';
	struct str s = str_skip(word, has_sign);

	for (size_t i = 0; i < COUNT(bases) && !has_sign; i++)
		if (str_starts(s, bases[i].prefix))
			return read_integer(p, str_skip(s, 2), bases[i].base, false, out);
	if (str_eqz(s, "inf") || str_eqz(s, "nan")) {
		out->kind = TOML_FLOAT;
		out->real = s.p[0] == 'i' ? INFINITY : NAN;
		if (minus)
			out->real = -out->real;
		return 0;
	}
	if (str_find_any(s, STR(".eE")) < s.n)
		return read_float(p, s, minus, out);
	return read_integer(p, s, 10, minus, out);
}

/* ------------------------------------------------------------------ any of them */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("_+-.:", c));
}

/* The longest run of bytes that could be one value; a date may be followed by one space and a time. */
static struct str word_at(struct toml_parser *p)
{
	struct str rest = str_skip(p->s, p->i);
	size_t n = 0;

	while (n < rest.n && is_word(rest.p[n]))
		n++;
	if (n == 10 && date_is_right(str_head(rest, n)) && n < rest.n && rest.p[n] == ' ' &&
		is_digits(rest, 11, 2) && rest.n > 13 && rest.p[13] == ':')
		for (n = 11; n < rest.n && is_word(rest.p[n]);)
			n++;
	return str_head(rest, n);
}

static int refuse_no_word(struct toml_parser *p)
{
	size_t end = p->i;
	char c = toml_peek(p);

	if (p->i == p->s.n || c == '\t' || toml_is_control(c))
		return toml_fail(p, p->i, "expected a value");
	BUG_IF(utf8_next(p->s, &end) < 0); /* the text was checked before */
	return toml_fail(
		p, p->i, "expected a value, not '" STR_FMT "'", STR_ARG(str_of(p->s.p + p->i, end - p->i)));
}

int toml_read_scalar(struct toml_parser *p, struct toml *out)
{
	struct str word = word_at(p);
	size_t at = p->i;
	bool moment = is_digits(word, 0, 2) && word.n > 2 &&
		      (word.p[2] == ':' || (is_digits(word, 0, 4) && word.n > 4 && word.p[4] == '-'));
	int r = 0;

	if (word.n == 0)
		return refuse_no_word(p);
	p->i += word.n;
	out->at = (uint32_t)at;
	if (str_eqz(word, "true") || str_eqz(word, "false")) {
		out->kind = TOML_BOOL;
		out->boolean = word.p[0] == 't';
	} else if (moment) {
		out->text = str_dup(p->mem, word);
		if (!moment_is_right(word, &out->kind))
			return toml_fail(
				p, at, "'" STR_FMT "' is not a date or time", STR_ARG(str_head(word, 40)));
	} else {
		r = read_number(p, word, out);
	}
	if (r == NO_NUMBER) {
		r = toml_fail(p, at, "'" STR_FMT "' is not a value", STR_ARG(str_head(word, 40)));
		if (isalpha((unsigned char)word.p[0]))
			err_hint(p->err, "text stands in quotes: \"" STR_FMT "\"",
				STR_ARG(str_head(word, 40)));
	}
	return r;
}
