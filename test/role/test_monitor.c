/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/role/monitor_lib.h"

#include "fmt/json.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- approvals ---- */

/* What was said with the first approval decides this one. */
static void hear_standing(struct bench *b, bool allowed)
{
	struct str said = bench_hear_note(b, "approval.answer");

	CHECK_STR(said, allowed ? STR("{\"id\":\"approval-1\",\"approved\":true,\"source\":\"standing\"}")
				: STR("{\"id\":\"approval-1\",\"approved\":false,\"source\":\"standing\"}"));
}

TEST(monitor_takes_the_operators_word_and_nothing_else_for_a_yes)
{
	static const struct {
		const char *why, *text;
		bool allowed;
		int next; /* of the next command: 1 allowed, 0 refused, -1 it is asked about */
	} cases[] = {
		{ "yes is for one command", "yes\n", true, -1 },
		{ "always is for all that come", "always", true, 1 },
		{ "no is for one command", "no", false, -1 },
		{ "never is for all that come", "never\n", false, 0 },
		{ "an empty file is no", "", false, -1 },
		{ "a word that begins well is no", "yes please", false, -1 },
		{ "case counts", "YES", false, -1 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		bench_start(&b, APPROVE_ASK, true);
		bench_ask_to_run(&b, 7, STR("it's"));
		CHECK(str_find(bench_hear_note(&b, "approval.prompt"), STR("make 'it'\\\\''s'")) < b.msg.body.n);
		bench_answer(&b, "approval-1", str_from(cases[i].text));
		bench_hear_note(&b, "approval.answer");
		bench_hear_verdict(&b, 7, cases[i].allowed);
		CHECK(faccessat(b.answers, "approval-1", F_OK, 0) < 0);
		bench_ask_to_run(&b, 8, STR("all"));
		if (cases[i].next < 0) {
			bench_hear_note(&b, "approval.prompt");
		} else {
			hear_standing(&b, cases[i].next);
			bench_hear_verdict(&b, 8, cases[i].next);
		}
		bench_say_done(&b, 0, 0, "finished");
		CHECK_INT(bench_finish(&b).exit_code, 0);
	}
}

TEST(monitor_asks_about_a_tool_of_a_server_and_an_answer_is_for_that_tool_alone)
{
	static const struct {
		const char *text;
		bool allowed;
		int next; /* of the same tool: 1 allowed, 0 refused, -1 it is asked about */
	} cases[] = { { "yes", true, -1 }, { "always", true, 1 }, { "no", false, -1 }, { "never", false, 0 }, { "maybe", false, -1 } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		bench_start(&b, APPROVE_YES, true); /* what commands may do is another question */
		bench_ask_to_call(&b, 7, STR("write note"), STR("{\"path\":\"x\"}"));
		struct str prompt = bench_hear_note(&b, "approval.prompt");

		CHECK(str_find(prompt, STR("Allow the tool \\\"write note\\\" of MCP server notes: {\\\"path\\\":\\\"x\\\"}")) < prompt.n);
		CHECK(str_find(prompt, STR("\"scope\":\"mcp.notes\"")) < prompt.n);
		bench_answer(&b, "approval-1", str_from(cases[i].text));
		bench_hear_note(&b, "approval.answer");
		bench_hear_verdict_at(&b, SERVER, 7, cases[i].allowed);
		bench_ask_to_call(&b, 8, STR("write note"), STR("{}"));
		if (cases[i].next < 0) {
			bench_hear_note(&b, "approval.prompt");
		} else {
			hear_standing(&b, cases[i].next);
			bench_hear_verdict_at(&b, SERVER, 8, cases[i].next);
		}
		bench_ask_to_call(&b, 9, STR("delete"), STR("{}"));
		bench_hear_note(&b, "approval.prompt"); /* another tool */
		bench_ask_to_run(&b, 10, STR("all"));
		bench_hear_verdict(&b, 10, true); /* and commands, whatever was said of tools */
		bench_say_done(&b, 0, 0, "finished");
		bench_finish(&b);
	}
}

TEST(monitor_shows_a_tool_whose_name_has_quotes_as_one_word)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, true);
	bench_ask_to_call(&b, 1, STR("look\" of MCP server safe: {} \\"), STR("{}"));
	struct str prompt = bench_hear_note(&b, "approval.prompt");
	auto_json json_t *j = NULL;
	struct err err = { 0 };

	CHECK_OK(json_decode(prompt, JSON_EXACT, &j, &err));
	CHECK_STR(json_get_str(j, "prompt"), STR("Allow the tool \"look\\\" of MCP server safe: {} \\\\\" of MCP server notes: {}"));
	bench_say_done(&b, 0, 0, "finished");
	bench_finish(&b);
}

TEST(monitor_refuses_calls_that_cannot_be_shown_or_that_nobody_can_answer)
{
	auto_buf struct buf args = BUF_MAX(64 * 1024);
	struct err err = { 0 };
	struct bench b;

	bench_start(&b, APPROVE_YES, true);
	CHECK_OK(buf_addz(&args, "{\"a\":\"", &err));
	while (args.n < 7000)
		CHECK_OK(buf_addc(&args, 'x', &err));
	CHECK_OK(buf_addz(&args, "\"}", &err));
	bench_ask_to_call(&b, 1, STR("t"), buf_str(&args));
	struct str why = bench_hear_verdict_at(&b, SERVER, 1, false);
	CHECK(str_find(why, STR("too long to be shown")) < why.n);
	bench_ask_to_call(&b, 2, STR("t"), STR("")); /* what the zygote says of arguments that are longer still */
	bench_hear_verdict_at(&b, SERVER, 2, false);
	bench_say_done(&b, 0, 0, "finished");
	bench_finish(&b);

	bench_start(&b, APPROVE_YES, false);
	bench_ask_to_call(&b, 1, STR("t"), STR("{}"));
	CHECK_STR(bench_hear_verdict_at(&b, SERVER, 1, false), STR("its approval is \"ask\" and nobody can answer"));
	bench_say_done(&b, 0, 0, "finished");
	bench_finish(&b);
}

TEST(monitor_shows_that_a_command_will_run_in_the_background)
{
	struct bench b;

	bench_start(&b, APPROVE_ASK, true);
	bench_ask_for_class(&b, 7, JOB_BACKGROUND, STR("serve"));
	struct str prompt = bench_hear_note(&b, "approval.prompt");
	CHECK(str_find(prompt, STR("Allow run_command in the background, until the run ends: make serve")) < prompt.n);
	bench_answer(&b, "approval-1", STR("no"));
	bench_hear_note(&b, "approval.answer");
	bench_hear_verdict(&b, 7, false);
	bench_say_done(&b, 0, 0, "finished");
	bench_finish(&b);
}

TEST(monitor_calls_only_the_command_that_was_set_the_verify_command)
{
	static const struct {
		enum job_class class;
		const char *word, *cwd, *shown;
	} cases[] = {
		{ JOB_VERIFY, "check", "", "Allow the gate (workflow.verify_command): make check" },
		{ JOB_VERIFY, "evil", "", "Allow run_command, which the agent calls the gate: make evil" },
		{ JOB_VERIFY, "check", "evil", "Allow run_command, which the agent calls the gate: make check (in evil)" },
		{ JOB_COMMAND, "check", "", "Allow run_command: make check" },
	};
	struct str set[] = { STR("make"), STR("check") };
	struct bench b;

	bench_wish.verify = (struct str_list){ set, COUNT(set) };
	bench_start(&b, APPROVE_ASK, true);
	bench_wish.verify = (struct str_list){ 0 };
	for (uint32_t i = 0; i < COUNT(cases); i++) {
		const struct str argv[] = { STR("make"), str_from(cases[i].word) };
		auto_buf struct buf body = BUF_MAX(4096);
		char id[32];

		pack_u32(&body, 7 + i);
		pack_u8(&body, (uint8_t)cases[i].class);
		pack_str(&body, str_from(cases[i].cwd));
		pack_strs(&body, argv, COUNT(argv));
		bench_say(&b, ZYGOTE, WIRE_APPROVE, &body);
		struct str prompt = bench_hear_note(&b, "approval.prompt");
		CHECK(str_find(prompt, str_from(cases[i].shown)) < prompt.n);
		snprintf(id, sizeof(id), "approval-%u", i + 1);
		bench_answer(&b, id, STR("no"));
		bench_hear_note(&b, "approval.answer");
		bench_hear_verdict(&b, 7 + i, false);
	}
	bench_say_done(&b, 0, 0, "finished");
	bench_finish(&b);
}

TEST(monitor_takes_no_yes_from_what_is_not_a_plain_short_file)
{
	auto_buf struct buf yes = BUF_MAX(64 * 1024);
	struct err err = { 0 };

	CHECK_OK(buf_addz(&yes, "yes", &err));
	while (yes.n < 32 * 1024)
		CHECK_OK(buf_addc(&yes, '\n', &err));
	for (int what = 0; what < 3; what++) {
		struct bench b;

		bench_start(&b, APPROVE_ASK, true);
		bench_ask_to_run(&b, 1, STR("all"));
		bench_hear_note(&b, "approval.prompt");
		test_write(&b.dir, "elsewhere", STR("yes"));
		if (what == 0)
			CHECK(symlinkat("../elsewhere", b.answers, "approval-1") == 0);
		else if (what == 1)
			CHECK(mkfifoat(b.answers, "approval-1", 0600) == 0);
		bench_answer(&b, what == 2 ? "approval-1" : "wake", buf_str(&yes));
		bench_hear_note(&b, "approval.answer");
		bench_hear_verdict(&b, 1, false);
		bench_say_done(&b, 0, 0, "finished");
		bench_finish(&b);
	}
}

TEST(monitor_shows_where_a_command_will_run)
{
	const struct str argv[] = { STR("make"), STR("all") };
	auto_buf struct buf body = BUF_MAX(4096);
	struct bench b;

	bench_start(&b, APPROVE_ASK, true);
	pack_u32(&body, 7);
	pack_u8(&body, JOB_COMMAND);
	pack_str(&body, STR("deep dir"));
	pack_strs(&body, argv, COUNT(argv));
	bench_say(&b, ZYGOTE, WIRE_APPROVE, &body);
	struct str prompt = bench_hear_note(&b, "approval.prompt");

	CHECK(str_find(prompt, STR("Allow run_command: make all (in 'deep dir')")) < prompt.n);
	bench_answer(&b, "approval-1", STR("no"));
	bench_hear_note(&b, "approval.answer");
	bench_hear_verdict(&b, 7, false);
	bench_say_done(&b, 0, 0, "finished");
	bench_finish(&b);
}

TEST(monitor_decides_alone_where_nobody_is_asked)
{
	static const struct {
		enum approval_policy policy;
		bool attended, allowed;
	} cases[] = { { APPROVE_YES, false, true }, { APPROVE_NO, true, false }, { APPROVE_ASK, false, false } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		bench_start(&b, cases[i].policy, cases[i].attended);
		bench_ask_to_run(&b, 1, STR("all"));
		bench_hear_verdict(&b, 1, cases[i].allowed);
		bench_say_done(&b, 0, 0, "finished");
		bench_finish(&b);
	}
}

TEST(monitor_asks_about_no_command_that_cannot_be_shown_whole)
{
	auto_buf struct buf word = BUF_MAX(4 * LONG_WORD);
	struct err err = { 0 };
	struct bench b;

	while (word.n < word.max)
		CHECK_OK(buf_addc(&word, 'x', &err));
	bench_start(&b, APPROVE_ASK, true);
	bench_ask_to_run(&b, 1, buf_str(&word));
	struct str why = bench_hear_verdict(&b, 1, false);
	CHECK(str_find(why, STR("too long")) < why.n);
	bench_say_done(&b, 0, 0, "finished");
	bench_hear_close(&b, false); /* and no approval.prompt before it */
	bench_finish(&b);
}

/* ---- questions ---- */

TEST(monitor_sends_as_many_answers_as_there_were_questions)
{
	static const struct {
		const char *why, *file;
		const char *want[2];
	} cases[] = {
		{ "one a line", "red\nblue\n", { "red", "blue" } },
		{ "the last line needs no end", "red\nblue", { "red", "blue" } },
		{ "what is missing is empty", "red\n", { "red", "" } },
		{ "an empty file answers nothing", "", { "", "" } },
		{ "nothing is cut off", "red\nblue\ngreen\n", { "red", "blue\ngreen" } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		bench_start(&b, APPROVE_ASK, true);
		bench_ask_question_of(&b, 40, 2);
		bench_hear_note(&b, "question.prompt");
		bench_answer(&b, "question-1", str_from(cases[i].file));
		bench_hear_note(&b, "question.answer");
		bench_hear_answer(&b, 40, true, cases[i].want, 2);
		bench_say_done(&b, 0, 0, "finished");
		bench_finish(&b);
	}
}

TEST(monitor_says_at_once_that_nobody_answers_when_nobody_is_there)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, false);
	bench_ask_question_of(&b, 1, 1);
	bench_hear_answer(&b, 1, false, NULL, 0);
	bench_say_done(&b, 0, 0, "finished");
	bench_finish(&b);
}

/* ---- stopping ---- */

TEST(monitor_stops_after_the_step_then_now_then_without_the_agent)
{
	struct bench b;

	bench_start(&b, APPROVE_ASK, true);
	bench_ask_to_run(&b, 1, STR("all"));
	bench_hear_note(&b, "approval.prompt");
	CHECK(kill(b.pid, SIGINT) == 0);
	bench_hear_stop(&b, STOP_AFTER_STEP);
	CHECK(kill(b.pid, SIGINT) == 0);
	bench_hear_stop(&b, STOP_NOW);
	bench_hear_verdict(&b, 1, false); /* what was open is not any more */
	bench_hear_type(&b, ZYGOTE, WIRE_STOP_ALL);
	bench_ask_to_run(&b, 2, STR("more"));
	bench_hear_verdict(&b, 2, false);
	bench_ask_question_of(&b, 9, 1);
	bench_hear_answer(&b, 9, false, NULL, 0);
	CHECK(kill(b.pid, SIGINT) == 0);
	CHECK(str_find(bench_hear_note(&b, "run.end"), STR("interrupted")) < b.msg.body.n);
	bench_hear_close(&b, false);
	struct monitor_end end = bench_finish(&b);
	CHECK_INT(end.exit_code, 130);
	CHECK_STR(str_from(end.reason), STR("interrupted"));
}

TEST(monitor_ends_a_run_whose_agent_does_not_stop)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, true);
	CHECK(kill(b.pid, SIGTERM) == 0);
	bench_hear_stop(&b, STOP_NOW);
	CHECK(str_find(bench_hear_note(&b, "run.end"), STR("interrupted")) < b.msg.body.n); /* by itself, after its grace */
	bench_hear_type(&b, ZYGOTE, WIRE_STOP_ALL);
	bench_hear_close(&b, false);
	CHECK_INT(bench_finish(&b).exit_code, 130);
}

TEST(monitor_takes_a_stop_from_the_answers_directory_once)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, false);
	for (int i = 0; i < 2; i++)
		bench_answer(&b, "stop.request", STR(""));
	bench_hear_stop(&b, STOP_AFTER_STEP);
	bench_answer(&b, "stop.request", STR(""));
	bench_ask_to_run(&b, 1, STR("all")); /* a run that stops after its step goes on with it */
	bench_hear_verdict(&b, 1, true);
	bench_say_done(&b, 130, 0, "interrupted");
	bench_hear_close(&b, false); /* and not a second run.stop_requested */
	CHECK_INT(bench_finish(&b).exit_code, 130);
}

/* ---- steering ---- */

TEST(monitor_passes_on_what_a_front_end_says_and_records_the_persons_words_itself)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, true);
	bench_front_end_says(&b, ANSWER_STEER, "use \"tabs\"\nplease");
	CHECK(str_find(bench_hear_note(&b, "run.steer_requested"), STR("use \\\"tabs\\\"\\nplease")) < b.msg.body.n);
	bench_hear_type(&b, AGENT, WIRE_STEER);
	struct unpack u = unpack_from(b.msg.body);
	CHECK_STR(unpack_str(&u), STR("use \"tabs\"\nplease"));
	chan_msg_fini(&b.msg);
	bench_front_end_says(&b, ANSWER_COMPACT, "");
	bench_hear_tell(&b, TELL_COMPACT, "");
	bench_front_end_says(&b, ANSWER_BTW, "why?");
	bench_hear_tell(&b, TELL_BTW, "why?");
	bench_front_end_says(&b, ANSWER_PAUSE, "");
	bench_hear_note(&b, "run.pause_requested");
	bench_hear_tell(&b, TELL_PAUSE, "");
	bench_front_end_says(&b, ANSWER_CONTINUE, "");
	bench_hear_tell(&b, TELL_CONTINUE, "");
	bench_front_end_says(&b, ANSWER_DETACH, "");
	CHECK(str_find(bench_hear_note(&b, "run.notice"), STR("holds no terminal")) < b.msg.body.n);
	bench_front_end_says(&b, ANSWER_STOP, "now");
	bench_hear_stop(&b, STOP_NOW);
	bench_end_well(&b);
}

TEST(monitor_stops_at_once_for_the_word_abort)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, true);
	bench_front_end_says(&b, ANSWER_STEER, "abort");
	bench_hear_stop(&b, STOP_NOW);
	bench_end_well(&b);
}

TEST(monitor_pauses_then_interrupts_then_stops_where_a_view_can_ask)
{
	struct bench b;

	bench_wish.menu = true;
	bench_start(&b, APPROVE_YES, true);
	bench_wish.menu = false;
	for (int round = 0; round < 2; round++) {
		CHECK(kill(b.pid, SIGINT) == 0);
		bench_hear_note(&b, "run.pause_requested");
		bench_hear_tell(&b, TELL_PAUSE, "");
		bench_front_end_says(&b, ANSWER_STEER, "use tabs"); /* words take nothing back */
		bench_hear_note(&b, "run.steer_requested");
		bench_hear_type(&b, AGENT, WIRE_STEER);
		chan_msg_fini(&b.msg);
		CHECK(kill(b.pid, SIGINT) == 0);
		bench_hear_note(&b, "run.pause_requested");
		bench_hear_tell(&b, TELL_PAUSE_NOW, "");
		if (round > 0)
			break;
		bench_front_end_says(&b, ANSWER_CONTINUE, ""); /* it begins anew */
		bench_hear_tell(&b, TELL_CONTINUE, "");
	}
	CHECK(kill(b.pid, SIGINT) == 0);
	bench_hear_stop(&b, STOP_NOW);
	bench_end_well(&b);
}

/* What becomes of open questions, and of later ones, when the person leaves. */
static const struct {
	const char *away;
	bool allowed, later;
} aways[] = { { "deny", false, false }, { "approve", true, true } };

TEST(monitor_leaves_the_terminal_and_goes_on)
{
	for (size_t i = 0; i < COUNT(aways); i++) {
		struct bench b;
		char word[64] = { 0 };
		int far;

		bench_start_on_leash(&b, APPROVE_ASK, &far);
		bench_ask_to_run(&b, 1, STR("all"));
		bench_hear_note(&b, "approval.prompt");
		bench_front_end_says(&b, ANSWER_DETACH, "nonsense");
		bench_hear_note(&b, "run.notice");
		bench_front_end_says(&b, ANSWER_DETACH, aways[i].away);
		bench_hear_note(&b, "run.detached");
		bench_hear_note(&b, "approval.answer");
		bench_hear_verdict(&b, 1, aways[i].allowed);
		bench_hear_tell(&b, TELL_CONTINUE, "");
		CHECK(read(far, word, sizeof(word) - 1) == (ssize_t)strlen(LEASH_DETACHED));
		CHECK_STR(str_from(word), STR(LEASH_DETACHED));
		close(far); /* and nothing follows from it */
		bench_ask_to_run(&b, 2, STR("more"));
		CHECK_STR(bench_hear_note(&b, "approval.answer"), aways[i].later
				? STR("{\"id\":\"\",\"approved\":true,\"source\":\"away\"}")
				: STR("{\"id\":\"\",\"approved\":false,\"source\":\"away\"}"));
		bench_hear_verdict(&b, 2, aways[i].later);
		bench_end_well(&b);
	}
}

TEST(monitor_ends_a_run_whose_terminal_is_gone)
{
	struct bench b;
	int far;

	bench_start_on_leash(&b, APPROVE_YES, &far);
	close(far);
	bench_hear_stop(&b, STOP_NOW);
	bench_end_well(&b);
}
