/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/agent/world.h"

#define LS          "[\"list_dir\",{\"path\":\".\"}]"
#define FIN         "[\"finish_run\",{\"summary\":\"done\"}]"
#define RUN(word)   "[\"run_command\",{\"argv\":[\"" word "\"]}]"
#define TURN(calls) "{\"calls\":[" calls "]}"

static bool holds(struct str s, const char *part)
{
	return str_find(s, str_from(part)) < s.n;
}

static struct str request(struct world *w, size_t i)
{
	auto_buf struct buf b = BUF_MAX(1 << 24);

	CHECK(json_add(&b, json_array_get(w->requests, i), ERR_DISCARD) == 0);
	return str_dup(w->mem, buf_str(&b));
}

/* What a person does at the pause, and what the model sees of it. */
static const struct {
	const char *why, *script;
	const char *reason;
	size_t requests, parked;
	const char *told;  /* in the last request, or NULL */
	const char *event; /* must be there, or NULL */
} cases[] = {
	{ "going on says nothing to the model",
		"{\"parked\":[\"continue\"],\"turns\":[{\"act\":\"pause\",\"calls\":[" LS "]}," TURN(FIN) "]}", "finish_run", 2, 1,
		NULL, "loop.parked.resumed" },
	{ "words go on with the run",
		"{\"parked\":[\"go on: use tabs\"],\"turns\":[{\"act\":\"pause\",\"calls\":[" LS "]}," TURN(FIN) "]}", "finish_run",
		2, 1, "use tabs", "loop.steer.injected" },
	{ "a stop at the pause ends the run",
		"{\"parked\":[\"stop\"],\"turns\":[{\"act\":\"pause\",\"calls\":[" LS "]}," TURN(FIN) "]}", "steer_abort", 1, 1,
		NULL, NULL },
	{ "an answer that is in flight is given up and asked for again",
		"{\"parked\":[\"go on: shorter\"],\"turns\":[{\"act\":\"pause now\",\"hang\":true}," TURN(FIN) "]}", "finish_run", 2,
		1, "shorter", "loop.parked" },
	{ "a command that is in flight is stopped, and what came after it is not run",
		"{\"parked\":[\"continue\"],\"turns\":[" TURN(RUN("a") "," RUN("b")) "," TURN(
			FIN) "],\"jobs\":[{\"why\":\"hang\",\"act\":\"pause now\"}]}",
		"finish_run", 2, 1, "stopped this call", "loop.parked" },
	{ "words that come before the pause are kept, and it holds",
		"{\"parked\":[\"continue\"],\"turns\":[{\"act\":\"pause\",\"calls\":[" RUN("a") "]}," TURN(FIN) "],\"jobs\":[{\"act\":\"steer use tabs\"}]}",
		"finish_run", 2, 1, "use tabs", "loop.parked" },
	{ "a question beside the work is answered and forgotten",
		"{\"turns\":[{\"act\":\"btw what is f?\",\"calls\":[" LS "]},{\"text\":\"a file\"}," TURN(FIN) "]}", "finish_run",
		3, 0, NULL, "loop.btw.answer" },
	{ "a summary that is in flight is given up, and the run waits",
		"{\"notes\":[{\"act\":\"pause now\",\"hang\":true}],\"parked\":[\"continue\"],\"turns\":[" TURN(LS) "," TURN(
			RUN("a")) ",{\"act\":\"compact\",\"calls\":[" RUN("b") "]}," TURN(FIN) "]}",
		"finish_run", 5, 1, NULL, "loop.parked.resumed" },
	{ "nothing to set aside is said",
		"{\"turns\":[{\"act\":\"compact\",\"calls\":[" LS "]}," TURN(FIN) "]}", "finish_run", 2, 0, NULL,
		"loop.compact.refused" },
};

TEST(a_person_at_the_boundary_between_two_turns)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_world struct world w;

		world_init(&w);
		world_play(&w, cases[i].script);
		if (!str_eqz(w.reason, cases[i].reason) || json_array_size(w.requests) != cases[i].requests)
			print_error("case: %s: " STR_FMT "\n", cases[i].why, STR_ARG(w.message));
		CHECK_STR(w.reason, str_from(cases[i].reason));
		CHECK_INT(json_array_size(w.requests), cases[i].requests);
		CHECK_INT(world_count(&w, "loop.parked"), cases[i].parked);
		CHECK_INT(w.unsynced_requests, 0);
		CHECK(world_pairs(w.messages));
		if (cases[i].told && !holds(request(&w, json_array_size(w.requests) - 1), cases[i].told))
			fail_msg("case: %s: the model was not told \"%s\"", cases[i].why, cases[i].told);
		if (cases[i].event && world_count(&w, cases[i].event) == 0)
			fail_msg("case: %s: no event %s", cases[i].why, cases[i].event);
	}
}

TEST(a_question_beside_the_work_leaves_no_trace_in_the_conversation)
{
	auto_world struct world w;

	world_init(&w);
	world_play(&w, "{\"turns\":[{\"act\":\"btw what is f?\",\"calls\":[" LS "]},{\"text\":\"a zebra\"}," TURN(FIN) "]}");
	CHECK(holds(request(&w, 1), "what is f?"));
	CHECK(holds(request(&w, 1), "\"tool_choice\":\"none\""));
	CHECK(!holds(request(&w, 2), "what is f?") && !holds(request(&w, 2), "a zebra"));
	CHECK_STR(json_get_str(world_event(&w, "loop.btw.answer", 0), "text"), STR("a zebra"));
	CHECK(json_equal(json_object_get(json_array_get(w.requests, 1), "tools"),
		json_object_get(json_array_get(w.requests, 2), "tools"))); /* the cache serves it */
}

TEST(a_person_who_says_a_lot_at_once_ends_no_run)
{
	auto_world struct world w;
	auto_buf struct buf s = BUF_MAX(1 << 20);
	size_t told = 0;

	/* each job says one more thing, and all are heard at the end of the turn */
	world_init(&w);
	CHECK(buf_addz(&s, "{\"turns\":[{\"calls\":[", ERR_DISCARD) == 0);
	for (int i = 0; i < 40; i++)
		CHECK(buf_addf(&s, ERR_DISCARD, "%s[\"run_command\",{\"argv\":[\"c%d\"]}]", i > 0 ? "," : "", i) == 0);
	CHECK(buf_addz(&s, "]}," TURN(FIN) "],\"jobs\":[", ERR_DISCARD) == 0);
	for (int i = 0; i < 40; i++)
		CHECK(buf_addf(&s, ERR_DISCARD, "%s{\"act\":\"steer word %d\"}", i > 0 ? "," : "", i) == 0);
	CHECK(buf_addz(&s, "]}", ERR_DISCARD) == 0);
	world_play(&w, s.p);
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(world_count(&w, "loop.steer.injected"), 32);
	for (size_t i = 0; i < world_count(&w, "run.notice"); i++)
		told += holds(json_get_str(world_event(&w, "run.notice", i), "text"), "the last words are lost");
	CHECK_INT(told, 1);
}
