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

#define MARK_CUT "the conversation was written anew: what follows takes the place of what stood above"

struct reader {
	transcript_item_fn *on_item;
	void *self;
	int64_t turn;
	struct buf text, name;
	struct talk now;   /* the conversation up to here */
	struct talk_list old; /* what the newest cut took away; what is told again is not shown again */
	size_t next;       /* of old */
	bool cut;          /* some of old may be told again yet */
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

/* How many of the first blocks stood in the message that was here before the cut: all of its own, or none. */
static size_t told_before(struct reader *r, struct jval message)
{
	struct jval old, now = jval_get(message, "content"), was_block, block;
	size_t was_at = 0, at = 0, n = 0;

	if (!r->cut)
		return 0;
	old = jval_from(r->old.p[r->next]);
	if (!str_eq(jval_get(old, "role").text, jval_get(message, "role").text))
		return 0;
	old = jval_get(old, "content");
	if (old.type != JSCAN_ARRAY || now.type != JSCAN_ARRAY)
		return 0;
	for (; jval_next(old, &was_at, NULL, &was_block); n++)
		if (!jval_next(now, &at, NULL, &block) || !str_eq(was_block.text, block.text))
			return 0;
	return n;
}

static int read_message(struct reader *r, struct jval message, struct err *err)
{
	struct jval content = jval_get(message, "content"), block;
	size_t told;
	bool person = jval_is(jval_get(message, "role"), "user");

	r->cut = r->cut && r->next < r->old.n; /* all of it came again: nothing was taken away */
	told = told_before(r, message);
	r->next++;
	if (r->cut && told == 0) {
		r->cut = false;
		TRY(give_mark(r, MARK_CUT, err));
	}
	if (content.type == JSCAN_STRING) {
		TRY(set_text(&r->text, content, err));
		return give(r, person ? TRANSCRIPT_PERSON : TRANSCRIPT_MODEL, false, err);
	}
	for (size_t pos = 0; jval_next(content, &pos, NULL, &block);)
		if (told > 0)
			told--;
		else
			TRY(read_block(r, person, block, err));
	return 0;
}

static int read_line(struct reader *r, struct str line, struct err *err)
{
	size_t before = r->now.now.n;
	struct str state;
	uint32_t turn;

	(void)talk_line(&r->now, line); /* a line that is none of ours changes nothing */
	if (talk_checkpoint(line, &turn, &state)) {
		r->turn = turn;
		return 0;
	}
	if (str_starts(line, STR("{\"cut\":"))) {
		r->old.n = r->next = 0;
		for (size_t i = r->now.now.n; i < before; i++) /* the cut left them where they were */
			*vec_new(&r->old) = r->now.now.p[i];
		r->cut = r->old.n > 0;
		return r->cut ? 0 : give_mark(r, MARK_CUT, err);
	}
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
	talk_fini(&r.now);
	vec_fini(&r.old);
	return result < 0 ? result : 0;
}
