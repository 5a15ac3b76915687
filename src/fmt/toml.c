/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/toml.h"
#include "fmt/toml_priv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PARTS_MAX 64 /* of one dotted key; it sits on the stack at every level of inline tables */
#define BOM       STR("\xEF\xBB\xBF")

static const char *const kind_names[] = {
	[TOML_STRING] = "a string",
	[TOML_INTEGER] = "an integer",
	[TOML_FLOAT] = "a number",
	[TOML_BOOL] = "true or false",
	[TOML_DATETIME] = "a date and time",
	[TOML_LOCAL_DATETIME] = "a date and time",
	[TOML_LOCAL_DATE] = "a date",
	[TOML_LOCAL_TIME] = "a time",
	[TOML_ARRAY] = "a list",
	[TOML_TABLE] = "a table",
};
_Static_assert(COUNT(kind_names) == TOML_TABLE + 1, "every kind has a name");

/* ------------------------------------------------------------------ places and failures */

void toml_place(struct str text, size_t at, int *line, int *col)
{
	size_t start = str_starts(text, BOM) && at >= BOM.n ? BOM.n : 0;

	*line = 1;
	*col = 1;
	for (size_t i = start; i < at && i < text.n; i++) {
		if (text.p[i] == '\n') {
			(*line)++;
			*col = 1;
		} else if (((unsigned char)text.p[i] & 0xc0) != 0x80) {
			(*col)++;
		}
	}
}

int toml_fail(struct toml_parser *p, size_t at, const char *fmt, ...)
{
	char msg[sizeof(p->err->msg)];
	va_list ap;
	int line, col;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	err_set(p->err, ERR_SYNTAX, "%s", msg);
	toml_place(p->s, at, &line, &col);
	err_at(p->err, p->file, line, col);
	return -ERR_SYNTAX;
}

static int line_of(const struct toml_parser *p, size_t at)
{
	int line, col;

	toml_place(p->s, at, &line, &col);
	return line;
}

/* ------------------------------------------------------------------ the tree */

static uint64_t hash_key(const struct toml *table, struct str name)
{
	uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)(uintptr_t)table;

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 0x100000001b3u;
	return (h ^ h >> 29) * 0x9e3779b97f4a7c15u >> 7;
}

/* The slot of (table, name): the node, or the empty place where it belongs. */
static struct toml **slot_of(const struct toml_parser *p, const struct toml *table, struct str name)
{
	size_t i = hash_key(table, name) & (p->nslots - 1);

	while (p->slots[i] && (p->slots[i]->parent != table || !str_eq(p->slots[i]->name, name)))
		i = (i + 1) & (p->nslots - 1);
	return &p->slots[i];
}

static void grow_slots(struct toml_parser *p)
{
	struct toml **old = p->slots;
	size_t n = p->nslots;

	p->nslots = n > 0 ? 2 * n : 64;
	p->slots = mem_alloc(p->nslots * sizeof(struct toml *));
	for (size_t i = 0; i < n; i++)
		if (old[i])
			*slot_of(p, old[i]->parent, old[i]->name) = old[i];
	free(old);
}

static struct toml *find(const struct toml_parser *p, const struct toml *table, struct str name)
{
	return p->nslots > 0 ? *slot_of(p, table, name) : NULL;
}

static struct toml *new_node(struct toml_parser *p, enum toml_kind kind, enum toml_form form)
{
	struct toml *t = arena_alloc(p->mem, sizeof(*t));

	t->kind = kind;
	t->form = form;
	return t;
}

static void add_child(struct toml *parent, struct toml *child)
{
	child->parent = parent;
	if (parent->last)
		parent->last->next = child;
	else
		parent->first = child;
	parent->last = child;
	parent->n++;
}

static void add_key(struct toml_parser *p, struct toml *table, struct toml *child)
{
	add_child(table, child);
	if (2 * ++p->nkeys > p->nslots)
		grow_slots(p);
	*slot_of(p, table, child->name) = child;
}

/* ------------------------------------------------------------------ white space, comments, line ends */

static void skip_blanks(struct toml_parser *p)
{
	while (toml_peek(p) == ' ' || toml_peek(p) == '\t')
		p->i++;
}

static bool at_line_end(const struct toml_parser *p)
{
	return p->i == p->s.n || toml_peek(p) == '\n' || str_starts(str_skip(p->s, p->i), STR("\r\n"));
}

static int skip_comment(struct toml_parser *p)
{
	if (toml_peek(p) != '#')
		return 0;
	while (!at_line_end(p)) {
		if (toml_is_control(toml_peek(p)))
			return toml_fail(p, p->i, "control character 0x%02x in a comment",
				(unsigned char)toml_peek(p));
		p->i++;
	}
	return 0;
}

static void skip_newline(struct toml_parser *p)
{
	if (toml_peek(p) == '\r')
		p->i++;
	if (p->i < p->s.n)
		p->i++;
}

/* After a value or a header nothing but a comment may follow on the line. */
static int end_line(struct toml_parser *p, const char *after)
{
	skip_blanks(p);
	TRY(skip_comment(p));
	if (!at_line_end(p))
		return toml_fail(p, p->i, "expected the end of the line after %s", after);
	skip_newline(p);
	return 0;
}

/* Between the items of an array: blanks, comments and line ends. */
static int skip_space(struct toml_parser *p)
{
	for (;;) {
		skip_blanks(p);
		TRY(skip_comment(p));
		if (p->i == p->s.n || !at_line_end(p))
			return 0;
		skip_newline(p);
	}
}

static int too_deep(struct toml_parser *p, size_t at, const char *what, int max)
{
	toml_fail(p, at, "%s than %d levels", what, max);
	p->err->code = ERR_LIMIT;
	return -ERR_LIMIT;
}

static int enter(struct toml_parser *p, size_t at, size_t levels)
{
	p->depth += (int)levels;
	return p->depth > TOML_DEPTH_MAX ? too_deep(p, at, "nested deeper", TOML_DEPTH_MAX) : 0;
}

/* ------------------------------------------------------------------ keys */

struct part {
	struct str name;
	size_t at, end;
};
struct parts {
	struct part p[PARTS_MAX];
	size_t n;
};

static int read_part(struct toml_parser *p, struct part *out)
{
	char c = toml_peek(p);

	out->at = p->i;
	if (c == '"' || c == '\'') {
		TRY(toml_read_string(p, false, &out->name));
	} else {
		while (toml_is_bare(toml_peek(p)))
			p->i++;
		if (p->i == out->at)
			return at_line_end(p) ? toml_fail(p, p->i, "expected a key")
					      : toml_fail(p, p->i,
							"expected a key of letters, digits, '_' and "
							"'-', or one in quotes");
		out->name = str_dup(p->mem, str_of(p->s.p + out->at, p->i - out->at));
	}
	out->end = p->i;
	return 0;
}

static int read_parts(struct toml_parser *p, struct parts *out)
{
	out->n = 0;
	for (;;) {
		if (out->n == PARTS_MAX)
			return too_deep(p, p->i, "a key of more", PARTS_MAX);
		TRY(read_part(p, &out->p[out->n++]));
		skip_blanks(p);
		if (toml_peek(p) != '.')
			return 0;
		p->i++;
		skip_blanks(p);
	}
}

/* The path of a table, for messages; nothing for the root and inside lists. */
static struct str spell_table(const struct toml *t, struct buf *out)
{
	const struct toml *up[8];
	size_t n = 0;
	int r = 0;

	for (; t->parent && n < COUNT(up); t = t->parent)
		if (t->name.n > 0)
			up[n++] = t;
	for (size_t i = n; i > 0 && r >= 0; i--) {
		r = buf_addz(out, i < n ? "." : " in ", ERR_DISCARD);
		if (r >= 0)
			r = toml_add_key(out, str_head(up[i - 1]->name, 64), ERR_DISCARD);
	}
	return buf_str(out);
}

/* The first n parts as a person would write them, for messages. */
static struct str spell(const struct parts *key, size_t n, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		if (i > 0)
			r = buf_addc(out, '.', ERR_DISCARD);
		if (r >= 0)
			r = toml_add_key(out, str_head(key->p[i].name, 64), ERR_DISCARD);
	}
	return buf_str(out);
}

static int refuse_twice(struct toml_parser *p, const struct parts *key, size_t n, const struct toml *table,
	const struct toml *first)
{
	auto_buf struct buf name = BUF_MAX(300), where = BUF_MAX(200);
	bool header = first->kind == TOML_TABLE && first->form == TOML_HEADER;

	spell(key, n, &name);
	if (table)
		spell_table(table, &where);
	return toml_fail(p, key->p[n - 1].at, "%s " STR_FMT " is set twice" STR_FMT ", first on line %d",
		header ? "the table" : "the key", STR_ARG(buf_str(&name)), STR_ARG(buf_str(&where)),
		line_of(p, first->key_at));
}

static int refuse_closed(struct toml_parser *p, const struct parts *key, size_t n, const struct toml *closed)
{
	auto_buf struct buf name = BUF_MAX(400);

	spell(key, n, &name);
	if (closed->kind != TOML_TABLE && closed->kind != TOML_ARRAY)
		return toml_fail(p, key->p[n - 1].at, STR_FMT " is %s, set on line %d, and holds no keys",
			STR_ARG(buf_str(&name)), kind_names[closed->kind], line_of(p, closed->key_at));
	return toml_fail(p, key->p[n - 1].at,
		STR_FMT " is complete since line %d and takes no more keys here", STR_ARG(buf_str(&name)),
		line_of(p, closed->key_at));
}

static struct toml *new_table(struct toml_parser *p, const struct part *part, enum toml_form form)
{
	struct toml *t = new_node(p, TOML_TABLE, form);

	t->name = part->name;
	t->line_at = t->key_at = t->at = (uint32_t)part->at;
	t->key_end = t->end = (uint32_t)part->end;
	return t;
}

/* ------------------------------------------------------------------ values */

static int read_value(struct toml_parser *p, struct toml *out);

static int read_array(struct toml_parser *p, struct toml *out)
{
	size_t start = p->i++;

	TRY(enter(p, start, 1));
	out->kind = TOML_ARRAY;
	for (;;) {
		TRY(skip_space(p));
		if (toml_peek(p) == ']')
			break;
		if (p->i == p->s.n)
			return toml_fail(p, start, "the list that starts here is not closed");
		struct toml *item = new_node(p, TOML_ARRAY, TOML_VALUE);
		TRY(read_value(p, item));
		item->line_at = item->key_at = item->key_end = item->at;
		add_child(out, item);
		TRY(skip_space(p));
		if (toml_peek(p) == ',')
			p->i++;
		else if (p->i == p->s.n)
			return toml_fail(p, start, "the list that starts here is not closed");
		else if (toml_peek(p) != ']')
			return toml_fail(p, p->i, "expected ',' or ']' in the list that starts on line %d",
				line_of(p, start));
	}
	p->i++;
	p->depth--;
	return 0;
}

/* key = value below `table`: through dotted tables only, to a name that is new. */
static int read_pair(struct toml_parser *p, struct toml *table, struct toml **out)
{
	const struct toml *base = table;
	struct parts key;

	TRY(read_parts(p, &key));
	if (toml_peek(p) != '=')
		return toml_fail(p, p->i, "expected '=' after the key");
	for (size_t k = 0; k + 1 < key.n; k++) {
		struct toml *t = find(p, table, key.p[k].name);

		if (t && (t->kind != TOML_TABLE || t->form != TOML_DOTTED))
			return refuse_closed(p, &key, k + 1, t);
		if (!t) {
			t = new_table(p, &key.p[k], TOML_DOTTED);
			add_key(p, table, t);
		}
		table = t;
	}
	const struct part *last = &key.p[key.n - 1];
	const struct toml *first = find(p, table, last->name);
	if (first)
		return refuse_twice(p, &key, key.n, base, first);

	struct toml *v = new_node(p, TOML_ARRAY, TOML_VALUE);
	p->i++;
	skip_blanks(p);
	TRY(enter(p, p->i, key.n - 1));
	TRY(read_value(p, v));
	p->depth -= (int)key.n - 1;
	v->name = last->name;
	v->line_at = (uint32_t)key.p[0].at;
	v->key_at = (uint32_t)last->at;
	v->key_end = (uint32_t)last->end;
	add_key(p, table, v);
	*out = v;
	return 0;
}

static int read_inline_table(struct toml_parser *p, struct toml *out)
{
	size_t start = p->i++;
	struct toml *pair;

	TRY(enter(p, start, 1));
	out->kind = TOML_TABLE;
	skip_blanks(p);
	if (toml_peek(p) == '}') {
		p->i++;
		p->depth--;
		return 0;
	}
	for (;;) {
		skip_blanks(p);
		TRY(read_pair(p, out, &pair));
		skip_blanks(p);
		if (toml_peek(p) == '}')
			break;
		if (at_line_end(p))
			return toml_fail(p, start, "the table that starts here is not closed on its line");
		if (toml_peek(p) != ',')
			return toml_fail(p, p->i, "expected ',' or '}' in the table that starts on line %d",
				line_of(p, start));
		p->i++;
	}
	p->i++;
	p->depth--;
	return 0;
}

static int read_value(struct toml_parser *p, struct toml *out)
{
	size_t at = p->i;
	char c = toml_peek(p);

	if (c == '"' || c == '\'') {
		out->kind = TOML_STRING;
		TRY(toml_read_string(p, true, &out->text));
	} else if (c == '[') {
		TRY(read_array(p, out));
	} else if (c == '{') {
		TRY(read_inline_table(p, out));
	} else {
		TRY(toml_read_scalar(p, out));
	}
	out->at = (uint32_t)at;
	out->end = (uint32_t)p->i;
	return 0;
}

/* ------------------------------------------------------------------ headers */

/* All but the last name of a header: through any table that is open, making what is missing. */
static int walk_header(struct toml_parser *p, struct toml *root, const struct parts *key, struct toml **out)
{
	struct toml *table = root;

	for (size_t k = 0; k + 1 < key->n; k++) {
		struct toml *t = find(p, table, key->p[k].name);

		if (!t) {
			t = new_table(p, &key->p[k], TOML_IMPLICIT);
			add_key(p, table, t);
		}
		if (t->form == TOML_VALUE)
			return refuse_closed(p, key, k + 1, t);
		table = t->kind == TOML_ARRAY ? t->last : t;
	}
	*out = table;
	return 0;
}

static int open_element(struct toml_parser *p, struct toml *table, const struct parts *key, struct toml **out)
{
	const struct part *last = &key->p[key->n - 1];
	struct toml *list = find(p, table, last->name);

	if (list && list->form != TOML_ELEMENTS)
		return list->form == TOML_VALUE ? refuse_closed(p, key, key->n, list)
						: refuse_twice(p, key, key->n, NULL, list);
	if (!list) {
		list = new_table(p, last, TOML_ELEMENTS);
		list->kind = TOML_ARRAY;
		add_key(p, table, list);
	}
	struct toml *item = new_table(p, last, TOML_HEADER);
	item->name = STR("");
	add_child(list, item);
	*out = item;
	return 0;
}

static int open_table(struct toml_parser *p, struct toml *table, const struct parts *key, struct toml **out)
{
	const struct part *last = &key->p[key->n - 1];
	struct toml *t = find(p, table, last->name);

	if (t && t->form != TOML_IMPLICIT)
		return refuse_twice(p, key, key->n, NULL, t);
	if (!t) {
		t = new_table(p, last, TOML_HEADER);
		add_key(p, table, t);
	}
	t->form = TOML_HEADER;
	t->line_at = t->key_at = (uint32_t)last->at;
	t->key_end = (uint32_t)last->end;
	*out = t;
	return 0;
}

static int read_header(struct toml_parser *p, struct toml *root, struct toml **out)
{
	size_t start = p->i;
	bool element = str_starts(str_skip(p->s, p->i), STR("[["));
	struct parts key;
	struct toml *table = root;

	p->i += element ? 2 : 1;
	skip_blanks(p);
	TRY(read_parts(p, &key));
	if (!str_starts(str_skip(p->s, p->i), element ? STR("]]") : STR("]")))
		return toml_fail(
			p, p->i, "expected '%s' at the end of the table's name", element ? "]]" : "]");
	p->i += element ? 2 : 1;
	TRY(walk_header(p, root, &key, &table));
	TRY(element ? open_element(p, table, &key, &table) : open_table(p, table, &key, &table));
	table->at = (uint32_t)start;
	table->end = (uint32_t)p->i;
	TRY(end_line(p, "the table's name"));
	table->body_end = (uint32_t)p->i;
	*out = table;
	return 0;
}

static int read_document(struct toml_parser *p, struct toml *root)
{
	struct toml *table = root, *pair = NULL;

	if (str_starts(p->s, BOM))
		p->i = BOM.n;
	root->body_end = (uint32_t)p->i;
	for (;;) {
		TRY(skip_space(p));
		if (p->i == p->s.n)
			return 0;
		if (toml_peek(p) == '[') {
			TRY(read_header(p, root, &table));
			continue;
		}
		TRY(read_pair(p, table, &pair));
		TRY(end_line(p, "the value"));
		for (struct toml *t = pair->parent;; t = t->parent) {
			t->body_end = (uint32_t)p->i;
			if (t == table)
				break;
		}
	}
}

/* ------------------------------------------------------------------ the door */

static int check_text(struct toml_parser *p)
{
	size_t i = 0;

	if (p->s.n > TOML_MAX) {
		err_set(p->err, ERR_LIMIT, "%zu bytes, more than %zu", p->s.n, TOML_MAX);
		err_at(p->err, p->file, 1, 1);
		return -ERR_LIMIT;
	}
	while (i < p->s.n) {
		size_t at = i;

		if (utf8_next(p->s, &i) < 0)
			return toml_fail(p, at, "byte 0x%02x is not UTF-8", (unsigned char)p->s.p[at]);
	}
	return 0;
}

int toml_parse(struct str text, const char *file, struct arena *mem, struct toml **out, struct err *err)
{
	struct toml_parser p = { .s = text, .file = file, .mem = mem, .err = err };
	struct toml *root = new_node(&p, TOML_TABLE, TOML_HEADER);
	int r = check_text(&p);

	if (r >= 0)
		r = read_document(&p, root);
	free(p.slots);
	if (r >= 0)
		*out = root;
	return r < 0 ? r : 0;
}

int toml_value(struct str text, struct arena *mem, struct toml **out, struct err *err)
{
	struct toml_parser p = { .s = text, .file = "", .mem = mem, .err = err };
	struct toml *v = new_node(&p, TOML_ARRAY, TOML_VALUE);
	int r = check_text(&p);

	if (r >= 0)
		r = read_value(&p, v);
	free(p.slots);
	if (r >= 0 && p.i < text.n)
		r = toml_fail(&p, p.i, "expected nothing after the value");
	if (r >= 0)
		*out = v;
	return r < 0 ? r : 0;
}

int toml_key(struct str text, struct arena *mem, struct str **out, size_t *out_n, struct err *err)
{
	struct toml_parser p = { .s = text, .file = "", .mem = mem, .err = err };
	struct parts key;

	TRY(check_text(&p));
	TRY(read_parts(&p, &key));
	if (p.i < text.n)
		return toml_fail(&p, p.i, "expected '.' or the end of the key");
	*out = arena_array(mem, key.n, sizeof(**out));
	for (size_t i = 0; i < key.n; i++)
		(*out)[i] = key.p[i].name;
	*out_n = key.n;
	return 0;
}

struct toml *toml_get(const struct toml *table, struct str name)
{
	if (table->kind != TOML_TABLE)
		return NULL;
	for (struct toml *t = table->first; t; t = t->next)
		if (str_eq(t->name, name))
			return t;
	return NULL;
}

struct toml *toml_find(const struct toml *root, const struct str *path, size_t n)
{
	struct toml *t = (struct toml *)root;

	for (size_t i = 0; i < n && t; i++)
		t = toml_get(t, path[i]);
	return t;
}

const char *toml_kind_name(enum toml_kind kind)
{
	return kind_names[kind];
}

static bool equal_children(const struct toml *a, const struct toml *b)
{
	if (a->n != b->n)
		return false;
	for (const struct toml *x = a->first, *y = b->first; x; x = x->next, y = y ? y->next : NULL) {
		const struct toml *other = a->kind == TOML_TABLE ? toml_get(b, x->name) : y;

		if (!other || !toml_equal(x, other))
			return false;
	}
	return true;
}

bool toml_equal(const struct toml *a, const struct toml *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case TOML_INTEGER:
		return a->integer == b->integer;
	case TOML_FLOAT:
		return a->real == b->real || (isnan(a->real) && isnan(b->real));
	case TOML_BOOL:
		return a->boolean == b->boolean;
	case TOML_ARRAY:
	case TOML_TABLE:
		return equal_children(a, b);
	default:
		return str_eq(a->text, b->text);
	}
}

int toml_add_string(struct buf *out, struct str s, struct err *err)
{
	size_t at = out->n;

	TRY(json_add_quoted(out, s, err));
	/* TOML's escapes are JSON's, but DEL may not stand for itself. */
	for (; at < out->n; at++)
		if (out->p[at] == 0x7f)
			TRY(buf_splice(out, at, 1, STR("\\u007f"), err));
	return 0;
}

int toml_add_key(struct buf *out, struct str name, struct err *err)
{
	bool bare = name.n > 0;

	for (size_t i = 0; i < name.n; i++)
		bare = bare && toml_is_bare(name.p[i]);
	return bare ? buf_add(out, name, err) : toml_add_string(out, name, err);
}
