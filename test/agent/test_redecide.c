/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* One recorded decision is another one, the chain is whole again: replay names it. That an honest run gives no difference every
 * run of every world shows (world_play). */
#include "test/agent/world.h"

#include "agent/replay.h"
#include "base/time.h"
#include "session/chain.h"
#include "session/journal.h"
#include "session/store.h"
#include "sys/file.h"

#define LS       "[\"list_dir\",{\"path\":\".\"}]"
#define FIN      "[\"finish_run\",{\"summary\":\"done\"}]"
#define VER      "[\"run_verify_command\",{}]"
#define MET      "[\"run_metric_command\",{}]"
#define ADD      "[\"add_task\",{\"title\":\"mine\"}]"
#define LOOK(nr) "[\"read_file\",{\"path\":\"seen\",\"limit\":" nr "}]"
#define READ(nr) "[\"read_file\",{\"path\":\"f" nr "\"}]"
#define MAKE(file)                                                                                                              \
	"[\"apply_edit\",{\"path\":\"" file "\",\"edits\":[{\"kind\":\"create\",\"new_string\":\"x\\n\"}]}]"
#define TURN(calls) "{\"calls\":[" calls "]}"
#define TEXT(text)  "{\"text\":\"" text "\"}"
#define TURNS(all)  "{\"turns\":[" all "]}"
#define RED         "{\"code\":1,\"out\":\"bad\"}"

/* ---- worlds ---- */

static void little_left(struct world *w)
{
	w->params.max_output_tokens = 39; /* ten for each answer */
}

static void slow(struct world *w)
{
	(void)w;
	time_fake_step(15000);
}

static void with_metric(struct world *w)
{
	world_metric(w);
	w->params.metric_goal = STR("maximize");
}

static void small_window(struct world *w)
{
	for (int i = 0; i < 8; i++) {
		auto_buf struct buf b = BUF_MAX(16384);

		for (int k = 0; k < 4000; k++)
			CHECK(buf_addc(&b, (char)(k % 80 == 79 ? '\n' : 'a' + i), ERR_DISCARD) == 0);
		test_write(&w->dir, str_printf(w->mem, "f%d", i).p, buf_str(&b));
	}
	w->params.drop_at_chars = 20000;
	w->params.summarise_at_chars = 200000;
}

static void summaries(struct world *w)
{
	small_window(w);
	w->params.drop_at_chars = 100000;
	w->params.summarise_at_chars = 20000;
	w->params.keep_recent_chars = 3000;
}

static void reviewed(struct world *w)
{
	world_repository(w);
	w->params.review_trigger = STR("before_finish");
	w->params.review_decision = STR("veto");
	w->params.review_max_rejections = 4;
	w->params.review_concurrency = 1;
}

static void reviewed_often(struct world *w)
{
	reviewed(w);
	w->params.review_trigger = STR("periodic");
	w->params.review_period = 2;
}

static void reviewed_red(struct world *w)
{
	reviewed(w);
	world_gate(w);
	w->params.review_trigger = STR("on_verify_fail");
}

static void planned(struct world *w)
{
	world_repository(w);
	w->params.workflow = STR("implement");
}

static void planned_gate(struct world *w)
{
	planned(w);
	world_gate(w);
}

/* ---- scripts ---- */

#define LOOKS4 TURN(LOOK("1")) "," TURN(LOOK("2")) "," TURN(LOOK("3")) "," TURN(LOOK("4"))
#define LOOKS  TURNS(LOOKS4 "," TURN(LOOK("5")) "," TURN(LOOK("6")) "," TURN(LOOK("7")) "," TURN(LOOK("8")) "," TURN(FIN))
#define READS  TURN(READ("0")) "," TURN(READ("1")) "," TURN(READ("2")) "," TURN(READ("3")) "," TURN(READ("4")) "," TURN(READ("5")) ","  \
	TURN(READ("6")) "," TURN(READ("7"))
#define A10    "abcdefghij"
#define A100   A10 A10 A10 A10 A10 A10 A10 A10 A10 A10
#define A1000  A100 A100 A100 A100 A100 A100 A100 A100 A100 A100
#define LONG(file) TURN("[\"apply_edit\",{\"path\":\"" file "\",\"edits\":[{\"kind\":\"create\",\"new_string\":\"" A1000 A1000 "\"}]}]")
#define NOTED  "{\"notes\":[" TEXT("NOTE one") "," TEXT("NOTE two") "," TEXT("NOTE three") "],\"turns\":[" LONG("a") "," LONG("b") ","       \
	LONG("c") "," LONG("d") "," LONG("e") "," LONG("g") "," LONG("h") "," LONG("i") "," LONG("j") "," LONG("k") "," LONG("l") ","        \
	LONG("m") "," TURN(FIN) "]}"
#define BY_HAND "{\"notes\":[" TEXT("NOTE one") "],\"turns\":[" LONG("a") "," LONG("b") "," LONG("c") "," LONG("d") ",{\"act\":\"compact the API\"," \
	"\"calls\":[" LS "]}," TURN(FIN) "]}"
#define PAUSED_(how) "{\"notes\":[{\"text\":\"NOTE one\",\"act\":\"" how "\"}],\"parked\":[\"compact\"],\"turns\":[" LONG("a") "," LONG("b") "," LONG("c") ","   \
	LONG("d") ",{\"act\":\"pause\",\"calls\":[" LS "]}," TURN(FIN) "]}"
#define PAUSED      PAUSED_("continue")
#define PAUSED_SAID PAUSED_("go on: use tabs")
#define METRIC "{\"turns\":[" TURN(MET) "," TURN(MET "," LS) "," TURN(MET) "," TURN(MET "," LS) "," TURN(MET) "," TURN(FIN) "," TURN(FIN) ","    \
	TURN(FIN) "," TURN(FIN) "],\"jobs\":[{\"out\":\"9\"},{\"out\":\"1\"},{\"out\":\"1\"},{\"out\":\"1\"},{\"out\":\"1\"}]}"
#define BLOCK  TEXT("{\\\"verdict\\\":\\\"block\\\",\\\"findings\\\":[{\\\"category\\\":\\\"security\\\",\\\"severity\\\":\\\"block\\\","      \
	"\\\"path\\\":\\\"new\\\",\\\"quote\\\":\\\"xyz\\\",\\\"title\\\":\\\"bad\\\"}]}")
#define PASS   TEXT("{\\\"verdict\\\":\\\"pass\\\",\\\"findings\\\":[]}")
#define MAKE3  "[\"apply_edit\",{\"path\":\"new\",\"edits\":[{\"kind\":\"create\",\"new_string\":\"xyz\\n\"}]}]"
#define JUDGED TURNS(TURN(MAKE3) "," TURN(FIN) "," BLOCK "," TURN(MAKE("b")) "," TURN(FIN) "," PASS)
#define STEPS2 TEXT("{\\\"summary\\\":\\\"s\\\",\\\"steps\\\":[{\\\"title\\\":\\\"first\\\"},{\\\"title\\\":\\\"second\\\"}]}") ","            \
	TEXT("{\\\"verdict\\\":\\\"ok\\\"}")
#define PLAN   TURNS(STEPS2 "," TURN(MAKE("a")) "," TURN(FIN) "," TEXT("{\\\"approved\\\":false,\\\"fixes\\\":[\\\"more\\\"]}") ","           \
	TURN(MAKE("b")) "," TURN(FIN) "," TEXT("{\\\"approved\\\":true}") "," TURN(MAKE("c")) "," TURN(FIN) "," TEXT("{\\\"approved\\\":true}"))
#define TASKS  TURNS(TURN(ADD) "," TURN(FIN) "," TURN(LS) "," TURN(FIN) "," TURN(FIN) "," TURN(FIN))

static const struct {
	const char *why, *script;
	void (*set)(struct world *w);
	const char *event;   /* of this kind */
	size_t nth;
	const char *was, *is; /* NULL: the event is taken out */
	const char *at, *what;
} rows[] = {
	/* the budget */
	{ "what was spent", LOOKS, NULL, "budget.update", 1, "\"output_total\":20", "\"output_total\":19", "budget.update", "counted otherwise" },
	{ "what may be spent", LOOKS, NULL, "budget.update", 0, "\"output_cap\":100000", "\"output_cap\":200000", "budget.update", "counted otherwise" },
	{ "how much was left", LOOKS, little_left, "loop.run_budget.nudge", 0, "\"budget_remaining\":23", "\"budget_remaining\":3",
		"loop.run_budget.nudge", "what is left of the budget" },
	{ "a nudge about the budget", LOOKS, little_left, "loop.run_budget.nudge", 0, NULL, NULL, "loop.budget", "due after the turn is not said" },
	{ "a request that was refused", LOOKS, little_left, "loop.budget.refused", 0, NULL, NULL, "run.end", "no request was refused" },
	{ "a request that went on", LOOKS, little_left, "loop.settings", 0, "\"max_output_tokens\":39", "\"max_output_tokens\":19", "budget.update",
		"counted otherwise" },
	{ "a refusal without need", LOOKS, little_left, "loop.settings", 0, "\"max_output_tokens\":39", "\"max_output_tokens\":390", "budget.update",
		"counted otherwise" },
	{ "the number of turns", LOOKS, NULL, "loop.settings", 0, "\"max_iterations\":50", "\"max_iterations\":3", "loop.budget", "as many turns as it may" },
	{ "the settings", LOOKS, NULL, "loop.settings", 0, NULL, NULL, "role.call", "older agent6" },
	/* the clock */
	{ "a nudge about time", LOOKS, slow, "loop.stagnation.nudged", 0, NULL, NULL, "loop.budget", "due after the turn is not said" },
	{ "how long nothing was done", LOOKS, slow, "loop.stagnation.nudged", 0, "\"elapsed_s\":", "\"elapsed_s\":1", "loop.stagnation.nudged",
		"the clock said something else" },
	/* compaction: when, and what */
	{ "how many results were set aside", TURNS(READS "," TURN(FIN)), small_window, "loop.compact.dropped", 0, "\"n\":", "\"n\":1",
		"loop.compact.dropped", "made shorter in another way" },
	{ "that results were set aside", TURNS(READS "," TURN(FIN)), small_window, "loop.compact.dropped", 0, NULL, NULL, "loop.compact.gists",
		"made shorter in another way" },
	{ "from when on results are set aside", TURNS(READS "," TURN(FIN)), small_window, "loop.settings", 0, "\"drop_at_chars\":20000",
		"\"drop_at_chars\":90000", "loop.compact.dropped", "did not have to be made shorter" },
	{ "an earlier time to set aside", TURNS(READS "," TURN(FIN)), small_window, "loop.settings", 0, "\"drop_at_chars\":20000",
		"\"drop_at_chars\":12000", "role.result", "had to be made shorter" },
	{ "what is left of them", TURNS(READS "," TURN(FIN)), small_window, "loop.settings", 0, "\"elision_gists\":1", "\"elision_gists\":0",
		"loop.compact.gists", "did not have to be made shorter" },
	{ "a summary", NOTED, summaries, "loop.compact.summarise.done", 0, "NOTE one", "NOTE two", "loop.compact.summarise.done", "made shorter in another way" },
	{ "that there was a summary", NOTED, summaries, "loop.compact.summarise.call", 0, NULL, NULL, "loop.compact.summarise.done",
		"made shorter in another way" },
	{ "how much a summary keeps", NOTED, summaries, "loop.settings", 0, "\"keep_recent_chars\":3000", "\"keep_recent_chars\":5000",
		"loop.compact.summarise.call", "made shorter in another way" },
	{ "a summary before its time", NOTED, summaries, "loop.settings", 0, "\"summarise_at_chars\":20000", "\"summarise_at_chars\":90000",
		"loop.compact.summarise.call", "did not have to be made shorter" },
	{ "that the person wanted one", BY_HAND, NULL, "loop.compact.requested", 0, NULL, NULL, "loop.compact.summarise.call", "did not have to be made shorter" },
	{ "what the person's one says", BY_HAND, NULL, "loop.compact.summarise.done", 0, "NOTE one", "NOTE two", "loop.compact.summarise.done",
		"made shorter in another way" },
	{ "what one says that was asked for at a pause", PAUSED, NULL, "loop.compact.summarise.done", 0, "NOTE one", "NOTE two", "loop.compact.summarise.done",
		"made shorter in another way" },
	{ "and with words that came behind it", PAUSED_SAID, NULL, "loop.compact.summarise.done", 0, "NOTE one", "NOTE two", "loop.compact.summarise.done",
		"made shorter in another way" },
	/* reviews */
	{ "what a seat says", JUDGED, reviewed, "loop.review.seat", 0, "\"verdict\":\"block\"", "\"verdict\":\"pass\"", "loop.review.seat",
		"answer means something else" },
	{ "what a seat found", JUDGED, reviewed, "loop.review.seat", 0, "\"findings\":1", "\"findings\":2", "loop.review.seat", "found something else" },
	{ "what a panel decided", JUDGED, reviewed, "loop.review.panel", 0, "\"blocked\":true", "\"blocked\":false", "loop.review.panel",
		"the panel decided otherwise" },
	{ "the rule of a panel", JUDGED, reviewed, "loop.review.panel", 0, "\"decision\":\"veto\"", "\"decision\":\"advisory\"", "loop.review.panel",
		"by another rule" },
	{ "the votes of a panel", JUDGED, reviewed, "loop.review.panel", 1, "\"n_abstain\":0", "\"n_abstain\":1", "loop.review.panel", "votes were counted" },
	{ "a finish that was sent back", JUDGED, reviewed, "loop.review.rejected_finish", 0, NULL, NULL, "loop.budget", "due after the turn is not said" },
	{ "a review every second turn", TURNS(TURN(MAKE3) "," TURN(LOOK("1")) "," PASS "," TURN(FIN)), reviewed_often, "loop.review.start", 0, NULL, NULL,
		"loop.budget", "due after the turn is not said" },
	{ "how often there is a review", TURNS(TURN(MAKE3) "," TURN(LOOK("1")) "," PASS "," TURN(FIN)), reviewed_often, "loop.settings", 0,
		"\"review_period\":2", "\"review_period\":3", "loop.review.start", "it was not due" },
	{ "a review after a red gate", "{\"turns\":[" TURN(MAKE3 "," VER) "," PASS "," TURN(FIN) "],\"jobs\":[" RED "]}", reviewed_red,
		"loop.review.start", 0, NULL, NULL, "loop.budget", "due after the turn is not said" },
	{ "what calls for a review", JUDGED, reviewed, "loop.settings", 0, "\"review_trigger\":\"before_finish\"", "\"review_trigger\":\"off\"",
		"loop.review.start", "no review was due by this trigger" },
	/* tasks */
	{ "the task in focus", TASKS, NULL, "loop.task.surfaced", 0, "\"task_id\":\"0", "\"task_id\":\"1", "loop.task.surfaced", "stands elsewhere" },
	{ "that a task is in focus", TASKS, NULL, "loop.task.surfaced", 0, NULL, NULL, "loop.budget", "due after the turn is not said" },
	{ "a finish over open tasks", TASKS, NULL, "loop.task_finish.gated", 1, NULL, NULL, "loop.budget", "due after the turn is not said" },
	{ "how often it was sent back", TASKS, NULL, "loop.task_finish.gated", 1, "\"nudges_used\":2", "\"nudges_used\":1", "loop.task_finish.gated", "not due" },
	{ "the state of a task", TASKS, NULL, "graph.update", 0, "\"in_progress\"", "\"passed\"", "graph.update", "task list is another one" },
	{ "the task list", TASKS, NULL, "graph.update", 0, NULL, NULL, "loop.budget", "due after the turn is not said" },
	{ "words over an open task", TURNS(TURN(MAKE("a") "," ADD) "," TEXT("Done.") "," TEXT("Done.") "," TEXT("Done.") "," TEXT("Done.")), NULL,
		"loop.task_finish.gated", 2, "\"nudges_used\":3", "\"nudges_used\":2", "loop.task_finish.gated", "not due" },
	/* the metric */
	{ "a sample", METRIC, with_metric, "loop.metric.sample", 1, "\"score\":1", "\"score\":7", "loop.metric.sample", "counted otherwise" },
	{ "a nudge about the metric", METRIC, with_metric, "loop.metric_plateau.nudge", 0, NULL, NULL, "loop.budget", "due after the turn is not said" },
	{ "a finish over a worse number", METRIC, with_metric, "loop.metric_early_finish.rejected", 1, NULL, NULL, "loop.budget", "due after the turn" },
	{ "which number is better", METRIC, with_metric, "loop.settings", 0, "\"maximize\"", "\"minimize\"", "loop.metric.sample", "counted otherwise" },
	/* the steps of a plan */
	{ "the plan", PLAN, planned, "plan.ready", 0, "\"second\"", "\"third\"", "plan.ready", "plan is another one" },
	{ "which step begins", PLAN, planned, "step.start", 1, "\"index\":2", "\"index\":3", "step.start", "it is another step" },
	{ "what it is called", PLAN, planned, "step.start", 1, "\"title\":\"second\"", "\"title\":\"first\"", "step.start", "calls this step otherwise" },
	{ "that a step failed", PLAN, planned, "step.end", 0, "\"status\":\"passed\"", "\"status\":\"failed\"", "step.end", "had turns left" },
	{ "that a step is over", PLAN, planned, "step.end", 0, NULL, NULL, "step.start", "it is another step" },
	{ "that a step stays red", "{\"turns\":[" STEPS2 "," TURN(FIN) "," TURN(FIN) "," TURN(FIN) "," TURN(FIN) "],\"jobs\":[" RED "," RED "," RED "," RED "]}",
		planned_gate, "step.end", 0, NULL, NULL, "run.end", "no reason to stop yet" },
	/* the operator */
	{ "that somebody stopped it", "{\"turns\":[{\"act\":\"stop\",\"calls\":[" LS "]}]}", NULL, "run.stop_requested", 0, NULL, NULL, "run.end",
		"nobody asked for a stop" },
	{ "how somebody stopped it", "{\"turns\":[{\"act\":\"now\",\"hang\":true}]}", NULL, "run.stop_requested", 0, "\"how\":\"now\"",
		"\"how\":\"after the step\"", "run.end", "asked for after the step" },
};

/* ---- another record ---- */

/* The line with its part exchanged; false: it has none such. */
static bool exchange(struct str line, const char *was, const char *is, struct buf *out)
{
	size_t at = str_find(line, str_from(was));

	if (at == line.n)
		return false;
	CHECK(buf_add(out, str_head(line, at), ERR_DISCARD) == 0 && buf_addz(out, is, ERR_DISCARD) == 0 &&
		buf_add(out, str_skip(line, at + strlen(was)), ERR_DISCARD) == 0);
	return true;
}

/* A body with its number, and the hash of all before it. */
static void chain(struct str body, int64_t seq, char prev[CHAIN_HEX + 1], struct buf *out)
{
	auto_buf struct buf b = BUF_MAX(EVENT_JSON_MAX * 2);
	size_t at = str_find(body, STR("\"seq\":")) + 6;
	struct str rest = str_skip(body, at);
	char h[CHAIN_HEX + 1];

	CHECK(buf_addf(&b, ERR_DISCARD, STR_FMT "%lld" STR_FMT, STR_ARG(str_head(body, at)), (long long)seq,
		STR_ARG(str_skip(rest, str_find(rest, STR(","))))) == 0);
	chain_next(prev, buf_str(&b), h);
	memcpy(prev, h, sizeof(h));
	CHECK(buf_addf(out, ERR_DISCARD, STR_FMT ",\"h\":\"%s\"}\n", STR_ARG(buf_str(&b)), h) == 0);
}

static void forge(struct world *w, size_t row)
{
	auto_buf struct buf text = BUF_MAX(1 << 26), out = BUF_MAX(1 << 26);
	struct err err = { 0 };
	char prev[CHAIN_HEX + 1];
	int64_t seq = 0;
	size_t nth = 0;
	bool done = false;

	CHECK_OK(file_read(w->disk.fd, JOURNAL_NAME, &text, &err));
	chain_first(prev);
	for (struct str rest = buf_str(&text); rest.n > 0;) {
		auto_buf struct buf changed = BUF_MAX(EVENT_JSON_MAX * 2);
		struct journal_line l = line_parse(str_trim_suffix(str_line(&rest), STR("\n")));
		struct str body = l.body;

		if (l.kind != LINE_DURABLE)
			continue;
		if (str_eqz(l.type, rows[row].event) && nth++ == rows[row].nth) {
			done = true;
			if (!rows[row].was)
				continue;
			if (!exchange(body, rows[row].was, rows[row].is, &changed))
				fail_msg("case: %s: %s is not in %.*s", rows[row].why, rows[row].was, STR_ARG(body));
			body = buf_str(&changed);
		}
		chain(body, ++seq, prev, &out);
	}
	if (!done)
		fail_msg("case: %s: there is no %s %zu", rows[row].why, rows[row].event, rows[row].nth);
	CHECK_OK(file_replace(w->disk.fd, JOURNAL_NAME, buf_str(&out), 0600, &err));
}

TEST(a_decision_that_was_another_one_is_named_by_replay)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_world struct world w;
		struct replay_report rep = { 0 };

		world_init(&w);
		test_write(&w.dir, "seen", STR("one\ntwo\n"));
		if (rows[i].set)
			rows[i].set(&w);
		world_play(&w, rows[i].script);
		time_fake_step(0);
		CHECK(w.done);
		forge(&w, i);
		world_replay(&w, &rep);
		if (strcmp(rep.type, rows[i].at) != 0 || !strstr(rep.what, rows[i].what))
			fail_msg("case: %s: found at %s: %s, was %s, is %s", rows[i].why, rep.type, rep.what, rep.was, rep.now);
	}
}
