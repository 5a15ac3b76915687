/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* reply_priv: what the decoders of the wires fill in, and how a turn is made of it.
 *
 * Shape    reply.c feeds events to the wire's row; the row collects blocks, usage and stop reason here;
 *          reply.c makes the reply. Texts are collected with halves of surrogate pairs left in
 *          (fmt/jscan.h), because the other half may come with the next piece.
 */
#ifndef PROVIDER_REPLY_PRIV_H
#define PROVIDER_REPLY_PRIV_H

#include "base/vec.h"
#include "fmt/jscan.h"
#include "fmt/sse.h"
#include "provider/fault_priv.h"
#include "provider/reply.h"

#define REPLY_BYTES_MAX  ((size_t)64 * 1024 * 1024)
#define REPLY_LINE_MAX   ((size_t)8 * 1024 * 1024)
#define REPLY_BLOCKS_MAX 1024

enum block_kind { BLOCK_TEXT, BLOCK_THINKING, BLOCK_CALL, BLOCK_OTHER };

struct block {
	enum block_kind kind;
	bool has_index, closed;
	int64_t index;       /* as on the wire, never a position of ours */
	struct buf start;    /* the block as it was opened, JSON; empty for wires that open none */
	struct buf text;     /* text, thoughts or arguments */
	struct buf signature, id, name;
	struct buf extra;    /* JSON that goes back with a call */
	struct buf key;      /* API_RESPONSES: id of the item this block is of */
	size_t shown;        /* how much of text the watcher has seen */
	bool recovered;
};

/* <think> at the start of a text: which side of it we are on. */
enum think_state { TAG_MAYBE, TAG_INSIDE, TAG_AFTER, TAG_NONE };

enum reply_form { FORM_UNKNOWN, FORM_STREAM, FORM_WHOLE, FORM_ERROR, FORM_PAGE };

struct reply_stream {
	const struct model_spec *spec; /* borrowed */
	const struct wire *wire;
	struct str tools;              /* borrowed */
	struct reply_watch watch;
	struct arena *mem;             /* borrowed */
	struct reply_head head;
	enum reply_form form;
	struct buf body; /* FORM_WHOLE, FORM_ERROR and FORM_PAGE: what came */
	struct sse sse;
	size_t fed;
	struct {
		VEC(struct block);
	} blocks;
	struct buf pending;     /* text of API_CHAT that may still be part of a think tag */
	enum think_state think;
	struct buf details;     /* reasoning_details of routers: JSON values joined by commas */
	bool has_details, delta_seen, refused;
	struct buf stop_raw, model;
	struct usage usage;
	size_t first_call;      /* number of the first id that is made up */
	bool finish_seen;       /* a stop reason came */
	bool done;              /* the stream said that it is over */
	bool failed;
	struct provider_fault fault;
	uint64_t beats;
	bool output_seen, in_thoughts;
};

void reply_fail(struct reply_stream *s, enum provider_fault_kind kind, const char *fmt, ...) FORMAT(3, 4);
void reply_fail_with(struct reply_stream *s, struct str body); /* an error object inside an answer */

/* NULL: too many, and s has failed. */
struct block *reply_block_new(struct reply_stream *s, enum block_kind kind);
/* Adds the content of a JSON string and shows what can be shown. */
void reply_block_text(struct reply_stream *s, struct block *b, struct jval piece);
void reply_block_show(struct reply_stream *s, struct block *b); /* text was added by other means */
/* Replaces what is in `to`; an absent or empty string leaves it. */
void reply_put(struct reply_stream *s, struct buf *to, struct jval string);
void reply_counter(struct reply_stream *s, struct jval number, enum usage_known which, int64_t *to);
/* After the counters: the prompt's tokens, of which the cached ones are a part, and what a router says it cost. */
void reply_settle(struct reply_stream *s, int64_t prompt, struct jval cost);

struct reply_event {
	const char *type;
	void (*act)(struct reply_stream *s, struct jval ev);
};

/* Does what the row of this event does: by its "type", where it has none by the name it came under. False: no row is of it. */
bool reply_act(struct reply_stream *s, struct str name, struct jval ev, const struct reply_event *rows, size_t n);

struct reply_word {
	const char *word;
	enum reply_stop stop;
};

/* What the wire's word for the end means; STOP_UNKNOWN when no row has it. */
enum reply_stop reply_stop_of(const struct reply_stream *s, const struct reply_word *rows, size_t n);

/* One wire's decoder; rows in wires.c. */
struct wire {
	void (*on_event)(struct reply_stream *s, struct str name, struct str data);
	void (*on_whole)(struct reply_stream *s, struct jval body); /* the answer as one JSON object */
	void (*on_end)(struct reply_stream *s);                     /* the bytes are over: what was held back; NULL: nothing */
	enum reply_stop (*stop)(struct reply_stream *s, size_t ncalls);
	bool finish_is_done; /* a stop reason is enough, the closing event may be missing */
};

extern const struct wire wire_anthropic, wire_chat, wire_responses;
const struct wire *wire_get(enum api_wire wire);

/* Calls that a model wrote as text: adds a block for each and takes them out of the text. */
void reply_recover(struct reply_stream *s, struct block *text);
/* Text is held back from where it could become such a call: the length that may be shown. What lies
 * before `from` has been shown. */
size_t reply_recover_showable(struct str text, size_t from);

#endif
