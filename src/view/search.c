/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "view/search.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/vec.h"
#include "fmt/jscan.h"
#include "fmt/json.h"
#include "session/chain.h"
#include "session/journal.h"
#include "session/store.h"
#include "sys/file.h"
#include "sys/term.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_MAX_BYTES ((size_t)2 << 30)
#define AROUND         70 /* bytes shown before and after a match */
#define STEPS_MAX      10000000
#define SEEN_MAX       65536
#define FILES_MAX      200000

struct search {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *limits;
	struct buf text; /* of one file */
	struct {
		VEC(uint64_t);
	} seen;          /* hashes of what was told of this record */
	int64_t bytes;
};

/* Where we are in a file, moved on from hit to hit. */
struct place {
	size_t at;
	int64_t line, turn;
};

/* ---- the pattern ---- */

/* As the words stand inside a JSON string, and inside a JSON text within one. */
static int add_escaped(struct buf *out, struct str words, struct err *err)
{
	auto_buf struct buf quoted = BUF_MAX(64 * 1024);

	TRY(json_add_quoted(&quoted, words, err));
	return buf_add(out, str_head(str_skip(buf_str(&quoted), 1), quoted.n - 2), err);
}

static int add_literal(struct buf *out, struct str words, struct err *err)
{
	for (size_t i = 0; i < words.n; i++) {
		unsigned char c = (unsigned char)words.p[i];
		bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80;

		TRY(plain ? 0 : buf_addc(out, '\\', err));
		TRY(buf_addc(out, (char)c, err));
	}
	return 0;
}

static int add_words(struct buf *out, struct str words, struct err *err)
{
	auto_buf struct buf once = BUF_MAX(64 * 1024), twice = BUF_MAX(64 * 1024);

	TRY(add_escaped(&once, words, err));
	TRY(add_escaped(&twice, buf_str(&once), err));
	TRY(add_literal(out, buf_str(&once), err));
	if (str_eq(buf_str(&once), buf_str(&twice)))
		return 0;
	TRY(buf_addc(out, '|', err));
	TRY(add_literal(out, buf_str(&twice), err));
	TRY(buf_addc(out, '|', err)); /* as a plan or an answer has them */
	return add_literal(out, words, err);
}

int search_new(const struct search_spec *spec, struct search **out, struct err *err)
{
	auto_buf struct buf pattern = BUF_MAX(256 * 1024);
	auto_search struct search *s = mem_alloc(sizeof(*s));
	PCRE2_UCHAR why[160];
	PCRE2_SIZE at;
	int code;

	s->text = BUF_MAX(FILE_MAX_BYTES);
	if (spec->pattern.n == 0)
		return err_set(err, ERR_INVALID, "an empty pattern is everywhere");
	TRY(spec->regex ? buf_add(&pattern, spec->pattern, err) : add_words(&pattern, spec->pattern, err));
	s->code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n,
		PCRE2_NEVER_BACKSLASH_C | (spec->ignore_case ? PCRE2_CASELESS : 0u), &code, &at, NULL);
	if (!s->code) {
		pcre2_get_error_message(code, why, sizeof(why));
		return err_set(err, ERR_INVALID, "the pattern at %zu: %s", (size_t)at, (const char *)why);
	}
	pcre2_jit_compile(s->code, PCRE2_JIT_COMPLETE); /* without it the same is found, slower */
	s->data = pcre2_match_data_create_from_pattern(s->code, NULL);
	s->limits = pcre2_match_context_create(NULL);
	BUG_IF(!s->data || !s->limits);
	pcre2_set_match_limit(s->limits, STEPS_MAX);
	*out = take(&s);
	return 0;
}

void search_free(struct search *s)
{
	if (!s)
		return;
	pcre2_code_free(s->code);
	pcre2_match_data_free(s->data);
	pcre2_match_context_free(s->limits);
	buf_fini(&s->text);
	vec_fini(&s->seen);
	free(s);
}

/* ---- what is shown ---- */

/* The words as they were written: escapes of JSON undone, blanks joined. */
static void unescape(struct str s, struct buf *out)
{
	bool blank = true;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '\\') { /* one of JSON, or several where JSON stands in JSON */
			while (i + 1 < s.n && s.p[i + 1] == '\\')
				i++;
			if (i + 1 < s.n && s.p[i + 1] != 'u')
				c = s.p[++i];
			c = c == 'n' || c == 't' || c == 'r' ? ' ' : c;
		}
		if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
			if (!blank)
				(void)!buf_addc(out, ' ', ERR_DISCARD);
			blank = true;
			continue;
		}
		blank = false;
		(void)!buf_addc(out, c, ERR_DISCARD);
	}
}

static int make_snippet(struct str text, size_t from, size_t to, struct buf *out, struct err *err)
{
	auto_buf struct buf words = BUF_MAX(4096);
	size_t begin = from > AROUND ? from - AROUND : 0, end = to - from > 400 ? from + 400 : to;

	end = text.n - end > AROUND ? end + AROUND : text.n;
	/* Not into another line, nor into the middle of a character. */
	for (size_t i = from; i > begin; i--)
		if (text.p[i - 1] == '\n')
			begin = i;
	for (size_t i = to; i < end; i++)
		if (text.p[i] == '\n')
			end = i;
	while (begin < from && ((unsigned char)text.p[begin] & 0xc0) == 0x80)
		begin++;
	struct str part = str_of(text.p + begin, end - begin);

	unescape(str_head(part, utf8_head(part, part.n)), &words);
	buf_clear(out);
	return term_clean(buf_str(&words), TERM_LINE, out, err);
}

static bool is_new(struct search *s, struct str snippet)
{
	uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

	for (size_t i = 0; i < snippet.n; i++)
		h = (h ^ (unsigned char)snippet.p[i]) * 0x100000001b3ULL;
	for (size_t i = 0; i < s->seen.n; i++)
		if (s->seen.p[i] == h)
			return false;
	if (s->seen.n < SEEN_MAX)
		*vec_new(&s->seen) = h;
	return true;
}

/* ---- one file ---- */

static void note_turn(struct str line, int64_t *turn)
{
	static const struct { struct str head; int64_t add; } marks[] = {
		{ { "{\"turn\":", 8 }, 0 }, { { ",\"type\":\"loop.budget\",\"iteration\":", 34 }, 0 },
	};

	for (size_t i = 0; i < COUNT(marks); i++) {
		struct str head = str_head(line, 128);
		size_t at = i == 0 ? (str_starts(line, marks[0].head) ? 0 : head.n) : str_find(head, marks[i].head), n = 0;
		int64_t v;

		if (at >= head.n)
			continue;
		struct str rest = str_skip(head, at + marks[i].head.n);

		while (n < rest.n && rest.p[n] >= '0' && rest.p[n] <= '9')
			n++;
		if (str_to_i64(str_head(rest, n), &v, ERR_DISCARD) == 0)
			*turn = v;
	}
}

/* Counts lines and turns up to a match. */
static void move_to(struct place *p, struct str text, size_t at, bool turns)
{
	while (p->at < at) {
		const char *nl = memchr(text.p + p->at, '\n', at - p->at);

		if (!nl)
			break;
		if (turns)
			note_turn(str_of(text.p + p->at, (size_t)(nl - text.p) - p->at), &p->turn);
		p->at = (size_t)(nl - text.p) + 1;
		p->line++;
	}
}

static struct str line_at(struct str text, size_t begin)
{
	struct str rest = str_skip(text, begin);

	return str_trim_suffix(str_line(&rest), STR("\n"));
}

static int search_file(struct search *s, int dir, const char *name, const char *shown, bool turns, search_hit_fn *on_hit,
	void *self, struct err *err)
{
	auto_buf struct buf snippet = BUF_MAX(64 * 1024);
	struct place p = { .line = 1 };
	int r;

	buf_clear(&s->text);
	r = file_read(dir, name, &s->text, err);
	if (r < 0)
		return r == -ERR_NOENT ? 0 : r;
	struct str text = buf_str(&s->text);

	s->bytes += (int64_t)text.n;
	for (size_t at = 0; at < text.n;) {
		if (pcre2_match(s->code, (PCRE2_SPTR)text.p, text.n, at, 0, s->data, s->limits) < 1)
			break;
		const PCRE2_SIZE *where = pcre2_get_ovector_pointer(s->data);
		size_t from = where[0], to = where[1] > where[0] ? where[1] : where[0] + 1;

		at = to;
		move_to(&p, text, from, turns);
		TRY(make_snippet(text, from, where[1], &snippet, err));
		if (!is_new(s, buf_str(&snippet)))
			continue;
		struct journal_line l = line_parse(line_at(text, p.at));
		struct search_hit hit = { .file = shown, .line = p.line, .turn = p.turn, .snippet = buf_str(&snippet),
			.type = turns && l.kind != LINE_BAD ? l.type : STR("") };

		TRY(r = on_hit(self, &hit, err));
		if (r > 0)
			return r;
	}
	return 0;
}

/* What is easiest to read first. */
int search_record(struct search *s, int record, search_hit_fn *on_hit, void *self, struct err *err)
{
	static const char *const names[] = { JOURNAL_NAME, STORE_MESSAGES, "plan.md", "transcript.md" };
	auto_arena struct arena *mem = arena_new();
	autoclose int dir = -1;
	struct dir_entry *list;
	size_t n;
	int r;

	s->seen.n = 0;
	for (size_t i = 0; i < COUNT(names); i++) {
		TRY(r = search_file(s, record, names[i], names[i], i < 2, on_hit, self, err));
		if (r > 0)
			return r;
	}
	r = dir_open(record, "transcripts", &dir, err);
	if (r < 0)
		return r == -ERR_NOENT ? 0 : r;
	TRY(dir_list(dir, mem, FILES_MAX, &list, &n, err));
	for (size_t i = 0; i < n; i++) {
		char shown[300];

		snprintf(shown, sizeof(shown), "transcripts/" STR_FMT, STR_ARG(str_head(list[i].name, 255)));
		TRY(r = search_file(s, dir, list[i].name.p, shown, false, on_hit, self, err));
		if (r > 0)
			return r;
	}
	return 0;
}

int64_t search_bytes(const struct search *s)
{
	return s->bytes;
}
