/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "agent/links.h"
#include "fmt/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#define FIRST_FD 3

static const struct {
	enum wire_link link;
	enum wire_dir in; /* direction of what comes to us */
	const char *who;
} kinds[PEER_COUNT] = {
	[PEER_MONITOR] = { LINK_MONITOR_AGENT, WIRE_DOWN, "the monitor" },
	[PEER_ZYGOTE] = { LINK_ZYGOTE_AGENT, WIRE_DOWN, "the command zygote" },
	[PEER_GIT] = { LINK_ZYGOTE_AGENT, WIRE_DOWN, "the git zygote" },
	[PEER_CLIENT] = { LINK_CLIENT_AGENT, WIRE_DOWN, "the model client" },
	[PEER_RECORDER] = { LINK_RECORDER_AGENT, WIRE_DOWN, "the recorder" },
	[PEER_SERVER ... PEER_COUNT - 1] = { LINK_ZYGOTE_AGENT, WIRE_DOWN, "the cell of a server" },
};

void links_init(struct links *l, const int fds[PEER_COUNT])
{
	*l = (struct links){ .msg = mem_alloc(sizeof(*l->msg)) };
	for (int i = 0; i < PEER_COUNT; i++)
		l->peer[i].fd = fds[i], l->peer[i].gone = fds[i] < 0;
	for (size_t i = 0; i < COUNT(l->pipe); i++)
		l->pipe[i].fd = -1;
	for (size_t i = 0; i < COUNT(l->out); i++)
		l->out[i].fd = -1;
}

int links_given(int fds[PEER_COUNT])
{
	int n = 0;

	while (n < PEER_COUNT && (n < AGENT_FDS || fcntl(FIRST_FD + n, F_GETFD) >= 0)) {
		fds[n] = FIRST_FD + n;
		n++;
	}
	for (int i = n; i < PEER_COUNT; i++)
		fds[i] = -1;
	return n;
}

void links_fini(struct links *l)
{
	for (int i = 0; i < PEER_COUNT; i++)
		base_close_fd(&l->peer[i].fd);
	for (size_t i = 0; i < COUNT(l->pipe); i++)
		base_close_fd(&l->pipe[i].fd);
	for (size_t i = 0; i < l->steers.n; i++)
		buf_fini(&l->steers.p[i]);
	vec_fini(&l->steers);
	for (size_t i = 0; i < l->tells.n; i++)
		buf_fini(&l->tells.p[i].text);
	vec_fini(&l->tells);
	free(take(&l->msg));
}

void links_serve(struct links *l, enum peer p, peer_fn *fn, void *self)
{
	l->peer[p].on_msg = fn;
	l->peer[p].self = self;
}

static int gone(struct links *l, enum peer p, struct err *err)
{
	l->peer[p].gone = true;
	return err_set(err, ERR_CLOSED, "%s is gone", kinds[p].who);
}

int links_send(struct links *l, enum peer p, uint16_t type, struct str body, const int *fds, size_t nfds,
	struct err *err)
{
	int r;

	if (l->peer[p].gone)
		return gone(l, p, err);
	r = chan_send(l->peer[p].fd, type, body, fds, nfds, err);
	if (r == -ERR_CLOSED)
		return gone(l, p, err);
	return r < 0 ? err_wrap(err, "%s to %s", wire_name(type), kinds[p].who) : 0;
}

static void note_stop(struct links *l, enum wire_stop how)
{
	if (how > l->stop)
		l->stop = how;
}

static int note_steer(struct links *l, struct str text, struct err *err)
{
	struct buf *b;

	if (str_eqz(str_trim(text), "abort")) {
		l->aborted = true;
		note_stop(l, STOP_NOW);
		return 0;
	}
	if (l->steers.n == STEERS_MAX) { /* a person may say much while a model thinks */
		l->crowded = true;
		return 0;
	}
	b = vec_new(&l->steers);
	*b = BUF_MAX(CHAN_BODY_MAX);
	return buf_add(b, text, err);
}

static int note_tell(struct links *l, struct unpack *u, struct err *err)
{
	uint8_t what = unpack_u8(u);
	struct str text = unpack_str(u);
	struct tell *t;

	if (!unpack_done(u) || what < TELL_PAUSE || what > TELL_BTW)
		return err_set(err, ERR_PROTOCOL, "WIRE_TELL does not decode");
	if (what == TELL_CONTINUE) {
		l->pause = 0;
		return 0;
	}
	if (what == TELL_PAUSE || what == TELL_PAUSE_NOW) {
		l->pause = what > l->pause ? what : l->pause;
		return 0;
	}
	if (l->tells.n == STEERS_MAX) {
		l->crowded = true;
		return 0;
	}
	t = vec_new(&l->tells);
	*t = (struct tell){ what, BUF_MAX(CHAN_BODY_MAX) };
	return buf_add(&t->text, text, err);
}

/* Stops and steers are understood here, whoever is waiting for what. */
static int monitor_message(struct links *l, struct chan_msg *m, struct err *err)
{
	struct unpack u = unpack_from(m->body);

	if (m->type == WIRE_STOP) {
		uint8_t how = unpack_u8(&u);

		if (!unpack_done(&u) || how < STOP_AFTER_STEP || how > STOP_NOW)
			return err_set(err, ERR_PROTOCOL, "a stop of an unknown kind");
		note_stop(l, how);
		return 0;
	}
	if (m->type == WIRE_STEER) {
		struct str text = unpack_str(&u);

		if (!unpack_done(&u))
			return err_set(err, ERR_PROTOCOL, "a steer that is not one text");
		return note_steer(l, text, err);
	}
	if (m->type == WIRE_TELL)
		return note_tell(l, &u, err);
	if (!l->peer[PEER_MONITOR].on_msg)
		return err_set(err, ERR_PROTOCOL, "%s was not expected now", wire_name(m->type));
	return l->peer[PEER_MONITOR].on_msg(l->peer[PEER_MONITOR].self, m, err);
}

static int serve_peer(struct links *l, enum peer p, struct err *err)
{
	struct chan_msg *m = l->msg;
	int r = chan_recv(l->peer[p].fd, m, err);

	if (r == -ERR_CLOSED) {
		gone(l, p, err);
		return p == PEER_MONITOR ? r : 0;
	}
	if (r == 0)
		r = wire_check(kinds[p].link, kinds[p].in, m->type, m->body.n, m->nfds, err);
	if (r == 0 && p == PEER_MONITOR)
		r = monitor_message(l, m, err);
	else if (r == 0 && l->peer[p].on_msg)
		r = l->peer[p].on_msg(l->peer[p].self, m, err);
	chan_msg_fini(m);
	return r < 0 ? err_wrap(err, "from %s", kinds[p].who) : 0;
}

static void watch(struct pollfd *p, int fd, bool skip)
{
	*p = (struct pollfd){ .fd = skip ? -1 : fd, .events = POLLIN };
}

int links_pump(struct links *l, int64_t timeout_ms, struct err *err)
{
	struct pollfd fds[PEER_COUNT + COUNT(l->pipe) + COUNT(l->out)];
	const size_t first_out = PEER_COUNT + COUNT(l->pipe);
	int n;

	for (size_t i = 0; i < COUNT(l->pipe); i++)
		watch(&fds[PEER_COUNT + i], l->pipe[i].fd, l->pipe[i].fd < 0);
	for (size_t i = 0; i < COUNT(l->out); i++)
		fds[first_out + i] = (struct pollfd){ .fd = l->out[i].fd, .events = POLLOUT };
	for (int i = 0; i < PEER_COUNT; i++)
		watch(&fds[i], l->peer[i].fd, l->peer[i].gone);
	do
		n = poll(fds, COUNT(fds),
			timeout_ms < 0         ? -1
			: timeout_ms > INT_MAX ? INT_MAX
					       : (int)timeout_ms);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(err, errno, "poll");
	/* Pipes first: what a command wrote is read before the word that it ended. */
	for (size_t i = 0; i < COUNT(l->pipe); i++)
		if (fds[PEER_COUNT + i].revents != 0 && l->pipe[i].fd >= 0)
			TRY(l->pipe[i].on_ready(l->pipe[i].self, i, err));
	for (size_t i = 0; i < COUNT(l->out); i++)
		if (fds[first_out + i].revents != 0 && l->out[i].fd >= 0)
			TRY(l->out[i].on_ready(l->out[i].self, i, err));
	for (int i = 0; i < PEER_COUNT; i++)
		if (fds[i].revents != 0)
			TRY(serve_peer(l, i, err));
	return n;
}

int links_wait(struct links *l, enum peer p, int64_t timeout_ms, struct err *err)
{
	if (l->peer[p].gone)
		return gone(l, p, err);
	return links_pump(l, timeout_ms, err);
}

bool links_take_steer(struct links *l, struct buf *out)
{
	if (l->steers.n == 0)
		return false;
	buf_fini(out);
	*out = l->steers.p[0];
	l->steers.n--;
	memmove(l->steers.p, l->steers.p + 1, l->steers.n * sizeof(*l->steers.p));
	return true;
}

bool links_take_tell(struct links *l, enum wire_tell *what, struct buf *text)
{
	if (l->tells.n == 0)
		return false;
	buf_fini(text);
	*text = l->tells.p[0].text;
	*what = l->tells.p[0].what;
	l->tells.n--;
	memmove(l->tells.p, l->tells.p + 1, l->tells.n * sizeof(*l->tells.p));
	return true;
}

bool links_interrupted(const struct links *l)
{
	return l->stop == STOP_NOW || l->pause == TELL_PAUSE_NOW;
}
