/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/json.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "role/monitor.h"
#include "session/answers.h"
#include "sys/chan.h"
#include "sys/file.h"
#include "test/lib/test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum side { ZYGOTE, GIT, CLIENT, BROKER, RECORDER, SPAWNER, VIEW, AGENT, SERVER, SIDES };

#define LONG_WORD  5000 /* of a command that is shown whole */
#define PATIENCE_S 30 /* a monitor that says nothing fails the test instead of hanging it */

/* A monitor in a process of its own; the test is everybody else. */
struct bench {
	struct test_dir dir;
	pid_t pid;
	int ends[SIDES]; /* ours */
	int answers;     /* the directory */
	int lifeline;    /* closed: the recorder's process ends */
	int result;      /* how the run ended comes through here */
	struct chan_msg msg;
};

/* A process that lives until the test lets go: the monitor waits for its recorder's. */
static struct proc stand_in(const int pipe_ends[2])
{
	struct proc p = { fork(), -1 };
	char c;

	if (p.pid == 0) {
		close(pipe_ends[1]);
		_exit(read(pipe_ends[0], &c, 1) != 0);
	}
	p.pidfd = (int)syscall(SYS_pidfd_open, p.pid, 0);
	return p;
}

/* Its zygote that does not end when it is told to, however long the test lasts. */
static struct proc deaf(const int pipe_ends[2])
{
	struct proc p;

	signal(SIGTERM, SIG_IGN); /* before there is anybody to tell */
	p = (struct proc){ fork(), -1 };
	if (p.pid == 0) {
		close(pipe_ends[0]);
		close(pipe_ends[1]);
		alarm(2 * PATIENCE_S);
		for (;;)
			pause();
	}
	signal(SIGTERM, SIG_DFL);
	p.pidfd = (int)syscall(SYS_pidfd_open, p.pid, 0);
	return p;
}

static bool with_deaf;   /* the zygote of the next bench, */
static bool without_git; /* its workspace is no repository, */
static bool with_hooks;  /* the operator's programs are told, */
static bool with_menu;   /* its view can ask at a pause, */
static struct str_list with_verify; /* the verify command that was set */
static int with_leash[2] = { -1, -1 }; /* somebody holds the terminal for it: its end, and theirs */
static int64_t record_grace_ms; /* and how long its record may take; 0: as it is */

static void be_monitor(const int theirs[SIDES], int answers, enum approval_policy policy, bool attended,
	const int lifeline[2], int result)
{
	struct peer peers[SIDES];
	struct monitor_end end = { 0 };
	struct err err = { 0 };

	for (int i = 0; i < SIDES; i++)
		peers[i] = (struct peer){ .proc = { 0, -1 }, .chan = theirs[i] };
	if (with_leash[0] >= 0)
		close(with_leash[0]);
	peers[RECORDER].proc = stand_in(lifeline);
	if (with_menu)
		peers[VIEW].proc = stand_in(lifeline);
	if (with_deaf)
		peers[ZYGOTE].proc = deaf(lifeline);
	close(lifeline[0]);
	close(lifeline[1]);
	struct monitor_spec spec = { .zygote = peers[ZYGOTE], .git = peers[GIT], .client = peers[CLIENT],
		.broker = peers[BROKER], .recorder = peers[RECORDER], .spawner = peers[SPAWNER], .view = peers[VIEW],
		.servers = { { peers[SERVER], STR("notes") } }, .nservers = 1, .agent_chan = theirs[AGENT], .answers_fd = answers, .menu = with_menu, .leash_fd = with_leash[1], .verify = with_verify, .commands = policy, .attended = attended,
		.hooks_end = with_hooks, .hooks_wait = with_hooks, .hook_ms = 1000, .looks = without_git, .record_grace_ms = record_grace_ms, .close_grace_ms = with_deaf ? 100 : 0, .go = STR("go") };

	if (monitor_run(&spec, &end, &err) < 0 || write(result, &end, sizeof(end)) != (ssize_t)sizeof(end))
		_exit(1);
	_exit(0);
}

static void hear_type(struct bench *b, enum side who, uint16_t type)
{
	struct err err = { 0 };

	CHECK_OK(chan_recv(b->ends[who], &b->msg, &err));
	CHECK_STR(str_from(wire_name(b->msg.type)), str_from(wire_name(type)));
}

static void start(struct bench *b, enum approval_policy policy, bool attended)
{
	const struct timeval patience = { PATIENCE_S, 0 };
	int theirs[SIDES], lifeline[2], result[2];
	struct err err = { 0 };

	*b = (struct bench){ .dir = test_dir_new() };
	CHECK(mkdirat(b->dir.fd, "answers", 0700) == 0);
	CHECK_OK(dir_open(b->dir.fd, "answers", &b->answers, &err));
	CHECK(pipe2(lifeline, O_CLOEXEC) == 0 && pipe2(result, O_CLOEXEC) == 0);
	for (int i = 0; i < SIDES; i++) {
		int pair[2];

		CHECK_OK(chan_pair(pair, &err));
		b->ends[i] = pair[0];
		theirs[i] = pair[1];
		CHECK(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
	}
	b->pid = fork();
	if (b->pid == 0) {
		for (int i = 0; i < SIDES; i++)
			close(b->ends[i]);
		close(result[0]);
		be_monitor(theirs, b->answers, policy, attended, lifeline, result[1]);
	}
	for (int i = 0; i < SIDES; i++)
		close(theirs[i]);
	close(lifeline[0]);
	close(result[1]);
	b->lifeline = lifeline[1];
	b->result = result[0];
	hear_type(b, AGENT, WIRE_GO); /* from here on signals are read, not suffered */
	chan_msg_fini(&b->msg);
}

static void let_go(int *fd)
{
	close(*fd);
	*fd = -1;
}

/* The recorder ends, and with it the monitor: how did the run end? */
static struct monitor_end finish(struct bench *b)
{
	struct monitor_end end = { 0 };
	int status;

	if (b->lifeline >= 0)
		let_go(&b->lifeline);
	if (b->ends[RECORDER] >= 0)
		let_go(&b->ends[RECORDER]);
	CHECK(read(b->result, &end, sizeof(end)) == (ssize_t)sizeof(end));
	CHECK(waitpid(b->pid, &status, 0) == b->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	for (int i = 0; i < SIDES; i++)
		if (b->ends[i] >= 0)
			close(b->ends[i]);
	close(b->result);
	close(b->answers);
	test_dir_fini(&b->dir);
	return end;
}

/* ---- what the others say ---- */

static void say(struct bench *b, enum side who, uint16_t type, const struct buf *body)
{
	struct err err = { 0 };

	CHECK_OK(chan_send(b->ends[who], type, buf_str(body), NULL, 0, &err));
}

static void put_approve(struct buf *body, uint32_t job, enum job_class class, struct str word)
{
	const struct str argv[] = { STR("make"), word };

	pack_u32(body, job);
	pack_u8(body, (uint8_t)class);
	pack_str(body, STR(""));
	pack_strs(body, argv, COUNT(argv));
}

static void ask_for_class(struct bench *b, uint32_t job, enum job_class class, struct str word)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY);

	put_approve(&body, job, class, word);
	say(b, ZYGOTE, WIRE_APPROVE, &body);
}

static void ask_to_run(struct bench *b, uint32_t job, struct str word)
{
	ask_for_class(b, job, JOB_COMMAND, word);
}

static void ask_to_call(struct bench *b, uint32_t job, struct str tool, struct str args)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY);

	pack_u32(&body, job);
	pack_str(&body, tool);
	pack_str(&body, args);
	say(b, SERVER, WIRE_APPROVE_CALL, &body);
}

static void put_ask(struct buf *body, uint32_t id, uint32_t n)
{
	const struct str options[] = { STR("red"), STR("blue") };

	pack_u32(body, id);
	pack_u32(body, n);
	for (uint32_t i = 0; i < n; i++) {
		pack_str(body, STR("which?"));
		pack_strs(body, options, COUNT(options));
	}
}

static void ask_question_of(struct bench *b, uint32_t id, uint32_t n)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY);

	put_ask(&body, id, n);
	say(b, AGENT, WIRE_ASK, &body);
}

static void say_done(struct bench *b, uint8_t code, uint8_t discard, const char *reason)
{
	auto_buf struct buf body = BUF_MAX(1024);

	pack_u8(&body, code);
	pack_u8(&body, discard);
	pack_str(&body, str_from(reason));
	pack_str(&body, STR("because"));
	say(b, AGENT, WIRE_DONE, &body);
}

static void say_exit(struct bench *b, uint32_t code, uint32_t sig)
{
	auto_buf struct buf body = BUF_MAX(16);

	pack_u32(&body, code);
	pack_u32(&body, sig);
	say(b, ZYGOTE, WIRE_AGENT_EXIT, &body);
}

static void hear_spawn(struct bench *b, enum spawn_op op, uint16_t index)
{
	hear_type(b, SPAWNER, WIRE_SPAWN);
	struct unpack u = unpack_from(b->msg.body);

	CHECK_INT(unpack_u8(&u), op);
	CHECK_INT(unpack_u16(&u), index);
	CHECK_STR(unpack_str(&u), STR("")); /* no word of anybody */
	CHECK(unpack_done(&u));
	chan_msg_fini(&b->msg);
}

static void say_spawned(struct bench *b, enum spawn_op op, bool ok, const char *why)
{
	auto_buf struct buf body = BUF_MAX(1024);

	pack_u8(&body, (uint8_t)op);
	pack_u16(&body, 0);
	pack_u8(&body, ok);
	pack_str(&body, str_from(why));
	say(b, SPAWNER, WIRE_SPAWNED, &body);
}

static void say_lost(struct bench *b)
{
	auto_buf struct buf body = BUF_MAX(64);

	pack_str(&body, STR("disk full"));
	say(b, RECORDER, WIRE_LOST_UP, &body);
}

static void answer(struct bench *b, const char *id, struct str text)
{
	struct err err = { 0 };

	CHECK_OK(file_replace(b->answers, id, text, 0600, &err));
}

/* ---- what the others hear ---- */

/* The next thing that goes on record is this event; what it says is in b->msg. */
static struct str hear_note(struct bench *b, const char *event)
{
	hear_type(b, RECORDER, WIRE_NOTE);
	struct unpack u = unpack_from(b->msg.body);

	CHECK_INT(unpack_u8(&u), RECORD_EVENT);
	unpack_u32(&u);
	CHECK_STR(unpack_str(&u), str_from(event));
	return unpack_str(&u);
}

static struct str hear_verdict_at(struct bench *b, enum side who, uint32_t job, bool allowed)
{
	hear_type(b, who, WIRE_VERDICT);
	struct unpack u = unpack_from(b->msg.body);

	CHECK_INT(unpack_u32(&u), job);
	CHECK_INT(unpack_u8(&u), allowed);
	struct str why = unpack_str(&u);
	CHECK(unpack_done(&u) && (allowed || why.n > 0)); /* who is refused is told why */
	return why;
}

/* Returns what is said to it. */
static struct str hear_verdict(struct bench *b, uint32_t job, bool allowed)
{
	return hear_verdict_at(b, ZYGOTE, job, allowed);
}

static void hear_answer(struct bench *b, uint32_t id, bool answered, const char *const *want, size_t n)
{
	auto_arena struct arena *mem = arena_new();
	size_t got;

	hear_type(b, AGENT, WIRE_ANSWER);
	struct unpack u = unpack_from(b->msg.body);
	CHECK_INT(unpack_u32(&u), id);
	CHECK_INT(unpack_u8(&u), answered);
	struct str *list = unpack_strs(&u, mem, 64, &got);
	CHECK(unpack_done(&u));
	CHECK_INT(got, n);
	for (size_t i = 0; i < n; i++)
		CHECK_STR(list[i], str_from(want[i]));
}

static void hear_stop(struct bench *b, enum wire_stop how)
{
	hear_note(b, "run.stop_requested");
	hear_type(b, AGENT, WIRE_STOP);
	CHECK_INT(b->msg.body.p[0], how);
}

static void hear_close(struct bench *b, bool discard)
{
	hear_type(b, RECORDER, WIRE_CLOSE);
	CHECK_INT(b->msg.body.p[0], discard);
}

static void say_git_found(struct bench *b, const char *moved_to, const char *why)
{
	auto_buf struct buf body = BUF_MAX(1024);

	pack_str(&body, STR("/ws"));
	pack_str(&body, STR(".git"));
	pack_str(&body, str_from(moved_to));
	pack_str(&body, str_from(why));
	say(b, ZYGOTE, WIRE_GIT_FOUND, &body);
}

static void say_git_changed(struct bench *b, const char *paths)
{
	auto_buf struct buf body = BUF_MAX(1024);

	pack_str(&body, str_from(paths));
	say(b, ZYGOTE, WIRE_GIT_CHANGED, &body);
}

/* ---- approvals ---- */

TEST(monitor_takes_the_operators_word_and_nothing_else_for_a_yes)
{
	static const struct {
		const char *why, *text;
		bool allowed;
		int next; /* of the next command: 1 allowed, 0 refused, -1 it is asked about */
	} cases[] = {
		{ "yes is for one command", "yes\n", true, -1 },
		{ "always is for all that come", "always", true, 1 },
		{ "no is for one command", "no", false, -1 },
		{ "never is for all that come", "never\n", false, 0 },
		{ "an empty file is no", "", false, -1 },
		{ "a word that begins well is no", "yes please", false, -1 },
		{ "case counts", "YES", false, -1 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		start(&b, APPROVE_ASK, true);
		ask_to_run(&b, 7, STR("it's"));
		CHECK(str_find(hear_note(&b, "approval.prompt"), STR("make 'it'\\\\''s'")) < b.msg.body.n);
		answer(&b, "approval-1", str_from(cases[i].text));
		hear_note(&b, "approval.answer");
		hear_verdict(&b, 7, cases[i].allowed);
		CHECK(faccessat(b.answers, "approval-1", F_OK, 0) < 0);
		ask_to_run(&b, 8, STR("all"));
		if (cases[i].next < 0)
			hear_note(&b, "approval.prompt");
		else
			hear_verdict(&b, 8, cases[i].next);
		say_done(&b, 0, 0, "finished");
		CHECK_INT(finish(&b).exit_code, 0);
	}
}

TEST(monitor_asks_about_a_tool_of_a_server_and_an_answer_is_for_that_tool_alone)
{
	static const struct {
		const char *text;
		bool allowed;
		int next; /* of the same tool: 1 allowed, 0 refused, -1 it is asked about */
	} cases[] = { { "yes", true, -1 }, { "always", true, 1 }, { "no", false, -1 }, { "never", false, 0 }, { "maybe", false, -1 } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		start(&b, APPROVE_YES, true); /* what commands may do is another question */
		ask_to_call(&b, 7, STR("write note"), STR("{\"path\":\"x\"}"));
		struct str prompt = hear_note(&b, "approval.prompt");

		CHECK(str_find(prompt, STR("Allow the tool \\\"write note\\\" of MCP server notes: {\\\"path\\\":\\\"x\\\"}")) < prompt.n);
		CHECK(str_find(prompt, STR("\"scope\":\"mcp.notes\"")) < prompt.n);
		answer(&b, "approval-1", str_from(cases[i].text));
		hear_note(&b, "approval.answer");
		hear_verdict_at(&b, SERVER, 7, cases[i].allowed);
		ask_to_call(&b, 8, STR("write note"), STR("{}"));
		if (cases[i].next < 0)
			hear_note(&b, "approval.prompt");
		else
			hear_verdict_at(&b, SERVER, 8, cases[i].next);
		ask_to_call(&b, 9, STR("delete"), STR("{}"));
		hear_note(&b, "approval.prompt"); /* another tool */
		ask_to_run(&b, 10, STR("all"));
		hear_verdict(&b, 10, true); /* and commands, whatever was said of tools */
		say_done(&b, 0, 0, "finished");
		finish(&b);
	}
}

TEST(monitor_shows_a_tool_whose_name_has_quotes_as_one_word)
{
	struct bench b;

	start(&b, APPROVE_YES, true);
	ask_to_call(&b, 1, STR("look\" of MCP server safe: {} \\"), STR("{}"));
	struct str prompt = hear_note(&b, "approval.prompt");
	auto_json json_t *j = NULL;
	struct err err = { 0 };

	CHECK_OK(json_decode(prompt, JSON_EXACT, &j, &err));
	CHECK_STR(json_get_str(j, "prompt"), STR("Allow the tool \"look\\\" of MCP server safe: {} \\\\\" of MCP server notes: {}"));
	say_done(&b, 0, 0, "finished");
	finish(&b);
}

TEST(monitor_refuses_calls_that_cannot_be_shown_or_that_nobody_can_answer)
{
	auto_buf struct buf args = BUF_MAX(64 * 1024);
	struct err err = { 0 };
	struct bench b;

	start(&b, APPROVE_YES, true);
	CHECK_OK(buf_addz(&args, "{\"a\":\"", &err));
	while (args.n < 7000)
		CHECK_OK(buf_addc(&args, 'x', &err));
	CHECK_OK(buf_addz(&args, "\"}", &err));
	ask_to_call(&b, 1, STR("t"), buf_str(&args));
	struct str why = hear_verdict_at(&b, SERVER, 1, false);
	CHECK(str_find(why, STR("too long to be shown")) < why.n);
	ask_to_call(&b, 2, STR("t"), STR("")); /* what the zygote says of arguments that are longer still */
	hear_verdict_at(&b, SERVER, 2, false);
	say_done(&b, 0, 0, "finished");
	finish(&b);

	start(&b, APPROVE_YES, false);
	ask_to_call(&b, 1, STR("t"), STR("{}"));
	CHECK_STR(hear_verdict_at(&b, SERVER, 1, false), STR("its approval is \"ask\" and nobody can answer"));
	say_done(&b, 0, 0, "finished");
	finish(&b);
}

TEST(monitor_shows_that_a_command_will_run_in_the_background)
{
	struct bench b;

	start(&b, APPROVE_ASK, true);
	ask_for_class(&b, 7, JOB_BACKGROUND, STR("serve"));
	struct str prompt = hear_note(&b, "approval.prompt");
	CHECK(str_find(prompt, STR("Allow run_command in the background, until the run ends: make serve")) < prompt.n);
	answer(&b, "approval-1", STR("no"));
	hear_note(&b, "approval.answer");
	hear_verdict(&b, 7, false);
	say_done(&b, 0, 0, "finished");
	finish(&b);
}

TEST(monitor_calls_only_the_command_that_was_set_the_verify_command)
{
	static const struct {
		enum job_class class;
		const char *word, *shown;
	} cases[] = {
		{ JOB_VERIFY, "check", "Allow the verify command: make check" },
		{ JOB_VERIFY, "evil", "Allow run_command: make evil" },
		{ JOB_COMMAND, "check", "Allow run_command: make check" },
	};
	struct str set[] = { STR("make"), STR("check") };
	struct bench b;

	with_verify = (struct str_list){ set, COUNT(set) };
	start(&b, APPROVE_ASK, true);
	with_verify = (struct str_list){ 0 };
	for (uint32_t i = 0; i < COUNT(cases); i++) {
		char id[32];

		ask_for_class(&b, 7 + i, cases[i].class, str_from(cases[i].word));
		struct str prompt = hear_note(&b, "approval.prompt");
		CHECK(str_find(prompt, str_from(cases[i].shown)) < prompt.n);
		snprintf(id, sizeof(id), "approval-%u", i + 1);
		answer(&b, id, STR("no"));
		hear_note(&b, "approval.answer");
		hear_verdict(&b, 7 + i, false);
	}
	say_done(&b, 0, 0, "finished");
	finish(&b);
}

TEST(monitor_takes_no_yes_from_what_is_not_a_plain_short_file)
{
	auto_buf struct buf yes = BUF_MAX(64 * 1024);
	struct err err = { 0 };

	CHECK_OK(buf_addz(&yes, "yes", &err));
	while (yes.n < 32 * 1024)
		CHECK_OK(buf_addc(&yes, '\n', &err));
	for (int what = 0; what < 3; what++) {
		struct bench b;

		start(&b, APPROVE_ASK, true);
		ask_to_run(&b, 1, STR("all"));
		hear_note(&b, "approval.prompt");
		test_write(&b.dir, "elsewhere", STR("yes"));
		if (what == 0)
			CHECK(symlinkat("../elsewhere", b.answers, "approval-1") == 0);
		else if (what == 1)
			CHECK(mkfifoat(b.answers, "approval-1", 0600) == 0);
		answer(&b, what == 2 ? "approval-1" : "wake", buf_str(&yes));
		hear_note(&b, "approval.answer");
		hear_verdict(&b, 1, false);
		say_done(&b, 0, 0, "finished");
		finish(&b);
	}
}

TEST(monitor_decides_alone_where_nobody_is_asked)
{
	static const struct {
		enum approval_policy policy;
		bool attended, allowed;
	} cases[] = { { APPROVE_YES, false, true }, { APPROVE_NO, true, false }, { APPROVE_ASK, false, false } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		start(&b, cases[i].policy, cases[i].attended);
		ask_to_run(&b, 1, STR("all"));
		hear_verdict(&b, 1, cases[i].allowed);
		say_done(&b, 0, 0, "finished");
		finish(&b);
	}
}

TEST(monitor_asks_about_no_command_that_cannot_be_shown_whole)
{
	auto_buf struct buf word = BUF_MAX(4 * LONG_WORD);
	struct err err = { 0 };
	struct bench b;

	while (word.n < word.max)
		CHECK_OK(buf_addc(&word, 'x', &err));
	start(&b, APPROVE_ASK, true);
	ask_to_run(&b, 1, buf_str(&word));
	struct str why = hear_verdict(&b, 1, false);
	CHECK(str_find(why, STR("too long")) < why.n);
	say_done(&b, 0, 0, "finished");
	hear_close(&b, false); /* and no approval.prompt before it */
	finish(&b);
}

/* ---- questions ---- */

TEST(monitor_sends_as_many_answers_as_there_were_questions)
{
	static const struct {
		const char *why, *file;
		const char *want[2];
	} cases[] = {
		{ "one a line", "red\nblue\n", { "red", "blue" } },
		{ "the last line needs no end", "red\nblue", { "red", "blue" } },
		{ "what is missing is empty", "red\n", { "red", "" } },
		{ "an empty file answers nothing", "", { "", "" } },
		{ "nothing is cut off", "red\nblue\ngreen\n", { "red", "blue\ngreen" } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		start(&b, APPROVE_ASK, true);
		ask_question_of(&b, 40, 2);
		hear_note(&b, "question.prompt");
		answer(&b, "question-1", str_from(cases[i].file));
		hear_note(&b, "question.answer");
		hear_answer(&b, 40, true, cases[i].want, 2);
		say_done(&b, 0, 0, "finished");
		finish(&b);
	}
}

TEST(monitor_says_at_once_that_nobody_answers_when_nobody_is_there)
{
	struct bench b;

	start(&b, APPROVE_YES, false);
	ask_question_of(&b, 1, 1);
	hear_answer(&b, 1, false, NULL, 0);
	say_done(&b, 0, 0, "finished");
	finish(&b);
}

/* ---- stopping ---- */

TEST(monitor_stops_after_the_step_then_now_then_without_the_agent)
{
	struct bench b;

	start(&b, APPROVE_ASK, true);
	ask_to_run(&b, 1, STR("all"));
	hear_note(&b, "approval.prompt");
	CHECK(kill(b.pid, SIGINT) == 0);
	hear_stop(&b, STOP_AFTER_STEP);
	CHECK(kill(b.pid, SIGINT) == 0);
	hear_stop(&b, STOP_NOW);
	hear_verdict(&b, 1, false); /* what was open is not any more */
	hear_type(&b, ZYGOTE, WIRE_STOP_ALL);
	ask_to_run(&b, 2, STR("more"));
	hear_verdict(&b, 2, false);
	ask_question_of(&b, 9, 1);
	hear_answer(&b, 9, false, NULL, 0);
	CHECK(kill(b.pid, SIGINT) == 0);
	CHECK(str_find(hear_note(&b, "run.end"), STR("interrupted")) < b.msg.body.n);
	hear_close(&b, false);
	struct monitor_end end = finish(&b);
	CHECK_INT(end.exit_code, 130);
	CHECK_STR(str_from(end.reason), STR("interrupted"));
}

TEST(monitor_takes_a_stop_from_the_answers_directory_once)
{
	struct bench b;

	start(&b, APPROVE_YES, false);
	for (int i = 0; i < 2; i++)
		answer(&b, "stop.request", STR(""));
	hear_stop(&b, STOP_AFTER_STEP);
	answer(&b, "stop.request", STR(""));
	ask_to_run(&b, 1, STR("all")); /* a run that stops after its step goes on with it */
	hear_verdict(&b, 1, true);
	say_done(&b, 130, 0, "interrupted");
	hear_close(&b, false); /* and not a second run.stop_requested */
	CHECK_INT(finish(&b).exit_code, 130);
}

/* ---- steering ---- */

static void hear_tell(struct bench *b, enum wire_tell what, const char *text)
{
	hear_type(b, AGENT, WIRE_TELL);
	struct unpack u = unpack_from(b->msg.body);

	CHECK_INT(unpack_u8(&u), what);
	CHECK_STR(unpack_str(&u), str_from(text));
	CHECK(unpack_done(&u));
	chan_msg_fini(&b->msg);
}

static void front_end_says(struct bench *b, enum answer_kind kind, const char *text)
{
	struct err err = { 0 };

	CHECK_OK(answers_tell(b->answers, kind, str_from(text), &err));
}

static void end_well(struct bench *b)
{
	say_done(b, 0, 0, "finish_run");
	hear_close(b, false);
	CHECK_INT(finish(b).exit_code, 0);
}

TEST(monitor_passes_on_what_a_front_end_says_and_records_the_persons_words_itself)
{
	struct bench b;

	start(&b, APPROVE_YES, true);
	front_end_says(&b, ANSWER_STEER, "use \"tabs\"\nplease");
	CHECK(str_find(hear_note(&b, "run.steer_requested"), STR("use \\\"tabs\\\"\\nplease")) < b.msg.body.n);
	hear_type(&b, AGENT, WIRE_STEER);
	struct unpack u = unpack_from(b.msg.body);
	CHECK_STR(unpack_str(&u), STR("use \"tabs\"\nplease"));
	chan_msg_fini(&b.msg);
	front_end_says(&b, ANSWER_COMPACT, "");
	hear_tell(&b, TELL_COMPACT, "");
	front_end_says(&b, ANSWER_BTW, "why?");
	hear_tell(&b, TELL_BTW, "why?");
	front_end_says(&b, ANSWER_PAUSE, "");
	hear_note(&b, "run.pause_requested");
	hear_tell(&b, TELL_PAUSE, "");
	front_end_says(&b, ANSWER_CONTINUE, "");
	hear_tell(&b, TELL_CONTINUE, "");
	front_end_says(&b, ANSWER_DETACH, "");
	CHECK(str_find(hear_note(&b, "run.notice"), STR("holds no terminal")) < b.msg.body.n);
	front_end_says(&b, ANSWER_STOP, "now");
	hear_stop(&b, STOP_NOW);
	end_well(&b);
}

TEST(monitor_stops_at_once_for_the_word_abort)
{
	struct bench b;

	start(&b, APPROVE_YES, true);
	front_end_says(&b, ANSWER_STEER, "abort");
	hear_stop(&b, STOP_NOW);
	end_well(&b);
}

TEST(monitor_pauses_then_interrupts_then_stops_where_a_view_can_ask)
{
	struct bench b;

	with_menu = true;
	start(&b, APPROVE_YES, true);
	with_menu = false;
	for (int round = 0; round < 2; round++) {
		CHECK(kill(b.pid, SIGINT) == 0);
		hear_note(&b, "run.pause_requested");
		hear_tell(&b, TELL_PAUSE, "");
		CHECK(kill(b.pid, SIGINT) == 0);
		hear_note(&b, "run.pause_requested");
		hear_tell(&b, TELL_PAUSE_NOW, "");
		if (round > 0)
			break;
		front_end_says(&b, ANSWER_STEER, "go on"); /* it begins anew after words */
		hear_note(&b, "run.steer_requested");
		hear_type(&b, AGENT, WIRE_STEER);
		chan_msg_fini(&b.msg);
	}
	CHECK(kill(b.pid, SIGINT) == 0);
	hear_stop(&b, STOP_NOW);
	end_well(&b);
}

static void start_on_leash(struct bench *b, enum approval_policy policy, int *far)
{
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, with_leash) == 0);
	start(b, policy, true);
	close(with_leash[1]);
	*far = with_leash[0];
	with_leash[0] = with_leash[1] = -1;
}

/* What becomes of open questions, and of later ones, when the person leaves. */
static const struct {
	const char *away;
	bool allowed, later;
} aways[] = { { "deny", false, false }, { "approve", true, true } };

TEST(monitor_leaves_the_terminal_and_goes_on)
{
	for (size_t i = 0; i < COUNT(aways); i++) {
		struct bench b;
		char word[64] = { 0 };
		int far;

		start_on_leash(&b, APPROVE_ASK, &far);
		ask_to_run(&b, 1, STR("all"));
		hear_note(&b, "approval.prompt");
		front_end_says(&b, ANSWER_DETACH, "nonsense");
		hear_note(&b, "run.notice");
		front_end_says(&b, ANSWER_DETACH, aways[i].away);
		hear_note(&b, "run.detached");
		hear_note(&b, "approval.answer");
		hear_verdict(&b, 1, aways[i].allowed);
		hear_tell(&b, TELL_CONTINUE, "");
		CHECK(read(far, word, sizeof(word) - 1) == (ssize_t)strlen(LEASH_DETACHED));
		CHECK_STR(str_from(word), STR(LEASH_DETACHED));
		close(far); /* and nothing follows from it */
		ask_to_run(&b, 2, STR("more"));
		hear_verdict(&b, 2, aways[i].later);
		end_well(&b);
	}
}

TEST(monitor_ends_a_run_whose_terminal_is_gone)
{
	struct bench b;
	int far;

	start_on_leash(&b, APPROVE_YES, &far);
	close(far);
	hear_stop(&b, STOP_NOW);
	end_well(&b);
}

/* ---- how it ended ---- */

TEST(monitor_believes_the_first_word_about_the_end)
{
	struct bench b;

	start(&b, APPROVE_ASK, true);
	say_done(&b, 3, 0, "finished");
	hear_close(&b, false);
	say_done(&b, 0, 1, "another");
	ask_question_of(&b, 1, 1); /* its answer: the second word has been heard */
	hear_answer(&b, 1, false, NULL, 0);
	struct monitor_end end = finish(&b);
	CHECK_INT(end.exit_code, 3);
	CHECK(!end.discard);
	CHECK_STR(str_from(end.reason), STR("finished"));
}

/* Everybody who could have worked ends, as they do when their channel does; what they said before counts. */
static void let_workers_go(struct bench *b)
{
	static const enum side workers[] = { ZYGOTE, GIT, CLIENT, SERVER };

	for (size_t i = 0; i < COUNT(workers); i++)
		if (b->ends[workers[i]] >= 0)
			let_go(&b->ends[workers[i]]);
}

static void hear_the_end(struct bench *b, enum side who)
{
	int r;

	while ((r = chan_recv(b->ends[who], &b->msg, ERR_DISCARD)) == 0)
		chan_msg_fini(&b->msg);
	CHECK_INT(r, -ERR_CLOSED);
}

TEST(monitor_discards_only_a_run_in_which_nothing_was_done)
{
	struct bench b;

	start(&b, APPROVE_YES, false);
	say_done(&b, 2, 1, "refused");
	let_workers_go(&b);
	hear_close(&b, true);
	struct monitor_end end = finish(&b);
	CHECK(end.discard);
	CHECK_STR(str_from(end.message), STR("because"));

	start(&b, APPROVE_YES, false);
	ask_to_run(&b, 1, STR("all"));
	hear_verdict(&b, 1, true);
	say_done(&b, 2, 1, "refused");
	hear_note(&b, "run.end");
	hear_close(&b, false);
	end = finish(&b);
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

		start(&b, APPROVE_YES, false);
		if (!late)
			say(&b, who, WIRE_WORKED, &nothing);
		say_done(&b, 0, 1, "refused");
		if (late) {
			hear_the_end(&b, who);
			say(&b, who, WIRE_WORKED, &nothing);
		}
		let_workers_go(&b);
		struct str said = hear_note(&b, "run.end");
		CHECK(str_find(said, STR("never began")) < said.n);
		hear_close(&b, false);
		struct monitor_end end = finish(&b);
		CHECK(!end.discard && end.exit_code != 0);
		CHECK_STR(str_from(end.reason), STR("protocol"));
	}
}

TEST(monitor_hears_of_work_from_nobody_who_cannot_do_any)
{
	static const enum side others[] = { AGENT, VIEW, BROKER, SPAWNER };
	const struct buf nothing = { 0 };

	for (size_t i = 0; i < COUNT(others); i++) {
		struct bench b;

		start(&b, APPROVE_YES, false);
		say(&b, others[i], WIRE_WORKED, &nothing);
		struct str said = hear_note(&b, "run.end");
		CHECK(str_find(said, STR("WIRE_WORKED is not for the ")) < said.n);
		hear_close(&b, false);
		CHECK_STR(str_from(finish(&b).reason), STR("protocol"));
	}
}

TEST(monitor_knows_that_the_record_is_lost_whatever_the_agent_says)
{
	struct bench b;

	start(&b, APPROVE_YES, false);
	say_lost(&b);
	hear_type(&b, AGENT, WIRE_STOP);
	CHECK_INT(b.msg.body.p[0], STOP_NOW);
	say_done(&b, 0, 0, "finished");
	struct monitor_end end = finish(&b);
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

		start(&b, APPROVE_ASK, true);
		say_exit(&b, cases[i].code, cases[i].sig);
		if (cases[i].sig != 0)
			CHECK(str_find(hear_note(&b, "process.died"), STR("\"name\":\"agent\"")) < b.msg.body.n);
		hear_note(&b, "run.end");
		hear_close(&b, false);
		struct monitor_end end = finish(&b);
		CHECK_INT(end.exit_code, 1);
		CHECK_STR(str_from(end.reason), STR("crashed"));
		CHECK_STR(str_from(end.message), str_from(cases[i].why));
	}
}

TEST(monitor_ends_a_run_with_whom_it_cannot_do_without)
{
	static const struct {
		enum side who;
		const char *reason;
	} cases[] = {
		{ ZYGOTE, "jail_lost" }, { GIT, "jail_lost" }, { CLIENT, "provider_error" },
		{ BROKER, "provider_error" }, { RECORDER, "record_lost" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		start(&b, APPROVE_ASK, true);
		let_go(&b.ends[cases[i].who]);
		if (cases[i].who != RECORDER) {
			hear_note(&b, "run.end");
			hear_close(&b, false);
		}
		struct monitor_end end = finish(&b);
		CHECK_INT(end.exit_code, 1);
		CHECK_STR(str_from(end.reason), str_from(cases[i].reason));
	}
}

TEST(monitor_goes_on_without_a_view_and_a_spawner)
{
	struct bench b;

	start(&b, APPROVE_YES, true);
	let_go(&b.ends[VIEW]);
	let_go(&b.ends[SPAWNER]);
	ask_to_run(&b, 1, STR("all"));
	hear_verdict(&b, 1, true);
	say_done(&b, 0, 0, "finished");
	CHECK_INT(finish(&b).exit_code, 0);
}

/* ---- peers that do not behave ---- */

TEST(monitor_ends_a_run_with_a_peer_that_breaks_a_rule)
{
	static const struct {
		const char *why;
		enum side who;
		uint16_t type;
		struct str body;
		const char *named;
	} cases[] = {
		{ "no such message", AGENT, 999, { "", 0 }, "the agent broke a rule" },
		{ "the agent approves nothing", AGENT, WIRE_APPROVE, { "\1\0\0\0", 4 }, "the agent broke a rule" },
		{ "the wrong direction", ZYGOTE, WIRE_STOP_ALL, { "", 0 }, "the zygote broke a rule" },
		{ "no questions", AGENT, WIRE_ASK, { "\1\0\0\0\0\0\0\0", 8 }, "WIRE_ASK does not decode" },
		{ "nine questions", AGENT, WIRE_ASK, { "\1\0\0\0\x9\0\0\0", 8 }, "WIRE_ASK does not decode" },
		{ "a count beyond the body", AGENT, WIRE_ASK, { "\1\0\0\0\1\0\0\0\xff\xff\xff\xff", 12 },
			"WIRE_ASK does not decode" },
		{ "a cut end", AGENT, WIRE_DONE, { "\0", 1 }, "WIRE_DONE does not decode" },
		{ "a cut approval", ZYGOTE, WIRE_APPROVE, { "\1\0", 2 }, "WIRE_APPROVE does not decode" },
		{ "no command", ZYGOTE, WIRE_APPROVE, { "\1\0\0\0\1\0\0\0\0\0\0\0\0", 13 },
			"WIRE_APPROVE does not decode" },
		{ "a tool whose name is no name", SERVER, WIRE_APPROVE_CALL, { "\1\0\0\0\2\0\0\0a\n\2\0\0\0{}", 16 }, "WIRE_APPROVE_CALL does not decode" },
		{ "the command zygote calls no tools", ZYGOTE, WIRE_APPROVE_CALL, { "\1\0\0\0\1\0\0\0a\2\0\0\0{}", 15 },
			"WIRE_APPROVE_CALL does not decode" },
		{ "a cut exit", ZYGOTE, WIRE_AGENT_EXIT, { "\1\0\0\0", 4 }, "WIRE_AGENT_EXIT does not decode" },
		{ "a cut job", ZYGOTE, WIRE_JOB_END, { "\1\0\0\0", 4 }, "WIRE_JOB_END does not decode" },
		{ "not while a run is on", ZYGOTE, WIRE_CELL_READY, { "", 0 }, "is not asked while a run is on" },
		{ "a view asks nothing", VIEW, WIRE_ASK, { "", 0 }, "the view broke a rule" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_buf struct buf body = BUF_MAX(64);
		struct err err = { 0 };
		struct bench b;

		start(&b, APPROVE_ASK, true);
		CHECK_OK(buf_add(&body, cases[i].body, &err));
		say(&b, cases[i].who, cases[i].type, &body);
		hear_note(&b, "run.end");
		hear_close(&b, false);
		struct monitor_end end = finish(&b);
		struct str message = str_from(end.message);

		CHECK_STR(str_from(end.reason), STR("protocol"));
		CHECK(str_find(message, str_from(cases[i].named)) < message.n);
	}
}

TEST(monitor_is_not_held_up_by_an_agent_that_does_not_read)
{
	auto_buf struct buf body = BUF_MAX(64);
	struct bench b;
	int r = 0;

	start(&b, APPROVE_YES, false);
	put_ask(&body, 1, 1);
	for (int i = 0; i < 100000 && r == 0; i++)
		r = chan_send(b.ends[AGENT], WIRE_ASK, buf_str(&body), NULL, 0, ERR_DISCARD);
	CHECK_INT(r, -ERR_CLOSED);
	ask_to_run(&b, 1, STR("all"));
	hear_verdict(&b, 1, true);
	say_exit(&b, 0, SIGKILL);
	CHECK_STR(str_from(finish(&b).reason), STR("crashed"));
}

TEST(monitor_is_not_held_up_by_a_recorder_that_does_not_read)
{
	auto_buf struct buf word = BUF_MAX(LONG_WORD);
	struct err err = { 0 };
	struct bench b;
	int r = 0;

	while (word.n < LONG_WORD)
		CHECK_OK(buf_addc(&word, 'x', &err));
	start(&b, APPROVE_ASK, true);
	for (uint32_t job = 1; job < 64 && r == 0; job++) { /* as many as may be open, until it is over */
		auto_buf struct buf body = BUF_MAX(CHAN_BODY);

		put_approve(&body, job, JOB_COMMAND, buf_str(&word));
		r = chan_send(b.ends[ZYGOTE], WIRE_APPROVE, buf_str(&body), NULL, 0, ERR_DISCARD);
	}
	CHECK_STR(hear_verdict(&b, 1, false), STR("the run is stopping"));
	let_go(&b.lifeline);
	struct monitor_end end = finish(&b);
	CHECK_STR(str_from(end.reason), STR("record_lost"));
	CHECK_INT(end.exit_code, 1);
}

TEST(monitor_does_not_blame_git_for_the_end_of_the_agent_it_worked_for)
{
	struct bench b;

	start(&b, APPROVE_YES, false);
	let_go(&b.ends[GIT]); /* read first, though it came second */
	let_go(&b.ends[AGENT]);
	say_exit(&b, 0, SIGKILL);
	CHECK_STR(str_from(finish(&b).reason), STR("crashed"));
}

TEST(monitor_says_that_a_record_never_got_to_the_disk)
{
	struct bench b;

	record_grace_ms = 100;
	start(&b, APPROVE_YES, false);
	record_grace_ms = 0;
	say_done(&b, 0, 0, "finish_run");
	/* The recorder never ends by itself: the pipe has no reader any more once it was ended. */
	CHECK_INT(poll(&(struct pollfd){ .fd = b.lifeline }, 1, PATIENCE_S * 1000), 1);
	struct monitor_end end = finish(&b);
	CHECK_STR(str_from(end.reason), STR("record_lost"));
	CHECK(strstr(end.message, "was not on the disk"));
	CHECK_INT(end.exit_code, 1);
}

TEST(monitor_ends_though_a_zygote_does_not_when_it_is_told_to)
{
	struct bench b;

	with_deaf = true;
	start(&b, APPROVE_YES, false);
	with_deaf = false;
	say_done(&b, 0, 0, "finish_run");
	hear_type(&b, ZYGOTE, WIRE_STOP_ALL);
	hear_close(&b, false);
	let_go(&b.lifeline);
	let_go(&b.ends[RECORDER]);
	CHECK_INT(poll(&(struct pollfd){ .fd = b.result, .events = POLLIN }, 1, PATIENCE_S * 1000), 1);
	CHECK_INT(finish(&b).exit_code, 0);
}

/* ---- a repository where none was ---- */

TEST(monitor_records_what_was_set_aside_and_goes_on)
{
	struct bench b;

	start(&b, APPROVE_YES, false);
	say_git_found(&b, ".git.quarantined-1", "");
	struct str said = hear_note(&b, "jail.git_quarantined");

	CHECK(str_find(said, STR("\"path\":\"/ws/.git\",\"moved_to\":\".git.quarantined-1\"")) < said.n);
	say_done(&b, 0, 0, "finish_run");
	hear_close(&b, false);
	CHECK_INT(finish(&b).exit_code, 0);
}

TEST(monitor_ends_the_run_when_a_repository_cannot_be_set_aside)
{
	struct bench b;

	start(&b, APPROVE_YES, false);
	say_git_found(&b, "", "Read-only file system");
	struct str said = hear_note(&b, "jail.git_quarantined");

	CHECK(str_find(said, STR("\"error\":\"Read-only file system\"")) < said.n);
	said = hear_note(&b, "run.end");
	CHECK(str_find(said, STR("\"reason\":\"unsafe_repository\"")) < said.n);
	hear_close(&b, false);
	struct monitor_end end = finish(&b);

	CHECK_INT(end.exit_code, 1);
	CHECK_STR(str_from(end.reason), STR("unsafe_repository"));
}

/* What is found when the agent is dead is on record too: it is closed after the zygote's last word, however it comes. */
TEST(monitor_hears_the_jail_out_before_the_record_is_closed)
{
	for (int dies = 0; dies < 2; dies++) {
		struct bench b;

		without_git = true;
		start(&b, APPROVE_YES, false);
		without_git = false;
		say_done(&b, 0, 0, "finish_run");
		hear_type(&b, ZYGOTE, WIRE_STOP_ALL);
		hear_type(&b, ZYGOTE, WIRE_FINISH);
		say_git_found(&b, ".git.quarantined-1", "");
		hear_note(&b, "jail.git_quarantined");
		if (dies)
			let_go(&b.ends[ZYGOTE]);
		else
			say_exit(&b, 0, SIGKILL);
		hear_close(&b, false);
		CHECK_INT(finish(&b).exit_code, 0);
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

		without_git = true;
		start(&b, APPROVE_YES, false);
		without_git = false;
		say_done(&b, 0, 1, "refused");
		hear_type(&b, ZYGOTE, WIRE_STOP_ALL);
		hear_type(&b, ZYGOTE, WIRE_FINISH);
		if (cases[i].moved_to)
			say_git_found(&b, cases[i].moved_to, "busy");
		if (cases[i].changed)
			say_git_changed(&b, cases[i].changed);
		if (cases[i].event) {
			hear_note(&b, cases[i].event);
			struct str said = hear_note(&b, "run.end");
			CHECK(str_find(said, str_from(cases[i].reason)) < said.n);
			say_exit(&b, 0, SIGKILL);
		} else {
			let_go(&b.ends[ZYGOTE]);
		}
		hear_close(&b, false);
		struct monitor_end end = finish(&b);

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

		with_hooks = true;
		start(&b, APPROVE_ASK, true);
		with_hooks = false;
		ask_to_run(&b, 1, STR("all"));
		hear_spawn(&b, SPAWN_APPROVAL, 0);
		ask_to_call(&b, 2, STR("look"), STR("{}"));
		hear_spawn(&b, SPAWN_APPROVAL, 0);
		ask_question_of(&b, 7, 1);
		hear_spawn(&b, SPAWN_QUESTION, 0);
		say_spawned(&b, SPAWN_QUESTION, true, "");
		say_done(&b, 4, 0, cases[i].reason);
		let_go(&b.lifeline); /* the recorder has closed the record */
		let_go(&b.ends[RECORDER]);
		hear_spawn(&b, SPAWN_ENDED, (uint16_t)(cases[i].number << 8 | 4));
		say_spawned(&b, SPAWN_ENDED, cases[i].ok, "bell rang");
		CHECK_STR(str_from(finish(&b).note), str_from(cases[i].want));
	}
}

TEST(monitor_does_not_wait_for_a_spawner_that_is_gone)
{
	struct bench b;

	with_hooks = true;
	start(&b, APPROVE_ASK, true);
	with_hooks = false;
	let_go(&b.ends[SPAWNER]);
	say_done(&b, 0, 0, "finish_run");
	struct monitor_end end = finish(&b);

	CHECK_INT(end.exit_code, 0);
	CHECK(strstr(end.note, "gone"));
}

static void say_crash(struct bench *b, enum side who, uint32_t sig, uint64_t at)
{
	auto_buf struct buf body = BUF_MAX(16);

	pack_u32(&body, sig);
	pack_u64(&body, at);
	say(b, who, WIRE_CRASH, &body);
}

TEST(monitor_says_where_a_process_died_that_said_so_itself)
{
	static const struct {
		enum side who;
		const char *place;
	} cases[] = { { RECORDER, "agent6+0x12ab" }, { CLIENT, "agent6-net+0x12ab" }, { BROKER, "agent6+0x12ab" }, { GIT, "agent6-jail+0x12ab" },
		{ ZYGOTE, "agent6-jail+0x12ab" } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench b;

		start(&b, APPROVE_ASK, true);
		say_crash(&b, cases[i].who, SIGBUS, 0x12ab);
		say_crash(&b, cases[i].who, SIGSEGV, 0x1); /* the first word is the one */
		let_go(&b.ends[cases[i].who]);
		if (cases[i].who != RECORDER) {
			CHECK(str_find(hear_note(&b, "process.died"), STR("SIGBUS")) < b.msg.body.n);
			hear_note(&b, "run.end");
		}
		struct monitor_end end = finish(&b);
		CHECK(strstr(end.message, "SIGBUS") && strstr(end.message, cases[i].place));
	}
}

TEST(monitor_hears_an_agents_last_word_whoever_speaks_first)
{
	struct bench b;

	start(&b, APPROVE_ASK, true);
	kill(b.pid, SIGSTOP); /* so that both have arrived when it looks */
	say_exit(&b, 139, 0);
	say_crash(&b, AGENT, SIGSEGV, 0x77);
	kill(b.pid, SIGCONT);
	struct monitor_end end = finish(&b);
	CHECK_STR(str_from(end.reason), STR("crashed"));
	CHECK(strstr(end.message, "killed by signal 11 (SIGSEGV at agent6+0x77"));
}

TEST(monitor_takes_no_crash_that_cannot_be)
{
	struct bench b;

	start(&b, APPROVE_ASK, true);
	say_crash(&b, AGENT, 65, 0);
	CHECK_STR(str_from(finish(&b).reason), STR("protocol"));
}
