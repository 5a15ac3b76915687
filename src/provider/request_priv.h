/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* request_priv: a body, member by member, and what each wire puts into it. */
#ifndef PROVIDER_REQUEST_PRIV_H
#define PROVIDER_REQUEST_PRIV_H

#include "fmt/jscan.h"
#include "provider/conversation_priv.h"
#include "provider/request.h"

/* The wire text of a message of which this wire is sent nothing. */
#define LEFT_OUT STR(" ")

struct body {
	struct buf *out;
	const struct model_spec *spec;
	struct model_rule rule;
	struct conversation *c;
	struct jval extra; /* the operator's members, which replace ours but for the reserved ones */
	bool no_tools;
};

/* "key": after a comma, unless the operator's extra_body sets this member; then false in *ours. */
int body_key(struct body *b, const char *key, bool *ours, struct err *err) CHECKED;
int body_text(struct body *b, const char *key, struct str value, struct err *err) CHECKED;
int body_int(struct body *b, const char *key, int64_t value, struct err *err) CHECKED;
int body_num(struct body *b, const char *key, double value, struct err *err) CHECKED;
int body_raw(struct body *b, const char *key, const char *json, struct err *err) CHECKED;
int body_extra(struct body *b, struct err *err) CHECKED; /* the operator's members */
/* The wire texts of all messages that have one, after a '[' that may hold one already, and the ']'. */
int body_messages(struct body *b, struct err *err) CHECKED;

/* The tools as OpenAI's wires have them: each between head, which ends before its name, and tail. */
int tools_as_functions(const struct conversation *c, const char *head, const char *tail, struct buf *out, struct err *err) CHECKED;

struct request_wire {
	const char *const *reserved; /* NULL ended */
	int (*settings)(struct body *b, struct err *err);                       /* everything in front of the prompt */
	int (*make_tools)(const struct conversation *c, struct buf *out, struct err *err);
	int (*make_message)(const struct body *b, const struct message *m, struct buf *out, struct err *err);
	int (*prompt)(struct body *b, struct err *err);                         /* tools, system, messages */
};

extern const struct request_wire request_anthropic, request_chat, request_responses;

/* The user's words as parts, where pictures stand between them: text_type and the two ends around a picture's data URI. */
struct part_words {
	const char *text, *before, *after;
};
int content_add_parts(struct buf *out, struct jval content, const struct part_words *w, struct err *err) CHECKED;
bool message_shows(const struct body *b, const struct message *m); /* it has pictures, and they are sent */

/* True when m was made by the model that is asked now. */
bool message_is_own(const struct body *b, const struct message *m);

/* The word for an effort: off is told as the model's rule wants it. NULL: it cannot be told. */
const char *effort_word(const struct body *b, enum api_effort e);

/* Texts of all blocks of one type, joined, as one JSON string; sep between two of them. */
int content_add_joined(struct buf *out, struct jval content, const char *type, const char *member, const char *sep,
	struct err *err) CHECKED;
bool content_has(struct jval content, const char *type); /* a block of this type */
int content_add_result(struct buf *out, struct jval content, struct err *err) CHECKED; /* of a tool, as a string */

#endif
