/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX  ((size_t)64 * 1024 * 1024)
#define DEPTH_MAX 200
#define FFFD      STR("\xEF\xBF\xBD")

/* Adds s with every byte that is not UTF-8 replaced; a NUL stays, JSON can write it. */
static int add_clean(struct buf *b, struct str s, struct err *err)
{
	size_t good = 0;

	for (size_t i = 0; i < s.n;) {
		size_t at = i;

		if (utf8_next(s, &i) >= 0)
			continue;
		TRY(buf_add(b, str_of(s.p + good, at - good), err));
		TRY(buf_add(b, FFFD, err));
		good = i;
	}
	return buf_add(b, str_skip(s, good), err);
}

/* The four hex digits of the \uXXXX escape at s.p[i], or -1. */
static int32_t escape_at(struct str s, size_t i)
{
	int32_t v = 0;

	if (s.n - i < 6 || s.p[i] != '\\' || s.p[i + 1] != 'u')
		return -1;
	for (size_t k = i + 2; k < i + 6; k++) {
		unsigned char c = (unsigned char)s.p[k];

		if (!isxdigit(c))
			return -1;
		v = v * 16 + (isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return v;
}

/* Copies text with invalid UTF-8 and unpaired surrogate escapes replaced. A backslash is only legal
 * inside a string, so escapes are found without knowing where strings begin. */
static int repair(struct str text, struct buf *out, struct err *err)
{
	size_t good = 0;

	for (size_t i = 0; i < text.n;) {
		size_t at = i;
		int32_t unit = escape_at(text, i);

		if (unit < 0) {
			i += text.p[i] == '\\' && i + 1 < text.n ? 2 : 1;
			continue;
		}
		i += 6;
		if (unit < 0xd800 || unit > 0xdfff)
			continue;
		int32_t low = i < text.n ? escape_at(text, i) : -1;
		if (unit <= 0xdbff && low >= 0xdc00 && low <= 0xdfff) {
			i += 6;
			continue;
		}
		TRY(add_clean(out, str_of(text.p + good, at - good), err));
		TRY(buf_add(out, FFFD, err));
		good = i;
	}
	return add_clean(out, str_skip(text, good), err);
}

/* jansson allows 2048 levels; a limit of our own keeps every later recursion shallow. */
static int check_depth(struct str text, struct err *err)
{
	int depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (quoted) {
			if (c == '\\')
				i++;
			quoted = c != '"';
		} else if (c == '"') {
			quoted = true;
		} else if (c == '[' || c == '{') {
			if (++depth > DEPTH_MAX)
				return err_set(
					err, ERR_LIMIT, "JSON nested deeper than %d levels", DEPTH_MAX);
		} else if (c == ']' || c == '}') {
			depth--;
		}
	}
	return 0;
}

static int decode(struct str text, json_t **out, struct err *err)
{
	json_error_t e = { 0 };
	json_t *j = json_loadb(
		text.p ? text.p : "", text.n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &e);

	if (!j) {
		for (char *p = e.text; *p; p++)
			if ((unsigned char)*p < ' ')
				*p = ' ';
		return err_set(err, ERR_SYNTAX, "%d:%d: %s", e.line, e.column, e.text);
	}
	*out = j;
	return 0;
}

int json_decode(struct str text, enum json_mode mode, json_t **out, struct err *err)
{
	auto_buf struct buf fixed = BUF_MAX(2 * TEXT_MAX);

	if (text.n > TEXT_MAX)
		return err_set(err, ERR_LIMIT, "JSON of %zu bytes, more than %zu", text.n, TEXT_MAX);
	TRY(check_depth(text, err));
	if (mode == JSON_EXACT)
		return decode(text, out, err);
	/* Almost every text is right: it is repaired only when it does not parse as it is. */
	if (decode(text, out, ERR_DISCARD) == 0)
		return 0;
	TRY(repair(text, &fixed, err));
	return decode(buf_str(&fixed), out, err);
}

struct str json_view(const json_t *s)
{
	if (!json_is_string(s))
		return STR("");
	return str_of(json_string_value(s), json_string_length(s));
}

struct str json_get_str(const json_t *obj, const char *key)
{
	return json_view(json_object_get(obj, key));
}

int64_t json_get_int(const json_t *obj, const char *key, int64_t dflt)
{
	const json_t *j = json_object_get(obj, key);

	return json_is_integer(j) ? json_integer_value(j) : dflt;
}

json_t *json_text(struct str s)
{
	json_t *j = json_stringn(s.p ? s.p : "", s.n);

	if (!j) {
		auto_buf struct buf clean = BUF_MAX(s.n * 3);
		struct err err = { 0 };

		BUG_IF(add_clean(&clean, s, &err) < 0);
		j = json_stringn(clean.p, clean.n);
	}
	BUG_IF(!j);
	return j;
}

/* The shortest spelling that reads back as the same number, marked as a real. */
static int add_real(struct buf *b, double v, struct err *err)
{
	char text[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	TRY(buf_addz(b, text, err));
	return strpbrk(text, ".e") ? 0 : buf_addz(b, ".0", err);
}

static int add_value(struct buf *b, const json_t *j, struct err *err);

static int add_array(struct buf *b, const json_t *j, struct err *err)
{
	TRY(buf_addc(b, '[', err));
	for (size_t i = 0; i < json_array_size(j); i++) {
		if (i > 0)
			TRY(buf_addc(b, ',', err));
		TRY(add_value(b, json_array_get(j, i), err));
	}
	return buf_addc(b, ']', err);
}

static int add_object(struct buf *b, const json_t *j, struct err *err)
{
	const char *key;
	json_t *value;
	bool first = true;

	TRY(buf_addc(b, '{', err));
	json_object_foreach((json_t *)j, key, value)
	{
		if (!first)
			TRY(buf_addc(b, ',', err));
		first = false;
		TRY(json_add_quoted(b, str_from(key), err));
		TRY(buf_addc(b, ':', err));
		TRY(add_value(b, value, err));
	}
	return buf_addc(b, '}', err);
}

static int add_value(struct buf *b, const json_t *j, struct err *err)
{
	switch (json_typeof(j)) {
	case JSON_OBJECT:
		return add_object(b, j, err);
	case JSON_ARRAY:
		return add_array(b, j, err);
	case JSON_STRING:
		return json_add_quoted(b, json_view(j), err);
	case JSON_INTEGER:
		return buf_addi(b, json_integer_value(j), err);
	case JSON_REAL:
		return add_real(b, json_real_value(j), err);
	case JSON_TRUE:
		return buf_addz(b, "true", err);
	case JSON_FALSE:
		return buf_addz(b, "false", err);
	case JSON_NULL:
		return buf_addz(b, "null", err);
	}
	BUG_IF(true);
	return 0;
}

int json_add(struct buf *b, const json_t *j, struct err *err)
{
	size_t before = b->n;
	int r = add_value(b, j, err);

	if (r < 0)
		buf_shrink(b, before);
	return r;
}
