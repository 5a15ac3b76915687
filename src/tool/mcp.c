/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/mcp.h"

#include "fmt/cquote.h"
#include "fmt/mcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX    64  /* what model servers take as a name */
#define HASH_CHARS   7   /* '_' and six digits */
#define SCHEMA_DEPTH 32
#define TEXT_MAX     ((size_t)8 * 1024 * 1024)
#define NAMED_MAX    100 /* bytes of a name in a message */

/* ---- text ---- */

/* Controls, and what is not seen: zero width, direction marks, tags. */
static bool is_hidden(int32_t c)
{
	return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || c == 0xad || (c >= 0x200b && c <= 0x200f) ||
		(c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
		(c >= 0xe0000 && c <= 0xe007f);
}

int mcp_clean(struct buf *out, struct str s, struct err *err)
{
	size_t good = 0;

	for (size_t i = 0; i < s.n;) {
		size_t at = i;
		int32_t c = utf8_next(s, &i);

		if (c >= 0 && !is_hidden(c))
			continue;
		TRY(buf_add(out, str_of(s.p + good, at - good), err));
		if (c < 0)
			TRY(buf_addz(out, "\xef\xbf\xbd", err));
		good = i;
	}
	return buf_add(out, str_skip(s, good), err);
}

static int clean_text(struct jval v, size_t max, struct arena *mem, struct str *out, struct err *err)
{
	auto_buf struct buf raw = BUF_MAX(TEXT_MAX * 3), text = BUF_MAX(TEXT_MAX * 3);
	struct str s;

	*out = STR("");
	if (v.type != JSCAN_STRING)
		return 0;
	TRY(jval_add_text(&raw, v, NUL_REPLACE, err));
	jtext_repair(&raw, 0);
	TRY(mcp_clean(&text, buf_str(&raw), err));
	s = buf_str(&text);
	*out = s.n <= max ? str_dup(mem, s) : str_printf(mem, STR_FMT "...", STR_ARG(str_head(s, utf8_head(s, max - 3))));
	return 0;
}

/* ---- a list ---- */

/* Where several of them stand at the top, a model server refuses the request. */
static bool is_dropped(struct jval key)
{
	static const char *const keys[] = { "$schema", "$id", "$ref", "type", "anyOf", "oneOf", "allOf", "not", "enum", "const", "if",
		"then", "else" };

	for (size_t i = 0; i < COUNT(keys); i++)
		if (jval_is(key, keys[i]))
			return true;
	return false;
}

static bool too_deep(struct str s)
{
	int depth = 0;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '"') {
			for (i++; i < s.n && s.p[i] != '"'; i++)
				i += s.p[i] == '\\';
			continue;
		}
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		if (depth > SCHEMA_DEPTH)
			return true;
	}
	return false;
}

/* An object of arguments, whatever came: what says more than that at the top goes. */
static int read_schema(struct jval v, struct arena *mem, struct mcp_listed *t, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(TEXT_MAX), clean = BUF_MAX(TEXT_MAX);
	struct jval key, value, type = jval_get(v, "type");
	size_t pos = 0;

	if (type.type != JSCAN_NONE && !jval_is(type, "object")) {
		t->fault = "its arguments are no object";
		return 0;
	}
	TRY(buf_addz(&b, "{\"type\":\"object\"", err));
	while (v.type == JSCAN_OBJECT && jval_next(v, &pos, &key, &value)) {
		if (is_dropped(key))
			continue;
		TRY(buf_addc(&b, ',', err));
		TRY(jval_add(&b, key, NUL_REPLACE, err));
		TRY(buf_addc(&b, ':', err));
		TRY(jval_add(&b, value, NUL_REPLACE, err));
	}
	if (jval_get(v, "properties").type != JSCAN_OBJECT && v.type != JSCAN_OBJECT)
		TRY(buf_addz(&b, ",\"properties\":{}", err));
	TRY(buf_addc(&b, '}', err));
	TRY(mcp_clean(&clean, buf_str(&b), err));
	t->headers = str_find(buf_str(&clean), STR("\"x-mcp-header\"")) < clean.n;
	if (clean.n > MCP_SCHEMA_MAX)
		t->fault = "the description of its arguments is too long";
	else if (too_deep(buf_str(&clean)))
		t->fault = "the description of its arguments is too deep";
	else
		t->schema = str_dup(mem, buf_str(&clean));
	return 0;
}

static int read_tool(struct jval v, struct arena *mem, struct mcp_listed *t, struct err *err)
{
	auto_buf struct buf name = BUF_MAX(TEXT_MAX);

	*t = (struct mcp_listed){ 0 };
	if (v.type != JSCAN_OBJECT || jval_get(v, "name").type != JSCAN_STRING) {
		t->fault = "it has no name";
		return 0;
	}
	TRY(jval_add_text(&name, jval_get(v, "name"), NUL_REPLACE, err));
	jtext_repair(&name, 0);
	t->name = str_dup(mem, str_head(buf_str(&name), 4096));
	if (!mcp_tool_ok(t->name))
		t->fault = "its name is not 1 to 128 characters of printable ASCII";
	else if (jval_is(jval_get(jval_get(v, "execution"), "taskSupport"), "required"))
		t->fault = "it needs an extension for tasks";
	if (t->fault)
		return 0;
	TRY(clean_text(jval_get(v, "description"), MCP_HELP_MAX, mem, &t->help, err));
	return read_schema(jval_get(v, "inputSchema"), mem, t, err);
}

static struct mcp_listed *place(struct mcp_list *l, struct arena *mem)
{
	if (l->n == l->cap) {
		size_t cap = l->cap > 0 ? 2 * l->cap : 32;
		struct mcp_listed *bigger = arena_array(mem, cap, sizeof(*bigger));

		if (l->n > 0)
			memcpy(bigger, l->p, l->n * sizeof(*bigger));
		l->p = bigger;
		l->cap = cap;
	}
	return &l->p[l->n++];
}

int mcp_read_page(struct jval result, struct arena *mem, struct mcp_list *list, struct str *cursor, struct err *err)
{
	struct jval tools = jval_get(result, "tools"), next = jval_get(result, "nextCursor"), v;
	auto_buf struct buf text = BUF_MAX(TEXT_MAX);
	size_t pos = 0;

	if (tools.type != JSCAN_ARRAY)
		return err_set(err, ERR_INVALID, "its list of tools is none");
	while (jval_next(tools, &pos, NULL, &v)) {
		if (list->n == MCP_LISTED_MAX) {
			list->more++;
			continue;
		}
		TRY(read_tool(v, mem, place(list, mem), err));
	}
	*cursor = STR("");
	if (next.type != JSCAN_STRING)
		return 0;
	TRY(jval_add_text(&text, next, NUL_REPLACE, err));
	jtext_repair(&text, 0);
	if (text.n > MCP_CURSOR_MAX)
		return err_set(err, ERR_LIMIT, "the cursor of its list is longer than %d bytes", MCP_CURSOR_MAX);
	*cursor = str_dup(mem, buf_str(&text));
	return 0;
}

/* ---- what is offered ---- */

static uint32_t hash(struct str s)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 16777619u;
	return h;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* hashed: with a mark of the whole name at its end. */
static struct str show(struct str server, struct str name, bool hashed, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(4096);
	size_t max;

	BUG_IF(buf_addf(&b, ERR_DISCARD, "mcp__" STR_FMT "__", STR_ARG(server)) < 0);
	hashed = hashed || b.n + name.n > SHOWN_MAX;
	max = SHOWN_MAX - (hashed ? HASH_CHARS : 0);
	for (size_t i = 0; i < name.n && b.n < max; i++)
		BUG_IF(buf_addc(&b, is_plain(name.p[i]) ? name.p[i] : '_', ERR_DISCARD) < 0);
	if (hashed)
		BUG_IF(buf_addf(&b, ERR_DISCARD, "_%06x", hash(name) & 0xffffff) < 0);
	return str_dup(mem, buf_str(&b));
}

static bool is_clean(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!is_plain(name.p[i]))
			return false;
	return true;
}

static bool holds(const struct str_list *l, struct str s)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(l->p[i], s))
			return true;
	return false;
}

const struct mcp_tool *mcp_tool_find(const struct mcp_catalogue *c, struct str shown)
{
	for (size_t i = 0; i < c->n; i++)
		if (str_eq(c->p[i].shown, shown))
			return &c->p[i];
	return NULL;
}

/* Names that a model server takes as they are come first, so that no other name takes theirs. */
static int by_name(const void *a, const void *b)
{
	const struct mcp_listed *x = a, *y = b;
	bool cx = is_clean(x->name), cy = is_clean(y->name);

	return cx != cy ? (cx ? -1 : 1) : str_cmp(x->name, y->name);
}

static int by_shown(const void *a, const void *b)
{
	const struct mcp_tool *x = a, *y = b;

	return x->server != y->server ? (x->server < y->server ? -1 : 1) : str_cmp(x->shown, y->shown);
}

struct offering {
	struct mcp_catalogue *c;
	size_t server, first, bytes;
	struct str server_name;
	const struct str_list *only;
	struct arena *mem;
	struct str_list *left_out;
};

static void leave_out(struct offering *o, const struct mcp_listed *t, const char *why)
{
	struct str *bigger = arena_array(o->mem, o->left_out->n + 1, sizeof(*bigger));

	if (o->left_out->n > 0)
		memcpy(bigger, o->left_out->p, o->left_out->n * sizeof(*bigger));
	bigger[o->left_out->n] = str_printf(o->mem, STR_FMT ": %s",
		STR_ARG(t->name.n == 0 ? STR("\"\"") : cquote_dup(o->mem, str_head(t->name, utf8_head(t->name, NAMED_MAX)))), why);
	o->left_out->p = bigger;
	o->left_out->n++;
}

static bool listed_before(const struct offering *o, struct str name)
{
	for (size_t i = o->first; i < o->c->n; i++)
		if (str_eq(o->c->p[i].name, name))
			return true;
	return false;
}

/* NULL: it is offered. */
static const char *offer(struct offering *o, const struct mcp_listed *t)
{
	size_t bytes = t->name.n + t->help.n + t->schema.n + SHOWN_MAX;
	struct str shown;

	if (t->fault)
		return t->fault;
	if (listed_before(o, t->name))
		return "it is listed twice";
	if (o->bytes + bytes > MCP_OFFER_BYTES)
		return "the server's tools take too much room";
	shown = show(o->server_name, t->name, false, o->mem);
	if (mcp_tool_find(o->c, shown))
		shown = show(o->server_name, t->name, true, o->mem);
	if (mcp_tool_find(o->c, shown))
		return "its name is like another one's";
	o->bytes += bytes;
	o->c->p[o->c->n++] = (struct mcp_tool){ shown, t->name, t->help, t->schema, o->server };
	return NULL;
}

int mcp_offer(struct mcp_catalogue *c, size_t server, struct str server_name, struct mcp_list *list, const struct str_list *only,
	struct arena *mem, struct str_list *left_out, struct err *err)
{
	struct offering o = { .c = c, .server = server, .first = c->n, .server_name = server_name, .only = only, .mem = mem,
		.left_out = left_out };
	struct mcp_tool *bigger = arena_array(mem, c->n + MCP_OFFERED_MAX, sizeof(*bigger));
	uint64_t beyond = list->more;

	(void)err;
	if (c->n > 0)
		memcpy(bigger, c->p, c->n * sizeof(*bigger));
	c->p = bigger;
	if (list->n > 0)
		qsort(list->p, list->n, sizeof(*list->p), by_name);
	for (size_t i = 0; i < list->n; i++) {
		const char *why;

		if (only->n > 0 && !holds(only, list->p[i].name))
			continue;
		if (c->n - o.first == MCP_OFFERED_MAX) {
			beyond++;
			continue;
		}
		why = offer(&o, &list->p[i]);
		if (why && left_out->n < MCP_OFFERED_MAX)
			leave_out(&o, &list->p[i], why);
	}
	if (beyond > 0) {
		const struct mcp_listed rest = { .name = str_printf(mem, "%llu more", (unsigned long long)beyond) };

		leave_out(&o, &rest, "a server may offer 64 tools: name those that are wanted in its `tools`");
	}
	if (c->n > o.first)
		qsort(c->p + o.first, c->n - o.first, sizeof(*c->p), by_shown);
	return 0;
}
