/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/recover_priv.h"
#include "provider/reply_priv.h"

#include "fmt/json.h"

#include <string.h>

#define CALLS_MAX  64
#define BLANKS_MAX 64  /* blanks before a call go with it; more are content */
#define TRIES_MAX  256 /* openings looked at: each may cost a walk through the text */
#define PARAMS_MAX 64  /* of one call: each may cost another */

/* What may begin a call. Until a text is complete it is not shown from there on. */
static const struct {
	struct str text;
	bool first_only; /* only where the whole text begins with it */
} markers[] = {
	{ STR("<tool_call"), false },
	{ STR("<function="), false },
	{ STR("[TOOL_CALLS]"), false },
	{ STR("```tool_code"), false },
	{ STR("```"), true },
	{ STR("{"), true },
};

static bool begins_line(struct str text, size_t at)
{
	while (at > 0 && (text.p[at - 1] == ' ' || text.p[at - 1] == '\t'))
		at--;
	return at == 0 || text.p[at - 1] == '\n';
}

static size_t skip_blanks(struct str text, size_t at)
{
	while (at < text.n && strchr(" \t\r\n", text.p[at]))
		at++;
	return at;
}

/* Does the text from here on begin with what may be a call? */
static bool begins_call(struct str text, size_t at)
{
	for (size_t i = 0; i < COUNT(markers); i++)
		if (str_starts(str_skip(text, at), markers[i].text) &&
			(markers[i].first_only ? at == skip_blanks(text, 0) : begins_line(text, at)))
			return true;
	return false;
}

/* Offset of the first marker in the text from `from` on, also of one that only begins at the end. */
static size_t find_marker(struct str text, size_t from, struct str m)
{
	for (size_t at = from; (at += str_find(str_skip(text, at), m)) < text.n; at++)
		if (begins_line(text, at))
			return at;
	for (size_t n = m.n - 1; n > 0; n--)
		if (n <= text.n - from && str_eq(str_tail(text, n), str_head(m, n)))
			return text.n - n;
	return text.n;
}

size_t reply_recover_showable(struct str text, size_t from)
{
	size_t limit = text.n, blanks = 0;

	if (begins_call(text, skip_blanks(text, from))) /* held back already: not searched again with each piece */
		return from;
	for (size_t i = 0; i < COUNT(markers); i++) {
		size_t at = markers[i].first_only ? text.n : find_marker(text, from, markers[i].text);

		limit = at < limit ? at : limit;
	}
	while (limit - blanks > from && blanks < BLANKS_MAX && strchr(" \t\r\n", text.p[limit - blanks - 1]))
		blanks++;
	return blanks < BLANKS_MAX ? limit - blanks : limit;
}

struct jval recovery_schema(const struct recovery *r, struct str name)
{
	struct jval tool;

	for (size_t pos = 0; jval_next(r->tools, &pos, NULL, &tool);) {
		auto_buf struct buf offered = BUF_MAX(256);

		if (jval_add_text(&offered, jval_get(tool, "name"), NUL_KEEP, ERR_DISCARD) == 0 && name.n > 0 &&
			str_eq(buf_str(&offered), name))
			return jval_get(tool, "input_schema");
	}
	return (struct jval){ 0 };
}

struct found_call *recovery_add(struct recovery *r, size_t at, size_t n, struct str name)
{
	struct found_call *c;

	if (r->n == CALLS_MAX || recovery_schema(r, name).type == JSCAN_NONE)
		return NULL;
	c = vec_new(r);
	*c = (struct found_call){ .at = at, .n = n, .name = BUF_MAX(256), .args = BUF_MAX(2 * REPLY_BYTES_MAX) };
	BUG_IF(buf_add(&c->name, name, ERR_DISCARD) < 0); /* as long as the one that was offered */
	return c;
}

void recovery_drop_last(struct recovery *r)
{
	buf_fini(&r->p[r->n - 1].name);
	buf_fini(&r->p[r->n - 1].args);
	r->n--;
}

int recovery_member(struct buf *args, struct str key, struct str json, struct err *err)
{
	if (args->n > 1)
		TRY(buf_addc(args, ',', err));
	TRY(json_add_quoted(args, key, err));
	TRY(buf_addc(args, ':', err));
	return buf_add(args, json, err);
}

/* {"name":...,"arguments"|"parameters"|"input":{...}}, the arguments also as text or missing. */
static bool read_json_call(struct recovery *r, struct jval v, size_t at, size_t n)
{
	static const char *const keys[] = { "arguments", "parameters", "input" };
	auto_buf struct buf name = BUF_MAX(256), inner = BUF_MAX(2 * REPLY_BYTES_MAX);
	struct jval args = { 0 };
	struct found_call *c;
	int ok;

	if (jval_get(v, "function").type == JSCAN_OBJECT)
		v = jval_get(v, "function");
	if (jval_add_text(&name, jval_get(v, "name"), NUL_KEEP, ERR_DISCARD) < 0)
		return false;
	for (size_t i = 0; i < COUNT(keys) && args.type == JSCAN_NONE; i++)
		args = jval_get(v, keys[i]);
	if (args.type == JSCAN_STRING && jval_add_text(&inner, args, NUL_KEEP, ERR_DISCARD) == 0) {
		jtext_repair(&inner, 0);
		args = jval_from(buf_str(&inner));
		if (args.type != JSCAN_OBJECT)
			return false;
	}
	if (args.type != JSCAN_NONE && args.type != JSCAN_OBJECT)
		return false;
	c = recovery_add(r, at, n, buf_str(&name));
	if (!c)
		return false;
	ok = args.type == JSCAN_NONE ? buf_add(&c->args, STR("{}"), ERR_DISCARD)
				     : jval_add(&c->args, args, NUL_KEEP, ERR_DISCARD);
	if (ok < 0)
		recovery_drop_last(r);
	return ok >= 0;
}

/* <tool_call>{...}</tool_call>, any number; a broken one stays in the text. */
static void read_tagged(struct recovery *r, struct str text)
{
	static const struct str open = STR("<tool_call>"), close = STR("</tool_call>");

	for (size_t from = 0, tries = 0; from < text.n && tries < TRIES_MAX; tries++) {
		size_t at = from + str_find(str_skip(text, from), open);
		struct jval v;
		size_t end;

		if (at >= text.n)
			return;
		v = jval_head(str_skip(text, at + open.n));
		from = at + open.n;
		if (v.type != JSCAN_OBJECT || !begins_line(text, at))
			continue;
		end = (size_t)(v.text.p - text.p) + v.text.n;
		struct str after = str_skip(text, end);
		size_t blank = (size_t)(str_trim(after).n > 0 ? str_trim(after).p - after.p : 0);

		if (str_starts(str_skip(after, blank), close))
			end += blank + close.n;
		if (read_json_call(r, v, at, end - at))
			from = end;
	}
}

/* [TOOL_CALLS][{...},{...}] */
static void read_mistral(struct recovery *r, struct str text)
{
	static const struct str mark = STR("[TOOL_CALLS]");
	size_t at = str_find(text, mark);
	struct jval list, v;

	if (at == text.n || !begins_line(text, at))
		return;
	list = jval_head(str_skip(text, at + mark.n));
	size_t n = list.type == JSCAN_ARRAY ? (size_t)(list.text.p - text.p) + list.text.n - at : 0;

	for (size_t pos = 0; list.type == JSCAN_ARRAY && jval_next(list, &pos, NULL, &v);)
		if (read_json_call(r, v, at, n))
			n = 0; /* the first takes the whole span away */
}

/* The whole text is one call object, bare or in a fence. */
static void read_bare(struct recovery *r, struct str text)
{
	struct str t = str_trim(text);

	if (str_starts(t, STR("```")) && str_ends(t, STR("```")) && t.n > 6) {
		t = str_head(t, t.n - 3);
		str_line(&t);
	}
	if (jval_from(t).type == JSCAN_OBJECT)
		read_json_call(r, jval_from(t), 0, text.n);
}

/* A value between parameter tags as the schema declares it; what does not fit stays a string. */
static int add_value(struct buf *out, struct jval declared, struct str text, struct err *err)
{
	struct jval type = jval_get(declared, "type"), v = jval_from(text);
	struct str word = str_trim(text);
	bool typed = type.type == JSCAN_STRING, take = false;

	if (typed && jval_is(type, "boolean")) {
		bool yes = str_eq(word, STR("true")) || str_eq(word, STR("True")) || str_eq(word, STR("1")) ||
			str_eq(word, STR("yes"));

		return buf_addz(out, yes ? "true" : "false", err);
	}
	if (typed && (jval_is(type, "integer") || jval_is(type, "number")))
		take = v.type == JSCAN_NUMBER;
	else if (typed && jval_is(type, "array"))
		take = v.type == JSCAN_ARRAY;
	else if (typed && jval_is(type, "object"))
		take = v.type == JSCAN_OBJECT;
	else if (!typed)
		take = v.type == JSCAN_ARRAY || v.type == JSCAN_OBJECT;
	return take ? jval_add(out, v, NUL_KEEP, err) : json_add_quoted(out, text, err);
}

static size_t first_of(struct str s, const char *const *needles)
{
	size_t least = s.n;

	for (; *needles; needles++) {
		size_t at = str_find(s, str_from(*needles));

		least = at < least ? at : least;
	}
	return least;
}

static struct jval property(struct jval schema, struct str key)
{
	struct jval props = jval_get(schema, "properties"), k, v;

	for (size_t pos = 0; jval_next(props, &pos, &k, &v);) {
		auto_buf struct buf name = BUF_MAX(1024);

		if (jval_add_text(&name, k, NUL_KEEP, ERR_DISCARD) == 0 && str_eq(buf_str(&name), key))
			return v;
	}
	return (struct jval){ 0 };
}

static int read_parameters(struct buf *args, struct jval schema, struct str body, struct err *err)
{
	static const struct str open = STR("<parameter=");
	static const char *const ends[] = { "</parameter>", "<parameter=", NULL };

	TRY(buf_addc(args, '{', err));
	for (size_t at, n = 0; (at = str_find(body, open)) < body.n; n++) {
		auto_buf struct buf value = BUF_MAX(2 * REPLY_BYTES_MAX);
		struct str key, text;

		if (n == PARAMS_MAX)
			return err_set(err, ERR_LIMIT, "more than %d parameters", PARAMS_MAX);
		body = str_skip(body, at + open.n);
		key = str_trim(str_cut(&body, '>'));
		text = str_head(body, first_of(body, ends));
		body = str_skip(body, text.n);
		text = str_trim_suffix(str_trim_prefix(text, STR("\n")), STR("\n")); /* frame, not content */
		TRY(add_value(&value, property(schema, key), text, err));
		TRY(recovery_member(args, key, buf_str(&value), err));
	}
	return buf_addc(args, '}', err);
}

/* <function=NAME> then <parameter=KEY>VALUE</parameter> or a JSON object, then </function>; closing
 * tags may be missing, and a <tool_call> may stand around it. */
static void read_functions(struct recovery *r, struct str text)
{
	static const struct str open = STR("<function="), outer = STR("<tool_call>");
	static const char *const ends[] = { "</function>", "</tool_call>", "<function=", NULL };

	for (size_t from = 0, tries = 0; from < text.n && tries < TRIES_MAX; tries++) {
		size_t at = from + str_find(str_skip(text, from), open), end;
		/* What stands in front, up to the call before: two spans never overlap. */
		struct str before = str_head(str_skip(text, from), at - from);
		struct str rest = str_skip(text, at + open.n), name, body;
		struct found_call *c;
		struct jval v;

		if (at >= text.n)
			return;
		name = str_trim(str_cut(&rest, '>'));
		body = str_head(rest, first_of(rest, ends));
		end = (size_t)(rest.p - text.p) + body.n;
		from = end > at + open.n ? end : at + open.n;
		if (str_ends(str_trim(before), outer))
			at = (size_t)(str_trim(before).p - text.p) + str_trim(before).n - outer.n;
		if (str_starts(str_skip(text, end), STR("</function>")))
			end += sizeof("</function>") - 1;
		rest = str_trim(str_skip(text, end));
		if (str_starts(rest, STR("</tool_call>")))
			end = (size_t)(rest.p - text.p) + sizeof("</tool_call>") - 1;
		c = begins_line(text, at) ? recovery_add(r, at, end - at, name) : NULL;
		if (!c)
			continue;
		v = jval_from(body);
		if ((v.type == JSCAN_OBJECT ? jval_add(&c->args, v, NUL_KEEP, ERR_DISCARD)
					    : read_parameters(&c->args, recovery_schema(r, name), body, ERR_DISCARD)) < 0)
			recovery_drop_last(r);
		from = end;
	}
}

/* A model may quote such syntax in an answer. It means a call only where the answer ends with it. */
static bool ends_with_calls(const struct recovery *r, struct str text)
{
	size_t end = 0;

	for (size_t i = 0; i < r->n; i++)
		end = r->p[i].at + r->p[i].n > end ? r->p[i].at + r->p[i].n : end;
	text = str_trim(str_skip(text, end));
	return text.n == 0 || str_starts(text, STR("<tool_call>"));
}

static void recovery_fini(struct recovery *r)
{
	while (r->n > 0)
		recovery_drop_last(r);
	vec_fini(r);
}

/* Takes the spans out of the text, last one first so that the others stay where they are. */
static void cut_spans(struct block *text, const struct recovery *r)
{
	size_t n;

	for (size_t i = r->n; i > 0; i--)
		BUG_IF(buf_splice(&text->text, r->p[i - 1].at, r->p[i - 1].n, STR(""), ERR_DISCARD) < 0);
	for (n = text->text.n; n > text->shown && strchr(" \t\r\n", text->text.p[n - 1]); n--)
		; /* blanks that separated text and call, and that nobody saw */
	buf_shrink(&text->text, n);
}

void reply_recover(struct reply_stream *s, struct block *text)
{
	static void (*const readers[])(struct recovery *r, struct str text) = { read_functions, recover_python,
		read_tagged, read_mistral, read_bare };
	CLEANUP(recovery_fini) struct recovery r = { .tools = jval_from(s->tools) };

	for (size_t i = 0; i < COUNT(readers) && r.n == 0; i++) {
		readers[i](&r, buf_str(&text->text));
		if (!ends_with_calls(&r, buf_str(&text->text)))
			recovery_fini(&r);
	}
	if (r.n == 0)
		return;
	cut_spans(text, &r); /* before blocks are added: they move */
	for (size_t i = 0; i < r.n; i++) {
		struct block *b = reply_block_new(s, BLOCK_CALL);

		if (!b || buf_add(&b->name, buf_str(&r.p[i].name), ERR_DISCARD) < 0 ||
			buf_add(&b->text, buf_str(&r.p[i].args), ERR_DISCARD) < 0)
			return;
		b->recovered = true;
	}
}
