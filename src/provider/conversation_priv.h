/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* conversation_priv: the messages as the encoders see them. */
#ifndef PROVIDER_CONVERSATION_PRIV_H
#define PROVIDER_CONVERSATION_PRIV_H

#include "base/vec.h"
#include "fmt/jscan.h"
#include "provider/conversation.h"

/* Of one message; a reply is bounded long before it gets here. */
#define CONVERSATION_TEXT_MAX ((size_t)512 * 1024 * 1024)

struct message {
	struct buf text;     /* canonical, ends with "}]}" */
	struct buf wire;     /* the same for the wire of the last request, when it cannot be cut from text */
	bool is_user, has_text, has_calls, has_thinking;
	size_t pictures, unweighed; /* their number; bytes of them that are not counted */
	bool is_mixed;       /* holds what Anthropic's wire may not see as it stands */
	bool wire_made;
	size_t content;      /* offset of the content's bracket in text */
	struct str from;     /* in text, JSON escapes and all; empty for the user */
};

struct conversation {
	VEC(struct message);
	size_t bytes, pictures, unweighed;
	struct buf system;
	struct buf tools;      /* canonical array, or empty */
	struct buf wire_tools; /* for the wire of the last request */
	struct buf made_for;   /* what the wire texts depend on; when it changes they are made again */
};

/* Reads one message text into m, rewritten canonically. */
int message_make(struct message *m, struct str text, struct err *err) CHECKED;
void message_fini(struct message *m);

/* Blocks of a message, in order. */
struct jval message_content(const struct message *m);
/* {"type":"tool_result",...} for a call that never ended, after a comma when `out` holds a block. */
int message_add_interrupted(struct buf *out, struct str call_id, struct err *err) CHECKED;

#endif
