/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "tool/language.h"

#include "fmt/lsp.h"
#include "sys/file.h"
#include "tool/path.h"

#define FILES_MAX 400 /* that one answer may make us read */

int language_text(struct tool_ctx *ctx, struct str rel, struct buf *out, struct err *err)
{
	autoclose int fd = -1;
	struct tool_path p;

	TRY(path_resolve(ctx, rel, PATH_READ, &p, err));
	if (p.root != ctx->roots)
		return err_set(err, ERR_DENIED, "it lies outside of the workspace");
	TRY(path_open_file(&p, &fd, err));
	buf_clear(out);
	return file_read_fd(fd, out, err);
}

bool language_line(struct str text, int64_t line, struct str *out)
{
	for (int64_t at = 0; text.n > 0; at++) {
		struct str l = str_line(&text);

		if (at == line) {
			*out = str_trim_suffix(str_trim_suffix(l, STR("\n")), STR("\r"));
			return true;
		}
	}
	return false;
}

void language_reader_fini(struct language_reader *r)
{
	buf_fini(&r->text);
}

/* The path below the workspace, cleaned of nothing: what is not written plainly is none of ours. */
static bool below(const struct tool_ctx *ctx, struct str path, struct str *out)
{
	struct str top = ctx->roots[0].path;

	if (!path_is_clean(path) || !str_starts(path, top) || path.n <= top.n + 1 || path.p[top.n] != '/')
		return false;
	*out = str_skip(path, top.n + 1);
	return true;
}

static bool load(struct language_reader *r, struct str rel)
{
	if (r->path.n > 0 && str_eq(r->path, rel))
		return r->there;
	r->path = str_dup(r->ctx->mem, rel);
	r->text.max = LANGUAGE_TEXT_MAX;
	r->there = r->files < FILES_MAX && language_text(r->ctx, rel, &r->text, ERR_DISCARD) == 0;
	r->files++;
	return r->there;
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || (unsigned char)c > 127;
}

static struct str word_at(struct str line, size_t at)
{
	size_t end = at;

	while (end < line.n && is_name_byte(line.p[end]))
		end++;
	return str_of(line.p + at, end - at);
}

enum language_verdict language_row(struct language_reader *r, const struct language_place *p, struct str symbol, struct language_row *out)
{
	struct str rel, line, word;
	size_t at;

	if (!below(r->ctx, p->path, &rel))
		return LANGUAGE_OUTSIDE;
	if (!load(r, rel) || !language_line(buf_str(&r->text), p->line, &line))
		return LANGUAGE_FALSE;
	at = p->bytes ? (p->col < 0 || (uint64_t)p->col > line.n ? line.n : (size_t)p->col) : lsp_bytes_of(line, p->col);
	word = word_at(line, at);
	if (word.n == 0 || (at > 0 && is_name_byte(line.p[at - 1])))
		return LANGUAGE_FALSE;
	if (symbol.n > 0 ? !str_eq(word, symbol) : str_find(p->name, word) == p->name.n)
		return LANGUAGE_FALSE;
	*out = (struct language_row){ r->path, str_dup(r->ctx->mem, word), p->line + 1, (int64_t)at + 1 };
	return LANGUAGE_HOLDS;
}
