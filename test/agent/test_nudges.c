/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Every way to keep a model on track: what leads to it, the event, and the words that the next request holds. The last test
 * looks for kinds of events and reasons of ends that no test knows. */
#include "test/agent/world.h"

#include "agent/run_priv.h"
#include "base/time.h"
#include "session/event.h"

#define LS       "[\"list_dir\",{\"path\":\".\"}]"
#define FIN      "[\"finish_run\",{\"summary\":\"done\"}]"
#define VER      "[\"run_verify_command\",{}]"
#define MET      "[\"run_metric_command\",{}]"
#define ADD      "[\"add_task\",{\"title\":\"mine\"}]"
#define READ(nr) "[\"read_file\",{\"path\":\"n" nr "\"}]"
#define LOOK(nr) "[\"read_file\",{\"path\":\"seen\",\"limit\":" nr "}]"
#define RUN(nr)  "[\"run_command\",{\"argv\":[\"c" nr "\"]}]"
#define MAKE(file)                                                                                                              \
	"[\"apply_edit\",{\"path\":\"" file "\",\"edits\":[{\"kind\":\"create\",\"new_string\":\"x\\n\"}]}]"
#define TURN(calls) "{\"calls\":[" calls "]}"
#define TEXT(text)  "{\"text\":\"" text "\"}"
#define X3(t)       t "," t "," t
#define X4(t)       t "," t "," t "," t
#define RED         "{\"code\":1,\"out\":\"bad\"}"
#define TURNS(all)  "{\"turns\":[" all "]}"

static void gated_repository(struct world *w)
{
	world_repository(w);
	world_gate(w);
}

static void must_verify(struct world *w)
{
	world_gate(w);
	w->params.require_verify_to_finish = 1;
}

static void with_metric(struct world *w)
{
	world_metric(w);
	w->params.metric_goal = STR("maximize");
}

static void gated_metric(struct world *w)
{
	with_metric(w);
	world_gate(w);
}

static void little_left(struct world *w)
{
	w->params.max_output_tokens = 39; /* ten for each answer */
}

static void little_metric(struct world *w)
{
	with_metric(w);
	w->params.max_output_tokens = 62;
}

static void plan(struct world *w)
{
	w->params.mode = STR("plan");
}

static void plan_little(struct world *w)
{
	plan(w);
	little_left(w);
}

static void slow(struct world *w)
{
	(void)w;
	time_fake_step(15000);
}

static void standing(struct world *w)
{
	w->params.standing = STR("keep it fast");
}

static const struct {
	const char *why, *script;
	void (*set)(struct world *w);
	const char *event;
	size_t n;           /* of these events in the run */
	const char *words;  /* that the next request ends with; NULL: nothing is said to the model */
} rows[] = {
	/* turns without a call */
	{ "an empty answer", TURNS(TEXT("") "," TURN(FIN)), NULL, "loop.went_quiet.nudge", 1, "Your answer was empty" },
	{ "an answer cut off at the limit", TURNS("{\"text\":\"and\",\"stop\":\"length\"}" "," TURN(FIN)), NULL,
		"loop.went_quiet.nudge", 1, "Your answer was cut off at the length limit" },
	{ "nothing but thoughts", TURNS("{\"text\":\"\",\"thinking\":\"hm\",\"stop\":\"length\"}" "," TURN(FIN)), NULL,
		"loop.reasoning_starvation", 1, "Your answer was empty" },
	{ "prose instead of work", TURNS(TEXT("I would.") "," TURN(FIN)), NULL, "loop.silent_no_work.nudge", 1,
		"Text alone does nothing here" },
	{ "a question in prose", TURNS(TURN(MAKE("a")) "," TEXT("Shall I?") "," TURN(FIN)), NULL, "loop.question_nudge", 1,
		"ask it with ask_user" },
	{ "a plan in prose", TURNS(TEXT("First this.") "," TURN("[\"finish_planning\",{\"summary\":\"s\",\"plan_markdown\":\"p\"}]")),
		plan, "loop.went_quiet.nudge", 1, "Text alone is no plan" },
	{ "twelve turns of looking",
		TURNS(TURN(LOOK("1")) "," TURN(LOOK("2")) "," TURN(LOOK("3")) "," TURN(LOOK("4")) "," TURN(LOOK("5")) "," TURN(LOOK("6")) ","
			TURN(LOOK("7")) "," TURN(LOOK("8")) "," TURN(LOOK("9")) "," TURN(LOOK("10")) "," TURN(LOOK("11")) "," TURN(LOOK("12")) ","
			TURN("[\"finish_planning\",{\"summary\":\"s\",\"plan_markdown\":\"p\"}]")),
		plan, "loop.plan_finish.nudge", 1, "You have looked around enough to plan" },
	{ "planning with little left", TURNS(TURN(LOOK("1")) "," TURN(LOOK("2")) "," TURN(LOOK("3")) ","
		TURN("[\"finish_planning\",{\"summary\":\"s\",\"plan_markdown\":\"p\"}]")), plan_little, "loop.plan_finish.nudge", 1,
		"You have looked around enough to plan" },
	/* what repeats */
	{ "the same call", TURNS(X3(TURN(LS)) "," TURN(FIN)), NULL, "loop.loop_guard.triggered", 1, "same call several times in a row" },
	{ "the same error", TURNS(TURN(READ("1")) "," TURN(READ("2")) "," TURN(READ("3")) "," TURN(FIN)), NULL, "loop.tool_error.nudge", 1,
		"The same tool error came three times in a row" },
	{ "the same error still", TURNS(TURN(READ("1")) "," TURN(READ("2")) "," TURN(READ("3")) "," TURN(READ("4")) "," TURN(READ("5")) "," TURN(FIN)),
		NULL, "loop.tool_error.nudge", 2, "The same tool error still repeats" },
	{ "the same refusal", "{\"turns\":[" TURN(RUN("1")) "," TURN(RUN("2")) "," TURN(RUN("3")) "," TURN(FIN) "],\"jobs\":["
		X3("{\"why\":\"denied\"}") "]}", NULL, "loop.tool_error.nudge", 1, "This was refused three times" },
	{ "the same red gate", "{\"turns\":[" TURN(MAKE("a") "," VER) "," TURN(MAKE("b") "," VER) "," TURN(MAKE("c") "," VER) ","
		TURN(MAKE("d") "," VER) "," TURN(FIN) "],\"jobs\":[" X4(RED) "]}", world_gate, "loop.no_progress.nudge", 1,
		"has failed four times in the same way" },
	{ "the same red gate still", "{\"turns\":[" TURN(MAKE("a") "," VER) "," TURN(MAKE("b") "," VER) "," TURN(MAKE("c") "," VER) ","
		TURN(MAKE("d") "," VER) "," TURN(MAKE("e") "," VER) "," TURN(MAKE("f") "," VER) "," TURN(MAKE("g") "," VER) "," TURN(FIN)
		"],\"jobs\":[" X3(RED) "," X4(RED) "]}", world_gate, "loop.no_progress.nudge", 2, "still fails in the same way" },
	{ "a green tree that rests", TURNS(TURN(MAKE("a") "," VER) "," TURN(LOOK("1")) "," TURN(LOOK("2")) "," TURN(LOOK("3")) "," TURN(FIN)),
		world_gate, "loop.verify_settled.nudge", 1, "The verify command is green and nothing has changed since" },
	{ "a tree without a gate that rests", TURNS(TURN(MAKE("a")) "," TURN(LOOK("1")) "," TURN(LOOK("2")) "," TURN(LOOK("3")) "," TURN(FIN)),
		world_repository, "loop.verify_settled.nudge", 1, "Nothing has changed for some turns" },
	{ "five minutes without work", TURNS(TURN(LOOK("1")) "," TURN(LOOK("2")) "," TURN(LOOK("3")) "," TURN(LOOK("4")) "," TURN(LOOK("5")) ","
		TURN(LOOK("6")) "," TURN(LOOK("7")) "," TURN(LOOK("8")) "," TURN(FIN)), slow, "loop.stagnation.nudged", 1,
		"Five minutes have passed without an edit or a verify" },
	{ "a budget that ends", TURNS(TURN(LOOK("1")) "," TURN(LOOK("2")) "," TURN(LOOK("3")) "," TURN(FIN)), little_left,
		"loop.run_budget.nudge", 1, "of the budget is left" },
	/* the gate */
	{ "a gate that is red from the start", "{\"turns\":[" TURN(VER) "," TURN(FIN) "],\"jobs\":[" RED "]}", gated_repository, "loop.baseline",
		1, "was red before you changed anything" },
	{ "a gate whose runner is missing", "{\"turns\":[" TURN(VER) "," TURN(FIN) "],\"jobs\":[{\"code\":1,\"errs\":\"x: command not found\"}]}",
		world_gate, "loop.verify_broken.nudge", 1, "did not get as far as the tests" },
	{ "a gate that turns green", "{\"turns\":[" TURN(MAKE("a") "," VER) "," TURN(MAKE("b") "," VER) "," TURN(FIN) "],\"jobs\":[" RED "]}",
		world_gate, "loop.memory_flip.nudged", 1, "leave it with add_memory" },
	{ "a finish that was never verified", TURNS(TURN(MAKE("a")) "," TURN(FIN) "," TURN(VER) "," TURN(FIN)), must_verify,
		"loop.verify_finish.gated", 1, "Not finished: the verify command must be green" },
	/* tasks */
	{ "a task in focus", TURNS(TURN(ADD) "," TURN("[\"list_tasks\",{}]") "," TURN(FIN)), NULL, "loop.task.surfaced", 1,
		"Your task list is at: mine" },
	{ "a finish with an open task", TURNS(TURN(ADD) "," TURN(FIN) "," TURN(FIN) "," TURN(FIN) "," TURN(FIN)), NULL, "loop.task_finish.gated", 3,
		"Not finished: 1 task of your list is open" },
	{ "words over an open task", TURNS(TURN(MAKE("a") "," ADD) "," X4(TEXT("Done."))), NULL, "loop.task_finish.gated", 3,
		"Not finished: 1 task of your list is open" },
	{ "words over what was never verified", TURNS(TURN(MAKE("a")) "," TEXT("Done.") "," TURN(VER) "," TEXT("Done.")), must_verify,
		"loop.verify_finish.gated", 1, "Not finished: the verify command must be green" },
	{ "words over a worse number", "{\"turns\":[" TURN(MAKE("a") "," MET) "," TURN(MET "," LS) "," X4(TEXT("Done.")) "],\"jobs\":[{\"out\":\"9\"},{\"out\":\"1\"}]}",
		with_metric, "loop.metric_early_finish.rejected", 3, "the last sample of the metric is no better than the best, 9" },
	/* the metric */
	{ "a red gate beside a metric", "{\"turns\":[" TURN(MAKE("a") "," VER) "," TURN(MAKE("b") "," VER) "," TURN(MAKE("c") "," VER) ","
		TURN(MAKE("d") "," VER) "," TURN(FIN) "],\"jobs\":[" X4(RED) "]}", gated_metric, "loop.no_progress.nudge", 0, NULL },
	{ "a metric that gets no better", "{\"turns\":[" TURN(MET) "," TURN(MET "," LS) "," TURN(MET) "," TURN(MET "," LS) "," TURN(MET) ","
		TURN(FIN) "],\"jobs\":[{\"out\":\"9\"}," X4("{\"out\":\"1\"}") "]}", with_metric, "loop.metric_plateau.nudge", 1,
		"has not got better for some samples" },
	{ "a finish over a worse number", "{\"turns\":[" TURN(MET) "," TURN(MET "," LS) "," X4(TURN(FIN)) "],\"jobs\":[{\"out\":\"9\"},{\"out\":\"1\"}]}",
		with_metric, "loop.metric_early_finish.rejected", 3, "the last sample of the metric is no better than the best, 9" },
	{ "a number that is all there is", "{\"turns\":[" TURN(MET) "," TURN(FIN) "],\"jobs\":[{\"out\":\"9/9\"}]}", with_metric,
		"loop.metric_ceiling.stop", 1, NULL },
	{ "a metric at the end of the budget", "{\"turns\":[" TURN(MET) "," TURN(MET "," LS) "," TURN(MET) "," TURN(MET "," LS) "," TURN(MET)
		"," TURN(FIN) "],\"jobs\":[{\"out\":\"9\"}," X4("{\"out\":\"1\"}") "]}", little_metric, "loop.metric.sample", 5, NULL },
	/* what goes on */
	{ "a standing goal", TURNS(TURN(FIN) "," TURN(LS) "," "{\"status\":401,\"body\":\"no\"}"), standing, "loop.standing.resumed", 1,
		"This run has a standing goal and goes on with it:\nkeep it fast" },
};

static bool ends_with(const json_t *request, const char *words)
{
	const json_t *messages = json_object_get(request, "messages");
	struct str text = world_text(json_array_get(messages, json_array_size(messages) - 1));

	return str_find(text, str_from(words)) < text.n;
}

TEST(a_model_is_told_in_the_next_request_what_would_bring_it_back_on_track)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_world struct world w;
		size_t told = 0;

		world_init(&w);
		test_write(&w.dir, "seen", STR("one\ntwo\n"));
		if (rows[i].set)
			rows[i].set(&w);
		world_play(&w, rows[i].script);
		time_fake_step(0);
		for (size_t k = 1; rows[i].words && k < json_array_size(w.requests); k++)
			told += ends_with(json_array_get(w.requests, k), rows[i].words);
		if (world_count(&w, rows[i].event) != rows[i].n || (rows[i].words && told == 0) || !world_pairs(w.messages))
			print_error("case: %s: %zu %s, told %zu, %.*s\n", rows[i].why, world_count(&w, rows[i].event), rows[i].event, told,
				STR_ARG(w.reason));
		CHECK(w.done);
		CHECK_INT(world_count(&w, rows[i].event), rows[i].n);
		CHECK(!rows[i].words || told > 0);
		CHECK(world_pairs(w.messages));
	}
}

/* ---- nothing is left out ---- */

/* Shown where more than a model's script is needed. */
static const struct {
	const char *event, *test;
} elsewhere[] = {
	{ "loop.background.nudge", "test_background.c: last_words_while_a_background_command_runs_are_asked_about_once" },
	{ "loop.task.stuck_nudge", "test_tasks.c: a_task_that_takes_too_long_is_asked_about_three_times" },
	{ "loop.review.rejected_finish", "review-run.story" },
	{ "loop.review.rejected_silent_finish", "review-silent.story" },
	{ "loop.review.rejection_cap_reached", "review-silent.story" },
	{ "loop.provider.empty_tool_call_retry", "empty-call.story" },
};

static bool is_known(const char *type)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (strcmp(rows[i].event, type) == 0 && rows[i].n > 0)
			return true;
	for (size_t i = 0; i < COUNT(elsewhere); i++)
		if (strcmp(elsewhere[i].event, type) == 0)
			return true;
	return false;
}

TEST(every_event_that_tells_a_model_something_has_its_row)
{
	static const char *const marks[] = { "nudge", ".gated", "rejected", "rejection", ".triggered", "starvation", "ceiling",
		"standing", "surfaced", "empty_tool" };

	for (int id = 0; id < EVENT_COUNT; id++) {
		struct str type = str_from(event_at((enum event_id)id)->type);

		for (size_t k = 0; k < COUNT(marks); k++)
			if (str_find(type, str_from(marks[k])) < type.n && !is_known(type.p))
				fail_msg("%s is in no row of this file", type.p);
	}
}

/* Where each end of a run is shown. */
static const struct {
	enum run_reason why;
	const char *test;
} ends[] = {
	{ REASON_FINISH, "every_end_has_its_reason_its_status_and_its_pairs" },
	{ REASON_SILENT_FINISH, "every_end_has_its_reason_its_status_and_its_pairs" },
	{ REASON_SETTLED, "settled.story" },
	{ REASON_VERIFY_SETTLED, "a_green_tree_that_rests_is_a_finished_run" },
	{ REASON_RED_AT_BASE, "a_gate_that_was_red_before_the_run_is_known" },
	{ REASON_GATE_STALE, "every_end_has_its_reason_its_status_and_its_pairs" },
	{ REASON_ANSWERED, "ask.story" },
	{ REASON_PLANNED, "plan.story" },
	{ REASON_REVIEWED, "review.story" },
	{ REASON_BLOCKED, "review.story" },
	{ REASON_INCONCLUSIVE, "review.story" },
	{ REASON_QUESTIONS, "implement-stops.story" },
	{ REASON_PLAN_REJECTED, "implement-stops.story" },
	{ REASON_PLAN_DECLINED, "who_is_there_says_yes_to_the_plan_before_its_first_step" },
	{ REASON_METRIC_PLATEAU, "metric.story" },
	{ REASON_REVISION, "revise.story" },
	{ REASON_WENT_QUIET, "every_end_has_its_reason_its_status_and_its_pairs" },
	{ REASON_BUDGET, "the_budget_ends_a_run_after_the_call_that_reached_it" },
	{ REASON_PROVIDER, "every_end_has_its_reason_its_status_and_its_pairs" },
	{ REASON_NO_PROGRESS, "the_same_red_gate_again_and_again_ends_the_run" },
	{ REASON_TOOL_ERROR, "every_end_has_its_reason_its_status_and_its_pairs" },
	{ REASON_UNEXECUTABLE, "every_end_has_its_reason_its_status_and_its_pairs" },
	{ REASON_LOOP_GUARD, "every_end_has_its_reason_its_status_and_its_pairs" },
	{ REASON_MAX_ITERATIONS, "every_end_has_its_reason_its_status_and_its_pairs" },
	{ REASON_STEER_ABORT, "every_end_has_its_reason_its_status_and_its_pairs" },
	{ REASON_INTERRUPTED, "every_end_has_its_reason_its_status_and_its_pairs" },
	{ REASON_RECORD_LOST, "every_end_has_its_reason_its_status_and_its_pairs" },
	{ REASON_JAIL_LOST, "test_faults.py" },
	{ REASON_GIT_OVERDUE, "a_git_that_does_not_end_ends_the_run_and_no_further_one_is_waited_for" },
	{ REASON_CRASHED, "test_faults.py" },
	{ REASON_REFUSED, "a_run_without_an_identity_is_refused_and_told_which_keys_to_set" },
};

TEST(every_end_of_a_run_is_shown_somewhere)
{
	for (int why = REASON_NONE + 1; why < REASON_COUNT; why++) {
		bool found = false;

		for (size_t i = 0; i < COUNT(ends); i++)
			found = found || ends[i].why == (enum run_reason)why;
		if (!found)
			fail_msg("%s is in no row of this file", run_reason_word((enum run_reason)why));
	}
}
