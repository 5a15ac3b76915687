/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* conversation: everything said so far, kept as the JSON text that goes back to the model.
 *
 * Shape    conversation_set_prompt once; then add user, assistant and result messages in turn; a
 *          request copies the texts. conversation_repair after loading and before a request that
 *          follows an interruption. A compaction makes a new conversation.
 * Memory   Owns one text per message: canonical, Anthropic shaped, never changed once added. What
 *          another wire needs is made once per message and kept. conversation_get dies with it.
 * Errors   -ERR_INVALID from conversation_add for a text that is not such a message.
 * Source   {"role":"user","content":[results..., texts...]}
 *          {"role":"assistant","from":"<wire>:<model>","content":[blocks as the model sent them]}
 *          A block we do not know is kept; "from" and the x_ blocks never leave for a wire that did
 *          not make them.
 *
 * The bytes of a request up to its last message are those of the request before it. The one thing that
 * moves is the cache_control marks, which Anthropic's protocol wants on the newest messages and does not
 * count as a change of the prefix.
 */
#ifndef PROVIDER_CONVERSATION_H
#define PROVIDER_CONVERSATION_H

#include "base/buf.h"
#include "fmt/jscan.h"
#include "provider/model.h"

struct conversation;

struct conversation *conversation_new(void);
void conversation_free(struct conversation *c);
static inline void conversation_free_ptr(struct conversation **c)
{
	conversation_free(*c);
}
#define auto_conversation CLEANUP(conversation_free_ptr)

/* system: plain text. tools: a JSON array of {"name","description","input_schema"}, or empty for none. */
int conversation_set_prompt(struct conversation *c, struct str system, struct str tools,
	struct err *err) CHECKED;

/* Each adds one message. Text is cleaned: invalid UTF-8, NUL and lone surrogates become U+FFFD. */
int conversation_add_user(struct conversation *c, struct str text, struct err *err) CHECKED;

struct picture {
	struct str type; /* image/png and the like */
	struct str data; /* base64, clean */
	struct str label; /* what stands in front of it */
};

struct call_result {
	struct str call_id;
	struct str text;
	bool is_error;
	const struct picture *pictures; /* behind the results, each with its label */
	size_t npictures;
};

/* Results in call order, then notices as text; one user message. Notices that are empty are left out. */
int conversation_add_results(struct conversation *c, const struct call_result *results, size_t nresults,
	const struct str *notices, size_t nnotices, struct err *err) CHECKED;

/* A whole message as text: reply.message, or one loaded from the record. Checked, and a notice that
 * stands before results is put behind them. */
int conversation_add(struct conversation *c, struct str message, struct err *err) CHECKED;

/* Message i says something else from here on: a compaction. What stood there is forgotten. */
int conversation_replace(struct conversation *c, size_t i, struct str message, struct err *err) CHECKED;

/* One more text behind the blocks of the last message, which must be the user's. */
int conversation_append(struct conversation *c, struct str text, struct err *err) CHECKED;

size_t conversation_count(const struct conversation *c);
struct str conversation_get(const struct conversation *c, size_t i); /* canonical text */
struct jval conversation_content(const struct conversation *c, size_t i); /* its blocks, without a walk over the text */
/* Of all canonical texts; a picture counts as PICTURE_BYTES, since it costs a model tokens by its size and not by its bytes. */
#define PICTURE_BYTES 6400
size_t conversation_bytes(const struct conversation *c);
size_t conversation_pictures(const struct conversation *c);          /* how many there are */
size_t conversation_unweighed(const struct conversation *c);         /* bytes of pictures that the two others leave out */
size_t conversation_total(const struct conversation *c);             /* ... and of the prompt and the tools */
bool conversation_is_user(const struct conversation *c, size_t i);
bool conversation_has_open_calls(const struct conversation *c); /* the last message waits for results */

/* Makes the history valid for every wire: calls without a result get an "interrupted" one, results
 * without a call and empty messages go, the first message is the user's. Returns how many messages
 * differ from before, counting new and dropped ones. *first_changed: the first index that differs. After
 * a failure (a message past all bounds) only conversation_free is legal. */
int conversation_repair(struct conversation *c, size_t *first_changed, struct err *err) CHECKED;

/* The first n messages alone; what follows is forgotten (fork, undo). */
void conversation_truncate(struct conversation *c, size_t n);

#endif
