/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/diff.h"

#include "base/vec.h"

#include <string.h>

/* ------------------------------------------------------------------ lines */

struct lines {
	VEC(struct str);
};

static void lines_fini(struct lines *l)
{
	vec_fini(l);
}

static void split(struct str text, struct lines *out)
{
	while (text.n > 0)
		*vec_new(out) = str_line(&text);
}

/* Which lines of a go, which of b come: one flag for each line. */
struct script {
	bool *del, *ins;
};

static void script_fini(struct script *s)
{
	free(s->del);
	free(s->ins);
}

/* The furthest x reached on each diagonal, for each number of edits; rows of 2 * d + 1. */
static void walk_back(const int *trace, int d, int x, int y, struct script *s)
{
	for (; d > 0; d--) {
		const int *row = trace + (size_t)(d - 1) * (size_t)(d - 1); /* 1 + 3 + 5 + ... */
		int k = x - y, mid = d - 1;
		bool down = k == -d || (k != d && (k - 1 < -mid ? -1 : row[k - 1 + mid]) <
			(k + 1 > mid ? -1 : row[k + 1 + mid]));
		int prev_k = down ? k + 1 : k - 1;
		int prev_x = row[prev_k + mid], prev_y = prev_x - prev_k;

		if (down)
			s->ins[prev_y] = true;
		else
			s->del[prev_x] = true;
		x = prev_x;
		y = prev_y;
	}
}

/* False when more than DIFF_EDITS_MAX lines differ. Both counts fit an int, see find_script. */
static bool myers(const struct lines *a, const struct lines *b, struct script *s)
{
	int n = (int)a->n, m = (int)b->n;
	struct {
		VEC(int);
	} trace = { 0 };
	bool found = false;

	for (int d = 0; d <= DIFF_EDITS_MAX && !found; d++) {
		size_t row = trace.n, prev = d > 0 ? row - (size_t)(2 * d - 1) : 0;

		for (int k = -d; k <= d; k++)
			*vec_new(&trace) = -1;
		for (int k = -d; k <= d && !found; k += 2) {
			int x = 0;

			if (d > 0) {
				int mid = d - 1;
				int left = k - 1 < -mid ? -1 : trace.p[prev + (size_t)(k - 1 + mid)];
				int up = k + 1 > mid ? -1 : trace.p[prev + (size_t)(k + 1 + mid)];

				bool down = k == -d || (k != d && left < up);

				x = down ? up : left < 0 ? -1 : left + 1;
			}
			int y = x - k;
			if (x < 0 || x > n || y < 0 || y > m) /* beyond an edge: nothing starts from here */
				continue;
			while (x < n && y < m && str_eq(a->p[x], b->p[y])) {
				x++;
				y++;
			}
			trace.p[row + (size_t)(k + d)] = x;
			if (x == n && y == m) {
				walk_back(trace.p, d, x, y, s);
				found = true;
			}
		}
	}
	vec_fini(&trace);
	return found;
}

static void find_script(const struct lines *a, const struct lines *b, struct script *s)
{
	s->del = mem_alloc(a->n + 1);
	s->ins = mem_alloc(b->n + 1);
	if (a->n <= INT32_MAX / 4 && b->n <= INT32_MAX / 4 && myers(a, b, s))
		return;
	memset(s->del, 1, a->n);
	memset(s->ins, 1, b->n);
}

/* ------------------------------------------------------------------ unified */

static int put_line(struct buf *out, char sign, struct str line, struct err *err)
{
	TRY(buf_addc(out, sign, err));
	TRY(buf_add(out, line, err));
	if (str_ends(line, STR("\n")))
		return 0;
	return buf_addz(out, "\n\\ No newline at end of file\n", err);
}

struct span {
	size_t a, b, a_end, b_end;
};

static int put_hunk(const struct lines *a, const struct lines *b, const struct script *s, struct span h,
	int64_t first_line, struct buf *out, struct err *err)
{
	size_t i = h.a, j = h.b;
	/* A side without lines is numbered by the line before it. */
	int64_t at_a = first_line + (int64_t)h.a - (h.a_end == h.a), at_b = first_line + (int64_t)h.b - (h.b_end == h.b);

	TRY(buf_addf(out, err, "@@ -%lld,%zu +%lld,%zu @@\n", (long long)at_a, h.a_end - h.a, (long long)at_b,
		h.b_end - h.b));
	while (i < h.a_end || j < h.b_end) {
		if (i < h.a_end && s->del[i]) {
			TRY(put_line(out, '-', a->p[i++], err));
		} else if (j < h.b_end && s->ins[j]) {
			TRY(put_line(out, '+', b->p[j++], err));
		} else {
			TRY(put_line(out, ' ', a->p[i++], err));
			j++;
		}
	}
	return 0;
}

int diff_unified(struct str a, struct str b, int64_t first_line, size_t context, struct buf *out, size_t *hunks,
	struct err *err)
{
	CLEANUP(lines_fini) struct lines la = { 0 }, lb = { 0 };
	CLEANUP(script_fini) struct script s = { 0 };
	size_t i = 0, j = 0, count = 0, quiet = 0;
	struct span h = { 0 };
	bool open = false;

	split(a, &la);
	split(b, &lb);
	find_script(&la, &lb, &s);
	while (i < la.n || j < lb.n) {
		bool del = i < la.n && s.del[i], ins = j < lb.n && s.ins[j];

		if (del || ins) {
			if (!open)
				h = (struct span){ i - (quiet < context ? quiet : context),
					j - (quiet < context ? quiet : context), 0, 0 };
			open = true;
			quiet = 0;
			i += del;
			j += !del && ins;
			h.a_end = i;
			h.b_end = j;
			continue;
		}
		i++;
		j++;
		quiet++;
		if (open && quiet <= context) {
			h.a_end = i;
			h.b_end = j;
		}
		if (open && quiet > 2 * context) { /* the next change is too far to share this hunk */
			TRY(put_hunk(&la, &lb, &s, h, first_line, out, err));
			count++;
			open = false;
		}
	}
	if (open) {
		TRY(put_hunk(&la, &lb, &s, h, first_line, out, err));
		count++;
	}
	*hunks = count;
	return 0;
}

/* ------------------------------------------------------------------ ratio */

/* The longest run that both share; two rows of lengths are enough. */
static size_t longest(struct str a, struct str b, uint16_t *rows, size_t *at_a, size_t *at_b)
{
	uint16_t *prev = rows, *cur = rows + DIFF_RATIO_MAX + 1;
	size_t best = 0;

	memset(rows, 0, 2 * (DIFF_RATIO_MAX + 1) * sizeof(*rows));
	for (size_t i = 0; i < a.n; i++) {
		uint16_t *swap;

		for (size_t j = 0; j < b.n; j++) {
			cur[j + 1] = a.p[i] == b.p[j] ? (uint16_t)(prev[j] + 1) : 0;
			if (cur[j + 1] > best) {
				best = cur[j + 1];
				*at_a = i + 1 - best;
				*at_b = j + 1 - best;
			}
		}
		swap = prev;
		prev = cur;
		cur = swap;
	}
	return best;
}

static size_t common_head(struct str a, struct str b)
{
	size_t n = 0;

	while (n < a.n && n < b.n && a.p[n] == b.p[n])
		n++;
	return n;
}

static size_t common_tail(struct str a, struct str b)
{
	size_t n = 0;

	while (n < a.n && n < b.n && a.p[a.n - 1 - n] == b.p[b.n - 1 - n])
		n++;
	return n;
}

/* Equal heads and tails are matched first: it is what the recursion nearly always finds, for nothing.
 * depth bounds the work on texts that match in single bytes all over. */
static size_t matching(struct str a, struct str b, uint16_t *rows, int depth)
{
	size_t head = common_head(a, b), at_a = 0, at_b = 0, run;

	a = str_skip(a, head);
	b = str_skip(b, head);
	size_t tail = common_tail(a, b);
	a = str_head(a, a.n - tail);
	b = str_head(b, b.n - tail);
	if (a.n == 0 || b.n == 0 || depth == 0)
		return head + tail;
	run = longest(a, b, rows, &at_a, &at_b);
	if (run == 0)
		return head + tail;
	return head + tail + run + matching(str_head(a, at_a), str_head(b, at_b), rows, depth - 1) +
		matching(str_skip(a, at_a + run), str_skip(b, at_b + run), rows, depth - 1);
}

double diff_ratio(struct str a, struct str b)
{
	autofree uint16_t *rows = mem_alloc(2 * (DIFF_RATIO_MAX + 1) * sizeof(*rows));

	a = str_head(a, DIFF_RATIO_MAX);
	b = str_head(b, DIFF_RATIO_MAX);
	if (a.n + b.n == 0)
		return 1;
	return 2.0 * (double)matching(a, b, rows, 8) / (double)(a.n + b.n);
}

double diff_ratio_bound(struct str a, struct str b)
{
	size_t have[256] = { 0 }, same = 0;

	a = str_head(a, DIFF_RATIO_MAX);
	b = str_head(b, DIFF_RATIO_MAX);
	if (a.n + b.n == 0)
		return 1;
	for (size_t i = 0; i < a.n; i++)
		have[(unsigned char)a.p[i]]++;
	for (size_t i = 0; i < b.n; i++)
		if (have[(unsigned char)b.p[i]] > 0) {
			have[(unsigned char)b.p[i]]--;
			same++;
		}
	return 2.0 * (double)same / (double)(a.n + b.n);
}
