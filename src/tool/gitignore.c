/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/gitignore.h"

#include <ctype.h>
#include <string.h>

struct ignore_rule {
	struct str text;    /* without "!", the leading and the trailing '/' */
	size_t literal;     /* bytes before the first special character */
	bool negative, dir_only;
	bool by_name;       /* holds no slash: fits a name at any depth */
};

/* ------------------------------------------------------------------ globs */

static bool in_class(struct str name, unsigned char c)
{
	static const struct {
		const char *name;
		int (*is)(int);
	} classes[] = {
		{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank }, { "cntrl", iscntrl },
		{ "digit", isdigit }, { "graph", isgraph }, { "lower", islower }, { "print", isprint },
		{ "punct", ispunct }, { "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
	};

	for (size_t i = 0; i < COUNT(classes); i++)
		if (str_eqz(name, classes[i].name))
			return c < 0x80 && classes[i].is(c);
	return false;
}

static bool known_class(struct str name)
{
	return in_class(name, 'a') || in_class(name, ' ') || in_class(name, '1') || in_class(name, '.') ||
		in_class(name, 'A') || in_class(name, '\t') || in_class(name, '\x01');
}

/* One byte of a bracket, escapes resolved; false at its end. */
static bool bracket_byte(struct str p, size_t *i, unsigned char *out)
{
	if (*i < p.n && p.p[*i] == '\\')
		(*i)++;
	if (*i >= p.n)
		return false;
	*out = (unsigned char)p.p[(*i)++];
	return true;
}

/* The bracket expression that starts behind '[' at *at; *at moves behind its ']'. -1: it has no end. */
static int bracket(struct str p, size_t *at, unsigned char c)
{
	size_t i = *at;
	bool negated = i < p.n && (p.p[i] == '!' || p.p[i] == '^'), hit = false;

	i += negated;
	for (bool first = true; first || (i < p.n && p.p[i] != ']'); first = false) {
		unsigned char low, high;

		if (i + 1 < p.n && p.p[i] == '[' && p.p[i + 1] == ':') {
			size_t end = str_find_any(str_skip(p, i + 2), STR("]")) + i + 2;

			if (end >= p.n)
				return -1;
			if (p.p[end - 1] == ':' && end > i + 2) {
				struct str name = str_of(p.p + i + 2, end - 1 - (i + 2));

				if (!known_class(name))
					return -1;
				hit = hit || in_class(name, c);
				i = end + 1;
				continue;
			}
		}
		if (!bracket_byte(p, &i, &low))
			return -1;
		high = low;
		if (i + 1 < p.n && p.p[i] == '-' && p.p[i + 1] != ']') {
			i++;
			if (!bracket_byte(p, &i, &high))
				return -1;
		}
		hit = hit || (c >= low && c <= high);
	}
	if (i >= p.n)
		return -1;
	*at = i + 1;
	return hit != negated;
}

/* A point to come back to: the rest of the pattern from p is tried again with one more byte (or one more
 * directory) of the text swallowed. */
struct retry {
	bool set;
	size_t p, t;
};

/* "**" with a slash or an end on both sides. */
static bool is_crossing(struct str p, size_t i, size_t end)
{
	return end - i >= 2 && (i == 0 || p.p[i - 1] == '/') && (end == p.n || p.p[end] == '/');
}

/* One byte against what the pattern holds at *p, which moves on. */
static bool match_byte(struct str pattern, size_t *p, char c, bool slashes)
{
	char want = pattern.p[*p];

	if (want == '?') {
		(*p)++;
		return !slashes || c != '/';
	}
	if (want == '[') {
		size_t at = *p + 1;
		int hit = bracket(pattern, &at, (unsigned char)c);

		if (hit != 1 || (slashes && c == '/'))
			return false;
		*p = at;
		return true;
	}
	if (want == '\\') {
		if (*p + 1 >= pattern.n || pattern.p[*p + 1] != c)
			return false;
		*p += 2;
		return true;
	}
	(*p)++;
	return want == c;
}

bool glob_match(struct str pattern, struct str text, bool slashes)
{
	struct retry star = { 0 }, cross = { 0 };
	size_t p = 0, t = 0;

	for (;;) {
		if (p < pattern.n && pattern.p[p] == '*') {
			size_t end = p;

			while (end < pattern.n && pattern.p[end] == '*')
				end++;
			if (slashes && is_crossing(pattern, p, end)) {
				if (end == pattern.n)
					return true;
				cross = (struct retry){ true, end + 1, t };
				star.set = false;
				p = end + 1;
				continue;
			}
			star = (struct retry){ true, end, t };
			p = end;
			continue;
		}
		if (t == text.n && p == pattern.n)
			return true;
		if (t < text.n && p < pattern.n && match_byte(pattern, &p, text.p[t], slashes)) {
			t++;
			continue;
		}
		if (star.set && star.t < text.n && (!slashes || text.p[star.t] != '/')) {
			t = ++star.t;
			p = star.p;
			continue;
		}
		star.set = false;
		if (!cross.set)
			return false;
		while (cross.t < text.n && text.p[cross.t] != '/')
			cross.t++;
		if (cross.t == text.n)
			return false;
		t = ++cross.t;
		p = cross.p;
	}
}

/* ------------------------------------------------------------------ rules */

/* Blanks at the end count only when the last of them is escaped. */
static struct str trim_blanks(struct str line)
{
	size_t keep = 0;

	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] == '\\') {
			i++;
			keep = i + 1;
		} else if (line.p[i] != ' ') {
			keep = i + 1;
		}
	}
	return str_head(line, keep);
}

static bool parse_rule(struct str line, struct ignore_rule *out)
{
	struct ignore_rule r = { 0 };

	line = trim_blanks(line);
	if (line.n == 0 || line.p[0] == '#')
		return false;
	r.negative = line.p[0] == '!';
	line = str_skip(line, r.negative);
	r.dir_only = str_ends(line, STR("/"));
	line = str_head(line, line.n - r.dir_only);
	if (line.n == 0)
		return false;
	r.by_name = memchr(line.p, '/', line.n) == NULL;
	r.text = line.p[0] == '/' ? str_skip(line, 1) : line;
	r.literal = str_find_any(r.text, STR("*?[\\"));
	*out = r;
	return true;
}

struct ignore_level *ignore_parse(struct arena *mem, struct str text, struct str base, const struct ignore_level *up)
{
	struct ignore_level *level = arena_alloc(mem, sizeof(*level));
	size_t lines = 1;

	text = str_dup(mem, str_trim_prefix(text, STR("\xEF\xBB\xBF")));
	for (size_t i = 0; i < text.n; i++)
		lines += text.p[i] == '\n';
	*level = (struct ignore_level){ up, str_dup(mem, base), arena_array(mem, lines, sizeof(struct ignore_rule)), 0 };
	while (text.n > 0) {
		struct str line = str_trim_suffix(str_trim_suffix(str_line(&text), STR("\n")), STR("\r"));

		level->n += parse_rule(line, &level->rules[level->n]);
	}
	return level;
}

static bool rule_fits(const struct ignore_rule *r, struct str path, struct str name, bool is_dir)
{
	struct str literal = str_head(r->text, r->literal);

	if (r->dir_only && !is_dir)
		return false;
	if (r->by_name && r->literal == r->text.n)
		return str_eq(r->text, name);
	if (r->by_name)
		return glob_match(r->text, name, false);
	return str_starts(path, literal) && glob_match(str_skip(r->text, r->literal), str_skip(path, r->literal), true);
}

bool ignore_hides(const struct ignore_level *deepest, struct str path, bool is_dir)
{
	size_t slash = str_rfind(path, '/');
	struct str name = slash < path.n ? str_skip(path, slash + 1) : path;

	for (const struct ignore_level *l = deepest; l; l = l->up) {
		struct str below = l->base.n > 0 ? str_skip(path, l->base.n + 1) : path;

		for (size_t i = l->n; i-- > 0;)
			if (rule_fits(&l->rules[i], below, name, is_dir))
				return !l->rules[i].negative;
	}
	return false;
}
