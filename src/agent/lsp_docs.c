/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The files that are open at a language server. Each is compared with what lies on the disk before the server is asked
 * anything, so that it never answers about a text that the model has changed, by whatever tool or command. */
#include "agent/lsp_priv.h"

#include "fmt/json.h"
#include "tool/path.h"

#include <sys/stat.h>

#define MESSAGE_MAX (2 * LANGUAGE_TEXT_MAX + 65536) /* a text of controls becomes more in quotes, and is no source */

static int64_t nanoseconds(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_same(const struct lsp_doc *d, const struct stat *st)
{
	return d->mtime_ns == nanoseconds(st->st_mtim) && d->ctime_ns == nanoseconds(st->st_ctim) && d->size == st->st_size &&
		d->ino == st->st_ino;
}

static void set_same(struct lsp_doc *d, const struct stat *st)
{
	d->mtime_ns = nanoseconds(st->st_mtim);
	d->ctime_ns = nanoseconds(st->st_ctim);
	d->size = st->st_size;
	d->ino = st->st_ino;
}

static int add_version(struct buf *b, const struct lsp_peer *s, const struct lsp_doc *d, struct err *err)
{
	TRY(buf_addz(b, "{\"textDocument\":{", err));
	TRY(lsp_add_uri(b, s->all, buf_str(&d->path), err));
	return buf_addf(b, err, ",\"version\":%lld", (long long)d->version);
}

/* 1: more than a message holds. */
static int add_text(struct buf *b, struct str text)
{
	return json_add_member(b, "text", text, ERR_DISCARD) < 0;
}

/* 1: it is not sent, as of all below. */
static int send_open(struct lsp_peer *s, const struct lsp_doc *d, struct str text, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(MESSAGE_MAX);

	TRY(add_version(&b, s, d, err));
	TRY(json_add_member(&b, "languageId", str_from(lsp_language_id(s->is, buf_str(&d->path))), err));
	if (add_text(&b, text))
		return 1;
	TRY(buf_addz(&b, "}}", err));
	return lsp_notify(s, "textDocument/didOpen", buf_str(&b), err);
}

static int send_change(struct lsp_peer *s, const struct lsp_doc *d, struct str text, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(MESSAGE_MAX);

	TRY(add_version(&b, s, d, err));
	TRY(buf_addz(&b, "},\"contentChanges\":[{", err));
	if (add_text(&b, text))
		return 1;
	TRY(buf_addz(&b, "}]}", err));
	return lsp_notify(s, "textDocument/didChange", buf_str(&b), err);
}

static void drop(struct lsp_peer *s, size_t at)
{
	BUG_IF(at >= s->ndocs);
	buf_fini(&s->docs[at].path);
	s->docs[at] = s->docs[--s->ndocs];
	s->docs[s->ndocs] = (struct lsp_doc){ 0 };
}

static int close_doc(struct lsp_peer *s, size_t at, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(65536);

	TRY(buf_addz(&b, "{\"textDocument\":{", err));
	TRY(lsp_add_uri(&b, s->all, buf_str(&s->docs[at].path), err));
	TRY(buf_addz(&b, "}}", err));
	drop(s, at);
	return lsp_notify(s, "textDocument/didClose", buf_str(&b), err);
}

void lsp_forget(struct lsp_peer *s)
{
	while (s->ndocs > 0)
		drop(s, s->ndocs - 1);
}

static int look(struct tool_ctx *ctx, struct str rel, struct stat *out)
{
	struct tool_path p;

	TRY(path_resolve(ctx, rel, PATH_READ, &p, ERR_DISCARD));
	if (!p.exists || p.root != ctx->roots)
		return -ERR_NOENT;
	*out = p.st;
	return 0;
}

/* 1: it is no longer there, no longer ours to read, or no text. */
static int refresh(struct lsp_peer *s, struct tool_ctx *ctx, size_t at, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(LANGUAGE_TEXT_MAX);
	struct lsp_doc *d = &s->docs[at];
	struct stat st;

	if (look(ctx, buf_str(&d->path), &st) < 0)
		return 1;
	if (is_same(d, &st))
		return 0;
	if (language_text(ctx, buf_str(&d->path), &text, ERR_DISCARD) < 0)
		return 1;
	set_same(d, &st);
	d->version++;
	return send_change(s, d, buf_str(&text), err);
}

int lsp_refresh(struct lsp_peer *s, struct tool_ctx *ctx, struct err *err)
{
	/* Each thing that is said may be one too many for a server that does not read: it is given up then, and nothing is open. */
	for (size_t i = s->ndocs; i > 0 && s->state == LSP_READY; i--) {
		int r = refresh(s, ctx, i - 1, err);

		TRY(r);
		if (r > 0)
			TRY(close_doc(s, i - 1, err));
	}
	return 0;
}

static size_t oldest(const struct lsp_peer *s)
{
	size_t at = 0;

	for (size_t i = 1; i < s->ndocs; i++)
		if (s->docs[i].used < s->docs[at].used)
			at = i;
	return at;
}

int lsp_show(struct lsp_peer *s, struct tool_ctx *ctx, struct str rel, struct buf *text, struct err *err)
{
	struct lsp_doc *d;
	struct stat st;
	int r;

	if (look(ctx, rel, &st) < 0 || language_text(ctx, rel, text, ERR_DISCARD) < 0)
		return 1;
	for (size_t i = 0; i < s->ndocs; i++)
		if (str_eq(buf_str(&s->docs[i].path), rel)) { /* it was refreshed just now */
			s->docs[i].used = s->all->asked;
			return 0;
		}
	if (s->ndocs == LSP_DOCS_MAX)
		TRY(close_doc(s, oldest(s), err));
	if (s->state != LSP_READY)
		return 1;
	d = &s->docs[s->ndocs++];
	*d = (struct lsp_doc){ .path = BUF_MAX(PATH_MAX), .version = 1, .used = s->all->asked };
	TRY(buf_add(&d->path, rel, err));
	set_same(d, &st);
	r = send_open(s, d, buf_str(text), err);
	if (r > 0)
		drop(s, s->ndocs - 1);
	return r;
}
