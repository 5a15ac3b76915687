/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* gist: what is left of a tool result that was set aside: its short members, the head and tail of its long
 * ones. It is made here and not by a model: it costs nothing, is always the same, and nobody can talk into it. */
#include "agent/context_priv.h"
#include "fmt/json.h"

#define MARK       "{\"elided\":"
#define GIST_MIN   2000 /* a shorter result is not worth one */
#define GIST_MAX   400
#define SHORT_MAX  80
#define HEAD_BYTES 110
#define TAIL_BYTES 60
#define RESULT_MAX ((size_t)16 * 1024 * 1024)

bool gist_is(struct str content)
{
	return str_starts(content, STR(MARK));
}

bool gist_is_bare(struct str content)
{
	return gist_is(content) && str_find(content, STR("\",\"")) == content.n;
}

static int add_string(struct buf *out, struct jval v, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(RESULT_MAX), clip = BUF_MAX(1024);
	struct str s;

	TRY(jval_add_text(&text, v, NUL_REPLACE, err));
	s = buf_str(&text);
	if (s.n > SHORT_MAX)
		TRY(buf_add_clipped(&clip, s, HEAD_BYTES, TAIL_BYTES, err));
	return json_add_quoted(out, clip.n > 0 ? buf_str(&clip) : s, err);
}

static int add_count(struct buf *out, struct jval list, struct err *err)
{
	struct jval entry;
	size_t n = 0;

	for (size_t pos = 0; jval_next(list, &pos, NULL, &entry);)
		n++;
	return buf_addf(out, err, "\"%zu entries\"", n);
}

static int add_member(struct buf *out, struct jval key, struct jval v, struct err *err)
{
	TRY(buf_addc(out, ',', err));
	TRY(jval_add(out, key, NUL_REPLACE, err));
	TRY(buf_addc(out, ':', err));
	if (v.type == JSCAN_STRING)
		return add_string(out, v, err);
	if (v.type == JSCAN_ARRAY)
		return add_count(out, v, err);
	return v.type == JSCAN_OBJECT ? buf_addz(out, "\"...\"", err) : jval_add(out, v, NUL_REPLACE, err);
}

int gist_write(struct buf *out, struct str text, bool with_gist, struct err *err)
{
	struct jval result = jval_from(text), key, value;

	TRY(buf_addf(out, err, MARK "\"%zu bytes set aside; call again to see them\"", text.n));
	if (with_gist && text.n >= GIST_MIN && result.type == JSCAN_OBJECT)
		for (size_t pos = 0; out->n < GIST_MAX && jval_next(result, &pos, &key, &value);) {
			size_t before = out->n;

			if (jval_is(key, "elided"))
				continue;
			TRY(add_member(out, key, value, err));
			if (out->n > 2 * GIST_MAX) /* an endless key, or escapes that grew */
				buf_shrink(out, before);
		}
	return buf_addc(out, '}', err);
}
