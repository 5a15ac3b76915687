/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/provider.h"
#include "test/lib/test.h"

#include <string.h>

static const struct {
	const char *name;
	bool known, priced;
	int64_t in, window;
} models[] = {
	{ "claude-opus-4-5", true, true, 5000000, 200000 },
	{ "claude-opus-4-5-20251101", true, true, 5000000, 200000 },
	{ "anthropic/Claude-Opus-4.8:beta", true, true, 5000000, 1000000 },
	{ "claude-haiku-4-5@20251001", true, true, 1000000, 200000 },
	{ "z-ai/glm-4.6", true, false, -1, 202752 },
	{ "claude-opus-9", false, false, 0, 0 },
	{ "", false, false, 0, 0 },
	{ "claude-opus-4-5-2025110x", false, false, 0, 0 },
	{ "a-name-longer-than-any-model-has-a-name-longer-than-any-model-has-a-name-longer-than-any-model-has-it", false,
		false, 0, 0 },
};

TEST(model_facts_are_found_by_every_spelling_and_unknown_is_unknown)
{
	for (size_t i = 0; i < COUNT(models); i++) {
		struct model_facts f = model_facts_get(str_from(models[i].name));

		CHECK_INT(f.source != NULL, models[i].known);
		CHECK_INT(f.price_known, models[i].priced);
		CHECK_INT(f.window, models[i].window);
		if (models[i].priced)
			CHECK(f.in == models[i].in && f.cache_read > 0 && f.cache_write > 0);
	}
}

TEST(model_tables_say_of_each_row_where_it_comes_from)
{
	static const size_t at_least[] = { [MODEL_RULES] = 40, [MODEL_FACTS] = 70, [MODEL_REFUSALS] = 15, [MODEL_SIGHT] = 10 };

	for (enum model_table t = MODEL_RULES; t <= MODEL_SIGHT; t++) {
		struct model_row row;
		size_t n = 0;

		for (; model_row(t, n, &row); n++)
			CHECK(row.name && row.source && strlen(row.source) >= 8);
		CHECK(n >= at_least[t]);
	}
}

/* The first row that fits counts: one that stands behind a shorter name is never reached. */
TEST(model_tables_have_no_row_that_another_one_hides)
{
	struct model_row row;

	for (size_t i = 0; model_row(MODEL_FACTS, i, &row); i++) {
		struct model_facts f = model_facts_get(str_from(row.name));

		CHECK(f.source == row.source);
		CHECK(f.window > 0 && (!f.price_known || (f.in > 0 && f.out >= f.in && f.cache_read <= f.in)));
		CHECK((f.tier_above > 0) == (f.tier_in > 0) && (f.tier_above > 0) == (f.tier_out > 0));
		for (size_t k = 0; k < i; k++) {
			struct model_row before;

			CHECK(model_row(MODEL_FACTS, k, &before) && strcmp(before.name, row.name) != 0);
		}
	}
	for (size_t i = 0; model_row(MODEL_RULES, i, &row); i++)
		for (size_t k = 0; k < i; k++) {
			struct model_row before;

			CHECK(model_row(MODEL_RULES, k, &before));
			if (before.wire != row.wire || before.openai_host != row.openai_host || !*row.name)
				continue;
			CHECK(!strstr(row.name, before.name));
		}
}

#define ALL (USAGE_INPUT | USAGE_OUTPUT | USAGE_CACHE_READ | USAGE_CACHE_WRITE)

static void call(struct usage_totals *t, const char *model, struct usage u)
{
	struct model_facts f = model_facts_get(str_from(model));

	usage_add(t, str_from(model), &f, &u);
}

TEST(usage_summary_is_the_seed_s_format)
{
	auto_usage struct usage_totals t = { 0 };
	auto_buf struct buf got = BUF_MAX(4096);
	struct budget b = { 2000000, 200000, -1 };
	struct err err = { 0 };

	call(&t, "claude-opus-4-5", (struct usage){ .known = ALL, .input = 18054, .output = 425 });
	for (int i = 0; i < 4; i++)
		call(&t, "claude-sonnet-4-5", (struct usage){ .known = ALL, .input = 2221, .output = i == 0 ? 1171 : 0 });
	CHECK_OK(usage_summary(&t, &b, &got, &err));
	CHECK_STR(buf_str(&got), STR("Token + cost summary:\n"
		"  claude-opus-4-5:   in=18054 out=425  cache_r=0 cache_c=0 calls=1 $0.1009\n"
		"  claude-sonnet-4-5: in=8884  out=1171 cache_r=0 cache_c=0 calls=4 $0.0442\n"
		"  TOTAL: in=26938/2000000 out=1596/200000 cost~$0.1451\n"));
}

TEST(usage_of_an_unknown_price_is_never_zero)
{
	auto_usage struct usage_totals t = { 0 };
	auto_buf struct buf got = BUF_MAX(4096);
	struct budget b = { -1, -1, 10000000 };
	bool complete = true;
	struct err err = { 0 };

	call(&t, "m", (struct usage){ .known = ALL, .input = 10, .output = 1 });
	CHECK_INT(usage_microusd(&t, &complete), 0);
	CHECK(!complete && !usage_price_known(&t));
	CHECK_OK(usage_summary(&t, &b, &got, &err));
	CHECK_STR(buf_str(&got), STR("Token + cost summary:\n"
		"  m: in=10 out=1 cache_r=0 cache_c=0 calls=1 $? (unknown price)\n"
		"  TOTAL: in=10 out=1 cost~$? (no price is known: the limit of $10.00 limits nothing)\n"));

	call(&t, "m", (struct usage){ .known = ALL | USAGE_COST, .input = 5, .cost_picousd = 2500000000000 });
	buf_clear(&got);
	CHECK_OK(usage_summary(&t, &b, &got, &err));
	CHECK(strstr(got.p, "calls=2 $2.50 (reported, some calls unpriced)\n"));
	CHECK(strstr(got.p, "cost~$2.50 of $10.00 (at least: some calls have no known price)\n"));
}

TEST(usage_summary_shows_every_bucket_and_the_end_of_the_budget)
{
	auto_usage struct usage_totals t = { 0 };
	auto_buf struct buf got = BUF_MAX(4096);
	struct budget b = { 30, -1, -1 };
	struct err err = { 0 };

	call(&t, "claude-opus-4-8", (struct usage){ .known = ALL, .input = 10, .output = 2, .cache_read = 30, .cache_write = 40 });
	call(&t, "m", (struct usage){ .known = ALL | USAGE_COST, .output = 1, .cost_picousd = 1000000000000 });
	CHECK_OK(usage_summary(&t, &b, &got, &err));
	CHECK_STR(buf_str(&got), STR("Token + cost summary:\n"
		"  claude-opus-4-8: in=10 out=2 cache_r=30 cache_c=40 calls=1 $0.0004\n"
		"  m:               in=0  out=1 cache_r=0 cache_c=0 calls=1 $1.00 (reported)\n"
		"  TOTAL: in=50/30 out=3 cost~$1.00\n"
		"  STATUS: BUDGET EXCEEDED (budget.max_input_tokens is used up: 50 of 30 tokens)\n"));
}

TEST(usage_of_a_call_without_counters_has_no_known_cost)
{
	auto_usage struct usage_totals t = { 0 };
	bool complete = true;

	call(&t, "claude-opus-4-8", (struct usage){ .known = 0 });
	CHECK_INT(usage_microusd(&t, &complete), 0);
	CHECK(!complete && !usage_price_known(&t));
	CHECK_INT(t.p[0].unmetered_calls, 1);
}

TEST(usage_cost_knows_caches_tiers_and_what_the_server_reports)
{
	static const struct {
		const char *why, *model;
		struct usage u;
		int64_t microusd;
	} rows[] = {
		{ "each bucket has its price", "claude-opus-4-8",
			{ .known = ALL, .input = 1000, .output = 100, .cache_read = 10000, .cache_write = 2000 }, 5000 + 2500 + 5000 + 12500 },
		{ "cached tokens inside the prompt, 3/15/0.30", "claude-sonnet-4-5", { .known = ALL, .input = 1000, .cache_read = 9000, .output = 100 }, 7200 },
		{ "and beside it, with a write at 3.75", "claude-sonnet-4-5",
			{ .known = ALL, .input = 3, .cache_write = 100000, .cache_read = 20000, .output = 100 }, 382509 },
		{ "reported beats estimated", "claude-opus-4-8", { .known = ALL | USAGE_COST, .input = 1000, .cost_picousd = 7000000 }, 7 },
		{ "a large prompt pays the tier", "claude-haiku-5-5", { .known = ALL, .input = 200000 }, 100000 },
		{ "cached tokens are part of a large prompt", "claude-haiku-5-5", { .known = ALL, .cache_read = 60000, .cache_write = 60000 },
			60000 * 5 / 10 + 60000 * 625 / 1000 },
		{ "a small one does not", "claude-haiku-5-5", { .known = ALL, .input = 100000 }, 10000 },
		{ "tiny calls do not vanish", "gpt-6-luna", { .known = ALL, .input = 4 }, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_usage struct usage_totals t = { 0 };
		bool complete = false;

		call(&t, rows[i].model, rows[i].u);
		CHECK_INT(usage_microusd(&t, &complete), rows[i].microusd);
		CHECK(complete);
	}
	auto_usage struct usage_totals many = { 0 };
	bool complete;
	for (int i = 0; i < 10; i++)
		call(&many, "gpt-6-luna", (struct usage){ .known = ALL, .input = 4 });
	CHECK_INT(usage_microusd(&many, &complete), 4);
}

TEST(usage_counters_stop_at_the_largest_number)
{
	auto_usage struct usage_totals t = { 0 };
	struct budget b = { 1000, -1, -1 };

	for (int i = 0; i < 3; i++)
		call(&t, "claude-opus-4-8", (struct usage){ .known = ALL, .input = INT64_MAX, .output = INT64_MAX });
	CHECK_INT(usage_input(&t), INT64_MAX);
	CHECK_INT(budget_check(&b, &t, NULL, NULL, ERR_DISCARD), -ERR_LIMIT);
}

TEST(usage_that_no_server_counted_is_estimated_and_marked)
{
	auto_usage struct usage_totals t = { 0 };
	auto_buf struct buf got = BUF_MAX(4096);
	struct budget b = { 1000, -1, -1 };
	struct usage none = { 0 }, half = { .known = USAGE_INPUT | USAGE_OUTPUT, .output = 5 },
		 all = { .known = ALL, .input = 7, .output = 0 };
	struct err err = { 0 };

	CHECK(usage_estimate(&none, 3000, 30) && none.estimated && none.input == 1001 && none.output == 11);
	CHECK(usage_estimate(&half, 30, 3000) && half.input == 11 && half.output == 5);
	CHECK(!usage_estimate(&all, 30, 30) && !all.estimated && all.input == 7 && all.output == 0);
	call(&t, "claude-opus-4-8", none);
	CHECK_INT(t.p[0].estimated_calls, 1);
	CHECK_INT(budget_check(&b, &t, NULL, NULL, &err), -ERR_LIMIT);
	CHECK_OK(usage_summary(&t, &b, &got, &err));
	CHECK(strstr(got.p, "calls=1 $0.0053 (tokens estimated)\n"));
}

TEST(budget_stops_before_the_request_that_would_pass_a_bound)
{
	static const struct {
		const char *why;
		struct budget b;
		struct usage last;
		const char *word; /* empty: the request may go */
	} rows[] = {
		{ "room for it", { 300, -1, -1 }, { .known = ALL, .input = 100 }, "" },
		{ "no room", { 299, -1, -1 }, { .known = ALL, .input = 100 },
			"budget.max_input_tokens would be passed: 100 of 299 tokens are used, the next request takes about 200" },
		{ "what a cache holds is not sent again", { 201, -1, -1 }, { .known = ALL, .input = 10, .cache_write = 90 }, "" },
		{ "dollars", { -1, -1, 1499 }, { .known = ALL, .input = 100 },
			"budget.max_usd would be passed: $0.0005 of $0.001499 are used, the next request takes about $0.0010" },
		{ "cached dollars", { -1, -1, 1200 }, { .known = ALL, .cache_read = 50, .input = 50 }, "" },
	};
	struct model_facts opus = model_facts_get(STR("claude-opus-4-8"));

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_usage struct usage_totals t = { 0 };
		struct usage_forecast f = { 400, rows[i].last };
		struct usage next = usage_next(&f, 800);
		struct err err = { 0 };

		usage_add(&t, STR("m"), &opus, &rows[i].last);
		CHECK_INT(budget_check(&rows[i].b, &t, &next, &opus, &err), rows[i].word[0] ? -ERR_LIMIT : 0);
		CHECK_STR(str_from(err.msg), str_from(rows[i].word));
	}
	CHECK_INT(usage_next(&(struct usage_forecast){ 0 }, 1 << 20).input, 32768); /* nothing was counted yet: at 32 bytes a token, the most there are */
}

TEST(usage_shows_a_server_that_cuts_the_conversation_without_a_word)
{
	static const struct {
		const char *why;
		size_t before, now;
		int64_t was, is;
		bool cut;
	} rows[] = {
		{ "it grew by both", 16000, 32000, 4000, 8000, false },
		{ "it grew by bytes alone", 16000, 32000, 4000, 4000, true },
		{ "it even shrank", 16000, 32000, 4000, 3900, true },
		{ "a little more is no proof", 16000, 20000, 4000, 4000, false },
		{ "a compaction", 32000, 16000, 8000, 4000, false },
		{ "the first request", 0, 32000, 0, 10, false },
		{ "blanks pack well", 16000, 32000, 4000, 4600, false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct usage_forecast f = { rows[i].before, { .known = ALL, .input = rows[i].was } };
		struct usage now = { .known = ALL, .input = rows[i].is };

		CHECK_INT(usage_was_cut(&f, rows[i].now, &now), rows[i].cut);
	}
}

TEST(budget_allows_the_call_that_reaches_a_bound_and_refuses_the_next)
{
	static const struct {
		const char *why;
		struct budget b;
		bool refused;
		const char *word;
		double left;
	} rows[] = {
		{ "below all", { 101, 11, 1001 }, false, "", 1.0 / 1001 },
		{ "input reached", { 100, 11, -1 }, true, "budget.max_input_tokens is used up: 100 of 100 tokens", 0 },
		{ "output reached", { -1, 10, -1 }, true, "budget.max_output_tokens is used up: 10 of 10 tokens", 0 },
		{ "money reached", { -1, -1, 1000 }, true, "budget.max_usd is used up: $0.0010 of $0.0010", 0 },
		{ "nothing is limited", { -1, -1, -1 }, false, "", 1 },
		{ "zero allows nothing", { 0, -1, -1 }, true, "budget.max_input_tokens is used up: 100 of 0 tokens", 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_usage struct usage_totals t = { 0 };
		struct err err = { 0 };
		double left;

		call(&t, "m", (struct usage){ .known = ALL | USAGE_COST, .input = 60, .cache_write = 40, .cache_read = 900,
			.output = 10, .cost_picousd = 1000000000 });
		CHECK_INT(budget_check(&rows[i].b, &t, NULL, NULL, &err), rows[i].refused ? -ERR_LIMIT : 0);
		CHECK_STR(str_from(err.msg), str_from(rows[i].word));
		left = budget_remaining(&rows[i].b, &t) - rows[i].left;
		CHECK(left < 1e-9 && left > -1e-9);
	}
}
