/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "session/chain.h"
#include "session/manifest.h"
#include "session/proof.h"
#include "session/store.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct store *opened(const struct test_dir *d)
{
	struct store *s = NULL;
	struct err err = { 0 };

	CHECK_OK(store_open(d->fd, &s, &err));
	return s;
}

static void note(struct store *s, const char *text)
{
	char json[128];
	struct err err = { 0 };

	snprintf(json, sizeof(json), "{\"text\":\"%s\"}", text);
	CHECK_OK(store_event(s, EVENT_AGENT, STR("loop.note"), str_from(json), &err));
}

static void set(struct store *s, unsigned who, const char *json)
{
	struct err err = { 0 };

	CHECK_OK(store_manifest(s, who, str_from(json), &err));
}

/* A leg with two checkpoints and an end. */
static void fill(const struct test_dir *d)
{
	auto_store struct store *s = opened(d);
	struct err err = { 0 };

	set(s, MANIFEST_MO, "{\"run_id\":\"mine\",\"user_task\":\"mend it\",\"base_sha\":\"\",\"policy\":{\"isolation\":\"strict\"}}");
	for (uint32_t i = 0; i < 2; i++) {
		note(s, "one");
		CHECK_OK(store_message(s, i, STR("{}"), &err));
		CHECK_OK(store_state(s, i + 1, STR("{}"), &err));
		note(s, "two");
		CHECK_OK(store_in_flight(s, STR("{\"tools\":[]}"), &err));
	}
	set(s, MANIFEST_AG, "{\"workflow\":{\"verify_command\":[\"make\",\"check\"]}}");
	note(s, "the end");
	CHECK_OK(store_end(s, &err));
}

static struct proof read_proof(const struct test_dir *d, const char *head, struct arena *mem)
{
	struct proof p = { 0 };
	struct err err = { 0 };

	CHECK_OK(proof_read(d->fd, str_from(head), mem, &p, &err));
	return p;
}

static struct buf content(const struct test_dir *d, const char *name)
{
	struct buf b = BUF_MAX(1 << 20);
	struct err err = { 0 };

	CHECK_OK(file_read(d->fd, name, &b, &err));
	return b;
}

TEST(proof_sees_whole_lines_that_were_cut_off_whatever_their_number)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_arena struct arena *mem = arena_new();

	fill(&d);
	auto_buf struct buf log = content(&d, JOURNAL_NAME);
	struct proof p = read_proof(&d, "", mem);

	CHECK(proof_is_whole(&p, false, STR("")));
	CHECK_INT(p.seen, p.journal.chained);
	CHECK_INT(p.journal.chained, 7);
	for (int64_t left = 6; left >= 0; left--) {
		buf_shrink(&log, log.n - 1);
		size_t nl = str_rfind(buf_str(&log), '\n');

		buf_shrink(&log, nl < log.n ? nl + 1 : 0);
		test_write(&d, JOURNAL_NAME, buf_str(&log));
		p = read_proof(&d, "", mem);
		CHECK(p.cut && p.replaced == 0 && !proof_is_whole(&p, false, STR("")));
		CHECK_INT(p.journal.bad_line, 0);
		CHECK_INT(p.journal.chained, left);
		CHECK_INT(p.seen, 7);
	}
}

TEST(proof_sees_that_a_journal_was_cut_though_the_run_went_on)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_arena struct arena *mem = arena_new();

	fill(&d);
	auto_buf struct buf log = content(&d, JOURNAL_NAME);
	struct str rest = buf_str(&log);

	for (int i = 0; i < 4; i++)
		str_line(&rest);
	test_write(&d, JOURNAL_NAME, str_head(buf_str(&log), log.n - rest.n));
	{
		auto_store struct store *s = opened(&d);

		for (int i = 0; i < 5; i++)
			note(s, "later");
		CHECK_INT(store_end(s, ERR_DISCARD), 0);
	}
	auto_buf struct buf after = content(&d, JOURNAL_NAME);
	struct proof p = read_proof(&d, "", mem);

	CHECK(str_find(buf_str(&after), STR("\"type\":\"record.cut\",\"ended\":4,\"seen\":7")) < after.n);
	CHECK_INT(p.journal.bad_line, 0);
	CHECK(!p.cut && !proof_is_whole(&p, false, STR("")));
	CHECK_INT(p.replaced, 5); /* the event before the second checkpoint's marker */
}

/* Whoever makes both anew leaves nothing to see in the record; a hash that was kept elsewhere tells. */
TEST(proof_finds_the_hash_that_a_person_kept)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_arena struct arena *mem = arena_new();

	fill(&d);
	auto_buf struct buf log = content(&d, JOURNAL_NAME);
	int64_t seq = 0;

	for (struct str rest = buf_str(&log); rest.n > 0;) {
		struct journal_line l = line_parse(str_trim_suffix(str_line(&rest), STR("\n")));
		struct proof p = read_proof(&d, str_dupz(mem, l.h), mem);

		CHECK_INT(p.head, ++seq);
		CHECK(proof_is_whole(&p, false, l.h));
		p = read_proof(&d, str_dupz(mem, str_head(l.h, PROOF_HEAD_MIN)), mem);
		CHECK_INT(p.head, seq);
	}
	struct proof p = read_proof(&d, "0123456789abcdef", mem);
	CHECK_INT(p.head, 0);
	CHECK(!proof_is_whole(&p, false, STR("0123456789abcdef")));
}

TEST(proof_takes_no_hash_that_is_none)
{
	static const struct {
		const char *head;
		bool ok;
	} cases[] = {
		{ "0123456789abcdef", true },
		{ "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", true },
		{ "0123456789abcde", false },
		{ "0123456789ABCDEF", false },
		{ "0123456789abcdeg", false },
		{ "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0", false },
		{ "", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK_INT(proof_head_ok(str_from(cases[i].head)), cases[i].ok);
}

TEST(proof_names_what_of_the_manifest_is_not_what_was_recorded)
{
	static const struct {
		const char *why, *set, *member, *recorded, *found; /* member NULL: nothing is wrong with it */
	} cases[] = {
		{ "the task", "{\"user_task\":\"something else\"}", "user_task", "\"mend it\"", "\"something else\"" },
		{ "how it was held", "{\"policy\":{\"isolation\":\"none\"}}", "policy.isolation", "\"strict\"", "\"none\"" },
		{ "the gate", "{\"workflow\":{\"verify_command\":[\"true\"]}}", "workflow.verify_command", "[\"make\",\"check\"]", "[\"true\"]" },
		{ "what was taken out", "{\"run_id\":null}", "run_id", "\"mine\"", "nothing" },
		{ "a merge afterwards is the person's", "{\"merged\":{\"into\":\"main\"}}", NULL, NULL, NULL },
		{ "what no run set", "{\"stash\":\"0123\"}", "stash", "nothing", "\"0123\"" },
		{ "nothing, set to nothing", "{\"base_branch\":null}", NULL, NULL, NULL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_dir struct test_dir d = test_dir_new();
		auto_arena struct arena *mem = arena_new();

		fill(&d);
		CHECK_INT(manifest_merge(d.fd, MANIFEST_HO, str_from(cases[i].set), ERR_DISCARD), 0);
		struct proof p = read_proof(&d, "", mem);

		CHECK_INT(proof_is_whole(&p, false, STR("")), cases[i].member == NULL);
		CHECK(proof_is_whole(&p, true, STR("")) || cases[i].member); /* a run that is at it may be between the two */
		if (!cases[i].member)
			continue;
		CHECK(p.differences && !p.differences->next);
		CHECK_STR(p.differences->member, str_from(cases[i].member));
		CHECK_STR(p.differences->recorded, str_from(cases[i].recorded));
		CHECK_STR(p.differences->found, str_from(cases[i].found));
	}
	auto_dir struct test_dir d = test_dir_new();
	auto_arena struct arena *mem = arena_new();

	fill(&d);
	CHECK(unlinkat(d.fd, "manifest.json", 0) == 0);
	struct proof p = read_proof(&d, "", mem);
	CHECK(p.differences && p.differences->next && !proof_is_whole(&p, false, STR("")));
	test_write(&d, "manifest.json", STR("{\"run_id\":"));
	p = read_proof(&d, "", mem);
	CHECK(p.differences && p.differences->next && !proof_is_whole(&p, false, STR("")));
}

/* Its first leg recorded none of it, its second what that leg had set. */
TEST(proof_asks_no_old_session_for_what_was_not_recorded_then)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_arena struct arena *mem = arena_new();

	CHECK_INT(manifest_merge(d.fd, MANIFEST_HO, STR("{\"run_id\":\"old\",\"base_sha\":\"0123\"}"), ERR_DISCARD), 0);
	{
		auto_store struct store *s = opened(&d);

		set(s, MANIFEST_MO, "{\"policy\":{\"isolation\":\"strict\"}}");
		note(s, "once");
	}
	struct proof p = read_proof(&d, "", mem);
	CHECK(proof_is_whole(&p, false, STR("")));
	CHECK_INT(manifest_merge(d.fd, MANIFEST_HO, STR("{\"policy\":{\"isolation\":\"none\"}}"), ERR_DISCARD), 0);
	p = read_proof(&d, "", mem);
	CHECK(p.differences && !p.differences->next);
}

/* What a run sets while somebody reads is no change of what was recorded. */
TEST(proof_of_a_run_that_is_at_it_raises_no_alarm)
{
	auto_dir struct test_dir d = test_dir_new();
	int pair[2], alarms = 0;
	char done;

	fill(&d);
	CHECK_INT(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
	pid_t pid = fork();

	if (pid == 0) {
		auto_store struct store *s = opened(&d);

		for (int i = 0; i < 300; i++) {
			char json[64];

			snprintf(json, sizeof(json), "{\"run_branch\":\"%d\"}", i);
			note(s, "a turn");
			set(s, MANIFEST_AG, json);
		}
		_exit(0);
	}
	close(pair[1]);
	while (read(pair[0], &done, 1) < 0) {
		auto_arena struct arena *mem = arena_new();
		struct proof p = read_proof(&d, "", mem);

		alarms += !proof_is_whole(&p, true, STR(""));
	}
	close(pair[0]);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	CHECK_INT(alarms, 0);
}

/* The event stands, and the file does not say it yet: nothing is wrong, and whoever goes on sets it. */
TEST(proof_and_store_know_a_kill_between_the_event_and_the_manifest)
{
	auto_dir struct test_dir d = test_dir_new();
	auto_arena struct arena *mem = arena_new();
	struct manifest m;
	struct err err = { 0 };

	fill(&d);
	auto_buf struct buf before = content(&d, "manifest.json");
	{
		auto_store struct store *s = opened(&d);

		set(s, MANIFEST_MO, "{\"policy\":{\"isolation\":\"hardened\"}}");
	}
	test_write(&d, "manifest.json", buf_str(&before));
	struct proof p = read_proof(&d, "", mem);
	CHECK(proof_is_whole(&p, false, STR("")));
	{
		auto_store struct store *s = opened(&d);

		note(s, "goes on");
	}
	CHECK_OK(manifest_load(d.fd, mem, &m, &err));
	CHECK_STR(m.isolation, STR("hardened"));
	p = read_proof(&d, "", mem);
	CHECK(proof_is_whole(&p, false, STR("")));
	test_write(&d, "manifest.json", buf_str(&before));
	p = read_proof(&d, "", mem);
	CHECK(p.differences && !proof_is_whole(&p, false, STR("")));
}
