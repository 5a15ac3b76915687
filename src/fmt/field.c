/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/field_priv.h"
#include "fmt/toml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX   ((size_t)64 * 1024 * 1024)
#define SHOWN      48                   /* bytes of a wrong value that a message repeats */
#define SHOWN_MAX  (6 * SHOWN + 64)     /* the same, escaped */
#define EXACT_REAL 9007199254740992.0   /* 2^53: beyond it a real is no exact integer */

/* ------------------------------------------------------------------ messages */

/* What was there, short enough for one line. Its buffer is large enough by construction. */
static void add_shown(struct buf *b, const json_t *j)
{
	struct str s = json_view(j);
	int r;

	if (json_is_object(j))
		r = buf_addz(b, "an object", ERR_DISCARD);
	else if (json_is_array(j))
		r = buf_addz(b, "a list", ERR_DISCARD);
	else if (!json_is_string(j))
		r = json_add(b, j, ERR_DISCARD);
	else
		r = json_add_quoted(b, str_head(s, utf8_head(s, SHOWN)), ERR_DISCARD);
	if (r >= 0 && s.n > SHOWN)
		r = buf_addz(b, "...", ERR_DISCARD);
	BUG_IF(r < 0);
}

/* A name somebody else chose, on its way into a message. */
static struct str shown_name(struct str name, char out[SHOWN])
{
	size_t n = utf8_head(name, SHOWN);

	for (size_t i = 0; i < n; i++)
		out[i] = (unsigned char)name.p[i] < ' ' || name.p[i] == 0x7f ? '?' : name.p[i];
	return str_of(out, n);
}

static int wrong_kind(const struct field *f, const char *at, const json_t *j, struct err *err)
{
	auto_buf struct buf got = BUF_MAX(SHOWN_MAX);

	add_shown(&got, j);
	return err_set(err, ERR_INVALID, "%s%sexpected %s, got " STR_FMT, at, *at ? ": " : "", f->type->word,
		STR_ARG(buf_str(&got)));
}

static int wrong_choice(const struct field *f, const char *at, const json_t *got, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(SHOWN_MAX + 1024);
	size_t best = 3;
	const char *near = NULL;
	int r = 0;

	add_shown(&text, got);
	for (size_t i = 0; r >= 0 && f->choices[i]; i++) {
		size_t d = str_distance(json_view(got), str_from(f->choices[i]));

		r = buf_addf(&text, ERR_DISCARD, "%s%s", i == 0 ? " is not one of " : ", ", f->choices[i]);
		if (d < best && d < strlen(f->choices[i])) {
			best = d;
			near = f->choices[i];
		}
	}
	r = err_set(err, ERR_INVALID, "%s: " STR_FMT, at, STR_ARG(buf_str(&text)));
	if (near)
		err_hint(err, "did you mean \"%s\"?", near);
	return r;
}

static int check_range(const struct field *f, const char *at, double v, struct str text, struct err *err)
{
	if ((f->min == 0 && f->max == 0) || (v >= (double)f->min && v <= (double)f->max))
		return 0;
	if (f->max == INT64_MAX || f->max == INT32_MAX) /* such an end is ours, of interest to who went past it only */
		return v > (double)f->max
			? err_set(err, ERR_INVALID, "%s: " STR_FMT " is more than %lld", at, STR_ARG(text), (long long)f->max)
			: err_set(err, ERR_INVALID, "%s: " STR_FMT " is less than %lld", at, STR_ARG(text), (long long)f->min);
	return err_set(err, ERR_INVALID, "%s: " STR_FMT " is not between %lld and %lld", at, STR_ARG(text),
		(long long)f->min, (long long)f->max);
}

static int check_size(const struct field *f, const char *at, size_t n, const char *unit, struct err *err)
{
	if (n == 0 && (f->flags & FIELD_NONEMPTY))
		return err_set(err, ERR_INVALID, "%s: must not be empty", at);
	if (f->max > 0 && n > (size_t)f->max)
		return err_set(err, ERR_INVALID, "%s: %zu %s, more than %lld", at, n, unit, (long long)f->max);
	return 0;
}

/* ------------------------------------------------------------------ TOML spelling */

static int add_toml(struct buf *out, const json_t *j, struct err *err)
{
	const char *sep = "";
	const char *key;
	json_t *value;
	size_t i;

	switch (json_typeof(j)) {
	case JSON_STRING:
		return toml_add_string(out, json_view(j), err);
	case JSON_ARRAY:
		TRY(buf_addc(out, '[', err));
		json_array_foreach(j, i, value) {
			TRY(buf_addz(out, i > 0 ? ", " : "", err));
			TRY(add_toml(out, value, err));
		}
		return buf_addc(out, ']', err);
	case JSON_OBJECT:
		TRY(buf_addz(out, "{", err));
		json_object_foreach((json_t *)j, key, value) {
			TRY(buf_addz(out, *sep ? sep : " ", err));
			TRY(toml_add_key(out, str_from(key), err));
			TRY(buf_addz(out, " = ", err));
			TRY(add_toml(out, value, err));
			sep = ", ";
		}
		return buf_addz(out, *sep ? " }" : "}", err);
	case JSON_NULL:
		return err_set(err, ERR_INVALID, "null has no spelling in TOML");
	default:
		return json_add(out, j, err);
	}
}

/* ------------------------------------------------------------------ containers that came as text */

/* The list or object at the start of s, without what may follow it; empty when there is none. */
static struct str container_in(struct str s)
{
	int depth = 0;
	bool quoted = false;

	s = str_trim(s);
	if (s.n == 0 || (s.p[0] != '[' && s.p[0] != '{'))
		return STR("");
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (quoted) {
			if (c == '\\')
				i++;
			quoted = c != '"';
		} else if (c == '"') {
			quoted = true;
		} else if (c == '[' || c == '{') {
			depth++;
		} else if ((c == ']' || c == '}') && --depth == 0) {
			return str_head(s, i + 1);
		}
	}
	return STR("");
}

/* Models send a list or an object as a string that holds JSON. `j` is read as it is, then once more
 * as what the string holds; when neither fits, the first complaint is the one that is told. */
typedef int container_fn(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
	struct err *err);

static int read_container(container_fn *read, const struct field *f, const char *at, const json_t *j,
	struct arena *mem, void *slot, struct err *err)
{
	auto_json json_t *inner = NULL;
	int r = read(f, at, j, mem, slot, err);

	if (r >= 0 || !json_is_string(j))
		return r;
	if (json_decode(container_in(json_view(j)), JSON_EXACT, &inner, ERR_DISCARD) < 0)
		return r;
	return read(f, at, inner, mem, slot, ERR_DISCARD) < 0 ? r : 0;
}

static int parse_container(container_fn *read, const struct field *f, struct str text, struct arena *mem,
	void *slot, struct err *err)
{
	auto_json json_t *j = NULL;

	if (json_decode(text, JSON_EXACT, &j, err) < 0)
		return err_wrap(err, "%s: expected %s", f->name, f->type->word);
	return read(f, f->name, j, mem, slot, err);
}

/* ------------------------------------------------------------------ string */

static int str_set_slot(const struct field *f, const char *at, struct str s, struct arena *mem, void *slot,
	struct err *err)
{
	TRY(check_size(f, at, s.n, "bytes", err));
	*(struct str *)slot = str_dup(mem, s);
	return 0;
}

static int parse_str(const struct field *f, struct str text, struct arena *mem, void *slot, struct err *err)
{
	return str_set_slot(f, f->name, text, mem, slot, err);
}

static int print_str(const struct field *f, const void *slot, struct buf *out, struct err *err)
{
	(void)f;
	return toml_add_string(out, *(const struct str *)slot, err);
}

static int json_str(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
	struct err *err)
{
	if (!json_is_string(j))
		return wrong_kind(f, at, j, err);
	return str_set_slot(f, at, json_view(j), mem, slot, err);
}

/* ------------------------------------------------------------------ integer, number */

static int parse_int(const struct field *f, struct str text, struct arena *mem, void *slot, struct err *err)
{
	int64_t v;

	(void)mem;
	if (str_to_i64(text, &v, err) < 0)
		return err_wrap(err, "%s", f->name);
	TRY(check_range(f, f->name, (double)v, text, err));
	*(int64_t *)slot = v;
	return 0;
}

static int print_int(const struct field *f, const void *slot, struct buf *out, struct err *err)
{
	(void)f;
	return buf_addi(out, *(const int64_t *)slot, err);
}

static int json_int(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
	struct err *err)
{
	double real = json_real_value(j); /* 0 when it is none */
	int64_t v;
	char text[32];

	(void)mem;
	if (json_is_integer(j))
		v = json_integer_value(j);
	else if (json_is_real(j) && real == floor(real) && fabs(real) < EXACT_REAL)
		v = (int64_t)real; /* 5.0 is what some models write for 5 */
	else
		return wrong_kind(f, at, j, err);
	snprintf(text, sizeof(text), "%lld", (long long)v);
	TRY(check_range(f, at, (double)v, str_from(text), err));
	*(int64_t *)slot = v;
	return 0;
}

static int parse_num(const struct field *f, struct str text, struct arena *mem, void *slot, struct err *err)
{
	double v;

	(void)mem;
	if (str_to_f64(text, &v, err) < 0)
		return err_wrap(err, "%s", f->name);
	TRY(check_range(f, f->name, v, text, err));
	*(double *)slot = v;
	return 0;
}

static int print_num(const struct field *f, const void *slot, struct buf *out, struct err *err)
{
	auto_json json_t *j = json_real(*(const double *)slot);

	(void)f;
	BUG_IF(!j);
	return json_add(out, j, err);
}

static int json_num(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
	struct err *err)
{
	double v = json_number_value(j);
	char text[32];

	(void)mem;
	if (!json_is_number(j))
		return wrong_kind(f, at, j, err);
	snprintf(text, sizeof(text), "%g", v);
	TRY(check_range(f, at, v, str_from(text), err));
	*(double *)slot = v;
	return 0;
}

/* ------------------------------------------------------------------ boolean, choice */

static int parse_bool(const struct field *f, struct str text, struct arena *mem, void *slot, struct err *err)
{
	(void)mem;
	if (!str_eqz(text, "true") && !str_eqz(text, "false"))
		return err_set(err, ERR_INVALID, "%s: \"" STR_FMT "\" is not one of true, false", f->name,
			STR_ARG(str_head(text, SHOWN)));
	*(bool *)slot = str_eqz(text, "true");
	return 0;
}

static int print_bool(const struct field *f, const void *slot, struct buf *out, struct err *err)
{
	(void)f;
	return buf_addz(out, *(const bool *)slot ? "true" : "false", err);
}

static int json_bool(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
	struct err *err)
{
	(void)mem;
	if (!json_is_boolean(j))
		return wrong_kind(f, at, j, err);
	*(bool *)slot = json_is_true(j);
	return 0;
}

static int json_enum(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
	struct err *err)
{
	struct str text = json_view(j); /* empty when it is no string, and no choice is empty */

	(void)mem;
	for (int i = 0; f->choices[i]; i++)
		if (str_eqz(text, f->choices[i])) {
			*(int *)slot = i;
			return 0;
		}
	return wrong_choice(f, at, j, err);
}

static int parse_enum(const struct field *f, struct str text, struct arena *mem, void *slot, struct err *err)
{
	auto_json json_t *j = json_text(text);

	return json_enum(f, f->name, j, mem, slot, err);
}

static int print_enum(const struct field *f, const void *slot, struct buf *out, struct err *err)
{
	return toml_add_string(out, str_from(f->choices[*(const int *)slot]), err);
}

/* ------------------------------------------------------------------ list of strings */

static int read_strs(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
	struct err *err)
{
	struct str_list list = { 0 };

	if (!json_is_array(j))
		return wrong_kind(f, at, j, err);
	list.n = json_array_size(j);
	TRY(check_size(f, at, list.n, "items", err));
	list.p = arena_array(mem, list.n, sizeof(*list.p));
	for (size_t i = 0; i < list.n; i++) {
		const json_t *item = json_array_get(j, i);

		if (!json_is_string(item)) {
			struct str where = str_printf(mem, "%s[%zu]", at, i);
			struct field one = { .type = &field_str };

			return wrong_kind(&one, where.p, item, err);
		}
		list.p[i] = str_dup(mem, json_view(item));
	}
	*(struct str_list *)slot = list;
	return 0;
}

static int json_strs(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
	struct err *err)
{
	return read_container(read_strs, f, at, j, mem, slot, err);
}

/* A JSON list is the whole value; anything else is one more item, so that a flag may be repeated. */
static int parse_strs(const struct field *f, struct str text, struct arena *mem, void *slot, struct err *err)
{
	struct str_list *list = slot;

	if (str_starts(text, STR("[")))
		return parse_container(read_strs, f, text, mem, slot, err);
	TRY(check_size(f, f->name, list->n + 1, "items", err));
	struct str *p = arena_array(mem, list->n + 1, sizeof(*p));
	if (list->n > 0)
		memcpy(p, list->p, list->n * sizeof(*p));
	p[list->n] = str_dup(mem, text);
	*list = (struct str_list){ p, list->n + 1 };
	return 0;
}

static int print_strs(const struct field *f, const void *slot, struct buf *out, struct err *err)
{
	const struct str_list *list = slot;

	(void)f;
	TRY(buf_addc(out, '[', err));
	for (size_t i = 0; i < list->n; i++) {
		TRY(buf_addz(out, i > 0 ? ", " : "", err));
		TRY(toml_add_string(out, list->p[i], err));
	}
	return buf_addc(out, ']', err);
}

/* ------------------------------------------------------------------ objects */

static int unknown_member(const struct field *f, size_t n, const char *at, struct str key, struct err *err)
{
	const struct field *near = field_nearest(f, n, key);
	auto_buf struct buf known = BUF_MAX(400);
	const char *dot = *at ? "." : "";
	char shown[SHOWN];
	int r = 0;

	key = shown_name(key, shown);
	if (near)
		return err_set(err, ERR_INVALID, "%s%s" STR_FMT ": unknown; did you mean \"%s\"?", at, dot,
			STR_ARG(key), near->name);
	for (size_t i = 0; i < n && r >= 0; i++)
		if (!(f[i].flags & FIELD_HIDDEN))
			r = buf_addf(&known, ERR_DISCARD, "%s%s", known.n > 0 ? ", " : "", f[i].name);
	return err_set(err, ERR_INVALID, "%s%s" STR_FMT ": unknown; known here: " STR_FMT, at, dot, STR_ARG(key),
		STR_ARG(buf_str(&known)));
}

static int fill_default(const struct field *f, struct arena *mem, void *into, struct err *err)
{
	return f->dflt ? f->type->parse(f, str_from(f->dflt), mem, (char *)into + f->offset, err) : 0;
}

static int read_members(const struct field *f, size_t n, const char *at, const json_t *obj, struct arena *mem,
	void *into, struct err *err)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)obj, key, value)
		if (!field_find(f, n, str_from(key)))
			return unknown_member(f, n, at, str_from(key), err);
	for (size_t i = 0; i < n; i++) {
		const char *where = f[i].name;

		value = json_object_get(obj, f[i].name);
		if (value && !json_is_null(value)) {
			if (*at)
				where = str_printf(mem, "%s.%s", at, f[i].name).p;
			TRY(f[i].type->from_json(&f[i], where, value, mem, (char *)into + f[i].offset, err));
		} else if (f[i].flags & FIELD_REQUIRED) {
			return err_set(err, ERR_INVALID, "%s%s%s: required, but missing", at, *at ? "." : "",
				f[i].name);
		} else {
			TRY(fill_default(&f[i], mem, into, err));
		}
	}
	return 0;
}

static int read_objs(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
	struct err *err)
{
	struct field one = { .type = &field_json };
	struct obj_list list = { 0 };

	if (!json_is_array(j))
		return wrong_kind(f, at, j, err);
	list.n = json_array_size(j);
	TRY(check_size(f, at, list.n, "items", err));
	list.p = arena_array(mem, list.n, f->sub_size);
	for (size_t i = 0; i < list.n; i++) {
		const json_t *item = json_array_get(j, i);
		struct str where = str_printf(mem, "%s[%zu]", at, i);

		if (!json_is_object(item))
			return wrong_kind(&one, where.p, item, err);
		TRY(read_members(f->sub, f->nsub, where.p, item, mem, (char *)list.p + i * f->sub_size, err));
	}
	*(struct obj_list *)slot = list;
	return 0;
}

static int json_objs(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
	struct err *err)
{
	return read_container(read_objs, f, at, j, mem, slot, err);
}

static int parse_objs(const struct field *f, struct str text, struct arena *mem, void *slot, struct err *err)
{
	return parse_container(read_objs, f, text, mem, slot, err);
}

static int print_objs(const struct field *f, const void *slot, struct buf *out, struct err *err)
{
	const struct obj_list *list = slot;

	TRY(buf_addc(out, '[', err));
	for (size_t i = 0; i < list->n; i++) {
		const char *item = (const char *)list->p + i * f->sub_size;

		TRY(buf_addz(out, i > 0 ? ", {" : "{", err));
		for (size_t k = 0; k < f->nsub; k++) {
			TRY(buf_addf(out, err, "%s%s = ", k > 0 ? ", " : " ", f->sub[k].name));
			TRY(field_print(&f->sub[k], item, out, err));
		}
		TRY(buf_addz(out, " }", err));
	}
	return buf_addc(out, ']', err);
}

/* ------------------------------------------------------------------ any object, kept as JSON text */

static int read_json(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
	struct err *err)
{
	auto_buf struct buf text = BUF_MAX(TEXT_MAX);

	if (!json_is_object(j))
		return wrong_kind(f, at, j, err);
	TRY(json_add(&text, j, err));
	TRY(check_size(f, at, json_object_size(j) == 0 ? 0 : text.n, "bytes", err));
	*(struct str *)slot = str_dup(mem, buf_str(&text));
	return 0;
}

static int json_json(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
	struct err *err)
{
	return read_container(read_json, f, at, j, mem, slot, err);
}

static int parse_json(const struct field *f, struct str text, struct arena *mem, void *slot, struct err *err)
{
	return parse_container(read_json, f, text, mem, slot, err);
}

static int print_json(const struct field *f, const void *slot, struct buf *out, struct err *err)
{
	const struct str *text = slot;
	auto_json json_t *j = NULL;

	if (text->n == 0)
		return buf_addz(out, "{}", err);
	TRY(json_decode(*text, JSON_EXACT, &j, err));
	if (add_toml(out, j, err) < 0)
		return err_wrap(err, "%s", f->name);
	return 0;
}

const struct field_type field_str = { "a string", sizeof(struct str), parse_str, print_str, json_str, field_schema_str };
const struct field_type field_int = { "an integer", sizeof(int64_t), parse_int, print_int, json_int, field_schema_int };
const struct field_type field_num = { "a number", sizeof(double), parse_num, print_num, json_num, field_schema_num };
const struct field_type field_bool = { "true or false", sizeof(bool), parse_bool, print_bool, json_bool,
	field_schema_bool };
const struct field_type field_enum = { "a choice", sizeof(int), parse_enum, print_enum, json_enum, field_schema_enum };
const struct field_type field_strs = { "a list of strings", sizeof(struct str_list), parse_strs, print_strs,
	json_strs, field_schema_strs };
const struct field_type field_objs = { "a list of objects", sizeof(struct obj_list), parse_objs, print_objs,
	json_objs, field_schema_objs };
const struct field_type field_json = { "an object", sizeof(struct str), parse_json, print_json, json_json,
	field_schema_json };

/* ------------------------------------------------------------------ tables */

int fields_from_json(const struct field *f, size_t n, const json_t *obj, struct arena *mem, void *into,
	size_t into_size, struct err *err)
{
	struct field whole = { .type = &field_json };
	auto_json json_t *inner = NULL;

	/* Only a whole success reaches the caller's struct. */
	void *made = arena_alloc(mem, into_size);
	if (json_is_string(obj) &&
		json_decode(container_in(json_view(obj)), JSON_EXACT, &inner, ERR_DISCARD) == 0 &&
		json_is_object(inner))
		obj = inner;
	if (!json_is_object(obj))
		return wrong_kind(&whole, "", obj, err);
	TRY(read_members(f, n, "", obj, mem, made, err));
	memcpy(into, made, into_size);
	return 0;
}

int fields_default(const struct field *f, size_t n, struct arena *mem, void *into, size_t into_size,
	struct err *err)
{
	memset(into, 0, into_size);
	for (size_t i = 0; i < n; i++)
		TRY(fill_default(&f[i], mem, into, err));
	return 0;
}

int field_parse(const struct field *f, struct str text, struct arena *mem, void *into, struct err *err)
{
	return f->type->parse(f, text, mem, (char *)into + f->offset, err);
}

int field_print(const struct field *f, const void *from, struct buf *out, struct err *err)
{
	return f->type->print(f, (const char *)from + f->offset, out, err);
}

const struct field *field_find(const struct field *f, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eqz(name, f[i].name))
			return &f[i];
	return NULL;
}

const struct field *field_nearest(const struct field *f, size_t n, struct str name)
{
	/* Three slips at most, fewer in a short name (two letters that changed places are two); failing that, the same word with more around it. */
	size_t best = name.n <= 2 ? 1 : name.n <= 4 ? 2 : name.n <= 8 ? 3 : 4;
	const struct field *near = NULL, *around = NULL;

	for (size_t i = 0; i < n; i++) {
		struct str known = str_from(f[i].name);
		size_t d = str_distance(name, known);

		if (f[i].flags & FIELD_HIDDEN)
			continue;
		if (d < best) {
			best = d;
			near = &f[i];
		}
		if (name.n >= 4 && known.n >= 4 &&
			(str_find(name, known) < name.n || str_find(known, name) < known.n))
			around = &f[i];
	}
	return near ? near : around;
}
