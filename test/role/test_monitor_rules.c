/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What ends a run because it is no request, or not its sender's. */
#include "test/role/monitor_lib.h"

#include <signal.h>
#include <sys/socket.h>

/* Whole messages, which the one whose they are is heard for. */
static void put_request(struct buf *body, uint16_t type)
{
	switch (type) {
	case WIRE_APPROVE:
		bench_put_approve(body, 1, JOB_COMMAND, STR("x"));
		break;
	case WIRE_ASK:
		bench_put_ask(body, 1, 1);
		break;
	case WIRE_DONE:
		pack_u8(body, 0);
		pack_u8(body, 0);
		pack_str(body, STR("finish_run"));
		pack_str(body, STR("done"));
		break;
	case WIRE_JOB_END:
		pack_u32(body, 1);
		pack_u8(body, JOB_COMMAND);
		pack_u32(body, 0);
		pack_u8(body, JOB_EXITED);
		break;
	case WIRE_AGENT_EXIT:
		pack_u32(body, 0);
		pack_u32(body, 0);
		break;
	case WIRE_GIT_FOUND:
		for (int i = 0; i < 4; i++)
			pack_str(body, STR("x"));
		break;
	default: /* WIRE_LOST_UP, WIRE_GIT_CHANGED */
		pack_str(body, STR("x"));
	}
}

TEST(monitor_hears_each_request_from_nobody_but_whose_it_is)
{
	static const struct {
		enum side who;
		uint16_t type;
	} cases[] = {
		{ AGENT, WIRE_APPROVE }, { AGENT, WIRE_LOST_UP }, { AGENT, WIRE_GIT_FOUND }, { AGENT, WIRE_GIT_CHANGED },
		{ AGENT, WIRE_JOB_END }, { AGENT, WIRE_AGENT_EXIT }, { ZYGOTE, WIRE_DONE }, { ZYGOTE, WIRE_ASK },
		{ ZYGOTE, WIRE_LOST_UP }, { CLIENT, WIRE_DONE }, { CLIENT, WIRE_GIT_CHANGED }, { CLIENT, WIRE_APPROVE },
		{ BROKER, WIRE_DONE }, { VIEW, WIRE_DONE }, { VIEW, WIRE_ASK }, { RESOLVER, WIRE_APPROVE },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf body = BUF_MAX(4096);
		struct bench b;

		bench_start(&b, APPROVE_YES, true);
		put_request(&body, cases[i].type);
		bench_say(&b, cases[i].who, cases[i].type, &body);
		bench_hear_note(&b, "run.end");
		bench_hear_close(&b, false);
		CHECK_STR(str_from(bench_finish(&b).reason), STR("protocol"));
	}
}

/* Whole messages too: what there is room for, and what there is. */
TEST(monitor_takes_no_request_beyond_its_bounds)
{
	for (int what = 0; what < 2; what++) {
		auto_buf struct buf body = BUF_MAX(4096);
		struct bench b;

		bench_start(&b, APPROVE_ASK, true);
		if (what == 0)
			bench_put_ask(&body, 1, 9);
		else {
			pack_u32(&body, 1);
			pack_u8(&body, 99); /* no server over HTTP */
			pack_str(&body, STR("tool"));
			pack_str(&body, STR("{}"));
		}
		bench_say(&b, what == 0 ? AGENT : CLIENT, what == 0 ? WIRE_ASK : WIRE_APPROVE_POST, &body);
		bench_hear_note(&b, "run.end");
		bench_hear_close(&b, false);
		CHECK_STR(str_from(bench_finish(&b).reason), STR("protocol"));
	}
}

TEST(monitor_ends_a_run_with_a_peer_that_breaks_a_rule)
{
	static const struct {
		const char *why;
		enum side who;
		uint16_t type;
		struct str body;
		const char *named;
	} cases[] = {
		{ "no such message", AGENT, 999, { "", 0 }, "the agent broke a rule" },
		{ "the agent approves nothing", AGENT, WIRE_APPROVE, { "\1\0\0\0", 4 }, "the agent broke a rule" },
		{ "the wrong direction", ZYGOTE, WIRE_STOP_ALL, { "", 0 }, "the zygote broke a rule" },
		{ "no questions", AGENT, WIRE_ASK, { "\1\0\0\0\0\0\0\0", 8 }, "WIRE_ASK does not decode" },
		{ "nine questions", AGENT, WIRE_ASK, { "\1\0\0\0\x9\0\0\0", 8 }, "WIRE_ASK does not decode" },
		{ "a count beyond the body", AGENT, WIRE_ASK, { "\1\0\0\0\1\0\0\0\xff\xff\xff\xff", 12 },
			"WIRE_ASK does not decode" },
		{ "a cut end", AGENT, WIRE_DONE, { "\0", 1 }, "WIRE_DONE does not decode" },
		{ "a cut approval", ZYGOTE, WIRE_APPROVE, { "\1\0", 2 }, "WIRE_APPROVE does not decode" },
		{ "no command", ZYGOTE, WIRE_APPROVE, { "\1\0\0\0\1\0\0\0\0\0\0\0\0", 13 },
			"WIRE_APPROVE does not decode" },
		{ "a tool whose name is no name", SERVER, WIRE_APPROVE_CALL, { "\1\0\0\0\2\0\0\0a\n\2\0\0\0{}", 16 }, "WIRE_APPROVE_CALL does not decode" },
		{ "the command zygote calls no tools", ZYGOTE, WIRE_APPROVE_CALL, { "\1\0\0\0\1\0\0\0a\2\0\0\0{}", 15 },
			"WIRE_APPROVE_CALL does not decode" },
		{ "a cut exit", ZYGOTE, WIRE_AGENT_EXIT, { "\1\0\0\0", 4 }, "WIRE_AGENT_EXIT does not decode" },
		{ "a cut job", ZYGOTE, WIRE_JOB_END, { "\1\0\0\0", 4 }, "WIRE_JOB_END does not decode" },
		{ "not while a run is on", ZYGOTE, WIRE_CELL_READY, { "", 0 }, "is not asked while a run is on" },
		{ "a view asks nothing", VIEW, WIRE_ASK, { "", 0 }, "the view broke a rule" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf body = BUF_MAX(64);
		struct err err = { 0 };
		struct bench b;

		bench_start(&b, APPROVE_ASK, true);
		CHECK_OK(buf_add(&body, cases[i].body, &err));
		bench_say(&b, cases[i].who, cases[i].type, &body);
		bench_hear_note(&b, "run.end");
		bench_hear_close(&b, false);
		struct monitor_end end = bench_finish(&b);
		struct str message = str_from(end.message);

		CHECK_STR(str_from(end.reason), STR("protocol"));
		CHECK(str_find(message, str_from(cases[i].named)) < message.n);
	}
}

/* A packet without a byte is no end: who sent it stands there, and would not be heard any more. */
TEST(monitor_ends_a_run_with_a_peer_that_sends_a_message_of_nothing)
{
	static const enum side who[] = { AGENT, ZYGOTE, GIT, CLIENT, BROKER, RESOLVER, VIEW, SERVER };

	for (size_t i = 0; i < COUNT(who); i++) {
		struct bench b;

		bench_start(&b, APPROVE_ASK, true);
		CHECK(send(b.ends[who[i]], "", 0, 0) == 0);
		bench_hear_note(&b, "run.end");
		bench_hear_close(&b, false);
		struct monitor_end end = bench_finish(&b);
		struct str message = str_from(end.message);

		CHECK_STR(str_from(end.reason), STR("protocol"));
		CHECK(str_find(message, STR("broke a rule")) < message.n);
	}
}

/* What is left in its channel is read when its end was heard of, and may break a rule as well. */
TEST(monitor_takes_no_broken_rule_among_last_words_for_their_end)
{
	static const bool nothing[] = { false, true };

	for (size_t i = 0; i < COUNT(nothing); i++) {
		const struct buf none = { 0 };
		struct bench b;

		bench_start(&b, APPROVE_ASK, false);
		CHECK(kill(b.pid, SIGSTOP) == 0);
		bench_ask_question_of(&b, 1, 1); /* one message is read at a time: this one first, then of the end, then the rest */
		if (nothing[i])
			CHECK(send(b.ends[AGENT], "", 0, 0) == 0);
		else
			bench_say(&b, AGENT, 999, &none);
		bench_say_exit(&b, 0, 0);
		CHECK(kill(b.pid, SIGCONT) == 0);
		bench_hear_note(&b, "run.end");
		bench_hear_close(&b, false);
		CHECK_STR(str_from(bench_finish(&b).reason), STR("protocol"));
	}
}
