/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/jobs.h"
#include "fmt/pack.h"

#include <errno.h>
#include <poll.h>

#define CHUNK        (64 * 1024)
#define DRAIN_CHUNKS 64 /* after the end, for a background program that never stops writing */

static void capture_open(struct capture *c, size_t head, size_t tail)
{
	c->keep_head = head;
	c->keep_tail = tail;
	c->total = 0;
	c->head.max = head;
	c->tail.max = 2 * tail + CHUNK;
	buf_clear(&c->head);
	buf_clear(&c->tail);
}

static int capture_add(struct capture *c, struct str s, struct err *err)
{
	size_t first = c->keep_head - c->head.n;

	c->total += s.n;
	TRY(buf_add(&c->head, str_head(s, first), err));
	s = str_skip(s, first);
	TRY(buf_add(&c->tail, s, err));
	if (c->tail.n >= 2 * c->keep_tail)
		TRY(buf_splice(&c->tail, 0, c->tail.n - c->keep_tail, STR(""), err));
	return 0;
}

static struct str capture_dup(const struct capture *c, struct arena *mem)
{
	struct str tail = str_tail(buf_str(&c->tail), c->keep_tail);
	char *p = arena_alloc(mem, c->head.n + tail.n + 1);

	if (c->head.n > 0)
		memcpy(p, c->head.p, c->head.n);
	if (tail.n > 0)
		memcpy(p + c->head.n, tail.p, tail.n);
	return str_of(p, c->head.n + tail.n);
}

/* One read: never more than is there, so it does not block after poll said so. */
static int read_some(struct jobs *j, size_t i, struct err *err)
{
	int *fd = &j->links->pipe[i].fd;
	ssize_t n;

	do
		n = read(*fd, j->chunk, CHUNK);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		base_close_fd(fd);
		return 0;
	}
	TRY(capture_add(i == 0 ? &j->out : &j->errs, str_of(j->chunk, (size_t)n), err));
	return 1;
}

static int on_out(void *self, struct err *err)
{
	return read_some(self, 0, err) < 0 ? err_wrap(err, "output of a command") : 0;
}

static int on_errs(void *self, struct err *err)
{
	return read_some(self, 1, err) < 0 ? err_wrap(err, "error output of a command") : 0;
}

static int drain(struct jobs *j, struct err *err)
{
	for (size_t i = 0; i < COUNT(j->links->pipe); i++) {
		for (int k = 0; k < DRAIN_CHUNKS && j->links->pipe[i].fd >= 0; k++) {
			struct pollfd p = { .fd = j->links->pipe[i].fd, .events = POLLIN };

			if (poll(&p, 1, 0) <= 0)
				break;
			TRY(read_some(j, i, err));
		}
		base_close_fd(&j->links->pipe[i].fd);
	}
	return 0;
}

static int job_started(struct jobs *j, struct chan_msg *m, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	uint32_t id = unpack_u32(&u);
	pipe_fn *const fns[] = { on_out, on_errs };

	if (!unpack_done(&u) || id != j->last || j->phase != JOB_ASKED)
		return err_set(err, ERR_PROTOCOL, "a start of job %u, which was not asked for", id);
	for (size_t i = 0; i < COUNT(fns); i++) {
		j->links->pipe[i].fd = chan_take_fd(m, i);
		j->links->pipe[i].on_ready = fns[i];
		j->links->pipe[i].self = j;
	}
	j->phase = JOB_RUNNING;
	return 0;
}

static int job_exit(struct jobs *j, struct chan_msg *m, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	uint32_t id = unpack_u32(&u), code = unpack_u32(&u);
	uint8_t why = unpack_u8(&u);
	uint64_t wall_us = unpack_u64(&u);
	struct str note = unpack_str(&u);

	if (!unpack_done(&u) || id != j->last || (j->phase != JOB_ASKED && j->phase != JOB_RUNNING) ||
		why < JOB_EXITED || why > JOB_STOPPED)
		return err_set(err, ERR_PROTOCOL, "an end of job %u, which does not run", id);
	TRY(drain(j, err));
	buf_clear(&j->note);
	TRY(buf_add_utf8(&j->note, note, err));
	j->result = (struct job_result){
		.why = why, .code = (int)code, .wall_ms = (int64_t)(wall_us / 1000)
	};
	j->phase = JOB_OVER;
	return 0;
}

static int on_zygote(void *self, struct chan_msg *m, struct err *err)
{
	struct jobs *j = self;

	return m->type == WIRE_STARTED ? job_started(j, m, err) : job_exit(j, m, err);
}

void jobs_init(struct jobs *j, struct links *l, enum peer zygote)
{
	*j = (struct jobs){ .links = l, .peer = zygote, .note = BUF_MAX(16384), .chunk = mem_alloc(CHUNK) };
	links_serve(l, zygote, on_zygote, j);
}

void jobs_fini(struct jobs *j)
{
	struct buf *bufs[] = { &j->out.head, &j->out.tail, &j->errs.head, &j->errs.tail, &j->note };

	for (size_t i = 0; i < COUNT(bufs); i++)
		buf_fini(bufs[i]);
	free(take(&j->chunk));
}

uint32_t jobs_next(struct jobs *j)
{
	return ++j->last;
}

static int kill_job(struct jobs *j, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(16);

	pack_u32(&b, j->last);
	TRY(pack_ok(&b, err));
	return links_send(j->links, j->peer, WIRE_KILL, buf_str(&b), NULL, 0, err);
}

static int wait_for_end(struct jobs *j, bool finish, struct err *err)
{
	bool killed = false;

	while (j->phase != JOB_OVER) {
		if (j->links->stop == STOP_NOW && !finish && !killed) {
			TRY(kill_job(j, err));
			killed = true;
		}
		TRY(links_wait(j->links, j->peer, -1, err));
	}
	return killed ? err_set(err, ERR_STOPPED, "the operator stopped the run") : 0;
}

int jobs_ask(
	struct jobs *j, const struct job_ask *ask, struct arena *mem, struct job_result *out, struct err *err)
{
	autoclose int in = -1;
	int r;

	BUG_IF(j->phase != JOB_IDLE);
	if (j->links->stop == STOP_NOW && !ask->finish)
		return err_set(err, ERR_STOPPED, "the operator stopped the run");
	if (ask->in.n > 0)
		TRY(memfd_seal("stdin", ask->in, &in, err));
	capture_open(&j->out, ask->keep_head, ask->keep_tail);
	capture_open(&j->errs, ask->keep_head, ask->keep_tail);
	TRY(links_send(j->links, j->peer, ask->type, ask->body, &in, in >= 0 ? 1 : 0, err));
	j->phase = JOB_ASKED;
	r = wait_for_end(j, ask->finish, err);
	for (size_t i = 0; i < COUNT(j->links->pipe); i++)
		base_close_fd(&j->links->pipe[i].fd);
	j->phase = JOB_IDLE;
	if (r < 0)
		return r;
	*out = j->result;
	out->out = capture_dup(&j->out, mem);
	out->errs = capture_dup(&j->errs, mem);
	out->out_total = j->out.total;
	out->errs_total = j->errs.total;
	out->note = str_dup(mem, buf_str(&j->note));
	return 0;
}

int jobs_command(struct jobs *j, const struct job_request *req, struct arena *mem, struct job_result *out,
	struct err *err)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY_MAX);
	struct job_ask ask = {
		.type = WIRE_RUN, .in = req->in, .keep_head = req->keep_head, .keep_tail = req->keep_tail
	};

	pack_u32(&body, jobs_next(j));
	pack_u8(&body, (uint8_t)req->class);
	pack_u32(&body, req->timeout_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)req->timeout_ms);
	pack_str(&body, req->cwd);
	pack_strs(&body, req->argv, req->argc);
	pack_strs(&body, NULL, 0);
	if (pack_ok(&body, ERR_DISCARD) < 0) {
		*out = (struct job_result){ .why = JOB_REFUSED,
			.note = STR("the command is longer than 64 KiB; write a script and run that") };
		return 0;
	}
	ask.body = buf_str(&body);
	return jobs_ask(j, &ask, mem, out, err);
}
