/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/lsp.h"

#include <string.h>
#include <strings.h>

#define KEEP_BODY (256 * 1024) /* storage that a long message needed is given back */

void lsp_reader_init(struct lsp_reader *r, size_t max, rpc_message_fn *on_message, void *self)
{
	*r = (struct lsp_reader){ .on_message = on_message, .self = self, .max = max, .head = BUF_MAX(LSP_HEAD_MAX), .body = BUF_MAX(max) };
}

void lsp_reader_fini(struct lsp_reader *r)
{
	buf_fini(&r->head);
	buf_fini(&r->body);
}

static int no_frame(struct err *err)
{
	return err_set(err, ERR_PROTOCOL, "what it writes is no message of the protocol");
}

/* The head without the empty line that ends it. */
static int read_head(struct lsp_reader *r, struct str head, struct err *err)
{
	int64_t n = -1;

	while (head.n > 0) {
		struct str line = str_trim(str_line(&head)), value = line;
		struct str name = str_cut(&value, ':');

		if (name.n == line.n) /* no colon */
			return no_frame(err);
		if (name.n != strlen("Content-Length") || strncasecmp(name.p, "Content-Length", name.n) != 0)
			continue;
		if (n >= 0 || str_to_i64(str_trim(value), &n, ERR_DISCARD) < 0 || n < 0)
			return no_frame(err);
	}
	if (n < 0)
		return no_frame(err);
	if ((uint64_t)n > r->max)
		return err_set(err, ERR_PROTOCOL, "a message of %lld bytes; %zu are the most", (long long)n, r->max);
	r->want = (size_t)n;
	r->in_body = true;
	return 0;
}

static int end_body(struct lsp_reader *r, struct err *err)
{
	struct rpc_message m;
	int rc = 0;

	r->in_body = false;
	if (rpc_decode(buf_str(&r->body), &m, ERR_DISCARD) == 0) {
		r->junk = 0;
		rc = r->on_message(r->self, &m, err);
	} else if (++r->junk > LSP_JUNK_MAX) {
		rc = err_set(err, ERR_PROTOCOL, "%d messages in a row that are none", LSP_JUNK_MAX);
	}
	if (r->body.cap > KEEP_BODY)
		buf_fini(&r->body);
	r->body.max = r->max;
	buf_clear(&r->body);
	return rc;
}

/* Takes what belongs to the head off the front of bytes. */
static int feed_head(struct lsp_reader *r, struct str *bytes, struct err *err)
{
	while (bytes->n > 0) {
		size_t eol = str_find(*bytes, STR("\n"));
		struct str line = str_head(*bytes, eol == bytes->n ? eol : eol + 1);

		if (buf_add(&r->head, line, ERR_DISCARD) < 0)
			return no_frame(err);
		*bytes = str_skip(*bytes, line.n);
		struct str head = buf_str(&r->head);

		if (!str_ends(head, STR("\n")))
			return 0;
		if (!str_ends(head, STR("\r\n\r\n")) && !str_ends(head, STR("\n\n")))
			continue;
		TRY(read_head(r, str_trim(head), err));
		buf_clear(&r->head);
		return 0;
	}
	return 0;
}

int lsp_feed(struct lsp_reader *r, struct str bytes, struct err *err)
{
	while (bytes.n > 0) {
		if (!r->in_body)
			TRY(feed_head(r, &bytes, err));
		if (!r->in_body)
			continue;
		struct str part = str_head(bytes, r->want - r->body.n);

		TRY(buf_add(&r->body, part, err));
		bytes = str_skip(bytes, part.n);
		if (r->body.n == r->want)
			TRY(end_body(r, err));
	}
	return 0;
}

int lsp_frame(struct buf *out, struct str text, struct err *err)
{
	TRY(buf_addf(out, err, "Content-Length: %zu\r\n\r\n", text.n));
	return buf_add(out, text, err);
}

static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c != 0 && strchr("-._~/", c));
}

int lsp_uri_add(struct buf *out, struct str path, struct err *err)
{
	TRY(buf_addz(out, "file://", err));
	for (size_t i = 0; i < path.n; i++) {
		unsigned char c = (unsigned char)path.p[i];

		TRY(is_plain(c) ? buf_addc(out, (char)c, err) : buf_addf(out, err, "%%%02X", c));
	}
	return 0;
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int lsp_uri_path(struct str uri, struct buf *out, struct err *err)
{
	struct str rest = str_trim_prefix(uri, STR("file://"));

	if (rest.n == uri.n || !str_starts(rest, STR("/")))
		return err_set(err, ERR_INVALID, "no file of this machine");
	for (size_t i = 0; i < rest.n; i++) {
		char c = rest.p[i];

		if (c == '%') {
			int high = i + 2 < rest.n ? hex(rest.p[i + 1]) : -1, low = high < 0 ? -1 : hex(rest.p[i + 2]);

			if (low < 0)
				return err_set(err, ERR_INVALID, "no file of this machine");
			c = (char)(high * 16 + low);
			i += 2;
		}
		if (c == '\0')
			return err_set(err, ERR_INVALID, "no file of this machine");
		TRY(buf_addc(out, c, err));
	}
	return 0;
}

/* An invalid byte counts as one unit, as the U+FFFD that the server sees instead does. */
size_t lsp_bytes_of(struct str line, int64_t units)
{
	size_t i = 0;

	for (int64_t at = 0; at < units && i < line.n;)
		at += utf8_next(line, &i) >= 0x10000 ? 2 : 1;
	return i;
}

int64_t lsp_units_of(struct str line, size_t bytes)
{
	int64_t at = 0;

	for (size_t i = 0; i < bytes && i < line.n;)
		at += utf8_next(line, &i) >= 0x10000 ? 2 : 1;
	return at;
}
