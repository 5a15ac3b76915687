/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "view/transcript.h"

#include "fmt/jscan.h"
#include "session/record.h"
#include "session/talk.h"

static const char *const words[] = {
	[TRANSCRIPT_PERSON] = "person", [TRANSCRIPT_MODEL] = "model", [TRANSCRIPT_THINKING] = "thinking",
	[TRANSCRIPT_CALL] = "call", [TRANSCRIPT_RESULT] = "result", [TRANSCRIPT_MARK] = "mark",
};

const char *transcript_kind_word(enum transcript_kind kind)
{
	return words[kind];
}

struct reader {
	transcript_item_fn *on_item;
	void *self;
	int64_t turn;
	struct buf text, name;
};

static int give(struct reader *r, enum transcript_kind kind, bool failed, struct err *err)
{
	const struct transcript_item item = { .kind = kind, .turn = r->turn > 0 ? r->turn : 1, .name = buf_str(&r->name),
		.text = buf_str(&r->text), .failed = failed };

	return r->on_item(r->self, &item, err);
}

static int give_mark(struct reader *r, const char *what, struct err *err)
{
	buf_clear(&r->name);
	buf_clear(&r->text);
	TRY(buf_addz(&r->text, what, err));
	return give(r, TRANSCRIPT_MARK, false, err);
}

static int set_text(struct buf *b, struct jval v, struct err *err)
{
	buf_clear(b);
	if (v.type == JSCAN_STRING)
		return jval_add_text(b, v, NUL_REPLACE, err);
	return v.type == JSCAN_NONE ? 0 : jval_add(b, v, NUL_REPLACE, err);
}

static int read_block(struct reader *r, bool person, struct jval block, struct err *err)
{
	struct jval type = jval_get(block, "type");

	buf_clear(&r->name);
	if (jval_is(type, "text")) {
		TRY(set_text(&r->text, jval_get(block, "text"), err));
		return give(r, person ? TRANSCRIPT_PERSON : TRANSCRIPT_MODEL, false, err);
	}
	if (jval_is(type, "thinking")) {
		TRY(set_text(&r->text, jval_get(block, "thinking"), err));
		return give(r, TRANSCRIPT_THINKING, false, err);
	}
	if (jval_is(type, "tool_use")) {
		TRY(set_text(&r->name, jval_get(block, "name"), err));
		TRY(set_text(&r->text, jval_get(block, "input"), err));
		return give(r, TRANSCRIPT_CALL, false, err);
	}
	if (!jval_is(type, "tool_result"))
		return 0; /* what only the provider can read */
	TRY(set_text(&r->text, jval_get(block, "content"), err));
	return give(r, TRANSCRIPT_RESULT, jval_get(block, "is_error").type == JSCAN_TRUE, err);
}

static int read_message(struct reader *r, struct jval message, struct err *err)
{
	struct jval content = jval_get(message, "content"), block;
	bool person = jval_is(jval_get(message, "role"), "user");

	if (content.type == JSCAN_STRING) {
		TRY(set_text(&r->text, content, err));
		return give(r, person ? TRANSCRIPT_PERSON : TRANSCRIPT_MODEL, false, err);
	}
	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);)
		TRY(read_block(r, person, block, err));
	return 0;
}

static int read_line(struct reader *r, struct str line, struct err *err)
{
	struct str state;
	uint32_t turn;

	if (talk_checkpoint(line, &turn, &state)) {
		r->turn = turn;
		return 0;
	}
	if (str_starts(line, STR("{\"cut\":")))
		return give_mark(r, "the conversation was made shorter: what follows begins anew", err);
	if (str_starts(line, STR("{\"back\":")))
		return give_mark(r, "the run went on from its checkpoint", err);
	if (!str_starts(line, STR("{\"i\":")))
		return 0;
	return read_message(r, jval_get(jval_from(line), "message"), err);
}

int transcript_read(struct str messages, transcript_item_fn *on_item, void *self, struct err *err)
{
	struct reader r = { .on_item = on_item, .self = self, .text = BUF_MAX(RECORD_MESSAGE_MAX * 2),
		.name = BUF_MAX(RECORD_MESSAGE_MAX) };
	int result = 0;

	while (messages.n > 0 && result >= 0)
		result = read_line(&r, str_trim_suffix(str_line(&messages), STR("\n")), err);
	buf_fini(&r.text);
	buf_fini(&r.name);
	return result < 0 ? result : 0;
}
