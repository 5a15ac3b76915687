/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/pack.h"
#include "role/lister.h"
#include "test/lib/test.h"

#include <math.h>

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

TEST(lister_s_answer_is_no_more_believed_than_the_list_was)
{
	static const struct {
		const char *why, *id;
		int64_t window;
		double in, out;
		const char *want; /* window in out; or empty: left out */
	} cases[] = {
		{ "what a list can say", "a", 5, 3, 0, "5 3 0" },
		{ "no price is no number", "a", 5, NAN, -NAN, "5 -1 -1" },
		{ "or beyond all numbers", "a", 5, INFINITY, -INFINITY, "5 -1 -1" },
		{ "or dear beyond reason", "a", 5, 1e7, 1e6, "5 -1 1e+06" },
		{ "or below nothing", "a", 5, -3, 1, "5 -1 1" },
		{ "a window without end", "a", INT64_MAX, 1, 1, "0 1 1" },
		{ "a window below nothing", "a", -1, 1, 1, "0 1 1" },
		{ "a name that nobody could type", "a\n", 5, 1, 1, "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_buf struct buf body = BUF_MAX(256), got = BUF_MAX(256);
		struct model_list l;
		struct err err = { 0 };

		pack_u32(&body, 1);
		pack_str(&body, str_from(cases[i].id));
		pack_i64(&body, cases[i].window);
		pack_f64(&body, cases[i].in);
		pack_f64(&body, cases[i].out);
		CHECK_OK(lister_take(buf_str(&body), mem, &l, &err));
		for (size_t k = 0; k < l.n; k++)
			CHECK_OK(buf_addf(&got, &err, "%lld %g %g", (long long)l.p[k].window, l.p[k].price_in, l.p[k].price_out));
		CHECK_STR(buf_str(&got), str_from(cases[i].want));
	}
}
