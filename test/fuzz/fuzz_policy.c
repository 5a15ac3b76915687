/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Feeds arbitrary bytes to the policy decoder: what it accepts must survive being written and read again. */
#include "sandbox/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf once = BUF_MAX(64 << 20);
	auto_buf struct buf twice = BUF_MAX(64 << 20);
	struct sandbox_policy p, q;
	struct err err = { 0 };

	if (policy_decode(str_of(data, size), POLICY_CELL, mem, &p, &err) < 0) {
		BUG_IF(err.code == ERR_NONE || err.msg[0] == '\0');
		return 0;
	}
	BUG_IF(policy_encode(&p, &once, &err) < 0);
	BUG_IF(policy_decode(buf_str(&once), POLICY_CELL, mem, &q, &err) < 0);
	BUG_IF(policy_encode(&q, &twice, &err) < 0);
	BUG_IF(!str_eq(buf_str(&once), buf_str(&twice)));
	return 0;
}
