/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/merge_text.h"
#include "base/buf.h"

#include <string.h>

#define COLUMNS     72
#define STEPS_SHOWN 100
#define TEXT_MAX    (64 * 1024)
#define SUBJECT_MAX 1000
#define SAID_LINES  40

/* Up to the end of the first sentence, else of the last word that fits. */
static struct str headline(struct str task)
{
	struct str first = str_trim(str_line(&task));
	size_t cut = first.n;

	for (size_t i = 1; i + 1 < first.n && i < COLUMNS; i++)
		if (first.p[i] == '.' && first.p[i + 1] == ' ' && i > 10)
			return str_head(first, i);
	if (first.n <= COLUMNS)
		return str_trim_suffix(first, STR("."));
	cut = utf8_head(first, COLUMNS);
	for (size_t i = cut; i > COLUMNS / 2; i--)
		if (first.p[i] == ' ')
			return str_head(first, i);
	return str_head(first, cut);
}

static int add_wrapped(struct buf *b, const char *mark, struct str line, struct err *err)
{
	size_t column = strlen(mark), indent = column;

	TRY(buf_addz(b, mark, err));
	for (bool begun = false; line.n > 0; begun = true) {
		struct str word = str_cut(&line, ' ');

		if (word.n == 0)
			continue;
		if (begun && column + 1 + word.n > COLUMNS) {
			TRY(buf_addf(b, err, "\n%*s", (int)indent, ""));
			column = indent;
		} else if (begun) {
			TRY(buf_addc(b, ' ', err));
			column++;
		}
		TRY(buf_add_utf8(b, word, err));
		column += word.n;
	}
	return buf_addc(b, '\n', err);
}

/* What a step says it did, without our own words around it; empty when it says nothing. */
static struct str said(struct str subject)
{
	static const char *const plain[] = { "edits", "checkpoint", "verify passed", "step done" };
	struct str s = str_trim_prefix(subject, STR("agent6 iter "));

	if (s.n < subject.n)
		s = str_trim(str_skip(s, str_find(s, STR(":")) + 1));
	for (size_t i = 0; i < COUNT(plain); i++)
		if (str_eqz(s, plain[i]) || (str_starts(s, str_from(plain[i])) && str_find(s, STR(" (iter ")) < s.n))
			return STR("");
	return s;
}

static bool was_said(const struct merge_text *t, size_t upto, struct str what)
{
	for (size_t i = 0; i < upto; i++)
		if (str_eq(said(t->steps[i].subject), what))
			return true;
	return false;
}

static int add_steps(const struct merge_text *t, struct buf *b, struct err *err)
{
	size_t shown = 0;

	for (size_t i = 0; i < t->nsteps && shown < STEPS_SHOWN; i++) {
		struct str what = t->style == MERGE_COMBINE ? t->steps[i].subject : said(t->steps[i].subject);
		auto_buf struct buf line = BUF_MAX(TEXT_MAX);

		if (t->style != MERGE_COMBINE && was_said(t, i, what))
			continue;
		TRY(message_line(what, SUBJECT_MAX, &line, err));
		if (line.n == 0)
			continue;
		if (shown++ == 0)
			TRY(buf_addc(b, '\n', err));
		TRY(add_wrapped(b, "- ", buf_str(&line), err));
	}
	return 0;
}

static int add_task(struct str task, struct str head, struct buf *b, struct err *err)
{
	struct str rest = str_trim(task);

	if (rest.n <= head.n + 1)
		return 0;
	TRY(buf_addc(b, '\n', err));
	while (rest.n > 0)
		TRY(add_wrapped(b, "", str_trim(str_line(&rest)), err));
	return 0;
}

static int add_trailer(const struct merge_text *t, struct buf *b, struct err *err)
{
	size_t at = str_find(t->trailer, STR("{model}"));

	if (t->trailer.n == 0)
		return 0;
	TRY(buf_addc(b, '\n', err));
	TRY(buf_add_utf8(b, str_head(t->trailer, at), err));
	if (at < t->trailer.n) {
		TRY(buf_add_utf8(b, t->model, err));
		TRY(buf_add_utf8(b, str_skip(t->trailer, at + 7), err));
	}
	return buf_addc(b, '\n', err);
}

/* What the model said of its work: its first sentence, then all of it where it is longer. False: nothing that can be said. */
static int add_said(const struct merge_text *t, struct buf *b, bool *done, struct err *err)
{
	auto_buf struct buf line = BUF_MAX(TEXT_MAX), all = BUF_MAX(TEXT_MAX);
	struct str head;

	TRY(message_line(t->said, SUBJECT_MAX, &line, err));
	head = headline(buf_str(&line));
	*done = head.n > 0;
	if (!*done)
		return 0;
	TRY(buf_addf(b, err, STR_FMT "\n", STR_ARG(head)));
	TRY(message_text(t->said, SAID_LINES, &all, err));
	if (str_trim(buf_str(&all)).n > head.n + 1)
		TRY(buf_addf(b, err, "\n" STR_FMT, STR_ARG(buf_str(&all))));
	return 0;
}

static int add_head(const struct merge_text *t, struct str head, struct buf *b, struct err *err)
{
	struct str words = head.n > 0 ? head : STR("agent6 run");

	if (t->style == MERGE_CONVENTIONAL && !t->merge)
		TRY(message_conventional(t->paths, t->npaths, words, b, err));
	else
		TRY(buf_addz(b, t->merge ? "Merge: " : "", err));
	if (t->style != MERGE_CONVENTIONAL || t->merge)
		TRY(buf_add_utf8(b, words, err));
	return buf_addc(b, '\n', err);
}

int merge_text(const struct merge_text *t, struct arena *mem, struct str *out, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(2 * TEXT_MAX);
	struct str head = headline(str_trim(t->task));
	bool said = false;

	if (t->style == MERGE_MODEL && !t->merge)
		TRY(add_said(t, &b, &said, err));
	if (!said) {
		TRY(add_head(t, head, &b, err));
		if (t->style != MERGE_COMBINE)
			TRY(add_task(t->task, head, &b, err));
		if (!t->merge)
			TRY(add_steps(t, &b, err));
	}
	TRY(buf_addf(&b, err, "\nagent6 run %s\n", t->run_id));
	TRY(add_trailer(t, &b, err));
	*out = str_dup(mem, buf_str(&b));
	return 0;
}
