/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/time.h"
#include "sys/file.h"
#include "test/lib/test.h"
#include "view/fold.h"
#include "view/follow.h"

#include <fcntl.h>
#include <string.h>

static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

/* One line of a journal; the fold does not check the chain, journal_verify does. */
static struct str durable(struct arena *mem, int seq, const char *type, const char *fields)
{
	return str_printf(mem, "{\"ts\":\"2026-11-29T20:00:%02d.000000Z\",\"seq\":%d,\"type\":\"%s\"%s%s,\"h\":\"%s\"}\n", seq % 60, seq,
		type, fields[0] ? "," : "", fields, zeros);
}

static struct str delta(struct arena *mem, const char *type, const char *fields)
{
	return str_printf(mem, "{\"ts\":\"2026-11-29T20:00:00.000000Z\",\"type\":\"%s\",%s,\"volatile\":true}\n", type, fields);
}

TEST(fold_gives_one_item_per_event)
{
	static const struct { const char *why, *type, *fields; enum view_kind kind; const char *name, *arg, *text; } cases[] = {
		{ "start", "run.start", "\"run_id\":\"calm\",\"user_task\":\"do it\",\"mode\":\"run\",\"model\":\"m\"", VIEW_START, "", "", "do it" },
		{ "a command", "tool.call", "\"name\":\"run_command\",\"args\":{\"argv\":[\"make\",\"a b\"]},\"call_id\":\"1\"", VIEW_CALL, "run_command", "make 'a b'", "" },
		{ "a path", "tool.call", "\"name\":\"read_file\",\"args\":{\"path\":\"a.c\",\"limit\":3},\"call_id\":\"2\"", VIEW_CALL, "read_file", "a.c", "" },
		{ "pattern and path", "tool.call", "\"name\":\"grep\",\"args\":{\"pattern\":\"x\",\"path\":\"src\"},\"call_id\":\"3\"", VIEW_CALL, "grep", "src x", "" },
		{ "edits", "tool.call", "\"name\":\"apply_edit\",\"args\":{\"edits\":[{\"path\":\"a\"},{\"path\":\"b\"}]},\"call_id\":\"4\"", VIEW_CALL, "apply_edit", "a (+1 more)", "" },
		{ "a patch", "tool.call", "\"name\":\"apply_patch\",\"args\":{\"patch\":\"--- a/x\\n+++ b/x\\n@@\"},\"call_id\":\"5\"", VIEW_CALL, "apply_patch", "x", "" },
		{ "its result, by id", "tool.result", "\"name\":\"read_file\",\"ok\":true,\"summary\":\"3 lines\",\"call_id\":\"2\"", VIEW_RESULT, "read_file", "a.c", "3 lines" },
		{ "commit", "loop.auto_commit", "\"iteration\":1,\"sha\":\"abc\",\"subject\":\"s\"", VIEW_COMMIT, "abc", "", "s" },
		{ "gate", "verify.end", "\"cmd\":[\"make\",\"test\"],\"exit_code\":2,\"duration_s\":0.5,\"stdout_tail\":\"boo\"", VIEW_VERIFY, "", "make test", "" },
		{ "a marker with holes filled", "loop.provider.retry", "\"attempt\":2,\"error\":\"429 \\\"slow\\\"\",\"wait_ms\":1549", VIEW_MARKER, "", "", "provider: attempt 2 failed: 429 \"slow\"; trying again in 1.5 s" },
		{ "a source in plain words", "loop.verify_inferred", "\"command\":[\"make\",\"test\"],\"source\":\"agents_md\"", VIEW_MARKER, "", "", "gate (AGENTS.md): make test" },
		{ "a source that is a name", "loop.verify_inferred", "\"command\":[\"make\"],\"source\":\"Makefile:test\"", VIEW_MARKER, "", "", "gate (Makefile:test): make" },
		{ "a trigger", "loop.review.start", "\"iteration\":1,\"trigger\":\"command\",\"seats\":1", VIEW_MARKER, "", "", "review (asked for): asking" },
		{ "one tool", "mcp.ready", "\"server\":\"notes\",\"tools\":1,\"protocol\":\"2025-06-18\"", VIEW_MARKER, "", "", "mcp notes: tools: 1, protocol 2025-06-18" },
		{ "torn", "record.torn", "\"bytes\":7,\"file\":\"logs.jsonl\"", VIEW_WARNING, "", "", "record: an incomplete last line of logs.jsonl (7 bytes) was cut off; every whole line is there" },
		{ "a notice", "run.notice", "\"level\":\"warning\",\"text\":\"loud\"", VIEW_WARNING, "", "", "loud" },
		{ "a first Ctrl-C", "run.pause_requested", "\"source\":\"sigint\",\"how\":\"after the step\"", VIEW_MARKER, "", "", "pausing after the step; a second Ctrl-C does not wait for it" },
		{ "a second one", "run.pause_requested", "\"source\":\"sigint\",\"how\":\"now\"", VIEW_MARKER, "", "", "pausing now" },
		{ "a pause from elsewhere", "run.pause_requested", "\"source\":\"frontend\",\"how\":\"after the step\"", VIEW_MARKER, "", "", "pausing after the step" },
		{ "steer", "run.steer_requested", "\"source\":\"frontend\",\"text\":\"go\"", VIEW_STEER, "", "", "go" },
		{ "what the agent says a person said", "loop.steer.injected", "\"chars\":2,\"text\":\"go\"", VIEW_NOTHING, "", "", "" },
		{ "pause", "loop.parked", "\"reason\":\"paused\"", VIEW_PAUSED, "", "", "paused" },
		{ "beside the work", "loop.btw.answer", "\"question\":\"q\",\"text\":\"a\"", VIEW_ASIDE, "", "q", "a" },
		{ "a quiet one", "loop.budget", "\"iteration\":1,\"input_tokens\":1,\"output_tokens\":1", VIEW_NOTHING, "", "", "" },
		{ "unknown", "no.such", "\"a\":1", VIEW_NOTHING, "", "", "" },
		{ "end", "run.end", "\"reason\":\"finish_run\",\"iterations\":3,\"all_passed\":true", VIEW_END, "", "", "" },
	};
	auto_arena struct arena *mem = arena_new();
	auto_view struct view *v = view_new(VIEW_ALL);

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct view_item it = view_line(v, durable(mem, (int)i + 1, cases[i].type, cases[i].fields));

		CHECK_INT(it.kind, cases[i].kind);
		CHECK_STR(it.name, str_from(cases[i].name));
		CHECK_STR(it.arg, str_from(cases[i].arg));
		CHECK_STR(it.text, str_from(cases[i].text));
	}
	const struct view_state *s = view_state(v);
	CHECK_STR(buf_str(&s->task), STR("do it"));
	CHECK_INT(s->ncalls, 5);
	CHECK_INT(s->ncommits, 1);
	CHECK(s->torn && s->verify_seen && s->end.seen);
	CHECK_INT(s->verify_code, 2);
	CHECK_STR(str_from(view_status(s, false).word), STR("passed"));
}

TEST(fold_says_when_nobody_of_a_panel_judged)
{
	static const struct { const char *why, *start, *panel; int unjudged; const char *text; } cases[] = {
		{ "all abstain", "3", "\"blocked\":false,\"n_block\":0,\"n_abstain\":3", 3, "review: nobody judged: 3 abstained" },
		{ "one judged", "3", "\"blocked\":false,\"n_block\":0,\"n_abstain\":2", 0, "review (veto): 0 block, 2 abstain" },
		{ "the only one abstains", "1", "\"blocked\":false,\"n_block\":0,\"n_abstain\":1", 1, "review: nobody judged: 1 abstained" },
		{ "nobody abstains", "1", "\"blocked\":true,\"n_block\":1,\"n_abstain\":0", 0, "review (veto): 1 block, 0 abstain" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_view struct view *v = view_new(VIEW_ALL);
		struct str start = str_printf(mem, "\"iteration\":1,\"trigger\":\"before_finish\",\"seats\":%s", cases[i].start);
		struct str panel = str_printf(mem, "\"iteration\":1,\"trigger\":\"before_finish\",\"decision\":\"veto\",%s", cases[i].panel);

		view_line(v, durable(mem, 1, "loop.review.start", start.p));
		struct view_item it = view_line(v, durable(mem, 2, "loop.review.panel", panel.p));
		CHECK_STR(it.text, str_from(cases[i].text));
		CHECK_INT(it.kind, cases[i].unjudged > 0 ? VIEW_WARNING : VIEW_MARKER);
		CHECK_INT(view_state(v)->unjudged, cases[i].unjudged);
		view_line(v, durable(mem, 3, "loop.resume.start", "\"run_id\":\"calm\",\"mode\":\"run\",\"iteration\":2,\"messages\":3"));
		CHECK_INT(view_state(v)->unjudged, 0);
	}
}

TEST(fold_says_when_a_gate_was_not_asked)
{
	static const struct { const char *why, *mode, *end; bool told; } cases[] = {
		{ "a gate, and nothing changed", "run", "\"verified\":\"not_applicable\",\"verify_command\":[\"make\"]", true },
		{ "no gate", "run", "\"verified\":\"not_applicable\",\"verify_command\":[]", false },
		{ "it said something", "run", "\"verified\":\"passed\",\"verify_command\":[\"make\"]", false },
		{ "changed, and it was not run", "run", "\"verified\":\"unverified\",\"verify_command\":[\"make\"]", false },
		{ "who only looks runs none", "ask", "\"verified\":\"not_applicable\",\"verify_command\":[\"make\"]", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_arena struct arena *mem = arena_new();
		auto_view struct view *v = view_new(VIEW_ALL);

		view_line(v, durable(mem, 1, "run.start", str_printf(mem, "\"run_id\":\"calm\",\"user_task\":\"t\",\"mode\":\"%s\"", cases[i].mode).p));
		view_line(v, durable(mem, 2, "run.end", str_printf(mem, "\"reason\":\"finish_run\",\"iterations\":1,%s", cases[i].end).p));
		CHECK(!!view_gate_unasked(view_state(v)) == cases[i].told);
	}
}

TEST(fold_of_a_later_leg_knows_what_was_pinned_and_set_aside_before)
{
	auto_arena struct arena *mem = arena_new();
	auto_view struct view *v = view_new(VIEW_STATE_ONLY);
	const struct view_state *s = view_state(v);

	view_line(v, durable(mem, 1, "loop.pin.added", "\"text\":\"old\",\"chars\":3,\"count\":1"));
	view_line(v, durable(mem, 2, "loop.pin.restored", "\"pins\":[\"use \\\"tabs\\\"\",\"be brief\"],\"count\":2"));
	view_line(v, durable(mem, 3, "loop.compact.restored", "\"elided\":7,\"gists\":3"));
	CHECK_STR(buf_str(&s->pinned), STR("use \"tabs\"\nbe brief\n"));
	CHECK_INT(s->pins, 2);
	CHECK_INT(s->elided, 7);
}

TEST(fold_takes_deltas_only_where_they_are_marked)
{
	auto_arena struct arena *mem = arena_new();
	auto_view struct view *all = view_new(VIEW_ALL), *brief = view_new(VIEW_STATE_ONLY);
	struct str good = delta(mem, "role.text_delta", "\"role\":\"worker\",\"text\":\"a\\ud83d\\ude00\"");
	struct str forged = delta(mem, "approval.prompt", "\"id\":\"approval-1\",\"prompt\":\"p\",\"standing\":true");
	struct str chained = durable(mem, 1, "role.text_delta", "\"role\":\"worker\",\"text\":\"a\"");

	CHECK_STR(view_line(all, good).text, STR("a\xF0\x9F\x98\x80"));
	CHECK_INT(view_line(brief, good).kind, VIEW_NOTHING);
	CHECK_INT(view_line(all, forged).kind, VIEW_NOTHING);
	CHECK_INT(view_state(all)->nprompts, 0);
	CHECK_INT(view_line(all, chained).kind, VIEW_NOTHING);
	CHECK_INT(view_line(all, STR("nonsense")).kind, VIEW_NOTHING);
	CHECK_INT(view_line(all, STR("")).kind, VIEW_NOTHING);
}

TEST(fold_keeps_prompts_until_they_are_answered_or_the_leg_ends)
{
	auto_arena struct arena *mem = arena_new();
	auto_view struct view *v = view_new(VIEW_ALL);
	const struct view_state *s = view_state(v);

	view_line(v, durable(mem, 1, "run.start", "\"run_id\":\"calm\",\"user_task\":\"t\",\"mode\":\"run\""));
	CHECK_STR(str_from(view_status(s, true).word), STR("running"));
	CHECK_STR(str_from(view_status(s, false).word), STR("stale"));
	view_line(v, durable(mem, 2, "approval.prompt", "\"id\":\"approval-1\",\"prompt\":\"make\",\"standing\":true"));
	view_line(v, durable(mem, 3, "question.prompt", "\"id\":\"question-2\",\"questions\":[{\"question\":\"a\\nb\",\"options\":[\"x\",\"y\"]},{\"question\":\"c\",\"options\":[]}]"));
	CHECK_INT(s->nprompts, 2);
	CHECK_INT(s->prompts[1].nquestions, 2);
	CHECK_STR(buf_str(&s->prompts[1].text), STR("a b\n x\n y\nc\n"));
	CHECK_STR(str_from(view_status(s, true).word), STR("waiting"));
	view_line(v, durable(mem, 4, "approval.answer", "\"id\":\"approval-1\",\"approved\":true,\"source\":\"frontend\""));
	CHECK_INT(s->nprompts, 1);
	CHECK_STR(str_from(s->prompts[0].id), STR("question-2"));
	view_line(v, durable(mem, 5, "loop.resume.start", "\"run_id\":\"calm\",\"mode\":\"run\",\"iteration\":2,\"messages\":4"));
	CHECK_INT(s->nprompts, 0); /* their ids start again */
	for (int i = 0; i < 2 * VIEW_PROMPTS; i++)
		view_line(v, durable(mem, 6 + i, "approval.prompt", str_printf(mem, "\"id\":\"approval-%d\",\"prompt\":\"p\",\"standing\":true", i).p));
	CHECK_INT(s->nprompts, VIEW_PROMPTS);
}

TEST(fold_adds_up_the_cost_of_all_legs)
{
	auto_arena struct arena *mem = arena_new();
	auto_view struct view *v = view_new(VIEW_STATE_ONLY);
	const struct view_budget *b = &view_state(v)->budget;

	view_line(v, durable(mem, 1, "run.start", "\"run_id\":\"c\",\"user_task\":\"t\",\"mode\":\"run\""));
	view_line(v, durable(mem, 2, "budget.update", "\"input_total\":10,\"output_total\":2,\"usd_total\":0.25,\"usd_partial\":true"));
	view_line(v, durable(mem, 3, "run.end", "\"reason\":\"interrupted\",\"iterations\":1"));
	CHECK_STR(str_from(view_status(view_state(v), false).word), STR("stopped"));
	view_line(v, durable(mem, 4, "loop.resume.start", "\"run_id\":\"c\",\"mode\":\"run\",\"iteration\":1,\"messages\":2"));
	CHECK_STR(str_from(view_status(view_state(v), true).word), STR("running"));
	view_line(v, durable(mem, 5, "budget.update", "\"input_total\":5,\"output_total\":1,\"usd_total\":0.5,\"usd_partial\":false"));
	CHECK_INT((int64_t)((b->usd + b->usd_before) * 100), 75);
	CHECK(b->usd_partial);
	CHECK_INT(b->input, 5);
}

struct seen {
	struct buf text;
};

static int note_line(void *self, struct str line, struct err *err)
{
	struct seen *s = self;

	TRY(buf_add(&s->text, line, err));
	return buf_addc(&s->text, '|', err);
}

TEST(follow_hands_out_whole_lines_once_also_after_a_torn_one_was_replaced)
{
	auto_dir struct test_dir d = test_dir_new();
	struct seen s = { .text = BUF_MAX(1 << 20) };
	auto_follow struct follow *f = NULL;
	struct err err = { 0 };

	CHECK_OK(follow_open(d.fd, &f, &err));
	CHECK_OK(follow_read(f, note_line, &s, &err)); /* it is not there yet */
	autoclose int fd = openat(d.fd, "logs.jsonl", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	CHECK_OK(file_write_fd(fd, STR("one\ntw"), &err));
	CHECK_OK(follow_read(f, note_line, &s, &err));
	CHECK_STR(buf_str(&s.text), STR("one|"));
	CHECK(ftruncate(fd, 4) == 0);
	CHECK_OK(file_write_fd(fd, STR("TWO\nthree\n"), &err));
	CHECK_OK(follow_read(f, note_line, &s, &err));
	CHECK_OK(follow_read(f, note_line, &s, &err));
	CHECK_STR(buf_str(&s.text), STR("one|TWO|three|"));
	buf_clear(&s.text);
	auto_buf struct buf big = BUF_MAX(1 << 20);
	for (int i = 0; i < 900000; i++)
		CHECK_OK(buf_addc(&big, 'x', &err));
	CHECK_OK(buf_addz(&big, "\nlast\n", &err));
	CHECK_OK(file_write_fd(fd, buf_str(&big), &err));
	CHECK_OK(follow_read(f, note_line, &s, &err));
	CHECK_STR(buf_str(&s.text), STR("last|")); /* no journal line is so long */
	buf_fini(&s.text);
}

TEST(fold_reads_a_large_journal_fast)
{
	auto_arena struct arena *mem = arena_new();
	auto_view struct view *v = view_new(VIEW_STATE_ONLY);
	struct str lines[] = {
		durable(mem, 1, "tool.call", "\"name\":\"read_file\",\"args\":{\"path\":\"src/a.c\"},\"call_id\":\"toolu_0123456789\""),
		durable(mem, 2, "tool.result", "\"name\":\"read_file\",\"ok\":true,\"summary\":\"120 lines\",\"call_id\":\"toolu_0123456789\",\"stdout_tail\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\n\""),
		durable(mem, 3, "role.result", "\"role\":\"worker\",\"ok\":true,\"text\":\"I read it and will change the second function.\",\"tokens_in\":1,\"tokens_out\":2"),
		delta(mem, "role.text_delta", "\"role\":\"worker\",\"text\":\"a few words \""),
		delta(mem, "role.text_delta", "\"role\":\"worker\",\"text\":\"and more of them\""),
	};
	size_t bytes = 0;
	int64_t start = time_mono_ms();

	while (bytes < 20u << 20)
		for (size_t i = 0; i < COUNT(lines); i++) {
			view_line(v, lines[i]);
			bytes += lines[i].n;
		}
	int64_t ms = time_mono_ms() - start;

	/* Printed, not judged: machines differ. The aim is 100 MB in a second. */
	print_message("fold: %.0f MB/s (aim: 100)\n", (double)bytes / 1e3 / (double)(ms > 0 ? ms : 1));
	CHECK(view_state(v)->ncalls > 0);
}
