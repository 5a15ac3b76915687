/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/zygote_client.h"
#include "fmt/pack.h"
#include "sys/chan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>

struct stream {
	int fd; /* -1: not open yet, or at its end */
	struct buf *into;
	size_t *lost;
};

struct talk {
	struct zygote_client *c;
	uint32_t job;
	struct stream streams[2];
	struct zygote_answer *answer;
	bool started, ended;
};

void zygote_client_init(struct zygote_client *c, int fd)
{
	*c = (struct zygote_client){ .fd = fd, .msg = mem_alloc(sizeof(struct chan_msg)) };
}

void zygote_client_fini(struct zygote_client *c)
{
	free(c->msg);
	c->msg = NULL;
}

static int pack_call(const struct zygote_call *call, uint32_t job, struct buf *b, struct err *err)
{
	pack_u32(b, job);
	if (call->class == JOB_GIT) {
		pack_u8(b, call->op);
		pack_strs(b, call->args, call->nargs);
		return pack_ok(b, err);
	}
	pack_u8(b, (uint8_t)call->class);
	pack_u32(b, call->timeout_ms);
	pack_str(b, call->cwd);
	pack_strs(b, call->args, call->nargs);
	pack_strs(b, call->env, call->nenv);
	return pack_ok(b, err);
}

static int send_call(struct zygote_client *c, const struct zygote_call *call, uint32_t job, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(CHAN_BODY);
	autoclose int in = -1;

	if (pack_call(call, job, &b, err) < 0)
		return err_wrap(err, "the words of a job");
	if (call->in.n > 0)
		TRY(memfd_seal("stdin", call->in, &in, err));
	return chan_send(c->fd, call->class == JOB_GIT ? WIRE_GIT : WIRE_RUN, buf_str(&b), &in, in >= 0, err);
}

/* False: there is nothing more now. */
static bool read_some(struct stream *s)
{
	char block[65536];
	ssize_t n = read(s->fd, block, sizeof(block));

	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		base_close_fd(&s->fd);
		return false;
	}
	struct str got = str_of(block, (size_t)n), fits = str_head(got, s->into->max - s->into->n);

	*s->lost += got.n - fits.n;
	if (buf_add(s->into, fits, ERR_DISCARD) < 0)
		*s->lost += fits.n;
	return true;
}

/* Reads what is there without waiting. */
static void drain(struct stream *s)
{
	while (s->fd >= 0 && read_some(s))
		;
}

static int on_started(struct talk *t, struct unpack *u, struct err *err)
{
	if (unpack_u32(u) != t->job || !unpack_done(u) || t->started)
		return err_set(err, ERR_PROTOCOL, "WIRE_STARTED of another job");
	t->started = true;
	for (size_t i = 0; i < 2; i++) {
		t->streams[i].fd = chan_take_fd(t->c->msg, i);
		TRY(chan_nonblock(t->streams[i].fd, err));
	}
	return 0;
}

static int on_exit_of(struct talk *t, struct unpack *u, struct err *err)
{
	uint32_t job = unpack_u32(u);
	struct str note;

	t->answer->code = unpack_u32(u);
	t->answer->why = (enum job_end)unpack_u8(u);
	t->answer->wall_us = unpack_u64(u);
	note = unpack_str(u);
	if (!unpack_done(u) || job != t->job || t->answer->why < JOB_EXITED || t->answer->why > JOB_STOPPED)
		return err_set(err, ERR_PROTOCOL, "WIRE_EXIT of another job, or for no reason");
	snprintf(t->answer->note, sizeof(t->answer->note), STR_FMT, STR_ARG(note));
	t->ended = true;
	return 0;
}

static int on_message(struct talk *t, struct err *err)
{
	struct chan_msg *m = t->c->msg;
	struct unpack u;
	int r;

	TRY(chan_recv(t->c->fd, m, err));
	u = unpack_from(m->body);
	r = wire_check(LINK_ZYGOTE_AGENT, WIRE_DOWN, m->type, m->body.n, m->nfds, err);
	if (r == 0)
		r = m->type == WIRE_STARTED ? on_started(t, &u, err) : on_exit_of(t, &u, err);
	chan_msg_fini(m);
	return r;
}

static int converse(struct talk *t, struct err *err)
{
	while (!t->ended) {
		struct pollfd p[3] = { { t->c->fd, POLLIN, 0 }, { t->streams[0].fd, POLLIN, 0 },
			{ t->streams[1].fd, POLLIN, 0 } };

		if (poll(p, 3, -1) < 0 && errno != EINTR)
			return err_sys(err, errno, "poll");
		for (size_t i = 0; i < 2; i++)
			if (p[i + 1].revents)
				drain(&t->streams[i]);
		if (p[0].revents)
			TRY(on_message(t, err));
	}
	/* Everything of the job is gone, so what it wrote is there, whoever else may hold the pipes. */
	drain(&t->streams[0]);
	drain(&t->streams[1]);
	return 0;
}

int zygote_call(struct zygote_client *c, const struct zygote_call *call, struct buf *out, struct buf *errs,
	struct zygote_answer *answer, struct err *err)
{
	struct talk t = { .c = c, .job = c->last_job + 1, .answer = answer,
		.streams = { { -1, out, &answer->lost_out }, { -1, errs, &answer->lost_err } } };
	int r;

	*answer = (struct zygote_answer){ 0 };
	TRY(send_call(c, call, t.job, err));
	c->last_job = t.job;
	r = converse(&t, err);
	base_close_fd(&t.streams[0].fd);
	base_close_fd(&t.streams[1].fd);
	return r;
}
