/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "index/tree.h"
#include "index/tree_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PLACES_MAX 64  /* containers within containers; what lies deeper belongs to the last of them */
#define TREE_NAME_MAX  200
#define DRILL_MAX  32  /* declarators within declarators */

/* A grammar made ready: for each of its node types, which rule is about it. */
struct lang {
	const TSLanguage *ts;
	uint16_t *rule; /* by node type: number of the rule plus one */
	bool *name;     /* by node type: a leaf of it is a name */
	bool *macro;    /* by node type: text that the grammar does not look into */
};

struct tree {
	TSParser *parser;
	int64_t time_ms;
	struct lang *langs; /* one for each of tree_langs; ts is NULL until it is needed */
};

struct place {
	uint32_t depth;
	struct str name;
	unsigned flags;
};

struct walk {
	const struct tree_lang *def;
	const struct lang *lang;
	struct str text, only;
	symbol_fn *fn;
	void *self;
	struct place places[PLACES_MAX];
	size_t nplaces;
	uint32_t depth;
};

static const struct tree_lang *lang_of(struct str path)
{
	for (size_t i = 0; i < ntree_langs; i++)
		for (size_t k = 0; k < COUNT(tree_langs[0].ends) && tree_langs[i].ends[k]; k++)
			if (str_ends(path, str_from(tree_langs[i].ends[k])))
				return &tree_langs[i];
	return NULL;
}

bool tree_knows(struct str path)
{
	return lang_of(path) != NULL;
}

const char *tree_version(void)
{
	return AGENT6_GRAMMARS " grammars";
}

struct tree *tree_new(int64_t time_ms)
{
	struct tree *t = mem_alloc(sizeof(*t));

	t->time_ms = time_ms;
	t->parser = ts_parser_new();
	t->langs = mem_alloc(ntree_langs * sizeof(*t->langs));
	ts_parser_set_timeout_micros(t->parser, (uint64_t)time_ms * 1000);
	return t;
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < ntree_langs; i++) {
		free(t->langs[i].rule);
		free(t->langs[i].name);
		free(t->langs[i].macro);
	}
	free(t->langs);
	ts_parser_delete(t->parser);
	free(t);
}

static struct lang *lang_ready(struct tree *t, const struct tree_lang *def)
{
	struct lang *l = &t->langs[def - tree_langs];

	if (l->ts)
		return l;
	l->ts = def->language();
	uint32_t n = ts_language_symbol_count(l->ts);
	l->rule = mem_alloc(n * sizeof(*l->rule));
	l->name = mem_alloc(n * sizeof(*l->name));
	l->macro = mem_alloc(n * sizeof(*l->macro));
	for (uint32_t i = 0; i < n; i++) {
		const char *type = ts_language_symbol_name(l->ts, (TSSymbol)i);

		if (ts_language_symbol_type(l->ts, (TSSymbol)i) != TSSymbolTypeRegular)
			continue;
		for (size_t k = 0; k < def->nrules; k++)
			if (strcmp(def->rules[k].node, type) == 0)
				l->rule[i] = (uint16_t)(k + 1);
		for (size_t k = 0; k < ntree_names; k++)
			l->name[i] = l->name[i] || strcmp(tree_names[k], type) == 0;
		l->macro[i] = strcmp(type, "preproc_arg") == 0;
	}
	return l;
}

/* ---- the name of a node ---- */

static TSNode field(TSNode n, const char *name)
{
	return ts_node_child_by_field_name(n, name, (uint32_t)strlen(name));
}

static bool is_type(TSNode n, const char *type)
{
	return strcmp(ts_node_type(n), type) == 0;
}

static struct str text_of(const struct walk *w, TSNode n)
{
	uint32_t a = ts_node_start_byte(n), b = ts_node_end_byte(n);

	return a <= b && b <= w->text.n ? str_of(w->text.p + a, b - a) : STR("");
}

/* The leaf that is the name within a node that holds it: declarators, qualified names, keys. */
static bool find_leaf(TSNode n, TSNode *out, TSNode *scope, bool *function)
{
	static const char *const ways[] = { "name", "declarator", "type" };
	static const char *const last[] = { "namespace_name", "variable_name", "string", "parenthesized_declarator", "reference_declarator",
		"attributed_declarator" };

	for (int steps = 0; steps < DRILL_MAX && !ts_node_is_null(n); steps++) {
		uint32_t named = ts_node_named_child_count(n);
		TSNode next = { 0 }, in = field(n, "scope");

		if (ts_node_child_count(n) == 0) {
			*out = n;
			return true;
		}
		if (!ts_node_is_null(in) && is_type(n, "qualified_identifier"))
			*scope = in;
		*function = *function || is_type(n, "function_declarator");
		for (size_t i = 0; i < COUNT(ways) && ts_node_is_null(next); i++)
			next = field(n, ways[i]);
		for (size_t i = 0; i < COUNT(last) && ts_node_is_null(next) && named > 0; i++)
			if (is_type(n, last[i]))
				next = ts_node_named_child(n, named - 1);
		n = next;
	}
	return false;
}

/* The type that a method of Go is on: the first name of a type in its receiver. */
static struct str receiver(const struct walk *w, TSNode n)
{
	TSNode at = field(n, "receiver");

	for (int steps = 0; steps < DRILL_MAX && !ts_node_is_null(at); steps++) {
		TSNode type = field(at, "type");

		if (is_type(at, "type_identifier"))
			return text_of(w, at);
		at = !ts_node_is_null(type) ? type : ts_node_named_child_count(at) > 0 ? ts_node_named_child(at, 0) : type;
	}
	return STR("");
}

/* ---- definitions ---- */

static const struct place *place_now(const struct walk *w)
{
	return w->nplaces > 0 ? &w->places[w->nplaces - 1] : NULL;
}

static bool in_function(const struct walk *w)
{
	for (size_t i = 0; i < w->nplaces; i++)
		if (w->places[i].flags & TREE_FUNCTION)
			return true;
	return false;
}

static bool is_upper(struct str s)
{
	bool letter = false;

	for (size_t i = 0; i < s.n; i++) {
		if (islower((unsigned char)s.p[i]))
			return false;
		letter = letter || isupper((unsigned char)s.p[i]);
	}
	return letter;
}

static bool is_function_value(TSNode v)
{
	return !ts_node_is_null(v) && (is_type(v, "arrow_function") || is_type(v, "function_expression") || is_type(v, "function"));
}

/* What kind it is, where the node alone does not say. */
static void refine(const struct tree_rule *r, TSNode n, TSNode leaf, bool function, struct symbol *s)
{
	TSNode type = field(n, "type"), up;

	if ((r->flags & TREE_VALUE) && is_function_value(field(n, "value"))) {
		s->kind = r->flags & TREE_MINOR ? "method" : "function";
		s->minor = false;
	} else if ((r->flags & TREE_VALUE) && !(r->flags & TREE_MINOR)) {
		up = ts_node_parent(n);
		if (ts_node_is_null(up) || ts_node_child_count(up) == 0 || !is_type(ts_node_child(up, 0), "const")) {
			s->kind = "variable";
			s->minor = true;
		}
	}
	if ((r->flags & TREE_UPPER) && !is_type(leaf, "constant") && !is_upper(s->name)) {
		s->kind = "variable";
		s->minor = true;
	}
	if (function && strcmp(r->kind, "field") == 0)
		s->kind = "method";
	if (strcmp(r->kind, "type") == 0 && !ts_node_is_null(type) && (r->flags & TREE_SPACE))
		s->kind = is_type(type, "struct_type") ? "struct" : is_type(type, "interface_type") ? "interface" : s->kind;
}

static bool name_ok(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ')
			return false;
	return s.n > 0 && s.n <= TREE_NAME_MAX;
}

static void enter(struct walk *w, const struct tree_rule *r, struct str name)
{
	if (w->nplaces < PLACES_MAX && (r->flags & (TREE_CLASS | TREE_SPACE | TREE_FUNCTION)))
		w->places[w->nplaces++] = (struct place){ w->depth, name, r->flags };
}

static bool wanted(const struct walk *w, const struct tree_rule *r, TSNode n)
{
	if ((r->flags & TREE_BODY) && ts_node_is_null(field(n, "body")))
		return false;
	if ((r->flags & TREE_KEY) && w->depth != 2)
		return false;
	return !(r->flags & TREE_TOP) || !in_function(w);
}

static TSNode name_node(const struct tree_rule *r, TSNode n)
{
	if (r->flags & TREE_FIRST)
		return ts_node_named_child(n, 0);
	return field(n, r->flags & TREE_DECLARATOR ? "declarator" : r->field ? r->field : "name");
}

static void define(struct walk *w, const struct tree_rule *r, TSNode n)
{
	bool function = false;
	TSNode leaf, scope = { 0 }, at = name_node(r, n);
	const struct place *p = place_now(w);

	if (!wanted(w, r, n))
		return;
	if (!find_leaf(at, &leaf, &scope, &function) || !name_ok(text_of(w, leaf)))
		return enter(w, r, STR(""));
	TSPoint from = ts_node_start_point(leaf), to = ts_node_end_point(n);
	struct symbol s = { .name = text_of(w, leaf), .kind = r->kind, .line = (int64_t)from.row + 1, .col = (int64_t)from.column + 1,
		.end = (int64_t)to.row + (to.column > 0 || to.row == from.row ? 1 : 0), .in = p ? p->name : STR(""),
		.minor = (r->flags & TREE_MINOR) != 0 };

	if (!ts_node_is_null(scope))
		s.in = text_of(w, scope);
	else if (r->flags & TREE_RECEIVER)
		s.in = receiver(w, n);
	if (!name_ok(s.in))
		s.in = STR("");
	if (strcmp(s.kind, "function") == 0 && (!ts_node_is_null(scope) || (p && (p->flags & TREE_CLASS))))
		s.kind = "method";
	refine(r, n, leaf, function, &s);
	if (!(r->flags & TREE_SILENT) && (w->only.n == 0 || str_eq(w->only, s.name)))
		w->fn(w->self, &s);
	enter(w, r, s.name);
}

/* ---- uses ---- */

static void use(struct walk *w, struct str name, int64_t line, int64_t col)
{
	w->fn(w->self, &(struct symbol){ .name = name, .line = line, .col = col });
}

/* The text of a macro, which no grammar looks into: whole words outside of strings. */
static void macro_text(struct walk *w, TSNode n)
{
	struct str t = text_of(w, n);
	TSPoint from = ts_node_start_point(n);
	int64_t line = (int64_t)from.row + 1, col = (int64_t)from.column + 1;
	char quote = 0;

	for (size_t i = 0; i < t.n; i++, col++) {
		char c = t.p[i];
		size_t end = i;

		if (c == '\n') {
			line++;
			col = 0;
		}
		if (quote) {
			if (c == '\\' && i + 1 < t.n && t.p[i + 1] != '\n') {
				i++;
				col++;
			} else if (c == quote || c == '\n') {
				quote = 0;
			}
			continue;
		}
		if (c == '"' || c == '\'')
			quote = c;
		while (end < t.n && (isalnum((unsigned char)t.p[end]) || t.p[end] == '_'))
			end++;
		if (end == i)
			continue;
		if (str_eq(str_of(t.p + i, end - i), w->only))
			use(w, str_of(t.p + i, end - i), line, col);
		col += (int64_t)(end - i) - 1;
		i = end - 1;
	}
}

static void mention(struct walk *w, TSNode n, TSSymbol type)
{
	if (w->lang->macro[type])
		return macro_text(w, n);
	if (!w->lang->name[type] || ts_node_child_count(n) > 0 || !str_eq(text_of(w, n), w->only))
		return;
	/* Every argument is a word to a shell; the first one is a name. */
	TSNode up = is_type(n, "word") ? ts_node_parent(n) : n;
	if (is_type(n, "word") && (ts_node_is_null(up) || (!is_type(up, "command_name") && !is_type(up, "function_definition"))))
		return;
	TSPoint from = ts_node_start_point(n);

	use(w, text_of(w, n), (int64_t)from.row + 1, (int64_t)from.column + 1);
}

/* ---- the walk ---- */

static void visit(struct walk *w, TSNode n)
{
	TSSymbol type = ts_node_symbol(n);

	if (type >= ts_language_symbol_count(w->lang->ts)) /* an error node */
		return;
	if (w->lang->rule[type] > 0 && ts_node_is_named(n))
		define(w, &w->def->rules[w->lang->rule[type] - 1], n);
	if (w->only.n > 0)
		mention(w, n, type);
}

/* Back up to the next node that was not seen: false at the end of the file. */
static bool step_on(struct walk *w, TSTreeCursor *c)
{
	while (!ts_tree_cursor_goto_next_sibling(c)) {
		if (!ts_tree_cursor_goto_parent(c))
			return false;
		w->depth--;
		while (w->nplaces > 0 && w->places[w->nplaces - 1].depth > w->depth)
			w->nplaces--;
	}
	while (w->nplaces > 0 && w->places[w->nplaces - 1].depth >= w->depth)
		w->nplaces--;
	return true;
}

static void walk(struct walk *w, TSNode root)
{
	TSTreeCursor c = ts_tree_cursor_new(root);

	do {
		visit(w, ts_tree_cursor_current_node(&c));
		while (ts_tree_cursor_goto_first_child(&c)) {
			w->depth++;
			visit(w, ts_tree_cursor_current_node(&c));
		}
	} while (step_on(w, &c));
	ts_tree_cursor_delete(&c);
}

int tree_read(struct tree *t, struct str path, struct str text, struct str only, symbol_fn *fn, void *self, struct err *err)
{
	const struct tree_lang *def = lang_of(path);
	struct walk w = { .def = def, .text = text, .only = only, .fn = fn, .self = self };

	if (!def)
		return 0;
	w.lang = lang_ready(t, def);
	if (!ts_parser_set_language(t->parser, w.lang->ts))
		return err_set(err, ERR_UNSUPPORTED, "the grammar of %s is none that this tree-sitter reads", def->name);
	TSTree *tree = ts_parser_parse_string(t->parser, NULL, text.p ? text.p : "", (uint32_t)text.n);
	if (!tree) {
		ts_parser_reset(t->parser);
		return err_set(err, ERR_TIMEOUT, "it takes longer than %lld ms", (long long)t->time_ms);
	}
	walk(&w, ts_tree_root_node(tree));
	ts_tree_delete(tree);
	return 1;
}
