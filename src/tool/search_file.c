/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tool/search_priv.h"

#include <errno.h>
#include <pcre2.h>
#include <string.h>

#define BUFFER        (1024 * 1024) /* read, not mapped: a mapping costs more and dies when a file shrinks */
#define BINARY_PROBE  8000          /* git's own measure */
#define MATCH_LIMIT   1000000       /* per start of a match: some milliseconds */
#define JIT_STACK_MIN (32 * 1024)
#define JIT_STACK_MAX (1024 * 1024)
#define LITERAL_MIN   2             /* one byte alone is what the matcher itself looks for */
#define TEXT_BEFORE   80            /* of a long line, what is shown in front of the match */

struct search_pattern {
	pcre2_code *code;
	bool jit;
	char *literal; /* owned; NULL: none */
	struct search_needle needle;
};

struct search_reader {
	const struct search_pattern *pattern;
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
	char *buf;
};

void search_hits_fini(struct search_hits *h)
{
	for (size_t i = 0; i < h->n; i++) {
		free(h->rows[i].text);
		free(h->rows[i].in);
	}
	free(h->rows);
	free(h->words);
	*h = (struct search_hits){ 0 };
}

/* ------------------------------------------------------------------ the pattern */

static void context_free(pcre2_compile_context **c)
{
	pcre2_compile_context_free(*c);
}

int search_pattern_new(struct str pattern, bool case_insensitive, struct search_pattern **out, struct err *err)
{
	CLEANUP(context_free) pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	uint32_t flags = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
		(case_insensitive ? PCRE2_CASELESS : 0);
	struct search_pattern *p;
	PCRE2_SIZE at = 0;
	PCRE2_UCHAR text[160];
	pcre2_code *code;
	int why = 0;

	BUG_IF(!context);
	pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF); /* $ matches before CRLF */
	pcre2_set_parens_nest_limit(context, 100);
	code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, flags, &why, &at, context);
	if (!code) {
		pcre2_get_error_message(why, text, sizeof(text));
		err_set(err, ERR_SYNTAX, "pattern: %s at character %zu", (const char *)text, at + 1);
		err_hint(err, "put a backslash in front of ( [ { + * ? . ^ $ | to find them as they are");
		return -ERR_SYNTAX;
	}
	p = mem_alloc(sizeof(*p));
	/* Where memory cannot be made executable the interpreter does the same work, slower. */
	*p = (struct search_pattern){ .code = code, .jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0 };
	struct str literal = case_insensitive ? STR("") : search_literal(pattern);
	if (literal.n >= LITERAL_MIN) {
		p->literal = mem_alloc(literal.n);
		memcpy(p->literal, literal.p, literal.n);
		search_needle_set(&p->needle, str_of(p->literal, literal.n));
	}
	*out = p;
	return 0;
}

void search_pattern_free(struct search_pattern *p)
{
	if (!p)
		return;
	pcre2_code_free(p->code);
	free(p->literal);
	free(p);
}

struct search_reader *search_reader_new(const struct search_pattern *p)
{
	struct search_reader *r = mem_alloc(sizeof(*r));

	*r = (struct search_reader){ .pattern = p, .data = pcre2_match_data_create_from_pattern(p->code, NULL),
		.context = pcre2_match_context_create(NULL), .buf = mem_alloc(BUFFER) };
	BUG_IF(!r->data || !r->context);
	pcre2_set_match_limit(r->context, MATCH_LIMIT);
	pcre2_set_depth_limit(r->context, MATCH_LIMIT);
	if (p->jit) {
		r->stack = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, NULL);
		pcre2_jit_stack_assign(r->context, NULL, r->stack);
	}
	return r;
}

void search_reader_free(struct search_reader *r)
{
	if (!r)
		return;
	pcre2_match_data_free(r->data);
	pcre2_match_context_free(r->context);
	pcre2_jit_stack_free(r->stack);
	free(r->buf);
	free(r);
}

static bool find(struct search_reader *r, struct str text, size_t from, size_t *start, size_t *end, bool *too_complex)
{
	int n = r->pattern->jit ?
		pcre2_jit_match(r->pattern->code, (PCRE2_SPTR)text.p, text.n, from, 0, r->data, r->context) :
		pcre2_match(r->pattern->code, (PCRE2_SPTR)text.p, text.n, from, 0, r->data, r->context);
	const PCRE2_SIZE *v = pcre2_get_ovector_pointer(r->data);

	*too_complex = *too_complex || (n < 0 && n != PCRE2_ERROR_NOMATCH);
	*start = n < 0 ? 0 : v[0];
	*end = n < 0 ? 0 : v[1];
	return n >= 0;
}

/* ------------------------------------------------------------------ lines */

/* What a scan of one file remembers from piece to piece. */
struct scan {
	struct search_reader *r;
	struct search_hits *hits;
	int64_t line;    /* number of the line that starts the piece */
	int64_t last;    /* the line of the last row: a line too long for the buffer counts once */
};

static int64_t count_newlines(const char *p, size_t n)
{
	int64_t lines = 0;

	for (const char *end = p + n; p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
		lines++;
	return lines;
}

static void add_row(struct scan *s, int64_t number, struct str line, size_t match)
{
	struct search_hits *h = s->hits;
	size_t from = 0, to;

	if (h->n == SEARCH_ROWS_MAX) {
		h->more = true;
		return;
	}
	line = str_trim_suffix(str_trim_suffix(line, STR("\n")), STR("\r"));
	if (line.n > SEARCH_TEXT_MAX && match > TEXT_BEFORE)
		from = match - TEXT_BEFORE;
	if (from > 0 && line.n - from < SEARCH_TEXT_MAX)
		from = line.n - SEARCH_TEXT_MAX;
	while (from > 0 && from < line.n && ((unsigned char)line.p[from] & 0xc0) == 0x80)
		from++;
	to = from + utf8_head(str_skip(line, from), SEARCH_TEXT_MAX);
	if (h->n == h->cap) {
		h->cap = h->cap > 0 ? h->cap * 2 : 4;
		h->rows = mem_grow(h->rows, h->cap, sizeof(*h->rows));
	}
	char *text = mem_alloc(to - from + 1);
	memcpy(text, line.p + from, to - from);
	h->rows[h->n++] = (struct search_row){ .line = number, .text = text, .n = to - from,
		.cut_front = from > 0, .cut_back = to < line.n };
	s->last = number;
}

/* Where the next line begins that can match; false: none can. No line matches alone without the literal. */
static bool may_match(const struct scan *s, struct str piece, size_t *at)
{
	const struct search_needle *n = &s->r->pattern->needle;
	const char *before;
	size_t hit;

	if (n->text.n == 0)
		return true;
	hit = search_needle_find(n, piece, *at);
	if (hit == piece.n)
		return false;
	before = memrchr(piece.p + *at, '\n', hit - *at);
	if (before)
		*at = (size_t)(before - piece.p) + 1;
	return true;
}

/* Matching goes through the whole piece at once; only where something was found is a line looked up. A match
 * that crosses a line's end does not count: the line alone must match. */
static void scan_piece(struct scan *s, struct str piece, bool last)
{
	size_t at = 0, counted = 0, start, end;

	while (at < piece.n && !s->hits->more && !s->hits->too_complex && may_match(s, piece, &at) &&
		find(s->r, piece, at, &start, &end, &s->hits->too_complex)) {
		if (start >= piece.n)
			break; /* an empty match behind the last line */

		const char *before = start > 0 ? memrchr(piece.p, '\n', start) : NULL;
		size_t from = before ? (size_t)(before - piece.p) + 1 : 0;
		const char *nl = memchr(piece.p + start, '\n', piece.n - start);
		size_t to = nl ? (size_t)(nl - piece.p) : piece.n;
		struct str line = str_of(piece.p + from, to - from);
		size_t in_line = start - from, in_end;

		s->line += count_newlines(piece.p + counted, from - counted);
		counted = from;
		if (s->line != s->last &&
			(end <= to || find(s->r, line, 0, &in_line, &in_end, &s->hits->too_complex)))
			add_row(s, s->line, line, in_line);
		at = to + 1;
	}
	if (!last) /* nobody asks how many lines a file has */
		s->line += count_newlines(piece.p + counted, piece.n - counted);
}

int search_file(struct search_reader *r, int fd, struct search_hits *out, struct err *err)
{
	struct scan s = { .r = r, .hits = out, .line = 1 };
	size_t have = 0;
	bool first = true, eof = false;

	while (!eof && !out->more && !out->too_complex) {
		ssize_t n = read(fd, r->buf + have, BUFFER - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, errno, "read");
		eof = n == 0;
		have += (size_t)n;
		if (first && have > 0 && memchr(r->buf, '\0', have < BINARY_PROBE ? have : BINARY_PROBE))
			return 0;
		first = false;
		if (!eof && have < BUFFER)
			continue; /* fill up: one long match run is cheaper than many short ones */

		const char *nl = eof ? NULL : memrchr(r->buf, '\n', have);
		size_t whole = nl ? (size_t)(nl - r->buf) + 1 : have;
		scan_piece(&s, str_of(r->buf, whole), eof);
		have -= whole;
		memmove(r->buf, r->buf + whole, have);
	}
	return 0;
}
