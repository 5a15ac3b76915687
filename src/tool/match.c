/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/match.h"

#include "base/vec.h"
#include "fmt/diff.h"

#include <string.h>

#define COUNT_MAX       1000            /* "1000 or more places" says enough */
#define SHIFT_WORK      ((size_t)256 * 1024 * 1024) /* bytes compared; beyond it no other indent is looked for */
#define EXPLAIN_LINES   6000            /* beyond it no similar region is looked for */
#define EXPLAIN_WORK    (64 * 1000 * 1000) /* byte pairs compared: about 0.1 s */
#define EXPLAIN_TRIES   12
#define REGION_HEAD     4000
#define REGION_TAIL     2000
#define DIFF_MAX        (64 * 1024)
#define DIFF_SHOWN      4000

/* ------------------------------------------------------------------ line endings */

struct str match_to_lf(struct arena *mem, struct str text)
{
	char *p;
	size_t n = 0;

	if (str_find(text, STR("\r\n")) == text.n)
		return text;
	p = arena_alloc(mem, text.n + 1);
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] != '\r' || i + 1 == text.n || text.p[i + 1] != '\n')
			p[n++] = text.p[i];
	return str_of(p, n);
}

struct str match_to_crlf(struct arena *mem, struct str lf)
{
	size_t n = 0, lines = 0;
	char *p;

	for (size_t i = 0; i < lf.n; i++)
		lines += lf.p[i] == '\n';
	p = arena_alloc(mem, lf.n + lines + 1);
	for (size_t i = 0; i < lf.n; i++) {
		if (lf.p[i] == '\n')
			p[n++] = '\r';
		p[n++] = lf.p[i];
	}
	return str_of(p, n);
}

bool match_is_crlf_at(struct str text, size_t at)
{
	struct str rest = str_skip(text, at);
	size_t nl = at + str_find(rest, STR("\n"));

	if (nl >= text.n)
		nl = str_rfind(text, '\n');
	return nl < text.n && nl > 0 && text.p[nl - 1] == '\r';
}

/* Where byte k of the LF form is in the text itself; a CR belongs to the LF behind it. */
static size_t raw_offset(struct str text, size_t k)
{
	size_t i = 0;

	for (; k > 0; k--) {
		if (text.p[i] == '\r' && i + 1 < text.n && text.p[i + 1] == '\n')
			i++;
		i++;
	}
	return i;
}

/* ------------------------------------------------------------------ finding */

static size_t count_places(struct str text, struct str old, size_t *first)
{
	size_t n = 0;

	for (size_t at = 0; n < COUNT_MAX; at++) {
		at += str_find(str_skip(text, at), old);
		if (at >= text.n)
			break;
		if (n++ == 0)
			*first = at;
	}
	return n;
}

static int ambiguous(size_t n, struct err *err)
{
	return err_set(err, ERR_AMBIGUOUS, "old_string is not unique: %s%zu matches; add lines around it until it "
		"names one place", n == COUNT_MAX ? "at least " : "", n);
}

struct str match_indent(struct str line)
{
	size_t n = 0;

	while (n < line.n && (line.p[n] == ' ' || line.p[n] == '\t'))
		n++;
	return str_head(line, n);
}

bool match_is_blank(struct str line)
{
	return str_trim(line).n == 0;
}

void match_shift(struct str want, struct str have, struct str *from, struct str *to)
{
	*from = match_indent(want);
	*to = match_indent(have);
	while (from->n > 0 && to->n > 0 && from->p[from->n - 1] == to->p[to->n - 1]) {
		from->n--;
		to->n--;
	}
}

struct rows {
	VEC(struct str); /* without their '\n' */
};

static void rows_fini(struct rows *r)
{
	vec_fini(r);
}

static void split(struct str text, struct rows *out)
{
	while (text.n > 0)
		*vec_new(out) = str_trim_suffix(str_line(&text), STR("\n"));
}

static bool window_like(const struct rows *file, size_t at, const struct rows *old, size_t *work)
{
	for (size_t i = 0; i < old->n; i++) {
		*work += file->p[at + i].n + old->p[i].n + 16;
		if (!str_eq(str_trim(file->p[at + i]), str_trim(old->p[i])))
			return false;
	}
	return true;
}

/* from + rest becomes to + rest on every line that holds something; false when a line has no `from`. */
static bool shift(struct str text, struct str from, struct str to, struct buf *out)
{
	while (text.n > 0) {
		struct str line = str_line(&text);

		if (match_is_blank(line)) {
			if (buf_add(out, line, ERR_DISCARD) < 0)
				return false;
			continue;
		}
		if (!str_starts(line, from) || buf_add(out, to, ERR_DISCARD) < 0 ||
			buf_add(out, str_skip(line, from.n), ERR_DISCARD) < 0)
			return false;
	}
	return true;
}

static bool same_but_blank(const struct rows *file, size_t at, struct str shifted)
{
	for (size_t i = at; shifted.n > 0; i++) {
		struct str line = str_trim_suffix(str_line(&shifted), STR("\n"));

		if (!str_eq(line, file->p[i]) && !(match_is_blank(line) && match_is_blank(file->p[i])))
			return false;
	}
	return true;
}

/* The one window of the LF text that old describes but for a common shift; plan in LF offsets. */
static bool find_shifted(struct str lf, struct str old, struct str new, struct arena *mem, struct match_plan *out)
{
	CLEANUP(rows_fini) struct rows file = { 0 }, want = { 0 };
	auto_buf struct buf back = BUF_MAX(old.n * 64 + 4096), put = BUF_MAX(new.n * 64 + 4096);
	size_t at = SIZE_MAX, key = 0, work = 0;

	split(lf, &file);
	split(old, &want);
	while (key < want.n && match_is_blank(want.p[key]))
		key++;
	if (key == want.n)
		return false;
	for (size_t i = 0; i + want.n <= file.n; i++) {
		if (work > SHIFT_WORK)
			return false;
		if (!window_like(&file, i, &want, &work))
			continue;
		if (at != SIZE_MAX)
			return false;
		at = i;
	}
	if (at == SIZE_MAX)
		return false;

	struct str from, to;
	match_shift(want.p[key], file.p[at + key], &from, &to);
	if (!shift(old, from, to, &back) || !same_but_blank(&file, at, buf_str(&back)) || !shift(new, from, to, &put))
		return false;
	out->at = (size_t)(file.p[at].p - lf.p);
	const char *end = file.p[at + want.n - 1].p + file.p[at + want.n - 1].n;
	out->del = (size_t)(end - lf.p) - out->at;
	if (str_ends(old, STR("\n")) && out->at + out->del < lf.n)
		out->del++;
	out->ins = str_dup(mem, buf_str(&put));
	out->reindented = true;
	return true;
}

/* ------------------------------------------------------------------ explaining */

struct window {
	size_t at;
	double bound;
};

static int by_bound(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return x->bound != y->bound ? (x->bound < y->bound ? 1 : -1) : (x->at > y->at) - (x->at < y->at);
}

static struct str rows_text(struct str lf, const struct rows *r, size_t at, size_t n)
{
	const char *end = r->p[at + n - 1].p + r->p[at + n - 1].n;
	struct str s = str_of(r->p[at].p, (size_t)(end - r->p[at].p));

	return end < lf.p + lf.n ? str_of(s.p, s.n + 1) : s;
}

static double nearest(struct str lf, const struct rows *file, struct str old, size_t n, size_t *best_at)
{
	size_t all = file->n - n + 1, work = 0;
	autofree struct window *w = mem_alloc(all * sizeof(*w));
	double best = 0;

	for (size_t i = 0; i < all; i++)
		w[i] = (struct window){ i, diff_ratio_bound(rows_text(lf, file, i, n), old) };
	qsort(w, all, sizeof(*w), by_bound);
	for (size_t i = 0; i < all && i < EXPLAIN_TRIES && w[i].bound > best && work < EXPLAIN_WORK; i++) {
		struct str text = rows_text(lf, file, w[i].at, n);
		double ratio = diff_ratio(text, old);

		work += str_head(text, DIFF_RATIO_MAX).n * str_head(old, DIFF_RATIO_MAX).n;
		if (ratio > best) {
			best = ratio;
			*best_at = w[i].at;
		}
	}
	return best;
}

static bool differ_in_blanks_only(struct str a, struct str b)
{
	size_t i = 0, j = 0;

	for (;;) {
		while (i < a.n && strchr(" \t\r\n", a.p[i]) && a.p[i])
			i++;
		while (j < b.n && strchr(" \t\r\n", b.p[j]) && b.p[j])
			j++;
		if (i == a.n || j == b.n)
			return i == a.n && j == b.n;
		if (a.p[i++] != b.p[j++])
			return false;
	}
}

static int show_region(struct str old, struct str disk, size_t line, size_t n, double ratio, struct buf *why,
	struct err *err)
{
	auto_buf struct buf diff = BUF_MAX(DIFF_MAX);
	size_t hunks;

	if (differ_in_blanks_only(old, disk))
		TRY(buf_addz(why, "The most similar region differs only in whitespace", err));
	else
		TRY(buf_addf(why, err, "The most similar region is %d%% alike", (int)(ratio * 100)));
	TRY(buf_addf(why, err, " (lines %zu-%zu). Retry with its exact text; no need to read the file again.\n"
		"<<<ON_DISK\n", line, line + n - 1));
	TRY(buf_add_clipped(why, disk, REGION_HEAD, REGION_TAIL, err));
	TRY(buf_addf(why, err, "%s>>>ON_DISK\n", str_ends(disk, STR("\n")) ? "" : "\n"));
	if (diff_unified(old, disk, (int64_t)line, 1, &diff, &hunks, ERR_DISCARD) < 0)
		return 0; /* larger than anybody would read */
	TRY(buf_addz(why, "From old_string to the file:\n", err));
	return buf_add_clipped(why, buf_str(&diff), DIFF_SHOWN, DIFF_SHOWN / 2, err);
}

static int show_orientation(struct str lf, const struct rows *file, struct buf *why, struct err *err)
{
	TRY(buf_addf(why, err, "Nothing in the file resembles it. The file has %zu bytes and %zu lines", lf.n, file->n));
	if (file->n == 0)
		return buf_addz(why, "; it is empty.", err);
	TRY(buf_addz(why, ". Read it again. It begins:\n", err));
	for (size_t i = 0; i < file->n && i < 5; i++) {
		TRY(buf_add_clipped(why, file->p[i], 200, 0, err));
		TRY(buf_addc(why, '\n', err));
	}
	if (file->n <= 10)
		return 0;
	TRY(buf_addz(why, "and ends:\n", err));
	for (size_t i = file->n - 5; i < file->n; i++) {
		TRY(buf_add_clipped(why, file->p[i], 200, 0, err));
		TRY(buf_addc(why, '\n', err));
	}
	return 0;
}

int match_explain(struct str text, struct str old, struct buf *why, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	CLEANUP(rows_fini) struct rows file = { 0 }, want = { 0 };
	struct str lf = match_to_lf(mem, text), like = match_to_lf(mem, old);
	size_t at = 0;
	double ratio = 0;

	split(lf, &file);
	split(like, &want);
	if (want.n > 0 && want.n <= file.n && file.n <= EXPLAIN_LINES)
		ratio = nearest(lf, &file, like, want.n, &at);
	if (ratio < 0.5)
		return show_orientation(lf, &file, why, err);
	return show_region(like, rows_text(lf, &file, at, want.n), at + 1, want.n, ratio, why, err);
}

/* ------------------------------------------------------------------ the door */

/* New text takes the ending of the lines it comes among; in a text without any it stays as it was sent. */
static struct str fit_endings(struct arena *mem, struct str text, size_t at, struct str new)
{
	if (match_is_crlf_at(text, at))
		return match_to_crlf(mem, match_to_lf(mem, new));
	return memchr(text.p, '\n', text.n) ? match_to_lf(mem, new) : new;
}

/* The places of old in the text as it is, else with LF for CRLF, else with another indent. */
static size_t locate(struct str text, struct str old, struct str new, struct arena *mem, struct match_plan *p)
{
	size_t n = count_places(text, old, &p->at);

	p->del = old.n;
	p->ins = new;
	if (n > 0)
		return n;

	struct str lf = match_to_lf(mem, text), lf_old = match_to_lf(mem, old);
	n = count_places(lf, lf_old, &p->at);
	p->del = lf_old.n;
	if (n == 0 && find_shifted(lf, lf_old, match_to_lf(mem, new), mem, p))
		n = 1;
	if (n == 1) {
		size_t from = raw_offset(text, p->at);

		p->del = raw_offset(text, p->at + p->del) - from;
		p->at = from;
	}
	return n;
}

int match_plan(struct str text, struct str old, struct str new, struct arena *mem, struct match_plan *out,
	struct buf *why, struct err *err)
{
	auto_arena struct arena *scratch = arena_new(); /* whole copies of the text: gone before the next edit */
	struct match_plan p = { 0 };
	size_t n;

	if (old.n == 0)
		return err_set(err, ERR_INVALID, "old_string is empty; quote the text to replace (\"create\" makes a new file)");
	if (str_eq(old, new))
		return err_set(err, ERR_INVALID, "old_string and new_string are the same: nothing to change; edit refused");
	n = locate(text, old, new, scratch, &p);
	if (n > 1)
		return ambiguous(n, err);
	if (n == 0) {
		TRY(match_explain(text, old, why, err));
		return err_set(err, ERR_NOENT, "old_string was not found");
	}
	p.ins = str_dup(mem, fit_endings(scratch, text, p.at, p.ins));
	*out = p;
	return 0;
}
