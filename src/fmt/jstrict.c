/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/jstrict.h"
#include "fmt/jscan.h"

#include <string.h>

struct reader {
	struct str text;
	size_t at;
	struct buf *out;
	struct err *err;
};

static int bad(struct reader *r, const char *what)
{
	return err_set(r->err, ERR_SYNTAX, "byte %zu: %s", r->at, what);
}

static int peek(const struct reader *r)
{
	return r->at < r->text.n ? (unsigned char)r->text.p[r->at] : -1;
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->text.n && strchr(" \t\r\n", r->text.p[r->at]) && r->text.p[r->at] != '\0')
		r->at++;
}

static int copy(struct reader *r, size_t from)
{
	return buf_add(r->out, str_of(r->text.p + from, r->at - from), r->err);
}

static int expect(struct reader *r, char c, const char *what)
{
	if (peek(r) != c)
		return bad(r, what);
	r->at++;
	return buf_addc(r->out, c, r->err);
}

static int hex4(const struct reader *r, size_t at)
{
	int v = 0;

	if (at + 4 > r->text.n)
		return -1;
	for (size_t i = at; i < at + 4; i++) {
		const char *digits = "0123456789abcdef", *d;
		char c = r->text.p[i];

		d = c == '\0' ? NULL : strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
		if (!d)
			return -1;
		v = v * 16 + (int)(d - digits);
	}
	return v;
}

/* Behind "\u": the digits of one code point, of two escapes where it needs a pair. */
static int read_unicode(struct reader *r)
{
	int v = hex4(r, r->at), low;

	if (v < 0)
		return bad(r, "\\u needs four hexadecimal digits");
	if (v == 0)
		return bad(r, "U+0000 cannot be passed on");
	r->at += 4;
	if (v >= 0xdc00 && v <= 0xdfff)
		return bad(r, "half of a surrogate pair");
	if (v < 0xd800 || v > 0xdbff)
		return 0;
	low = r->at + 2 <= r->text.n && memcmp(r->text.p + r->at, "\\u", 2) == 0 ? hex4(r, r->at + 2) : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return bad(r, "half of a surrogate pair");
	r->at += 6;
	return 0;
}

static int read_escape(struct reader *r)
{
	int c;

	r->at++;
	c = peek(r);
	if (c <= 0 || !strchr("\"\\/bfnrtu", c))
		return bad(r, "an escape that JSON does not know");
	r->at++;
	return c == 'u' ? read_unicode(r) : 0;
}

static int read_string(struct reader *r)
{
	size_t from = r->at;

	if (peek(r) != '"')
		return bad(r, "expected a string");
	r->at++;
	for (int c; (c = peek(r)) != '"';) {
		if (c < 0)
			return bad(r, "a string without its end");
		if (c < ' ')
			return bad(r, "a control character in a string");
		if (c == '\\')
			TRY(read_escape(r));
		else if (utf8_next(r->text, &r->at) < 0)
			return bad(r, "invalid UTF-8");
	}
	r->at++;
	return copy(r, from);
}

static size_t digits(struct reader *r)
{
	size_t from = r->at;

	while (peek(r) >= '0' && peek(r) <= '9')
		r->at++;
	return r->at - from;
}

static int read_number(struct reader *r)
{
	size_t from = r->at;

	if (peek(r) == '-')
		r->at++;
	bool zero = peek(r) == '0';
	size_t n = digits(r);

	if (n == 0 || (zero && n > 1))
		return bad(r, "not a number");
	if (peek(r) == '.') {
		r->at++;
		if (digits(r) == 0)
			return bad(r, "not a number");
	}
	if (peek(r) == 'e' || peek(r) == 'E') {
		r->at++;
		if (peek(r) == '+' || peek(r) == '-')
			r->at++;
		if (digits(r) == 0)
			return bad(r, "not a number");
	}
	return copy(r, from);
}

static int read_word(struct reader *r)
{
	static const char *const words[] = { "true", "false", "null" };
	size_t from = r->at;

	for (size_t i = 0; i < COUNT(words); i++)
		if (str_starts(str_skip(r->text, r->at), str_from(words[i]))) {
			r->at += strlen(words[i]);
			return copy(r, from);
		}
	return bad(r, "expected a value");
}

static int read_scalar(struct reader *r)
{
	int c = peek(r);

	if (c == '"')
		return read_string(r);
	if (c == '-' || (c >= '0' && c <= '9'))
		return read_number(r);
	return read_word(r);
}

struct level {
	bool object;
	size_t n;
	uint64_t names[JSTRICT_MEMBERS]; /* of those that were there, as numbers */
};

static uint64_t hash(struct str s)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
	return h;
}

/* Of the name itself: an escape is another spelling of it. */
static int hash_name(struct reader *r, struct str spelled, uint64_t *out)
{
	const struct jval name = { .type = JSCAN_STRING, .text = spelled };
	auto_buf struct buf text = BUF_MAX(spelled.n + 16);

	TRY(jval_add_text(&text, name, NUL_KEEP, r->err));
	jtext_repair(&text, 0);
	*out = hash(buf_str(&text));
	return 0;
}

static int read_key(struct reader *r, struct level *l)
{
	size_t key = r->out->n;
	uint64_t h;

	if (l->n == JSTRICT_MEMBERS)
		return err_set(r->err, ERR_LIMIT, "byte %zu: more than %d members of one object", r->at, JSTRICT_MEMBERS);
	TRY(read_string(r));
	TRY(hash_name(r, str_skip(buf_str(r->out), key), &h));
	for (size_t i = 0; i < l->n; i++)
		if (l->names[i] == h)
			return bad(r, "a member is named twice");
	l->names[l->n++] = h;
	skip_blanks(r);
	TRY(expect(r, ':', "expected ':'"));
	skip_blanks(r);
	return 0;
}

/* Behind a value: the commas and ends that follow it. *depth is 0 at the end of all. */
static int read_after(struct reader *r, struct level *levels, int *depth)
{
	while (*depth > 0) {
		struct level *l = &levels[*depth - 1];

		skip_blanks(r);
		if (peek(r) == ',') {
			TRY(expect(r, ',', ""));
			skip_blanks(r);
			return l->object ? read_key(r, l) : 0;
		}
		TRY(expect(r, l->object ? '}' : ']', l->object ? "expected ',' or '}'" : "expected ',' or ']'"));
		--*depth;
	}
	return 0;
}

static int open_container(struct reader *r, struct level *levels, int *depth)
{
	bool object = peek(r) == '{';

	if (*depth == JSTRICT_DEPTH)
		return err_set(r->err, ERR_LIMIT, "byte %zu: deeper than %d levels", r->at, JSTRICT_DEPTH);
	TRY(expect(r, object ? '{' : '[', ""));
	levels[*depth].object = object;
	levels[(*depth)++].n = 0;
	skip_blanks(r);
	if (peek(r) == (object ? '}' : ']'))
		return 1; /* empty */
	return object ? read_key(r, &levels[*depth - 1]) : 0;
}

static int read_object(struct reader *r)
{
	autofree struct level *levels = mem_alloc(JSTRICT_DEPTH * sizeof(*levels));
	int depth = 0, rc;

	skip_blanks(r);
	if (peek(r) != '{')
		return bad(r, "expected one JSON object");
	do {
		int c = peek(r);

		rc = c == '{' || c == '[' ? open_container(r, levels, &depth) : read_scalar(r);
		TRY(rc);
		if (rc == 1 || (c != '{' && c != '['))
			TRY(read_after(r, levels, &depth));
	} while (depth > 0);
	skip_blanks(r);
	return r->at == r->text.n ? 0 : bad(r, "more than one JSON object");
}

int jstrict_add_object(struct buf *out, struct str text, struct err *err)
{
	struct reader r = { .text = text, .out = out, .err = err };
	size_t before = out->n;
	int rc = read_object(&r);

	if (rc < 0)
		buf_shrink(out, before);
	return rc;
}
