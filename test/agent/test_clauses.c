/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Where a nudge, a gate or a tier ends: what resets its patience, when it stays silent, what it spares. That each of them comes at all
 * is in test_nudges.c. docs/loop.md names the test of each rule. */
#include "test/agent/world.h"

#include <string.h>

#define LS  "[\"list_dir\",{\"path\":\".\"}]"
#define FIN "[\"finish_run\",{\"summary\":\"done\"}]"
#define VER "[\"run_verify_command\",{}]"
#define MET "[\"run_metric_command\",{}]"
#define READ(file) "[\"read_file\",{\"path\":\"" file "\"}]"
#define MAKE(file)                                                                                                              \
	"[\"apply_edit\",{\"path\":\"" file "\",\"edits\":[{\"kind\":\"create\",\"new_string\":\"xyz\\n\"}]}]"
#define TURN(calls) "{\"calls\":[" calls "]}"
#define TEXT(text)  "{\"text\":\"" text "\"}"
#define TURNS(all)  "{\"turns\":[" all "]}"
#define X3(t)       t "," t "," t
#define X4(t)       t "," t "," t "," t
#define RED         "{\"code\":1,\"out\":\"bad\"}"
#define BLOCK  TEXT("{\\\"verdict\\\":\\\"block\\\",\\\"findings\\\":[{\\\"category\\\":\\\"security\\\",\\\"severity\\\":\\\"block\\\","      \
	"\\\"path\\\":\\\"new\\\",\\\"quote\\\":\\\"xyz\\\",\\\"title\\\":\\\"bad\\\"}]}")
#define PASS   TEXT("{\\\"verdict\\\":\\\"pass\\\",\\\"findings\\\":[]}")

static void must_verify(struct world *w)
{
	world_gate(w);
	w->params.require_verify_to_finish = 1;
}

static void must_verify_there(struct world *w)
{
	world_repository(w);
	must_verify(w);
}

static void half_metric(struct world *w)
{
	world_metric(w);
	w->params.metric_goal = STR("maximize");
	w->params.max_output_tokens = 84; /* after five answers of ten there is 40 % left */
}

static void reviewed(struct world *w)
{
	world_repository(w);
	w->params.review_trigger = STR("before_finish");
	w->params.review_decision = STR("veto");
	w->params.review_max_rejections = 4;
	w->params.review_concurrency = 1;
}

static void reviewed_once(struct world *w)
{
	reviewed(w);
	w->params.review_max_rejections = 1;
}

static void reviewed_poorly(struct world *w)
{
	reviewed(w);
	w->params.review_budget_fraction = 0.9;
	w->params.max_output_tokens = 60;
}

static void reviewed_on(struct world *w)
{
	reviewed(w);
	w->params.standing = STR("go on");
	w->params.standing_patience = 0;
}

static const struct {
	const char *why, *script;
	void (*set)(struct world *w);
	const char *event;
	size_t n;           /* of these events in the run */
	const char *says;   /* somewhere in the last of them, or NULL */
	const char *reason; /* of the end */
} rows[] = {
	{ "a turn with a call gives fresh patience with empty ones", TURNS(X3(TEXT("")) "," TURN(LS) "," X3(TEXT("")) "," TURN(FIN)), NULL,
		"loop.went_quiet.nudge", 6, "\"nudges_used\":3", "finish_run" },
	{ "prose does so too", TURNS(TURN(MAKE("a")) "," X3(TEXT("")) "," TEXT("Shall I?") "," X3(TEXT("")) "," TURN(FIN)), NULL,
		"loop.went_quiet.nudge", 6, "\"nudges_used\":3", "finish_run" },
	{ "errors that differ in more than digits are not the same", TURNS(TURN(READ("a")) "," TURN("[\"list_dir\",{\"path\":\"b\"}]") ","
		TURN(READ("a")) "," TURN("[\"list_dir\",{\"path\":\"b\"}]") "," TURN(READ("a")) "," TURN(FIN)), NULL, "loop.tool_error.nudge", 0, NULL,
		"finish_run" },
	{ "a call that works ends a row of errors", TURNS(TURN(READ("1")) "," TURN(READ("2")) "," TURN(LS) "," TURN(READ("3")) "," TURN(READ("4")) ","
		TURN(FIN)), NULL, "loop.tool_error.nudge", 0, NULL, "finish_run" },
	{ "two idle words without work get another chance, not three", TURNS(X3(TEXT("I would."))), NULL, "loop.silent_no_work.nudge", 2, "\"nudges_used\":2",
		"silent_finish" },
	{ "and only in the first three turns", TURNS(TURN(LS) "," TURN(READ("seen")) "," TURN("[\"grep\",{\"pattern\":\"zz\"}]") "," TEXT("It is fine.")),
		NULL, "loop.silent_no_work.nudge", 0, NULL, "silent_finish" },
	{ "a question in prose is asked about once", TURNS(TURN(MAKE("a")) "," TEXT("Shall I?") "," TEXT("May I?")), NULL, "loop.question_nudge", 1, NULL,
		"silent_finish" },
	{ "the fourth finish without a green gate is accepted", TURNS(TURN(MAKE("a")) "," X4(TURN(FIN))), must_verify, "loop.verify_finish.gated", 3,
		"\"nudges_used\":3", "finish_run" },
	{ "one over a gate that was red before is no worse than the base", "{\"turns\":[" TURN(VER) "," TURN(MAKE("a") "," VER) "," TURN(FIN) "],\"jobs\":[" RED "," RED "]}",
		must_verify_there, "loop.verify_finish.gated", 0, NULL, "gate_red_at_base" },
	{ "with a middling budget a plateau is neither told nor an end", "{\"turns\":[" TURN(MET) "," TURN(MET "," LS) "," TURN(MET) "," TURN(MET "," LS) ","
		TURN(MET) "," X3(TURN(FIN)) "],\"jobs\":[{\"out\":\"9\"}," X4("{\"out\":\"1\"}") "]}", half_metric, "loop.metric_plateau.nudge", 0, NULL,
		"finish_run" },
	/* reviews */
	{ "after as many rejections as there may be a panel only advises", TURNS(TURN(MAKE("new")) "," TURN(FIN) "," BLOCK "," TURN(FIN) "," BLOCK),
		reviewed_once, "loop.review.panel", 2, "\"disarmed\":true", "finish_run" },
	{ "and that is said", TURNS(TURN(MAKE("new")) "," TURN(FIN) "," BLOCK "," TURN(FIN) "," BLOCK), reviewed_once, "loop.review.rejection_cap_reached", 1,
		"\"rejections\":1", "finish_run" },
	{ "two rejections in a row, then the finish holds", TURNS(TURN(MAKE("new")) "," TURN(FIN) "," BLOCK "," TURN(FIN) "," BLOCK "," TURN(FIN)), reviewed,
		"loop.review.rejected_finish", 2, NULL, "finish_run" },
	{ "nothing is reviewed with too little budget", TURNS(TURN(MAKE("new")) "," TURN(FIN)), reviewed_poorly, "loop.review.skipped", 1,
		"\"reason\":\"budget_fraction\"", "finish_run" },
	{ "nothing is reviewed where nothing changed", TURNS(TURN(LS) "," TURN(FIN)), reviewed, "loop.review.skipped", 1, "\"reason\":\"no_diff\"", "finish_run" },
	{ "a review that passes forgives one that did not", TURNS(TURN(MAKE("new")) "," TURN(FIN) "," BLOCK "," TURN(FIN) "," PASS "," TURN(FIN) "," PASS),
		reviewed_on, "loop.review.panel", 3, NULL, "finish_run" },
};

TEST(patience_ends_and_begins_anew_where_it_should)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		auto_world struct world w;
		auto_buf struct buf b = BUF_MAX(1 << 20);

		world_init(&w);
		test_write(&w.dir, "seen", STR("one\ntwo\n"));
		if (rows[i].set)
			rows[i].set(&w);
		world_play(&w, rows[i].script);
		if (world_count(&w, rows[i].event) != rows[i].n || !str_eqz(w.reason, rows[i].reason))
			fail_msg("case: %s: %zu %s, " STR_FMT ": " STR_FMT, rows[i].why, world_count(&w, rows[i].event), rows[i].event, STR_ARG(w.reason),
				STR_ARG(w.message));
		CHECK(world_pairs(w.messages));
		if (!rows[i].says)
			continue;
		CHECK(json_add(&b, world_event(&w, rows[i].event, rows[i].n - 1), ERR_DISCARD) == 0);
		if (str_find(buf_str(&b), str_from(rows[i].says)) == b.n)
			fail_msg("case: %s: " STR_FMT, rows[i].why, STR_ARG(buf_str(&b)));
	}
}

TEST(a_review_that_passes_takes_one_rejection_back)
{
	auto_world struct world w;

	world_init(&w);
	test_write(&w.dir, "seen", STR("one\n"));
	reviewed_on(&w);
	world_play(&w, TURNS(TURN(MAKE("new")) "," TURN(FIN) "," BLOCK "," TURN(FIN) "," PASS "," TURN(FIN) "," PASS));
	CHECK_INT(world_count(&w, "loop.review.rejected_finish"), 1);
	CHECK_INT(json_get_int(w.state, "review_rejections", -1), 0);
	CHECK_INT(json_get_int(w.state, "review_streak", -1), 0);
}

/* ---- what the cheap tier spares ---- */

static void write_letters(struct world *w, int n, int64_t drop_at)
{
	char text[4000];

	for (int i = 0; i < n; i++) {
		memset(text, 'a' + i, sizeof(text));
		for (size_t k = 79; k < sizeof(text); k += 80)
			text[k] = '\n';
		memcpy(text, "head\n", 5);
		test_write(&w->dir, str_printf(w->mem, "f%d", i).p, str_of(text, sizeof(text)));
	}
	w->params.drop_at_chars = drop_at;
	w->params.summarise_at_chars = 1 << 20;
}

static bool last_holds(struct world *w, const char *part)
{
	auto_buf struct buf b = BUF_MAX(1 << 22);

	CHECK(json_add(&b, json_array_get(w->requests, json_array_size(w->requests) - 1), ERR_DISCARD) == 0);
	return str_find(buf_str(&b), str_from(part)) < b.n;
}

#define F(n) TURN(READ("f" n))
#define LINE(c) c c c c c c c c c c c c c c c c c c c c

TEST(old_results_go_oldest_first_and_those_of_files_in_work_last)
{
	auto_world struct world w;

	world_init(&w);
	write_letters(&w, 7, 26000);
	w.params.elision_gists = 0;
	world_play(&w, TURNS(F("0") "," TURN("[\"apply_edit\",{\"path\":\"f0\",\"edits\":[{\"old_string\":\"head\",\"new_string\":\"HEAD\"}]}]") ","
		F("1") "," F("2") "," F("3") "," F("4") "," F("5") "," F("6") "," TURN(FIN)));
	CHECK(json_is_true(json_object_get(world_event(&w, "tool.result", 1), "ok"))); /* the edit */
	CHECK(world_count(&w, "loop.compact.dropped") > 0);
	CHECK(last_holds(&w, LINE("a")));                             /* read before it was edited, long ago */
	CHECK(!last_holds(&w, LINE("b")));                            /* older than the newest two */
	CHECK(last_holds(&w, LINE("f")) && last_holds(&w, LINE("g"))); /* these are the newest two */
}

TEST(the_newest_two_results_stay_though_more_should_go)
{
	auto_world struct world w;

	world_init(&w);
	write_letters(&w, 4, 14000);
	w.params.elision_gists = 0;
	world_play(&w, TURNS(F("0") "," F("1") "," F("2") "," F("3") "," TURN(FIN)));
	CHECK(!last_holds(&w, LINE("a")) && !last_holds(&w, LINE("b")));
	CHECK(last_holds(&w, LINE("c")) && last_holds(&w, LINE("d")));
}

TEST(of_results_that_are_the_same_the_newest_stays)
{
	auto_world struct world w;

	world_init(&w);
	write_letters(&w, 4, 18000);
	world_play(&w, TURNS(F("0") "," F("1") "," F("0") "," F("1") "," F("2") "," F("3") "," TURN(FIN)));
	CHECK_INT(world_count(&w, "loop.compact.deduped"), 1);
	CHECK_INT(json_get_int(world_event(&w, "loop.compact.deduped", 0), "n", 0), 2);
	CHECK(last_holds(&w, "the same as a later result"));
}

/* ---- when a summary is written ---- */

#define A10    "abcdefghij"
#define A100   A10 A10 A10 A10 A10 A10 A10 A10 A10 A10
#define A1000  A100 A100 A100 A100 A100 A100 A100 A100 A100 A100
#define LONG(file) TURN("[\"apply_edit\",{\"path\":\"" file "\",\"edits\":[{\"kind\":\"create\",\"new_string\":\"" A1000 A1000 A1000 A1000 "\"}]}]")

static bool is_note(struct world *w, size_t i)
{
	auto_buf struct buf b = BUF_MAX(1 << 22);

	CHECK(json_add(&b, json_array_get(w->requests, i), ERR_DISCARD) == 0);
	return str_find(buf_str(&b), STR("Write the note.")) < b.n;
}

TEST(a_summary_waits_for_three_turns)
{
	auto_world struct world w;

	world_init(&w);
	w.params.drop_at_chars = 6000;
	w.params.summarise_at_chars = 10000;
	w.params.keep_recent_chars = 9000;
	world_play(&w, "{\"notes\":[" X4(TEXT("NOTE")) "],\"turns\":[" LONG("a") "," LONG("b") "," LONG("c") "," LONG("d") "," LONG("e") "," LONG("f") "," TURN(FIN) "]}");
	/* The prompt alone is past 10,000; the note is asked for before the fourth turn, and not again before the fifth. */
	CHECK(!is_note(&w, 0) && !is_note(&w, 1) && !is_note(&w, 2) && is_note(&w, 3) && !is_note(&w, 4) && !is_note(&w, 5));
	CHECK(json_get_int(world_event(&w, "loop.compact.summarise.call", 0), "messages", 0) < 7);
	CHECK(world_pairs(w.messages));
}

#define LOOK(nr) TURN("[\"read_file\",{\"path\":\"seen\",\"limit\":" nr "}]")

TEST(a_second_summary_waits_until_the_conversation_has_grown_by_a_quarter)
{
	auto_world struct world w;

	world_init(&w);
	test_write(&w.dir, "seen", STR("one\ntwo\n"));
	w.params.drop_at_chars = 3000;
	w.params.summarise_at_chars = 5000; /* the prompt alone is longer */
	world_play(&w, "{\"notes\":[" X4(TEXT("NOTE")) "],\"turns\":[" LOOK("1") "," LOOK("2") "," LOOK("3") "," LOOK("4") "," LOOK("5") "," LOOK("6") ","
		LOOK("7") "," LOOK("8") "," LOOK("9") "," LOOK("10") "," LOOK("11") "," LOOK("12") "," TURN(FIN) "]}");
	CHECK_STR(w.reason, STR("finish_run"));
	CHECK_INT(world_count(&w, "loop.compact.summarise.call"), 1);
}
