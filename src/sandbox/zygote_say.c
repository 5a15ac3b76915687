/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Words for a server that its asker cannot write to. What the server answers goes to the asker alone and is never read
 * here. */
#include "fmt/pack.h"
#include "sandbox/zygote_priv.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#define WAITING_MAX (1024 * 1024) /* that a server has not read: one that reads nothing gets nothing more */
#define SHOWN_MAX   (32 * 1024)

/* ---- to the server ---- */

static int on_room(void *self, uint32_t events, struct err *err);

static void stop_watching(struct job *j)
{
	if (j->speech.watched)
		loop_unwatch(j->z->loop, j->speech.fd);
	j->speech.watched = false;
}

/* As much as it takes now. One that does not want any more is about to end, and that is seen elsewhere. */
static int flush(struct job *j, struct err *err)
{
	struct speech *s = &j->speech;

	while (s->rest.n > 0) {
		ssize_t n = write(s->fd, s->rest.p, s->rest.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			say_hang_up(j->z, j);
			return 0;
		}
		TRY(buf_splice(&s->rest, 0, (size_t)n, STR(""), err));
	}
	if (s->rest.n == 0) {
		stop_watching(j);
		return 0;
	}
	if (!s->watched)
		TRY(loop_watch(j->z->loop, s->fd, EPOLLOUT, on_room, j, err));
	s->watched = true;
	return 0;
}

static int on_room(void *self, uint32_t events, struct err *err)
{
	(void)events;
	return flush(self, err);
}

void say_hang_up(struct zygote *z, struct job *j)
{
	(void)z;
	if (j->speech.fd < 0)
		return;
	stop_watching(j);
	base_close_fd(&j->speech.fd);
	buf_fini(&j->speech.rest);
}

static int tell(struct zygote *z, uint32_t number, enum job_end why, const char *note, bool told, struct err *err)
{
	const struct zygote_end end = { .number = number, .class = JOB_MCP, .why = why, .note = str_from(note) };

	return zygote_tell_end(z, &end, told, err);
}

static int say(struct zygote *z, uint32_t server, uint32_t number, struct str line, bool told, struct err *err)
{
	struct job *j = zygote_job(z, server);

	if (!j || j->state != JOB_RUNNING || j->speech.fd < 0)
		return tell(z, number, JOB_LOST, "the server has ended", told, err);
	if (j->speech.rest.n > WAITING_MAX)
		return tell(z, number, JOB_LOST, "the server does not read what it is sent", told, err);
	TRY(buf_add(&j->speech.rest, line, err));
	TRY(buf_addc(&j->speech.rest, '\n', err));
	TRY(flush(j, err));
	return tell(z, number, JOB_EXITED, "", told, err);
}

/* ---- what waits for the monitor ---- */

static struct saying *find(struct zygote *z, uint32_t number)
{
	for (size_t i = 0; i < ZYGOTE_SAYINGS_MAX; i++)
		if (z->sayings[i].number == number)
			return &z->sayings[i];
	return NULL;
}

static void forget(struct saying *s)
{
	buf_fini(&s->line);
	*s = (struct saying){ 0 };
}

/* What the operator is shown are the bytes that will be sent. */
static int ask(struct zygote *z, const struct mcp_say *say, const struct mcp_line *line, struct err *err)
{
	struct str args = str_of(line->text.p + line->args_at, line->args_n);
	auto_buf struct buf b = BUF_MAX(CHAN_BODY);

	pack_u32(&b, say->id);
	pack_str(&b, say->text);
	pack_str(&b, args.n > SHOWN_MAX ? STR("") : args);
	return zygote_tell_monitor(z, WIRE_APPROVE_CALL, &b, err);
}

static int keep(struct zygote *z, uint32_t server, const struct mcp_say *say, struct mcp_line *line, struct err *err)
{
	struct saying *s = find(z, 0);

	if (!s)
		return tell(z, say->id, JOB_REFUSED, "16 calls wait for the operator already", false, err);
	TRY(ask(z, say, line, err));
	*s = (struct saying){ say->id, server, line->text };
	line->text = (struct buf){ 0 };
	return 0;
}

int say_verdict(struct zygote *z, uint32_t number, bool allowed, struct str reason, struct err *err)
{
	struct saying *s = number > 0 ? find(z, number) : NULL;
	int r;

	if (!s)
		return 0; /* withdrawn meanwhile */
	if (allowed) {
		r = say(z, s->server, number, buf_str(&s->line), true, err);
	} else {
		const struct zygote_end end = { .number = number, .class = JOB_MCP, .why = JOB_DENIED, .note = reason };

		r = zygote_tell_end(z, &end, true, err);
	}
	forget(s);
	return r;
}

int say_withdraw(struct zygote *z, uint32_t number, struct err *err)
{
	struct saying *s = number > 0 ? find(z, number) : NULL;

	if (!s)
		return 0;
	forget(s);
	return tell(z, number, JOB_STOPPED, "", true, err);
}

void say_forget(struct zygote *z)
{
	for (size_t i = 0; i < ZYGOTE_SAYINGS_MAX; i++)
		forget(&z->sayings[i]);
}

/* ---- from the asker ---- */

static int read_args(struct zygote *z, struct buf *args, struct err *err)
{
	if (z->msg->nfds == 0)
		return 0;
	return memfd_read(z->msg->fds[0], args, err);
}

static bool may_call(const struct zygote_server *s, struct str tool)
{
	for (size_t i = 0; i < s->tools.n; i++)
		if (str_eqz(tool, s->tools.p[i]))
			return true;
	return s->tools.n == 0;
}

static int judge(struct zygote *z, uint32_t server, const struct mcp_say *words, struct mcp_line *line, struct err *err)
{
	const struct job *j = zygote_job(z, server);
	struct err why = { 0 };

	if (!j || j->state != JOB_RUNNING || !j->rq.server || !j->rq.server->composed)
		return tell(z, words->id, JOB_LOST, "the server does not run", false, err);
	if (words->method == MCP_CALL && !may_call(j->rq.server, words->text)) {
		err_set(&why, ERR_DENIED, "mcp.%s.tools does not name this tool", j->rq.server->name);
		return tell(z, words->id, JOB_REFUSED, why.msg, false, err);
	}
	if (mcp_compose(words, line, &why) < 0)
		return tell(z, words->id, JOB_REFUSED, why.msg, false, err);
	if (j->rq.server->ask && words->method == MCP_CALL)
		return keep(z, server, words, line, err);
	if (words->method == MCP_CALL) /* else the question has said it */
		TRY(zygote_works(z, err));
	return say(z, server, words->id, buf_str(&line->text), false, err);
}

int say_accept(struct zygote *z, struct err *err)
{
	struct unpack u = unpack_from(z->msg->body);
	struct mcp_say words = { .id = unpack_u32(&u) };
	uint32_t server = unpack_u32(&u);
	auto_buf struct buf args = BUF_MAX(MCP_ARGS_MAX);
	struct mcp_line line = { 0 };
	struct err why = { 0 };
	int r;

	if (mcp_say_unpack(&u, &words, &why) < 0 || words.id <= z->last_job)
		return zygote_drop_asker(z, err);
	z->last_job = words.id;
	if (read_args(z, &args, &why) < 0)
		return tell(z, words.id, JOB_REFUSED, why.msg, false, err);
	words.args = buf_str(&args);
	r = judge(z, server, &words, &line, err);
	buf_fini(&line.text);
	return r;
}
