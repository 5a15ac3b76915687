/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* search_literal: bytes that stand in whatever a pattern matches. Looking for them is many times faster than matching, and
 * most pieces of most files do not have them. Only what is plain to see is taken: of a pattern with anything that is not
 * understood here, nothing. */
#include "tool/search_priv.h"

#include <string.h>

/* The longest run of plain characters seen so far, and the one that is being read. */
struct runs {
	struct str pattern;
	size_t from, to, best_from, best_to;
};

static void end_run(struct runs *r, size_t next)
{
	if (r->to - r->from > r->best_to - r->best_from) {
		r->best_from = r->from;
		r->best_to = r->to;
	}
	r->from = r->to = next;
}

/* Behind "[:name:]" at i, or 0 when that is not what stands there. */
static size_t skip_named_class(struct str p, size_t i)
{
	if (p.p[i + 1] != ':')
		return 0;
	i += 2;
	if (i < p.n && p.p[i] == '^')
		i++;
	while (i < p.n && p.p[i] >= 'a' && p.p[i] <= 'z')
		i++;
	return i + 1 < p.n && p.p[i] == ':' && p.p[i + 1] == ']' ? i + 2 : 0;
}

/* Behind the class whose bracket stands at i, or 0. */
static size_t skip_class(struct str p, size_t i)
{
	i++;
	if (i < p.n && p.p[i] == '^')
		i++;
	if (i < p.n && p.p[i] == ']')
		i++;
	while (i < p.n && p.p[i] != ']') {
		bool escape = p.p[i] == '\\', named = p.p[i] == '[' && i + 1 < p.n && memchr(":.=", p.p[i + 1], 3);

		if (escape && (i + 1 >= p.n || memchr("QE", p.p[i + 1], 2)))
			return 0;
		i = named ? skip_named_class(p, i) : escape ? i + 2 : i + 1;
		if (i == 0)
			return 0;
	}
	return i < p.n ? i + 1 : 0;
}

static bool is_plain(char c)
{
	return c >= ' ' && c < 0x7f && !memchr("\\[](){}*+?|^$.", c, 14);
}

/* Behind the escape at i, or 0. One that stands for itself is a character of the run. */
static size_t skip_escape(struct runs *r, size_t i, bool outside)
{
	char c = i + 1 < r->pattern.n ? r->pattern.p[i + 1] : '\0';

	if (memchr("bBdDwWsS", c, 8)) {
		end_run(r, i + 2);
		return i + 2;
	}
	if (c <= ' ' || c >= 0x7f || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
		return 0;
	end_run(r, i + 1); /* without the backslash */
	r->to += outside;
	return i + 2;
}

/* Behind the quantifier at i, or 0. What may be there no time is not in the run. A brace that begins none is a character. */
static size_t skip_quantifier(struct runs *r, size_t i)
{
	struct str p = r->pattern;
	size_t end = i + 1;

	if (p.p[i] != '+' && r->to > r->from)
		r->to--;
	while (p.p[i] == '{' && end < p.n && p.p[end] != '}') {
		if (!memchr("0123456789, ", p.p[end], 12))
			return 0;
		end++;
	}
	if (p.p[i] == '{' && end++ == p.n)
		return 0;
	end_run(r, end);
	return end;
}

struct str search_literal(struct str pattern)
{
	struct runs r = { .pattern = pattern };
	size_t depth = 0;

	for (size_t i = 0; i < pattern.n;) {
		char c = pattern.p[i];

		if (c == '\\') {
			i = skip_escape(&r, i, depth == 0);
		} else if (c == '[') {
			end_run(&r, i);
			i = skip_class(pattern, i);
			r.from = r.to = i;
		} else if (c == '(') {
			end_run(&r, i + 1);
			depth++;
			i = i + 1 < pattern.n && memchr("?*", pattern.p[i + 1], 2) ? 0 : i + 1;
		} else if (c == ')' && depth > 0) {
			depth--;
			i++;
			r.from = r.to = i;
		} else if (memchr("*+?{", c, 4)) {
			i = skip_quantifier(&r, i);
		} else if (c == '|' && depth == 0) {
			i = 0;
		} else if (is_plain(c) && depth == 0) {
			r.to = ++i;
		} else {
			end_run(&r, ++i);
		}
		if (i == 0)
			return STR("");
	}
	end_run(&r, pattern.n);
	return str_of(pattern.p + r.best_from, r.best_to - r.best_from);
}

/* ---- looking for them ---- */

/* What is rare in source text and prose comes late. */
static const char common[] = " etaonirsldcumpfhg_b,.y;()0\"-v=*w>k1/x'2:T&SEAC#NRI3q{}OLD<+j[]4z5PFM6U8B7G!9WVHXYJKQZ@$%~^|`?\\";

void search_needle_set(struct search_needle *n, struct str literal)
{
	size_t rarest = 0;

	*n = (struct search_needle){ .text = literal };
	for (size_t i = 0; i < literal.n; i++) {
		const char *at = memchr(common, literal.p[i], sizeof(common) - 1);
		size_t rank = at ? (size_t)(at - common) : sizeof(common);

		if (rank >= rarest) {
			rarest = rank;
			n->at = i;
		}
	}
}

size_t search_needle_find(const struct search_needle *n, struct str text, size_t from)
{
	const char *end = text.p + text.n;

	if (n->text.n > text.n - from)
		return text.n;
	for (const char *p = text.p + from + n->at; p + (n->text.n - n->at) <= end; p++) {
		p = memchr(p, n->text.p[n->at], (size_t)(end - p) - (n->text.n - n->at - 1));
		if (!p)
			break;
		if (memcmp(p - n->at, n->text.p, n->text.n) == 0)
			return (size_t)(p - n->at - text.p);
	}
	return text.n;
}
