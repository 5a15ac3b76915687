/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/jobs.h"
#include "agent/jobs_priv.h"
#include "base/time.h"
#include "fmt/pack.h"

#include <errno.h>
#include <poll.h>

#define CHUNK        JOBS_CHUNK
#define NOTE_BYTES   16384
#define DRAIN_CHUNKS 64 /* after the end, for a background program that never stops writing */
#define FULL         "8 commands run in the background already: stop one with stop_background first"

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

static size_t first_pipe(const struct jobs *j, const struct job_behind *b)
{
	return b ? 2 + 2 * (size_t)(b - j->behind) : 0;
}

static struct capture *capture_of(struct jobs *j, size_t which)
{
	struct job_behind *b = which < 2 ? NULL : &j->behind[which / 2 - 1];

	if (!b)
		return which == 0 ? &j->out : &j->errs;
	return b->begun && which % 2 == 1 ? &b->errs : &b->text;
}

/* One read: never more than is there, so it does not block after poll said so. */
static int read_some(struct jobs *j, size_t which, struct err *err)
{
	int *fd = &j->links->pipe[which].fd;
	ssize_t n;

	do
		n = read(*fd, j->chunk, CHUNK);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		base_close_fd(fd);
		return 0;
	}
	TRY(capture_add(capture_of(j, which), str_of(j->chunk, (size_t)n), err));
	return 1;
}

static int on_pipe(void *self, size_t which, struct err *err)
{
	return read_some(self, which, err) < 0 ? err_wrap(err, "output of a command") : 0;
}

static int drain(struct jobs *j, const struct job_behind *b, struct err *err)
{
	for (size_t i = first_pipe(j, b), end = i + 2; i < end; i++) {
		int *fd = &j->links->pipe[i].fd;

		for (int k = 0; k < DRAIN_CHUNKS && *fd >= 0; k++) {
			struct pollfd p = { .fd = *fd, .events = POLLIN };

			if (poll(&p, 1, 0) <= 0)
				break;
			TRY(read_some(j, i, err));
		}
		base_close_fd(fd);
	}
	return 0;
}

static struct job_behind *behind_find(struct jobs *j, uint32_t id)
{
	for (size_t i = 0; i < JOBS_BEHIND_MAX; i++)
		if (j->behind[i].job == id && !j->behind[i].over)
			return &j->behind[i];
	return NULL;
}

/* One that was begun and has not started yet; its pipes come with the start. */
static bool may_start(const struct jobs *j, const struct job_behind *b)
{
	return b && b->begun && j->links->pipe[first_pipe(j, b)].fd < 0 && j->links->pipe[first_pipe(j, b) + 1].fd < 0;
}

static int job_started(struct jobs *j, struct chan_msg *m, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	uint32_t id = unpack_u32(&u);
	struct job_server *s = unpack_done(&u) ? jobs_server_of(j, id) : NULL;
	struct job_behind *b = unpack_done(&u) && id != 0 ? behind_find(j, id) : NULL;
	bool waited = unpack_done(&u) && id == j->waited && j->phase == JOB_ASKED;

	if (s)
		return jobs_server_started(j, s, m, err);
	if ((!waited && !may_start(j, b)) || m->nfds != 2)
		return err_set(err, ERR_PROTOCOL, "a start of job %u, which was not asked for", id);
	for (size_t i = 0, first = waited ? 0 : first_pipe(j, b); i < 2; i++) {
		j->links->pipe[first + i].fd = chan_take_fd(m, i);
		j->links->pipe[first + i].on_ready = on_pipe;
		j->links->pipe[first + i].self = j;
	}
	if (waited) {
		j->started_ms = time_mono_ms();
		j->phase = JOB_RUNNING;
	}
	return 0;
}

/* A free one, or that of the job that ended first. NULL: as many as there may be run. */
static struct job_behind *behind_place(struct jobs *j)
{
	struct job_behind *best = NULL;

	for (size_t i = 0; i < JOBS_BEHIND_MAX; i++) {
		struct job_behind *b = &j->behind[i];

		if ((b->job == 0 || (b->over && !b->begun)) && (!best || b->job < best->job))
			best = b;
	}
	return best;
}

/* The job that is waited for goes on in a place of its own. false: there is none. */
static bool let_go(struct jobs *j)
{
	struct job_behind *b = behind_place(j);

	if (!b)
		return false;
	*b = (struct job_behind){ .job = j->waited, .text = b->text, .errs = b->errs, .note = b->note };
	capture_open(&b->text, JOBS_BEHIND_HEAD, JOBS_BEHIND_TAIL);
	for (size_t i = 0; i < 2; i++) {
		j->links->pipe[first_pipe(j, b) + i] = j->links->pipe[i];
		j->links->pipe[i].fd = -1;
	}
	return true;
}

static int behind_end(struct jobs *j, struct job_behind *b, struct job_result result, struct str note, struct err *err)
{
	TRY(drain(j, b, err));
	b->note.max = NOTE_BYTES;
	buf_clear(&b->note);
	TRY(buf_add_utf8(&b->note, note, err));
	b->result = result;
	b->result.note = buf_str(&b->note);
	b->over = true;
	return j->on_behind_end ? j->on_behind_end(j->self, b, err) : 0;
}

static int job_exit(struct jobs *j, struct chan_msg *m, struct err *err)
{
	struct unpack u = unpack_from(m->body);
	uint32_t id = unpack_u32(&u), code = unpack_u32(&u);
	uint8_t why = unpack_u8(&u);
	uint64_t wall_us = unpack_u64(&u);
	struct str note = unpack_str(&u);
	struct job_result result = { .why = why, .code = (int)code, .wall_ms = (int64_t)(wall_us / 1000) };
	bool waited = id == j->waited && (j->phase == JOB_ASKED || j->phase == JOB_RUNNING);
	struct job_behind *b = waited || id == 0 ? NULL : behind_find(j, id);

	if (unpack_done(&u) && !waited && !b && id != 0 && why >= JOB_EXITED && why <= JOB_STOPPED) {
		auto_buf struct buf text = BUF_MAX(NOTE_BYTES);

		TRY(buf_add_utf8(&text, note, err));
		int r = jobs_server_exit(j, id, &result, buf_str(&text), err);

		if (r != 0)
			return r < 0 ? r : 0;
	}
	if (!unpack_done(&u) || (!waited && !b) || why < JOB_EXITED || why > JOB_STOPPED)
		return err_set(err, ERR_PROTOCOL, "an end of job %u, which does not run", id);
	if (b)
		return behind_end(j, b, result, note, err);
	TRY(drain(j, NULL, err));
	buf_clear(&j->note);
	TRY(buf_add_utf8(&j->note, note, err));
	j->result = result;
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
	*j = (struct jobs){ .links = l, .peer = zygote, .note = BUF_MAX(NOTE_BYTES), .chunk = mem_alloc(CHUNK) };
	links_serve(l, zygote, on_zygote, j);
}

void jobs_fini(struct jobs *j)
{
	struct buf *bufs[] = { &j->out.head, &j->out.tail, &j->errs.head, &j->errs.tail, &j->note };

	for (size_t i = 0; i < COUNT(bufs); i++)
		buf_fini(bufs[i]);
	for (size_t i = 0; i < JOBS_BEHIND_MAX; i++) {
		buf_fini(&j->behind[i].text.head);
		buf_fini(&j->behind[i].text.tail);
		buf_fini(&j->behind[i].errs.head);
		buf_fini(&j->behind[i].errs.tail);
		buf_fini(&j->behind[i].note);
	}
	free(take(&j->chunk));
}

uint32_t jobs_next(struct jobs *j)
{
	return ++j->last;
}

struct str jobs_behind_read(struct job_behind *b, struct arena *mem, uint64_t *total)
{
	struct str text = capture_dup(&b->text, mem);

	*total = b->text.total;
	capture_open(&b->text, JOBS_BEHIND_HEAD, JOBS_BEHIND_TAIL);
	return text;
}

int jobs_kill(struct jobs *j, uint32_t id, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(16);

	pack_u32(&b, id);
	TRY(pack_ok(&b, err));
	return links_send(j->links, j->peer, WIRE_KILL, buf_str(&b), NULL, 0, err);
}

int jobs_behind_kill(struct jobs *j, const struct job_behind *b, struct err *err)
{
	return jobs_kill(j, b->job, err);
}

/* How long the job may still be waited for; below 0: to its end. */
static int64_t patience_left(const struct jobs *j, const struct job_ask *ask)
{
	int64_t left;

	if (j->phase != JOB_RUNNING || (!ask->behind && ask->checkin_ms == 0))
		return -1;
	left = ask->behind ? 0 : j->started_ms + ask->checkin_ms - time_mono_ms();
	return left > 0 ? left : 0;
}

/* 1: it was let go. */
static int wait_for_end(struct jobs *j, const struct job_ask *ask, struct err *err)
{
	bool killed = false;

	while (j->phase != JOB_OVER) {
		int64_t left = killed ? -1 : patience_left(j, ask);

		if (links_interrupted(j->links) && !ask->finish && !killed) {
			TRY(jobs_kill(j, j->waited, err));
			killed = true;
		} else if (left == 0 && let_go(j)) {
			return 1;
		}
		/* Where there is no place for it, one may become free by what comes. */
		TRY(links_wait(j->links, j->peer, left == 0 ? -1 : left, err));
	}
	return killed ? err_set(err, ERR_STOPPED, "the operator stopped the run") : 0;
}

int jobs_ask(
	struct jobs *j, const struct job_ask *ask, struct arena *mem, struct job_result *out, struct err *err)
{
	autoclose int in = -1;
	int r;

	BUG_IF(j->phase != JOB_IDLE);
	if (links_interrupted(j->links) && !ask->finish)
		return err_set(err, ERR_STOPPED, "the operator stopped the run");
	if (ask->in.n > 0)
		TRY(memfd_seal("stdin", ask->in, &in, err));
	capture_open(&j->out, ask->keep_head, ask->keep_tail);
	capture_open(&j->errs, ask->keep_head, ask->keep_tail);
	TRY(links_send(j->links, j->peer, ask->type, ask->body, &in, in >= 0 ? 1 : 0, err));
	j->phase = JOB_ASKED;
	j->waited = j->last;
	r = wait_for_end(j, ask, err);
	for (size_t i = 0; i < 2; i++)
		base_close_fd(&j->links->pipe[i].fd);
	j->phase = JOB_IDLE;
	TRY(r);
	*out = r > 0 ? (struct job_result){ .behind = j->waited, .wall_ms = time_mono_ms() - j->started_ms } : j->result;
	out->out = capture_dup(&j->out, mem);
	out->errs = capture_dup(&j->errs, mem);
	out->out_total = j->out.total;
	out->errs_total = j->errs.total;
	out->note = r > 0 ? STR("") : str_dup(mem, buf_str(&j->note));
	return 0;
}

int jobs_begin(struct jobs *j, const struct job_ask *ask, struct err *err)
{
	struct job_behind *b = behind_place(j);

	if (!b)
		return err_set(err, ERR_BUSY, "too many jobs were begun");
	TRY(links_send(j->links, j->peer, ask->type, ask->body, NULL, 0, err));
	*b = (struct job_behind){ .job = j->last, .begun = true, .text = b->text, .errs = b->errs, .note = b->note };
	capture_open(&b->text, ask->keep_head, ask->keep_tail);
	capture_open(&b->errs, ask->keep_head, ask->keep_tail);
	return 0;
}

int jobs_fetch(struct jobs *j, uint32_t number, struct arena *mem, struct job_result *out, struct err *err)
{
	struct job_behind *b = NULL;

	for (size_t i = 0; i < JOBS_BEHIND_MAX; i++)
		if (j->behind[i].begun && j->behind[i].job == number)
			b = &j->behind[i];
	BUG_IF(!b);
	while (!b->over)
		TRY(links_wait(j->links, j->peer, -1, err));
	*out = b->result;
	out->out = capture_dup(&b->text, mem);
	out->errs = capture_dup(&b->errs, mem);
	out->out_total = b->text.total;
	out->errs_total = b->errs.total;
	out->note = str_dup(mem, buf_str(&b->note));
	b->begun = false;
	b->job = 0;
	return 0;
}

int jobs_command(struct jobs *j, const struct job_request *req, struct arena *mem, struct job_result *out,
	struct err *err)
{
	auto_buf struct buf body = BUF_MAX(CHAN_BODY_MAX);
	struct job_ask ask = {
		.type = WIRE_RUN, .in = req->in, .keep_head = req->keep_head, .keep_tail = req->keep_tail,
		.behind = req->class == JOB_BACKGROUND, .checkin_ms = req->checkin_ms
	};

	if (req->class == JOB_BACKGROUND && !behind_place(j)) {
		*out = (struct job_result){ .why = JOB_REFUSED, .note = STR(FULL) };
		return 0;
	}
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
