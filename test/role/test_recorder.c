/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/time.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "memory/notes.h"
#include "role/recorder.h"
#include "session/journal.h"
#include "session/manifest.h"
#include "session/record.h"
#include "sys/chan.h"
#include "sys/fault.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A recorder in a process of its own, over real channels, in <dir>/runs/calm. */
struct bench {
	struct test_dir dir;
	pid_t pid;
	int monitor, agent, record;
	struct record_to from_agent, from_monitor;
	struct chan_msg msg;
};

static int own_file(const struct bench *b, const char *name, struct buf *out)
{
	buf_clear(out);
	return file_read(b->record, name, out, ERR_DISCARD);
}

/* name: the run's directory, as the recorder is told it. notes: the agent may write some. nth: which fallible call of the
 * recorder fails, 0: none. It is armed before anything is opened. */
static void start_as(struct bench *b, struct str name, bool notes, int nth, int sys)
{
	auto_buf struct buf body = BUF_MAX(512);
	struct err err = { 0 };
	int mon[2], agent[2], fds[3];

	*b = (struct bench){ .dir = test_dir_new(), .record = -1 };
	CHECK(mkdirat(b->dir.fd, "runs", 0700) == 0 && mkdirat(b->dir.fd, "runs/calm", 0700) == 0);
	CHECK(mkdirat(b->dir.fd, "runs/calm/record", 0700) == 0 && mkdirat(b->dir.fd, "runs/calm/answers", 0700) == 0);
	CHECK(mkdirat(b->dir.fd, "memories", 0700) == 0);
	CHECK_OK(chan_pair(mon, &err));
	CHECK_OK(chan_pair(agent, &err));
	b->pid = fork();
	if (b->pid == 0) {
		/* Out of the way first, so that no dup2 closes what is still needed. */
		int m = fcntl(mon[1], F_DUPFD, 100), a = fcntl(agent[1], F_DUPFD, 100);

		close(mon[0]);
		close(agent[0]);
		dup2(m, 3);
		dup2(a, 4);
		close(m);
		close(a);
		for (int fd = 5; fd < 100; fd++)
			close(fd);
		if (nth > 0)
			fault_arm(nth, sys);
		_exit(role_recorder_main());
	}
	close(mon[1]);
	close(agent[1]);
	b->monitor = mon[0];
	b->agent = agent[0];
	b->from_agent = (struct record_to){ b->agent, WIRE_RECORD };
	b->from_monitor = (struct record_to){ b->monitor, WIRE_NOTE };
	CHECK_OK(dir_open(b->dir.fd, "runs/calm/record", &b->record, &err));
	CHECK_OK(dir_open(b->dir.fd, "runs/calm", &fds[0], &err));
	CHECK_OK(dir_open(b->dir.fd, "runs", &fds[1], &err));
	CHECK_OK(dir_open(b->dir.fd, "memories", &fds[2], &err));
	pack_str(&body, STR("calm"));
	pack_str(&body, name);
	pack_u8(&body, 0);
	int r = chan_send(b->monitor, WIRE_OPEN, buf_str(&body), fds, notes ? 3 : 2, &err);
	CHECK(r == 0 || nth > 0); /* its own first read may be what fails */
	for (size_t i = 0; i < COUNT(fds); i++)
		close(fds[i]);
}

static void start(struct bench *b, int nth, int sys)
{
	start_as(b, STR("calm"), false, nth, sys);
}

/* What WIRE_OPENED said: 1 ready, 0 refused, -1 the recorder is gone. */
static int opened(struct bench *b)
{
	if (chan_recv(b->monitor, &b->msg, ERR_DISCARD) < 0)
		return -1;
	CHECK_INT(b->msg.type, WIRE_OPENED);
	return b->msg.body.p[0];
}

static uint16_t agent_hears(struct bench *b)
{
	return chan_recv(b->agent, &b->msg, ERR_DISCARD) < 0 ? 0 : b->msg.type;
}

static int finish(struct bench *b, uint8_t discard)
{
	int status = 0, r = chan_send(b->monitor, WIRE_CLOSE, str_of(&discard, 1), NULL, 0, ERR_DISCARD);

	CHECK(waitpid(b->pid, &status, 0) == b->pid);
	CHECK(WIFEXITED(status));
	return r < 0 ? -1 : WEXITSTATUS(status);
}

static void clear(struct bench *b)
{
	chan_msg_fini(&b->msg);
	close(b->monitor);
	if (b->agent >= 0)
		close(b->agent);
	close(b->record);
	test_dir_fini(&b->dir);
}

static struct journal_report verify(const struct bench *b)
{
	struct journal_report r = { 0 };
	autoclose int fd = -1;

	if (file_open(b->record, JOURNAL_NAME, true, &fd, ERR_DISCARD) == 0)
		CHECK(journal_verify(fd, &r, ERR_DISCARD) == 0);
	return r;
}

TEST(recorder_interleaves_agent_and_monitor_in_one_chain)
{
	auto_arena struct arena *mem = arena_new();
	struct bench *b = mem_alloc(sizeof(*b));
	auto_buf struct buf log = BUF_MAX(1 << 20);
	struct err err = { 0 };

	start(b, 0, 0);
	CHECK_INT(opened(b), 1);
	CHECK_OK(record_event(&b->from_agent, EVENT_RUN_START, STR("{\"run_id\":\"calm\",\"user_task\":\"t\",\"mode\":\"run\"}"), &err));
	CHECK_OK(record_event(&b->from_agent, EVENT_ROLE_TEXT, STR("{\"role\":\"worker\",\"text\":\"hi\"}"), &err));
	CHECK_OK(record_put(&b->from_agent, RECORD_MESSAGE, 0, STR(""), STR("{\"role\":\"user\"}"), &err));
	CHECK_OK(record_put(&b->from_agent, RECORD_STATE, 1, STR(""), STR("{\"a\":1}"), &err));
	CHECK_OK(record_put(&b->from_agent, RECORD_TRANSCRIPT, 1, STR("worker"), STR("{\"status\":200}"), &err));
	CHECK_OK(record_put(&b->from_agent, RECORD_FILE, 0, STR("untracked-at-start"), STR("a\0b"), &err));
	CHECK_OK(record_put(&b->from_monitor, RECORD_MANIFEST, 0, STR(""), STR("{\"mode\":\"run\"}"), &err));
	CHECK_OK(record_event(&b->from_monitor, EVENT_APPROVAL_ANSWER, STR("{\"id\":\"approval-1\",\"approved\":true,\"source\":\"frontend\"}"), &err));
	CHECK_OK(record_sync(&b->from_agent, 7, &err));
	CHECK_INT(agent_hears(b), WIRE_SYNCED);
	/* The agent's last words are in its channel when the monitor says to close. */
	CHECK_OK(record_event(&b->from_agent, EVENT_RUN_END, STR("{\"reason\":\"finish_run\",\"iterations\":1}"), &err));
	CHECK_INT(finish(b, 0), 0);
	struct journal_report r = verify(b);
	CHECK_INT(r.bad_line, 0);
	CHECK_INT(r.chained, 4); /* the manifest is a fact of the journal */
	CHECK_INT(r.lines, 5);
	CHECK(own_file(b, JOURNAL_NAME, &log) == 0);
	CHECK(str_find(buf_str(&log), STR("\"type\":\"run.end\"")) < log.n);
	CHECK(own_file(b, "messages.jsonl", &log) == 0);
	/* A checkpoint and the end say how far the journal had come. */
	struct str rest = buf_str(&log), message = str_line(&rest), witness = str_line(&rest);

	CHECK_STR(message, STR("{\"i\":0,\"message\":{\"role\":\"user\"}}\n"));
	CHECK(str_starts(witness, STR("{\"journal\":")));
	CHECK_STR(str_line(&rest), STR("{\"turn\":1,\"state\":{\"a\":1}}\n"));
	CHECK_STR(rest, str_printf(mem, "{\"journal\":4,\"h\":\"%s\"}\n", r.head));
	CHECK(file_is(b->record, "untracked-at-start", STR("a\0b")));
	CHECK(own_file(b, "transcripts/0001.json", &log) == 0);
	CHECK(own_file(b, "manifest.json", &log) == 0);
	clear(b);
	free(b);
}

TEST(recorder_gives_the_newest_state_back)
{
	struct bench *b = mem_alloc(sizeof(*b));
	auto_buf struct buf bytes = BUF_MAX(1 << 20), big = BUF_MAX(1 << 20);
	auto_arena struct arena *mem = arena_new();
	struct record_loaded l;
	struct err err = { 0 };

	start(b, 0, 0);
	CHECK_INT(opened(b), 1);
	CHECK_OK(buf_addz(&big, "{\"x\":\"", &err));
	for (int i = 0; i < 200000; i++)
		CHECK_OK(buf_addc(&big, 'x', &err));
	CHECK_OK(buf_addz(&big, "\"}", &err));
	CHECK_OK(record_put(&b->from_agent, RECORD_MESSAGE, 0, STR(""), buf_str(&big), &err)); /* as a memfd */
	CHECK_OK(record_put(&b->from_agent, RECORD_STATE, 5, STR(""), STR("{\"s\":5}"), &err));
	CHECK_OK(chan_send(b->agent, WIRE_LOAD, STR("\xFF\xFF\xFF\xFF"), NULL, 0, &err));
	CHECK_INT(agent_hears(b), WIRE_LOADED);
	CHECK_INT(b->msg.nfds, 1);
	CHECK_OK(memfd_read(b->msg.fds[0], &bytes, &err));
	CHECK_OK(record_loaded_unpack(buf_str(&bytes), mem, &l, &err));
	CHECK_INT(l.turn, 5);
	CHECK_STR(l.state, STR("{\"s\":5}"));
	CHECK_INT(l.nmessages, 1);
	CHECK_STR(l.messages[0], buf_str(&big));
	CHECK_INT(finish(b, 0), 0);
	clear(b);
	free(b);
}

TEST(recorder_drops_an_agent_that_breaks_a_rule_and_says_so)
{
	static const struct { const char *why; uint16_t type; struct str body; const char *reason, *more; } cases[] = { /* more: as a memfd */
		{ "forged answer", WIRE_RECORD, { "\x01\0\0\0\0\x0f\0\0\0approval.answer\x36\0\0\0{\"id\":\"approval-1\",\"approved\":true,\"source\":\"session\"}", 82 },
			"approval.answer is not this sender's to write" },
		{ "an event without its fields", WIRE_RECORD, { "\x01\0\0\0\0\x07\0\0\0run.end\x07\0\0\0{\"x\":1}", 27 },
			"run.end: \\\"reason\\\" is missing" },
		{ "unknown kind", WIRE_RECORD, { "\x63\0\0\0\0\0\0\0\0\0\0\0\0", 13 }, "a record of kind 99 is unknown" },
		{ "cut", WIRE_RECORD, { "\x01\0", 2 }, "WIRE_RECORD does not decode" },
		{ "the monitor's word", WIRE_CLOSE, { "\x01", 1 }, "WIRE_CLOSE is not allowed here" },
		{ "a file outside the list", WIRE_RECORD, { "\x06\0\0\0\0\x0a\0\0\0../answers\0\0\0\0", 23 }, "\\\"../answers\\\" is not a file of the record" },
		{ "longer than its kind", WIRE_RECORD, { "\x08\0\0\0\0\0\0\0\0\x02\0\0\0{}", 15 }, "a record of kind 8 has 2 bytes, at most 0 are kept" },
		{ "longer, as a memfd", WIRE_RECORD, { "\x08\0\0\0\0\0\0\0\0\0\0\0\0", 13 }, "longer than 0 bytes", "{}" },
		{ "a note, where none are kept", WIRE_RECORD, { "\x0a\0\0\0\0\0\0\0\0\x02\0\0\0{}", 15 }, "a note is not this sender's to write" },
		{ "its content twice", WIRE_RECORD, { "\x02\0\0\0\0\0\0\0\0\x02\0\0\0{}", 15 }, "a record has its content twice", "{}" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench *b = mem_alloc(sizeof(*b));
		auto_buf struct buf log = BUF_MAX(1 << 20);
		autoclose int fd = -1;
		struct err err = { 0 };

		start(b, 0, 0);
		CHECK_INT(opened(b), 1);
		if (cases[i].more)
			CHECK_OK(memfd_seal("more", str_from(cases[i].more), &fd, &err));
		CHECK_OK(chan_send(b->agent, cases[i].type, cases[i].body, &fd, fd >= 0 ? 1 : 0, &err));
		(void)!record_sync(&b->from_agent, 1, ERR_DISCARD); /* who was kept would be answered */
		CHECK_INT(agent_hears(b), 0); /* end of file */
		/* The monitor's records go on. */
		CHECK_OK(record_event(&b->from_monitor, EVENT_RUN_END, STR("{\"reason\":\"protocol\",\"iterations\":0}"), &err));
		CHECK_INT(finish(b, 0), 0);
		CHECK(own_file(b, JOURNAL_NAME, &log) == 0);
		auto_buf struct buf want = BUF_MAX(512);
		CHECK_OK(buf_addf(&want, &err, "\"type\":\"record.peer_dropped\",\"peer\":\"agent\",\"reason\":\"%s\"", cases[i].reason));
		CHECK(str_find(buf_str(&log), buf_str(&want)) < log.n);
		CHECK_INT(verify(b).chained, 2);
		clear(b);
		free(b);
	}
}

TEST(recorder_keeps_so_many_notes_of_a_run_and_no_more)
{
	struct bench *b = mem_alloc(sizeof(*b));
	char id[NOTE_ID_LEN + 1];
	struct err err = { 0 };

	start_as(b, STR("calm"), true, 0, 0);
	CHECK_INT(opened(b), 1);
	for (int i = 1; i <= NOTES_PER_RUN + 1; i++) {
		note_id_new(id);
		CHECK_OK(record_put(&b->from_agent, RECORD_NOTE, 0, str_from(id), STR("{\"scope\":\"build\",\"text\":\"t\"}"), &err));
		(void)!record_sync(&b->from_agent, (uint32_t)i, ERR_DISCARD);
		CHECK_INT(agent_hears(b), i <= NOTES_PER_RUN ? WIRE_SYNCED : 0);
	}
	CHECK_INT(finish(b, 0), 0);
	CHECK_INT(verify(b).chained, 1); /* record.peer_dropped */
	clear(b);
	free(b);
}

/* Time passes for both alike: a slow machine makes it longer. */
TEST(recorder_takes_no_more_from_an_agent_than_its_rate)
{
	struct bench *b = mem_alloc(sizeof(*b));
	int64_t began = time_mono_ms();
	struct err err = { 0 };

	start(b, 0, 0);
	CHECK_INT(opened(b), 1);
	for (int i = 0; i < RECORDER_BURST + RECORDER_RATE; i++)
		CHECK_OK(record_put(&b->from_agent, RECORD_RESTART, 0, STR(""), STR(""), &err));
	CHECK_OK(record_sync(&b->from_agent, 1, &err));
	CHECK_INT(agent_hears(b), WIRE_SYNCED);
	CHECK(time_mono_ms() - began >= 999);
	CHECK_INT(finish(b, 0), 0);
	clear(b);
	free(b);
}

TEST(recorder_opens_a_run_by_a_plain_name_alone)
{
	static const struct str names[] = { STR("calm/../calm"), STR("/"), STR("c\0lm"), STR("") };

	for (size_t i = 0; i < COUNT(names); i++) {
		struct bench *b = mem_alloc(sizeof(*b));

		start_as(b, names[i], false, 0, 0);
		CHECK_INT(opened(b), 0);
		CHECK(finish(b, 0) != 0);
		clear(b);
		free(b);
	}
}

TEST(recorder_discards_a_run_with_its_directory)
{
	struct bench *b = mem_alloc(sizeof(*b));
	struct err err = { 0 };

	start(b, 0, 0);
	CHECK_INT(opened(b), 1);
	CHECK_OK(record_event(&b->from_agent, EVENT_LOOP_NOTE, STR("{\"text\":\"x\"}"), &err));
	CHECK_INT(finish(b, 1), 0);
	CHECK(faccessat(b->dir.fd, "runs", F_OK, 0) == 0);
	CHECK(faccessat(b->dir.fd, "runs/calm", F_OK, 0) < 0 && errno == ENOENT);
	clear(b);
	free(b);
}

TEST(recorder_keeps_a_run_that_did_something_whatever_the_agent_says)
{
	static const struct { enum record_what what; const char *name, *json; } work[] = {
		{ RECORD_TRANSCRIPT, "worker", "{}" },
		{ RECORD_STATE, "", "{}" },
		{ RECORD_EVENT, "tool.call", "{\"name\":\"apply_edit\",\"call_id\":\"1\",\"args\":{}}" },
	};

	for (size_t i = 0; i < COUNT(work); i++) {
		struct bench *b = mem_alloc(sizeof(*b));
		struct err err = { 0 };

		start(b, 0, 0);
		CHECK_INT(opened(b), 1);
		CHECK_OK(record_put(&b->from_agent, work[i].what, 1, str_from(work[i].name), str_from(work[i].json), &err));
		CHECK_INT(finish(b, 1), 0);
		CHECK(faccessat(b->dir.fd, "runs/calm/record/logs.jsonl", F_OK, 0) == 0);
		clear(b);
		free(b);
	}
}

TEST(recorder_ends_when_the_monitor_is_gone_and_keeps_what_it_had)
{
	struct bench *b = mem_alloc(sizeof(*b));
	struct err err = { 0 };
	int status;

	start(b, 0, 0);
	CHECK_INT(opened(b), 1);
	CHECK_OK(record_event(&b->from_agent, EVENT_LOOP_NOTE, STR("{\"text\":\"x\"}"), &err));
	CHECK(shutdown(b->monitor, SHUT_RDWR) == 0);
	CHECK(waitpid(b->pid, &status, 0) == b->pid);
	CHECK_INT(verify(b).chained, 1);
	clear(b);
	free(b);
}

/* P7. Whichever call fails: what was answered with SYNCED is there, the chain is whole, both hear of the
 * loss, and nothing is written after it. */
TEST(recorder_keeps_its_promise_whichever_call_fails)
{
	static const int errnos[] = { ENOSPC, EIO, EROFS, EMFILE, EINTR, EDQUOT, FAULT_SHORT, FAULT_HALF };
	int losses = 0;

	for (size_t e = 0; e < COUNT(errnos); e++)
		for (int nth = 1; nth < 60; nth++) {
			struct bench *b = mem_alloc(sizeof(*b));
			bool lost = false;
			int synced = 0;

			start(b, nth, errnos[e]);
			if (opened(b) == 1)
				for (int i = 1; i <= 4 && !lost; i++) {
					uint16_t heard;

					if (record_put(&b->from_agent, RECORD_MESSAGE, (uint32_t)i - 1, STR(""), STR("{}"), ERR_DISCARD) < 0 ||
						record_put(&b->from_agent, RECORD_STATE, (uint32_t)i, STR(""), STR("{}"), ERR_DISCARD) < 0 ||
						record_event(&b->from_agent, EVENT_LOOP_NOTE, STR("{\"text\":\"x\"}"), ERR_DISCARD) < 0 ||
						record_sync(&b->from_agent, (uint32_t)i, ERR_DISCARD) < 0)
						break;
					heard = agent_hears(b);
					if (heard == WIRE_SYNCED)
						synced = i;
					lost = heard == WIRE_LOST;
					if (heard == 0)
						break;
				}
			struct journal_report now = verify(b);
			if (lost) {
				losses++;
				CHECK_INT(chan_recv(b->monitor, &b->msg, ERR_DISCARD), 0);
				CHECK_INT(b->msg.type, WIRE_LOST_UP);
				(void)!record_event(&b->from_agent, EVENT_LOOP_NOTE, STR("{\"text\":\"after\"}"), ERR_DISCARD);
			}
			finish(b, 0);
			struct journal_report r = verify(b);
			CHECK_INT(r.bad_line, 0);
			CHECK_INT(r.torn_bytes, 0);
			CHECK(r.chained >= synced);
			CHECK(!lost || r.chained == now.chained);
			clear(b);
			free(b);
		}
	CHECK(losses > 4);
}
