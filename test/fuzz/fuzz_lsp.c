/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fuzz_lsp: what a language server writes does not depend on where it is cut, and its URIs and columns stay within bounds. The
 * first byte is the piece size. */
#include "fmt/lsp.h"

static int record(void *self, const struct rpc_message *m, struct err *err)
{
	auto_buf struct buf path = BUF_MAX(4096);

	if (lsp_uri_path(m->method.text, &path, ERR_DISCARD) == 0)
		TRY(buf_add(self, buf_str(&path), err));
	TRY(buf_addc(self, (char)m->kind, err));
	return buf_add(self, m->body.text, err);
}

static int run(struct str in, size_t step, struct buf *out)
{
	auto_lsp_reader struct lsp_reader r = { 0 };

	lsp_reader_init(&r, 4096, record, out);
	for (; in.n > 0; in = str_skip(in, step))
		TRY(lsp_feed(&r, str_head(in, step), ERR_DISCARD));
	return 0;
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
	for (size_t i = 0; i <= in.n && i < 64; i++) {
		size_t at = lsp_bytes_of(in, lsp_units_of(in, i));

		BUG_IF(at > in.n || lsp_bytes_of(in, (int64_t)i) > in.n);
	}
	return 0;
}
