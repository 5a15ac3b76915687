/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Any bytes as what agent6-jail reads: the policy of one command, that of a cell, and a cell's own line before it. What is accepted
 * survives being written and read again. And any bytes as what a command wrote: the answer is one line of JSON. */
#include "fmt/json.h"
#include "sandbox/once.h"
#include "sandbox/zygote.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_policy(struct str text, enum policy_use use)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf once = BUF_MAX(64 << 20);
	auto_buf struct buf twice = BUF_MAX(64 << 20);
	struct sandbox_policy p, q;
	struct err err = { 0 };

	if (policy_decode(text, use, mem, &p, &err) < 0) {
		BUG_IF(err.code == ERR_NONE || err.msg[0] == '\0');
		return;
	}
	BUG_IF(use == POLICY_ONCE && p.argv.n == 0);
	BUG_IF(policy_encode(&p, &once, &err) < 0);
	BUG_IF(policy_decode(buf_str(&once), use, mem, &q, &err) < 0);
	BUG_IF(policy_encode(&q, &twice, &err) < 0);
	BUG_IF(!str_eq(buf_str(&once), buf_str(&twice)));
}

static void check_cell(struct str text)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf once = BUF_MAX(64 << 20);
	auto_buf struct buf twice = BUF_MAX(64 << 20);
	struct zygote_spec p, q;
	struct err err = { 0 };

	if (zygote_spec_decode(text, mem, &p, &err) < 0) {
		BUG_IF(err.code == ERR_NONE || err.msg[0] == '\0');
		return;
	}
	BUG_IF(zygote_spec_encode(&p, &once, &err) < 0);
	BUG_IF(zygote_spec_decode(buf_str(&once), mem, &q, &err) < 0);
	BUG_IF(zygote_spec_encode(&q, &twice, &err) < 0);
	BUG_IF(!str_eq(buf_str(&once), buf_str(&twice)));
}

static void check_answer(struct str text)
{
	auto_once struct once_result r = { .code = 1 };
	auto_buf struct buf line = BUF_MAX(4 << 20);
	auto_json json_t *obj = NULL;
	struct err err = { 0 };

	capture_init(&r.out);
	capture_init(&r.errs);
	capture_feed(&r.out, text);
	for (struct str rest = text; rest.n > 0; rest = str_skip(rest, 1 + rest.n / 3))
		capture_feed(&r.errs, rest);
	BUG_IF(once_encode(&r, &line, &err) < 0);
	struct str s = buf_str(&line);

	BUG_IF(str_find(s, STR("\n")) < s.n - 1);
	BUG_IF(json_decode(str_trim(s), JSON_EXACT, &obj, &err) < 0 || !json_is_string(json_object_get(obj, "stdout")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = str_of(data, size);

	check_policy(text, POLICY_CELL);
	check_policy(text, POLICY_ONCE);
	check_cell(text);
	check_answer(text);
	return 0;
}
