/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Events that tell what happens as it happens: when they come, how often, and what they say. That there is no other event than
 * those which somebody sends is test_audit.py's. */
#include "test/agent/world.h"

#define LS  "[\"list_dir\",{\"path\":\".\"}]"
#define FIN "[\"finish_run\",{\"summary\":\"done\"}]"
#define VER "[\"run_verify_command\",{}]"
#define MET "[\"run_metric_command\",{}]"
#define RUN "[\"run_command\",{\"argv\":[\"cargo\",\"test\"]}]"
#define MAKE(file)                                                                                                              \
	"[\"apply_edit\",{\"path\":\"" file "\",\"edits\":[{\"kind\":\"create\",\"new_string\":\"x\\n\"}]}]"
#define TURN(calls) "{\"calls\":[" calls "]}"
#define TEXT(text)  "{\"text\":\"" text "\"}"
#define TURNS(all)  "{\"turns\":[" all "]}"
#define APPROVED    TEXT("{\\\"approved\\\":true}")
#define PLANNED     TEXT("{\\\"summary\\\":\\\"s\\\",\\\"steps\\\":[{\\\"title\\\":\\\"first\\\"}]}") "," TEXT("{\\\"verdict\\\":\\\"ok\\\"}")

static void with_metric(struct world *w)
{
	world_metric(w);
	w->params.metric_goal = STR("maximize");
	world_gate(w);
}

static void planned(struct world *w)
{
	w->params.workflow = STR("implement");
	world_repository(w);
}

static const struct {
	const char *why, *script;
	void (*set)(struct world *w);
	const char *event;
	size_t n;
	const char *says; /* somewhere in the first of them */
} rows[] = {
	{ "each call is told with its turn", TURNS(TURN(LS "," LS) "," TURN(FIN)), NULL, "loop.tool.call", 3, "\"iteration\":1" },
	{ "the metric begins when the model asks for it", "{\"turns\":[" TURN(MET) "," TURN(FIN) "],\"jobs\":[{\"out\":\"1\"}]}", with_metric,
		"metric.start", 1, "\"cmd\":[\"score\"]" },
	{ "and after a green gate by itself", "{\"turns\":[" TURN(MAKE("a") "," VER) "," TURN(FIN) "],\"jobs\":[{},{\"out\":\"1\"}]}", with_metric,
		"metric.start", 1, "\"cmd\":[\"score\"]" },
	{ "words are told when the loop listens, several at once as one", TURNS("{\"act\":\"steer a\",\"calls\":[" LS "]}" "," TURN(FIN)), NULL,
		"loop.steer.requested", 1, "\"iteration\":1" },
	{ "a stop after the step", TURNS("{\"act\":\"stop\",\"calls\":[" LS "]}"), NULL, "loop.steer.aborted", 1, "\"iteration\":1" },
	{ "a stop now is no words", TURNS("{\"act\":\"now\",\"hang\":true}"), NULL, "loop.steer.aborted", 0, NULL },
	{ "a wish for a smaller context", TURNS("{\"act\":\"compact the API\",\"calls\":[" LS "]}" "," TURN(FIN)), NULL, "loop.compact.requested", 1,
		"\"focus\":\"the API\"" },
	{ "a program that is not there, once", "{\"turns\":[" TURN(RUN "," RUN) "," TURN(FIN) "],\"jobs\":[{\"why\":\"unrunnable\"},{\"why\":\"unrunnable\"}]}",
		NULL, "loop.sandbox_tool_unreachable", 1, "\"binary\":\"cargo\"" },
	{ "a program that fails is there", "{\"turns\":[" TURN(RUN) "," TURN(FIN) "],\"jobs\":[{\"code\":127}]}", NULL,
		"loop.sandbox_tool_unreachable", 0, NULL },
	{ "what a step came to", TURNS(PLANNED "," TURN(MAKE("a")) "," TURN(MAKE("b")) "," TURN(FIN) "," APPROVED), planned, "step.diff", 1, "+++ b/b" },
	{ "a step without a change has no difference", TURNS(PLANNED "," TURN(LS) "," TURN(FIN)), planned, "step.diff", 0, NULL },
	{ "who is asked before there is a conversation", TURNS(PLANNED "," TURN(FIN)), planned, "loop.note", 2, "the planner splits" },
};

TEST(what_happens_is_on_record_when_it_happens)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_world struct world w;
		auto_buf struct buf b = BUF_MAX(1 << 20);

		world_init(&w);
		test_write(&w.dir, "seen", STR("one\n"));
		if (rows[i].set)
			rows[i].set(&w);
		world_play(&w, rows[i].script);
		if (world_count(&w, rows[i].event) != rows[i].n)
			fail_msg("case: %s: %zu %s, " STR_FMT, rows[i].why, world_count(&w, rows[i].event), rows[i].event, STR_ARG(w.reason));
		if (rows[i].n == 0)
			continue;
		CHECK(json_add(&b, world_event(&w, rows[i].event, 0), ERR_DISCARD) == 0);
		if (str_find(buf_str(&b), str_from(rows[i].says)) == b.n)
			fail_msg("case: %s: " STR_FMT, rows[i].why, STR_ARG(buf_str(&b)));
	}
}

TEST(a_leg_that_goes_on_says_what_is_pinned_and_what_was_set_aside)
{
	auto_world struct world first, second;
	struct str pins[] = { STR("never touch f3") };
	char text[4000];

	memset(text, 'x', sizeof(text));
	world_init(&first);
	for (int i = 0; i < 5; i++)
		test_write(&first.dir, str_printf(first.mem, "f%d", i).p, str_of(text, sizeof(text)));
	first.params.drop_at_chars = 9000;
	first.params.summarise_at_chars = 1 << 20;
	first.params.pins = (struct str_list){ pins, 1 };
	world_play(&first, TURNS(TURN("[\"read_file\",{\"path\":\"f0\"}]") "," TURN("[\"read_file\",{\"path\":\"f1\"}]") ","
		TURN("[\"read_file\",{\"path\":\"f2\"}]") "," TURN("[\"read_file\",{\"path\":\"f3\"}]") "," TURN("[\"read_file\",{\"path\":\"f4\"}]") ","
		TURN(FIN)));
	CHECK(world_count(&first, "loop.compact.dropped") + world_count(&first, "loop.compact.deduped") > 0);
	CHECK_INT(world_count(&first, "loop.compact.restored") + world_count(&first, "loop.pin.restored"), 0);

	world_init(&second);
	second.prior = &first;
	second.params.resume = 1;
	world_play(&second, "{\"steer\":\"go on\",\"turns\":[" TURN(FIN) "]}");
	const json_t *pinned = world_event(&second, "loop.pin.restored", 0), *aside = world_event(&second, "loop.compact.restored", 0);

	CHECK(pinned && aside);
	CHECK_INT(json_get_int(pinned, "count", 0), 1);
	CHECK_STR(json_view(json_array_get(json_object_get(pinned, "pins"), 0)), pins[0]);
	CHECK_INT(json_get_int(aside, "elided", 0), json_get_int(first.state, "context_elided", -1));
	CHECK(json_get_int(aside, "gists", -1) >= 0 && json_get_int(aside, "gists", -1) <= json_get_int(aside, "elided", 0));
}
