/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/zygotes.h"

#include "fmt/pack.h"
#include "test/lib/test.h"

#include <string.h>

TEST(zygote_that_failed_says_why_and_what_to_do)
{
	static const struct {
		const char *why, *hint, *want;
	} cases[] = {
		{ "execute the agent: Permission denied", "", "\"agent6 check sandbox\" tries what a jail needs, and names what this host lacks" },
		{ "make namespaces: Operation not permitted", "use profile = \"hardened\"", "use profile = \"hardened\"" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf b = BUF_MAX(1024);
		auto_arena struct arena *mem = arena_new();
		struct err err = { 0 };

		pack_str(&b, str_from(cases[i].why));
		pack_str(&b, str_from(cases[i].hint));
		CHECK_INT(zygote_failed(buf_str(&b), "the agent cannot be started", &err), -ERR_UNSUPPORTED);
		CHECK_STR(str_from(err.msg), str_printf(mem, "the agent cannot be started: %s", cases[i].why));
		CHECK_STR(str_from(err.hint), str_from(cases[i].want));
	}
}
