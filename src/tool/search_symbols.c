/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/search_priv.h"
#include "tool/symbols.h"

#include "sys/file.h"

#include <string.h>
#include <unistd.h>

/* Files of these belong to somebody else or are made by programs; a .gitignore names most of them anyway. */
static const char *const excluded[] = { ".venv", "venv", "node_modules", "target", "dist", "build", "__pycache__", ".mypy_cache",
	".pytest_cache", ".ruff_cache" };

bool search_symbols_skips(struct str name)
{
	for (size_t i = 0; i < COUNT(excluded); i++)
		if (str_eqz(name, excluded[i]))
			return true;
	return false;
}

const char *const symbol_sources[SOURCE_COUNT] = { "patterns", "tree-sitter", "ctags" };

struct gather {
	struct search_hits *hits;
	const struct search_request *rq;
};

static int by_place(const void *a, const void *b)
{
	const struct search_row *x = a, *y = b;

	return x->line != y->line ? (x->line > y->line) - (x->line < y->line) : (x->col > y->col) - (x->col < y->col);
}

static char *copy(struct str s)
{
	char *p = mem_alloc(s.n + 1);

	memcpy(p, s.p, s.n);
	return p;
}

static void gather_one(void *self, const struct symbol *s)
{
	struct gather *g = self;
	struct search_hits *h = g->hits;
	const char *kind = s->kind ? s->kind : "use";
	size_t n = strlen(kind) + 1 + s->name.n;

	if ((!s->kind && g->rq->what != SEARCH_REFERENCES) || (s->minor && g->rq->what == SEARCH_OUTLINE))
		return;
	if (h->n == SEARCH_ROWS_MAX || n > SEARCH_TEXT_MAX) {
		h->more = h->more || h->n == SEARCH_ROWS_MAX;
		return;
	}
	if (h->n == h->cap) {
		h->cap = h->cap > 0 ? h->cap * 2 : 8;
		h->rows = mem_grow(h->rows, h->cap, sizeof(*h->rows));
	}
	char *text = mem_alloc(n + 1);
	memcpy(text, kind, strlen(kind));
	text[strlen(kind)] = ' ';
	memcpy(text + strlen(kind) + 1, s->name.p, s->name.n);
	h->rows[h->n++] = (struct search_row){ .line = s->line, .col = s->col, .end = s->end, .text = text, .n = n,
		.in = s->in.n > 0 && s->in.n <= SEARCH_TEXT_MAX ? copy(s->in) : NULL };
}

/* By place, each place once: the definition when it is one. */
static void put_in_order(struct search_hits *h)
{
	size_t kept = 0;

	if (h->n > 0)
		qsort(h->rows, h->n, sizeof(*h->rows), by_place);
	for (size_t i = 0; i < h->n; i++) {
		struct search_row *last = kept > 0 ? &h->rows[kept - 1] : NULL;

		if (!last || by_place(last, &h->rows[i]) != 0) {
			h->rows[kept++] = h->rows[i];
			continue;
		}
		bool better = last->n > 4 && memcmp(last->text, "use ", 4) == 0;
		struct search_row drop = better ? *last : h->rows[i];

		*last = better ? h->rows[i] : *last;
		free(drop.text);
		free(drop.in);
	}
	h->n = kept;
}

/* Everything it told of this file is taken back when it failed in the middle. */
static int ask_reader(const struct symbol_lane *lane, struct str path, struct gather *g)
{
	CLEANUP(search_names_fini) struct search_names names = { 0 };
	enum symbol_source source = SOURCE_PATTERNS;
	int r = lane->reader ? lane->reader->read(lane->reader->self, lane->lane, path, g->rq, gather_one, g, &source, &names, ERR_DISCARD) : 0;

	if (r > 0 && lane->reader->cache)
		search_cache_put(lane->reader->cache, names.text, DEPTH_PARSER, &names);

	if (r < 0)
		search_hits_fini(g->hits);
	g->hits->failed = r < 0;
	g->hits->sources |= r > 0 && g->hits->n > 0 ? 1u << source : 0;
	return r;
}

static bool is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (unsigned char)c > 127;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Words that a definition begins with, in any language; what stands behind a brace may be a type's name. */
static bool begins_definition(struct str before)
{
	static const char *const words[] = { "define", "struct", "union", "enum", "class", "interface", "trait", "record", "type", "typedef",
		"module", "mod", "namespace", "concept", "package", "def", "func", "function", "fn", "sub", "macro_rules!", "const", "static",
		"val", "let", "var", "using" };
	size_t end = before.n, start;
	struct str line = str_skip(before, before.n > 0 ? str_rfind(before, '\n') : 0);

	while (end > 0 && (is_blank(before.p[end - 1]) || before.p[end - 1] == '*' || before.p[end - 1] == '('))
		end--;
	for (start = end; start > 0 && (is_word_byte(before.p[start - 1]) || before.p[start - 1] == '!'); start--)
		;
	for (size_t i = 0; i < COUNT(words); i++)
		if (str_eqz(str_of(before.p + start, end - start), words[i]))
			return true;
	return (end > 0 && before.p[end - 1] == '}') || str_find(line, STR("typedef")) < line.n;
}

/* Quick: whether any place in the text could define it. */
static bool may_define(struct str text, struct str name)
{
	for (size_t from = 0;;) {
		size_t at = from + str_find(str_skip(text, from), name), end = at + name.n;

		if (at >= text.n)
			return false;
		from = end;
		if ((at > 0 && is_word_byte(text.p[at - 1])) || (end < text.n && is_word_byte(text.p[end])))
			continue;
		while (end < text.n && (text.p[end] == ' ' || text.p[end] == '\t'))
			end++;
		if ((end < text.n && (text.p[end] == '(' || text.p[end] == '<')) || begins_definition(str_head(text, at)))
			return true;
	}
}

struct seen {
	struct str name;
	bool defined;
	struct search_names names;
};

static void see_all(void *self, const struct symbol *s)
{
	struct seen *seen = self;

	if (!s->kind) /* a use of the only name that was asked for */
		return;
	search_names_add(&seen->names, s->name);
	seen->defined = seen->defined || str_eq(s->name, seen->name);
}

static void see_fini(struct seen *seen)
{
	search_names_fini(&seen->names);
}

/* Parsing every file that has a common name would take longer than anybody waits; patterns are ten times as fast. */
static bool seems_defined(const struct symbol_lang *lang, struct str name, struct str text, uint64_t key, struct search_cache *cache)
{
	CLEANUP(see_fini) struct seen seen = { .name = name, .names = { .whole = true } };
	enum search_known known = cache ? search_cache_ask(cache, key, DEPTH_PATTERNS, name) : KNOWN_NOTHING;

	if (known != KNOWN_NOTHING)
		return known == KNOWN_MAY_HAVE;
	if (!may_define(text, name))
		return false;
	symbols_scan(lang, text, cache ? STR("") : name, see_all, &seen);
	if (cache)
		search_cache_put(cache, key, DEPTH_PATTERNS, &seen.names);
	return seen.defined;
}

/* Of a file that has the name: it need not be parsed. *skimmed: only patterns say so. */
static bool defines_none(const struct symbol_lang *lang, const struct search_request *rq, const struct symbol_lane *lane, struct str path,
	int fd, bool *skimmed)
{
	struct search_cache *cache = lane->reader->cache;
	bool many = __atomic_fetch_add(lane->parsed, 1, __ATOMIC_RELAXED) >= SEARCH_PARSED, none = false;
	auto_buf struct buf text = BUF_MAX(SYMBOLS_FILE_MAX);

	if ((!many && !cache) || file_read_fd(fd, &text, ERR_DISCARD) < 0)
		return false;
	uint64_t key = cache ? search_text_key(search_cache_seed(cache), path, buf_str(&text)) : 0;
	enum search_known known = cache ? search_cache_ask(cache, key, DEPTH_PARSER, rq->symbol) : KNOWN_NOTHING;

	if (memchr(text.p ? text.p : "", '\0', text.n))
		none = *skimmed = many;
	else if (known != KNOWN_NOTHING)
		none = known == KNOWN_LACKS;
	else if (many)
		none = *skimmed = !seems_defined(lang, rq->symbol, buf_str(&text), key, cache);
	return none || lseek(fd, 0, SEEK_SET) < 0;
}

int search_symbols(struct search_reader *r, const struct search_request *rq, const struct symbol_lane *lane, struct str path, int fd,
	struct search_hits *out, struct err *err)
{
	const struct symbol_lang *lang = symbols_lang(path);
	bool outline = rq->what == SEARCH_OUTLINE;
	auto_buf struct buf text = BUF_MAX(SYMBOLS_FILE_MAX);
	struct gather g = { .hits = out, .rq = rq };

	if (!lang && !lane->reader)
		return 0;
	if (!outline) { /* most files do not have the name at all */
		TRY(search_file(r, fd, out, err));
		bool none = out->n == 0;

		search_hits_fini(out);
		if (none || lseek(fd, 0, SEEK_SET) < 0)
			return 0;
	}
	if (rq->what == SEARCH_DEFINITIONS && lang && lane->reader && defines_none(lang, rq, lane, path, fd, &out->skimmed))
		return 0;
	if (ask_reader(lane, path, &g) > 0) {
		put_in_order(out);
		return 0;
	}
	if (!lang)
		return 0;
	TRY(file_read_fd(fd, &text, err));
	if (memchr(text.p ? text.p : "", '\0', text.n))
		return 0;
	symbols_scan(lang, buf_str(&text), outline ? STR("") : rq->symbol, gather_one, &g);
	out->sources |= out->n > 0 ? 1u << SOURCE_PATTERNS : 0;
	put_in_order(out);
	return 0;
}
