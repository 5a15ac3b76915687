/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/patch.h"

#include "base/vec.h"
#include "fmt/cquote.h"

#include <string.h>

struct reader {
	struct str rest;
	size_t line; /* of the line that peek shows, 1-based */
	struct arena *mem;
	struct {
		VEC(struct patch_file);
	} files;
	struct {
		VEC(struct patch_hunk);
	} hunks; /* of the file being read */
	struct {
		VEC(struct patch_line);
	} lines; /* of the hunk being read */
	struct {
		VEC(struct str);
	} hints;
};

static void reader_fini(struct reader *r)
{
	vec_fini(&r->files);
	vec_fini(&r->hunks);
	vec_fini(&r->lines);
	vec_fini(&r->hints);
}

/* ------------------------------------------------------------------ lines */

/* The line at hand without its ending; CRLF is an ending too. */
static struct str peek(const struct reader *r)
{
	struct str rest = r->rest, line = str_line(&rest);

	return str_trim_suffix(str_trim_suffix(line, STR("\n")), STR("\r"));
}

static struct str peek_second(const struct reader *r)
{
	struct reader ahead = *r;

	(void)str_line(&ahead.rest);
	return peek(&ahead);
}

static void next(struct reader *r)
{
	(void)str_line(&r->rest);
	r->line++;
}

static bool at_end(const struct reader *r)
{
	return r->rest.n == 0;
}

static int bad(const struct reader *r, struct err *err, const char *what)
{
	struct str line = peek(r);

	return err_set(err, ERR_SYNTAX, "patch line %zu: %s, got \"" STR_FMT "\"", r->line, what,
		STR_ARG(str_head(line, utf8_head(line, 120))));
}

static void *keep(struct arena *mem, const void *p, size_t n, size_t size)
{
	void *copy = arena_array(mem, n + 1, size);

	if (n > 0)
		memcpy(copy, p, n * size);
	return copy;
}

static void add_line(struct reader *r, char kind, struct str text)
{
	*vec_new(&r->lines) = (struct patch_line){ .kind = kind, .text = text };
}

static void end_hunk(struct reader *r, struct patch_hunk h)
{
	h.lines = keep(r->mem, r->lines.p, r->lines.n, sizeof(*r->lines.p));
	h.n = r->lines.n;
	h.hints = keep(r->mem, r->hints.p, r->hints.n, sizeof(*r->hints.p));
	h.nhints = r->hints.n;
	r->lines.n = r->hints.n = 0;
	*vec_new(&r->hunks) = h;
}

static int end_file(struct reader *r, struct patch_file f, struct err *err)
{
	f.hunks = keep(r->mem, r->hunks.p, r->hunks.n, sizeof(*r->hunks.p));
	f.n = r->hunks.n;
	r->hunks.n = 0;
	if (r->files.n == PATCH_FILES_MAX)
		return err_set(err, ERR_LIMIT, "a patch of more than %d files", PATCH_FILES_MAX);
	*vec_new(&r->files) = f;
	return 0;
}

/* ------------------------------------------------------------------ unified: names */

/* The name of a "--- " or "+++ " line: quoted, or up to the tab before a time stamp. */
static int header_name(struct reader *r, struct str text, struct str *out, struct err *err)
{
	if (text.n > 0 && text.p[0] == '"') {
		if (cquote_take(&text, r->mem, out, err) < 0)
			return err_wrap(err, "patch line %zu", r->line);
		return 0;
	}
	*out = str_head(text, str_find(text, STR("\t")));
	if (out->n == 0)
		return bad(r, err, "expected a file name");
	return 0;
}

static bool is_null(struct str name)
{
	return str_eqz(name, "/dev/null");
}

/* git's a/ and b/ are no directories, unless both sides carry the same one. */
static void strip_prefixes(struct str *old, struct str *new)
{
	bool a = str_starts(*old, STR("a/")), b = str_starts(*new, STR("b/"));

	if ((a || is_null(*old)) && (b || is_null(*new))) {
		*old = a ? str_skip(*old, 2) : *old;
		*new = b ? str_skip(*new, 2) : *new;
	}
}

/* "a/NAME b/NAME" of a diff --git line whose file has no other headers: both names are the same. */
static bool git_line_name(struct reader *r, struct str text, struct str *out)
{
	struct str old, new;

	if (text.n > 0 && text.p[0] == '"') {
		if (cquote_take(&text, r->mem, &old, ERR_DISCARD) < 0)
			return false;
		text = str_trim(text);
		if (cquote_read(text, r->mem, &new, ERR_DISCARD) < 0)
			return false;
	} else {
		old = str_head(text, text.n / 2);
		new = str_skip(text, text.n / 2 + 1);
		if (text.n % 2 == 0 || text.p[text.n / 2] != ' ')
			return false;
	}
	strip_prefixes(&old, &new);
	*out = new;
	return str_eq(old, new);
}

/* ------------------------------------------------------------------ unified: hunks */

static bool take_number(struct str *s, int64_t *out)
{
	size_t n = 0;

	while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
		n++;
	if (n == 0 || n > 9 || str_to_i64(str_head(*s, n), out, ERR_DISCARD) < 0)
		return false;
	*s = str_skip(*s, n);
	return true;
}

static bool take_range(struct str *s, char sign, int64_t *start, int64_t *count)
{
	if (s->n == 0 || s->p[0] != sign)
		return false;
	*s = str_skip(*s, 1);
	if (!take_number(s, start))
		return false;
	*count = 1;
	if (s->n == 0 || s->p[0] != ',')
		return true;
	*s = str_skip(*s, 1);
	return take_number(s, count);
}

/* @@ -L[,N] +L[,N] @@ text. Without numbers the content alone says where; without the closing @@ it is
 * still clear what is meant. */
static int hunk_header(struct reader *r, struct patch_hunk *h, int64_t *new_count, struct err *err)
{
	struct str line = peek(r), s = str_trim(str_skip(line, 2));
	int64_t new_start;

	*h = (struct patch_hunk){ .at_line = r->line, .head = line };
	if (s.n == 0 || s.p[0] != '-') {
		*new_count = -1;
		return 0;
	}
	if (!take_range(&s, '-', &h->old_start, &h->old_count) || s.n == 0 || s.p[0] != ' ')
		return bad(r, err, "expected a hunk header like \"@@ -3,7 +3,8 @@\"");
	s = str_trim(s);
	if (!take_range(&s, '+', &new_start, new_count))
		return bad(r, err, "expected a hunk header like \"@@ -3,7 +3,8 @@\"");
	h->numbered = true;
	return 0;
}

static bool is_file_header(const struct reader *r)
{
	return str_starts(peek(r), STR("--- ")) && str_starts(peek_second(r), STR("+++ "));
}

static bool is_body(struct str line)
{
	return line.n == 0 || line.p[0] == ' ' || line.p[0] == '-' || line.p[0] == '+';
}

static void drop_blank_tail(struct reader *r)
{
	while (r->lines.n > 0 && r->lines.p[r->lines.n - 1].text.n == 0 && r->lines.p[r->lines.n - 1].kind == ' ')
		r->lines.n--;
}

/* With the counts used up: the patch goes on behind these blank lines only if they are context. The answer holds for
 * all of them, up to *known. */
static bool body_follows(const struct reader *r, const char **known)
{
	struct reader ahead = *r;

	while (!at_end(&ahead) && peek(&ahead).n == 0)
		next(&ahead);
	struct str line = peek(&ahead);
	*known = ahead.rest.p;
	/* "-- " introduces the signature of a mailed patch. */
	return !at_end(&ahead) && is_body(line) && !str_eqz(line, "-- ") && !is_file_header(&ahead);
}

/* The body as long as the header says; where header and lines disagree the lines decide, since every one
 * of them must be found in the file anyway. */
static int hunk_body(struct reader *r, struct patch_hunk *h, int64_t new_count, struct err *err)
{
	int64_t old_left = h->numbered ? h->old_count : 0, new_left = h->numbered ? new_count : 0;
	bool counted = h->numbered;
	const char *known = r->rest.p;

	while (!at_end(r)) {
		struct str line = peek(r);

		if (line.n > 0 && line.p[0] == '\\') {
			if (r->lines.n == 0)
				return bad(r, err, "expected a line before the no-newline mark");
			r->lines.p[r->lines.n - 1].no_newline = true;
			next(r);
			continue;
		}
		bool over = !counted || (old_left <= 0 && new_left <= 0);
		if (!is_body(line) || (over && r->rest.p >= known && !body_follows(r, &known)))
			break;
		if (r->lines.n == PATCH_LINES_MAX)
			return err_set(err, ERR_LIMIT, "a hunk of more than %d lines", PATCH_LINES_MAX);

		char kind = line.n > 0 ? line.p[0] : ' ';
		add_line(r, kind, str_skip(line, 1));
		old_left -= kind != '+';
		new_left -= kind != '-';
		next(r);
	}
	if (!counted || old_left > 0 || new_left > 0)
		drop_blank_tail(r);
	if (r->lines.n == 0)
		return err_set(err, ERR_SYNTAX, "patch line %zu: the hunk has no lines", h->at_line);
	end_hunk(r, *h);
	return 0;
}

static int hunks(struct reader *r, struct err *err)
{
	while (!at_end(r) && str_starts(peek(r), STR("@@"))) {
		struct patch_hunk h;
		int64_t new_count;

		TRY(hunk_header(r, &h, &new_count, err));
		next(r);
		TRY(hunk_body(r, &h, new_count, err));
	}
	return 0;
}

/* ------------------------------------------------------------------ unified: files */

static const char *const git_headers[] = { "index ", "old mode ", "similarity index ", "dissimilarity index " };

static bool is_skipped_header(struct str line)
{
	for (size_t i = 0; i < COUNT(git_headers); i++)
		if (str_starts(line, str_from(git_headers[i])))
			return true;
	return false;
}

static int take_mode(struct reader *r, struct str text, struct patch_file *f, struct err *err)
{
	if (!str_eqz(text, "100644") && !str_eqz(text, "100755"))
		return bad(r, err, "only the modes 100644 and 100755 can be set");
	f->mode = str_eqz(text, "100755") ? 0755 : 0644;
	return 0;
}

/* The lines between "diff --git" and the first hunk or the next file. *named when they say the names. */
static int git_lines(struct reader *r, struct patch_file *f, bool *named, struct err *err)
{
	for (; !at_end(r); next(r)) {
		struct str line = peek(r);

		if (str_starts(line, STR("new file mode "))) {
			f->op = PATCH_ADD;
			TRY(take_mode(r, str_skip(line, 14), f, err));
		} else if (str_starts(line, STR("deleted file mode "))) {
			f->op = PATCH_DELETE;
		} else if (str_starts(line, STR("new mode "))) {
			TRY(take_mode(r, str_skip(line, 9), f, err));
		} else if (str_starts(line, STR("rename from "))) {
			TRY(cquote_read(str_skip(line, 12), r->mem, &f->old_path, err));
		} else if (str_starts(line, STR("rename to "))) {
			TRY(cquote_read(str_skip(line, 10), r->mem, &f->new_path, err));
			*named = true;
		} else if (str_starts(line, STR("copy from ")) || str_starts(line, STR("Binary files ")) ||
			str_starts(line, STR("GIT binary patch"))) {
			return bad(r, err, "copies and binary patches are not supported");
		} else if (!is_skipped_header(line)) {
			return 0;
		}
	}
	return 0;
}

static int file_headers(struct reader *r, struct patch_file *f, struct err *err)
{
	struct str old, new;

	TRY(header_name(r, str_skip(peek(r), 4), &old, err));
	next(r);
	TRY(header_name(r, str_skip(peek(r), 4), &new, err));
	next(r);
	if (is_null(old) && is_null(new))
		return err_set(err, ERR_SYNTAX, "patch line %zu: both sides are /dev/null", r->line - 2);
	strip_prefixes(&old, &new);
	f->op = is_null(old) ? PATCH_ADD : is_null(new) ? PATCH_DELETE : PATCH_UPDATE;
	f->old_path = is_null(old) ? new : old;
	f->new_path = is_null(new) ? old : new;
	return 0;
}

static int unified_file(struct reader *r, struct err *err)
{
	struct patch_file f = { .op = PATCH_UPDATE };
	bool git = str_starts(peek(r), STR("diff --git ")), named = false;
	size_t start = r->line;
	struct str git_names = str_skip(peek(r), 11);

	if (git) {
		next(r);
		TRY(git_lines(r, &f, &named, err));
	}
	if (!at_end(r) && is_file_header(r)) {
		enum patch_op op = f.op;
		mode_t mode = f.mode;

		TRY(file_headers(r, &f, err));
		if (op != PATCH_UPDATE && op != f.op)
			return err_set(err, ERR_SYNTAX, "patch line %zu: the headers of this file disagree on whether it is new "
				"or deleted", start);
		f.mode = mode;
	} else if (git && !named && !git_line_name(r, git_names, &f.new_path)) {
		return err_set(err, ERR_SYNTAX, "patch line %zu: expected \"--- a/FILE\" and \"+++ b/FILE\" lines", start);
	} else if (git && !named) {
		f.old_path = f.new_path;
	}
	TRY(hunks(r, err));
	bool moves = !str_eq(f.old_path, f.new_path);
	bool says_all = git && (moves || f.mode != 0 || f.op != PATCH_UPDATE); /* an empty file, a mode, a name */
	if (r->hunks.n == 0 && !says_all)
		return err_set(err, ERR_SYNTAX, "patch line %zu: no hunk (\"@@ -L,N +L,N @@\") for this file; nothing was "
			"applied", start);
	return end_file(r, f, err);
}

static int unified(struct reader *r, struct err *err)
{
	while (!at_end(r)) {
		if (str_starts(peek(r), STR("diff --git ")) || is_file_header(r))
			TRY(unified_file(r, err));
		else if (str_starts(peek(r), STR("@@ -")) && r->files.n == 0)
			TRY(unified_file(r, err)); /* hunks alone: the call's path says which file */
		else if (str_starts(peek(r), STR("@@ -")))
			return bad(r, err, "expected the headers of a file before this hunk");
		else
			next(r); /* prose around the patch */
	}
	return 0;
}

/* ------------------------------------------------------------------ the envelope */

static bool directive(struct str line, struct str word, struct str *name)
{
	if (!str_starts(line, word))
		return false;
	*name = str_trim(str_skip(line, word.n));
	return true;
}

static bool is_directive(struct str line)
{
	return str_starts(line, STR("*** ")) && !str_eqz(str_trim(line), "*** End of File");
}

static int add_body(struct reader *r, struct err *err)
{
	struct patch_hunk h = { .at_line = r->line };

	for (; !at_end(r) && !is_directive(peek(r)); next(r)) {
		struct str line = peek(r);

		if (line.n > 0 && line.p[0] == '+')
			add_line(r, '+', str_skip(line, 1));
		else if (line.n > 0 && !str_eqz(line, "*** End of File"))
			return bad(r, err, "every line of an added file starts with \"+\"");
		else if (line.n == 0 && !at_end(r))
			add_line(r, ' ', line); /* a blank line at the end is layout, within it is an error */
	}
	drop_blank_tail(r);
	for (size_t i = 0; i < r->lines.n; i++)
		if (r->lines.p[i].kind != '+')
			return err_set(err, ERR_SYNTAX, "patch line %zu: every line of an added file starts with \"+\", got an "
				"empty line", h.at_line + i);
	end_hunk(r, h);
	return 0;
}

static int update_hunk(struct reader *r, struct err *err)
{
	struct patch_hunk h = { .at_line = r->line, .head = peek(r) };

	for (; !at_end(r) && str_starts(peek(r), STR("@@")); next(r)) {
		struct str hint = str_trim(str_trim_suffix(str_trim(str_skip(peek(r), 2)), STR("@@")));

		if (hint.n > 0)
			*vec_new(&r->hints) = hint;
	}
	for (; !at_end(r) && !is_directive(peek(r)) && !str_starts(peek(r), STR("@@")); next(r)) {
		struct str line = peek(r);

		if (str_eqz(str_trim(line), "*** End of File"))
			continue;
		if (line.n > 0 && line.p[0] == '\\')
			continue;
		if (!is_body(line))
			return bad(r, err, "a line of a hunk starts with \" \", \"-\", \"+\" or \"@@\"");
		add_line(r, line.n > 0 ? line.p[0] : ' ', str_skip(line, 1));
	}
	drop_blank_tail(r);
	if (r->lines.n == 0)
		return err_set(err, ERR_SYNTAX, "patch line %zu: the hunk has no lines", h.at_line);
	end_hunk(r, h);
	return 0;
}

static int update_body(struct reader *r, struct patch_file *f, struct err *err)
{
	struct str to;

	if (!at_end(r) && directive(peek(r), STR("*** Move to: "), &to)) {
		TRY(cquote_read(to, r->mem, &f->new_path, err));
		next(r);
	}
	while (!at_end(r) && !is_directive(peek(r))) {
		if (peek(r).n == 0)
			next(r);
		else
			TRY(update_hunk(r, err));
	}
	if (r->hunks.n == 0 && str_eq(f->old_path, f->new_path))
		return err_set(err, ERR_SYNTAX, "patch line %zu: no hunk for " STR_FMT "; nothing was applied", r->line,
			STR_ARG(f->old_path));
	return 0;
}

static int envelope_file(struct reader *r, struct err *err)
{
	struct patch_file f = { 0 };
	struct str name;

	if (directive(peek(r), STR("*** Add File: "), &name))
		f.op = PATCH_ADD;
	else if (directive(peek(r), STR("*** Update File: "), &name))
		f.op = PATCH_UPDATE;
	else if (directive(peek(r), STR("*** Delete File: "), &name))
		f.op = PATCH_DELETE;
	else
		return bad(r, err, "expected \"*** Add File: \", \"*** Update File: \" or \"*** Delete File: \"");
	TRY(cquote_read(name, r->mem, &f.old_path, err));
	if (f.old_path.n == 0)
		return bad(r, err, "expected a file name");
	f.new_path = f.old_path;
	f.whole = f.op == PATCH_DELETE;
	next(r);
	if (f.op == PATCH_ADD)
		TRY(add_body(r, err));
	if (f.op == PATCH_UPDATE)
		TRY(update_body(r, &f, err));
	return end_file(r, f, err);
}

static int envelope(struct reader *r, struct err *err)
{
	while (!at_end(r) && !str_eqz(str_trim(peek(r)), "*** Begin Patch"))
		next(r);
	next(r);
	while (!at_end(r) && !str_eqz(str_trim(peek(r)), "*** End Patch")) {
		if (peek(r).n == 0)
			next(r);
		else
			TRY(envelope_file(r, err));
	}
	return 0;
}

static bool is_envelope(struct str text)
{
	while (text.n > 0)
		if (str_eqz(str_trim(str_line(&text)), "*** Begin Patch"))
			return true;
	return false;
}

int patch_decode(struct str text, struct arena *mem, struct patch *out, struct err *err)
{
	CLEANUP(reader_fini) struct reader r = { .rest = text, .line = 1, .mem = mem };

	if (str_trim(text).n == 0)
		return err_set(err, ERR_SYNTAX, "the patch is empty; nothing was applied");
	TRY(is_envelope(text) ? envelope(&r, err) : unified(&r, err));
	if (r.files.n == 0)
		return err_set(err, ERR_SYNTAX, "no file section found: expected \"--- a/FILE\", \"+++ b/FILE\" and "
			"\"@@ -L,N +L,N @@\" hunks, or \"*** Begin Patch\"");
	out->files = keep(mem, r.files.p, r.files.n, sizeof(*r.files.p));
	out->n = r.files.n;
	return 0;
}
