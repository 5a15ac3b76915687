/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What a zygote answers, as the agent's jobs and the client of one job at a time read it: starts, ends and descriptors in any order, and
 * what the monitor says meanwhile. Whoever waits gets a result of the table or an error, and nothing stays open. */
#include "agent/jobs.h"
#include "sandbox/zygote_client.h"
#include "test/fuzz/steps.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

#define PIPES 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ZYGOTE, MONITOR, CHANNELS };

static int ends[CHANNELS], pipes[PIPES];
static size_t npipes;

static const struct row rows[] = {
	{ ZYGOTE, WIRE_STARTED, "4" },
	{ ZYGOTE, WIRE_EXIT, "4418s" },
	{ MONITOR, WIRE_STOP, "1" },
	{ MONITOR, WIRE_STEER, "s" },
	{ MONITOR, WIRE_TELL, "1s" },
	{ MONITOR, WIRE_ANSWER, "41S" },
};

static void hear(void)
{
	static struct chan_msg heard;

	for (size_t i = 0; i < CHANNELS; i++)
		while (ends[i] >= 0 && chan_recv(ends[i], &heard, ERR_DISCARD) == 0)
			chan_msg_fini(&heard);
}

/* ---- steps ---- */

/* The ends that a job writes stay ours. */
static size_t some_fds(int fds[3], size_t want, uint8_t kind)
{
	size_t n = 0;

	for (; n < want; n++) {
		int pair[2];

		BUG_IF(pipe2(pair, O_CLOEXEC) < 0);
		fds[n] = pair[n == 2];
		base_close_fd(&pipes[npipes % PIPES]);
		pipes[npipes++ % PIPES] = pair[n != 2];
	}
	if (kind == 0 && n > 0) { /* what cannot be waited for */
		close(fds[0]);
		BUG_IF((fds[0] = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0);
	}
	return n;
}

static void say(struct in *in, uint8_t what)
{
	static const struct row any = { ZYGOTE, 0, "*" };
	const struct row *r = what % 8 < COUNT(rows) ? &rows[what % 8] : &any;
	auto_buf struct buf body = BUF_MAX(CHAN_BODY);
	uint16_t type = r->type ? r->type : in_u8(in);
	int fds[3];
	size_t n = some_fds(fds, type == WIRE_STARTED ? 2 + (what & 8) / 8 : (what & 16) / 16, what >> 5);

	in_body(in, r->shape, &body);
	if (ends[r->who] >= 0)
		(void)!chan_send(ends[r->who], type, buf_str(&body), fds, n, ERR_DISCARD);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

static bool step(struct in *in)
{
	uint8_t what = in_u8(in);
	int *pipe = &pipes[what % PIPES];
	struct str text;

	if (steps.over) {
		for (size_t i = 0; i < CHANNELS; i++)
			base_close_fd(&ends[i]);
		return false;
	}
	if (what < 160) {
		say(in, what);
	} else if (what < 208) {
		text = in_str(in);
		(void)!chan_nonblock(*pipe, ERR_DISCARD);
		(void)!write(*pipe, text.p, text.n);
	} else if (what < 240) {
		base_close_fd(pipe);
	} else if (what < 244) {
		base_close_fd(&ends[what % CHANNELS]);
	}
	return true;
}

/* In the place of libc's. */
int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	for (;;) {
		int r = (int)syscall(SYS_poll, fds, n, 0);

		hear();
		if (r != 0 || timeout == 0)
			return r;
		if (steps.over) {
			BUG_IF(timeout < 0 || steps.silent++ > SILENT_MAX);
			for (int64_t end = time_mono_ms() + timeout; time_mono_ms() <= end;)
				;
			return 0;
		}
		steps.over = steps.played++ == STEPS_MAX || steps.in.n == 0;
		steps.over = !steps.next(&steps.in) || steps.over;
	}
}

/* ---- who waits ---- */

static void check_result(const struct job_result *r)
{
	BUG_IF(r->behind == 0 && (r->why < JOB_EXITED || r->why > JOB_STOPPED));
	BUG_IF(!utf8_valid(r->note));
}

static int on_bytes(void *self, struct str bytes, struct err *err)
{
	(void)self, (void)bytes, (void)err;
	return 0;
}

static int on_end(void *self, const struct job_result *r, struct err *err)
{
	(void)self, (void)err;
	check_result(r);
	return 0;
}

static int on_said(void *self, uint32_t number, const struct job_result *r, struct err *err)
{
	(void)self, (void)err;
	BUG_IF(number == 0);
	check_result(r);
	return 0;
}

static int on_behind(void *self, struct job_behind *b, struct err *err)
{
	(void)self, (void)err;
	check_result(&b->result);
	return 0;
}

static int ask(struct jobs *j, struct arena *mem, uint8_t what, struct err *err)
{
	static const struct str argv[] = { { "ls", 2 } };
	struct job_request rq = { .class = what & 1 ? JOB_BACKGROUND : JOB_COMMAND, .argv = argv, .argc = 1, .keep_head = 16, .keep_tail = 16,
		.checkin_ms = what & 2 ? 1000 : 0 };
	struct job_result r = { 0 };

	TRY(jobs_command(j, &rq, mem, &r, err));
	check_result(&r);
	BUG_IF(r.out.n > rq.keep_head + rq.keep_tail || r.errs.n > rq.keep_head + rq.keep_tail);
	return 0;
}

static int begin(struct jobs *j, struct arena *mem, uint8_t what, struct err *err)
{
	uint32_t number = jobs_next(j);
	struct job_ask a = { .type = WIRE_GIT, .keep_head = 16, .keep_tail = 16 };
	struct job_result r = { 0 };
	int b = jobs_begin(j, &a, err);

	if (b == -ERR_BUSY)
		return 0;
	TRY(b);
	if (what & 1)
		TRY(ask(j, mem, what >> 1, err));
	TRY(jobs_fetch(j, number, mem, &r, err));
	check_result(&r);
	return 0;
}

static int serve(struct jobs *j, struct job_server *s, uint8_t what, struct err *err)
{
	struct mcp_say words = { .method = MCP_LIST, .era = MCP_ERA_LEGACY };
	int r = s->job == 0 ? jobs_serve(j, s, 0, err) : what & 1 ? jobs_serve_kill(j, s, err) : jobs_say(j, s, &words, err);

	return r == -ERR_BUSY ? 0 : r;
}

static int one(struct jobs *j, struct job_server *s, struct arena *mem, struct in *in, struct err *err)
{
	uint8_t what = in_u8(in);
	uint64_t total;

	switch (what % 5) {
	case 0:
		return ask(j, mem, what / 5, err);
	case 1:
		return begin(j, mem, what / 5, err);
	case 2:
		return serve(j, s, what / 5, err);
	case 3:
		for (size_t i = 0; i < JOBS_BEHIND_MAX; i++)
			if (j->behind[i].job != 0 && !j->behind[i].begun)
				jobs_behind_read(&j->behind[i], mem, &total);
		return 0;
	default:
		return links_pump(j->links, 0, err);
	}
}

static void talk_jobs(const int theirs[CHANNELS])
{
	auto_arena struct arena *mem = arena_new();
	auto_links struct links l;
	auto_jobs struct jobs j;
	struct job_server s = { .in = -1, .on_out = on_bytes, .on_errs = on_bytes, .on_end = on_end, .on_said = on_said };
	struct err err = { 0 };
	int fds[PEER_COUNT], r = 0;

	for (size_t i = 0; i < PEER_COUNT; i++)
		fds[i] = -1;
	fds[PEER_ZYGOTE] = theirs[ZYGOTE];
	fds[PEER_MONITOR] = theirs[MONITOR];
	links_init(&l, fds);
	jobs_init(&j, &l, PEER_ZYGOTE);
	j.on_behind_end = on_behind;
	for (int i = 0; i < 64 && r >= 0 && steps.in.n > 0; i++)
		r = one(&j, &s, mem, &steps.in, &err);
	BUG_IF(r < 0 && err.msg[0] == '\0');
	base_close_fd(&s.in);
}

static void talk_client(int fd)
{
	static const struct str args[] = { { "HEAD", 4 } };
	auto_zygote_client struct zygote_client c = { 0 };
	auto_buf struct buf out = BUF_MAX(64), errs = BUF_MAX(64);
	struct err err = { 0 };
	int r = 0;

	zygote_client_init(&c, fd);
	for (int i = 0; i < 8 && r == 0 && steps.in.n > 0; i++) {
		struct zygote_call call = { .class = JOB_GIT, .op = 3, .args = args, .nargs = 1 };
		struct zygote_answer a;

		r = zygote_call(&c, &call, &out, &errs, &a, &err);
		BUG_IF(r < 0 && err.msg[0] == '\0');
		BUG_IF(r == 0 && memchr(a.note, '\0', sizeof(a.note)) == NULL);
		BUG_IF(r == 0 && (a.why < JOB_EXITED || a.why > JOB_STOPPED));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int theirs[CHANNELS];

	if (size < 1)
		return 0;
	signal(SIGPIPE, SIG_IGN);
	steps_begin(data + 1, size - 1, step, hear);
	npipes = 0;
	for (size_t i = 0; i < PIPES; i++)
		pipes[i] = -1;
	for (size_t i = 0; i < CHANNELS; i++) {
		int pair[2];

		BUG_IF(chan_pair(pair, ERR_DISCARD) < 0 || chan_nonblock(pair[0], ERR_DISCARD) < 0);
		ends[i] = pair[0];
		theirs[i] = pair[1];
	}
	if (data[0] & 1) {
		talk_client(theirs[ZYGOTE]);
		close(theirs[ZYGOTE]);
		close(theirs[MONITOR]);
	} else {
		talk_jobs(theirs);
	}
	for (size_t i = 0; i < CHANNELS; i++)
		base_close_fd(&ends[i]);
	for (size_t i = 0; i < PIPES; i++)
		base_close_fd(&pipes[i]);
	steps_end();
	return 0;
}
