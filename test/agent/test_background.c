/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/agent/world.h"

#include <string.h>

#define FIN        "[\"finish_run\",{\"summary\":\"done\"}]"
#define RUN(word)  "[\"run_command\",{\"argv\":[\"" word "\"]}]"
#define SERVE      "[\"run_command\",{\"argv\":[\"serve\",\"it all\"],\"background\":true}]"
#define READ(args) "[\"read_background\",{" args "}]"
#define STOP(id)   "[\"stop_background\",{\"id\":\"" id "\"}]"
#define TURN(calls) "{\"calls\":[" calls "]}"
#define HANG       "{\"why\":\"hang\",\"out\":\"ready\\n\"}"

static bool holds(struct str s, const char *part)
{
	return str_find(s, str_from(part)) < s.n;
}

/* Block b of user message i, as the model got it. */
static struct str block(const struct world *w, size_t i, size_t b)
{
	const json_t *content = json_object_get(json_array_get(w->messages, i), "content");
	const json_t *part = json_array_get(content, b);
	struct str text = json_get_str(part, "text");

	return text.n > 0 ? text : json_get_str(part, "content");
}

static bool says(const struct world *w, size_t i, size_t b, const char *part)
{
	struct str s = block(w, i, b);

	if (holds(s, part))
		return true;
	print_error("message %zu, block %zu is \"" STR_FMT "\"\n", i, b, STR_ARG(s));
	return false;
}

TEST(a_background_command_is_named_read_in_pieces_and_stopped)
{
	auto_world struct world w;

	world_init(&w);
	world_play(&w, "{\"turns\":[" TURN(SERVE) "," TURN(READ("\"id\":\"bg1\"")) "," TURN(READ("\"id\":\"bg1\"")) ","
		TURN(READ("") "," READ("\"id\":\"bg7\"")) "," TURN(STOP("bg1")) "," TURN(FIN) "],\"jobs\":[" HANG "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK(says(&w, 2, 0, "\"returncode\":null") && says(&w, 2, 0, "\"still_running\":true,\"background_id\":\"bg1\""));
	CHECK(says(&w, 4, 0, "{\"shells\":[\"[bg1] running: serve 'it all'\"],\"output\":\"ready\\n\"}"));
	CHECK(says(&w, 6, 0, "\"output\":\"\"")); /* it was told already */
	CHECK(says(&w, 8, 0, "{\"shells\":[\"[bg1] running: serve 'it all'\"]}"));
	CHECK(says(&w, 8, 1, "there is no background command \\\"bg7\\\"; known: bg1"));
	CHECK(says(&w, 10, 0, "[bg1] stopped: serve"));
	CHECK_INT(w.kills, 1);
	CHECK_INT(world_count(&w, "command.backgrounded"), 1);
	CHECK(!json_is_true(json_object_get(world_event(&w, "command.backgrounded", 0), "handed_back")));
	CHECK_STR(json_get_str(world_event(&w, "command.ended", 0), "state"), STR("stopped"));
}

TEST(the_end_of_a_background_command_is_told_once_with_the_results_of_a_turn)
{
	auto_world struct world w;

	world_init(&w);
	world_play(&w, "{\"turns\":[" TURN(SERVE) "," TURN(RUN("a")) "," TURN(RUN("b")) "," TURN(FIN) "],\"jobs\":[" HANG
		",{\"ends\":1},{}]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK(says(&w, 4, 1, "[bg1] exited (exit 4): serve 'it all' -- a note"));
	CHECK(block(&w, 6, 1).n == 0);
	CHECK_INT(world_count(&w, "command.ended"), 1);
	CHECK_INT(json_get_int(world_event(&w, "command.ended", 0), "exit_code", -1), 4);
	CHECK_INT(w.kills, 0);
}

TEST(a_command_that_takes_too_long_is_handed_back_with_what_it_wrote)
{
	auto_world struct world w;

	world_init(&w);
	w.params.command_checkin_s = 1;
	world_play(&w, "{\"turns\":[" TURN(RUN("build")) "," TURN(RUN("a")) "," TURN(FIN) "],\"jobs\":[" HANG ",{\"ends\":1}]}");
	CHECK(says(&w, 2, 0, "\"stdout\":\"ready\\n\"") && says(&w, 2, 0, "\"background_id\":\"bg1\""));
	CHECK(says(&w, 4, 1, "[bg1] exited (exit 4): build"));
	CHECK(json_is_true(json_object_get(world_event(&w, "command.backgrounded", 0), "handed_back")));
}

TEST(background_commands_end_with_the_run_and_the_next_leg_is_told)
{
	auto_world struct world w, next;

	world_init(&w);
	world_play(&w, "{\"turns\":[" TURN(SERVE) "," TURN(FIN) "],\"jobs\":[" HANG "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(w.kills, 1);
	CHECK_STR(json_get_str(world_event(&w, "command.ended", 0), "state"), STR("stopped with the run"));
	world_init(&next);
	next.prior = &w;
	next.params.resume = 1;
	world_play(&next, "{\"turns\":[" TURN(SERVE) "," TURN(FIN) "],\"jobs\":[" HANG "]}");
	CHECK_STR(next.reason, STR("finish_run"));
	struct str told = world_text(json_array_get(next.messages, 5));
	CHECK(holds(told, "Commands that ran in the background ended with the last leg: bg1: serve 'it all'"));
	CHECK_STR(json_get_str(world_event(&next, "command.backgrounded", 0), "id"), STR("bg2")); /* never the same name */
}

TEST(a_ninth_background_command_is_refused_until_one_has_ended)
{
	auto_world struct world w;

	world_init(&w);
	world_play(&w, "{\"turns\":["
		TURN(SERVE "," SERVE "," SERVE "," SERVE "," SERVE "," SERVE "," SERVE "," SERVE "," SERVE) ","
		TURN(STOP("bg3") "," SERVE "," READ("")) "," TURN(FIN) "],\"jobs\":["
		HANG "," HANG "," HANG "," HANG "," HANG "," HANG "," HANG "," HANG "," HANG "]}");
	CHECK(says(&w, 2, 7, "\"background_id\":\"bg8\""));
	CHECK(says(&w, 2, 8, "8 commands run in the background already"));
	CHECK(says(&w, 4, 1, "\"background_id\":\"bg9\""));
	CHECK(says(&w, 4, 2, "[bg2] running") && !holds(block(&w, 4, 2), "bg3") && says(&w, 4, 2, "[bg9] running"));
	CHECK_INT(w.kills, 9);
	CHECK_INT(world_count(&w, "command.ended"), 9);
}

TEST(last_words_while_a_background_command_runs_are_asked_about_once)
{
	auto_world struct world w;

	world_init(&w);
	world_play(&w, "{\"turns\":[" TURN(SERVE) ",{\"text\":\"I wait for it.\"},{\"text\":\"Done.\"}],\"jobs\":[{\"why\":\"hang\","
		"\"write\":\"made\"}]}");
	CHECK_STR(w.reason, STR("silent_finish"));
	CHECK_INT(world_count(&w, "loop.background.nudge"), 1);
	CHECK_INT(w.kills, 1);
}

TEST(a_stop_now_ends_the_wait_for_a_background_command)
{
	auto_world struct world w;

	world_init(&w);
	world_play(&w, "{\"turns\":[" TURN(SERVE) ",{\"act\":\"now\",\"calls\":[" READ("\"id\":\"bg1\",\"wait_s\":600") "]}],"
		"\"jobs\":[" HANG "]}");
	CHECK_STR(w.reason, STR("interrupted"));
	CHECK_INT(w.kills, 1);
}

static struct str gate[] = { { "make", 4 }, { "test", 4 } };

TEST(a_model_that_waits_for_a_background_command_is_not_taken_for_done)
{
	auto_world struct world w;
	auto_buf struct buf s = BUF_MAX(65536);

	world_init(&w);
	w.params.verify_command = (struct str_list){ gate, 2 };
	CHECK(buf_addz(&s, "{\"turns\":[" TURN("[\"apply_edit\",{\"path\":\"a\",\"edits\":[{\"kind\":\"create\",\"new_string\":\"x\"}]}],"
		"[\"run_verify_command\",{}]") "," TURN(SERVE), ERR_DISCARD) == 0);
	for (int i = 0; i < 12; i++) /* the last time it has ended, so none of them really waits */
		CHECK(buf_addz(&s, "," TURN(READ("\"id\":\"bg1\",\"wait_s\":600")), ERR_DISCARD) == 0);
	CHECK(buf_addz(&s, "," TURN(FIN) "],\"jobs\":[{},{}]}", ERR_DISCARD) == 0);
	world_play(&w, buf_str(&s).p);
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(world_count(&w, "loop.verify_settled.nudge"), 0);
	CHECK_INT(world_count(&w, "loop.loop_guard.triggered"), 0);
}
