/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/patch.h"

#include "tool/match.h"

#include <string.h>

#define WHY_LINES 60   /* of the expected text and of the file, each */
#define LINE_MAX_SHOWN 300
#define WORK_MAX ((size_t)1024 * 1024 * 1024) /* bytes compared or moved for one file: about a second */

/* The file as lines with their endings; hunks splice it. */
struct lines {
	struct str *p;
	size_t n, cap;
	size_t work; /* bytes looked at so far: a patch may fit almost everywhere on purpose */
};

struct target {
	struct str text;     /* the file as it was */
	struct lines lines;
	struct arena *mem;
	struct buf *labels, *why;
	int64_t offset;      /* what the hunks so far have shifted the numbers by */
};

/* How a block was found, strictest first. */
enum heal { HEAL_NONE, HEAL_RSTRIP, HEAL_INDENT, HEAL_COUNT };

static const char *const heal_words[] = { "", "rstrip", "indent" };

struct place {
	size_t at;
	enum heal heal;
	bool moved;
};

static void lines_fini(struct target *t)
{
	free(t->lines.p);
}

static void split(struct str text, struct lines *l)
{
	for (struct str rest = text; rest.n > 0; l->n++) {
		if (l->n == l->cap) {
			l->cap = l->cap > 0 ? l->cap * 2 : 256;
			l->p = mem_grow(l->p, l->cap, sizeof(*l->p));
		}
		l->p[l->n] = str_line(&rest);
	}
}

static void splice(struct lines *l, size_t at, size_t del, const struct str *ins, size_t n)
{
	size_t total = l->n - del + n;

	if (total > l->cap || !l->p) {
		l->cap = total * 2 + 16;
		l->p = mem_grow(l->p, l->cap, sizeof(*l->p));
	}
	if (n != del) {
		memmove(l->p + at + n, l->p + at + del, (l->n - at - del) * sizeof(*l->p));
		l->work += (l->n - at - del) * sizeof(*l->p) / 4; /* moving is that much faster */
	}
	if (n > 0)
		memcpy(l->p + at, ins, n * sizeof(*l->p));
	l->n = total;
}

static struct str bare(struct str line)
{
	return str_trim_suffix(str_trim_suffix(line, STR("\n")), STR("\r"));
}

static struct str rstrip(struct str s)
{
	while (s.n > 0 && strchr(" \t\r\n", s.p[s.n - 1]) && s.p[s.n - 1] != '\0')
		s.n--;
	return s;
}

/* ------------------------------------------------------------------ finding a block */

/* The lines of a hunk that must be in the file. */
static size_t old_block(const struct patch_hunk *h, struct arena *mem, struct str **out)
{
	struct str *p = arena_array(mem, h->n + 1, sizeof(*p));
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++)
		if (h->lines[i].kind != '+')
			p[n++] = h->lines[i].text;
	*out = p;
	return n;
}

static bool same_shift(struct lines *l, size_t at, const struct str *want, size_t n, struct str *from,
	struct str *to)
{
	bool known = false;

	for (size_t i = 0; i < n; i++) {
		struct str have = bare(l->p[at + i]);

		l->work += have.n + want[i].n + 16;
		if (match_is_blank(want[i]) && match_is_blank(have))
			continue;
		if (!known)
			match_shift(want[i], have, from, to);
		known = true;
		if (!str_starts(want[i], *from) || !str_starts(have, *to) ||
			!str_eq(str_skip(want[i], from->n), str_skip(have, to->n)))
			return false;
	}
	return known;
}

static bool block_at(struct lines *l, size_t at, const struct str *want, size_t n, enum heal heal)
{
	struct str from, to;

	if (at > l->n || n > l->n - at)
		return false;
	if (heal == HEAL_INDENT)
		return same_shift(l, at, want, n, &from, &to);
	for (size_t i = 0; i < n; i++) {
		struct str have = bare(l->p[at + i]);

		l->work += have.n + want[i].n + 16;
		if (heal == HEAL_NONE ? !str_eq(have, want[i]) : !str_eq(rstrip(have), rstrip(want[i])))
			return false;
	}
	return true;
}

/* 0, 1, or 2 for more. Past WORK_MAX the answer means nothing; patch_apply looks. */
static size_t count_blocks(struct lines *l, const struct str *want, size_t n, enum heal heal, size_t from,
	size_t *first)
{
	size_t count = 0;

	for (size_t at = from; at + n <= l->n && count < 2 && l->work <= WORK_MAX; at++)
		if (block_at(l, at, want, n, heal) && count++ == 0)
			*first = at;
	return count;
}

/* A context block of blank lines fits anywhere and proves nothing. */
static bool says_something(const struct str *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!match_is_blank(want[i]))
			return true;
	return false;
}

/* ------------------------------------------------------------------ explaining */

static int show_lines(const struct str *p, size_t n, size_t first, struct buf *why, struct err *err)
{
	for (size_t i = 0; i < n && i < WHY_LINES; i++) {
		TRY(buf_addf(why, err, first > 0 ? "%6zu  " : "        ", first + i));
		TRY(buf_add_clipped(why, bare(p[i]), LINE_MAX_SHOWN, 0, err));
		TRY(buf_addc(why, '\n', err));
	}
	if (n > WHY_LINES)
		TRY(buf_addf(why, err, "        [... %zu more lines]\n", n - WHY_LINES));
	return 0;
}

static int explain(const struct target *t, const struct patch_hunk *h, const struct str *want, size_t n, size_t at,
	struct buf *why, struct err *err)
{
	auto_buf struct buf block = BUF_MAX(64 * 1024);

	TRY(buf_addz(why, "Expected:\n", err));
	TRY(show_lines(want, n, 0, why, err));
	if (h->numbered && at < t->lines.n) {
		size_t have = n < t->lines.n - at ? n : t->lines.n - at;

		TRY(buf_addz(why, "On disk at that place:\n", err));
		TRY(show_lines(t->lines.p + at, have, at + 1, why, err));
	}
	for (size_t i = 0; i < n; i++)
		if (buf_add(&block, want[i], ERR_DISCARD) < 0 || buf_addc(&block, '\n', ERR_DISCARD) < 0)
			return 0; /* too long to look for anything similar */
	return match_explain(t->text, buf_str(&block), why, err);
}

static int hunk_fails(const struct patch_hunk *h, enum err_code code, struct err *err, const char *what)
{
	struct str head = h->head.n > 0 ? h->head : STR("hunk");

	return err_set(err, code, "the hunk at patch line %zu (" STR_FMT ") %s", h->at_line,
		STR_ARG(str_head(head, utf8_head(head, 80))), what);
}

/* ------------------------------------------------------------------ where a hunk goes */

static int locate_numbered(struct target *t, const struct patch_hunk *h, const struct str *want, size_t n,
	struct place *out, struct err *err)
{
	/* A hunk without old lines comes after line old_start. */
	int64_t at = h->old_start - (n > 0 ? 1 : 0) + t->offset;
	size_t first = 0;

	if (n == 0) {
		if (at < 0 || (size_t)at > t->lines.n)
			return hunk_fails(h, ERR_NOENT, err, "inserts beyond the end of the file and has no context to find "
				"its place");
		*out = (struct place){ (size_t)at, HEAL_NONE, false };
		return 0;
	}
	if (at >= 0)
		for (enum heal heal = HEAL_NONE; heal < HEAL_COUNT; heal++)
			if (block_at(&t->lines, (size_t)at, want, n, heal)) {
				*out = (struct place){ (size_t)at, heal, false };
				return 0;
			}
	for (enum heal heal = HEAL_NONE; says_something(want, n) && heal < HEAL_COUNT; heal++) {
		size_t count = count_blocks(&t->lines, want, n, heal, 0, &first);

		if (count == 1) {
			*out = (struct place){ first, heal, true };
			return 0;
		}
		if (count > 1)
			return hunk_fails(h, ERR_AMBIGUOUS, err, "is not at its line number and its context is in more than "
				"one place (ambiguous); add context");
	}
	TRY(explain(t, h, want, n, at > 0 ? (size_t)at : 0, t->why, err));
	return hunk_fails(h, ERR_NOENT, err, "was not found in the file");
}

/* The hints come in order; the block is the only one from the last of them on. */
static int locate_by_hints(struct target *t, const struct patch_hunk *h, const struct str *want, size_t n,
	enum heal heal, struct place *out, struct err *err)
{
	size_t from = 0, first = 0;

	for (size_t i = 0; i < h->nhints; i++) {
		for (; from < t->lines.n && t->lines.work <= WORK_MAX; from++) {
			t->lines.work += t->lines.p[from].n + 16;
			if (str_find(t->lines.p[from], h->hints[i]) < t->lines.p[from].n)
				break;
		}
		if (from == t->lines.n)
			return hunk_fails(h, ERR_NOENT, err, "names a place (@@ text) that was not found in the file");
	}
	if (h->nhints == 0 || count_blocks(&t->lines, want, n, heal, from, &first) != 1)
		return hunk_fails(h, ERR_AMBIGUOUS, err, "fits more than one place (ambiguous); add context or an @@ line "
			"that names the function");
	*out = (struct place){ first, heal, false };
	return 0;
}

static int locate_by_content(struct target *t, const struct patch_hunk *h, const struct str *want, size_t n,
	struct place *out, struct err *err)
{
	size_t first = 0;

	if (n == 0 && t->lines.n > 0)
		return hunk_fails(h, ERR_INVALID, err, "only adds lines; give context lines (with a leading space) to say "
			"where they go");
	for (enum heal heal = HEAL_NONE; heal < HEAL_COUNT; heal++) {
		size_t count = count_blocks(&t->lines, want, n, heal, 0, &first);

		if (count == 1 || (n == 0 && t->lines.n == 0)) {
			*out = (struct place){ first, heal, false };
			return 0;
		}
		if (count > 1)
			return locate_by_hints(t, h, want, n, heal, out, err);
	}
	TRY(explain(t, h, want, n, 0, t->why, err));
	return hunk_fails(h, ERR_NOENT, err, "was not found in the file");
}

/* ------------------------------------------------------------------ splicing */

static struct str shifted(struct arena *mem, struct str text, struct str from, struct str to)
{
	if (match_is_blank(text) || !str_starts(text, from))
		return text;
	return str_printf(mem, STR_FMT STR_FMT, STR_ARG(to), STR_ARG(str_skip(text, from.n)));
}

static struct str with_ending(struct arena *mem, struct str text, bool crlf)
{
	size_t n = text.n + 1 + crlf;
	char *p = arena_alloc(mem, n + 1);

	if (text.n > 0)
		memcpy(p, text.p, text.n);
	memcpy(p + text.n, crlf ? "\r\n" : "\n", 1 + (size_t)crlf);
	return str_of(p, n);
}

/* Lines take the ending of their neighbours, whatever the patch came in. */
static bool crlf_near(const struct target *t, size_t at)
{
	for (size_t i = at < t->lines.n ? at : t->lines.n; i-- > 0;)
		if (str_ends(t->lines.p[i], STR("\n")))
			return str_ends(t->lines.p[i], STR("\r\n"));
	for (size_t i = at; i < t->lines.n; i++)
		if (str_ends(t->lines.p[i], STR("\n")))
			return str_ends(t->lines.p[i], STR("\r\n"));
	return false;
}

static void set_last_ending(struct target *t, bool newline)
{
	if (t->lines.n == 0)
		return;

	struct str *last = &t->lines.p[t->lines.n - 1];
	if (newline && !str_ends(*last, STR("\n")))
		*last = with_ending(t->mem, *last, crlf_near(t, t->lines.n - 1));
	else if (!newline)
		*last = bare(*last);
}

/* The marks decide when there are any; without marks the file's own end stays as it is. */
static bool wants_newline(const struct patch_hunk *h, bool had_newline)
{
	bool any = false, last_new = true;

	for (size_t i = 0; i < h->n; i++) {
		any = any || h->lines[i].no_newline;
		if (h->lines[i].kind != '-')
			last_new = !h->lines[i].no_newline;
	}
	return any ? last_new : had_newline;
}

static void splice_hunk(struct target *t, const struct patch_hunk *h, const struct str *want, size_t n,
	struct place at)
{
	struct str *put = arena_array(t->mem, h->n + 1, sizeof(*put)), from = STR(""), to = STR("");
	size_t count = 0, old = at.at;
	bool crlf = crlf_near(t, at.at + (n > 0)), touches_end = at.at + n == t->lines.n;
	bool had = t->lines.n == 0 || str_ends(t->lines.p[t->lines.n - 1], STR("\n"));

	if (at.heal == HEAL_INDENT)
		same_shift(&t->lines, at.at, want, n, &from, &to);
	for (size_t i = 0; i < h->n; i++) {
		if (h->lines[i].kind == '+')
			put[count++] = with_ending(t->mem, shifted(t->mem, h->lines[i].text, from, to), crlf);
		else if (h->lines[i].kind == ' ')
			put[count++] = t->lines.p[old]; /* as on disk, byte for byte */
		old += h->lines[i].kind != '+';
	}
	/* What was last in the file may not be any more. */
	for (size_t i = 0; i + 1 < count; i++)
		if (!str_ends(put[i], STR("\n")))
			put[i] = with_ending(t->mem, put[i], crlf);
	if (n == 0 && touches_end)
		set_last_ending(t, true);
	splice(&t->lines, at.at, n, put, count);
	if (touches_end)
		set_last_ending(t, wants_newline(h, had));
	t->offset += (int64_t)count - (int64_t)n;
}

static int note_heal(struct target *t, const struct patch_hunk *h, struct place at, struct err *err)
{
	if (at.heal == HEAL_NONE && !at.moved)
		return 0;
	if (t->labels->n > 0)
		TRY(buf_addz(t->labels, ", ", err));
	if (h->numbered)
		TRY(buf_addf(t->labels, err, "@@ -%lld,%lld", (long long)h->old_start, (long long)h->old_count));
	else
		TRY(buf_addf(t->labels, err, "@@ line %zu", at.at + 1));
	if (at.heal != HEAL_NONE)
		TRY(buf_addf(t->labels, err, " ~%s", heal_words[at.heal]));
	return at.moved ? buf_addz(t->labels, " ~moved", err) : 0;
}

int patch_apply(const struct patch_file *f, struct str old, struct arena *mem, struct buf *out, struct buf *labels,
	struct buf *why, struct err *err)
{
	CLEANUP(lines_fini) struct target t = { .text = old, .mem = mem, .labels = labels, .why = why };

	split(old, &t.lines);
	for (size_t i = 0; i < f->n; i++) {
		const struct patch_hunk *h = &f->hunks[i];
		struct place at = { 0 };
		struct str *want;
		size_t n = old_block(h, mem, &want);

		if (f->op == PATCH_ADD && n > 0)
			return hunk_fails(h, ERR_INVALID, err, "removes or keeps lines of a file that is new");
		int r = h->numbered ? locate_numbered(&t, h, want, n, &at, err) : locate_by_content(&t, h, want, n, &at, err);

		if (t.lines.work > WORK_MAX)
			return hunk_fails(h, ERR_LIMIT, err, "takes too long to place in this file; send a smaller patch with "
				"line numbers that are right");
		TRY(r);
		TRY(note_heal(&t, h, at, err));
		if (at.moved) /* its number was wrong; the next ones are as far off as this one, or right */
			t.offset = (int64_t)at.at - (h->old_start - (n > 0 ? 1 : 0));
		splice_hunk(&t, h, want, n, at);
	}
	for (size_t i = 0; i < t.lines.n; i++)
		TRY(buf_add(out, t.lines.p[i], err));
	if (f->op == PATCH_DELETE && !f->whole && out->n > 0)
		return err_set(err, ERR_CONFLICT, "the patch deletes the file but %zu of its lines are not in it; refused",
			t.lines.n);
	return 0;
}
