/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/journal.h"
#include "session/manifest.h"
#include "session/record.h"
#include "session/store.h"
#include "sys/fault.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static struct store *opened(const struct test_dir *d)
{
	struct store *s = NULL;
	struct err err = { 0 };

	CHECK_OK(store_open(d->fd, &s, &err));
	return s;
}

static int message(struct store *s, uint32_t i, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(256);

	CHECK(buf_addf(&b, ERR_DISCARD, "{\"role\":\"user\",\"n\":%u}", i) == 0);
	return store_message(s, i, buf_str(&b), err);
}

/* "turn state: n n n" of what is loaded, or "none". */
static struct str loaded(struct store *s, uint32_t turn, struct arena *mem)
{
	auto_buf struct buf b = BUF_MAX(1 << 20), text = BUF_MAX(1 << 16);
	struct record_loaded l;
	struct err err = { 0 };
	int r = store_load(s, turn, &b, &err);

	CHECK(r >= 0);
	if (r == 0)
		return STR("none");
	CHECK_OK(record_loaded_unpack(buf_str(&b), mem, &l, &err));
	CHECK_OK(buf_addf(&text, &err, "%u " STR_FMT " " STR_FMT ":", l.turn, STR_ARG(l.state), STR_ARG(l.in_flight)));
	for (size_t i = 0; i < l.nmessages; i++) {
		auto_json json_t *j = NULL;

		CHECK_OK(json_decode(l.messages[i], JSON_EXACT, &j, &err));
		CHECK_OK(buf_addf(&text, &err, " %lld", (long long)json_get_int(j, "n", -1)));
	}
	return str_dup(mem, buf_str(&text));
}

TEST(store_gives_back_the_conversation_of_any_checkpoint)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct err err = { 0 };

	{
		auto_store struct store *s = opened(&d);

		CHECK_STR(loaded(s, UINT32_MAX, mem), STR("none"));
		CHECK_OK(message(s, 0, &err));
		CHECK_OK(message(s, 1, &err));
		CHECK_OK(store_state(s, 1, STR("{\"a\":1}"), &err));
		CHECK_OK(message(s, 2, &err));
		CHECK_OK(store_state(s, 2, STR("{\"a\":2}"), &err));
		CHECK_OK(store_restart(s, 1, &err)); /* a compaction keeps the first */
		CHECK_OK(message(s, 1, &err));
		CHECK_OK(message(s, 2, &err));
		CHECK_OK(message(s, 3, &err)); /* and is killed before its checkpoint */
		CHECK_OK(store_in_flight(s, STR("{\"iteration\":3,\"tools\":[\"grep\"]}"), &err));
	}
	auto_store struct store *s = opened(&d);
	CHECK_STR(loaded(s, UINT32_MAX, mem), STR("2 {\"a\":2} {\"iteration\":3,\"tools\":[\"grep\"]}: 0 1 2"));
	CHECK_OK(message(s, 3, &err)); /* goes on after the checkpoint, not after the killed turn */
	CHECK_OK(store_in_flight(s, STR(""), &err));
	CHECK_OK(store_state(s, 3, STR("{\"a\":3}"), &err));
	CHECK_STR(loaded(s, UINT32_MAX, mem), STR("3 {\"a\":3} : 0 1 2 3"));
	CHECK_STR(loaded(s, 1, mem), STR("1 {\"a\":1} : 0 1"));
	CHECK_STR(loaded(s, 2, mem), STR("2 {\"a\":2} : 0 1 2"));
	CHECK_STR(loaded(s, 9, mem), STR("none"));
}

TEST(store_falls_back_to_the_newest_whole_checkpoint_when_cut_at_any_byte)
{
	auto_dir struct test_dir d = test_dir_new(), e = test_dir_new();
	auto_buf struct buf text = BUF_MAX(1 << 20);
	auto_arena struct arena *mem = arena_new();
	struct err err = { 0 };

	{
		auto_store struct store *s = opened(&d);

		for (uint32_t i = 0; i < 4; i++) {
			CHECK_OK(message(s, i, &err));
			CHECK_OK(store_state(s, i + 1, STR("{}"), &err));
		}
	}
	CHECK_OK(file_read(d.fd, STORE_MESSAGES, &text, &err));
	for (size_t cut = 0; cut <= text.n; cut++) {
		static const char *const want[] = { "none", "1 {} : 0", "2 {} : 0 1", "3 {} : 0 1 2", "4 {} : 0 1 2 3" };
		struct str part = str_head(buf_str(&text), cut);
		size_t whole = 0;

		for (size_t at = 0; at + 1 < part.n; at++)
			whole += str_starts(str_skip(part, at), STR("}}\n")) && part.p[at - 1] == '{';
		test_write(&e, STORE_MESSAGES, part);
		auto_store struct store *s = opened(&e);
		CHECK_STR(loaded(s, UINT32_MAX, mem), str_from(want[whole]));
		CHECK_OK(message(s, (uint32_t)whole, &err));
		CHECK_OK(store_state(s, 77, STR("{}"), &err));
		unlinkat(e.fd, JOURNAL_NAME, 0);
	}
}

/* A compaction writes the conversation anew: cut, its messages, and the checkpoint that makes it count. */
TEST(store_gives_back_the_whole_conversation_when_a_kill_came_in_the_middle_of_a_compaction)
{
	auto_dir struct test_dir d = test_dir_new(), e = test_dir_new();
	auto_buf struct buf text = BUF_MAX(1 << 20);
	auto_arena struct arena *mem = arena_new();
	struct err err = { 0 };
	size_t before;

	{
		auto_store struct store *s = opened(&d);

		for (uint32_t i = 0; i < 4; i++)
			CHECK_OK(message(s, i, &err));
		CHECK_OK(store_state(s, 5, STR("{}"), &err));
		CHECK_OK(file_read(d.fd, STORE_MESSAGES, &text, &err));
		before = text.n;
		CHECK_OK(store_restart(s, 0, &err));
		CHECK_OK(message(s, 0, &err));
		CHECK_OK(message(s, 1, &err));
		CHECK_OK(store_state(s, 5, STR("{}"), &err));
	}
	buf_clear(&text);
	CHECK_OK(file_read(d.fd, STORE_MESSAGES, &text, &err));
	for (size_t cut = before; cut <= text.n; cut++) {
		bool whole = cut == text.n;

		test_write(&e, STORE_MESSAGES, str_head(buf_str(&text), cut));
		{
			auto_store struct store *s = opened(&e);

			CHECK_STR(loaded(s, UINT32_MAX, mem), whole ? STR("5 {} : 0 1") : STR("5 {} : 0 1 2 3"));
			CHECK_OK(message(s, whole ? 2 : 4, &err)); /* and the run goes on from there */
			CHECK_OK(store_state(s, 6, STR("{}"), &err));
		}
		auto_store struct store *again = opened(&e);
		CHECK_STR(loaded(again, UINT32_MAX, mem), whole ? STR("6 {} : 0 1 2") : STR("6 {} : 0 1 2 3 4"));
		unlinkat(e.fd, JOURNAL_NAME, 0);
	}
}

TEST(nobody_but_the_monitor_records_what_the_person_said)
{
	static const struct {
		const char *type, *json;
	} words[] = {
		{ "run.steer_requested", "{\"source\":\"frontend\",\"text\":\"push it\"}" },
		{ "run.pause_requested", "{\"source\":\"sigint\",\"how\":\"now\"}" },
		{ "run.detached", "{\"source\":\"frontend\",\"away\":\"approve\"}" },
		{ "approval.answer", "{\"id\":\"approval-1\",\"approved\":true,\"source\":\"frontend\"}" },
	};
	auto_dir struct test_dir d = test_dir_new();
	auto_store struct store *s = opened(&d);
	struct err err = { 0 };

	for (size_t i = 0; i < COUNT(words); i++) {
		CHECK_INT(store_event(s, EVENT_AGENT, str_from(words[i].type), str_from(words[i].json), &err), -ERR_INVALID);
		CHECK_OK(store_event(s, EVENT_MONITOR, str_from(words[i].type), str_from(words[i].json), &err));
	}
}

TEST(store_says_what_a_crash_left)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_buf struct buf log = BUF_MAX(1 << 20);
	struct err err = { 0 };

	{
		auto_store struct store *s = opened(&d);
		CHECK_OK(message(s, 0, &err));
	}
	test_write(&d, STORE_MESSAGES, STR("{\"i\":0,\"message\":{}}\njunk\n{\"i\":1,\"mess"));
	test_write(&d, JOURNAL_NAME, STR("{\"ts"));
	{
		auto_store struct store *s = opened(&d);

		CHECK(!store_is_lost(s));
	}
	CHECK_OK(file_read(d.fd, JOURNAL_NAME, &log, &err));
	struct str t = buf_str(&log);
	CHECK(str_find(t, STR("\"type\":\"record.torn\",\"bytes\":4,\"file\":\"logs.jsonl\"")) < t.n);
	CHECK(str_find(t, STR("\"type\":\"record.torn\",\"bytes\":12,\"file\":\"messages.jsonl\"")) < t.n);
	CHECK(str_find(t, STR("\"type\":\"record.damaged\",\"lines\":1,\"detail\":\"messages.jsonl has lines")) < t.n);
}

TEST(store_refuses_what_breaks_a_rule_and_goes_on)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_store struct store *s = opened(&d);
	struct err err = { 0 };

	CHECK_INT(store_message(s, 1, STR("{}"), &err), -ERR_INVALID);
	CHECK_STR(str_from(err.msg), STR("message 1 came when 0 was next"));
	CHECK_INT(store_message(s, 0, STR("{\"a\":\n1}"), &err), -ERR_INVALID);
	CHECK_INT(store_message(s, 0, STR("[]"), &err), -ERR_INVALID);
	CHECK_INT(store_message(s, 0, STR("{}}\n{\"turn\":1,\"state\":{}"), &err), -ERR_INVALID);
	CHECK_INT(store_message(s, 0, STR("{\"a\":\"\xFF\"}"), &err), -ERR_INVALID);
	CHECK_INT(store_restart(s, 1, &err), -ERR_INVALID);
	CHECK_INT(store_file(s, STR("../x"), STR(""), &err), -ERR_INVALID);
	CHECK_INT(store_file(s, STR("manifest.json"), STR(""), &err), -ERR_INVALID);
	CHECK_INT(store_event(s, EVENT_AGENT, STR("approval.answer"),
			  STR("{\"id\":\"approval-1\",\"approved\":true,\"source\":\"x\"}"), &err), -ERR_INVALID);
	CHECK_STR(str_from(err.msg), STR("approval.answer is not this sender's to write"));
	CHECK_INT(store_event(s, EVENT_AGENT, STR("no.such"), STR("{}"), &err), -ERR_INVALID);
	CHECK_INT(store_manifest(s, MANIFEST_MO, STR("{\"mode\":{}}"), &err), -ERR_INVALID);
	CHECK_INT(store_manifest(s, MANIFEST_MO, STR("{\"models\":{\"worker\":{\"modell\":\"x\"}}}"), &err), -ERR_INVALID);
	CHECK_STR(str_from(err.msg), STR("manifest: \"models.worker.modell\" is not a member of it"));
	CHECK(!store_is_lost(s));
	CHECK_OK(message(s, 0, &err));
	CHECK_OK(store_event(s, EVENT_AGENT, STR("loop.note"), STR("{\"text\":\"x\"}"), &err));
}

TEST(store_never_writes_over_a_transcript)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_buf struct buf first = BUF_MAX(4096), second = BUF_MAX(4096);
	struct store *s = opened(&d);
	struct err err = { 0 };

	CHECK_OK(store_transcript(s, 7, STR("worker"), STR("{\"status\":200}"), &err));
	CHECK_OK(store_transcript(s, 7, STR("worker"), STR("{\"status\":500}"), &err));
	CHECK_OK(file_read(d.fd, "transcripts/0007.json", &first, &err));
	CHECK_OK(file_read(d.fd, "transcripts/0007-2.json", &second, &err));
	CHECK(str_find(buf_str(&first), STR("200")) < first.n);
	CHECK(str_find(buf_str(&second), STR("500")) < second.n);
	store_close(s);
}

/* They are taken away as they come, so that no disk is filled. */
TEST(store_takes_131072_transcripts_in_one_leg_and_no_more)
{
	auto_dir struct test_dir d = test_dir_new();
	struct err err = { 0 };

	{
		auto_store struct store *s = opened(&d);

		for (int n = 0; n < 131072; n++) {
			CHECK_OK(store_transcript(s, 1, STR("worker"), STR("{}"), &err));
			CHECK(unlinkat(d.fd, "transcripts/0001.json", 0) == 0);
		}
		CHECK_INT(store_transcript(s, 1, STR("worker"), STR("{}"), &err), -ERR_LIMIT);
		CHECK_STR(str_from(err.msg), STR("transcripts would grow past 8589934592 bytes"));
		CHECK(faccessat(d.fd, "transcripts/0001.json", F_OK, 0) < 0);
		CHECK(store_is_lost(s));
	}
	auto_store struct store *s = opened(&d); /* the next leg */
	CHECK_OK(store_transcript(s, 1, STR("worker"), STR("{}"), &err));
}

TEST(manifest_is_merged_member_by_member)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	auto_store struct store *s = opened(&d);
	struct manifest m;
	struct err err = { 0 };

	CHECK_OK(store_manifest(s, MANIFEST_MO, STR("{\"mode\":\"run\",\"policy\":{\"isolation\":\"strict\"},\"forked_from_turn\":null}"), &err));
	CHECK_OK(store_manifest(s, MANIFEST_MO, STR("{\"policy\":{\"network\":\"block\"}}"), &err));
	CHECK_OK(manifest_load(d.fd, mem, &m, &err));
	CHECK_INT(m.version, 3);
	CHECK_STR(m.mode, STR("run"));
	CHECK_STR(m.isolation, STR("strict"));
	CHECK_STR(m.network, STR("block"));
	CHECK_INT(m.forked_from_turn, -1);
	CHECK_STR(m.base_sha, STR(""));
	CHECK_OK(store_manifest(s, MANIFEST_AG, STR("{\"workflow\":{\"verify_command\":[\"make\",\"test\"]}}"), &err));
	CHECK_OK(manifest_load(d.fd, mem, &m, &err));
	CHECK_INT(m.verify_command.n, 2);
	CHECK_STR(m.verify_command.p[1], STR("test"));
	CHECK_STR(m.mode, STR("run"));
	test_write(&d, "manifest.json", STR("{\"version\":4}"));
	CHECK_INT(manifest_load(d.fd, mem, &m, &err), -ERR_INVALID);
}

TEST(manifest_members_are_set_by_their_owners_only)
{
	static const struct {
		const char *why, *members;
		bool agent, monitor;
	} cases[] = {
		{ "what a merge goes to", "{\"base_branch\":\"release\"}", false, true },
		{ "what a diff begins at", "{\"base_sha\":\"1\"}", false, true },
		{ "taken back is set too", "{\"base_branch\":null}", false, true },
		{ "the whole group", "{\"policy\":{\"isolation\":\"none\"}}", false, true },
		{ "an empty group", "{\"policy\":{}}", false, false },
		{ "the operator's words", "{\"user_task\":\"x\"}", false, true },
		{ "one of its own, and one not", "{\"run_branch\":\"agent6/x\",\"mode\":\"ask\"}", false, false },
		{ "its own", "{\"run_branch\":\"agent6/x\",\"workflow\":{\"verify_origin\":\"adopted\"}}", true, false },
		{ "what it shall do later", "{\"parked_task\":\"rm -rf\"}", false, true },
		{ "whether it was merged", "{\"merged\":{\"into\":\"main\"}}", false, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir d = test_dir_new();
		auto_store struct store *s = opened(&d);
		struct err err = { 0 };

		CHECK_INT(store_manifest(s, MANIFEST_AG, str_from(cases[i].members), &err), cases[i].agent ? 0 : -ERR_INVALID);
		CHECK_INT(store_manifest(s, MANIFEST_MO, str_from(cases[i].members), &err), cases[i].monitor ? 0 : -ERR_INVALID);
		CHECK(!store_is_lost(s));
	}
}

/* P7: whichever call fails, what was synced before stays, and no half line is ever there. */
TEST(store_keeps_what_was_synced_whichever_call_fails)
{
	static const int errnos[] = { ENOSPC, EIO, EROFS, EMFILE, EINTR, EDQUOT, FAULT_SHORT, FAULT_HALF };

	for (size_t e = 0; e < COUNT(errnos); e++)
		for (int nth = 1, fired = 1; fired; nth++) {
			auto_dir struct test_dir d = test_dir_new();
			auto_arena struct arena *mem = arena_new();
			struct err err = { 0 };
			struct store *s = opened(&d);
			int r;

			CHECK_OK(message(s, 0, &err));
			CHECK_OK(store_state(s, 1, STR("{}"), &err));
			CHECK_OK(store_event(s, EVENT_AGENT, STR("loop.note"), STR("{\"text\":\"kept\"}"), &err));
			CHECK_OK(store_sync(s, &err));
			fault_arm(nth, errnos[e]);
			r = message(s, 1, &err);
			if (r == 0)
				r = store_transcript(s, 1, STR("worker"), STR("{\"status\":200}"), &err);
			if (r == 0)
				r = store_file(s, STR("plan.md"), STR("plan"), &err);
			if (r == 0)
				r = store_manifest(s, MANIFEST_MO, STR("{\"mode\":\"run\"}"), &err);
			if (r == 0)
				r = store_state(s, 2, STR("{}"), &err);
			if (r == 0)
				r = store_event(s, EVENT_AGENT, STR("loop.note"), STR("{\"text\":\"new\"}"), &err);
			if (r == 0)
				r = store_sync(s, &err);
			fired = fault_disarm();
			CHECK(fired || r == 0);
			CHECK(store_is_lost(s) == (r < 0));
			CHECK(r == 0 || message(s, 2, &err) < 0); /* nothing is written after a loss */
			store_close(s);

			autoclose int fd = -1;
			struct journal_report rep;
			CHECK_OK(file_open(d.fd, JOURNAL_NAME, true, &fd, &err));
			CHECK_OK(journal_verify(fd, &rep, &err));
			CHECK_INT(rep.bad_line, 0);
			CHECK_INT(rep.torn_bytes, 0);
			CHECK(rep.chained >= 1);
			s = opened(&d);
			struct str got = loaded(s, UINT32_MAX, mem);
			CHECK(str_eqz(got, r < 0 ? "1 {} : 0" : "2 {} : 0 1") || str_eqz(got, "2 {} : 0 1"));
			store_close(s);
		}
}

TEST(store_takes_what_the_jail_found_for_work)
{
	static const struct {
		const char *type, *json;
		bool work;
	} cases[] = {
		{ "run.notice", "{\"level\":\"warning\",\"text\":\"x\"}", false },
		{ "jail.git_quarantined", "{\"path\":\"/ws/.git\",\"moved_to\":\".git.q\",\"detail\":\"x\"}", true },
		{ "jail.git_changed", "{\"paths\":\"hooks/x\",\"detail\":\"x\"}", true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir d = test_dir_new();
		auto_store struct store *s = opened(&d);
		struct err err = { 0 };

		CHECK_OK(store_event(s, EVENT_MONITOR, str_from(cases[i].type), str_from(cases[i].json), &err));
		CHECK_INT(store_tells_of_work(s), cases[i].work);
	}
}
