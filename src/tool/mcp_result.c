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

static int add_blob(struct buf *out, const char *what, struct jval type, struct jval data, struct err *err)
{
	TRY(buf_addf(out, err, "[%s ", what));
	TRY(add_word(out, type, err));
	return buf_addf(out, err, ", %zu bytes of base64, not shown]", data.text.n > 2 ? data.text.n - 2 : 0);
}

static int add_resource(struct buf *out, struct jval r, struct err *err)
{
	struct jval text = jval_get(r, "text");

	TRY(buf_addz(out, "[resource ", err));
	TRY(add_word(out, jval_get(r, "uri"), err));
	TRY(buf_addz(out, "]\n", err));
	if (text.type == JSCAN_STRING)
		return add_text(out, text, err);
	return add_blob(out, "data", jval_get(r, "mimeType"), jval_get(r, "blob"), err);
}

static int add_item(struct buf *out, struct jval v, struct err *err)
{
	struct jval type = jval_get(v, "type");

	if (jval_is(type, "text"))
		return add_text(out, jval_get(v, "text"), err);
	if (jval_is(type, "image") || jval_is(type, "audio"))
		return add_blob(out, jval_is(type, "image") ? "image" : "audio", jval_get(v, "mimeType"), jval_get(v, "data"), err);
	if (jval_is(type, "resource"))
		return add_resource(out, jval_get(v, "resource"), err);
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

static int add_content(struct buf *text, struct jval result, struct err *err)
{
	struct jval content = jval_get(result, "content"), structured = jval_get(result, "structuredContent"), v;
	size_t pos = 0, items = 0;

	while (jval_next(content, &pos, NULL, &v)) {
		TRY(buf_addz(text, items++ > 0 ? "\n\n" : "", err));
		TRY(add_item(text, v, err));
	}
	if (text->n == 0 && structured.type != JSCAN_NONE && structured.type != JSCAN_NULL)
		return jval_add(text, structured, NUL_REPLACE, err);
	return 0;
}

int mcp_result(struct jval result, struct buf *out, bool *failed, struct err *err)
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
	TRY(add_content(&text, result, err));
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
