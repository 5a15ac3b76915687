/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "memory/notes.h"
#include "test/agent/world.h"

#include <string.h>

#define FIN         "[\"finish_run\",{\"summary\":\"done\"}]"
#define LS(dir)     "[\"list_dir\",{\"path\":\"" dir "\"}]"
#define ADD(title)  "[\"add_task\",{\"title\":\"" title "\",\"acceptance\":\"it works\",\"relevant_paths\":[\"a.c\"]}]"
#define TURN(calls) "{\"calls\":[" calls "]}"

static bool says(const struct world *w, size_t message, const char *text)
{
	struct str s = world_text(json_array_get(w->messages, message));

	return str_find(s, str_from(text)) < s.n;
}

TEST(a_task_list_is_kept_in_focus_and_open_tasks_hold_the_finish_back)
{
	auto_world struct world w;

	world_init(&w);
	w.params.task = STR("make it\nfast");
	world_play(&w, "{\"turns\":[" TURN(ADD("first") "," ADD("second")) "," TURN(LS(".")) "," TURN(FIN) "," TURN(FIN) "," TURN(
		FIN) "," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK(says(&w, 2, "Your task list is at: first ("));
	CHECK(says(&w, 2, "Done when: it works\nFiles: a.c"));
	CHECK(!says(&w, 4, "Your task list")); /* it is told once */
	CHECK(says(&w, 6, "Not finished: 2 tasks of your list are open"));
	CHECK_INT(world_count(&w, "loop.task_finish.gated"), 3);
	CHECK_INT(world_count(&w, "loop.task.surfaced"), 1);
	CHECK_INT(w.graph->n, 3);
	CHECK_STR(w.graph->p[0].title, STR("make it"));
	CHECK_STR(w.graph->p[1].title, STR("first"));
	CHECK_INT(w.graph->p[1].status, TASK_IN_PROGRESS);
	CHECK(strcmp(w.graph->cursor.z, w.graph->p[1].id.z) == 0);
	CHECK_INT(json_object_size(json_object_get(world_event(&w, "graph.update", 0), "nodes")), 3);
	CHECK_INT(json_get_int(w.state, "graph_version", -1), w.graph->version);
}

TEST(a_task_that_takes_too_long_is_asked_about_three_times)
{
	auto_world struct world w;
	auto_buf struct buf script = BUF_MAX(65536);
	struct err err = { 0 };

	world_init(&w);
	w.params.max_iterations = 90;
	CHECK_OK(buf_addz(&script, "{\"turns\":[" TURN(ADD("long")), &err));
	for (int i = 0; i < 89; i++) /* calls that differ, so that nothing else ends it */
		CHECK_OK(buf_addf(&script, &err, ",{\"calls\":[[\"read_file\",{\"path\":\"%c%d\"}]]}", "abcd"[i % 4], i));
	CHECK_OK(buf_addz(&script, "]}", &err));
	for (int i = 0; i < 89; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%c%d", "abcd"[i % 4], i);
		test_write(&w.dir, name, STR("x\n"));
	}
	world_play(&w, script.p);
	CHECK_INT(world_count(&w, "loop.task.stuck_nudge"), 3);
	CHECK_INT(json_get_int(world_event(&w, "loop.task.stuck_nudge", 2), "turns", 0), 60);
}

/* The turn that was cut off after its checkpoint added a task; the conversation that goes on knows nothing of it. */
TEST(a_resumed_run_has_the_tasks_its_conversation_knows)
{
	auto_world struct world first, second;
	json_t *graph_version;

	world_init(&first);
	world_play(&first, "{\"turns\":[" TURN(ADD("known")) "," TURN(ADD("lost")) "]}");
	CHECK_INT(first.graph->n, 3);
	graph_version = json_integer(first.graph->version - 1);
	json_object_set_new(first.state, "graph_version", graph_version);
	world_init(&second);
	second.prior = &first;
	second.params.resume = 1;
	world_play(&second, "{\"turns\":[" TURN("[\"list_tasks\",{}]") "," TURN(ADD("new")) "]}");
	CHECK_INT(second.graph->n, 3);
	CHECK_STR(second.graph->p[1].title, STR("known"));
	CHECK_STR(second.graph->p[2].title, STR("new"));
}

TEST(notes_are_told_kept_and_taken_back)
{
	static struct str told[] = { { "m-00000001", 10 }, { "build", 5 }, { "use make -k", 11 }, { "run abc", 7 },
		{ "2026-11-29T00:00:00Z", 20 } };
	auto_world struct world w;

	world_init(&w);
	w.params.notes = (struct str_list){ told, COUNT(told) };
	world_play(&w, "{\"turns\":[" TURN(
		"[\"add_memory\",{\"scope\":\"tests\",\"text\":\"they need \\u001b[31mA=1\"}],"
		"[\"invalidate_memory\",{\"id\":\"m-00000001\",\"reason\":\"make is gone\"}],"
		"[\"invalidate_memory\",{\"id\":\"m-0000000z\",\"reason\":\"x\"}],"
		"[\"add_memory\",{\"scope\":\"../x\",\"text\":\"y\"}]") "," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK(says(&w, 0, "- m-00000001 [build] use make -k (run abc, 2026-11-29)\n</notes>"));
	CHECK_INT(json_array_size(w.notes), 2);
	CHECK_STR(json_get_str(json_array_get(w.notes, 0), "text"), STR("they need  [31mA=1"));
	CHECK_STR(json_get_str(json_array_get(w.notes, 1), "id"), STR("m-00000001"));
	CHECK_INT(world_count(&w, "memory.added"), 1);
	CHECK_INT(world_count(&w, "memory.invalidated"), 1);
}

TEST(a_run_writes_so_many_notes_and_no_more)
{
	auto_world struct world w;
	auto_buf struct buf script = BUF_MAX(65536);
	struct err err = { 0 };

	world_init(&w);
	CHECK_OK(buf_addz(&script, "{\"turns\":[{\"calls\":[", &err));
	for (int i = 0; i < NOTES_PER_RUN + 3; i++)
		CHECK_OK(buf_addf(&script, &err, "[\"add_memory\",{\"scope\":\"a\",\"text\":\"note %c%d\"}],", "xyz"[i % 3], i));
	CHECK_OK(buf_addz(&script, LS(".") "]}," TURN(FIN) "]}", &err));
	world_play(&w, script.p);
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(json_array_size(w.notes), NOTES_PER_RUN);
}

TEST(a_gate_that_turns_green_reminds_once_of_notes)
{
	static struct str words[] = { { "make", 4 }, { "test", 4 } };
	auto_world struct world w;

	world_init(&w);
	w.params.verify_command = (struct str_list){ words, 2 };
	world_play(&w, "{\"turns\":[" TURN("[\"run_verify_command\",{}]") "," TURN("[\"run_verify_command\",{}]," LS(".")) "," TURN(
		"[\"run_verify_command\",{}]," LS("..")) "," TURN("[\"run_verify_command\",{}]") "," TURN(FIN) "],\"jobs\":[{\"code\":1},"
		"{\"code\":0},{\"code\":1},{\"code\":0}]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(world_count(&w, "loop.memory_flip.nudged"), 1);
	CHECK(says(&w, 4, "leave it with add_memory"));
}
