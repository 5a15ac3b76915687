/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Programs that stay. What they write is handed on as it comes and kept by nobody here. */
#include "agent/jobs_priv.h"
#include "fmt/pack.h"

#include <errno.h>
#include <poll.h>

#define DRAIN_CHUNKS 64 /* after its end, of a pipe that something else may hold */

struct job_server *jobs_server_of(struct jobs *j, uint32_t id)
{
	for (size_t i = 0; i < JOBS_SERVERS_MAX; i++)
		if (id != 0 && j->servers[i] && j->servers[i]->job == id)
			return j->servers[i];
	return NULL;
}

static struct job_server *server_at(struct jobs *j, size_t which)
{
	for (size_t i = 0; i < JOBS_SERVERS_MAX; i++)
		if (j->servers[i] && j->servers[i]->runs && (j->servers[i]->pipe == which || j->servers[i]->pipe + 1 == which))
			return j->servers[i];
	return NULL;
}

/* One read: never more than is there. 1: something came. */
static int read_some(struct jobs *j, struct job_server *s, size_t which, struct err *err)
{
	int *fd = &j->links->pipe[which].fd;
	ssize_t n;

	do
		n = read(*fd, j->chunk, JOBS_CHUNK);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		base_close_fd(fd);
		return 0;
	}
	TRY((which == s->pipe ? s->on_out : s->on_errs)(s->self, str_of(j->chunk, (size_t)n), err));
	return 1;
}

static int on_pipe(void *self, size_t which, struct err *err)
{
	struct jobs *j = self;
	struct job_server *s = server_at(j, which);

	BUG_IF(!s);
	return read_some(j, s, which, err) < 0 ? err_wrap(err, "output of a server") : 0;
}

/* Two places side by side, behind those of jobs. */
static int find_pipes(const struct links *l, size_t *out, struct err *err)
{
	for (size_t i = LINKS_JOBS; i + 1 < LINKS_PIPES; i += 2)
		if (l->pipe[i].fd < 0 && l->pipe[i + 1].fd < 0 && !l->pipe[i].on_ready) {
			*out = i;
			return 0;
		}
	return err_set(err, ERR_LIMIT, "too many servers run");
}

int jobs_server_started(struct jobs *j, struct job_server *s, struct chan_msg *m, struct err *err)
{
	if (s->runs)
		return err_set(err, ERR_PROTOCOL, "a second start of server job %u", s->job);
	TRY(find_pipes(j->links, &s->pipe, err));
	for (size_t i = 0; i < 2; i++) {
		j->links->pipe[s->pipe + i].fd = chan_take_fd(m, i);
		j->links->pipe[s->pipe + i].on_ready = on_pipe;
		j->links->pipe[s->pipe + i].self = j;
	}
	s->in = chan_take_fd(m, 2);
	s->runs = true;
	return s->on_start ? s->on_start(s->self, err) : 0;
}

static int drain(struct jobs *j, struct job_server *s, struct err *err)
{
	for (size_t i = s->pipe; i < s->pipe + 2; i++) {
		int *fd = &j->links->pipe[i].fd;

		for (int k = 0; k < DRAIN_CHUNKS && *fd >= 0; k++) {
			struct pollfd p = { .fd = *fd, .events = POLLIN };

			if (poll(&p, 1, 0) <= 0)
				break;
			TRY(read_some(j, s, i, err));
		}
		base_close_fd(fd);
		j->links->pipe[i].on_ready = NULL;
	}
	return 0;
}

static int server_ended(struct jobs *j, struct job_server *s, const struct job_result *r, struct err *err)
{
	if (s->runs)
		TRY(drain(j, s, err));
	base_close_fd(&s->in);
	s->runs = false;
	s->job = 0;
	for (size_t i = 0; i < JOBS_SERVERS_MAX; i++)
		if (j->servers[i] == s)
			j->servers[i] = NULL;
	return s->on_end(s->self, r, err);
}

int jobs_server_exit(struct jobs *j, uint32_t id, const struct job_result *result, struct str note, struct err *err)
{
	struct job_server *s = jobs_server_of(j, id);
	struct job_result r = *result;

	r.note = note;
	if (s) {
		TRY(server_ended(j, s, &r, err));
		return 1;
	}
	for (size_t i = 0; i < JOBS_SAYS_MAX; i++)
		if (j->says[i].number == id) {
			j->says[i].number = 0;
			TRY(j->says[i].server->on_said(j->says[i].server->self, id, &r, err));
			return 1;
		}
	return 0;
}

int jobs_serve(struct jobs *j, struct job_server *s, uint8_t place, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(16);
	size_t at = 0;

	if (s->job != 0)
		return err_set(err, ERR_BUSY, "the server runs already");
	while (at < JOBS_SERVERS_MAX && j->servers[at])
		at++;
	if (at == JOBS_SERVERS_MAX)
		return err_set(err, ERR_LIMIT, "%d servers run already", JOBS_SERVERS_MAX);
	s->job = jobs_next(j);
	s->in = -1;
	j->servers[at] = s;
	pack_u32(&b, s->job);
	pack_u8(&b, place);
	TRY(pack_ok(&b, err));
	return links_send(j->links, j->peer, WIRE_SERVE, buf_str(&b), NULL, 0, err);
}

int jobs_serve_kill(struct jobs *j, const struct job_server *s, struct err *err)
{
	return s->job != 0 ? jobs_kill(j, s->job, err) : 0;
}

int jobs_say(struct jobs *j, struct job_server *s, struct mcp_say *words, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(8192);
	autoclose int args = -1;
	size_t at = 0;

	while (at < JOBS_SAYS_MAX && j->says[at].number != 0)
		at++;
	if (at == JOBS_SAYS_MAX)
		return err_set(err, ERR_BUSY, "too much waits to be said");
	words->id = jobs_next(j);
	pack_u32(&b, words->id);
	pack_u32(&b, s->job);
	mcp_say_pack(words, &b);
	TRY(pack_ok(&b, err));
	if (words->args.n > 0)
		TRY(memfd_seal("arguments", words->args, &args, err));
	j->says[at].number = words->id;
	j->says[at].server = s;
	return links_send(j->links, j->peer, WIRE_SAY, buf_str(&b), &args, args >= 0, err);
}

int jobs_unsay(struct jobs *j, uint32_t number, struct err *err)
{
	return jobs_kill(j, number, err);
}
