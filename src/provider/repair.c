/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/conversation_priv.h"

#include "fmt/json.h"

struct repair {
	struct { VEC(struct message); } list; /* owned; what the conversation becomes */
	size_t changes, first;
};

struct ids {
	VEC(struct jval);
};

static void ids_fini(struct ids *ids)
{
	vec_fini(ids);
}

/* The ids that a message calls or answers, as JSON strings in its text. */
static void collect(const struct message *m, const char *type, const char *member, struct ids *out)
{
	const char *const keys[] = { "type", member };
	struct jval content = message_content(m), block, is[COUNT(keys)];

	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);) {
		jval_pick(block, keys, COUNT(keys), is);
		if (jval_is(is[0], type))
			*(struct jval *)vec_new(out) = is[1];
	}
}

static bool same(struct jval a, struct jval b) /* both were written by us: equal ids have equal spelling */
{
	return str_eq(a.text, b.text);
}

static void note_change(struct repair *r)
{
	if (r->changes++ == 0)
		r->first = r->list.n;
}

static int keep_new(struct repair *r, const struct buf *content, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(CONVERSATION_TEXT_MAX);
	struct message m;

	note_change(r);
	TRY(buf_addf(&text, err, "{\"role\":\"user\",\"content\":["));
	TRY(buf_add(&text, buf_str(content), err));
	TRY(buf_add(&text, STR("]}"), err));
	TRY(message_make(&m, buf_str(&text), err));
	*(struct message *)vec_new(&r->list) = m;
	return 0;
}

static int add_interrupted(struct buf *out, struct jval id, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(id.text.n);

	TRY(jval_add_text(&text, id, NUL_REPLACE, err));
	return message_add_interrupted(out, buf_str(&text), err);
}

/* The calls that wait for results; the newest message that was kept is the one that made them. */
static int open_calls(const struct repair *r, struct ids *out)
{
	if (r->list.n > 0 && r->list.p[r->list.n - 1].has_calls)
		collect(&r->list.p[r->list.n - 1], "tool_use", "id", out);
	return (int)out->n;
}

static int close_calls(struct repair *r, struct err *err)
{
	CLEANUP(ids_fini) struct ids open = { 0 };
	auto_buf struct buf content = BUF_MAX(CONVERSATION_TEXT_MAX);

	if (open_calls(r, &open) == 0)
		return 0;
	for (size_t i = 0; i < open.n; i++)
		TRY(add_interrupted(&content, open.p[i], err));
	return keep_new(r, &content, err);
}

static bool answers(const struct ids *open, const struct ids *results)
{
	if (open->n != results->n)
		return false;
	for (size_t i = 0; i < open->n; i++) {
		size_t hits = 0;

		for (size_t k = 0; k < results->n; k++)
			hits += same(open->p[i], results->p[k]);
		if (hits != 1)
			return false;
	}
	return true;
}

static int add_block(struct buf *out, struct jval block, struct err *err)
{
	if (out->n > 0)
		TRY(buf_addc(out, ',', err));
	return buf_add(out, block.text, err);
}

static struct jval result_for(const struct message *m, struct jval id)
{
	struct jval content = message_content(m), block;

	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);)
		if (jval_is(jval_get(block, "type"), "tool_result") && same(jval_get(block, "tool_use_id"), id))
			return block;
	return (struct jval){ 0 };
}

/* A result for each open call, none for others, then what else the message says. */
static int rebuild(struct repair *r, const struct message *m, const struct ids *open, struct err *err)
{
	auto_buf struct buf content = BUF_MAX(CONVERSATION_TEXT_MAX);
	struct jval blocks = message_content(m), block;

	for (size_t i = 0; i < open->n; i++) {
		block = result_for(m, open->p[i]);
		if (block.type == JSCAN_OBJECT)
			TRY(add_block(&content, block, err));
		else
			TRY(add_interrupted(&content, open->p[i], err));
	}
	for (size_t pos = 0; jval_next(blocks, &pos, NULL, &block);)
		if (!jval_is(jval_get(block, "type"), "tool_result"))
			TRY(add_block(&content, block, err));
	if (content.n > 0)
		return keep_new(r, &content, err);
	note_change(r);
	return 0;
}

static int take_message(struct repair *r, struct message *m, struct err *err)
{
	CLEANUP(ids_fini) struct ids open = { 0 }, results = { 0 };
	auto_buf struct buf first = BUF_MAX(64);

	if (!m->is_user) {
		TRY(close_calls(r, err));
		if (r->list.n == 0) {
			TRY(buf_addz(&first, "{\"type\":\"text\",\"text\":\"Continue.\"}", err));
			TRY(keep_new(r, &first, err));
		}
	} else {
		open_calls(r, &open);
		collect(m, "tool_result", "tool_use_id", &results);
		if (!answers(&open, &results))
			return rebuild(r, m, &open, err);
	}
	*(struct message *)vec_new(&r->list) = *m;
	*m = (struct message){ .text = BUF_MAX(0), .wire = BUF_MAX(0) };
	return 0;
}

static void repair_fini(struct repair *r)
{
	for (size_t i = 0; i < r->list.n; i++)
		message_fini(&r->list.p[i]);
	vec_fini(&r->list);
}

int conversation_repair(struct conversation *c, size_t *first_changed, struct err *err)
{
	CLEANUP(repair_fini) struct repair r = { 0 };

	for (size_t i = 0; i < c->n; i++)
		TRY(take_message(&r, &c->p[i], err));
	TRY(close_calls(&r, err));
	conversation_truncate(c, 0);
	vec_fini(c);
	c->bytes = 0; /* of the texts that moved to the new list too */
	c->p = r.list.p;
	c->n = r.list.n;
	c->cap = r.list.cap;
	for (size_t i = 0; i < c->n; i++)
		c->bytes += c->p[i].text.n;
	r.list.p = NULL;
	r.list.n = r.list.cap = 0;
	*first_changed = r.changes > 0 ? r.first : c->n;
	return (int)r.changes;
}
