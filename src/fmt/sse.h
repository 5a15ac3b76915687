/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* sse: turns a text/event-stream body, arriving in any pieces, into events.
 *
 * Shape    Push parser. on_event runs inside sse_feed, once per event; sse_end hands over an event
 *          whose closing blank line never came, as servers that hang up early leave it.
 * Memory   One pending line and one pending event, each at most `max` bytes.
 *          The views in sse_event die when on_event returns.
 * Errors   -ERR_LIMIT when a line or an event outgrows `max`; otherwise whatever
 *          on_event returned. After an error only sse_fini is legal.
 * Source   WHATWG HTML, "Interpreting an event stream". `id` and `retry` are ignored on purpose: a
 *          broken reply is asked for again whole, never resumed. Beyond it: a field named `error` is
 *          the data of an event named error (observed: llama.cpp server, 2024).
 */
#ifndef FMT_SSE_H
#define FMT_SSE_H

#include "base/buf.h"

struct sse_event {
	struct str name; /* "message" when the stream gives none */
	struct str data; /* the data lines, joined with '\n' */
};

typedef int sse_event_fn(void *self, const struct sse_event *ev, struct err *err);

struct sse {
	sse_event_fn *on_event;
	void *self;                  /* borrowed, passed to on_event */
	struct buf line, name, data; /* the line and the event being assembled */
	bool after_cr;               /* a leading LF is the second half of CR LF */
	bool past_first;             /* only the very first line may carry a BOM */
};

void sse_init(struct sse *s, size_t max, sse_event_fn *on_event, void *self);
void sse_fini(struct sse *s);
int sse_feed(struct sse *s, struct str bytes, struct err *err) CHECKED;
int sse_end(struct sse *s, struct err *err) CHECKED;
#define auto_sse CLEANUP(sse_fini)

#endif
