/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/agent/world.h"

#include <string.h>
#include <sys/stat.h>

#define LS  "[\"list_dir\",{\"path\":\".\"}]"
#define FIN "[\"finish_run\",{\"summary\":\"done\"}]"
#define VER "[\"run_verify_command\",{}]"
#define MAKE(file)                                                                                           \
	"[\"apply_edit\",{\"path\":\"" file "\",\"edits\":[{\"kind\":\"create\",\"new_string\":\"x\\n\"}]}]"
#define TURN(calls) "{\"calls\":[" calls "]}"

static struct str words[] = { { "make", 4 }, { "test", 4 } };

static const json_t *message(const struct world *w, size_t i)
{
	return json_array_get(w->messages, i);
}

static bool holds(struct str s, const char *part)
{
	return str_find(s, str_from(part)) < s.n;
}

/* Whether any user message says it. */
static bool was_told(const struct world *w, const char *part)
{
	for (size_t i = 0; i < json_array_size(w->messages); i++) {
		const json_t *content = json_object_get(message(w, i), "content");

		for (size_t b = 0; b < json_array_size(content); b++)
			if (holds(json_get_str(json_array_get(content, b), "text"), part))
				return true;
	}
	return false;
}

TEST(a_steer_reaches_the_model_behind_the_results_of_its_turn)
{
	auto_world struct world w;
	const json_t *content;

	world_init(&w);
	world_play(&w, "{\"turns\":[{\"act\":\"steer use tabs\",\"calls\":[" LS "]}," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	content = json_object_get(message(&w, 2), "content");
	CHECK_STR(json_get_str(json_array_get(content, 0), "type"), STR("tool_result"));
	CHECK(holds(json_get_str(json_array_get(content, 1), "text"), "use tabs"));
	CHECK_STR(json_get_str(world_event(&w, "loop.steer.injected", 0), "text"), STR("use tabs"));
}

TEST(a_steer_that_comes_with_the_last_words_goes_on_with_the_run)
{
	auto_world struct world w;

	world_init(&w);
	world_play(&w, "{\"turns\":[" TURN(MAKE(
			       "a")) ",{\"act\":\"steer and b\",\"text\":\"All done.\"}," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK(was_told(&w, "and b"));
}

TEST(half_an_answer_is_never_a_message)
{
	auto_world struct world w;

	world_init(&w);
	world_play(
		&w, "{\"turns\":[{\"cut\":true,\"text\":\"half of it\",\"calls\":[" LS "]}," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(json_array_size(w.messages), 3); /* task, finish, its result */
	CHECK_INT(world_count(&w, "role.call"), 2);
	CHECK_INT(world_count(&w, "role.result"), 2);
	CHECK(json_is_false(json_object_get(world_event(&w, "role.result", 0), "ok")));
	CHECK(json_is_true(json_object_get(world_event(&w, "role.result", 1), "ok")));
}

TEST(a_server_that_is_busy_is_asked_again_and_counted_once)
{
	auto_world struct world w;

	world_init(&w);
	world_play(&w, "{\"turns\":[{\"status\":503,\"body\":\"busy\"}," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(json_get_int(world_event(&w, "loop.provider.retry", 0), "status_code", 0), 503);
	CHECK_INT(json_get_int(world_event(&w, "run.end", 0), "iterations", 0), 1);
	CHECK_INT(json_array_size(w.transcripts), 2);
}

TEST(requests_can_be_put_together_again_from_the_transcripts)
{
	auto_world struct world w;
	auto_buf struct buf body = BUF_MAX(1 << 24);

	world_init(&w);
	world_play(&w, "{\"turns\":[" TURN(LS) "," TURN(MAKE("a")) "," TURN(FIN) "]}");
	CHECK_INT(json_array_size(w.transcripts), 3);
	for (size_t i = 0; i < 3; i++) {
		const json_t *t = json_array_get(w.transcripts, i), *rq = json_object_get(t, "request");
		auto_json json_t *j = NULL;

		buf_shrink(&body, (size_t)json_get_int(rq, "prefix", -1));
		CHECK(buf_add(&body, json_get_str(rq, "text"), ERR_DISCARD) == 0);
		CHECK(json_decode(buf_str(&body), JSON_EXACT, &j, ERR_DISCARD) == 0);
		CHECK(json_equal(j, json_array_get(w.requests, i)));
		CHECK_INT(json_get_int(json_object_get(t, "response"), "status", 0), 200);
	}
}

TEST(the_budget_ends_a_run_after_the_call_that_reached_it)
{
	auto_world struct world w;

	world_init(&w);
	w.params.max_output_tokens = 15; /* each answer has 10 */
	world_play(&w, "{\"turns\":[" TURN(LS) "," TURN(MAKE("a")) "," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("budget_exhausted"));
	CHECK_INT(w.code, 3);
	CHECK_INT(json_array_size(w.requests), 2);
	CHECK_INT(json_get_int(world_event(&w, "budget.update", 1), "output_total", 0), 20);
	CHECK(was_told(&w, "of the budget is left"));
}

TEST(the_same_red_gate_again_and_again_ends_the_run)
{
	auto_world struct world w;
	auto_buf struct buf s = BUF_MAX(65536);

	world_init(&w);
	w.params.verify_command = (struct str_list){ words, 2 };
	CHECK(buf_addz(&s, "{\"turns\":[", ERR_DISCARD) == 0);
	for (int i = 0; i < 12; i++)
		CHECK(buf_addf(&s, ERR_DISCARD,
			      "{\"calls\":[[\"apply_edit\",{\"path\":\"f%d\",\"edits\":[{\"kind\":\"create\","
			      "\"new_string\":\"x\"}]}]," VER "]},",
			      i) == 0);
	CHECK(buf_addz(&s, TURN(FIN) "],\"jobs\":[", ERR_DISCARD) == 0);
	for (int i = 0; i < 12; i++)
		CHECK(buf_addf(&s, ERR_DISCARD, "%s{\"code\":1,\"out\":\"t.c:%d: failed in 0.%ds\"}",
			      i ? "," : "", i * 7, i) == 0);
	CHECK(buf_addz(&s, "]}", ERR_DISCARD) == 0);
	world_play(&w, buf_str(&s).p);
	CHECK_STR(w.reason, STR("no_progress"));
	CHECK_INT(world_count(&w, "loop.no_progress.nudge"), 2);
	CHECK_INT(world_count(&w, "verify.end"), 10);
}

TEST(a_green_tree_that_rests_is_a_finished_run)
{
	auto_world struct world w;
	auto_buf struct buf s = BUF_MAX(65536);

	world_init(&w);
	w.params.verify_command = (struct str_list){ words, 2 };
	CHECK(buf_addz(&s, "{\"turns\":[" TURN(MAKE("a") "," VER), ERR_DISCARD) == 0);
	for (int i = 0; i < 9; i++)
		CHECK(buf_addf(&s, ERR_DISCARD,
			      ",{\"calls\":[[\"read_file\",{\"path\":\"a\",\"limit\":%d}]]}", i + 1) == 0);
	CHECK(buf_addz(&s, "]}", ERR_DISCARD) == 0);
	world_play(&w, buf_str(&s).p);
	CHECK_STR(w.reason, STR("verify_settled"));
	CHECK_INT(w.code, 0);
	CHECK_INT(world_count(&w, "loop.verify_settled.nudge"), 1);
	CHECK_INT(json_array_size(w.requests), 7); /* the green turn and six that changed nothing */
}

TEST(a_gate_whose_runner_is_missing_is_no_verdict)
{
	auto_world struct world w;

	world_init(&w);
	w.params.verify_command = (struct str_list){ words, 2 };
	world_play(&w, "{\"turns\":[" TURN(MAKE("a") "," VER) "," TURN(
			       FIN) "],\"jobs\":[{\"code\":1,\"errs\":"
				    "\"/usr/bin/python3: No module named pytest\"}]}");
	CHECK_STR(json_get_str(world_event(&w, "run.end", 0), "verified"), STR("unverified"));
	CHECK_INT(world_count(&w, "loop.verify_broken.nudge"), 1);
	CHECK_INT(world_count(&w, "loop.baseline"), 0);
}

TEST(a_repeated_long_result_is_sent_once)
{
	auto_world struct world w;
	auto_arena struct arena *mem = arena_new();
	char *big = arena_alloc(mem, 2001);

	memset(big, 'x', 2000);
	world_init(&w);
	test_write(&w.dir, "a", str_of(big, 2000));
	world_play(&w, "{\"turns\":[" TURN("[\"read_file\",{\"path\":\"a\"}]") "," TURN(
			       "[\"read_file\",{\"path\":\"a\"}]") "," TURN(FIN) "]}");
	CHECK(holds(json_get_str(json_array_get(json_object_get(message(&w, 2), "content"), 0), "content"),
		"xxxx"));
	CHECK(holds(json_get_str(json_array_get(json_object_get(message(&w, 4), "content"), 0), "content"),
		"same_as_before"));
}

TEST(arguments_that_are_no_object_get_an_answer_and_run_nothing)
{
	auto_world struct world w;

	world_init(&w);
	world_play(&w,
		"{\"turns\":[{\"raw\":\"{\\\"path\\\": \",\"calls\":[[\"read_file\",{}]]}," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK(holds(json_get_str(json_array_get(json_object_get(message(&w, 2), "content"), 0), "content"),
		"not valid JSON"));
	CHECK_INT(json_array_size(w.argvs), 0);
}

TEST(what_a_command_prints_is_valid_text_in_every_request)
{
	auto_world struct world w;
	auto_buf struct buf body = BUF_MAX(1 << 24);

	world_init(&w);
	test_write(&w.dir, "a", STR("bad \xff\xfe bytes\n"));
	world_play(&w, "{\"turns\":[" TURN("[\"read_file\",{\"path\":\"a\"}]") "," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run")); /* the world decodes each request as strict JSON */
	CHECK_INT(json_array_size(w.requests), 2);
	CHECK(json_add(&body, json_array_get(w.requests, 1), ERR_DISCARD) == 0);
	CHECK(utf8_valid(buf_str(&body)));
}

TEST(a_run_that_nobody_watches_asks_nobody)
{
	auto_world struct world w;

	world_init(&w);
	world_play(
		&w, "{\"turns\":[" TURN(
			    "[\"ask_user\",{\"questions\":[{\"question\":\"Which?\"}]}]") "," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(w.asked, 0);
}

TEST(a_question_is_answered_by_the_person_who_watches)
{
	auto_world struct world w;

	world_init(&w);
	w.params.attended = 1;
	world_play(
		&w, "{\"answer\":\"the left one\",\"turns\":[" TURN(
			    "[\"ask_user\",{\"questions\":[{\"question\":\"Which?\"}]}]") "," TURN(FIN) "]}");
	CHECK_INT(w.asked, 1);
	CHECK(holds(json_get_str(json_array_get(json_object_get(message(&w, 2), "content"), 0), "content"),
		"the left one"));
}

TEST(a_command_that_was_stopped_is_killed_and_all_calls_of_its_turn_have_a_result)
{
	auto_world struct world w;
	const json_t *content;

	world_init(&w);
	world_play(&w, "{\"turns\":[" TURN(
			       "[\"run_command\",{\"argv\":[\"a\"]}]," LS) "],\"jobs\":[{\"why\":\"hang\","
									   "\"act\":\"now\"}]}");
	CHECK_STR(w.reason, STR("interrupted"));
	CHECK_INT(w.kills, 1);
	content = json_object_get(message(&w, 2), "content");
	CHECK_INT(json_array_size(content), 2);
	CHECK(holds(json_get_str(json_array_get(content, 0), "content"), "interrupted"));
	CHECK(holds(json_get_str(json_array_get(content, 1), "content"), "not run"));
}

TEST(output_keeps_its_head_and_its_tail_and_ends_with_the_job)
{
	auto_world struct world w;
	auto_buf struct buf s = BUF_MAX(1 << 20);
	struct str result;

	world_init(&w);
	CHECK(buf_addz(&s,
		      "{\"turns\":[" TURN("[\"run_command\",{\"argv\":[\"a\"]}]") "," TURN(
			      FIN) "],\"jobs\":[{\"out\":\"first",
		      ERR_DISCARD) == 0);
	for (int i = 0; i < 100000; i++)
		CHECK(buf_addz(&s, "0123", ERR_DISCARD) == 0);
	CHECK(buf_addz(&s, "last\"}]}", ERR_DISCARD) == 0);
	world_play(&w, buf_str(&s).p);
	CHECK_STR(w.reason, STR("finish_run"));
	result = json_get_str(json_array_get(json_object_get(message(&w, 2), "content"), 0), "content");
	CHECK(holds(result, "first0123") && holds(result, "0123last"));
	CHECK(result.n <= 60000);
}

TEST(a_gate_that_the_run_itself_wrote_is_adopted)
{
	auto_world struct world w;
	struct str path[] = { STR("/usr/bin"), STR("/bin") };

	world_init(&w);
	CHECK_INT(world_git(&w, "init", "-q", NULL, NULL), 0);
	w.params.is_git = 1;
	w.params.verify_infer = 1;
	w.params.tool_paths = (struct str_list){ path, 2 };
	world_play(&w, "{\"turns\":[" TURN(MAKE("verify.sh")) "," TURN(VER) "," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_STR(json_get_str(world_event(&w, "loop.verify_inferred", 0), "source"), STR("none"));
	CHECK_STR(json_get_str(world_event(&w, "loop.verify_inferred", 1), "source"), STR("verify.sh"));
	CHECK_INT(json_get_int(world_event(&w, "loop.verify_inferred", 1), "adopted_at", 0), 1);
	CHECK_STR(json_view(json_array_get(json_array_get(w.argvs, 0), 0)), STR("sh"));
	CHECK_STR(json_get_str(world_event(&w, "run.end", 0), "verified"), STR("passed"));
	CHECK(json_equal(json_object_get(json_array_get(w.requests, 0), "tools"),
		json_object_get(json_array_get(w.requests, 2), "tools"))); /* the prefix stays */
}

static void add_many(struct buf *s, const char *what, int n)
{
	for (int i = 0; i < n; i++)
		CHECK(buf_addz(s, what, ERR_DISCARD) == 0);
}

TEST(nothing_a_model_writes_is_too_long_for_the_record)
{
	auto_world struct world w;
	auto_buf struct buf s = BUF_MAX(1 << 24);

	world_init(&w);
	CHECK(buf_addz(&s, "{\"turns\":[{\"text\":\"", ERR_DISCARD) == 0);
	add_many(&s, "\\u0001\\\"", 100000);
	CHECK(buf_addz(&s, "\",\"calls\":[[\"", ERR_DISCARD) == 0);
	add_many(&s, "name", 100000);
	CHECK(buf_addz(&s, "\",{}],[\"read_file\",{\"path\":\"", ERR_DISCARD) == 0);
	add_many(&s, "\\u0001", 100000);
	CHECK(buf_addz(&s, "\"", ERR_DISCARD) == 0);
	for (int i = 0; i < 2000; i++)
		CHECK(buf_addf(&s, ERR_DISCARD, ",\"k%d\":\"0123456789012345678901234567890123456789\"", i) ==
			0);
	CHECK(buf_addz(&s, "}]]},{\"calls\":[[\"finish_run\",{\"summary\":\"", ERR_DISCARD) == 0);
	add_many(&s, "\\u0001", 100000);
	CHECK(buf_addz(&s, "\"}]]}]}", ERR_DISCARD) == 0);
	world_play(&w, buf_str(&s).p); /* the world refuses an event that the recorder would refuse */
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(w.code, 0);
}

TEST(a_long_piece_of_a_stream_is_shown_whole_in_several_events)
{
	auto_world struct world w;
	auto_buf struct buf s = BUF_MAX(1 << 24);
	size_t shown = 0;

	world_init(&w);
	CHECK(buf_addz(&s, "{\"turns\":[" TURN(MAKE("a")) ",{\"stream\":true,\"text\":\"", ERR_DISCARD) == 0);
	add_many(&s, "\\u0001\\u00e9", 100000);
	CHECK(buf_addz(&s, "\"}]}", ERR_DISCARD) == 0);
	world_play(&w, buf_str(&s).p);
	CHECK_STR(w.reason, STR("silent_finish"));
	for (size_t i = 0; i < json_array_size(w.deltas); i++)
		shown += json_get_str(json_array_get(w.deltas, i), "text").n;
	CHECK_INT(shown, 300000);
	CHECK(json_array_size(w.deltas) > 1);
}
