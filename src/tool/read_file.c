/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "sys/file.h"
#include "tool/path.h"
#include "tool/result.h"
#include "tool/table_priv.h"

#include <errno.h>
#include <string.h>

#define CONTENT_MAX  56000 /* encoded bytes; the rest of the result is names and numbers */
#define SCAN_MAX     ((int64_t)1024 * 1024 * 1024) /* lines are counted up to here */
#define STEP         (256 * 1024)
#define HEAD_LINES   6
#define HEAD_BYTES   300

struct read_args {
	struct str path;
	int64_t start_line;
	int64_t limit;
};

static const struct field fields[] = {
	{ "path", &field_str, offsetof(struct read_args, path), .flags = FIELD_REQUIRED | FIELD_NONEMPTY },
	{ "start_line", &field_int, offsetof(struct read_args, start_line), .dflt = "1", .min = 1, .max = INT32_MAX,
		.help = "first line, from 1" },
	{ "limit", &field_int, offsetof(struct read_args, limit), .min = 1, .max = INT32_MAX, .help = "number of lines" },
};

/* A file goes by in pieces; only the lines that were asked for stay. */
struct scan {
	int64_t first, end;      /* lines wanted: first <= n < end */
	int64_t lines;           /* lines seen; the last may lack its '\n' */
	bool at_start;           /* the next byte starts a line */
	bool full;               /* keep took all it may */
	bool binary, whole;
	struct buf keep;
	int64_t crlf, lf;
};

static void scan_fini(struct scan *s)
{
	buf_fini(&s->keep);
}

/* What of this piece belongs to the lines wanted: [from, to). */
static void scan_piece(struct scan *s, struct str piece)
{
	size_t from = piece.n, to = piece.n;

	for (size_t i = 0; i < piece.n;) {
		if (s->at_start) {
			s->lines++;
			s->at_start = false;
			if (s->lines == s->end)
				to = i;
		}
		if (s->lines >= s->first && s->lines < s->end && i < from)
			from = i;

		const char *nl = memchr(piece.p + i, '\n', piece.n - i);
		if (!nl)
			break;
		i = (size_t)(nl - piece.p) + 1;
		s->at_start = true;
		if (i >= 2 && nl[-1] == '\r')
			s->crlf++;
		else
			s->lf++;
	}
	if (s->lines >= s->end && to == piece.n && from == piece.n)
		return;
	if (from >= to || s->full)
		return;

	struct str part = str_of(piece.p + from, to - from);
	size_t room = s->keep.max - s->keep.n;
	s->binary = s->binary || memchr(part.p, '\0', part.n);
	s->full = part.n > room;
	BUG_IF(buf_add(&s->keep, str_head(part, room), ERR_DISCARD) < 0);
}

static int scan_file(int fd, struct scan *s, struct err *err)
{
	autofree char *piece = mem_alloc(STEP);
	int64_t total = 0;

	for (;;) {
		ssize_t n = read(fd, piece, STEP);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, errno, "read");
		if (n == 0) {
			s->whole = true;
			return 0;
		}
		if (total == 0 && memchr(piece, '\0', n < 8000 ? (size_t)n : 8000))
			s->binary = true;
		if (s->binary)
			return 0;
		scan_piece(s, str_of(piece, (size_t)n));
		total += n;
		if (total >= SCAN_MAX)
			return 0;
	}
}

/* LF for the model whatever the file has; edits find their way back. */
static struct str without_cr(struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		if (b->p[i] != '\r' || i + 1 == b->n || b->p[i + 1] != '\n')
			b->p[n++] = b->p[i];
	if (b->p)
		buf_shrink(b, n);
	return buf_str(b);
}

static int64_t count_lines(struct str text)
{
	int64_t n = 0;

	while (text.n > 0) {
		(void)str_line(&text);
		n++;
	}
	return n;
}

static struct str first_lines(struct str text)
{
	struct str rest = text;

	for (int i = 0; i < HEAD_LINES && rest.n > 0; i++)
		(void)str_line(&rest);
	text = str_head(text, text.n - rest.n);
	return str_head(text, utf8_head(text, HEAD_BYTES));
}

/* Whole lines as far as they fit; a single line that does not is cut. */
static struct str fit_lines(struct str text, bool *cut)
{
	struct str fits = str_head(text, result_fit(text, CONTENT_MAX));
	size_t nl = str_rfind(fits, '\n');

	*cut = false;
	if (fits.n == text.n)
		return text;
	*cut = nl == fits.n;
	return *cut ? fits : str_head(fits, nl + 1);
}

static int put(struct tool_ctx *ctx, const struct read_args *a, struct scan *s, struct buf *out,
	struct tool_outcome *oc, struct err *err)
{
	struct str text = without_cr(&s->keep), content;
	bool cut, part = a->start_line > 1 || a->limit > 0, more;

	if (a->start_line == 1)
		text = str_trim_prefix(text, STR("\xEF\xBB\xBF"));
	content = fit_lines(text, &cut);
	more = content.n < text.n || s->full;

	int64_t lines = count_lines(content);
	TRY(buf_addc(out, '{', err));
	TRY(json_add_member(out, "content", content, err));
	TRY(buf_addf(out, err, ",\"size\":%zu,\"%s\":%lld", content.n, s->whole ? "lines_total" : "lines_at_least",
		(long long)s->lines));
	if (part || more)
		TRY(buf_addf(out, err, ",\"start_line\":%lld,\"lines_returned\":%lld", (long long)a->start_line,
			(long long)lines));
	if (s->crlf > 0)
		TRY(json_add_member(out, "line_endings", s->lf > 0 ? STR("mixed") : STR("crlf"), err));
	if (!utf8_valid(content))
		TRY(json_add_member(out, "note", STR("not UTF-8: other bytes are shown as U+FFFD and kept by edits"), err));
	if (more)
		TRY(buf_addf(out, err, ",\"truncated\":true,\"%s\":%lld", cut ? "line_cut" : "next_start_line",
			(long long)(a->start_line + lines - cut)));
	oc->lines_total = s->lines;
	oc->head = str_dup(ctx->mem, first_lines(content));
	oc->summary = str_printf(ctx->mem, "%zu bytes%s", content.n, more ? " (truncated)" : "");
	return buf_addc(out, '}', err);
}

static int run(struct tool_ctx *ctx, const void *args, struct buf *out, struct tool_outcome *oc, struct err *err)
{
	const struct read_args *a = args;
	struct tool_path p;
	autoclose int fd = -1;
	/* Escapes only make text longer: twice the room covers CR and BOM. */
	CLEANUP(scan_fini) struct scan s = { .first = a->start_line, .at_start = true,
		.end = a->limit > 0 ? a->start_line + a->limit : INT64_MAX, .keep = BUF_MAX(2 * CONTENT_MAX + 16) };

	TRY(path_resolve(ctx, a->path, PATH_READ, &p, err));
	TRY(path_open_file(&p, &fd, err));
	if (scan_file(fd, &s, err) < 0)
		return err_wrap(err, STR_FMT, STR_ARG(p.shown));
	if (s.binary)
		return err_set(err, ERR_INVALID, STR_FMT " is a binary file (it holds NUL bytes)", STR_ARG(p.shown));
	return put(ctx, a, &s, out, oc, err);
}

const struct tool tool_read_file = {
	.name = "read_file", .help = "Read a text file, or part of it.",
	.fields = fields, .nfields = COUNT(fields), .size = sizeof(struct read_args),
	.modes = MODES_ALL, .effect = EFFECT_NONE, .run = run,
};
