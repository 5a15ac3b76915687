/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/prompt.h"
#include "test/agent/world.h"

#define FIN         "[\"finish_run\",{\"summary\":\"done\"}]"
#define TURN(calls) "{\"calls\":[" calls "]}"

static bool holds(struct str s, const char *part)
{
	return str_find(s, str_from(part)) < s.n;
}

static struct str system_of(const struct world *w)
{
	return json_get_str(
		json_array_get(json_object_get(json_array_get(w->requests, 0), "messages"), 0), "content");
}

TEST(the_first_request_of_a_small_repository_is_small)
{
	static const char *const wires[] = { "openai", "anthropic" };
	static struct str words[] = { { "make", 4 }, { "test", 4 } };

	for (size_t i = 0; i < COUNT(wires); i++) {
		auto_world struct world w;
		auto_buf struct buf body = BUF_MAX(1 << 20);

		world_init(&w);
		CHECK_INT(world_git(&w, "init", "-q", NULL, NULL), 0);
		test_write(&w.dir, "main.c", STR("int main(void) { return 0; }\n"));
		test_write(&w.dir, "AGENTS.md", STR("# Notes\n\nTabs, please.\n"));
		CHECK_INT(world_git(&w, "add", ".", NULL, NULL), 0);
		CHECK_INT(world_git(&w, "commit", "-q", "-m", "first"), 0);
		w.params.is_git = 1;
		w.params.attended = 1;
		w.params.api_format = str_from(wires[i]);
		w.params.prompt_caching = 1;
		w.params.verify_command = (struct str_list){ words, 2 };
		world_play(&w, "{\"turns\":[]}");
		CHECK(json_add(&body, json_array_get(w.requests, 0), ERR_DISCARD) == 0);
		print_message("first request, %s: %zu bytes\n", wires[i], body.n);
		CHECK(body.n <= PROMPT_FIRST_MAX);
	}
}

TEST(the_rules_fit_the_run)
{
	static struct str words[] = { { "make", 4 }, { "te st", 5 } };
	static const struct {
		const char *why;
		int git, step, gate;
		const char *commands, *isolation;
		const char *has, *has_not;
	} cases[] = {
		{ "a gate is named as it is run", 1, 1, 1, "yes", "strict", "[\"make\",\"te st\"]",
			"no verify command" },
		{ "and decides what is committed", 1, 1, 1, "yes", "strict", "after each green verify",
			"each editing step" },
		{ "without one each step is", 1, 1, 0, "yes", "strict", "each editing step",
			"after each green verify" },
		{ "no repository, no rules for it", 0, 1, 0, "yes", "strict", "finish_run", ".git" },
		{ "nothing is promised that is off", 1, 0, 0, "yes", "strict", ".git is read-only",
			"agent6 commits" },
		{ "no commands, no gate", 1, 1, 1, "no", "strict", "cannot run commands", "[\"make\"" },
		{ "hardened has a rule of its own", 1, 1, 0, "yes", "hardened",
			"A change in .git ends the run", NULL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct run_params p = { .is_git = cases[i].git,
			.commit_per_step = cases[i].step,
			.run_commands = str_from(cases[i].commands),
			.isolation = str_from(cases[i].isolation),
			.max_usd = -1,
			.max_output_tokens = -1,
			.verify_timeout_s = 60 };
		struct str_list gate = { words, cases[i].gate ? 2 : 0 };
		struct prompt_facts f = { .params = &p, .verify_command = &gate };
		auto_buf struct buf out = BUF_MAX(65536);
		struct err err = { 0 };

		CHECK_OK(prompt_system(&f, &out, &err));
		if (!holds(buf_str(&out), cases[i].has) ||
			(cases[i].has_not && holds(buf_str(&out), cases[i].has_not)))
			print_error("case: %s\n", cases[i].why);
		CHECK(holds(buf_str(&out), cases[i].has));
		CHECK(!cases[i].has_not || !holds(buf_str(&out), cases[i].has_not));
	}
}

TEST(the_opening_names_the_task_the_repository_and_its_notes)
{
	auto_world struct world w;
	struct str first;

	world_init(&w);
	w.params.is_git = 1;
	w.params.task = STR("fix \xff it");
	CHECK_INT(world_git(&w, "init", "-q", "-b", "trunk"), 0);
	test_write(&w.dir, "src/a.c", STR(""));
	test_write(&w.dir, "AGENTS.md", STR("Tabs, please \xfe.\n"));
	CHECK_INT(world_git(&w, "add", ".", NULL, NULL), 0);
	CHECK_INT(world_git(&w, "commit", "-q", "-m", "the first one"), 0);
	world_play(&w, "{\"turns\":[" TURN(FIN) "]}");
	first = world_text(json_array_get(w.messages, 0));
	CHECK(str_starts(first, STR("TASK:\nfix \xEF\xBF\xBD it\n")));
	CHECK(holds(first, "branch trunk at ") && holds(first, "2 tracked files"));
	CHECK(holds(first, "Top level: AGENTS.md src/\n"));
	CHECK(holds(first, " the first one\n"));
	CHECK(holds(first, "<agents_md>\nTabs, please \xEF\xBF\xBD.\n</agents_md>"));
	CHECK(holds(system_of(&w), "agent6"));
}

TEST(long_notes_keep_their_head_and_tail)
{
	auto_world struct world w;
	auto_buf struct buf notes = BUF_MAX(1 << 20);
	struct str first;

	world_init(&w);
	CHECK(buf_addz(&notes, "begin ", ERR_DISCARD) == 0);
	for (int i = 0; i < 20000; i++)
		CHECK(buf_addz(&notes, "notes ", ERR_DISCARD) == 0);
	CHECK(buf_addz(&notes, "end", ERR_DISCARD) == 0);
	test_write(&w.dir, "AGENTS.md", buf_str(&notes));
	world_play(&w, "{\"turns\":[" TURN(FIN) "]}");
	first = world_text(json_array_get(w.messages, 0));
	CHECK(first.n < 45000);
	CHECK(holds(first, "begin notes") && holds(first, "notes end") && holds(first, "bytes left out"));
	CHECK(holds(json_get_str(world_event(&w, "run.notice", 1), "text"), "AGENTS.md"));
}
