/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/tool/kit.h"

#include "sys/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

TEST(tools_schema_is_small_and_valid)
{
	auto_kit struct kit k;
	auto_buf struct buf out = BUF_MAX(64 * 1024);
	auto_json json_t *j = NULL;
	struct err err = { 0 };

	kit_init(&k);
	k.ctx.verify_command = (struct str_list){ &STR("true"), 1 };
	CHECK_OK(tools_schema(&k.ctx, &out, &err));
	print_message("tools_schema: %zu bytes\n", out.n);
	CHECK(out.n <= 6 * 1024);
	CHECK_OK(json_decode(buf_str(&out), JSON_EXACT, &j, &err));
	CHECK(json_array_size(j) >= 16);
	for (size_t i = 0, row = 0; i < json_array_size(j); i++, row++) {
		const json_t *schema = json_object_get(json_array_get(j, i), "input_schema");

		CHECK_STR(json_get_str(schema, "type"), STR("object"));
		CHECK(json_is_false(json_object_get(schema, "additionalProperties")));
		while (!tool_exposed(tools[row], &k.ctx)) /* in the order of the table */
			row++;
		CHECK(tool_find(json_get_str(json_array_get(j, i), "name")) == tools[row]);
	}
}

#define SYMBOLS "outline find_definition find_references "

static const struct {
	enum tool_mode mode;
	bool commands, gate;
	const char *names;
} exposed[] = {
	{ MODE_RUN, true, true, "read_file list_dir grep " SYMBOLS "apply_edit apply_patch run_verify_command run_command ask_user "
		"add_task update_task list_tasks add_memory invalidate_memory finish_run read_background stop_background " },
	{ MODE_RUN, true, false, "read_file list_dir grep " SYMBOLS "apply_edit apply_patch run_command ask_user "
		"add_task update_task list_tasks add_memory invalidate_memory finish_run read_background stop_background " },
	{ MODE_RUN, false, true, "read_file list_dir grep " SYMBOLS "apply_edit apply_patch ask_user "
		"add_task update_task list_tasks add_memory invalidate_memory finish_run " },
	{ MODE_PLAN, true, true, "read_file list_dir grep " SYMBOLS "run_verify_command run_command add_task update_task list_tasks "
		"finish_planning " },
	{ MODE_ASK, true, false, "read_file list_dir grep " SYMBOLS "run_command " },
	{ MODE_REVIEW, true, true, "read_file list_dir grep " SYMBOLS },
};

TEST(what_is_listed_is_what_may_be_called)
{
	for (size_t i = 0; i < COUNT(exposed); i++) {
		auto_kit struct kit k;
		auto_buf struct buf names = BUF_MAX(1024);

		kit_init(&k);
		k.ctx.mode = exposed[i].mode;
		k.ctx.commands_allowed = exposed[i].commands;
		if (exposed[i].gate)
			k.ctx.verify_command = (struct str_list){ &STR("true"), 1 };
		for (size_t t = 0; tools[t]; t++) {
			bool shown = tool_exposed(tools[t], &k.ctx);

			if (shown)
				CHECK(buf_addf(&names, ERR_DISCARD, "%s ", tools[t]->name) == 0);
			kit_call(&k, tools[t]->name, "[]");
			CHECK(k.oc.refused == !shown);
			CHECK_HOLDS(&k, shown ? "expected one JSON object" : "");
		}
		CHECK_STR(buf_str(&names), str_from(exposed[i].names));
	}
}

static const struct {
	const char *tool, *args, *says;
} malformed[] = {
	{ "read_fil", "{}", "there is no tool named read_fil (did you mean read_file?)" },
	{ "", "{}", "there is no tool named" },
	{ "read_file", "{`path`:", "not valid JSON" },
	{ "read_file", "{`_raw_arguments`:`{\\`path`}", "not valid JSON" },
	{ "read_file", "", "path: required, but missing" },
	{ "read_file", "{`path`:1}", "invalid arguments: path: expected a string, got 1" },
	{ "read_file", "{`path`:`f`,`start_line`:0}", "start_line" },
	{ "read_file", "{`path`:`f`,`limit`:0}", "limit" },
	{ "read_file", "{`path`:`f`,`offset`:3}", "offset" },
	{ "run_command", "{`argv`:[]}", "argv: must not be empty" },
	{ "run_command", "{`argv`:[``]}", "argv[0]: the program's name is empty" },
	{ "run_command", "{`argv`:[`a`,`b\\u0000c`]}", "argv[1]: holds a NUL byte" },
	{ "read_background", "{`tail_lines`:0}", "tail_lines" },
	{ "read_background", "{`wait_s`:3601}", "wait_s" },
	{ "stop_background", "{}", "id: required, but missing" },
	{ "apply_edit", "{`path`:`f`,`edits`:[]}", "edits: must not be empty" },
	{ "ask_user", "{}", "questions: must not be empty" },
	{ "finish_run", "{`summary`:``}", "summary: must not be empty" },
};

TEST(malformed_calls_say_what_would_be_right)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_put(&k, "f", "x\n");
	for (size_t i = 0; i < COUNT(malformed); i++) {
		kit_call(&k, malformed[i].tool, malformed[i].args);
		CHECK(!k.oc.ok && !k.oc.refused);
		CHECK_HOLDS(&k, malformed[i].says);
	}
	char *cut = arena_alloc(k.mem, 30001);
	memset(cut, 'x', 30000);
	kit_call(&k, "apply_edit", str_printf(k.mem, "{`_raw_arguments`:`%s`}", cut).p);
	CHECK_HOLDS(&k, "cut off after 30000 bytes");
}

TEST(read_file_returns_lines_and_says_what_is_left)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_put(&k, "f", "one\ntwo\nthree");
	kit_call(&k, "read_file", "{`path`:`f`}");
	CHECK_STR(buf_str(&k.out), STR("{\"content\":\"one\\ntwo\\nthree\",\"size\":13,\"lines_total\":3}"));
	CHECK_INT(k.oc.lines_total, 3);
	kit_call(&k, "read_file", "{`path`:`f`,`start_line`:2,`limit`:1}");
	CHECK_STR(buf_str(&k.out),
		STR("{\"content\":\"two\\n\",\"size\":4,\"lines_total\":3,\"start_line\":2,\"lines_returned\":1}"));
	kit_call(&k, "read_file", "{`path`:`f`,`start_line`:9}");
	CHECK_HOLDS(&k, "\"content\":\"\",\"size\":0,\"lines_total\":3,\"start_line\":9,\"lines_returned\":0}");
	kit_put(&k, "f", "\xEF\xBB\xBF" "a\r\nb\r\n");
	kit_call(&k, "read_file", "{`path`:`f`}");
	CHECK_HOLDS(&k, "\"content\":\"a\\nb\\n\",\"size\":4,\"lines_total\":2,\"line_endings\":\"crlf\"");
	kit_put(&k, "f", "caf\xe9\n");
	kit_call(&k, "read_file", "{`path`:`f`}");
	CHECK_HOLDS(&k, "caf\xEF\xBF\xBD\\n");
	CHECK_HOLDS(&k, "not UTF-8");
	struct test_dir d = { .fd = k.ws };
	test_write(&d, "b", STR("ELF\0\1\2"));
	kit_call(&k, "read_file", "{`path`:`b`}");
	CHECK_HOLDS(&k, "binary file");
	kit_put(&k, "f", "");
	kit_call(&k, "read_file", "{`path`:`f`}");
	CHECK_STR(buf_str(&k.out), STR("{\"content\":\"\",\"size\":0,\"lines_total\":0}"));
}

/* Every line of a large file comes exactly once when next_start_line is followed, whatever escapes cost. */
TEST(read_file_can_be_continued_to_the_end)
{
	static const char *const bodies[] = { "plain text of a line", "\"\\\"\\\"\\\"\\\"\\\"\\\"\\", "\x01\x02\x03\x01\x02", "\xE4\xB8\xAD" };

	for (size_t i = 0; i < COUNT(bodies); i++) {
		auto_kit struct kit k;
		auto_buf struct buf text = BUF_MAX(8 * 1024 * 1024);
		int64_t start = 1, total = 20000, seen = 0;

		kit_init(&k);
		for (int64_t n = 1; n <= total; n++)
			CHECK(buf_addf(&text, ERR_DISCARD, "%lld %s\n", (long long)n, bodies[i]) == 0);
		struct test_dir d = { .fd = k.ws };
		test_write(&d, "f", buf_str(&text));
		for (int calls = 0; start > 0; calls++) {
			auto_json json_t *j = NULL;

			CHECK(calls < 100);
			kit_call(&k, "read_file", str_printf(k.mem, "{`path`:`f`,`start_line`:%lld}", (long long)start).p);
			CHECK(json_decode(buf_str(&k.out), JSON_EXACT, &j, ERR_DISCARD) == 0);
			struct str content = json_get_str(j, "content");
			while (content.n > 0) {
				struct str line = str_line(&content);
				struct str want = str_printf(k.mem, "%lld %s\n", (long long)++seen, bodies[i]);

				CHECK_STR(line, want);
			}
			CHECK_INT(json_get_int(j, "lines_total", 0), total);
			start = json_get_int(j, "next_start_line", 0);
			CHECK(start == 0 || start == seen + 1);
		}
		CHECK_INT(seen, total);
	}
}

TEST(a_line_too_long_for_a_result_is_cut_and_that_said)
{
	auto_kit struct kit k;
	struct test_dir d = { 0 };

	kit_init(&k);
	char *line = arena_alloc(k.mem, 300001);
	memset(line, 'x', 300000);
	d.fd = k.ws;
	test_write(&d, "f", str_of(line, 300000));
	kit_call(&k, "read_file", "{`path`:`f`}");
	CHECK_HOLDS(&k, "\"truncated\":true,\"line_cut\":1");
	CHECK(k.out.n > 50000);
}

TEST(list_dir_is_sorted_and_bounded)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_put(&k, "b", "");
	kit_put(&k, "a/x", "");
	kit_put(&k, ".hidden", "");
	kit_call(&k, "list_dir", "{}");
	CHECK_STR(buf_str(&k.out), STR("{\"entries\":[\".hidden\",\"a/\",\"b\"]}"));
	CHECK_STR(k.oc.summary, STR("3 entries"));
	for (int i = 0; i < 3000; i++)
		kit_put(&k, str_printf(k.mem, "many/a-rather-long-name-of-a-file-%d", i).p, "");
	kit_call(&k, "list_dir", "{`path`:`many`}");
	CHECK_HOLDS(&k, "\"truncated\":true,\"total\":3000");
}

TEST(commands_report_every_end)
{
	auto_kit struct kit k;

	kit_init(&k);
	k.job = (struct job_result){ .why = JOB_EXITED, .code = 3, .out = STR("o\n"), .out_total = 2, .errs = STR("e\xff"),
		.errs_total = 2, .wall_ms = 1234 };
	kit_call(&k, "run_command", "{`argv`:[`make`,`-k`]}");
	CHECK_STR(buf_str(&k.out), STR("{\"returncode\":3,\"stdout\":\"o\\n\",\"stderr\":\"e\xEF\xBF\xBD\",\"duration_s\":1.2,"
		"\"exec_failed\":false}"));
	CHECK(k.oc.ok && k.oc.ran_command && !k.oc.verified && k.asked.class == JOB_COMMAND && k.asked.argc == 2);
	CHECK_STR(k.oc.summary, STR("exit=3 in 1.2s"));
	CHECK_STR(k.oc.out_tail, STR("o\n"));

	k.job = (struct job_result){ .why = JOB_TIMEOUT, .code = 124, .wall_ms = 600100 };
	kit_call(&k, "run_command", "{`argv`:[`sleep`,`9`]}");
	CHECK_HOLDS(&k, "\"returncode\":124");
	CHECK_HOLDS(&k, "\"timed_out\":true,\"timeout_s\":600");
	CHECK_STR(k.oc.summary, STR("exit=124 (timed out at 600s, workflow.command_timeout_s) in 600.1s"));

	k.job = (struct job_result){ .why = JOB_UNRUNNABLE, .code = 127, .note = STR("no such program") };
	kit_call(&k, "run_command", "{`argv`:[`mkae`]}");
	CHECK_HOLDS(&k, "\"returncode\":127,\"stdout\":\"\",\"stderr\":\"no such program\"");
	CHECK_HOLDS(&k, "\"exec_failed\":true");
	CHECK(k.oc.ok && !k.oc.ran_command);

	k.job = (struct job_result){ .why = JOB_DENIED, .note = STR("sandbox.run_commands='ask'") };
	kit_call(&k, "run_command", "{`argv`:[`rm`]}");
	CHECK(!k.oc.ok && k.oc.refused && !k.oc.ran_command);
	CHECK_HOLDS(&k, "denied: sandbox.run_commands='ask'");
	k.job = (struct job_result){ .why = JOB_LOST, .note = STR("no memory") };
	kit_call(&k, "run_command", "{`argv`:[`rm`]}");
	CHECK(!k.oc.ok && !k.oc.refused);
}

TEST(a_command_that_runs_on_is_no_end)
{
	auto_kit struct kit k;

	kit_init(&k);
	k.ctx.command_checkin_ms = 900000;
	k.job = (struct job_result){ .behind = 7, .behind_id = STR("bg2"), .wall_ms = 900012, .out = STR("so far\n"), .out_total = 7 };
	kit_call(&k, "run_command", "{`argv`:[`make`]}");
	CHECK_STR(buf_str(&k.out), STR("{\"returncode\":null,\"stdout\":\"so far\\n\",\"stderr\":\"\",\"duration_s\":900.0,"
		"\"exec_failed\":false,\"still_running\":true,\"background_id\":\"bg2\"}"));
	CHECK_STR(k.oc.summary, STR("still running as bg2 after 900.0s"));
	CHECK(k.oc.ok && k.oc.ran_command && k.asked.class == JOB_COMMAND && k.asked.checkin_ms == 900000);
	kit_call(&k, "run_command", "{`argv`:[`serve`],`background`:true}");
	CHECK(k.asked.class == JOB_BACKGROUND && k.asked.checkin_ms == 0 && k.asked.timeout_ms == 0);
	/* Where nothing could look after it, nothing is left behind. */
	k.ctx.mode = MODE_ASK;
	kit_call(&k, "run_command", "{`argv`:[`make`]}");
	CHECK_INT(k.asked.checkin_ms, 0);
	kit_call(&k, "run_command", "{`argv`:[`serve`],`background`:true}");
	CHECK(!k.oc.ok);
	CHECK_HOLDS(&k, "only a run may leave a command behind");
}

TEST(what_a_background_command_wrote_is_cut_to_its_last_lines)
{
	static const struct {
		const char *args, *text;
		uint64_t total;
		const char *want;
	} cases[] = {
		{ "{`id`:`bg1`}", "a\nb\n", 4, "\"output\":\"a\\nb\\n\"}" },
		{ "{`id`:`bg1`,`tail_lines`:1}", "a\nb\n", 4, "\"output\":\"b\\n\",\"bytes_before\":2}" },
		{ "{`id`:`bg1`,`tail_lines`:2}", "a\nb\nc", 5, "\"output\":\"b\\nc\",\"bytes_before\":2}" },
		{ "{`id`:`bg1`,`tail_lines`:1}", "a\nb\n", 1004, "\"output\":\"b\\n\",\"bytes_before\":1002}" },
		{ "{`id`:`bg1`}", "a\nb\n", 1004, "[... 1000 of 1004 bytes left out ...]" },
		{ "{`id`:`bg1`}", "", 0, "\"output\":\"\"}" },
		{ "{}", "a", 1, "{\"shells\":[\"[bg1] running: serve\"]}" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_kit struct kit k;

		kit_init(&k);
		k.report = (struct background_report){ .shells = { &STR("[bg1] running: serve"), 1 },
			.text = str_from(cases[i].text), .total = cases[i].total, .gap_at = 2 };
		kit_call(&k, "read_background", cases[i].args);
		CHECK(k.oc.ok && !k.oc.waited);
		CHECK_HOLDS(&k, cases[i].want);
	}
}

TEST(the_gate_runs_its_own_command_and_a_dead_gate_ends_the_run)
{
	auto_kit struct kit k;
	struct err err = { 0 };

	kit_init(&k);
	k.ctx.verify_command = (struct str_list){ (struct str[]){ STR("sh"), STR("-c"), STR("it's") }, 3 };
	k.ctx.verify_timeout_ms = 7000;
	k.job = (struct job_result){ .why = JOB_EXITED };
	kit_call(&k, "run_verify_command", "{}");
	CHECK(k.oc.verified && k.oc.verify_ok && k.asked.class == JOB_VERIFY && k.asked.timeout_ms == 7000);
	CHECK_HOLDS(&k, "\"command\":\"sh -c 'it'\\\\''s'\"");
	k.job.code = 1;
	kit_call(&k, "run_verify_command", "{}");
	CHECK(k.oc.verified && !k.oc.verify_ok && k.oc.ok);

	k.job = (struct job_result){ .why = JOB_UNRUNNABLE, .code = 127, .note = STR("gone") };
	buf_clear(&k.out);
	CHECK_INT(tool_call(&k.ctx, STR("run_verify_command"), STR("{}"), &k.out, &k.oc, &err), -ERR_UNSUPPORTED);
	CHECK(strstr(err.msg, "cannot be executed: gone"));
	k.job_fails = -ERR_STOPPED;
	CHECK_INT(tool_call(&k.ctx, STR("run_command"), STR("{\"argv\":[\"a\"]}"), &k.out, &k.oc, &err), -ERR_STOPPED);
}

/* Escape-heavy output must not burst the cap, and both ends of it must survive. */
TEST(long_output_keeps_head_and_tail_within_the_cap)
{
	static const char fills[] = { 'x', '\x01', '"', '\xff', '\n' };

	for (size_t i = 0; i < sizeof(fills); i++) {
		auto_kit struct kit k;
		char *text;

		kit_init(&k);
		text = arena_alloc(k.mem, 20001);
		memset(text, fills[i], 20000);
		memcpy(text, "HEAD", 4);
		memcpy(text + 19996, "TAIL", 4);
		k.job = (struct job_result){ .why = JOB_EXITED, .out = str_of(text, 20000), .out_total = 5000000,
			.errs = str_of(text, 20000), .errs_total = 20000 };
		kit_call(&k, "run_command", "{`argv`:[`yes`]}");
		CHECK_HOLDS(&k, "\"stdout\":\"HEAD");
		CHECK_HOLDS(&k, "of 5000000 bytes left out");
		CHECK_HOLDS(&k, "TAIL\",\"stderr\":\"HEAD");
		CHECK_HOLDS(&k, "TAIL\",\"duration_s\"");
	}
}

TEST(ask_user_aligns_answers_and_never_waits_for_nobody)
{
	auto_kit struct kit k;

	kit_init(&k);
	k.answers = (struct str_list){ (struct str[]){ STR("yes"), STR("") }, 2 };
	kit_call(&k, "ask_user", "{`questions`:[{`question`:`a?`,`options`:[`yes`,`no`]},{`question`:`b?`}]}");
	CHECK_STR(buf_str(&k.out), STR("{\"answers\":[\"yes\",\"\"]}"));
	CHECK_STR(k.oc.summary, STR("1/2 answered"));
	k.answers.n = 1;
	kit_call(&k, "ask_user", "{`question`:`a?`,`options`:[`yes`]}");
	CHECK_STR(buf_str(&k.out), STR("{\"answers\":[\"yes\"]}"));
	k.nobody = true;
	kit_call(&k, "ask_user", "{`questions`:[{`question`:`a?`},{`question`:`b?`}]}");
	CHECK_HOLDS(&k, "{\"answers\":[\"\",\"\"],\"note\":\"nobody");
	CHECK_STR(k.oc.summary, STR("nobody is there to answer, the model decides alone: a? / b?"));
}

TEST(finish_run_only_signals)
{
	auto_kit struct kit k;

	kit_init(&k);
	kit_call(&k, "finish_run", "{`summary`:`did it`,`result`:{`n`:1},`stale_gate`:`make check`}");
	CHECK(k.oc.finish);
	CHECK_STR(k.oc.summary_text, STR("did it"));
	CHECK_STR(k.oc.result_json, STR("{\"n\":1}"));
	CHECK_STR(buf_str(&k.out),
		STR("{\"acknowledged\":true,\"summary\":\"did it\",\"result\":{\"n\":1},\"stale_gate\":\"make check\"}"));
	kit_call(&k, "finish_run", "{`summary`:`did it`}");
	CHECK_HOLDS(&k, "\"result\":null}");
}

TEST(what_is_too_long_comes_as_a_valid_envelope)
{
	static const char *const fills[] = { "x", "\\`", "\\u0001", "\xE4\xB8\xAD", "\\\\" };

	for (size_t i = 0; i < COUNT(fills); i++) {
		auto_kit struct kit k;
		auto_buf struct buf args = BUF_MAX(1024 * 1024);

		kit_init(&k);
		CHECK(buf_addz(&args, "{`summary`:`", ERR_DISCARD) == 0);
		while (args.n < 100000)
			CHECK(buf_addz(&args, fills[i], ERR_DISCARD) == 0);
		CHECK(buf_addz(&args, "`}", ERR_DISCARD) == 0);
		kit_call(&k, "finish_run", args.p);
		CHECK_HOLDS(&k, "{\"_tool_result_truncated\":true,\"tool\":\"finish_run\",\"shown_chars\":");
		CHECK_HOLDS(&k, "\"head\":\"{\\\"acknowledged\\\":true");
		CHECK(k.oc.finish && k.oc.summary_text.n > 10000 && k.out.n > 50000);
	}
}

TEST(docs_tools_is_what_the_table_prints)
{
	const char *top = getenv("AGENT6_SOURCE");
	autofree char *path = path_join(top ? top : ".", "docs/tools.md");
	auto_buf struct buf want = BUF_MAX(256 * 1024), have = BUF_MAX(256 * 1024);
	const char *renew = getenv("AGENT6_RENEW");
	struct err err = { 0 };

	CHECK_OK(tools_print_reference(&want, &err));
	for (size_t i = 0; tools[i]; i++)
		CHECK(*tools[i]->help && str_find(buf_str(&want), str_from(tools[i]->name)) < want.n);
	if (renew && strcmp(renew, "1") == 0) {
		autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		CHECK(fd >= 0);
		CHECK_OK(file_write_fd(fd, buf_str(&want), &err));
	}
	CHECK_OK(file_read(AT_FDCWD, path, &have, &err));
	CHECK_STR(buf_str(&have), buf_str(&want));
}
