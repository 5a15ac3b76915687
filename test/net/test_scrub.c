/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "net/scrub.h"
#include "test/lib/test.h"

static const struct {
	const char *why, *key, *in, *want;
} cases[] = {
	{ "alone", "sk-12345", "sk-12345", "<REDACTED>" },
	{ "between", "sk-12345", "a sk-12345 b", "a <REDACTED> b" },
	{ "twice without a gap", "sk-12345", "sk-12345sk-12345", "<REDACTED><REDACTED>" },
	{ "a beginning only", "sk-12345", "sk-1234", "sk-1234" },
	{ "a beginning, then another byte", "sk-12345", "sk-1234x", "sk-1234x" },
	{ "a beginning, then the key", "sk-12345", "sk-1sk-12345", "sk-1<REDACTED>" },
	{ "a key that begins inside itself", "aaaaaaab", "aaaaaaaaaab", "aaa<REDACTED>" },
	{ "a key that repeats itself", "abababac", "abababababac", "abab<REDACTED>" },
	{ "overlapping falls back twice", "aabaabaa", "aabaabaabaax", "<REDACTED>baax" },
	{ "too short to be a key", "short", "a short word", "a short word" },
	{ "no key", "", "anything", "anything" },
	{ "nothing", "sk-12345", "", "" },
};

TEST(scrub_takes_out_the_key_in_every_chunking)
{
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t step = 1; step <= strlen(cases[i].in) + 1; step++) {
			auto_secret struct secret key = { 0 };
			auto_buf struct buf got = BUF_MAX(256);
			struct scrub s = { .key = &key };
			struct err err = { 0 };

			secret_set(&key, str_from(cases[i].key));
			for (struct str in = str_from(cases[i].in); in.n > 0; in = str_skip(in, step))
				CHECK_OK(scrub_feed(&s, str_head(in, step), &got, &err));
			CHECK_OK(scrub_end(&s, &got, &err));
			CHECK_STR(buf_str(&got), str_from(cases[i].want));
		}
}

TEST(scrub_passes_on_at_once_what_cannot_be_a_key)
{
	auto_secret struct secret key = { 0 };
	auto_buf struct buf got = BUF_MAX(64);
	struct scrub s = { .key = &key };
	struct err err = { 0 };

	secret_set(&key, STR("sk-12345"));
	CHECK_OK(scrub_feed(&s, STR("data: words"), &got, &err));
	CHECK_STR(buf_str(&got), STR("data: word")); /* 's' could be the beginning */
	CHECK_OK(scrub_feed(&s, STR("\n"), &got, &err));
	CHECK_STR(buf_str(&got), STR("data: words\n"));
}
