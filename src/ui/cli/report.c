/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "sys/file.h"
#include "sys/term.h"
#include "ui/cli/command.h"
#include "ui/cli/typed.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

#define LINE_SHOWN_MAX 160
#define NOTE_MAX       (16 * 1024) /* what is longer is cut */

void cli_out(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
}

static void put_json(FILE *to, struct str text)
{
	auto_buf struct buf clean = BUF_MAX(6 * text.n + 1); /* \u007f for one byte */

	BUG_IF(term_clean(text, TERM_JSON, &clean, ERR_DISCARD) < 0);
	fwrite(clean.p ? clean.p : "", 1, clean.n, to);
}

void cli_json(struct str text)
{
	put_json(stdout, text);
}

/* A message may quote bytes from anywhere: whatever is not seen or could move the cursor is shown as '?'. A further line of it is set in,
 * so that none looks like one of ours. */
static void put_clean(FILE *to, struct str s)
{
	for (size_t i = 0; i < s.n;) {
		size_t at = i;
		int32_t cp = utf8_next(s, &i);

		if (cp == '\n')
			fputs("\n  ", to);
		else if (utf8_sight(cp) == UTF8_HIDDEN && cp != '\t')
			fputc('?', to);
		else
			fwrite(s.p + at, 1, i - at, to);
	}
}

void cli_note(const char *fmt, ...)
{
	char text[NOTE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	auto_arena struct arena *mem = arena_new();
	fflush(stdout); /* what was said before comes before, where both go to one place */
	fputs("[agent6] ", stderr);
	put_clean(stderr, typed_here(str_from(text), mem));
	fputc('\n', stderr);
}

void cli_note_why(const char *what, const struct err *err)
{
	cli_note("%s: %s%s%s", what, err->msg, err->hint[0] ? "; " : "", err->hint);
}

static bool find_line(const struct err_place *at, struct buf *file, struct str *line)
{
	struct str rest;

	if (at->line <= 0 || at->file[0] != '/' || file_read(AT_FDCWD, at->file, file, ERR_DISCARD) < 0)
		return false;
	rest = buf_str(file);
	for (int n = 1; rest.n > 0; n++) {
		*line = str_line(&rest);
		if (n == at->line)
			return true;
	}
	return false;
}

static void show_place(const struct err_place *at)
{
	auto_buf struct buf file = BUF_MAX(4 << 20);
	struct str line;
	int indent;

	if (!find_line(at, &file, &line))
		return;
	line = str_head(str_trim_suffix(str_trim_suffix(line, STR("\n")), STR("\r")), LINE_SHOWN_MAX);
	indent = fprintf(stderr, "%5d | ", at->line);
	put_clean(stderr, line);
	fprintf(stderr, "\n%*s| ", indent - 2, "");
	for (size_t i = 0; i + 1 < (size_t)at->col && i < line.n; i++)
		fputc(line.p[i] == '\t' ? '\t' : ' ', stderr);
	fputs("^\n", stderr);
}

void report_err(const struct err *err)
{
	auto_arena struct arena *mem = arena_new();

	fflush(stdout);
	fputs(err->code == ERR_DENIED ? "REFUSING: " : "ERROR: ", stderr);
	if (err->at.file[0] != '\0') {
		put_clean(stderr, str_from(err->at.file));
		if (err->at.line > 0)
			fprintf(stderr, ":%d:%d", err->at.line, err->at.col);
		fputs(": ", stderr);
	}
	put_clean(stderr, str_from(err->msg));
	fputc('\n', stderr);
	show_place(&err->at);
	if (err->hint[0] != '\0') {
		fputs("hint: ", stderr);
		put_clean(stderr, typed_here(str_from(err->hint), mem));
		fputc('\n', stderr);
	}
}

static int add_error(const struct err *err, int status, struct buf *out)
{
	auto_arena struct arena *mem = arena_new();

	TRY(buf_addz(out, "{\"error\":{\"code\":", ERR_DISCARD));
	TRY(json_add_quoted(out, str_from(err_code_name(err->code)), ERR_DISCARD));
	TRY(json_add_member(out, "message", str_from(err->msg), ERR_DISCARD));
	if (err->hint[0] != '\0')
		TRY(json_add_member(out, "hint", typed_here(str_from(err->hint), mem), ERR_DISCARD));
	if (err->at.file[0] != '\0')
		TRY(json_add_member(out, "file", str_from(err->at.file), ERR_DISCARD));
	if (err->at.line > 0)
		TRY(buf_addf(out, ERR_DISCARD, ",\"line\":%d,\"column\":%d", err->at.line, err->at.col));
	return buf_addf(out, ERR_DISCARD, "},\"exit\":%d}\n", status);
}

void report_err_json(const struct err *err, int status)
{
	auto_buf struct buf out = BUF_MAX(64 * 1024);

	fflush(stdout);
	if (add_error(err, status, &out) < 0)
		report_err(err);
	else
		put_json(stderr, buf_str(&out));
}
