/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/agent/world.h"

#include <sys/wait.h>

#define LS        "[\"list_dir\",{\"path\":\".\"}]"
#define FIN       "[\"finish_run\",{\"summary\":\"done\"}]"
#define VER       "[\"run_verify_command\",{}]"
#define RUN(word) "[\"run_command\",{\"argv\":[\"" word "\"]}]"
#define MAKE(file)                                                                                           \
	"[\"apply_edit\",{\"path\":\"" file "\",\"edits\":[{\"kind\":\"create\",\"new_string\":\"x\\n\"}]}]"
#define READ(nr)    "[\"read_file\",{\"path\":\"n" nr "\"}]"
#define TURN(calls) "{\"calls\":[" calls "]}"
#define X2(t)       t "," t
#define X3(t)       t "," t "," t
#define X5(t)       X2(t) "," X3(t)
#define X10(t)      X5(t) "," X5(t)

/* Every way a run can end that a script can lead to. */
static const struct {
	const char *why, *script;
	bool gate; /* make test */
	bool must_verify;
	int64_t max_iterations; /* 0: 50 */
	const char *reason;
	int code;
	const char *verified;
	const char *event; /* must be in the record, or NULL */
} ends[] = {
	{ "finish at once", "{\"turns\":[" TURN(FIN) "]}", .reason = "finish_run", .code = 0,
		.verified = "not_applicable" },
	{ "a green gate", "{\"turns\":[" TURN(MAKE("a") "," VER) "," TURN(FIN) "]}", .gate = true,
		.reason = "finish_run", .code = 0, .verified = "passed", .event = "verify.end" },
	{ "a red gate",
		"{\"turns\":[" TURN(MAKE("a") "," VER) "," TURN(
			FIN) "],\"jobs\":[{\"code\":1,\"out\":\"bad\"}]}",
		.gate = true, .reason = "finish_run", .code = 4, .verified = "failed" },
	{ "an edit after the green gate", "{\"turns\":[" TURN(VER) "," TURN(MAKE("a")) "," TURN(FIN) "]}",
		.gate = true, .reason = "finish_run", .code = 4, .verified = "unverified" },
	{ "never verified", "{\"turns\":[" TURN(MAKE("a")) "," TURN(FIN) "]}", .gate = true,
		.reason = "finish_run", .code = 4, .verified = "unverified" },
	{ "nothing changed, nothing to verify", "{\"turns\":[" TURN(LS) "," TURN(FIN) "]}", .gate = true,
		.reason = "finish_run", .code = 0, .verified = "not_applicable" },
	{ "the gate was wrong",
		"{\"turns\":[" TURN(MAKE("a") "," VER) "," TURN(
			"[\"finish_run\",{\"summary\":\"s\","
			"\"stale_gate\":\"make check\"}]") "],\"jobs\":[{\"code\":1}]}",
		.gate = true, .reason = "gate_stale", .code = 4, .verified = "failed" },
	{ "a finish is sent back until it is green",
		"{\"turns\":[" TURN(MAKE("a")) "," X2(TURN(FIN)) "," TURN(VER) "," TURN(FIN) "]}",
		.gate = true, .must_verify = true, .reason = "finish_run", .code = 0, .verified = "passed",
		.event = "loop.verify_finish.gated" },
	{ "but not for ever", "{\"turns\":[" TURN(MAKE("a")) "," X5(TURN(FIN)) "]}", .gate = true,
		.must_verify = true, .reason = "finish_run", .code = 4, .verified = "unverified" },
	{ "the gate cannot be run at all",
		"{\"turns\":[" TURN(VER "," LS) "],\"jobs\":[{\"why\":\"unrunnable\"}]}", .gate = true,
		.reason = "verify_command_unexecutable", .code = 1 },
	{ "prose after work", "{\"turns\":[" TURN(MAKE("a")) ",{\"text\":\"All done.\"}]}",
		.reason = "silent_finish", .code = 0 },
	{ "prose instead of work", "{\"turns\":[" X3("{\"text\":\"I would...\"}") "]}",
		.reason = "silent_finish", .code = 0, .event = "loop.silent_no_work.nudge" },
	{ "a question to nobody",
		"{\"turns\":[" TURN(MAKE("a")) ",{\"text\":\"Shall I?\"},{\"text\":\"Shall I?\"}]}",
		.reason = "silent_finish", .code = 0, .event = "loop.question_nudge" },
	{ "empty answers", "{\"turns\":[" X5("{\"text\":\"\"}") "]}", .reason = "went_quiet", .code = 1,
		.event = "loop.went_quiet.nudge" },
	{ "answers cut off at the limit",
		"{\"turns\":[" X5("{\"text\":\"and then\",\"stop\":\"length\"}") "]}", .reason = "went_quiet",
		.code = 1 },
	{ "the same call for ever", "{\"turns\":[" X10(TURN(LS)) "," TURN(FIN) "]}",
		.reason = "loop_guard_killed", .code = 1, .event = "loop.loop_guard.triggered" },
	{ "the same call for ever in one turn", "{\"turns\":[" TURN(X10(LS) "," X10(LS)) "]}",
		.reason = "loop_guard_killed", .code = 1 },
	{ "the same error for ever",
		"{\"turns\":[" TURN(READ("1")) "," TURN(READ("2")) "," TURN(READ("3")) "," TURN(READ("4")) "," TURN(
			READ("5")) "," TURN(READ("6")) "," TURN(READ("7")) "," TURN(READ("8")) "," TURN(FIN) "]}",
		.reason = "tool_error_stuck", .code = 1, .event = "loop.tool_error.nudge" },
	{ "the turns run out", "{\"turns\":[" TURN(LS) "," TURN(MAKE("a")) "," TURN(FIN) "]}",
		.max_iterations = 2, .reason = "max_iterations", .code = 1 },
	{ "the provider refuses",
		"{\"turns\":[{\"status\":401,\"body\":\"{\\\"error\\\":{\\\"message\\\":\\\"no "
		"key\\\"}}\"}]}",
		.reason = "provider_error", .code = 1, .event = "loop.provider.fatal" },
	{ "a stream that breaks is asked for again",
		"{\"turns\":[{\"cut\":true,\"calls\":[" LS "]}," TURN(FIN) "]}", .reason = "finish_run",
		.code = 0, .event = "loop.provider.retry" },
	{ "stop after the step", "{\"turns\":[{\"act\":\"stop\",\"calls\":[" LS "]}," TURN(FIN) "]}",
		.reason = "steer_abort", .code = 130 },
	{ "stop now, in an answer", "{\"turns\":[{\"act\":\"now\",\"hang\":true}]}", .reason = "interrupted",
		.code = 130 },
	{ "abort, in an answer", "{\"turns\":[{\"act\":\"steer abort\",\"hang\":true}]}",
		.reason = "steer_abort", .code = 130 },
	{ "stop now, in a command",
		"{\"turns\":[" TURN(RUN("a") "," RUN("b")) "],\"jobs\":[{\"why\":\"hang\",\"act\":\"now\"}]}",
		.reason = "interrupted", .code = 130 },
	{ "the disk is full", "{\"turns\":[{\"act\":\"lost\",\"calls\":[" LS "]}," TURN(FIN) "]}",
		.reason = "record_lost", .code = 1 },
};

TEST(every_end_has_its_reason_its_status_and_its_pairs)
{
	for (size_t i = 0; i < COUNT(ends); i++) {
		auto_world struct world w;
		const json_t *end;

		world_init(&w);
		if (ends[i].gate)
			world_gate(&w);
		w.params.require_verify_to_finish = ends[i].must_verify;
		if (ends[i].max_iterations > 0)
			w.params.max_iterations = ends[i].max_iterations;
		world_play(&w, ends[i].script);
		end = world_event(&w, "run.end", 0);
		if (!str_eqz(w.reason, ends[i].reason) || w.code != ends[i].code ||
			w.unsynced_requests + w.unsynced_jobs > 0 || w.in_flight != 0 ||
			!world_pairs(w.messages))
			print_error("case: %s: %.*s\n", ends[i].why, STR_ARG(w.message));
		CHECK(w.done && !w.discard);
		CHECK_STR(w.reason, str_from(ends[i].reason));
		CHECK_INT(w.code, ends[i].code);
		CHECK(WIFEXITED(w.status) && WEXITSTATUS(w.status) == 0);
		CHECK_INT(w.unsynced_requests + w.unsynced_jobs, 0);
		CHECK(world_pairs(w.messages));
		if (strcmp(ends[i].reason, "record_lost") == 0)
			continue;
		CHECK_INT(w.in_flight, 0);
		CHECK(end != NULL);
		CHECK_STR(json_get_str(end, "reason"), w.reason);
		CHECK_INT(json_get_int(end, "exit_code", -1), w.code);
		if (ends[i].verified)
			CHECK_STR(json_get_str(end, "verified"), str_from(ends[i].verified));
		if (ends[i].event && world_count(&w, ends[i].event) == 0)
			fail_msg("case: %s: no event %s", ends[i].why, ends[i].event);
	}
}

/* What the model chose the length of never keeps a run from having an end. */
TEST(a_run_ends_whatever_the_length_of_its_last_words)
{
	auto_world struct world w;
	auto_buf struct buf script = BUF_MAX(4 << 20), words = BUF_MAX(1 << 20);

	for (int i = 0; i < 60000; i++)
		CHECK(buf_addz(&words, "\\u0001abc", ERR_DISCARD) == 0);
	CHECK(buf_addf(&script, ERR_DISCARD,
		      "{\"turns\":[" TURN(MAKE("a") "," VER) ","
		      "{\"calls\":[[\"finish_run\",{\"summary\":\"%s\",\"stale_gate\":\"%s\"}]]}],\"jobs\":[{\"code\":1}]}",
		      words.p, words.p) == 0);
	world_init(&w);
	world_gate(&w);
	world_play(&w, script.p);
	CHECK(w.done);
	CHECK_STR(w.reason, STR("gate_stale"));
	CHECK_INT(w.code, 4);
	CHECK(world_event(&w, "run.end", 0) != NULL);
}

TEST(a_turn_of_endless_calls_fits_the_record)
{
	auto_world struct world w;
	auto_buf struct buf script = BUF_MAX(4 << 20), file = BUF_MAX(1 << 20);
	size_t refused = 0;

	for (int i = 0; i < 550000; i++)
		CHECK(buf_addc(&file, i % 55000 == 54999 ? '\n' : '\\', ERR_DISCARD) == 0);
	CHECK(buf_addz(&script, "{\"turns\":[{\"calls\":[", ERR_DISCARD) == 0);
	for (int i = 0; i < 700; i++)
		CHECK(buf_addf(&script, ERR_DISCARD, "%s[\"read_file\",{\"path\":\"f\",\"start_line\":%d,\"limit\":1}]",
			      i > 0 ? "," : "", 1 + i % 10) == 0);
	CHECK(buf_addz(&script, "]}," TURN(FIN) "]}", ERR_DISCARD) == 0);
	world_init(&w);
	test_write(&w.dir, "f", buf_str(&file));
	world_play(&w, script.p);
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK(world_pairs(w.messages));
	for (size_t i = 0; i < 700; i++) {
		const json_t *e = world_event(&w, "tool.result", i);

		refused += e && str_starts(json_get_str(e, "summary"), STR("not run: too many"));
	}
	CHECK(refused > 400 && refused < 690);
}

TEST(the_disk_works_while_the_model_does_and_nothing_is_acted_upon_before_it_is_done)
{
	auto_world struct world w;

	world_init(&w);
	w.late_sync = true;
	world_play(&w, "{\"turns\":[" TURN(LS) "," TURN(MAKE("a") "," RUN("true")) "," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(w.early_requests, 3);
	CHECK_INT(w.early_acts, 0);
	CHECK_INT(w.unsynced_requests + w.unsynced_jobs, 0);
}

/* A run that goes on with its standing goal, and what ends it all the same. */
static const struct {
	const char *why, *script, *reason;
	int64_t patience, max_iterations;
	size_t resumed;
} standings[] = {
	{ "the turns run out",
		"{\"turns\":[" TURN(MAKE("a")) "," TURN(FIN) "," TURN(MAKE("b")) "," TURN(FIN) "," TURN(MAKE("c")) "]}",
		"max_iterations", -1, 5, 2 },
	{ "nothing is done for it, and nobody waits for that",
		"{\"turns\":[" TURN(MAKE("a")) "," TURN(FIN) "," TURN(FIN) "]}", "finish_run", 0, 50, 1 },
	{ "nothing is done for it, twice",
		"{\"turns\":[" TURN(MAKE("a")) "," TURN(FIN) "," TURN(FIN) ",{\"text\":\"Nothing more.\"}]}", "silent_finish", 1, 50, 2 },
	{ "the person stops it", "{\"turns\":[{\"act\":\"stop\",\"calls\":[" FIN "]}]}", "steer_abort", -1, 50, 1 },
	{ "the provider fails", "{\"turns\":[" TURN(FIN) ",{\"status\":401,\"body\":\"no\"}]}", "provider_error", -1, 50, 1 },
};

TEST(a_standing_goal_goes_on_when_the_task_is_done)
{
	for (size_t i = 0; i < COUNT(standings); i++) {
		auto_world struct world w;

		world_init(&w);
		w.params.standing = STR("keep the tests fast");
		w.params.standing_patience = standings[i].patience;
		w.params.max_iterations = standings[i].max_iterations;
		world_play(&w, standings[i].script);
		if (!str_eqz(w.reason, standings[i].reason))
			print_error("case: %s\n", standings[i].why);
		CHECK_STR(w.reason, str_from(standings[i].reason));
		CHECK_INT(world_count(&w, "loop.standing.resumed"), standings[i].resumed);
		CHECK(world_pairs(w.messages));
	}
}

/* Elsewhere each of these words gets a nudge; here a person reads them and answers. */
TEST(a_question_in_prose_waits_for_the_person_who_watches_step_by_step)
{
	auto_world struct world w;
	struct str last;

	world_init(&w);
	w.params.interactive = 1;
	world_play(&w, "{\"parked\":[\"go on: and blue\",\"continue\"],\"turns\":[{\"text\":\"Red or blue?\"}," TURN(MAKE("a")) "," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(world_count(&w, "loop.parked"), 1);
	CHECK_INT(world_count(&w, "loop.silent_no_work.nudge") + world_count(&w, "loop.question_nudge"), 0);
	last = world_text(json_array_get(w.messages, 2));
	CHECK(str_find(last, STR("and blue")) < last.n);
	CHECK(str_find(last, STR("Text alone")) == last.n);
	CHECK(world_pairs(w.messages));
}

TEST(a_run_that_is_watched_step_by_step_waits_after_each_and_after_words)
{
	auto_world struct world w;
	struct str last;

	world_init(&w);
	CHECK_INT(world_git(&w, "init", "-q", NULL, NULL), 0);
	w.params.is_git = 1;
	w.params.interactive = 1;
	world_play(&w, "{\"parked\":[\"continue\",\"go on: and b\",\"continue\"],\"turns\":[" TURN(MAKE("a")) ",{\"text\":\"Well.\"}," TURN(
			       MAKE("b")) "," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(world_count(&w, "loop.parked"), 3); /* a step, words, a step */
	last = world_text(json_array_get(w.messages, 4));
	CHECK(str_find(last, STR("and b")) < last.n);
	CHECK(world_pairs(w.messages));
}
