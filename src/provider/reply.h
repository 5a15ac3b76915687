/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* reply: the answer to one model call, from bytes in any pieces to a typed turn or a typed fault.
 *
 * Shape    reply_new; reply_head with the status; reply_feed as bytes come; reply_end once, when the
 *          client says the answer is over or reply_is_done. Then reply_free.
 * Memory   What reply_end hands out lives in the arena. Views given to the callbacks die on return.
 * Errors   reply_feed never fails: what is wrong comes out of reply_end. reply_end returns 0 and a
 *          whole turn, or -ERR_REMOTE and a fault. With a fault `message` is empty, so that half an
 *          answer cannot become a turn; text, calls and usage hold what had come.
 * Source   Anthropic Messages streaming (SDK 0.120.0, 2026-08-19); Chat Completions as many servers
 *          speak it (openai-python 3.3.1, 2026-08; quirks as listed in docs/providers.md).
 */
#ifndef PROVIDER_REPLY_H
#define PROVIDER_REPLY_H

#include "base/arena.h"
#include "provider/fault.h"
#include "provider/model.h"
#include "provider/usage.h"

/* X(value, word): the words of the record */
#define REPLY_STOPS(X)                                                                                       \
	X(STOP_UNKNOWN, "unknown")                                                                           \
	X(STOP_END, "end_turn")                                                                              \
	X(STOP_TOOLS, "tool_use")                                                                            \
	X(STOP_LENGTH, "max_tokens")                                                                         \
	X(STOP_SEQUENCE, "stop_sequence")                                                                    \
	X(STOP_REFUSAL, "refusal")                                                                           \
	X(STOP_PAUSE, "pause")                                                                               \
	X(STOP_WINDOW, "context_full")

enum reply_stop {
#define X(value, word) value,
	REPLY_STOPS(X)
#undef X
	STOP_COUNT
};

struct reply_call {
	struct str id, name;
	struct str args;     /* text of a JSON object; "{}" when args_error */
	bool args_error;     /* what came is not an object: answer it with an error, never run it */
	struct str raw_args; /* what came, when args_error */
	bool recovered;      /* was written as text */
	struct str extra;    /* provider data that goes back with the call, JSON or empty */
};

struct reply {
	struct str text;     /* all visible text */
	struct str thinking; /* all readable thoughts */
	struct reply_call *calls;
	size_t ncalls;
	struct str message;  /* for conversation_add; empty when there is nothing to keep */
	enum reply_stop stop;
	struct str stop_raw; /* as the provider spelled it */
	struct usage usage;
	struct str model;    /* as the server named it */
};

/* Live pieces, valid UTF-8. A member may be NULL. */
struct reply_watch {
	void (*on_text)(void *self, struct str piece);
	void (*on_thinking)(void *self, struct str piece);
	void *self; /* borrowed */
};

struct reply_stream;

/* tools: the array given to conversation_set_prompt, for calls that were written as text. Empty: such
 * text is left alone. spec and tools are borrowed until reply_free. */
struct reply_stream *reply_new(const struct model_spec *spec, struct str tools, const struct reply_watch *watch,
	struct arena *mem);
void reply_free(struct reply_stream *s);
static inline void reply_free_ptr(struct reply_stream **s)
{
	reply_free(*s);
}
#define auto_reply CLEANUP(reply_free_ptr)

/* Ids that a server left out are made up from this number on: call_<first>, ... They stay apart over a
 * conversation when it is the count of its messages. */
void reply_number_calls(struct reply_stream *s, size_t first);

struct reply_head {
	int status;
	int64_t retry_after_ms; /* -1: none */
	int should_retry;       /* the x-should-retry header: -1 absent, 0, 1 */
	struct str request_id;  /* may be empty; copied */
};
#define REPLY_HEAD(code) ((struct reply_head){ .status = (code), .retry_after_ms = -1, .should_retry = -1 })

void reply_head(struct reply_stream *s, struct reply_head head); /* without it: status 200 */
void reply_feed(struct reply_stream *s, struct str bytes);
bool reply_is_done(const struct reply_stream *s); /* the turn is complete; more bytes would be ignored */

enum reply_over {
	OVER_EOF,     /* the body ended; detail: the address, where what came seems to be something else */
	OVER_NETWORK, /* the connection failed; detail says how */
	OVER_TIMEOUT, /* we waited too long */
	OVER_REFUSED, /* it cannot be reached like this, however often it is tried; detail says why */
	OVER_STOPPED, /* we cancelled it */
};

int reply_end(struct reply_stream *s, enum reply_over over, struct str detail, struct reply *out,
	struct provider_fault *fault) CHECKED;

/* For the idle clock: it starts again whenever the count has grown; heartbeats do not count. */
uint64_t reply_beats(const struct reply_stream *s);
int64_t reply_idle_ms(const struct reply_stream *s); /* how long silence is fine at this point */

const char *reply_stop_name(enum reply_stop stop);

/* A turn that calls nothing and says nothing, though its stop reason promised a call: ask again. */
bool reply_is_empty(const struct reply *r);

#endif
