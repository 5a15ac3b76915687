/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/role/monitor_lib.h"

#include "sys/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

struct bench_wish bench_wish = { .leash = { -1, -1 } };

static void be_monitor(const int theirs[SIDES], int answers, enum approval_policy policy, bool attended,
	const int lifeline[2], int result)
{
	struct peer peers[SIDES];
	struct monitor_end end = { 0 };
	struct err err = { 0 };

	for (int i = 0; i < SIDES; i++)
		peers[i] = (struct peer){ .proc = { 0, -1 }, .chan = theirs[i] };
	if (bench_wish.leash[0] >= 0)
		close(bench_wish.leash[0]);
	peers[RECORDER].proc = stand_in(lifeline);
	if (bench_wish.menu)
		peers[VIEW].proc = stand_in(lifeline);
	if (bench_wish.deaf)
		peers[ZYGOTE].proc = deaf(lifeline);
	close(lifeline[0]);
	close(lifeline[1]);
	struct monitor_spec spec = { .zygote = peers[ZYGOTE], .git = peers[GIT], .client = peers[CLIENT],
		.broker = peers[BROKER], .resolver = peers[RESOLVER], .recorder = peers[RECORDER], .spawner = peers[SPAWNER], .view = peers[VIEW],
		.servers = { { peers[SERVER], STR("notes") } }, .nservers = 1, .agent_chan = theirs[AGENT], .answers_fd = answers,
		.menu = bench_wish.menu, .leash_fd = bench_wish.leash[1], .verify = bench_wish.verify, .commands = policy, .attended = attended,
		.hooks_end = bench_wish.hooks, .hooks_wait = bench_wish.hooks, .hook_ms = 1000, .looks = bench_wish.no_git,
		.agent_grace_ms = bench_wish.agent_grace_ms, .record_grace_ms = bench_wish.record_grace_ms, .close_grace_ms = bench_wish.deaf ? 100 : 0, .go = STR("go") };

	if (monitor_run(&spec, &end, &err) < 0 || write(result, &end, sizeof(end)) != (ssize_t)sizeof(end))
		_exit(1);
	_exit(0);
}

void bench_hear_type(struct bench *b, enum side who, uint16_t type)
{
	struct err err = { 0 };

	CHECK_OK(chan_recv(b->ends[who], &b->msg, &err));
	CHECK_STR(str_from(wire_name(b->msg.type)), str_from(wire_name(type)));
}

void bench_start(struct bench *b, enum approval_policy policy, bool attended)
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
	bench_hear_type(b, AGENT, WIRE_GO); /* from here on signals are read, not suffered */
	chan_msg_fini(&b->msg);
}

void bench_let_go(int *fd)
{
	close(*fd);
	*fd = -1;
}

/* The recorder ends, and with it the monitor: how did the run end? */
struct monitor_end bench_finish(struct bench *b)
{
	struct monitor_end end = { 0 };
	int status;

	if (b->lifeline >= 0)
		bench_let_go(&b->lifeline);
	if (b->ends[RECORDER] >= 0)
		bench_let_go(&b->ends[RECORDER]);
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

void bench_say(struct bench *b, enum side who, uint16_t type, const struct buf *body)
{
	struct err err = { 0 };

	CHECK_OK(chan_send(b->ends[who], type, buf_str(body), NULL, 0, &err));
}

void bench_put_approve(struct buf *body, uint32_t job, enum job_class class, struct str word)
{
	const struct str argv[] = { STR("make"), word };

	pack_u32(body, job);
	pack_u8(body, (uint8_t)class);
	pack_str(body, STR(""));
	pack_strs(body, argv, COUNT(argv));
}

void bench_ask_for_class(struct bench *b, uint32_t job, enum job_class class, struct str word)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY);

	bench_put_approve(&body, job, class, word);
	bench_say(b, ZYGOTE, WIRE_APPROVE, &body);
}

void bench_ask_to_run(struct bench *b, uint32_t job, struct str word)
{
	bench_ask_for_class(b, job, JOB_COMMAND, word);
}

void bench_ask_to_call(struct bench *b, uint32_t job, struct str tool, struct str args)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY);

	pack_u32(&body, job);
	pack_str(&body, tool);
	pack_str(&body, args);
	bench_say(b, SERVER, WIRE_APPROVE_CALL, &body);
}

void bench_put_ask(struct buf *body, uint32_t id, uint32_t n)
{
	const struct str options[] = { STR("red"), STR("blue") };

	pack_u32(body, id);
	pack_u32(body, n);
	for (uint32_t i = 0; i < n; i++) {
		pack_str(body, STR("which?"));
		pack_strs(body, options, COUNT(options));
	}
}

void bench_ask_question_of(struct bench *b, uint32_t id, uint32_t n)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY);

	bench_put_ask(&body, id, n);
	bench_say(b, AGENT, WIRE_ASK, &body);
}

void bench_say_done(struct bench *b, uint8_t code, uint8_t discard, const char *reason)
{
	auto_buf struct buf body = BUF_MAX(1024);

	pack_u8(&body, code);
	pack_u8(&body, discard);
	pack_str(&body, str_from(reason));
	pack_str(&body, STR("because"));
	bench_say(b, AGENT, WIRE_DONE, &body);
}

void bench_say_exit(struct bench *b, uint32_t code, uint32_t sig)
{
	auto_buf struct buf body = BUF_MAX(16);

	pack_u32(&body, code);
	pack_u32(&body, sig);
	bench_say(b, ZYGOTE, WIRE_AGENT_EXIT, &body);
}

void bench_hear_spawn(struct bench *b, enum spawn_op op, uint16_t index)
{
	bench_hear_type(b, SPAWNER, WIRE_SPAWN);
	struct unpack u = unpack_from(b->msg.body);

	CHECK_INT(unpack_u8(&u), op);
	CHECK_INT(unpack_u16(&u), index);
	CHECK_STR(unpack_str(&u), STR("")); /* no word of anybody */
	CHECK(unpack_done(&u));
	chan_msg_fini(&b->msg);
}

void bench_say_spawned(struct bench *b, enum spawn_op op, bool ok, const char *why)
{
	auto_buf struct buf body = BUF_MAX(1024);

	pack_u8(&body, (uint8_t)op);
	pack_u16(&body, 0);
	pack_u8(&body, ok);
	pack_str(&body, str_from(why));
	bench_say(b, SPAWNER, WIRE_SPAWNED, &body);
}

void bench_say_lost(struct bench *b)
{
	auto_buf struct buf body = BUF_MAX(64);

	pack_str(&body, STR("disk full"));
	bench_say(b, RECORDER, WIRE_LOST_UP, &body);
}

void bench_answer(struct bench *b, const char *id, struct str text)
{
	struct err err = { 0 };

	CHECK_OK(file_replace(b->answers, id, text, 0600, &err));
}

/* ---- what the others hear ---- */

/* The next thing that goes on record is this event; what it says is in b->msg. */
struct str bench_hear_note(struct bench *b, const char *event)
{
	bench_hear_type(b, RECORDER, WIRE_NOTE);
	struct unpack u = unpack_from(b->msg.body);

	CHECK_INT(unpack_u8(&u), RECORD_EVENT);
	unpack_u32(&u);
	CHECK_STR(unpack_str(&u), str_from(event));
	return unpack_str(&u);
}

struct str bench_hear_verdict_at(struct bench *b, enum side who, uint32_t job, bool allowed)
{
	bench_hear_type(b, who, WIRE_VERDICT);
	struct unpack u = unpack_from(b->msg.body);

	CHECK_INT(unpack_u32(&u), job);
	CHECK_INT(unpack_u8(&u), allowed);
	struct str why = unpack_str(&u);
	CHECK(unpack_done(&u) && (allowed || why.n > 0)); /* who is refused is told why */
	return why;
}

/* Returns what is said to it. */
struct str bench_hear_verdict(struct bench *b, uint32_t job, bool allowed)
{
	return bench_hear_verdict_at(b, ZYGOTE, job, allowed);
}

void bench_hear_answer(struct bench *b, uint32_t id, bool answered, const char *const *want, size_t n)
{
	auto_arena struct arena *mem = arena_new();
	size_t got;

	bench_hear_type(b, AGENT, WIRE_ANSWER);
	struct unpack u = unpack_from(b->msg.body);
	CHECK_INT(unpack_u32(&u), id);
	CHECK_INT(unpack_u8(&u), answered);
	struct str *list = unpack_strs(&u, mem, 64, &got);
	CHECK(unpack_done(&u));
	CHECK_INT(got, n);
	for (size_t i = 0; i < n; i++)
		CHECK_STR(list[i], str_from(want[i]));
}

void bench_hear_stop(struct bench *b, enum wire_stop how)
{
	bench_hear_note(b, "run.stop_requested");
	bench_hear_type(b, AGENT, WIRE_STOP);
	CHECK_INT(b->msg.body.p[0], how);
}

void bench_hear_close(struct bench *b, bool discard)
{
	bench_hear_type(b, RECORDER, WIRE_CLOSE);
	CHECK_INT(b->msg.body.p[0], discard);
}

void bench_say_git_found(struct bench *b, const char *moved_to, const char *why)
{
	auto_buf struct buf body = BUF_MAX(1024);

	pack_str(&body, STR("/ws"));
	pack_str(&body, STR(".git"));
	pack_str(&body, str_from(moved_to));
	pack_str(&body, str_from(why));
	bench_say(b, ZYGOTE, WIRE_GIT_FOUND, &body);
}

void bench_say_git_changed(struct bench *b, const char *paths)
{
	auto_buf struct buf body = BUF_MAX(1024);

	pack_str(&body, str_from(paths));
	bench_say(b, ZYGOTE, WIRE_GIT_CHANGED, &body);
}

void bench_hear_tell(struct bench *b, enum wire_tell what, const char *text)
{
	bench_hear_type(b, AGENT, WIRE_TELL);
	struct unpack u = unpack_from(b->msg.body);

	CHECK_INT(unpack_u8(&u), what);
	CHECK_STR(unpack_str(&u), str_from(text));
	CHECK(unpack_done(&u));
	chan_msg_fini(&b->msg);
}

void bench_front_end_says(struct bench *b, enum answer_kind kind, const char *text)
{
	struct err err = { 0 };

	CHECK_OK(answers_tell(b->answers, kind, str_from(text), &err));
}

void bench_end_well(struct bench *b)
{
	bench_say_done(b, 0, 0, "finish_run");
	bench_hear_close(b, false);
	CHECK_INT(bench_finish(b).exit_code, 0);
}

void bench_start_on_leash(struct bench *b, enum approval_policy policy, int *far)
{
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, bench_wish.leash) == 0);
	bench_start(b, policy, true);
	close(bench_wish.leash[1]);
	*far = bench_wish.leash[0];
	bench_wish.leash[0] = bench_wish.leash[1] = -1;
}

/* Everybody who could have worked ends, as they do when their channel does; what they said before counts. */
void bench_let_workers_go(struct bench *b)
{
	static const enum side workers[] = { ZYGOTE, GIT, CLIENT, SERVER };

	for (size_t i = 0; i < COUNT(workers); i++)
		if (b->ends[workers[i]] >= 0)
			bench_let_go(&b->ends[workers[i]]);
}

void bench_hear_the_end(struct bench *b, enum side who)
{
	int r;

	while ((r = chan_recv(b->ends[who], &b->msg, ERR_DISCARD)) == 0)
		chan_msg_fini(&b->msg);
	CHECK_INT(r, -ERR_CLOSED);
}
