/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* nojail: speaks as agent6-jail does and confines nothing, so that what looks for holes has some to find. */
#include "sandbox/attempt.h"
#include "sandbox/once.h"
#include "sandbox/policy.h"
#include "sys/file.h"

#include <string.h>

static int run_once(struct err *err)
{
	auto_buf struct buf text = BUF_MAX(POLICY_BYTES_MAX), answer = BUF_MAX(1 << 20);
	auto_arena struct arena *mem = arena_new();
	auto_once struct once_result result = { 0 };
	struct sandbox_policy policy;

	TRY(file_read_fd(0, &text, err));
	TRY(policy_decode(buf_str(&text), POLICY_ONCE, mem, &policy, err));
	policy.profile = PROFILE_NONE;
	TRY(once_run(&policy, &result, err));
	TRY(once_encode(&result, &answer, err));
	return file_write_fd(1, buf_str(&answer), err);
}

int main(int argc, char **argv)
{
	struct err err = { 0 };

	if (argc >= 3 && strcmp(argv[1], "--attempt") == 0)
		return attempt_main(argv[2], argc > 3 ? argv[3] : NULL);
	if (argc == 2 && strcmp(argv[1], "--probe") == 0)
		return 0;
	return run_once(&err) < 0 ? 2 : 0;
}
