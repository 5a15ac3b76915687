/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/agent/world.h"

#define LS  "[\"list_dir\",{\"path\":\".\"}]"
#define FIN "[\"finish_run\",{\"summary\":\"done\"}]"
#define VER "[\"run_verify_command\",{}]"
#define MAKE(file)                                                                                           \
	"[\"apply_edit\",{\"path\":\"" file "\",\"edits\":[{\"kind\":\"create\",\"new_string\":\"x\\n\"}]}]"
#define TURN(calls) "{\"calls\":[" calls "]}"

static struct str words[] = { { "make", 4 }, { "test", 4 } };

static bool holds(struct str s, const char *part)
{
	return str_find(s, str_from(part)) < s.n;
}

static void again(struct world *w, const struct world *first)
{
	world_init(w);
	w->prior = first;
	w->params = first->params;
	w->params.resume = 1;
	w->params.workspace = str_from(w->dir.path);
}

TEST(a_resumed_run_goes_on_with_the_turn_that_comes_next)
{
	auto_world struct world w;

	world_init(&w);
	w.params.verify_command = (struct str_list){ words, 2 };
	world_play(&w, "{\"turns\":[" TURN(MAKE("a")) ",{\"act\":\"stop\",\"calls\":[" VER "]}]}");
	CHECK_STR(w.reason, STR("steer_abort"));

	auto_world struct world v;

	again(&v, &w);
	world_play(&v, "{\"turns\":[" TURN(FIN) "]}");
	CHECK_STR(v.reason, STR("finish_run"));
	CHECK_INT(v.code, 0);
	CHECK_STR(json_get_str(world_event(&v, "run.end", 0), "verified"),
		STR("passed")); /* known from the first leg */
	CHECK_INT(json_get_int(world_event(&v, "loop.resume.start", 0), "iteration", 0), 3);
	CHECK_INT(json_get_int(world_event(&v, "run.end", 0), "iterations", 0), 3);
	CHECK_INT(world_count(&v, "run.start"), 0);
	CHECK(world_pairs(v.messages));
	/* What was said before is said again, to the byte, before anything new. */
	const json_t *old = json_object_get(json_array_get(w.requests, 1), "messages");
	const json_t *now = json_object_get(json_array_get(v.requests, 0), "messages");
	CHECK(json_array_size(now) > json_array_size(old));
	for (size_t i = 0; i < json_array_size(old); i++)
		CHECK(json_equal(json_array_get(old, i), json_array_get(now, i)));
}

TEST(a_finished_run_goes_on_when_the_person_has_more_to_say)
{
	auto_world struct world w;

	world_init(&w);
	world_play(&w, "{\"turns\":[" TURN(MAKE("a")) ",{\"text\":\"All done.\"}]}");
	CHECK_STR(w.reason, STR("silent_finish"));

	auto_world struct world v;

	again(&v, &w);
	world_play(&v, "{\"steer\":\"and b\",\"turns\":[" TURN(FIN) "]}");
	CHECK_STR(v.reason, STR("finish_run"));
	const json_t *now = json_object_get(json_array_get(v.requests, 0), "messages");
	auto_buf struct buf last = BUF_MAX(65536);
	CHECK(json_add(&last, json_array_get(now, json_array_size(now) - 1), ERR_DISCARD) == 0);
	CHECK(holds(buf_str(&last), "and b"));
}

TEST(patience_starts_anew_with_a_leg)
{
	auto_world struct world w;

	world_init(&w);
	world_play(&w, "{\"turns\":[{\"text\":\"\"},{\"text\":\"\"},{\"text\":\"\"},{\"text\":\"\"},{"
		       "\"text\":\"\"}]}");
	CHECK_STR(w.reason, STR("went_quiet"));

	auto_world struct world v;

	again(&v, &w);
	world_play(&v, "{\"turns\":[{\"text\":\"\"}," TURN(FIN) "]}");
	CHECK_STR(v.reason, STR("finish_run"));
}

TEST(a_gate_that_the_operator_changed_is_told_to_the_model)
{
	static struct str other[] = { { "make", 4 }, { "check", 5 } };
	auto_world struct world w;

	world_init(&w);
	w.params.verify_command = (struct str_list){ words, 2 };
	world_play(&w, "{\"turns\":[" TURN(MAKE("a") "," VER) ",{\"act\":\"stop\",\"calls\":[" LS "]}]}");

	auto_world struct world v;

	again(&v, &w);
	v.params.verify_command = (struct str_list){ other, 2 };
	world_play(&v, "{\"turns\":[" TURN(FIN) "]}");
	CHECK_INT(world_count(&v, "loop.verify_swapped"), 1);
	CHECK_STR(json_get_str(world_event(&v, "run.end", 0), "verified"), STR("unverified"));
	CHECK(holds(world_text(json_array_get(v.messages, json_array_size(v.messages) - 3)),
		"another verify command"));
}

TEST(a_record_without_a_checkpoint_is_refused_and_kept)
{
	auto_world struct world w;

	world_init(&w);
	w.params.resume = 1;
	world_play(&w, "{\"turns\":[]}");
	CHECK_INT(w.code, 2);
	CHECK(!w.discard);
	CHECK(holds(w.message, "no checkpoint"));
}
