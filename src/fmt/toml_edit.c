/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/toml.h"

#include <string.h>

/* One edit: the text is parsed, changed in a copy and parsed again; only then it becomes the text. */
struct edit {
	struct buf text; /* the copy */
	struct arena *mem;
	struct toml *root;
	const struct str *path; /* borrowed */
	size_t n;
	struct err *err;
};

static void edit_fini(struct edit *e)
{
	buf_fini(&e->text);
	arena_free(e->mem);
}
#define auto_edit CLEANUP(edit_fini)

static int edit_init(
	struct edit *e, const struct buf *text, const struct str *path, size_t n, struct err *err)
{
	BUG_IF(n == 0);
	*e = (struct edit){
		.text = BUF_MAX(text->max), .mem = arena_new(), .path = path, .n = n, .err = err
	};
	TRY(buf_add(&e->text, buf_str(text), err));
	return toml_parse(buf_str(&e->text), "", e->mem, &e->root, err);
}

static struct str dotted(const struct str *path, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && buf_addc(out, '.', ERR_DISCARD) < 0)
			break;
		if (toml_add_key(out, path[i], ERR_DISCARD) < 0)
			break;
	}
	return buf_str(out);
}

/* About the first n names of the path. */
static int refuse(const struct edit *e, size_t n, const char *what)
{
	auto_buf struct buf name = BUF_MAX(500);

	dotted(e->path, n, &name);
	return err_set(e->err, ERR_INVALID, STR_FMT " is %s; it must be edited by hand",
		STR_ARG(buf_str(&name)), what);
}

/* Puts the changed copy in the place of the text, once it parses and says what was asked for. */
static int edit_take(struct edit *e, struct buf *text, const struct toml *want)
{
	struct toml *root = NULL, *got;

	if (toml_parse(buf_str(&e->text), "", e->mem, &root, ERR_DISCARD) < 0)
		return refuse(e, e->n, "written in a way this edit cannot follow");
	got = toml_find(root, e->path, e->n);
	if (want ? !got || !toml_equal(got, want) : got != NULL)
		return refuse(e, e->n, "written in a way this edit cannot follow");
	size_t max = text->max;
	buf_fini(text);
	text->n = e->text.n;
	text->cap = e->text.cap;
	text->p = buf_take(&e->text);
	text->max = max;
	return 1;
}

static int splice(struct edit *e, size_t at, size_t end, struct str ins)
{
	return buf_splice(&e->text, at, end - at, ins, e->err);
}

/* ------------------------------------------------------------------ looking around in the text */

static const char *newline_of(struct str text)
{
	size_t lf = str_find(text, STR("\n"));

	return lf < text.n && lf > 0 && text.p[lf - 1] == '\r' ? "\r\n" : "\n";
}

static size_t text_start(struct str text) /* after the byte order mark */
{
	return str_starts(text, STR("\xEF\xBB\xBF")) ? 3 : 0;
}

static size_t line_start(struct str text, size_t at)
{
	size_t nl = str_rfind(str_head(text, at), '\n');

	return nl < at ? nl + 1 : text_start(text);
}

static size_t line_end(struct str text, size_t at) /* after its newline */
{
	size_t lf = str_find(str_skip(text, at), STR("\n"));

	return at + lf < text.n ? at + lf + 1 : text.n;
}

static size_t skip_blanks(struct str text, size_t at)
{
	while (at < text.n && (text.p[at] == ' ' || text.p[at] == '\t'))
		at++;
	return at;
}

static size_t skip_blanks_back(struct str text, size_t at)
{
	while (at > 0 && (text.p[at - 1] == ' ' || text.p[at - 1] == '\t'))
		at--;
	return at;
}

/* What stands before `at` on its line, when that is white space only; otherwise nothing and false. */
static bool indent_at(struct str text, size_t at, struct str *indent)
{
	size_t start = line_start(text, at);

	*indent = str_of(text.p + start, at - start);
	return skip_blanks(text, start) >= at;
}

/* The comma after an item, past comments and line ends; 0 when the list ends first. */
static size_t comma_after(struct str text, size_t at)
{
	for (; at < text.n && text.p[at] != ']'; at++) {
		if (text.p[at] == ',')
			return at;
		if (text.p[at] == '#')
			at = line_end(text, at) - 1;
	}
	return 0;
}

/* ------------------------------------------------------------------ set */

/* Where the last table at or below t ends. */
static size_t last_end(const struct toml *t)
{
	size_t end = t->form == TOML_HEADER ? t->body_end : 0;

	for (const struct toml *c = t->first; c; c = c->next) {
		size_t below = c->form == TOML_VALUE || c->form == TOML_DOTTED ? 0 : last_end(c);

		if (below > end)
			end = below;
	}
	return end;
}

static int set_in_new_table(struct edit *e, const struct toml *near, struct str value)
{
	auto_buf struct buf ins = BUF_MAX(TOML_MAX);
	struct str text = buf_str(&e->text);
	const char *nl = newline_of(text);
	size_t at = near == e->root ? text.n : last_end(near);
	bool blank = at == text_start(text);

	if (!blank && text.p[at - 1] != '\n')
		TRY(buf_addz(&ins, nl, e->err));
	if (!blank)
		TRY(buf_addz(&ins, nl, e->err));
	TRY(buf_addc(&ins, '[', e->err));
	for (size_t i = 0; i + 1 < e->n; i++) {
		TRY(buf_addz(&ins, i > 0 ? "." : "", e->err));
		TRY(toml_add_key(&ins, e->path[i], e->err));
	}
	TRY(buf_addf(&ins, e->err, "]%s", nl));
	TRY(toml_add_key(&ins, e->path[e->n - 1], e->err));
	TRY(buf_addf(&ins, e->err, " = " STR_FMT "%s", STR_ARG(value), nl));
	return splice(e, at, at, buf_str(&ins));
}

/* Path from the depth of `base` on, as a dotted key. */
static int add_pair(struct edit *e, size_t depth, struct str value, struct buf *out)
{
	for (size_t i = depth; i < e->n; i++) {
		TRY(buf_addz(out, i > depth ? "." : "", e->err));
		TRY(toml_add_key(out, e->path[i], e->err));
	}
	return buf_addf(out, e->err, " = " STR_FMT, STR_ARG(value));
}

static int set_in_braces(struct edit *e, const struct toml *base, size_t depth, struct str value)
{
	auto_buf struct buf ins = BUF_MAX(TOML_MAX);
	struct str text = buf_str(&e->text);
	size_t at = skip_blanks_back(text, base->end - 1);

	TRY(buf_addz(&ins, base->n > 0 ? ", " : " ", e->err));
	TRY(add_pair(e, depth, value, &ins));
	if (base->n == 0)
		TRY(buf_addc(&ins, ' ', e->err));
	return splice(e, at, base->n > 0 ? at : base->end - 1, buf_str(&ins));
}

static int set_on_new_line(struct edit *e, size_t at, const struct toml *base, size_t depth, struct str value)
{
	auto_buf struct buf ins = BUF_MAX(TOML_MAX);
	struct str text = buf_str(&e->text), indent = STR("");
	const char *nl = newline_of(text);

	if (at > text_start(text) && text.p[at - 1] != '\n')
		TRY(buf_addz(&ins, nl, e->err));
	if (base->last && base->last->form == TOML_VALUE && !indent_at(text, base->last->line_at, &indent))
		indent = STR("");
	TRY(buf_add(&ins, indent, e->err));
	TRY(add_pair(e, depth, value, &ins));
	TRY(buf_addz(&ins, nl, e->err));
	return splice(e, at, at, buf_str(&ins));
}

/* The deepest table of the path that exists; *depth names of the path lead to it. */
static int deepest(struct edit *e, struct toml **out, size_t *depth)
{
	struct toml *t = e->root;
	size_t k = 0;

	for (; k < e->n; k++) {
		struct toml *c = toml_get(t, e->path[k]);

		if (!c)
			break;
		if (c->kind == TOML_ARRAY && c->form == TOML_ELEMENTS)
			return refuse(e, k + 1, "a list of tables");
		if (c->kind != TOML_TABLE)
			return refuse(e, k + 1, toml_kind_name(c->kind));
		t = c;
	}
	*out = t;
	*depth = k;
	return 0;
}

static int set_new(struct edit *e, struct str value)
{
	struct toml *t = e->root, *base;
	size_t depth = 0;

	TRY(deepest(e, &t, &depth));
	if (depth == e->n)
		return refuse(e, e->n, "a table");
	base = t;
	while (base->form == TOML_DOTTED) {
		base = base->parent;
		depth--;
	}
	if (base->form == TOML_VALUE)
		return set_in_braces(e, base, depth, value);
	if (t->form == TOML_DOTTED || (t->form == TOML_HEADER && depth + 1 == e->n))
		return set_on_new_line(e, t->body_end, base, depth, value);
	return set_in_new_table(e, t, value);
}

int toml_set(struct buf *text, const struct str *path, size_t n, struct str value, struct err *err)
{
	auto_edit struct edit e = { 0 };
	struct toml *want = NULL, *v;

	TRY(edit_init(&e, text, path, n, err));
	TRY(toml_value(value, e.mem, &want, err));
	v = toml_find(e.root, path, n);
	if (v && v->form == TOML_VALUE)
		TRY(splice(&e, v->at, v->end, value));
	else
		TRY(set_new(&e, value));
	return edit_take(&e, text, want);
}

/* ------------------------------------------------------------------ unset */

static int cut_in_braces(struct edit *e, const struct toml *v)
{
	struct str text = buf_str(&e->text);
	size_t at = skip_blanks_back(text, v->line_at), end = skip_blanks(text, v->end);

	if (text.p[end] == ',')
		return splice(e, v->line_at, skip_blanks(text, end + 1), STR(""));
	if (text.p[at - 1] == ',')
		return splice(e, at - 1, v->end, STR(""));
	return splice(e, at, end, STR(""));
}

int toml_unset(struct buf *text, const struct str *path, size_t n, struct err *err)
{
	auto_edit struct edit e = { 0 };
	struct toml *v, *base;

	TRY(edit_init(&e, text, path, n, err));
	v = toml_find(e.root, path, n);
	if (!v)
		return 0;
	if (v->form != TOML_VALUE)
		return refuse(&e, n, v->kind == TOML_ARRAY ? "a list of tables" : "a table");
	base = v->parent;
	while (base->form == TOML_DOTTED)
		base = base->parent;
	if (base->form == TOML_VALUE)
		TRY(cut_in_braces(&e, v));
	else
		TRY(splice(&e, line_start(buf_str(&e.text), v->line_at), line_end(buf_str(&e.text), v->end),
			STR("")));
	return edit_take(&e, text, NULL);
}

/* From `at`, at the start of a line, past blank lines. */
static size_t skip_blank_lines(struct str text, size_t at)
{
	for (size_t end; at < text.n; at = end) {
		end = line_end(text, at);
		if (str_trim(str_of(text.p + at, end - at)).n > 0)
			return at;
	}
	return at;
}

static bool is_comment_above(struct str text, size_t at)
{
	size_t above = at > text_start(text) ? line_start(text, at - 1) : at;

	return above < at && text.p[skip_blanks(text, above)] == '#';
}

int toml_prune(struct buf *text, const struct str *path, size_t n, struct err *err)
{
	auto_edit struct edit e = { 0 };
	const struct toml *t;
	struct str all;
	size_t from, end, next;

	TRY(edit_init(&e, text, path, n, err));
	t = toml_find(e.root, path, n);
	if (!t || t->kind != TOML_TABLE || t->form != TOML_HEADER || t->first)
		return 0;
	all = buf_str(&e.text);
	from = line_start(all, t->at);
	end = line_end(all, t->end);
	next = skip_blank_lines(all, end);
	if (str_trim(str_of(all.p + t->end, end - t->end)).n > 0 || is_comment_above(all, from) ||
		(next < all.n && all.p[skip_blanks(all, next)] != '['))
		return 0;
	while (next == all.n && from > text_start(all) && str_trim(str_of(all.p + line_start(all, from - 1), from - line_start(all, from - 1))).n == 0)
		from = line_start(all, from - 1);
	TRY(splice(&e, from, next, STR("")));
	return edit_take(&e, text, NULL);
}

/* ------------------------------------------------------------------ lists */

static int append_first(struct edit *e, const struct toml *list, struct str value)
{
	struct str text = buf_str(&e->text);
	size_t end = skip_blanks(text, list->at + 1);

	return splice(e, list->at + 1, text.p[end] == ']' ? end : list->at + 1, value);
}

/* The last item has a line of its own, and so will the new one. */
static int append_line(struct edit *e, const struct toml *last, struct str indent, struct str value)
{
	auto_buf struct buf ins = BUF_MAX(TOML_MAX);
	struct str text = buf_str(&e->text);
	size_t comma = comma_after(text, last->end);
	size_t at = comma > 0 ? comma + 1 : last->end, comment = skip_blanks(text, at);

	if (text.p[comment] == '#') /* a comment on that line belongs to the item before */
		at = comment + str_find_any(str_skip(text, comment), STR("\r\n"));
	TRY(buf_addf(&ins, e->err, "%s" STR_FMT STR_FMT "%s", newline_of(text), STR_ARG(indent),
		STR_ARG(value), comma > 0 ? "," : ""));
	TRY(splice(e, at, at, buf_str(&ins)));
	return comma > 0 ? 0 : splice(e, last->end, last->end, STR(","));
}

static int append(struct edit *e, const struct toml *list, struct str value)
{
	auto_buf struct buf ins = BUF_MAX(TOML_MAX);
	struct str indent;

	if (!list->last)
		return append_first(e, list, value);
	if (indent_at(buf_str(&e->text), list->last->at, &indent))
		return append_line(e, list->last, str_dup(e->mem, indent), value);
	TRY(buf_addf(&ins, e->err, ", " STR_FMT, STR_ARG(value)));
	return splice(e, list->last->end, list->last->end, buf_str(&ins));
}

static int open_list(struct edit *e, struct toml **out)
{
	struct toml *v = toml_find(e->root, e->path, e->n);

	if (v && (v->kind != TOML_ARRAY || v->form != TOML_VALUE))
		return refuse(e, e->n, v->kind == TOML_ARRAY ? "a list of tables" : toml_kind_name(v->kind));
	*out = v;
	return 0;
}

static struct toml *item_like(const struct toml *list, const struct toml *value)
{
	for (struct toml *t = list->first; t; t = t->next)
		if (toml_equal(t, value))
			return t;
	return NULL;
}

static void add_item(struct toml *list, struct toml *item)
{
	item->next = NULL;
	*(list->last ? &list->last->next : &list->first) = item;
	list->last = item;
	list->n++;
}

/* The list as it should read after the edit: its items but `without`, then `with`. */
static struct toml *wanted(
	struct arena *mem, const struct toml *list, const struct toml *without, struct toml *with)
{
	struct toml *want = arena_alloc(mem, sizeof(*want));

	want->kind = TOML_ARRAY;
	for (const struct toml *t = list->first; t; t = t->next) {
		struct toml *copy = arena_alloc(mem, sizeof(*copy));

		*copy = *t;
		if (t != without)
			add_item(want, copy);
	}
	if (with)
		add_item(want, with);
	return want;
}

int toml_append(struct buf *text, const struct str *path, size_t n, struct str value, struct err *err)
{
	auto_edit struct edit e = { 0 };
	struct toml *list = NULL, *item = NULL;

	TRY(edit_init(&e, text, path, n, err));
	TRY(toml_value(value, e.mem, &item, err));
	TRY(open_list(&e, &list));
	if (!list) {
		struct str whole = str_printf(e.mem, "[" STR_FMT "]", STR_ARG(value));

		return toml_set(text, path, n, whole, err);
	}
	if (item_like(list, item))
		return 0;
	TRY(append(&e, list, value));
	return edit_take(&e, text, wanted(e.mem, list, NULL, item));
}

static int drop(struct edit *e, const struct toml *list, const struct toml *item)
{
	struct str text = buf_str(&e->text), indent;
	const struct toml *before = NULL;
	size_t comma = comma_after(text, item->end);
	size_t after = skip_blanks(text, comma > 0 ? comma + 1 : item->end);
	bool alone = indent_at(text, item->at, &indent);

	for (const struct toml *t = list->first; t != item; t = t->next)
		before = t;
	if (alone && strchr("#\r\n", text.p[after]))
		return splice(e, line_start(text, item->at), line_end(text, after), STR(""));
	if (comma > 0)
		return splice(e, item->at, after, STR(""));
	if (before && str_find(str_of(text.p + before->end, item->at - before->end), STR("\n")) ==
			      item->at - before->end)
		return splice(e, before->end, item->end, STR(""));
	return splice(e, item->at, item->end, STR(""));
}

int toml_drop(struct buf *text, const struct str *path, size_t n, struct str value, struct err *err)
{
	auto_edit struct edit e = { 0 };
	struct toml *list = NULL, *value_ = NULL, *item;

	TRY(edit_init(&e, text, path, n, err));
	TRY(toml_value(value, e.mem, &value_, err));
	TRY(open_list(&e, &list));
	item = list ? item_like(list, value_) : NULL;
	if (!item)
		return 0;
	TRY(drop(&e, list, item));
	return edit_take(&e, text, wanted(e.mem, list, item, NULL));
}
