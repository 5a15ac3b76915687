/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/lister.h"
#include "test/lib/test.h"

static const struct {
	const char *why, *text, *want; /* id window in out; */
} lists[] = {
	{ "OpenAI's", "{\"object\":\"list\",\"data\":[{\"id\":\"a\"},{\"id\":\"b\"}]}", "a 0 -1 -1;b 0 -1 -1;" },
	{ "OpenRouter's prices are dollars a token, in strings", "{\"data\":[{\"id\":\"m/x\",\"context_length\":1000,"
		"\"pricing\":{\"prompt\":\"0.000003\",\"completion\":\"0.000015\"}}]}", "m/x 1000 3 15;" },
	{ "a router that depends", "{\"data\":[{\"id\":\"auto\",\"pricing\":{\"prompt\":\"-1\",\"completion\":\"-1\"}}]}", "auto 0 -1 -1;" },
	{ "prices that are none", "{\"data\":[{\"id\":\"a\",\"pricing\":{\"prompt\":\"nan\",\"completion\":true}}]}", "a 0 -1 -1;" },
	{ "vLLM's window", "{\"data\":[{\"id\":\"a\",\"max_model_len\":32768}]}", "a 32768 -1 -1;" },
	{ "Groq's window", "{\"data\":[{\"id\":\"a\",\"context_window\":131072}]}", "a 131072 -1 -1;" },
	{ "a window that is none", "{\"data\":[{\"id\":\"a\",\"context_length\":-5}]}", "a 0 -1 -1;" },
	{ "Together's bare array", "[{\"id\":\"a\"}]", "a 0 -1 -1;" },
	{ "Gemini's prefix", "{\"data\":[{\"id\":\"models/gemini-x\"}]}", "gemini-x 0 -1 -1;" },
	{ "names that nobody could type", "{\"data\":[{\"id\":\"\"},{\"id\":\"a b\"},{\"id\":\"\\u001b[2J\"},{\"id\":\"\\u00fc\"},{\"id\":7},{},5]}", "" },
	{ "something else", "<html>", "" },
	{ "an error", "{\"error\":\"no\"}", "" },
};

TEST(lister_reads_every_server_s_list_and_leaves_out_what_is_no_name)
{
	for (size_t i = 0; i < COUNT(lists); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf got = BUF_MAX(4096);
		struct model_list l = lister_read(str_from(lists[i].text), mem);

		for (size_t k = 0; k < l.n; k++)
			CHECK(buf_addf(&got, ERR_DISCARD, STR_FMT " %lld %g %g;", STR_ARG(l.p[k].id), (long long)l.p[k].window,
				l.p[k].price_in, l.p[k].price_out) == 0);
		CHECK_STR(buf_str(&got), str_from(lists[i].want));
	}
}
