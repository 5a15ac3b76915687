/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What is said to a language server and what it answers. Everything here runs inside the pump. */
#include "agent/lsp_priv.h"

#include "fmt/json.h"

#include <stdio.h>
#include <string.h>

#define UNASKED_MAX   20000 /* messages without one that was asked for: progress, diagnostics */
#define UNASKED_BYTES ((uint64_t)128 * 1024 * 1024)
#define ID_MAX        256   /* bytes of an id that a server gives */
#define ITEMS_MAX     100
#define SYMBOL_MAX    400
#define DEPTH_MAX     32    /* of an outline */
#define URI_MAX       (3 * 2 * PATH_MAX + 16) /* the workspace, a path in it, and each byte of both as %XX */

/* ---- saying ---- */

int lsp_add_uri(struct buf *b, const struct lsp *l, struct str rel, struct err *err)
{
	auto_buf struct buf path = BUF_MAX(2 * PATH_MAX), uri = BUF_MAX(URI_MAX);

	TRY(buf_add(&path, l->workspace, err));
	if (rel.n > 0) {
		TRY(buf_addc(&path, '/', err));
		TRY(buf_add(&path, rel, err));
	}
	TRY(lsp_uri_add(&uri, buf_str(&path), err));
	return json_add_member(b, "uri", buf_str(&uri), err);
}

static int say(struct lsp_peer *s, const char *head, const char *method, struct str params, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(params.n + 1024);

	TRY(buf_addf(&b, err, "{\"jsonrpc\":\"2.0\",%s\"method\":\"%s\",\"params\":", head, method));
	TRY(buf_add(&b, params, err));
	TRY(buf_addz(&b, "}", err));
	return lsp_send(s, buf_str(&b), err);
}

int lsp_request(struct lsp_peer *s, const char *method, struct str params, struct err *err)
{
	char head[48];

	s->open_id = ++s->last_id;
	s->answered = s->refused = false;
	snprintf(head, sizeof(head), "\"id\":%lld,", (long long)s->open_id);
	return say(s, head, method, params, err);
}

int lsp_notify(struct lsp_peer *s, const char *method, struct str params, struct err *err)
{
	return say(s, "", method, params, err);
}

int lsp_cancel(struct lsp_peer *s, struct err *err)
{
	char params[48];

	if (s->open_id == 0 || s->state != LSP_READY)
		return 0;
	snprintf(params, sizeof(params), "{\"id\":%lld}", (long long)s->open_id);
	s->open_id = 0;
	return lsp_notify(s, "$/cancelRequest", str_from(params), err);
}

int lsp_greet(struct lsp_peer *s, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(64 * 1024);

	TRY(buf_addz(&b, "{\"processId\":null,\"clientInfo\":{\"name\":\"agent6\"},\"rootUri\":", err));
	auto_buf struct buf top = BUF_MAX(URI_MAX);

	TRY(lsp_uri_add(&top, s->all->workspace, err));
	TRY(json_add_quoted(&b, buf_str(&top), err));
	TRY(buf_addz(&b, ",\"workspaceFolders\":[{", err));
	TRY(lsp_add_uri(&b, s->all, STR(""), err));
	TRY(buf_addz(&b, ",\"name\":\"workspace\"}],\"capabilities\":{\"general\":{\"positionEncodings\":[\"utf-8\",\"utf-16\"]},"
		"\"textDocument\":{\"synchronization\":{},\"definition\":{},\"references\":{},"
		"\"documentSymbol\":{\"hierarchicalDocumentSymbolSupport\":true}},\"workspace\":{\"workspaceFolders\":true}}", err));
	if (s->is->options)
		TRY(buf_addf(&b, err, ",\"initializationOptions\":%s", s->is->options));
	TRY(buf_addz(&b, "}", err));
	return lsp_request(s, "initialize", buf_str(&b), err);
}

/* ---- places ---- */

static struct str take_text(const struct lsp *l, struct jval v, size_t max)
{
	auto_buf struct buf b = BUF_MAX(max);

	if (v.type != JSCAN_STRING || v.text.n > max || jval_add_text(&b, v, NUL_REPLACE, ERR_DISCARD) < 0)
		return STR("");
	return str_dup(l->mem, buf_str(&b));
}

static bool read_start(struct jval range, const char *which, int64_t *line, int64_t *col)
{
	struct jval at = jval_get(range, which);

	return jval_to_i64(jval_get(at, "line"), line) && jval_to_i64(jval_get(at, "character"), col) && *line >= 0 && *col >= 0 &&
		*line < INT32_MAX && *col < INT32_MAX;
}

static struct language_place *new_place(struct lsp *l)
{
	struct language_answer *a = l->answer;

	if (a->n == LANGUAGE_PLACES_MAX) {
		a->more = true;
		return NULL;
	}
	if (a->n == a->cap) {
		size_t cap = a->cap > 0 ? 2 * a->cap : 64;
		struct language_place *p = arena_array(l->mem, cap, sizeof(*p));

		if (a->n > 0)
			memcpy(p, a->p, a->n * sizeof(*p));
		a->p = p;
		a->cap = cap;
	}
	return &a->p[a->n++];
}

static void take_location(struct lsp_peer *s, struct jval v)
{
	struct lsp *l = s->all;
	bool link = jval_get(v, "targetUri").type != JSCAN_NONE; /* LocationLink, which was not asked for */
	struct jval range = jval_get(v, link ? "targetSelectionRange" : "range");
	struct str uri = take_text(l, jval_get(v, link ? "targetUri" : "uri"), URI_MAX);
	auto_buf struct buf path = BUF_MAX(URI_MAX);
	struct language_place at = { .bytes = s->bytes }, *out;

	if (!read_start(range, "start", &at.line, &at.col) || lsp_uri_path(uri, &path, ERR_DISCARD) < 0)
		return;
	out = new_place(l);
	if (!out)
		return;
	*out = at;
	out->path = str_dup(l->mem, buf_str(&path));
}

/* SymbolKind of the protocol, which begins at 1; NULL: left out of an outline, as the index leaves out fields, variables and the
 * names of an enum. */
static const char *kind_of(int64_t n)
{
	static const char *const kinds[] = { [2] = "module", [3] = "module", [4] = "module", [5] = "class", [6] = "method",
		[9] = "method", [10] = "enum", [11] = "interface", [12] = "function", [14] = "const", [23] = "struct", [25] = "method", [26] = "type" };

	return n >= 0 && n < (int64_t)COUNT(kinds) ? kinds[n] : NULL;
}

static void take_symbol(struct lsp_peer *s, struct jval v, struct str in, int depth)
{
	/* In one walk: a server may nest much text deeply. */
	static const char *const keys[] = { "name", "kind", "range", "selectionRange", "location", "children" };
	struct jval got[COUNT(keys)];
	struct lsp *l = s->all;

	jval_pick(v, keys, COUNT(keys), got);
	struct jval range = got[2], select = got[3], location = got[4], child;
	struct language_place at = { .bytes = s->bytes, .in = in }, *out;
	int64_t kind = 0, col = 0;
	size_t pos = 0;

	if (location.type == JSCAN_OBJECT) /* SymbolInformation: the older form */
		range = select = jval_get(location, "range");
	at.name = take_text(l, got[0], SYMBOL_MAX);
	if (at.name.n == 0 || !read_start(select, "start", &at.line, &at.col) || !jval_to_i64(got[1], &kind))
		return;
	if (!read_start(range, "end", &at.end, &col) || at.end < at.line)
		at.end = at.line;
	at.kind = kind_of(kind);
	out = at.kind ? new_place(l) : NULL;
	if (out)
		*out = at;
	while (depth < DEPTH_MAX && l->answer->n < LANGUAGE_PLACES_MAX && jval_next(got[5], &pos, NULL, &child))
		take_symbol(s, child, at.kind ? at.name : in, depth + 1);
}

static void take_result(struct lsp_peer *s, struct jval result)
{
	struct lsp *l = s->all;
	struct jval v;
	size_t pos = 0;

	if (result.type == JSCAN_OBJECT)
		take_location(s, result);
	while (result.type == JSCAN_ARRAY && l->answer->n < LANGUAGE_PLACES_MAX && jval_next(result, &pos, NULL, &v)) {
		if (l->what == SEARCH_OUTLINE)
			take_symbol(s, v, STR(""), 0);
		else
			take_location(s, v);
	}
}

/* ---- answers ---- */

static int on_initialized(struct lsp_peer *s, const struct rpc_message *m, struct err *err)
{
	if (m->kind == RPC_ERROR)
		return lsp_give_up(s, "it refuses to begin", err);
	s->bytes = jval_is(jval_get(jval_get(m->body, "capabilities"), "positionEncoding"), "utf-8");
	s->state = LSP_READY;
	TRY(lsp_notify(s, "initialized", STR("{}"), err));
	return s->state == LSP_READY ? lsp_ready(s, err) : 0;
}

static int on_answer(struct lsp_peer *s, const struct rpc_message *m, struct err *err)
{
	if (!m->id_known || s->open_id == 0 || m->id != s->open_id)
		return 0; /* late, or never asked for */
	s->open_id = 0;
	s->unasked = s->unasked_bytes = 0;
	if (s->state == LSP_OPENING)
		return on_initialized(s, m, err);
	s->refused = m->kind == RPC_ERROR;
	s->answered = !s->refused;
	if (s->answered && s->all->answer)
		take_result(s, m->body);
	return 0;
}

/* ---- what a server asks of its own accord ---- */

static int add_nulls(struct buf *b, struct jval items, struct err *err)
{
	struct jval v;
	size_t pos = 0, n = 0;

	TRY(buf_addz(b, "[", err));
	while (n < ITEMS_MAX && jval_next(items, &pos, NULL, &v))
		TRY(buf_addz(b, n++ > 0 ? ",null" : "null", err));
	return buf_addz(b, "]", err);
}

static int add_reply(const struct rpc_message *m, struct buf *b, struct err *err)
{
	static const char *const granted[] = { "window/workDoneProgress/create", "client/registerCapability", "client/unregisterCapability" };

	if (jval_is(m->method, "workspace/configuration")) {
		TRY(buf_addz(b, ",\"result\":", err));
		return add_nulls(b, jval_get(m->body, "items"), err);
	}
	if (jval_is(m->method, "workspace/applyEdit"))
		return buf_addz(b, ",\"result\":{\"applied\":false}", err);
	for (size_t i = 0; i < COUNT(granted); i++)
		if (jval_is(m->method, granted[i]))
			return buf_addz(b, ",\"result\":null", err);
	return buf_addz(b, ",\"error\":{\"code\":-32601,\"message\":\"agent6 does not do that\"}", err);
}

static int answer_request(struct lsp_peer *s, const struct rpc_message *m, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(8192);

	if (m->id_raw.text.n > ID_MAX)
		return 0; /* an id that we do not repeat */
	TRY(buf_addz(&b, "{\"jsonrpc\":\"2.0\",\"id\":", err));
	TRY(jval_add(&b, m->id_raw, NUL_REPLACE, err));
	TRY(add_reply(m, &b, err));
	TRY(buf_addz(&b, "}", err));
	return lsp_send(s, buf_str(&b), err);
}

int lsp_on_message(void *self, const struct rpc_message *m, struct err *err)
{
	struct lsp_peer *s = self;

	if (s->state == LSP_GIVEN_UP)
		return 0;
	if (++s->unasked > UNASKED_MAX || s->unasked_bytes > UNASKED_BYTES)
		return lsp_give_up(s, "it floods: more than 20000 messages or 128 MiB that nobody asked for", err);
	if (m->kind == RPC_RESULT || m->kind == RPC_ERROR)
		return on_answer(s, m, err);
	return m->kind == RPC_REQUEST ? answer_request(s, m, err) : 0;
}
