/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What a server answered to a call, as a result for the model. */
#include "fmt/json.h"
#include "tool/mcp.h"
#include "tool/result.h"

#define TEXT_MAX   ((size_t)24 * 1024 * 1024)
#define SHORT_MAX  200   /* of a word in a line about something that is no text */
#define RESULT_MAX 50000 /* encoded bytes */

static int add_word(struct buf *out, struct jval v, struct err *err)
{
	auto_buf struct buf raw = BUF_MAX(TEXT_MAX), text = BUF_MAX(TEXT_MAX);

	if (v.type != JSCAN_STRING)
		return buf_addz(out, "?", err);
	TRY(jval_add_text(&raw, v, NUL_REPLACE, err));
	jtext_repair(&raw, 0);
	TRY(mcp_clean(&text, buf_str(&raw), err));
	return buf_add(out, str_head(buf_str(&text), utf8_head(buf_str(&text), SHORT_MAX)), err);
}

static int add_text(struct buf *out, struct jval v, struct err *err)
{
	size_t from = out->n;

	TRY(jval_add_text(out, v, NUL_REPLACE, err));
	jtext_repair(out, from);
	return 0;
}

/* Enough of base64 to see what begins so; the signatures of the four kinds that model servers take. */
static const struct {
	const char *begins, *type;
} kinds[] = {
	{ "iVBORw0KGgo", "image/png" },
	{ "/9j/", "image/jpeg" },
	{ "R0lGOD", "image/gif" },
	{ "UklGR", "image/webp" },
};

static bool is_base64(struct str s)
{
	size_t pad = s.n > 0 && s.p[s.n - 1] == '=' ? (s.n > 1 && s.p[s.n - 2] == '=' ? 2 : 1) : 0;

	for (size_t i = 0; i + pad < s.n; i++) {
		char c = s.p[i], low = (char)(c | 0x20);

		if (!((c >= '0' && c <= '9') || (low >= 'a' && low <= 'z') || c == '+' || c == '/'))
			return false;
	}
	return s.n > 0 && s.n % 4 == 0;
}

/* Careless servers break lines, and write the beginning of an address before it. */
static int clean_base64(struct jval data, struct buf *out, struct err *err)
{
	auto_buf struct buf raw = BUF_MAX(TEXT_MAX);
	struct str s;

	TRY(jval_add_text(&raw, data, NUL_REPLACE, err));
	s = str_trim(buf_str(&raw));
	if (str_starts(s, STR("data:")))
		s = str_skip(s, str_find(s, STR(",")) + 1);
	while (s.n > 0) {
		size_t n = 0;

		while (n < s.n && s.p[n] != '\n' && s.p[n] != '\r' && s.p[n] != ' ')
			n++;
		TRY(buf_add(out, str_head(s, n), err));
		s = str_skip(s, n + 1);
	}
	return 0;
}

/* True when it is shown. */
static bool take_picture(struct mcp_pictures *all, struct jval data)
{
	auto_buf struct buf clean = BUF_MAX(MCP_PICTURE_MAX);

	if (all->n >= all->most || all->n == MCP_PICTURES_MAX || data.type != JSCAN_STRING ||
		clean_base64(data, &clean, ERR_DISCARD) < 0 || !is_base64(buf_str(&clean)))
		return false;
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (str_starts(buf_str(&clean), str_from(kinds[i].begins))) {
			all->p[all->n++] = (struct mcp_picture){ kinds[i].type, str_dup(all->mem, buf_str(&clean)) };
			return true;
		}
	return false;
}

static int add_blob(struct buf *out, const char *what, struct jval type, struct jval data, struct mcp_pictures *all, struct err *err)
{
	bool shown = all && take_picture(all, data);

	TRY(buf_addf(out, err, "[%s ", what));
	TRY(add_word(out, type, err));
	return buf_addf(out, err, ", %zu bytes of base64, %s]", data.text.n > 2 ? data.text.n - 2 : 0, shown ? "shown below" : "not shown");
}

static int add_resource(struct buf *out, struct jval r, struct mcp_pictures *all, struct err *err)
{
	struct jval text = jval_get(r, "text");

	TRY(buf_addz(out, "[resource ", err));
	TRY(add_word(out, jval_get(r, "uri"), err));
	TRY(buf_addz(out, "]\n", err));
	if (text.type == JSCAN_STRING)
		return add_text(out, text, err);
	return add_blob(out, "data", jval_get(r, "mimeType"), jval_get(r, "blob"), all, err);
}

static int add_item(struct buf *out, struct jval v, struct mcp_pictures *all, struct err *err)
{
	struct jval type = jval_get(v, "type");

	if (jval_is(type, "text"))
		return add_text(out, jval_get(v, "text"), err);
	if (jval_is(type, "image"))
		return add_blob(out, "image", jval_get(v, "mimeType"), jval_get(v, "data"), all, err);
	if (jval_is(type, "audio"))
		return add_blob(out, "audio", jval_get(v, "mimeType"), jval_get(v, "data"), NULL, err);
	if (jval_is(type, "resource"))
		return add_resource(out, jval_get(v, "resource"), all, err);
	if (jval_is(type, "resource_link")) {
		TRY(buf_addz(out, "[link to ", err));
		TRY(add_word(out, jval_get(v, "uri"), err));
		TRY(buf_addz(out, ": ", err));
		TRY(add_word(out, jval_get(v, "name"), err));
		return buf_addz(out, "]", err);
	}
	TRY(buf_addz(out, "[unsupported content: ", err));
	TRY(add_word(out, type, err));
	return buf_addz(out, "]", err);
}

static int add_content(struct buf *text, struct jval result, struct mcp_pictures *all, struct err *err)
{
	struct jval content = jval_get(result, "content"), structured = jval_get(result, "structuredContent"), v;
	size_t pos = 0, items = 0;

	while (jval_next(content, &pos, NULL, &v)) {
		TRY(buf_addz(text, items++ > 0 ? "\n\n" : "", err));
		TRY(add_item(text, v, all, err));
	}
	if (text->n == 0 && structured.type != JSCAN_NONE && structured.type != JSCAN_NULL)
		return jval_add(text, structured, NUL_REPLACE, err);
	return 0;
}

int mcp_result(struct jval result, struct buf *out, struct mcp_pictures *pictures, bool *failed, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(TEXT_MAX);
	struct jval type = jval_get(result, "resultType");

	*failed = true;
	if (result.type != JSCAN_OBJECT)
		return result_error(out, STR("the server's answer is no result"), err);
	if (type.type == JSCAN_STRING && jval_is(type, "input_required"))
		return result_error(out, STR("the server wants an input that agent6 does not give"), err);
	if (type.type != JSCAN_NONE && !jval_is(type, "complete"))
		return result_error(out, STR("the server's answer is of a kind that agent6 does not know"), err);
	TRY(add_content(&text, result, pictures, err));
	*failed = jval_get(result, "isError").type == JSCAN_TRUE;
	if (*failed && text.n == 0)
		return result_error(out, STR("the tool failed and does not say why"), err);
	TRY(buf_addc(out, '{', err));
	TRY(result_add_stream(out, *failed ? "error" : "content", buf_str(&text), text.n, text.n, RESULT_MAX, err));
	return buf_addc(out, '}', err);
}

int mcp_error_text(struct jval error, struct buf *out, struct err *err)
{
	struct jval code = jval_get(error, "code"), message = jval_get(error, "message");
	int64_t number = 0;

	TRY(buf_addz(out, "the server answers: ", err));
	TRY(add_word(out, message, err));
	return jval_to_i64(code, &number) ? buf_addf(out, err, " (%lld)", (long long)number) : 0;
}
