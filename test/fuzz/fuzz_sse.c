/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fuzz_sse: the events of a stream do not depend on where it is cut. The first byte is the piece size. */
#include "fmt/sse.h"

static int record(void *self, const struct sse_event *ev, struct err *err)
{
	struct buf *out = self;

	TRY(buf_add(out, ev->name, err));
	TRY(buf_addc(out, '\0', err));
	TRY(buf_add(out, ev->data, err));
	return buf_addc(out, '\0', err);
}

static int run(struct str in, size_t step, struct buf *out)
{
	auto_sse struct sse s = { 0 };

	sse_init(&s, 256, record, out);
	for (; in.n > 0; in = str_skip(in, step))
		TRY(sse_feed(&s, str_head(in, step), ERR_DISCARD));
	return sse_end(&s, ERR_DISCARD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct buf whole = BUF_MAX(1 << 20), pieces = BUF_MAX(1 << 20);
	struct str in = str_of(data, size);
	size_t step;
	int a, b;

	if (size < 2)
		return 0;
	step = data[0] % 32 + 1u;
	in = str_skip(in, 1);
	a = run(in, in.n, &whole);
	b = run(in, step, &pieces);
	BUG_IF(a != b || !str_eq(buf_str(&whole), buf_str(&pieces)));
	return 0;
}
