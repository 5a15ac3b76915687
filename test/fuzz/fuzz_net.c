/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fuzz_net: what the client reads of a server and of a recording. The first byte chooses the reader and the size of pieces:
 * no cut of a body lets the key through, head and recording stay in their bounds whatever stands there. */
#include "net/head.h"
#include "net/recording.h"
#include "net/scrub.h"

#include <string.h>

#define KEY     "abababac" /* its beginnings overlap */
#define OUT_MAX (8u << 20)
#define WAITS   100000

/* What scrub must give, found the simple way. */
static void replace_all(struct str in, struct buf *out)
{
	while (in.n > 0) {
		size_t at = str_find(in, STR(KEY));

		BUG_IF(buf_add(out, str_head(in, at), ERR_DISCARD) < 0);
		if (at < in.n)
			BUG_IF(buf_addz(out, SCRUB_TEXT, ERR_DISCARD) < 0);
		in = str_skip(in, at < in.n ? at + strlen(KEY) : at);
	}
}

static void check_scrub(struct str in, size_t step)
{
	auto_buf struct buf got = BUF_MAX(OUT_MAX), want = BUF_MAX(OUT_MAX);
	auto_secret struct secret key = { 0 };
	struct scrub s = { .key = &key };

	secret_set(&key, STR(KEY));

	replace_all(in, &want);
	for (; in.n > 0; in = str_skip(in, step))
		BUG_IF(scrub_feed(&s, str_head(in, step), &got, ERR_DISCARD) < 0);
	BUG_IF(scrub_end(&s, &got, ERR_DISCARD) < 0 || s.held != 0);
	BUG_IF(!str_eq(buf_str(&got), buf_str(&want)));
}

static void check_head(struct str in)
{
	struct head h = { .retry_after_ms = -1 };

	while (in.n > 0) {
		struct str line = str_line(&in);

		if (head_line(&h, line, 1000000, ERR_DISCARD) < 0)
			break;
		BUG_IF(h.bytes > HEAD_BYTES || h.status < 0 || h.status > 999);
		BUG_IF(h.retry_after_ms < -1 || h.retry_after_ms > HEAD_RETRY_MAX);
		BUG_IF(h.content != CONTENT_OTHER && h.content != CONTENT_SSE && h.content != CONTENT_JSON);
	}
	int64_t ms = head_retry_after(in, 1000000);

	BUG_IF(ms < -1 || ms > HEAD_RETRY_MAX);
}

static void play_all(struct play *p, size_t step, size_t most)
{
	size_t total = 0;
	int64_t wait;
	int r = 1;

	BUG_IF(p->status < 0 || p->status > 999 || p->retry_after_ms < -1);
	for (int i = 0; r > 0; i++) {
		auto_buf struct buf out = BUF_MAX(OUT_MAX);

		BUG_IF(i > WAITS);
		wait = 0;
		r = play_next(p, step, &out, &wait, ERR_DISCARD);
		BUG_IF(wait < 0 || wait > RECORDING_WAIT_MS);
		total += out.n;
	}
	BUG_IF(total > most); /* it hands out what stands there, and nothing twice */
}

static void check_recording(struct str in, size_t step)
{
	struct recording r;
	struct play p;
	struct err err = { 0 };

	if (recording_parse(in, &r, &err) < 0) {
		BUG_IF(err.code == ERR_NONE || err.msg[0] == '\0');
		return;
	}
	BUG_IF(r.answers > in.n);
	for (size_t i = 0; i < r.answers && i < 100; i++) {
		BUG_IF(recording_answer(&r, ROUTE_CHAT, i, &p, &err) < 0);
		play_all(&p, step, in.n);
	}
	BUG_IF(recording_answer(&r, ROUTE_CHAT, r.answers, &p, &err) != -ERR_NOENT);
	if (recording_answer(&r, ROUTE_MODELS, 0, &p, &err) == 0)
		play_all(&p, step, in.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = size > 0 ? str_of(data + 1, size - 1) : STR("");
	size_t step = size > 0 ? data[0] / 3 + 1u : 1;

	if (size == 0)
		return 0;
	switch (data[0] % 3) {
	case 0:
		check_scrub(in, step);
		break;
	case 1:
		check_head(in);
		break;
	default:
		check_recording(in, step);
	}
	return 0;
}
