/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/lib/test.h"
#include "ui/cli/term_view.h"

#include <stdlib.h>
#include <string.h>

static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

/* The same run on every kind of screen: what happened, in the order it happened. */
static const struct told { const char *type, *fields; } run[] = {
	{ "run.start", "\"run_id\":\"calm-otter-K4Q7B2\",\"user_task\":\"fix the \\u001b[31mbug\",\"mode\":\"run\",\"model\":\"m1\",\"isolation\":\"strict\"" },
	{ "jail.degraded", "\"detail\":\"no Landlock\"" },
	{ "role.call", "\"role\":\"worker\",\"model\":\"m1\"" },
	{ "role.thinking_delta", "\"role\":\"worker\",\"text\":\"look \"" },
	{ "role.thinking_delta", "\"role\":\"worker\",\"text\":\"first\"" },
	{ "role.text_delta", "\"role\":\"worker\",\"text\":\"I read it.\\r\"" },
	{ "role.text_delta", "\"role\":\"worker\",\"text\":\"\\nThen I \\u001b]0;owned\\u0007 act.\"" },
	{ "role.result", "\"role\":\"worker\",\"ok\":true,\"text\":\"I read it.\"" },
	{ "tool.call", "\"name\":\"read_file\",\"args\":{\"path\":\"src/a \\u202ename.c\"},\"call_id\":\"1\"" },
	{ "tool.result", "\"name\":\"read_file\",\"ok\":true,\"summary\":\"12 lines\",\"call_id\":\"1\"" },
	{ "tool.call", "\"name\":\"run_command\",\"args\":{\"argv\":[\"make\",\"-C\",\"a directory with a long name\",\"check-everything\",\"VERBOSE=1\"]},\"call_id\":\"2\"" },
	{ "approval.prompt", "\"id\":\"approval-1\",\"prompt\":\"Allow run_command: make\",\"standing\":true" },
	{ "approval.answer", "\"id\":\"approval-1\",\"approved\":true,\"source\":\"frontend\"" },
	{ "tool.result", "\"name\":\"run_command\",\"ok\":true,\"summary\":\"exit=2 in 1.0s\",\"exit_code\":2,\"stderr_tail\":\"one\\ntwo\\n\\tthree\\nfour\\n\",\"call_id\":\"2\"" },
	{ "tool.call", "\"name\":\"run_command\",\"args\":{\"argv\":[\"make\",\"all\"]},\"call_id\":\"3\"" },
	{ "approval.answer", "\"id\":\"approval-1\",\"approved\":true,\"source\":\"standing\"" },
	{ "tool.result", "\"name\":\"run_command\",\"ok\":true,\"summary\":\"exit=0 in 1.0s\",\"exit_code\":0,\"call_id\":\"3\"" },
	{ "approval.answer", "\"id\":\"approval-1\",\"approved\":false,\"source\":\"standing\"" },
	{ "approval.answer", "\"id\":\"approval-1\",\"approved\":true,\"source\":\"standing\"" },
	{ "role.result", "\"role\":\"worker\",\"ok\":true,\"text\":\"whole, not streamed\"" },
	{ "verify.end", "\"cmd\":[\"make\",\"test\"],\"exit_code\":0,\"duration_s\":0.25" },
	{ "verify.end", "\"cmd\":[\"make\",\"test\"],\"exit_code\":124,\"duration_s\":600,\"timeout_s\":600,\"timed_out\":true" },
	{ "loop.auto_commit", "\"iteration\":1,\"sha\":\"0123456789abcdef\",\"subject\":\"agent6 iter 1: \\u4e2d\\u6587\"" },
	{ "loop.provider.retry", "\"attempt\":1,\"error\":\"429\",\"wait_ms\":120000" },
	{ "budget.update", "\"input_total\":1200,\"output_total\":34,\"usd_total\":0.0123,\"usd_partial\":false" },
	{ "run.end", "\"reason\":\"finish_run\",\"iterations\":2,\"all_passed\":true,\"verified\":\"passed\",\"summary\":\"done:\\nall of it\",\"commits\":1,\"branch\":\"agent6/calm-otter-K4Q7B2\",\"uncommitted\":1,\"uncommitted_files\":[\"x\\ny\"],\"edited_untracked\":[\"calc.py\",\"b\\u001b[m\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\"],\"gate_touched\":[\"verify.sh\"]" },
};

static void play_all(struct term_view *t, const struct told *list, size_t n)
{
	auto_arena struct arena *mem = arena_new();
	auto_view struct view *v = view_new(VIEW_ALL);
	struct err err = { 0 };

	for (size_t i = 0; i < n; i++) {
		bool delta = strstr(list[i].type, "_delta") != NULL;
		struct str line = delta ? str_printf(mem, "{\"ts\":\"2026-11-29T20:00:00.000000Z\",\"type\":\"%s\",%s,\"volatile\":true}\n", list[i].type, list[i].fields)
					: str_printf(mem, "{\"ts\":\"2026-11-29T20:00:00.000000Z\",\"seq\":%zu,\"type\":\"%s\",%s,\"h\":\"%s\"}\n", i + 1, list[i].type, list[i].fields, zeros);
		struct view_item it = view_line(v, line);

		CHECK_OK(term_view_item(t, &it, view_state(v), &err));
	}
}

static void play(struct term_view *t)
{
	play_all(t, run, COUNT(run));
}

static const char plain_80[] =
	"* fix the \\x1b[31mbug\n"
	"  calm-otter-K4Q7B2, m1, isolation strict\n"
	"-- jail: no Landlock\n"
	". look first\n"
	"I read it.\n"
	"Then I \\x1b]0;owned\\x07 act.\n"
	"-> read_file src/a \\u202ename.c  ok 12 lines\n"
	"-> run_command make -C 'a directory with a long name' check-everything VERBOSE=1\n"
	"? Allow run_command: make\n"
	"  | allowed (by you)\n"
	"  | run_command  exit=2 in 1.0s\n"
	"    (1 line before)\n"
	"    two\n"
	"            three\n"
	"    four\n"
	"-> run_command make all  (a: allowed)  ok exit=0 in 1.0s\n"
	"  | allowed (as you said of all)\n"
	"whole, not streamed\n"
	"ok gate make test  exit 0 in 0.2s\n"
	"FAIL gate make test  exit 124 in 600.0s\n"
	"    its time was up: workflow.verify_timeout_s says how long it may take\n"
	"+ commit 0123456789ab agent6 iter 1: \xE4\xB8\xAD\xE6\x96\x87\n"
	"-- provider: attempt 1 failed: 429; trying again in 120.0 s\n"
	"\n"
	"* passed\n"
	"  done:\n"
	"  all of it\n"
	"  gate     green\n"
	"  commits  1 on agent6/calm-otter-K4Q7B2\n"
	"  left     1 file not committed\n"
	"             x\n"
	"             y\n"
	"  left     changed but in no commit, since they were untracked when the run\n"
	"           began: calc.py, b\\x1b[m, 3, 4, 5, 6, 7, 8, 9, 10 and 1 more\n"
	"  note     the change touches what the gate runs: verify.sh\n"
	"  cost     1200 tokens in, 34 out, $0.0123\n"
	"  see      agent6 runs diff calm-otter-K4Q7B2\n"
	"  merge    agent6 runs merge calm-otter-K4Q7B2\n"
	"  resume   agent6 resume calm-otter-K4Q7B2 --steer \"...\"\n";

TEST(a_run_reads_as_lines_without_colour_at_80_columns)
{
	auto_term_view struct term_view t = { 0 };

	term_view_init(&t, -1, (struct term_style){ 0 }, 80);
	play(&t);
	CHECK_STR(buf_str(&t.out), str_from(plain_80));
}

/* Our own escapes and glyphs taken out, a coloured screen says what the plain one says. */
TEST(colour_and_glyphs_change_no_word)
{
	static const struct { const char *utf8, *ascii; } glyphs[] = {
		{ "\xE2\x97\x8F", "*" }, { "\xE2\x86\x92", "->" }, { "\xE2\x94\x94", "|" }, { "\xE2\x9C\x8E", "+" },
		{ "\xE2\x9C\x93", "ok" }, { "\xE2\x9C\x97", "FAIL" }, { "\xE2\x94\x80\xE2\x94\x80", "--" }, { "\xC2\xB7", "." },
	};
	auto_term_view struct term_view t = { 0 };
	auto_buf struct buf plain = BUF_MAX(1 << 20);
	struct err err = { 0 };

	term_view_init(&t, -1, (struct term_style){ .color = true, .utf8 = true }, 80);
	play(&t);
	for (struct str s = buf_str(&t.out); s.n > 0;) {
		size_t i = 0;

		if (s.p[0] == '\x1b') { /* only ours are left: a look, or its end */
			size_t m = str_find_any(s, STR("m"));

			CHECK(m < 6 && s.p[1] == '[');
			s = str_skip(s, m + 1);
			continue;
		}
		while (i < COUNT(glyphs) && !str_starts(s, str_from(glyphs[i].utf8)))
			i++;
		if (i < COUNT(glyphs)) {
			CHECK_OK(buf_addz(&plain, glyphs[i].ascii, &err));
			s = str_skip(s, strlen(glyphs[i].utf8));
			continue;
		}
		CHECK_OK(buf_addc(&plain, s.p[0], &err));
		s = str_skip(s, 1);
	}
	CHECK_STR(buf_str(&plain), str_from(plain_80));
}

TEST(no_line_of_a_tool_is_wider_than_the_terminal)
{
	static const int widths[] = { 40, 80, 200 };

	for (size_t i = 0; i < COUNT(widths); i++) {
		auto_term_view struct term_view t = { 0 };

		term_view_init(&t, -1, (struct term_style){ .utf8 = true }, widths[i]);
		play(&t);
		for (struct str rest = buf_str(&t.out); rest.n > 0;) {
			struct str line = str_trim_suffix(str_line(&rest), STR("\n"));

			if (str_starts(line, STR("\xE2\x86\x92 ")) || str_starts(line, STR("\xE2\x9C\x93 ")))
				CHECK(term_width(line) <= widths[i]);
		}
	}
}

/* What is run is seen whole on any screen, and where there is none nothing is cut at all. */
TEST(a_command_is_shown_whole_and_broken_between_words)
{
#define SAY "for i in 1 2 3 4 5 6 7 8 9; do echo one two three four five six seven eight nine ten $i; done; exit 4 # the end"
	static const struct told calls[] = {
		{ "tool.call", "\"name\":\"run_command\",\"args\":{\"argv\":[\"sh\",\"-c\",\"" SAY "\"]},\"call_id\":\"1\"" },
		{ "tool.result", "\"name\":\"run_command\",\"ok\":true,\"summary\":\"exit=0 in 1.0s\",\"exit_code\":0,\"call_id\":\"1\"" },
		{ "tool.call", "\"name\":\"read_file\",\"args\":{\"path\":\"" SAY "\"},\"call_id\":\"2\"" },
	};
	static const struct { int cols; const char *want; } cases[] = {
		{ 60, "-> run_command sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo\n"
		      "    one two three four five six seven eight nine ten $i;\n"
		      "    done; exit 4 # the end'  ok exit=0 in 1.0s\n"
		      "-> read_file for i in 1 2 3 4 5...\n" },
		{ TERM_NO_COLUMNS, "-> run_command sh -c '" SAY "'  ok exit=0 in 1.0s\n-> read_file " SAY "\n" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_term_view struct term_view t = { 0 };
		struct err err = { 0 };

		term_view_init(&t, -1, (struct term_style){ 0 }, cases[i].cols);
		play_all(&t, calls, COUNT(calls));
		CHECK_OK(buf_addc(&t.out, '\n', &err));
		CHECK_STR(buf_str(&t.out), str_from(cases[i].want));
	}
}

/* Sentences are broken between words; a command that one names can be pasted. */
TEST(sentences_are_broken_between_words_and_commands_are_not)
{
	static const struct told notices[] = {
		{ "run.notice", "\"level\":\"info\",\"text\":\"one two three four five six seven eight nine ten eleven twelve thirteen\"" },
		{ "run.notice", "\"level\":\"info\",\"text\":\"a gate that is quick is better: agent6 config set workflow.verify_command '[\\\"make\\\",\\\"check\\\"]'\"" },
		{ "run.steer_requested", "\"source\":\"frontend\",\"text\":\"one two three four five six seven eight nine ten eleven twelve thirteen\"" },
	};
	auto_term_view struct term_view t = { 0 };

	term_view_init(&t, -1, (struct term_style){ 0 }, 60);
	play_all(&t, notices, COUNT(notices));
	CHECK_STR(buf_str(&t.out), STR("-- one two three four five six seven eight nine ten eleven\n"
		"   twelve thirteen\n"
		"-- a gate that is quick is better:\n"
		"   agent6 config set workflow.verify_command '[\"make\",\"check\"]'\n"
		"> one two three four five six seven eight nine ten eleven\n"
		"  twelve thirteen\n"));
}

TEST(a_question_says_what_a_standing_answer_is_for)
{
	static const struct { const char *scope, *want; } cases[] = {
		{ "", "? it\n  y once / a all commands of this run / n no / N never: " },
		{ ",\"scope\":\"mcp.notes\"", "? it\n  y once / a all calls of this tool / n no / N never: " },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_view struct view *v = view_new(VIEW_ALL);
		auto_term_view struct term_view t = { 0 };
		struct err err = { 0 };

		view_assume_started(v);
		view_line(v, str_printf(mem, "{\"ts\":\"2026-11-29T20:00:00.000000Z\",\"seq\":1,\"type\":\"approval.prompt\",\"id\":\"approval-1\","
						"\"prompt\":\"it\",\"standing\":true%s,\"h\":\"%s\"}\n", cases[i].scope, zeros));
		CHECK_INT(view_state(v)->nprompts, 1);
		term_view_init(&t, -1, (struct term_style){ 0 }, 80);
		CHECK_OK(term_view_ask(&t, &view_state(v)->prompts[0], 0, &err));
		CHECK_STR(buf_str(&t.out), str_from(cases[i].want));
	}
}

TEST(no_control_reaches_the_terminal_from_a_run)
{
	auto_term_view struct term_view t = { 0 };

	term_view_init(&t, -1, (struct term_style){ 0 }, 80);
	play(&t);
	for (size_t i = 0; i < t.out.n; i++)
		CHECK((unsigned char)t.out.p[i] >= 0x20 || t.out.p[i] == '\n');
	CHECK(str_find(buf_str(&t.out), STR("\xE2\x80\xAE")) == t.out.n);
}

/* A gate that the model asked for has two events with the same output; one that was not let run has only the second. */
TEST(what_a_red_gate_printed_is_shown_once)
{
#define CALLED "\"name\":\"run_verify_command\",\"args\":{},\"call_id\":\"1\""
#define OUTCOME "\"name\":\"run_verify_command\",\"ok\":true,\"summary\":\"exit=2 in 0.1s\",\"exit_code\":2,\"stdout_tail\":\"boom\\n\",\"call_id\":\"1\""
	static const struct told both[] = {
		{ "tool.call", CALLED },
		{ "verify.start", "\"cmd\":[\"make\"]" },
		{ "verify.end", "\"cmd\":[\"make\"],\"exit_code\":2,\"duration_s\":0.1,\"stdout_tail\":\"boom\\n\"" },
		{ "tool.result", OUTCOME },
		{ "tool.call", CALLED },
		{ "verify.end", "\"cmd\":[\"make\"],\"exit_code\":2,\"duration_s\":0.1,\"stdout_tail\":\"1\\n2\\n3\\n4\\n5\\n6\\n7\\nFAIL it\\n1 failed\\n\",\"stderr_tail\":\"Error 1\\n\"" },
		{ "tool.result", OUTCOME ",\"stderr_tail\":\"Error 1\\n\"" },
		{ "tool.call", CALLED }, /* the next one */
		{ "tool.result", OUTCOME },
	};
	auto_term_view struct term_view t = { 0 };

	term_view_init(&t, -1, (struct term_style){ 0 }, 80);
	play_all(&t, both, COUNT(both));
	CHECK_STR(buf_str(&t.out), STR("-> run_verify_command\n"
		"FAIL gate make  exit 2 in 0.1s\n"
		"    boom\n"
		"  | run_verify_command  exit=2 in 0.1s\n"
		"-> run_verify_command\n"
		"FAIL gate make  exit 2 in 0.1s\n"
		"    (1 line before)\n"
		"    2\n    3\n    4\n    5\n    6\n    7\n    FAIL it\n    1 failed\n"
		"    Error 1\n"
		"  | run_verify_command  exit=2 in 0.1s\n"
		"-> run_verify_command  exit=2 in 0.1s\n"
		"    boom\n"));
}
