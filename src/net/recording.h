/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* recording: answers written down beforehand, played by the client in place of a server (`demo`).
 *
 * Shape    recording_parse checks the whole text; recording_answer finds the nth answer; play_next
 *          hands out its pieces. The nth chat request gets the nth `answer`, whatever it asks.
 *          The format, line by line:
 *
 *            agent6-recording 1                 first line
 *            # a comment                        anywhere; empty lines are ignored too
 *            answer 200 text/event-stream       begins an answer: status and content type
 *            models 200 application/json        the same for the model listing, at most one
 *            retry-after 2                      seconds, directly below answer
 *            wait 150                           milliseconds before the following body lines
 *            |data: {"type": "message_start"}   a body line: all after '|', and a line feed
 *            +data: [DONE]                      the same without the line feed
 *
 * Memory   Views into the text, which must outlive the recording.
 * Errors   -ERR_SYNTAX with err.at's line; -ERR_NOENT when there is no such answer.
 * Units    Milliseconds.
 */
#ifndef NET_RECORDING_H
#define NET_RECORDING_H

#include "base/buf.h"
#include "fmt/wire.h"

#define RECORDING_BYTES   (8 * 1024 * 1024)
#define RECORDING_WAIT_MS 60000 /* of one `wait`, at most */

struct recording {
	struct str text;
	size_t answers; /* how many there are */
};

struct play {
	int status;
	enum net_content content;
	int64_t retry_after_ms; /* -1: none */
	struct str rest;        /* the lines to come */
	struct str line;        /* what is left of a body line that did not fit */
};

int recording_parse(struct str text, struct recording *out, struct err *err) CHECKED;
int recording_answer(const struct recording *r, enum net_route route, size_t nth, struct play *out,
	struct err *err) CHECKED;

/* Adds body bytes to out until a wait, the end, or out holds `enough` bytes. Returns 1 when more follows,
 * after *wait_ms; 0 at the end of the answer. */
int play_next(struct play *p, size_t enough, struct buf *out, int64_t *wait_ms, struct err *err) CHECKED;

#endif
