/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/message.h"

#include "sys/term.h"

#include <string.h>

#define WORDS_MAX (64 * 1024)
#define SCOPE_MAX 24

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool same_word(struct str s, const char *word)
{
	if (s.n != strlen(word))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (lower(s.p[i]) != word[i])
			return false;
	return true;
}

/* ---- words of a model ---- */

/* Words of a trailer that have no hyphen; and those that close an issue of a server when a number follows. */
static const char *const fixed_names[] = { "cc", "link", "bug", "issue", "implements", "refs", "references", "from", "author", "committer", "date" };
static const char *const closers[] = { "fix", "fixes", "fixed", "close", "closes", "closed", "resolve", "resolves", "resolved" };

static bool is_one_of(struct str word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (same_word(word, list[i]))
			return true;
	return false;
}

/* "#12", "12", "maker/thing#12", an address. */
static bool is_reference(struct str s)
{
	struct str first = str_cut(&s, ' ');
	bool digits = first.n > 0;

	for (size_t i = 0; i < first.n; i++)
		digits &= is_digit(first.p[i]);
	return (digits && s.n == 0) || str_find(first, STR("#")) < first.n || str_starts(first, STR("http"));
}

bool message_is_trailer(struct str line)
{
	struct str s = str_trim(line);
	size_t n = 0;
	bool hyphen = false;

	while (s.n > 0 && memchr("-*+>#|\"'`(", s.p[0], 10)) /* a list or a quotation of them is no better */
		s = str_trim(str_skip(s, 1));
	for (; n < s.n && (is_letter(s.p[n]) || is_digit(s.p[n]) || s.p[n] == '-' || s.p[n] == '_'); n++)
		hyphen |= s.p[n] == '-';
	struct str word = str_head(s, n), rest = str_trim(str_skip(s, n));

	bool colon = str_starts(rest, STR(":"));

	if (n == 0)
		return false;
	if (is_one_of(word, closers, COUNT(closers)))
		return is_reference(colon ? str_trim(str_skip(rest, 1)) : rest);
	if (colon)
		return hyphen || is_one_of(word, fixed_names, COUNT(fixed_names));
	/* "Signed off by X" */
	return (same_word(word, "signed") && str_starts(rest, STR("off"))) || (same_word(word, "co") && str_starts(rest, STR("authored")));
}

/* The next line that is to be said, cleaned into `line`; false at the end. *gap: an empty line came before it. */
static bool next_line(struct str *rest, struct buf *line, bool *gap)
{
	*gap = false;
	while (rest->n > 0) {
		struct str raw = str_line(rest);
		size_t cr = str_find(raw, STR("\r")); /* a lone one ends a line too: what stands behind it may pose as one */

		if (cr < raw.n) {
			*rest = str_of(raw.p + cr + 1, (size_t)(rest->p + rest->n - (raw.p + cr + 1)));
			raw = str_head(raw, cr);
		}
		raw = str_trim(raw);
		if (raw.n == 0) {
			*gap = true;
			continue;
		}
		buf_clear(line);
		if (term_clean(raw, TERM_LINE, line, ERR_DISCARD) == 0 && !message_is_trailer(buf_str(line)))
			return true;
	}
	return false;
}

int message_line(struct str words, size_t max, struct buf *out, struct err *err)
{
	auto_buf struct buf line = BUF_MAX(WORDS_MAX);
	struct str rest = str_head(words, WORDS_MAX / 8); /* cleaned, a byte is up to eight */
	bool gap;

	if (!next_line(&rest, &line, &gap))
		return 0;
	return buf_add(out, str_trim(str_head(buf_str(&line), utf8_head(buf_str(&line), max))), err);
}

static int add_wrapped(struct buf *b, struct str line, size_t max_lines, size_t *lines, struct err *err)
{
	size_t column = 0;

	while (line.n > 0 && *lines < max_lines) {
		struct str word = str_cut(&line, ' ');

		if (word.n == 0)
			continue;
		if (column > 0 && column + 1 + word.n > MESSAGE_COLUMNS) {
			TRY(buf_addc(b, '\n', err));
			if (++*lines >= max_lines)
				return 0;
			/* Where the line is broken is the model's to arrange: what follows is never at the beginning of one. */
			TRY(buf_addz(b, "  ", err));
			column = 2;
		} else if (column > 0) {
			TRY(buf_addc(b, ' ', err));
			column++;
		}
		TRY(buf_add(b, word, err));
		column += word.n;
	}
	++*lines;
	return buf_addc(b, '\n', err);
}

int message_text(struct str words, size_t max_lines, struct buf *out, struct err *err)
{
	auto_buf struct buf line = BUF_MAX(WORDS_MAX);
	struct str rest = str_head(words, WORDS_MAX / 8);
	size_t lines = 0;
	bool gap;

	while (lines < max_lines && next_line(&rest, &line, &gap)) {
		if (gap && lines > 0) {
			TRY(buf_addc(out, '\n', err));
			lines++;
		}
		if (lines < max_lines)
			TRY(add_wrapped(out, buf_str(&line), max_lines, &lines, err));
	}
	return 0;
}

/* ---- what changed ---- */

static struct str last_part(struct str path)
{
	size_t slash = str_rfind(path, '/');

	return slash < path.n ? str_skip(path, slash + 1) : path;
}

static bool in_directory(struct str path, const char *const *names, size_t n)
{
	struct str rest = path;

	while (str_find(rest, STR("/")) < rest.n) {
		struct str part = str_cut(&rest, '/');

		for (size_t i = 0; i < n; i++)
			if (str_eqz(part, names[i]))
				return true;
	}
	return false;
}

static bool is_test(struct str path)
{
	static const char *const dirs[] = { "test", "tests", "spec", "__tests__" };
	static const char *const marks[] = { "_test.", ".test.", "_spec.", ".spec." };
	struct str name = last_part(path);

	if (in_directory(path, dirs, COUNT(dirs)) || str_starts(name, STR("test_")))
		return true;
	for (size_t i = 0; i < COUNT(marks); i++)
		if (str_find(name, str_from(marks[i])) < name.n)
			return true;
	return false;
}

static bool is_docs(struct str path)
{
	static const char *const dirs[] = { "doc", "docs" };

	return in_directory(path, dirs, COUNT(dirs)) || str_ends(path, STR(".md")) || str_ends(path, STR(".rst"));
}

static bool all_are(const struct message_path *paths, size_t n, bool (*is)(struct str path))
{
	for (size_t i = 0; i < n; i++)
		if (!is(paths[i].name))
			return false;
	return n > 0;
}

static const char *kind_of(const struct message_path *paths, size_t n)
{
	if (n == 0)
		return "chore";
	if (all_are(paths, n, is_test))
		return "test";
	if (all_are(paths, n, is_docs))
		return "docs";
	for (size_t i = 0; i < n; i++)
		if (paths[i].added)
			return "feat";
	return "fix";
}

/* The directory at that depth, when it is the same for all; empty when it is not, or is no word. */
static struct str shared(const struct message_path *paths, size_t n, size_t depth)
{
	struct str found = STR("");

	for (size_t i = 0; i < n; i++) {
		struct str rest = paths[i].name, part = STR("");

		for (size_t d = 0; d <= depth; d++) {
			if (str_find(rest, STR("/")) == rest.n)
				return STR("");
			part = str_cut(&rest, '/');
		}
		if (i > 0 && !str_eq(part, found))
			return STR("");
		found = part;
	}
	for (size_t i = 0; i < found.n; i++)
		if (!is_letter(found.p[i]) && !is_digit(found.p[i]) && !memchr("-_.", found.p[i], 3))
			return STR("");
	return found.n <= SCOPE_MAX ? found : STR("");
}

static struct str scope_of(const struct message_path *paths, size_t n)
{
	struct str first = shared(paths, n, 0), second = first.n > 0 ? shared(paths, n, 1) : STR("");
	struct str third = second.n > 0 && str_eqz(first, "src") ? shared(paths, n, 2) : STR("");

	return third.n > 0 ? third : second;
}

/* What is left of "feat(x)!: words". */
static struct str without_kind(struct str words)
{
	size_t n = 0;

	while (n < words.n && words.p[n] >= 'a' && words.p[n] <= 'z')
		n++;
	if (n == 0 || n > 12)
		return words;
	if (n < words.n && words.p[n] == '(') {
		while (n < words.n && words.p[n] != ')')
			n++;
		n += n < words.n;
	}
	n += n < words.n && words.p[n] == '!';
	return str_starts(str_skip(words, n), STR(": ")) ? str_trim(str_skip(words, n + 2)) : words;
}

int message_conventional(const struct message_path *paths, size_t n, struct str words, struct buf *out, struct err *err)
{
	auto_buf struct buf line = BUF_MAX(WORDS_MAX);
	struct str scope = scope_of(paths, n), said;
	size_t from = out->n, room;
	bool name; /* HTTP, A1: not to be made small */

	TRY(buf_addz(out, kind_of(paths, n), err));
	if (scope.n > 0)
		TRY(buf_addf(out, err, "(" STR_FMT ")", STR_ARG(scope)));
	TRY(buf_addz(out, ": ", err));
	TRY(message_line(words, WORDS_MAX / 8, &line, err));
	said = without_kind(buf_str(&line));
	said = str_trim_suffix(said, STR("."));
	if (said.n == 0)
		said = STR("changes");
	room = MESSAGE_COLUMNS - (out->n - from);
	said = str_trim(str_head(said, utf8_head(said, room)));
	name = said.n > 1 && !(said.p[1] >= 'a' && said.p[1] <= 'z') && said.p[1] != ' ';
	TRY(buf_addc(out, name ? said.p[0] : lower(said.p[0]), err));
	return buf_add(out, str_skip(said, 1), err);
}
