/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/role/monitor_lib.h"

#include "sys/file.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* ---- how it ended ---- */

TEST(monitor_believes_the_first_word_about_the_end)
{
	struct bench b;

	bench_start(&b, APPROVE_ASK, true);
	bench_say_done(&b, 3, 0, "finished");
	bench_hear_close(&b, false);
	bench_say_done(&b, 0, 1, "another");
	bench_ask_question_of(&b, 1, 1); /* its answer: the second word has been heard */
	bench_hear_answer(&b, 1, false, NULL, 0);
	struct monitor_end end = bench_finish(&b);
	CHECK_INT(end.exit_code, 3);
	CHECK(!end.discard);
	CHECK_STR(str_from(end.reason), STR("finished"));
}

TEST(monitor_discards_only_a_run_in_which_nothing_was_done)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, false);
	bench_say_done(&b, 2, 1, "refused");
	bench_let_workers_go(&b);
	bench_hear_close(&b, true);
	struct monitor_end end = bench_finish(&b);
	CHECK(end.discard);
	CHECK_STR(str_from(end.message), STR("because"));

	bench_start(&b, APPROVE_YES, false);
	bench_ask_to_run(&b, 1, STR("all"));
	bench_hear_verdict(&b, 1, true);
	bench_say_done(&b, 2, 1, "refused");
	bench_hear_note(&b, "run.end");
	bench_hear_close(&b, false);
	end = bench_finish(&b);
	CHECK(!end.discard);
	CHECK_STR(str_from(end.reason), STR("protocol"));

	/* What was set aside is on record, and stays there. */
	bench_wish.no_git = true;
	bench_start(&b, APPROVE_YES, false);
	bench_wish.no_git = false;
	bench_say_git_found(&b, ".git.quarantined-1", "");
	bench_hear_note(&b, "jail.git_quarantined");
	bench_say_done(&b, 2, 1, "refused");
	bench_hear_note(&b, "run.end");
	bench_hear_type(&b, ZYGOTE, WIRE_STOP_ALL);
	bench_hear_type(&b, ZYGOTE, WIRE_FINISH);
	bench_say_exit(&b, 2, 0);
	bench_hear_close(&b, false);
	end = bench_finish(&b);
	CHECK(!end.discard);
	CHECK_STR(str_from(end.reason), STR("protocol"));
}

/* A commit, a model request or a call that nobody was asked about is told by who does it, before it is done. The agent's last
 * word may be read first: nothing goes before all of them have ended. */
TEST(monitor_hears_of_work_from_who_does_it_before_a_record_goes)
{
	static const enum side workers[] = { ZYGOTE, GIT, CLIENT, SERVER };
	const struct buf nothing = { 0 };

	for (size_t i = 0; i < 2 * COUNT(workers); i++) {
		enum side who = workers[i / 2];
		bool late = i % 2 != 0;
		struct bench b;

		bench_start(&b, APPROVE_YES, false);
		if (!late)
			bench_say(&b, who, WIRE_WORKED, &nothing);
		bench_say_done(&b, 0, 1, "refused");
		if (late) {
			bench_hear_the_end(&b, who);
			bench_say(&b, who, WIRE_WORKED, &nothing);
		}
		struct str said = bench_hear_note(&b, "run.end");
		CHECK(str_find(said, STR("never began")) < said.n);
		bench_let_workers_go(&b); /* before that their going could be read first, and was the run's end */
		bench_hear_close(&b, false);
		struct monitor_end end = bench_finish(&b);
		CHECK(!end.discard && end.exit_code != 0);
		CHECK_STR(str_from(end.reason), STR("protocol"));
	}
}

TEST(monitor_hears_of_work_from_nobody_who_cannot_do_any)
{
	static const enum side others[] = { AGENT, VIEW, BROKER, RESOLVER, SPAWNER };
	const struct buf nothing = { 0 };

	for (size_t i = 0; i < COUNT(others); i++) {
		struct bench b;

		bench_start(&b, APPROVE_YES, false);
		bench_say(&b, others[i], WIRE_WORKED, &nothing);
		struct str said = bench_hear_note(&b, "run.end");
		CHECK(str_find(said, STR("WIRE_WORKED is not for the ")) < said.n);
		bench_hear_close(&b, false);
		CHECK_STR(str_from(bench_finish(&b).reason), STR("protocol"));
	}
}

TEST(monitor_knows_that_the_record_is_lost_whatever_the_agent_says)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, false);
	bench_say_lost(&b);
	bench_hear_type(&b, AGENT, WIRE_STOP);
	CHECK_INT(b.msg.body.p[0], STOP_NOW);
	bench_say_done(&b, 0, 0, "finished");
	struct monitor_end end = bench_finish(&b);
	CHECK_INT(end.exit_code, 1);
	CHECK_STR(str_from(end.reason), STR("record_lost"));
	CHECK_STR(str_from(end.message), STR("the record cannot be written: disk full"));
}

TEST(monitor_ends_a_run_whose_agent_did_not_say_how)
{
	static const struct {
		uint32_t code, sig;
		const char *why;
	} cases[] = {
		{ 1, 0, "the agent ended with status 1 and did not say why" },
		{ 0, SIGSEGV, "the agent was killed by signal 11 (SIGSEGV, agent6 " AGENT6_VERSION "): a fault of agent6, please report that line" },
		{ 0, SIGKILL, "the agent was killed by signal 9 (SIGKILL, agent6 " AGENT6_VERSION ")" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		bench_start(&b, APPROVE_ASK, true);
		bench_say_exit(&b, cases[i].code, cases[i].sig);
		if (cases[i].sig != 0)
			CHECK(str_find(bench_hear_note(&b, "process.died"), STR("\"name\":\"agent\"")) < b.msg.body.n);
		bench_hear_note(&b, "run.end");
		bench_hear_close(&b, false);
		struct monitor_end end = bench_finish(&b);
		CHECK_INT(end.exit_code, 1);
		CHECK_STR(str_from(end.reason), STR("crashed"));
		CHECK_STR(str_from(end.message), str_from(cases[i].why));
	}
}

TEST(monitor_ends_a_run_whose_agent_hung_up_and_lives_on)
{
	struct bench b;

	bench_wish.agent_grace_ms = 50;
	bench_start(&b, APPROVE_ASK, true);
	bench_wish.agent_grace_ms = 0;
	bench_let_go(&b.ends[AGENT]);
	CHECK(str_find(bench_hear_note(&b, "run.end"), STR("\"reason\":\"crashed\"")) < b.msg.body.n);
	bench_hear_close(&b, false);
	struct monitor_end end = bench_finish(&b);
	CHECK_INT(end.exit_code, 1);
	CHECK_STR(str_from(end.message), STR("the agent's channel ended, and its process was not reported to have ended within 50 ms"));
}

TEST(monitor_waits_for_word_of_how_an_agent_ended_that_hung_up)
{
	struct bench b;

	bench_start(&b, APPROVE_ASK, true);
	bench_let_go(&b.ends[AGENT]);
	bench_ask_to_run(&b, 1, STR("all")); /* it goes on meanwhile */
	bench_hear_note(&b, "approval.prompt");
	bench_say_exit(&b, 7, 0);
	CHECK_STR(str_from(bench_finish(&b).message), STR("the agent ended with status 7 and did not say why"));
}

TEST(monitor_ends_a_run_with_whom_it_cannot_do_without)
{
	static const struct {
		enum side who;
		const char *reason;
	} cases[] = {
		{ ZYGOTE, "jail_lost" }, { GIT, "jail_lost" }, { CLIENT, "provider_error" },
		{ BROKER, "provider_error" }, { RESOLVER, "provider_error" }, { RECORDER, "record_lost" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		bench_start(&b, APPROVE_ASK, true);
		bench_let_go(&b.ends[cases[i].who]);
		if (cases[i].who != RECORDER) {
			bench_hear_note(&b, "run.end");
			bench_hear_close(&b, false);
		}
		struct monitor_end end = bench_finish(&b);
		CHECK_INT(end.exit_code, 1);
		CHECK_STR(str_from(end.reason), str_from(cases[i].reason));
	}
}

TEST(monitor_goes_on_without_a_view_and_a_spawner)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, true);
	bench_let_go(&b.ends[VIEW]);
	bench_let_go(&b.ends[SPAWNER]);
	bench_ask_to_run(&b, 1, STR("all"));
	bench_hear_verdict(&b, 1, true);
	bench_say_done(&b, 0, 0, "finished");
	CHECK_INT(bench_finish(&b).exit_code, 0);
}

/* ---- peers that do not behave ---- */

/* The one child that a monitor of these tests has: its recorder's process. */
static int open_child(pid_t monitor)
{
	auto_buf struct buf pids = BUF_MAX(256);
	char path[64];
	int64_t pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)monitor, (int)monitor);
	CHECK(file_read(AT_FDCWD, path, &pids, ERR_DISCARD) == 0);
	CHECK(str_to_i64(str_trim(buf_str(&pids)), &pid, ERR_DISCARD) == 0);
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);

	CHECK(fd >= 0);
	return fd;
}

TEST(monitor_ends_though_a_recorder_breaks_a_rule_with_its_last_breath)
{
	struct bench b;

	bench_start(&b, APPROVE_ASK, true);
	bench_say_done(&b, 0, 0, "finish_run");
	bench_hear_close(&b, false);
	struct pollfd over = { open_child(b.pid), POLLIN, 0 };
	const struct buf nothing = { 0 };

	/* Its end is seen first, its message after that. */
	CHECK(kill(b.pid, SIGSTOP) == 0);
	bench_let_go(&b.lifeline);
	CHECK(poll(&over, 1, PATIENCE_S * 1000) == 1);
	bench_say(&b, RECORDER, 999, &nothing);
	CHECK(kill(b.pid, SIGCONT) == 0);
	close(over.fd);
	CHECK_INT(poll(&(struct pollfd){ .fd = b.result, .events = POLLIN }, 1, PATIENCE_S * 1000), 1);
	CHECK_INT(bench_finish(&b).exit_code, 0);
}

TEST(monitor_is_not_held_up_by_an_agent_that_does_not_read)
{
	auto_buf struct buf body = BUF_MAX(64);
	struct bench b;
	int r = 0;

	bench_start(&b, APPROVE_YES, false);
	bench_put_ask(&body, 1, 1);
	for (int i = 0; i < 100000 && r == 0; i++)
		r = chan_send(b.ends[AGENT], WIRE_ASK, buf_str(&body), NULL, 0, ERR_DISCARD);
	CHECK_INT(r, -ERR_CLOSED);
	bench_ask_to_run(&b, 1, STR("all"));
	bench_hear_verdict(&b, 1, true);
	bench_say_exit(&b, 0, SIGKILL);
	CHECK_STR(str_from(bench_finish(&b).reason), STR("crashed"));
}

TEST(monitor_is_not_held_up_by_a_recorder_that_does_not_read)
{
	auto_buf struct buf word = BUF_MAX(LONG_WORD);
	struct err err = { 0 };
	struct bench b;
	int r = 0;

	while (word.n < LONG_WORD)
		CHECK_OK(buf_addc(&word, 'x', &err));
	bench_start(&b, APPROVE_ASK, true);
	for (uint32_t job = 1; job < 64 && r == 0; job++) { /* as many as may be open, until it is over */
		auto_buf struct buf body = BUF_MAX(CHAN_BODY);

		bench_put_approve(&body, job, JOB_COMMAND, buf_str(&word));
		r = chan_send(b.ends[ZYGOTE], WIRE_APPROVE, buf_str(&body), NULL, 0, ERR_DISCARD);
	}
	CHECK_STR(bench_hear_verdict(&b, 1, false), STR("the run is stopping"));
	bench_let_go(&b.lifeline);
	struct monitor_end end = bench_finish(&b);
	CHECK_STR(str_from(end.reason), STR("record_lost"));
	CHECK_INT(end.exit_code, 1);
}

TEST(monitor_does_not_blame_git_for_the_end_of_the_agent_it_worked_for)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, false);
	bench_let_go(&b.ends[GIT]); /* read first, though it came second */
	bench_let_go(&b.ends[AGENT]);
	bench_say_exit(&b, 0, SIGKILL);
	CHECK_STR(str_from(bench_finish(&b).reason), STR("crashed"));
}

TEST(monitor_says_that_a_record_never_got_to_the_disk)
{
	struct bench b;

	bench_wish.record_grace_ms = 100;
	bench_start(&b, APPROVE_YES, false);
	bench_wish.record_grace_ms = 0;
	bench_say_done(&b, 0, 0, "finish_run");
	/* The recorder never ends by itself: the pipe has no reader any more once it was ended. */
	CHECK_INT(poll(&(struct pollfd){ .fd = b.lifeline }, 1, PATIENCE_S * 1000), 1);
	struct monitor_end end = bench_finish(&b);
	CHECK_STR(str_from(end.reason), STR("record_lost"));
	CHECK(strstr(end.message, "was not on the disk"));
	CHECK_INT(end.exit_code, 1);
}

TEST(monitor_ends_though_a_zygote_does_not_when_it_is_told_to)
{
	struct bench b;

	bench_wish.deaf = true;
	bench_start(&b, APPROVE_YES, false);
	bench_wish.deaf = false;
	bench_say_done(&b, 0, 0, "finish_run");
	bench_hear_type(&b, ZYGOTE, WIRE_STOP_ALL);
	bench_hear_close(&b, false);
	bench_let_go(&b.lifeline);
	bench_let_go(&b.ends[RECORDER]);
	CHECK_INT(poll(&(struct pollfd){ .fd = b.result, .events = POLLIN }, 1, PATIENCE_S * 1000), 1);
	CHECK_INT(bench_finish(&b).exit_code, 0);
}

/* ---- a repository where none was ---- */

TEST(monitor_records_what_was_set_aside_and_goes_on)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, false);
	bench_say_git_found(&b, ".git.quarantined-1", "");
	struct str said = bench_hear_note(&b, "jail.git_quarantined");

	CHECK(str_find(said, STR("\"path\":\"/ws/.git\",\"moved_to\":\".git.quarantined-1\"")) < said.n);
	bench_say_done(&b, 0, 0, "finish_run");
	bench_hear_close(&b, false);
	CHECK_INT(bench_finish(&b).exit_code, 0);
}

TEST(monitor_ends_a_run_whose_repository_was_changed)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, false);
	bench_say_git_changed(&b, "/w/.git/config");
	bench_hear_note(&b, "jail.git_changed");
	struct str said = bench_hear_note(&b, "run.end");

	CHECK(str_find(said, STR("\"reason\":\"git_changed\"")) < said.n);
	bench_hear_close(&b, false);
	struct monitor_end end = bench_finish(&b);

	CHECK_INT(end.exit_code, 1);
	CHECK(strstr(end.message, "/w/.git/config"));
}

TEST(monitor_ends_the_run_when_a_repository_cannot_be_set_aside)
{
	struct bench b;

	bench_start(&b, APPROVE_YES, false);
	bench_say_git_found(&b, "", "Read-only file system");
	struct str said = bench_hear_note(&b, "jail.git_quarantined");

	CHECK(str_find(said, STR("\"error\":\"Read-only file system\"")) < said.n);
	said = bench_hear_note(&b, "run.end");
	CHECK(str_find(said, STR("\"reason\":\"unsafe_repository\"")) < said.n);
	bench_hear_close(&b, false);
	struct monitor_end end = bench_finish(&b);

	CHECK_INT(end.exit_code, 1);
	CHECK_STR(str_from(end.reason), STR("unsafe_repository"));
}

/* What is found when the agent is dead is on record too: it is closed after the zygote's last word, however it comes. */
TEST(monitor_hears_the_jail_out_before_the_record_is_closed)
{
	for (int dies = 0; dies < 2; dies++) {
		struct bench b;

		bench_wish.no_git = true;
		bench_start(&b, APPROVE_YES, false);
		bench_wish.no_git = false;
		bench_say_done(&b, 0, 0, "finish_run");
		bench_hear_type(&b, ZYGOTE, WIRE_STOP_ALL);
		bench_hear_type(&b, ZYGOTE, WIRE_FINISH);
		bench_say_git_found(&b, ".git.quarantined-1", "");
		bench_hear_note(&b, "jail.git_quarantined");
		if (dies)
			bench_let_go(&b.ends[ZYGOTE]);
		else
			bench_say_exit(&b, 0, SIGKILL);
		bench_hear_close(&b, false);
		CHECK_INT(bench_finish(&b).exit_code, 0);
	}
}

/* The agent says that nothing came of the run; what the jail finds when it is dead says otherwise. */
TEST(monitor_keeps_a_run_that_left_something_in_a_repository_whatever_the_agent_says)
{
	static const struct {
		const char *why, *moved_to, *changed, *event, *reason; /* no event: the jail dies before its last word */
	} cases[] = {
		{ "set aside", ".git.quarantined-1", NULL, "jail.git_quarantined", "unsafe_repository" },
		{ "it cannot be", "", NULL, "jail.git_quarantined", "unsafe_repository" },
		{ "changed", NULL, "hooks/post-checkout\n", "jail.git_changed", "git_changed" },
		{ "nobody looked", NULL, NULL, NULL, "refused" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		bench_wish.no_git = true;
		bench_start(&b, APPROVE_YES, false);
		bench_wish.no_git = false;
		bench_say_done(&b, 0, 1, "refused");
		bench_hear_type(&b, ZYGOTE, WIRE_STOP_ALL);
		bench_hear_type(&b, ZYGOTE, WIRE_FINISH);
		if (cases[i].moved_to)
			bench_say_git_found(&b, cases[i].moved_to, "busy");
		if (cases[i].changed)
			bench_say_git_changed(&b, cases[i].changed);
		if (cases[i].event) {
			bench_hear_note(&b, cases[i].event);
			struct str said = bench_hear_note(&b, "run.end");
			CHECK(str_find(said, str_from(cases[i].reason)) < said.n);
			bench_say_exit(&b, 0, SIGKILL);
		} else {
			bench_let_go(&b.ends[ZYGOTE]);
		}
		bench_hear_close(&b, false);
		struct monitor_end end = bench_finish(&b);

		CHECK(!end.discard);
		CHECK_STR(str_from(end.reason), str_from(cases[i].reason));
		CHECK_INT(end.exit_code, cases[i].event ? 1 : 0);
		CHECK_INT(strcmp(end.message, "because") == 0, cases[i].event == NULL);
	}
}

TEST(monitor_has_the_operators_programs_told_by_numbers_and_waits_for_the_last)
{
	static const struct {
		const char *why, *reason;
		uint8_t number;
		bool ok;
		const char *want;
	} cases[] = {
		{ "it went well", "finish_run", 1, true, "" },
		{ "it failed", "finish_run", 1, false, "notify.on_complete: bell rang" },
		{ "a reason of nobody's", "finish_run\nOK=1", 0, true, "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		bench_wish.hooks = true;
		bench_start(&b, APPROVE_ASK, true);
		bench_wish.hooks = false;
		bench_ask_to_run(&b, 1, STR("all"));
		bench_hear_spawn(&b, SPAWN_APPROVAL, 0);
		bench_ask_to_call(&b, 2, STR("look"), STR("{}"));
		bench_hear_spawn(&b, SPAWN_APPROVAL, 0);
		bench_ask_question_of(&b, 7, 1);
		bench_hear_spawn(&b, SPAWN_QUESTION, 0);
		bench_say_spawned(&b, SPAWN_QUESTION, true, "");
		bench_say_done(&b, 4, 0, cases[i].reason);
		bench_let_go(&b.lifeline); /* the recorder has closed the record */
		bench_let_go(&b.ends[RECORDER]);
		bench_hear_spawn(&b, SPAWN_ENDED, (uint16_t)(cases[i].number << 8 | 4));
		bench_say_spawned(&b, SPAWN_ENDED, cases[i].ok, "bell rang");
		CHECK_STR(str_from(bench_finish(&b).note), str_from(cases[i].want));
	}
}

TEST(monitor_tells_what_a_spawner_says_up_to_its_first_nul)
{
	auto_buf struct buf body = BUF_MAX(64);
	struct bench b;

	bench_wish.hooks = true;
	bench_start(&b, APPROVE_ASK, true);
	bench_wish.hooks = false;
	bench_say_done(&b, 0, 0, "finish_run");
	bench_let_go(&b.lifeline);
	bench_let_go(&b.ends[RECORDER]);
	bench_hear_spawn(&b, SPAWN_ENDED, 1 << 8);
	pack_u8(&body, SPAWN_ENDED);
	pack_u16(&body, 0);
	pack_u8(&body, 0);
	pack_str(&body, str_of("bell\0rang", 9));
	bench_say(&b, SPAWNER, WIRE_SPAWNED, &body);
	CHECK_STR(str_from(bench_finish(&b).note), STR("notify.on_complete: bell"));
}

TEST(monitor_does_not_wait_for_a_spawner_that_is_gone)
{
	struct bench b;

	bench_wish.hooks = true;
	bench_start(&b, APPROVE_ASK, true);
	bench_wish.hooks = false;
	bench_let_go(&b.ends[SPAWNER]);
	bench_say_done(&b, 0, 0, "finish_run");
	struct monitor_end end = bench_finish(&b);

	CHECK_INT(end.exit_code, 0);
	CHECK(strstr(end.note, "gone"));
}

static void say_crash(struct bench *b, enum side who, uint32_t sig, uint64_t at)
{
	auto_buf struct buf body = BUF_MAX(16);

	pack_u32(&body, sig);
	pack_u64(&body, at);
	bench_say(b, who, WIRE_CRASH, &body);
}

TEST(monitor_says_where_a_process_died_that_said_so_itself)
{
	static const struct {
		enum side who;
		const char *place;
	} cases[] = { { RECORDER, "agent6+0x12ab" }, { CLIENT, "agent6-net+0x12ab" }, { BROKER, "agent6+0x12ab" },
		{ RESOLVER, "agent6-resolver+0x12ab" }, { GIT, "agent6-jail+0x12ab" },
		{ ZYGOTE, "agent6-jail+0x12ab" } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		bench_start(&b, APPROVE_ASK, true);
		say_crash(&b, cases[i].who, SIGBUS, 0x12ab);
		say_crash(&b, cases[i].who, SIGSEGV, 0x1); /* the first word is the one */
		bench_let_go(&b.ends[cases[i].who]);
		if (cases[i].who != RECORDER) {
			CHECK(str_find(bench_hear_note(&b, "process.died"), STR("SIGBUS")) < b.msg.body.n);
			bench_hear_note(&b, "run.end");
		}
		struct monitor_end end = bench_finish(&b);
		CHECK(strstr(end.message, "SIGBUS") && strstr(end.message, cases[i].place));
	}
}

TEST(monitor_hears_an_agents_last_word_whoever_speaks_first)
{
	struct bench b;

	bench_start(&b, APPROVE_ASK, true);
	kill(b.pid, SIGSTOP); /* so that both have arrived when it looks */
	bench_say_exit(&b, 139, 0);
	say_crash(&b, AGENT, SIGSEGV, 0x77);
	kill(b.pid, SIGCONT);
	struct monitor_end end = bench_finish(&b);
	CHECK_STR(str_from(end.reason), STR("crashed"));
	CHECK(strstr(end.message, "killed by signal 11 (SIGSEGV at agent6+0x77"));
}

TEST(monitor_takes_no_crash_that_cannot_be)
{
	struct bench b;

	bench_start(&b, APPROVE_ASK, true);
	say_crash(&b, AGENT, 65, 0);
	CHECK_STR(str_from(bench_finish(&b).reason), STR("protocol"));
}
