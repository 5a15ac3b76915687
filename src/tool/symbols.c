/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/symbols_priv.h"

#include "base/base.h"

#include <ctype.h>
#include <string.h>

#define SCOPES_MAX 256

/* What a block is: code, or a place where methods or functions are defined. */
enum scope { SCOPE_BODY, SCOPE_MEMBERS, SCOPE_OPEN };

struct scan {
	const struct symbol_lang *lang;
	const struct token *p;
	size_t n, at;
	struct str only;
	symbol_fn *fn;
	void *self;
	enum scope scopes[SCOPES_MAX];
	size_t depth;         /* open braces */
	enum scope pending;   /* of the next brace */
	int32_t class_col;    /* by indentation: of the class we are in; 0: none */
	bool in_const;        /* const ( ... ) of Go */
	size_t told;          /* the token that was told as a definition, plus one */
};

static const struct token *peek(const struct scan *s, size_t ahead)
{
	static const struct token none = { .type = TOKEN_OTHER };

	return s->at + ahead < s->n ? &s->p[s->at + ahead] : &none;
}

static bool is_mark(const struct token *t, char c)
{
	return t->type == TOKEN_MARK && t->text.p[0] == c;
}

static bool is_word(const struct token *t, const char *word)
{
	/* A name has a first byte; most differ in it, and this is asked some twenty times a token. */
	return t->type == TOKEN_NAME && t->text.p[0] == word[0] && str_eqz(t->text, word);
}

static bool is_lang(const struct scan *s, const char *name)
{
	return strcmp(s->lang->name, name) == 0;
}

static void tell(struct scan *s, size_t ahead, const char *kind)
{
	const struct token *t = peek(s, ahead);

	if (s->told == s->at + ahead + 1)
		return;
	s->told = s->at + ahead + 1;
	if (s->only.n == 0 || str_eq(s->only, t->text))
		s->fn(s->self, &(struct symbol){ t->text, kind, t->line, t->col });
}

static enum scope scope_now(const struct scan *s)
{
	return s->depth == 0 ? SCOPE_OPEN : s->depth <= SCOPES_MAX ? s->scopes[s->depth - 1] : SCOPE_BODY;
}

static bool is_container(const struct scan *s, const struct token *t)
{
	for (size_t i = 0; t->type == TOKEN_NAME && s->lang->containers && s->lang->containers[i]; i++)
		if (is_word(t, s->lang->containers[i]))
			return true;
	return false;
}

/* From an opening parenthesis at `ahead` to behind the closing one; 0 when there is none. */
static size_t past_parens(const struct scan *s, size_t ahead)
{
	int depth = 0;

	for (size_t i = ahead; i < ahead + 4000 && s->at + i < s->n; i++) {
		const struct token *t = peek(s, i);

		depth += is_mark(t, '(');
		depth -= is_mark(t, ')');
		if (depth == 0)
			return i + 1;
	}
	return 0;
}

/* Does a body follow here, perhaps behind qualifiers, a result type, or an initialiser list? */
static bool body_follows(const struct scan *s, size_t ahead)
{
	for (size_t i = ahead; i < ahead + 200; i++) {
		const struct token *t = peek(s, i);

		if (is_mark(t, '{'))
			return true;
		if (is_mark(t, '(')) { /* noexcept(...), __attribute__((...)), an initialiser */
			size_t past = past_parens(s, i);

			if (past == 0)
				return false;
			i = past - 1;
			continue;
		}
		if (t->type == TOKEN_MARK ? !strchr(":,->&*[]<>.?|", t->text.p[0]) : t->text.n == 0)
			return false;
	}
	return false;
}

static bool is_control(const struct token *t)
{
	static const char *const words[] = { "if", "for", "while", "switch", "catch", "return", "sizeof", "defined", "else", "new", "do",
		"synchronized", "using", "lock", "foreach", "fixed", "with", "super", "this", "throw", "await", "alignas", "decltype" };

	for (size_t i = 0; i < COUNT(words); i++)
		if (is_word(t, words[i]))
			return true;
	return false;
}

/* ------------------------------------------------------------------ without a keyword: name(...) { */

static void try_call_shape(struct scan *s)
{
	const struct token *t = peek(s, 0), *before = s->at > 0 ? &s->p[s->at - 1] : NULL;
	enum scope scope = scope_now(s);
	size_t past;

	if (t->type != TOKEN_NAME || !is_mark(peek(s, 1), '(') || is_control(t))
		return;
	if (s->lang->style == STYLE_SHELL) {
		if (t->first && is_mark(peek(s, 2), ')'))
			tell(s, 0, "function");
		return;
	}
	if (scope == SCOPE_BODY || (s->lang->style == STYLE_METHODS && scope != SCOPE_MEMBERS))
		return;
	if (before && (is_mark(before, '.') || is_mark(before, '=') || is_mark(before, '@') || is_word(before, "new")))
		return;
	if (before && (is_mark(before, ',') || (is_mark(before, ':') && s->at > 1 && is_mark(before - 1, ')'))))
		return; /* an initialiser: A(int x) : y(x), z(x) { } */
	past = past_parens(s, 1);
	if (past == 0 || !body_follows(s, past))
		return;
	bool member = scope == SCOPE_MEMBERS || (before && is_mark(before, ':'));
	tell(s, 0, member ? "method" : "function");
}

/* Abstract methods of an interface: type name(...);  */
static void try_declared(struct scan *s)
{
	const struct token *before = s->at > 0 ? &s->p[s->at - 1] : NULL;
	size_t past;

	if (peek(s, 0)->type != TOKEN_NAME || !is_mark(peek(s, 1), '(') || scope_now(s) != SCOPE_MEMBERS || !before || before->type == TOKEN_OTHER)
		return;
	if ((!is_lang(s, "java") && !is_lang(s, "c#")) || is_control(peek(s, 0)))
		return;
	if (before->type == TOKEN_MARK ? !strchr(">]", before->text.p[0]) : is_control(before))
		return;
	past = past_parens(s, 1);
	if (past > 0 && is_mark(peek(s, past), ';'))
		tell(s, 0, "method");
}

/* ------------------------------------------------------------------ with one */

static const char *arrow_or_const(const struct scan *s)
{
	const struct token *v = peek(s, 3);
	size_t past = is_mark(v, '(') ? past_parens(s, 3) : 0;

	if (is_word(v, "async") || is_word(v, "function"))
		return "function";
	if (past > 0 && (is_mark(peek(s, past), '=') || is_mark(peek(s, past), ':')))
		return "function";
	return v->type == TOKEN_NAME && is_mark(peek(s, 4), '=') && is_mark(peek(s, 5), '>') ? "function" : "const";
}

static void go_func(struct scan *s)
{
	size_t past = is_mark(peek(s, 1), '(') ? past_parens(s, 1) : 0;

	if (past > 0 && peek(s, past)->type == TOKEN_NAME && is_mark(peek(s, past + 1), '('))
		tell(s, past, "method");
	else if (past == 0 && peek(s, 1)->type == TOKEN_NAME)
		tell(s, 1, "function");
}

static const char *go_type(const struct scan *s)
{
	return is_word(peek(s, 2), "struct") ? "struct" : is_word(peek(s, 2), "interface") ? "interface" : "type";
}

/* struct NAME { defines; struct NAME *x only mentions. */
static bool c_defines(const struct scan *s, size_t name)
{
	for (size_t i = name + 1; i < name + 60; i++) {
		const struct token *t = peek(s, i);

		if (is_mark(t, '{'))
			return true;
		if (t->text.n == 0 || (t->type == TOKEN_MARK && !strchr(":,<>", t->text.p[0])))
			return false;
		if (i == name + 1 && t->type == TOKEN_NAME && !str_eqz(t->text, "final"))
			return false; /* the type of something */
	}
	return false;
}

static bool in_members(const struct scan *s, const struct token *keyword)
{
	if (s->lang->style == STYLE_INDENT)
		return s->class_col > 0 && keyword->col > s->class_col;
	return scope_now(s) == SCOPE_MEMBERS;
}

static void keyword(struct scan *s, const struct symbol_word *w)
{
	const struct token *t = peek(s, 0), *before = s->at > 0 ? &s->p[s->at - 1] : NULL;
	const char *kind = w->kind;
	size_t name = 1;

	if (before && is_mark(before, '.'))
		return; /* a member that is called like a keyword */
	if (is_lang(s, "go") && strcmp(w->word, "func") == 0) {
		go_func(s);
		return;
	}
	if (is_lang(s, "go") && strcmp(w->word, "const") == 0 && is_mark(peek(s, 1), '(')) {
		s->in_const = true;
		return;
	}
	if (strcmp(w->word, "macro_rules") == 0 && is_mark(peek(s, 1), '!'))
		name = 2;
	if ((is_word(peek(s, 1), "class") || is_word(peek(s, 1), "struct")) && (strcmp(kind, "enum") == 0 || strcmp(w->word, "record") == 0))
		name = 2;
	if (is_mark(peek(s, 1), '*') || (is_lang(s, "php") && is_mark(peek(s, 1), '&')))
		name = 2; /* function *NAME */
	if (is_lang(s, "ruby") && is_word(peek(s, 1), "self") && is_mark(peek(s, 2), '.'))
		name = 3;
	if (peek(s, name)->type != TOKEN_NAME)
		return;
	if (s->lang->style == STYLE_C && strcmp(kind, "module") != 0 && !c_defines(s, name))
		return;
	if (is_lang(s, "rust") && strcmp(w->word, "const") == 0 && is_word(peek(s, 1), "fn"))
		return;
	if (strcmp(kind, "const") == 0 && s->lang->style == STYLE_METHODS) {
		if (!is_mark(peek(s, 2), '=') || s->depth > 0)
			return;
		kind = arrow_or_const(s);
	}
	if (strcmp(kind, "type") == 0 && is_lang(s, "typescript") && !is_mark(peek(s, 2), '=') && !is_mark(peek(s, 2), '<'))
		return;
	if (is_lang(s, "go") && strcmp(w->word, "type") == 0)
		kind = go_type(s);
	if (strcmp(kind, "function") == 0 && in_members(s, t))
		kind = "method";
	tell(s, name, kind);
}

/* ------------------------------------------------------------------ the rest */

static void preprocessor(struct scan *s)
{
	if (is_mark(peek(s, 0), '#') && peek(s, 0)->first && is_word(peek(s, 1), "define") && peek(s, 2)->type == TOKEN_NAME)
		tell(s, 2, "macro");
}

/* typedef ... NAME; and typedef ... (*NAME)(...); and using NAME = */
static void c_typedef(struct scan *s)
{
	size_t name = 0;
	int depth = 0;

	if (is_word(peek(s, 0), "using") && is_mark(peek(s, 2), '='))
		tell(s, 1, "type");
	if (!is_word(peek(s, 0), "typedef"))
		return;
	for (size_t i = 1; i < 4000 && s->at + i < s->n; i++) {
		const struct token *t = peek(s, i);

		depth += is_mark(t, '{') - is_mark(t, '}');
		if (depth > 0)
			continue;
		if (is_mark(t, '(') && is_mark(peek(s, i + 1), '*') && peek(s, i + 2)->type == TOKEN_NAME) {
			name = i + 2;
			break;
		}
		if (is_mark(t, ';') || is_mark(t, '[') || (is_mark(t, '(') && name > 0))
			break;
		if (t->type == TOKEN_NAME)
			name = i;
	}
	if (name > 0)
		tell(s, name, "type");
}

/* NAME = at the margin, in capitals. */
static void python_const(struct scan *s)
{
	const struct token *t = peek(s, 0);

	if (t->type != TOKEN_NAME || t->col != 1 || !(is_mark(peek(s, 1), '=') || is_mark(peek(s, 1), ':')) || is_mark(peek(s, 2), '='))
		return;
	for (size_t i = 0; i < t->text.n; i++)
		if (islower((unsigned char)t->text.p[i]))
			return;
	tell(s, 0, "const");
}

static void json_key(struct scan *s)
{
	const struct token *t = peek(s, 0);

	if (s->depth != 1 || t->type != TOKEN_OTHER || t->text.n < 3 || t->text.p[0] != '"' || !is_mark(peek(s, 1), ':'))
		return;
	struct str name = str_of(t->text.p + 1, t->text.n - 2);
	if (s->only.n == 0 || str_eq(s->only, name))
		s->fn(s->self, &(struct symbol){ name, "const", t->line, t->col });
}

static void follow_scopes(struct scan *s)
{
	const struct token *t = peek(s, 0);

	if (is_container(s, t))
		s->pending = SCOPE_MEMBERS;
	else if (is_word(t, "namespace") || (is_word(t, "extern") && peek(s, 1)->type == TOKEN_OTHER))
		s->pending = SCOPE_OPEN;
	else if (is_mark(t, ';') || (is_mark(t, '(') && s->pending == SCOPE_MEMBERS && s->lang->style == STYLE_C) || is_mark(t, '='))
		s->pending = SCOPE_BODY;
	else if (is_mark(t, '{')) {
		if (s->depth < SCOPES_MAX)
			s->scopes[s->depth] = s->pending;
		s->depth++;
		s->pending = SCOPE_BODY;
	} else if (is_mark(t, '}') && s->depth > 0) {
		s->depth--;
		s->pending = SCOPE_BODY;
	}
}

static void look(struct scan *s)
{
	const struct token *t = peek(s, 0);

	if (s->lang->style == STYLE_INDENT && t->first) {
		if (s->class_col > 0 && t->col <= s->class_col)
			s->class_col = 0;
		python_const(s);
	}
	for (size_t i = 0; t->type == TOKEN_NAME && i < COUNT(s->lang->words) && s->lang->words[i].word; i++)
		if (is_word(t, s->lang->words[i].word))
			keyword(s, &s->lang->words[i]);
	if (s->lang->style == STYLE_INDENT && is_word(t, "class") && t->first)
		s->class_col = t->col;
	if (s->in_const && is_mark(t, ')'))
		s->in_const = false;
	else if (s->in_const && t->first && t->type == TOKEN_NAME && !is_word(t, "const"))
		tell(s, 0, "const");
	if (s->lang->preprocessor)
		preprocessor(s);
	if (s->lang->style == STYLE_C)
		c_typedef(s);
	if (s->lang->style == STYLE_C || s->lang->style == STYLE_METHODS || s->lang->style == STYLE_SHELL)
		try_call_shape(s);
	try_declared(s);
	if (s->lang->style == STYLE_JSON)
		json_key(s);
}

void symbols_scan(const struct symbol_lang *lang, struct str text, struct str only, symbol_fn *fn, void *self)
{
	auto_tokens struct tokens tokens = { 0 };
	struct scan s = { .lang = lang, .only = only, .fn = fn, .self = self, .pending = SCOPE_BODY };

	tokens_read(lang, text, &tokens);
	s.p = tokens.p;
	s.n = tokens.n;
	for (; s.at < s.n; s.at++) {
		look(&s);
		follow_scopes(&s);
		if (only.n > 0 && s.told != s.at + 1 && s.p[s.at].type == TOKEN_NAME && str_eq(s.p[s.at].text, only))
			fn(self, &(struct symbol){ s.p[s.at].text, NULL, s.p[s.at].line, s.p[s.at].col });
	}
}
