/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* ground: whether what a reviewer says stands in the diff. */
#include "agent/panel.h"

#include <ctype.h>

#define QUOTE_MIN 3 /* letters and digits that a quote must have */

/* Findings of these kinds may block; the others are advice. */
static const bool may_block[] = { true, true, true, true, true, false, false, false, false };
const char *const finding_categories[] = { "security", "sandbox-bypass", "off-topic-edit", "data-loss", "correctness",
	"test-gap", "style", "over-eng", "other", NULL };
const char *const finding_severities[] = { "block", "warn", "nit", NULL };
_Static_assert(COUNT(may_block) == COUNT(finding_categories) - 1, "a rule for each category");

static struct str strip_side(struct str s)
{
	struct str a = str_trim_prefix(s, STR("a/")), b = str_trim_prefix(s, STR("b/"));

	return a.n < s.n ? a : b;
}

static bool same_path(struct str header, struct str path)
{
	header = str_trim(header);
	if (str_starts(header, STR("\"")) && str_ends(header, STR("\"")))
		header = str_head(str_skip(header, 1), header.n - 2);
	return str_eq(strip_side(header), strip_side(str_trim(path)));
}

/* Where a line of the diff stands. */
struct at {
	bool in_file, in_hunk;
	int64_t old_line, new_line; /* of the next line of each side */
};

static bool number(struct str *s, int64_t *out)
{
	size_t n = 0;
	bool ok;

	while (n < s->n && isdigit((unsigned char)s->p[n]))
		n++;
	ok = str_to_i64(str_head(*s, n), out, ERR_DISCARD) == 0;
	*s = str_skip(*s, n);
	return ok;
}

static void hunk(struct str line, struct at *at)
{
	struct str rest = str_skip(line, 4);

	at->in_hunk = number(&rest, &at->old_line);
	rest = str_skip(rest, str_find(rest, STR("+")) + 1);
	at->in_hunk = number(&rest, &at->new_line) && at->in_hunk;
}

/* True: the line is text of the file, without its mark; *number is where it stands. */
static bool step(struct str line, struct str path, struct at *at, struct str *text, int64_t *number_out)
{
	if (str_starts(line, STR("diff --git "))) {
		*at = (struct at){ 0 };
		return false;
	}
	if (!at->in_hunk && (str_starts(line, STR("--- ")) || str_starts(line, STR("+++ ")))) {
		at->in_file = at->in_file || same_path(str_skip(line, 4), path);
		return false;
	}
	if (str_starts(line, STR("@@ -"))) {
		hunk(line, at);
		return false;
	}
	if (!at->in_hunk || line.n == 0 || !memchr(" +-", line.p[0], 3))
		return false;
	*number_out = line.p[0] == '-' ? at->old_line : at->new_line;
	at->old_line += line.p[0] != '+';
	at->new_line += line.p[0] != '-';
	*text = str_trim(str_skip(line, 1));
	return at->in_file;
}

static struct str next_quoted(struct str *quote)
{
	while (quote->n > 0) {
		struct str line = str_trim(str_line(quote));

		if (line.n > 0)
			return line;
	}
	return STR("");
}

/* The quoted lines one after another, blank ones left out on both sides. */
static bool stands_at(struct str diff, struct str path, struct at at, struct str quote)
{
	struct str want = next_quoted(&quote);

	while (want.n > 0 && diff.n > 0) {
		struct str line = str_trim_suffix(str_line(&diff), STR("\n")), text;
		int64_t ignored;

		if (!step(line, path, &at, &text, &ignored)) {
			if (str_starts(line, STR("diff --git ")) || str_starts(line, STR("@@ -")))
				return false;
			continue;
		}
		if (text.n == 0)
			continue;
		if (!str_eq(text, want))
			return false;
		want = next_quoted(&quote);
	}
	return want.n == 0;
}

/* A quote copied with the marks of the diff is a quote all the same. */
static struct str without_marks(struct str quote, struct buf *out)
{
	while (quote.n > 0) {
		struct str line = str_line(&quote);

		if (line.n > 0 && (line.p[0] == '+' || line.p[0] == '-'))
			line = str_skip(line, 1);
		if (buf_add(out, line, ERR_DISCARD) < 0)
			return STR("");
	}
	return buf_str(out);
}

static int64_t find(struct str diff, struct str path, struct str quote)
{
	struct str rest = quote, first = next_quoted(&rest);
	struct at at = { 0 };
	size_t letters = 0;

	for (size_t i = 0; i < first.n; i++)
		letters += isalnum((unsigned char)first.p[i]) != 0;
	if (letters < QUOTE_MIN)
		return -1;
	while (diff.n > 0) {
		struct str whole = diff, line = str_trim_suffix(str_line(&diff), STR("\n")), text;
		const struct at before = at;
		int64_t number_of;

		if (step(line, path, &at, &text, &number_of) && str_eq(text, first) && stands_at(whole, path, before, quote))
			return number_of;
	}
	return -1;
}

void finding_ground(struct finding *f, struct str diff)
{
	auto_buf struct buf plain = BUF_MAX(f->quote.n + 1);
	int64_t line = find(diff, f->path, f->quote);

	if (line < 0)
		line = find(diff, f->path, without_marks(f->quote, &plain));
	f->grounded = line >= 0;
	f->line = f->grounded ? line : 0;
	if (f->severity == SEVERITY_BLOCK && (!f->grounded || !may_block[f->category]))
		f->severity = SEVERITY_WARN;
}

bool panel_blocks(const struct panel *p, enum panel_decision decision, int64_t quorum)
{
	size_t answered = p->n - p->abstains;

	switch (decision) {
	case PANEL_ADVISORY:
		return false;
	case PANEL_VETO:
		return p->blocks > 0;
	case PANEL_QUORUM:
		return (int64_t)p->blocks >= quorum;
	case PANEL_ALL:
		return answered > 0 && p->blocks == answered && 2 * answered > p->n;
	}
	return false;
}

enum panel_decision panel_decision_from(struct str word)
{
	static const char *const words[] = { "advisory", "veto", "quorum", "all" };

	for (size_t i = 0; i < COUNT(words); i++)
		if (str_eqz(word, words[i]))
			return (enum panel_decision)i;
	return PANEL_ADVISORY;
}
