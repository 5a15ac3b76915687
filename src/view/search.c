/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "view/search.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/siphash.h"
#include "fmt/jscan.h"
#include "fmt/json.h"
#include "session/chain.h"
#include "session/journal.h"
#include "session/store.h"
#include "session/talk.h"
#include "sys/file.h"
#include "sys/term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FILE_MAX_BYTES ((size_t)2 << 30)
#define AROUND         70 /* bytes shown before and after a match */
#define MATCH_MAX      400
#define PIECE_MAX      (64 << 20)
#define NESTED_MAX     4  /* JSON in a string, in a string */
#define STEPS_MAX      10000000
#define SEEN_MAX       65536
#define SEEN_PLACES    (2 * SEEN_MAX) /* a power of two */
#define FILES_MAX      200000

/* Numbers of texts. 0 is an empty place. */
struct seen {
	uint64_t *p; /* SEEN_PLACES */
	size_t n;
};

struct search {
	/* Words are looked for as JSON holds them in a file of JSON, to find the lines, and as they were said in what is taken
	 * apart of them. One and the same where JSON writes them as they are, and for a regular expression. */
	pcre2_code *raw, *said;
	bool as_it_stands; /* what no text of a line holds is shown as the line is */
	pcre2_match_data *data;
	pcre2_match_context *limits;
	struct buf text; /* of one file */
	bool words;      /* no regular expression */
	uint64_t key[2]; /* of the numbers below: whoever is looked through must not choose what has the same one */
	struct seen told; /* snippets of this record ... */
	struct seen read; /* ... and the strings of its journal in which all was found that is there */
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
	return add_literal(out, buf_str(&twice), err);
}

static int compile(const struct search_spec *spec, struct str pattern, pcre2_code **out, struct err *err)
{
	PCRE2_UCHAR why[160];
	PCRE2_SIZE at;
	int code;

	*out = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n,
		PCRE2_NEVER_BACKSLASH_C | (spec->ignore_case ? PCRE2_CASELESS : 0u), &code, &at, NULL);
	if (!*out) {
		pcre2_get_error_message(code, why, sizeof(why));
		return err_set(err, ERR_INVALID, "the pattern at %zu: %s", (size_t)at, (const char *)why);
	}
	pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE); /* without it the same is found, slower */
	return 0;
}

static int compile_both(const struct search_spec *spec, struct search *s, struct err *err)
{
	auto_buf struct buf raw = BUF_MAX(256 * 1024), said = BUF_MAX(256 * 1024);

	TRY(spec->regex ? buf_add(&said, spec->pattern, err) : add_literal(&said, spec->pattern, err));
	TRY(spec->regex ? buf_add(&raw, spec->pattern, err) : add_words(&raw, spec->pattern, err));
	TRY(compile(spec, buf_str(&said), &s->said, err));
	s->raw = s->said;
	s->words = !spec->regex;
	/* Of these characters JSON itself is made: they would match where nobody said anything. */
	s->as_it_stands = spec->regex || str_find_any(spec->pattern, STR("\"\\{}[]:,\t\r\n")) == spec->pattern.n;
	return str_eq(buf_str(&raw), buf_str(&said)) ? 0 : compile(spec, buf_str(&raw), &s->raw, err);
}

int search_new(const struct search_spec *spec, struct search **out, struct err *err)
{
	auto_search struct search *s = mem_alloc(sizeof(*s));

	s->text = BUF_MAX(FILE_MAX_BYTES);
	s->told.p = mem_alloc(SEEN_PLACES * sizeof(*s->told.p));
	s->read.p = mem_alloc(SEEN_PLACES * sizeof(*s->read.p));
	if (getrandom(s->key, sizeof(s->key), 0) != (ssize_t)sizeof(s->key))
		return err_sys(err, errno, "getrandom");
	if (spec->pattern.n == 0)
		return err_set(err, ERR_INVALID, "an empty pattern is everywhere");
	TRY(compile_both(spec, s, err));
	s->data = pcre2_match_data_create_from_pattern(s->raw, NULL);
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
	if (s->raw != s->said)
		pcre2_code_free(s->raw);
	pcre2_code_free(s->said);
	pcre2_match_data_free(s->data);
	pcre2_match_context_free(s->limits);
	buf_fini(&s->text);
	free(s->told.p);
	free(s->read.p);
	free(s);
}

/* ---- what is shown ---- */

static int add_clean(struct buf *out, struct str s, struct err *err)
{
	auto_buf struct buf flat = BUF_MAX(64 * 1024);

	for (size_t i = 0; i < s.n; i++)
		TRY(buf_addc(&flat, s.p[i] == '\t' || s.p[i] == '\r' || s.p[i] == '\n' ? ' ' : s.p[i], err));
	return term_clean(buf_str(&flat), TERM_LINE, out, err);
}

/* One line, what stands far from the match left away. */
static int make_snippet(struct str line, size_t from, size_t to, struct buf *out, struct search_hit *hit, struct err *err)
{
	size_t begin = from > AROUND ? from - AROUND : 0, shown = to - from > MATCH_MAX ? from + MATCH_MAX : to;
	size_t end = line.n - to > AROUND ? to + AROUND : line.n;

	buf_clear(out);
	while (begin > 0 && begin < from && ((unsigned char)line.p[begin] & 0xc0) == 0x80)
		begin++;
	struct str before = str_head(str_skip(line, begin), from - begin), match = str_head(str_skip(line, from), shown - from);
	struct str after = str_head(str_skip(line, to), end - to);

	if (begin > 0)
		TRY(buf_addz(out, "...", err));
	while (begin == 0 && before.n > 0 && (before.p[0] == ' ' || before.p[0] == '\t'))
		before = str_skip(before, 1);
	TRY(add_clean(out, before, err));
	hit->mark = out->n;
	TRY(add_clean(out, str_head(match, utf8_head(match, match.n)), err));
	hit->mark_n = out->n - hit->mark;
	TRY(add_clean(out, str_head(after, utf8_head(after, after.n)), err));
	return end < line.n || shown < to ? buf_addz(out, "...", err) : 0;
}

/* False: it is there already. When there is no room it is not kept, and new every time. */
static bool seen_add(struct seen *l, uint64_t number)
{
	uint64_t h = number > 0 ? number : 1;
	size_t at = h & (SEEN_PLACES - 1);

	while (l->p[at] != 0 && l->p[at] != h)
		at = (at + 1) & (SEEN_PLACES - 1);
	if (l->p[at] == h)
		return false;
	if (l->n < SEEN_MAX) {
		l->p[at] = h;
		l->n++;
	}
	return true;
}

static void seen_clear(struct seen *l)
{
	if (l->n > 0)
		memset(l->p, 0, SEEN_PLACES * sizeof(*l->p));
	l->n = 0;
}

static bool is_new(struct search *s, struct str snippet)
{
	return seen_add(&s->told, siphash(s->key, snippet));
}

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

/* ---- one line of a record ---- */

struct looking {
	struct search *s;
	struct buf *snippet;
	struct search_hit hit; /* where we are */
	search_hit_fn *on_hit;
	void *self;
	int64_t found; /* of this line of the record, told or not */
};

static bool matches(struct search *s, const pcre2_code *code, struct str text, size_t at, size_t *from, size_t *to)
{
	if (at > text.n || pcre2_match(code, (PCRE2_SPTR)(text.p ? text.p : ""), text.n, at, 0, s->data, s->limits) < 1)
		return false;
	const PCRE2_SIZE *where = pcre2_get_ovector_pointer(s->data);

	*from = where[0];
	*to = where[1];
	return true;
}

static int tell(struct looking *l, struct str line, size_t from, size_t to, struct err *err)
{
	l->found++;
	TRY(make_snippet(line, from, to, l->snippet, &l->hit, err));
	l->hit.snippet = buf_str(l->snippet);
	return is_new(l->s, l->hit.snippet) ? l->on_hit(l->self, &l->hit, err) : 0;
}

/* Each line of a text that somebody said, once. A match over several is shown in the first. 1: enough. */
static int look_in_text(struct looking *l, struct str text, struct err *err)
{
	size_t at = 0, from, to;

	while (matches(l->s, l->s->said, text, at, &from, &to)) {
		size_t begin = from, end = from;
		int r;

		while (begin > 0 && text.p[begin - 1] != '\n')
			begin--;
		while (end < text.n && text.p[end] != '\n')
			end++;
		r = tell(l, str_head(str_skip(text, begin), end - begin), from - begin, (to < end ? to : end) - begin, err);
		if (r != 0)
			return r;
		at = (to > end ? to : end) + 1;
	}
	return 0;
}

static int look_in(struct looking *l, const json_t *j, int depth, struct err *err);

/* JSON of a tool, or on its way to a model and back, is how things are handed over; anybody else's may be what they said. */
static bool is_wire(struct str who)
{
	return str_eqz(who, "tool") || str_eqz(who, "request") || str_eqz(who, "answer");
}

static int look_in_string(struct looking *l, struct str text, int depth, struct err *err)
{
	auto_json json_t *inner = NULL;
	size_t from, to;

	if (depth < NESTED_MAX && text.n > 1 && (text.p[0] == '{' || text.p[0] == '[') &&
		matches(l->s, l->s->raw, text, 0, &from, &to) && json_decode(text, JSON_REPAIR, &inner, ERR_DISCARD) == 0) {
		int64_t before = l->found;
		int r = look_in(l, inner, depth + 1, err);

		if (r != 0 || l->found > before)
			return r;
	}
	if (!l->s->as_it_stands && is_wire(l->hit.who) && jval_from(text).type == JSCAN_OBJECT)
		return 0;
	return look_in_text(l, text, err);
}

static int look_in(struct looking *l, const json_t *j, int depth, struct err *err)
{
	const char *key;
	json_t *value;
	size_t i;
	int r = 0;

	if (json_is_string(j))
		return look_in_string(l, str_of(json_string_value(j), json_string_length(j)), depth, err);
	json_array_foreach(j, i, value) {
		r = look_in(l, value, depth, err);
		if (r != 0)
			return r;
	}
	json_object_foreach((json_t *)j, key, value) {
		r = look_in(l, value, depth, err);
		if (r != 0)
			return r;
	}
	return r;
}

/* ---- who ---- */

static const struct {
	const char *type, *member, *who; /* how the type begins; NULL: each member */
} speakers[] = {
	{ "run.start", NULL, "you" }, { "run.steer_requested", NULL, "you" }, { "loop.resume.start", NULL, "you" },
	{ "loop.steer.injected", NULL, "you" }, { "loop.pin.added", NULL, "you" }, { "question.answer", NULL, "you" },
	{ "loop.btw.answer", "question", "you" }, { "loop.btw.answer", NULL, "model" }, { "role.", NULL, "model" },
	{ "tool.call", NULL, "model" }, { "tool.", NULL, "tool" }, { "verify.", NULL, "tool" }, { "metric.", NULL, "tool" },
	{ "diff.", NULL, "tool" },
};

static struct str who_of_member(struct str type, const char *member)
{
	for (size_t i = 0; i < COUNT(speakers); i++)
		if (str_starts(type, str_from(speakers[i].type)) && (!speakers[i].member || strcmp(speakers[i].member, member) == 0))
			return str_from(speakers[i].who);
	return STR("agent6");
}

/* What is shown as it stands in the journal is our line. */
static int look_in_event(struct looking *l, const json_t *event, struct err *err)
{
	const char *key;
	json_t *value;
	int r = 0;

	if (str_eqz(l->hit.type, event_at(EVENT_RECORD_MANIFEST)->type)) { /* what it says was said by others */
		l->found++;
		return 0;
	}
	json_object_foreach((json_t *)event, key, value) {
		if (r != 0 || strcmp(key, "h") == 0)
			continue;
		l->hit.who = who_of_member(l->hit.type, key);
		r = look_in(l, value, 1, err);
	}
	l->hit.who = STR("agent6");
	return r;
}

/* {"i":N,"message":{"role":...,"content":[...]}}. A text to the model is of several: its person's words stand in the journal,
 * which is looked through first, and the rest, of the repository and what a run adds, is nobody's but who asks it. */
static struct str who_of_message(const json_t *line)
{
	const json_t *m = json_object_get(line, "message"), *first = json_array_get(json_object_get(m, "content"), 0);

	if (!m)
		return STR("agent6");
	if (str_eqz(json_get_str(m, "role"), "assistant"))
		return STR("model");
	return str_eqz(json_get_str(first, "type"), "tool_result") ? STR("tool") : STR("request");
}

/* ---- one file ---- */

/* What it is decides who spoke. */
enum kind { KIND_JOURNAL, KIND_MESSAGES, KIND_PLAIN, KIND_TRANSCRIPT };

/* A quote that no odd number of backslashes stands before. */
static bool is_quote(struct str text, size_t at)
{
	size_t n = 0;

	while (text.p[at] == '"' && n < at && text.p[at - 1 - n] == '\\')
		n++;
	return text.p[at] == '"' && n % 2 == 0;
}

/* Whether a place lies in a string; they are asked for in order. */
struct quotes {
	size_t at;
	bool open;
};

static bool in_string(struct quotes *q, struct str text, size_t at)
{
	for (; q->at < at; q->at++)
		q->open ^= is_quote(text, q->at);
	return q->open;
}

/* A piece of JSON, or of several in a stream: the string around each match. */
static int look_in_piece(struct looking *l, struct str text, struct err *err)
{
	struct quotes quotes = { 0 };
	size_t at = 0, from, to;

	while (matches(l->s, l->s->raw, text, at, &from, &to)) {
		if (!l->s->as_it_stands && !in_string(&quotes, text, from)) { /* what holds the strings together */
			at = to;
			continue;
		}
		size_t begin = from, end = from;
		auto_json json_t *array = NULL;
		auto_buf struct buf one = BUF_MAX(PIECE_MAX);
		int r = 0;

		while (begin > 0 && !is_quote(text, begin - 1))
			begin--;
		while (end < text.n && !is_quote(text, end))
			end++;
		at = end + 1;
		struct str inside = str_head(str_skip(text, begin), end - begin);

		if (begin > 0 && end < text.n && buf_addf(&one, ERR_DISCARD, "[\"" STR_FMT "\"]", STR_ARG(inside)) == 0 &&
			json_decode(buf_str(&one), JSON_REPAIR, &array, ERR_DISCARD) == 0)
			r = look_in(l, array, 1, err);
		else
			r = look_in_text(l, inside, err);
		if (r != 0)
			return r;
	}
	return 0;
}

/* A whole answer in the conversation stands there in full; here it lies in the pieces it was sent in. */
static bool is_in_the_conversation(struct jval whole)
{
	return (jval_is(jval_get(whole, "seat"), "worker") || jval_is(jval_get(whole, "seat"), "planner")) &&
		jval_is(jval_get(jval_get(whole, "response"), "outcome"), "ok");
}

/* What was sent and what came; the prompt and its tools; the rest is ours and stands in the journal too. */
static int look_in_transcript(struct looking *l, struct str line, struct err *err)
{
	static const struct {
		const char *part, *text, *who;
	} parts[] = { { "request", "text", "request" }, { "response", "body", "answer" }, { NULL, "system", "request" }, { NULL, "tools", "request" } };
	struct jval whole = jval_from(line);

	for (size_t i = 0; i < COUNT(parts); i++) {
		struct jval text = jval_get(parts[i].part ? jval_get(whole, parts[i].part) : whole, parts[i].text);
		auto_buf struct buf plain = BUF_MAX(FILE_MAX_BYTES);

		if (text.type != JSCAN_STRING)
			continue;
		TRY(jval_add_text(&plain, text, NUL_KEEP, err));
		if (strcmp(parts[i].text, "body") == 0 && is_in_the_conversation(whole)) {
			size_t from, to;

			l->found += matches(l->s, l->s->raw, buf_str(&plain), 0, &from, &to);
			continue;
		}
		l->hit.who = str_from(parts[i].who);
		int r = parts[i].part || parts[i].text[0] == 't' ? look_in_piece(l, buf_str(&plain), err)
								: look_in_text(l, buf_str(&plain), err);

		if (r != 0)
			return r;
	}
	l->hit.who = STR("agent6");
	return 0;
}

/* The next string of a part of a line that is JSON, without its quotes. */
static bool next_string(struct str *rest, struct str *out)
{
	const char *open = rest->n > 0 ? memchr(rest->p, '"', rest->n) : NULL, *end = rest->p + rest->n, *close = open;

	while (close && (close == open || !is_quote(str_of(open + 1, (size_t)(end - open) - 1), (size_t)(close - open) - 1)))
		close = close + 1 < end ? memchr(close + 1, '"', (size_t)(end - close) - 1) : NULL;
	if (!close)
		return false;
	*out = str_of(open + 1, (size_t)(close - open) - 1);
	*rest = str_of(close + 1, (size_t)(end - close) - 1);
	return true;
}

/* 1: something may be found in a string that was not found there before; 0: nothing new; -1: nothing at all. */
static int may_tell(struct search *s, struct str string, bool wire)
{
	const uint64_t all[] = { siphash(s->key, string), wire };
	size_t from, to;

	if (!matches(s, s->raw, string, 0, &from, &to))
		return -1;
	return seen_add(&s->read, siphash(s->key, str_of((const char *)all, sizeof(all))));
}

/* "\u" or "\/", at whatever depth. */
static bool spells(struct str s)
{
	const char *at = s.p, *end = s.p + s.n;

	while (at < end && (at = memchr(at, '\\', (size_t)(end - at))) && ++at < end)
		if (*at == 'u' || *at == '/')
			return true;
	return false;
}

/* Of an event as the recorder writes it nothing need be taken apart when no string of it holds the words, or each that does was
 * taken apart before: by whom it was said is a matter of the event's type. found: it holds them. Of JSON that spells what it
 * could write as it is nothing can be told that way, nor of what is no JSON. */
static bool is_known(struct search *s, const struct journal_line *jl, struct str line, bool *found)
{
	bool wire = is_wire(who_of_member(jl->type, "")), more = false;
	struct str rest = jl->rest, string;

	if (!s->words || jl->kind != LINE_DURABLE || str_eqz(jl->type, event_at(EVENT_RECORD_MANIFEST)->type) ||
		spells(line) || jval_from(line).type != JSCAN_OBJECT)
		return false;
	const struct str head[] = { jl->ts, jl->type };

	for (size_t i = 0; i < COUNT(head); i++) {
		int r = may_tell(s, head[i], wire);

		*found |= r >= 0;
		more |= r > 0;
	}
	while (next_string(&rest, &string)) {
		int r = rest.n > 0 && rest.p[0] == ':' ? -1 : may_tell(s, string, wire);

		*found |= r >= 0;
		more |= r > 0;
	}
	return !more;
}

/* stands: the line is to be shown as it is, where nothing was found in it. */
static int look_in_line(struct looking *l, const struct journal_line *jl, struct str line, enum kind kind, bool *stands, struct err *err)
{
	auto_json json_t *j = NULL;
	bool found = false;

	*stands = l->s->as_it_stands || kind == KIND_PLAIN;
	if (kind == KIND_JOURNAL && is_known(l->s, jl, line, &found)) {
		l->found += found;
		l->hit.who = STR("agent6");
		return 0;
	}
	if (kind == KIND_JOURNAL && l->s->words && jl->kind == LINE_VOLATILE) { /* a piece: the whole is said in another line */
		*stands = false;
		return 0;
	}
	if (kind == KIND_TRANSCRIPT) {
		*stands = !l->s->words || jval_from(line).type != JSCAN_OBJECT; /* our names of things are no words of anybody's */
		return look_in_transcript(l, line, err);
	}
	if (kind == KIND_PLAIN)
		return 0;
	if (kind == KIND_MESSAGES && talk_witness(line, &(struct talk_witness){ 0 })) {
		*stands = false;
		return 0;
	}
	if (json_decode(line, JSON_REPAIR, &j, ERR_DISCARD) < 0) {
		*stands = true;
		return 0;
	}
	if (kind == KIND_JOURNAL)
		return look_in_event(l, j, err);
	l->hit.who = who_of_message(j);
	return look_in(l, j, 0, err);
}

static int search_file(struct search *s, int dir, const char *name, const char *shown, enum kind kind, search_hit_fn *on_hit,
	void *self, struct err *err)
{
	auto_buf struct buf snippet = BUF_MAX(64 * 1024);
	struct place p = { .line = 1 };
	size_t from, to;
	int r;

	buf_clear(&s->text);
	r = file_read(dir, name, &s->text, err);
	if (r < 0)
		return r == -ERR_NOENT ? 0 : r;
	struct str text = buf_str(&s->text);

	s->bytes += (int64_t)text.n;
	for (size_t at = 0; at < text.n && matches(s, kind == KIND_PLAIN ? s->said : s->raw, text, at, &from, &to);) {
		move_to(&p, text, from, kind < KIND_PLAIN);
		struct str line = line_at(text, p.at);
		struct journal_line jl = line_parse(line);
		struct looking l = { .s = s, .snippet = &snippet, .on_hit = on_hit, .self = self,
			.hit = { .file = shown, .line = p.line, .turn = p.turn, .who = STR("plan"),
				.type = kind == KIND_JOURNAL && jl.kind != LINE_BAD ? jl.type : STR("") } };

		bool stands;

		r = look_in_line(&l, &jl, line, kind, &stands, err);
		if (r == 0 && l.found == 0 && stands)
			r = tell(&l, line, from - p.at, (to < p.at + line.n ? to : p.at + line.n) - p.at, err);
		if (r != 0)
			return r;
		at = p.at + line.n + 1;
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

	seen_clear(&s->told);
	seen_clear(&s->read);
	for (size_t i = 0; i < COUNT(names); i++) {
		TRY(r = search_file(s, record, names[i], names[i], i < KIND_PLAIN ? (enum kind)i : KIND_PLAIN, on_hit, self, err));
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
		TRY(r = search_file(s, dir, list[i].name.p, shown, KIND_TRANSCRIPT, on_hit, self, err));
		if (r > 0)
			return r;
	}
	return 0;
}

int64_t search_bytes(const struct search *s)
{
	return s->bytes;
}
