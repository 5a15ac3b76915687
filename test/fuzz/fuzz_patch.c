/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fuzz_patch: a patch is decoded and applied to a file, or refused; what the patch does not touch stays.
 * The input is the file, a NUL byte and the patch. */
#include "tool/match.h"
#include "tool/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(const struct patch_file *f, char kind)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		for (size_t k = 0; k < f->hunks[i].n; k++)
			n += f->hunks[i].lines[k].kind == kind;
	return n;
}

static size_t lines(struct str text)
{
	size_t n = 0;

	while (text.n > 0) {
		(void)str_line(&text);
		n++;
	}
	return n;
}

static void apply(const struct patch_file *f, struct str file, struct arena *mem)
{
	auto_buf struct buf out = BUF_MAX(1 << 22), labels = BUF_MAX(1 << 16), why = BUF_MAX(1 << 18);

	if (patch_apply(f, file, mem, &out, &labels, &why, ERR_DISCARD) < 0)
		return;
	/* Every line that went in or out is one that the patch says. An empty added line that ends up last
	 * without a newline is no line. */
	size_t have = lines(buf_str(&out)), want = lines(file) + count(f, '+') - count(f, '-');
	BUG_IF(have > want || have + 1 < want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena *mem = arena_new();
	struct str rest = str_of(data, size), file = str_cut(&rest, '\0');
	struct patch p = { 0 };
	struct match_plan plan;
	auto_buf struct buf why = BUF_MAX(1 << 18);

	if (patch_decode(rest, mem, &p, ERR_DISCARD) == 0)
		for (size_t i = 0; i < p.n; i++)
			if (!p.files[i].whole)
				apply(&p.files[i], file, mem);
	/* The same bytes as a quotation. */
	struct str old = str_cut(&rest, '\0');
	if (match_plan(file, old, rest, mem, &plan, &why, ERR_DISCARD) == 0)
		BUG_IF(plan.at > file.n || plan.del > file.n - plan.at);
	return 0;
}
