/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/conversation_priv.h"

#include "fmt/json.h"

#include <string.h>

#define FOREIGN STR("x_") /* block types that no wire invented: reasoning_details and the like */

struct conversation *conversation_new(void)
{
	struct conversation *c = mem_alloc(sizeof(*c));

	c->system = c->tools = c->wire_tools = c->made_for = BUF_MAX(CONVERSATION_TEXT_MAX);
	return c;
}

void message_fini(struct message *m)
{
	buf_fini(&m->text);
	buf_fini(&m->wire);
}

void conversation_free(struct conversation *c)
{
	if (!c)
		return;
	conversation_truncate(c, 0);
	vec_fini(c);
	buf_fini(&c->system);
	buf_fini(&c->tools);
	buf_fini(&c->wire_tools);
	buf_fini(&c->made_for);
	free(c);
}

int conversation_set_prompt(struct conversation *c, struct str system, struct str tools, struct err *err)
{
	auto_buf struct buf clean = BUF_MAX(CONVERSATION_TEXT_MAX);
	struct jval list = jval_from(tools), tool;
	size_t n = 0;

	for (size_t pos = 0; jval_next(list, &pos, NULL, &tool); n++)
		if (jval_get(tool, "name").type != JSCAN_STRING ||
			jval_get(tool, "input_schema").type != JSCAN_OBJECT)
			return err_set(err, ERR_INVALID, "tool %zu has no name or no input_schema", n + 1);
	if (tools.n > 0 && list.type != JSCAN_ARRAY)
		return err_set(err, ERR_INVALID, "the tools are not a JSON array");
	if (n > 0)
		TRY(jval_add(&clean, list, NUL_REPLACE, err));
	buf_clear(&c->made_for); /* all wire texts are made again */
	buf_clear(&c->system);
	TRY(buf_add_utf8(&c->system, system, err));
	buf_clear(&c->tools);
	return buf_add(&c->tools, buf_str(&clean), err);
}

/* An id or a name that Anthropic would refuse; other servers are less strict. */
static bool is_plain_id(struct jval v)
{
	for (size_t i = 1; i + 1 < v.text.n; i++) {
		char c = v.text.p[i], low = (char)(c | 0x20);

		if (!((c >= '0' && c <= '9') || (low >= 'a' && low <= 'z') || c == '_' || c == '-'))
			return false;
	}
	return v.type == JSCAN_STRING && v.text.n > 2;
}

/* The members that decide anything, read in one walk. */
enum { B_TYPE, B_TEXT, B_ID, B_NAME, B_INPUT, B_RESULT_FOR, B_SIGNATURE, B_EXTRA, B_PHASE, B_SOURCE, B_COUNT };

static const char *const block_keys[B_COUNT] = { [B_TYPE] = "type",
	[B_TEXT] = "text",
	[B_ID] = "id",
	[B_NAME] = "name",
	[B_INPUT] = "input",
	[B_RESULT_FOR] = "tool_use_id",
	[B_SIGNATURE] = "signature",
	[B_EXTRA] = "extra_content",
	[B_PHASE] = "x_phase",
	[B_SOURCE] = "source" };

struct block {
	struct jval whole, is[B_COUNT];
};

struct blocks {
	VEC(struct block);
};

static void blocks_fini(struct blocks *l)
{
	vec_fini(l);
}

static int check_call(struct message *m, const struct jval *is, struct err *err)
{
	if (is[B_ID].type != JSCAN_STRING || is[B_NAME].type != JSCAN_STRING ||
		is[B_INPUT].type != JSCAN_OBJECT)
		return err_set(err, ERR_INVALID, "a tool_use block needs id, name and an input object");
	m->has_calls = true;
	if (!is_plain_id(is[B_ID]) || is[B_EXTRA].type != JSCAN_NONE)
		m->is_mixed = true;
	return 0;
}

/* What the wires copy of it is looked at here. */
static int check_picture(struct message *m, struct jval source, struct err *err)
{
	struct jval data = jval_get(source, "data");

	if (!jval_is(jval_get(source, "type"), "base64") || jval_get(source, "media_type").type != JSCAN_STRING || data.type != JSCAN_STRING)
		return err_set(err, ERR_INVALID, "an image block needs a source of base64 with media_type and data");
	m->pictures++;
	m->unweighed += data.text.n > PICTURE_BYTES ? data.text.n - PICTURE_BYTES : 0;
	return 0;
}

static int note_block(struct message *m, const struct jval *is, struct err *err)
{
	bool thinking = jval_is(is[B_TYPE], "thinking");

	if (is[B_TYPE].type != JSCAN_STRING)
		return err_set(err, ERR_INVALID, "a block of a message has no type");
	if (jval_is(is[B_TYPE], "text"))
		m->has_text = true;
	if (m->is_user) {
		bool result = jval_is(is[B_TYPE], "tool_result");

		if (result && is[B_RESULT_FOR].type != JSCAN_STRING)
			return err_set(err, ERR_INVALID, "a tool_result block needs a tool_use_id");
		m->is_mixed = m->is_mixed || (result && !is_plain_id(is[B_RESULT_FOR]));
		return jval_is(is[B_TYPE], "image") ? check_picture(m, is[B_SOURCE], err) : 0;
	}
	if (jval_is(is[B_TYPE], "tool_use"))
		TRY(check_call(m, is, err));
	if (thinking || jval_is(is[B_TYPE], "redacted_thinking"))
		m->has_thinking = true;
	if ((thinking && is[B_SIGNATURE].type != JSCAN_STRING) || is[B_PHASE].type != JSCAN_NONE ||
		str_starts(str_skip(is[B_TYPE].text, 1), FOREIGN))
		m->is_mixed = true;
	return 0;
}

static bool is_blank_text(const struct jval *is)
{
	return jval_is(is[B_TYPE], "text") && (is[B_TEXT].type != JSCAN_STRING || is[B_TEXT].text.n == 2);
}

/* Copies the blocks of one pass: results are in front of everything else in a user's message. */
static int add_blocks(struct message *m, const struct blocks *list, bool results, size_t *n, struct err *err)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct block *b = &list->p[i];
		bool is_result = m->is_user && jval_is(b->is[B_TYPE], "tool_result");

		if (is_result != results || is_blank_text(b->is))
			continue;
		TRY(note_block(m, b->is, err));
		if ((*n)++ > 0)
			TRY(buf_addc(&m->text, ',', err));
		TRY(jval_add(&m->text, b->whole, NUL_REPLACE, err));
	}
	return 0;
}

static int make(struct message *m, struct jval v, struct err *err)
{
	enum { ROLE, FROM, CONTENT, MEMBERS };
	static const char *const keys[MEMBERS] = { [ROLE] = "role", [FROM] = "from", [CONTENT] = "content" };
	CLEANUP(blocks_fini) struct blocks list = { 0 };
	struct jval is[MEMBERS], block;
	size_t n = 0;

	jval_pick(v, keys, MEMBERS, is);
	m->is_user = jval_is(is[ROLE], "user");
	if (!m->is_user && !jval_is(is[ROLE], "assistant"))
		return err_set(
			err, ERR_INVALID, "a message is not an object with the role user or assistant");
	TRY(buf_reserve(&m->text, v.text.n, err)); /* more is needed only where something is spelt anew */
	TRY(buf_add(&m->text, m->is_user ? STR("{\"role\":\"user\",") : STR("{\"role\":\"assistant\","), err));
	if (!m->is_user && is[FROM].type == JSCAN_STRING) {
		size_t at;

		TRY(buf_add(&m->text, STR("\"from\":"), err));
		at = m->text.n;
		TRY(jval_add(&m->text, is[FROM], NUL_REPLACE, err));
		m->from.n = m->text.n - at;
		TRY(buf_addc(&m->text, ',', err));
	}
	TRY(buf_add(&m->text, STR("\"content\":"), err));
	m->content = m->text.n;
	TRY(buf_addc(&m->text, '[', err));
	if (is[CONTENT].type == JSCAN_STRING && is[CONTENT].text.n > 2) {
		TRY(buf_add(&m->text, STR("{\"type\":\"text\",\"text\":"), err));
		TRY(jval_add(&m->text, is[CONTENT], NUL_REPLACE, err));
		TRY(buf_addc(&m->text, '}', err));
		m->has_text = true;
		n = 1;
	}
	for (size_t pos = 0; jval_next(is[CONTENT], &pos, NULL, &block);) {
		struct block *b = vec_new(&list);

		b->whole = block;
		jval_pick(block, block_keys, B_COUNT, b->is);
	}
	TRY(add_blocks(m, &list, true, &n, err));
	TRY(add_blocks(m, &list, false, &n, err));
	if (n == 0)
		return err_set(err, ERR_INVALID, "a message without content");
	return buf_add(&m->text, STR("]}"), err);
}

int message_make(struct message *m, struct str text, struct err *err)
{
	int r;

	*m = (struct message){ .text = BUF_MAX(CONVERSATION_TEXT_MAX),
		.wire = BUF_MAX(2 * CONVERSATION_TEXT_MAX) };
	r = make(m, jval_from(text), err);
	if (r < 0)
		message_fini(m);
	else if (m->from.n > 0) /* `from` stands right before the content's key */
		m->from.p = m->text.p + m->content - strlen(",\"content\":") - m->from.n;
	return r;
}

struct jval message_content(const struct message *m)
{
	return (struct jval){ JSCAN_ARRAY, str_of(m->text.p + m->content, m->text.n - m->content - 1) };
}

struct jval conversation_content(const struct conversation *c, size_t i)
{
	BUG_IF(i >= c->n);
	return message_content(&c->p[i]);
}

static void weigh(struct conversation *c, const struct message *m, bool comes)
{
	size_t weight = m->text.n - m->unweighed;

	c->bytes = comes ? c->bytes + weight : c->bytes - weight;
	c->pictures = comes ? c->pictures + m->pictures : c->pictures - m->pictures;
	c->unweighed = comes ? c->unweighed + m->unweighed : c->unweighed - m->unweighed;
}

int conversation_add(struct conversation *c, struct str text, struct err *err)
{
	struct message m;

	TRY(message_make(&m, text, err));
	*(struct message *)vec_new(c) = m;
	weigh(c, &m, true);
	return 0;
}

int conversation_replace(struct conversation *c, size_t i, struct str message, struct err *err)
{
	struct message m;

	BUG_IF(i >= c->n);
	TRY(message_make(&m, message, err));
	weigh(c, &c->p[i], false);
	weigh(c, &m, true);
	message_fini(&c->p[i]);
	c->p[i] = m;
	return 0;
}

/* {"type":"text","text":...} */
static int add_text(struct buf *out, struct str text, struct err *err)
{
	auto_buf struct buf clean = BUF_MAX(CONVERSATION_TEXT_MAX);

	TRY(buf_add_utf8(&clean, text, err));
	TRY(buf_add(out, STR("{\"type\":\"text\",\"text\":"), err));
	TRY(json_add_quoted(out, buf_str(&clean), err));
	return buf_addc(out, '}', err);
}

int conversation_append(struct conversation *c, struct str text, struct err *err)
{
	auto_buf struct buf whole = BUF_MAX(CONVERSATION_TEXT_MAX);
	const struct message *last = &c->p[c->n - 1];

	BUG_IF(c->n == 0 || !last->is_user);
	TRY(buf_add(&whole, str_head(buf_str(&last->text), last->text.n - 2), err)); /* without "]}" */
	TRY(buf_addc(&whole, ',', err));
	TRY(add_text(&whole, text, err));
	TRY(buf_addz(&whole, "]}", err));
	return conversation_replace(c, c->n - 1, buf_str(&whole), err);
}

int conversation_add_user(struct conversation *c, struct str text, struct err *err)
{
	return conversation_add_results(c, NULL, 0, &text, 1, err);
}

static int add_result(struct buf *out, const struct call_result *o, struct err *err)
{
	auto_buf struct buf clean = BUF_MAX(CONVERSATION_TEXT_MAX);

	TRY(buf_add_utf8(&clean, o->is_error && o->text.n == 0 ? STR("error") : o->text, err));
	TRY(buf_add(out, STR("{\"type\":\"tool_result\",\"tool_use_id\":"), err));
	TRY(json_add_quoted(out, o->call_id, err));
	TRY(buf_add(out, STR(",\"content\":"), err));
	TRY(json_add_quoted(out, buf_str(&clean), err));
	return buf_addz(out, o->is_error ? ",\"is_error\":true}" : "}", err);
}

int message_add_interrupted(struct buf *out, struct str call_id, struct err *err)
{
	struct call_result o = { .call_id = call_id,
		.is_error = true,
		.text = STR("interrupted: this call did not finish, its effects are unknown") };

	if (out->n > 0 && out->p[out->n - 1] == '}')
		TRY(buf_addc(out, ',', err));
	return add_result(out, &o, err);
}

static int add_picture(struct buf *out, const struct picture *p, struct err *err)
{
	TRY(buf_addc(out, ',', err));
	TRY(add_text(out, p->label, err));
	TRY(buf_add(out, STR(",{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":"), err));
	TRY(json_add_quoted(out, p->type, err));
	TRY(buf_add(out, STR(",\"data\":"), err));
	TRY(json_add_quoted(out, p->data, err));
	return buf_addz(out, "}}", err);
}

int conversation_add_results(struct conversation *c, const struct call_result *results, size_t nresults,
	const struct str *notices, size_t nnotices, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(CONVERSATION_TEXT_MAX);
	size_t n = 0;

	TRY(buf_add(&text, STR("{\"role\":\"user\",\"content\":["), err));
	for (size_t i = 0; i < nresults; i++) {
		if (n++ > 0)
			TRY(buf_addc(&text, ',', err));
		TRY(add_result(&text, &results[i], err));
	}
	for (size_t i = 0; i < nresults; i++)
		for (size_t k = 0; k < results[i].npictures; k++)
			TRY(add_picture(&text, &results[i].pictures[k], err));
	for (size_t i = 0; i < nnotices; i++) {
		if (notices[i].n == 0)
			continue;
		if (n++ > 0)
			TRY(buf_addc(&text, ',', err));
		TRY(add_text(&text, notices[i], err));
	}
	TRY(buf_add(&text, STR("]}"), err));
	return conversation_add(c, buf_str(&text), err);
}

size_t conversation_count(const struct conversation *c)
{
	return c->n;
}

struct str conversation_get(const struct conversation *c, size_t i)
{
	BUG_IF(i >= c->n);
	return buf_str(&c->p[i].text);
}

size_t conversation_bytes(const struct conversation *c)
{
	return c->bytes;
}

size_t conversation_pictures(const struct conversation *c)
{
	return c->pictures;
}

size_t conversation_unweighed(const struct conversation *c)
{
	return c->unweighed;
}

size_t conversation_total(const struct conversation *c)
{
	return c->bytes + c->system.n + c->tools.n;
}

bool conversation_is_user(const struct conversation *c, size_t i)
{
	BUG_IF(i >= c->n);
	return c->p[i].is_user;
}

bool conversation_has_open_calls(const struct conversation *c)
{
	return c->n > 0 && c->p[c->n - 1].has_calls;
}

void conversation_truncate(struct conversation *c, size_t n)
{
	while (c->n > n) {
		struct message *m = &c->p[--c->n];

		weigh(c, m, false);
		message_fini(m);
	}
}
