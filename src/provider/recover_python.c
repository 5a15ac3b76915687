/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Calls spelled as Python in a ```tool_code fence. They are parsed and never executed: only calls with
 * keyword arguments that are literals count, in a list or inside one wrapper such as print(...). */
#include "provider/recover_priv.h"

#include "fmt/json.h"

#include <string.h>

#define NESTED_MAX 32
#define ARGS_MAX   ((size_t)16 * 1024 * 1024)

struct reader {
	struct str rest;
	struct recovery *r;
	size_t at, n;     /* the span of the fence */
	int depth;
};

static void skip_blanks(struct reader *p)
{
	while (p->rest.n > 0 && strchr(" \t\r\n", p->rest.p[0]))
		p->rest = str_skip(p->rest, 1);
}

static bool take_char(struct reader *p, char c)
{
	skip_blanks(p);
	if (p->rest.n == 0 || p->rest.p[0] != c)
		return false;
	p->rest = str_skip(p->rest, 1);
	return true;
}

static struct str take_name(struct reader *p)
{
	size_t n = 0;

	skip_blanks(p);
	while (n < p->rest.n) {
		char c = p->rest.p[n], low = (char)(c | 0x20);

		if (!((low >= 'a' && low <= 'z') || c == '_' || c == '.' || (n > 0 && c >= '0' && c <= '9')))
			break;
		n++;
	}
	struct str name = str_head(p->rest, n);
	p->rest = str_skip(p->rest, n);
	return name;
}

/* '...', "...", and both three times, with the escapes that JSON knows too; any other stays as written. */
static bool take_string(struct reader *p, struct buf *out)
{
	static const struct {
		char name, value;
	} escapes[] = { { 'n', '\n' }, { 't', '\t' }, { 'r', '\r' }, { '\\', '\\' }, { '\'', '\'' }, { '"', '"' } };
	char q = p->rest.p[0];
	char three[3] = { q, q, q };
	size_t len = str_starts(p->rest, str_of(three, 3)) ? 3 : 1;
	struct str close = str_of(three, len);

	p->rest = str_skip(p->rest, len);
	while (p->rest.n > 0 && !str_starts(p->rest, close)) {
		struct str piece = str_head(p->rest, 1);

		if (piece.p[0] == '\\' && p->rest.n > 1) {
			char name = p->rest.p[1];

			piece = str_head(p->rest, 2);
			p->rest = str_skip(p->rest, 2);
			for (size_t i = 0; i < COUNT(escapes); i++)
				if (name == escapes[i].name)
					piece = str_of(&escapes[i].value, 1);
		} else {
			p->rest = str_skip(p->rest, 1);
		}
		if (buf_add(out, piece, ERR_DISCARD) < 0)
			return false;
	}
	bool closed = str_starts(p->rest, close);
	p->rest = str_skip(p->rest, len);
	return closed;
}

static bool take_literal(struct reader *p, struct buf *out);

/* [a, b] or (a, b) as a JSON array, {"k": v} as an object. */
static bool take_group(struct reader *p, struct buf *out, char close, bool keyed)
{
	bool ok = buf_addc(out, keyed ? '{' : '[', ERR_DISCARD) == 0;

	p->rest = str_skip(p->rest, 1);
	for (size_t i = 0; ok && !take_char(p, close); i++) {
		if (i > 0 && (!take_char(p, ',') || buf_addc(out, ',', ERR_DISCARD) < 0))
			return false;
		if (i > 0 && take_char(p, close)) { /* a comma may end a group */
			buf_shrink(out, out->n - 1);
			break;
		}
		skip_blanks(p);
		if (keyed) {
			if (p->rest.n == 0 || !strchr("'\"", p->rest.p[0]) || !take_literal(p, out) || !take_char(p, ':') ||
				buf_addc(out, ':', ERR_DISCARD) < 0)
				return false;
		}
		ok = take_literal(p, out);
	}
	return ok && buf_addc(out, keyed ? '}' : ']', ERR_DISCARD) == 0;
}

static bool take_word(struct reader *p, struct buf *out)
{
	static const struct {
		const char *python, *json;
	} names[] = { { "True", "true" }, { "False", "false" }, { "None", "null" } };
	struct jval number = jval_head(p->rest);
	struct str word;

	if (number.type == JSCAN_NUMBER) {
		p->rest = str_skip(p->rest, (size_t)(number.text.p - p->rest.p) + number.text.n);
		return buf_add(out, number.text, ERR_DISCARD) == 0;
	}
	word = take_name(p);
	for (size_t i = 0; i < COUNT(names); i++)
		if (str_eqz(word, names[i].python))
			return buf_addz(out, names[i].json, ERR_DISCARD) == 0;
	return false;
}

static bool take_literal(struct reader *p, struct buf *out)
{
	auto_buf struct buf text = BUF_MAX(ARGS_MAX);
	bool ok = false;

	skip_blanks(p);
	if (p->rest.n == 0 || p->depth >= NESTED_MAX)
		return false;
	p->depth++;
	switch (p->rest.p[0]) {
	case '\'':
	case '"':
		ok = take_string(p, &text) && json_add_quoted(out, buf_str(&text), ERR_DISCARD) == 0;
		break;
	case '[':
		ok = take_group(p, out, ']', false);
		break;
	case '(':
		ok = take_group(p, out, ')', false);
		break;
	case '{':
		ok = take_group(p, out, '}', true);
		break;
	default:
		ok = take_word(p, out);
		break;
	}
	p->depth--;
	return ok;
}

static bool take_arguments(struct reader *p, struct buf *args)
{
	bool ok = buf_addc(args, '{', ERR_DISCARD) == 0;

	for (size_t i = 0; ok && !take_char(p, ')'); i++) {
		auto_buf struct buf value = BUF_MAX(ARGS_MAX);
		struct str key;

		if (i > 0 && !take_char(p, ','))
			return false;
		if (i > 0 && take_char(p, ')'))
			break;
		key = take_name(p);
		ok = key.n > 0 && take_char(p, '=') && take_literal(p, &value) &&
			recovery_member(args, key, buf_str(&value), ERR_DISCARD) == 0;
	}
	return ok && buf_addc(args, '}', ERR_DISCARD) == 0;
}

/* One call, a list of them, or one of either inside a wrapper that is no tool. */
static bool take_calls(struct reader *p, bool wrapped)
{
	bool list = take_char(p, '[') || take_char(p, '(');
	struct found_call *c;
	struct str name;

	if (list && p->depth >= NESTED_MAX)
		return false;
	if (list) {
		p->depth++;
		do {
			if (!take_calls(p, true))
				return false;
		} while (take_char(p, ','));
		p->depth--;
		return take_char(p, ']') || take_char(p, ')');
	}
	name = take_name(p);
	if (name.n == 0 || !take_char(p, '('))
		return false;
	if (recovery_schema(p->r, name).type == JSCAN_NONE)
		return !wrapped && take_calls(p, true) && take_char(p, ')');
	c = recovery_add(p->r, p->at, p->n, name);
	if (!c)
		return false;
	if (!take_arguments(p, &c->args))
		return false;
	p->n = 0; /* the first call takes the whole fence away */
	return true;
}

void recover_python(struct recovery *r, struct str text)
{
	static const struct str open = STR("```tool_code"), close = STR("```");
	size_t at = str_find(text, open), before = r->n;
	struct str rest = str_skip(text, at + open.n), body;
	struct reader p = { .r = r, .at = at };
	bool ok = true;

	if (at == text.n || (at > 0 && text.p[at - 1] != '\n'))
		return;
	body = str_head(rest, str_find(rest, close));
	p.n = (size_t)(rest.p - text.p) + body.n - at;
	p.n += str_starts(str_skip(text, at + p.n), close) ? close.n : 0;
	p.rest = body;
	for (skip_blanks(&p); ok && p.rest.n > 0; skip_blanks(&p))
		ok = take_calls(&p, false);
	while (!ok && r->n > before) /* half a program is none */
		recovery_drop_last(r);
}
