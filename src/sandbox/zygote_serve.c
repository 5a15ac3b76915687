/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/time.h"
#include "fmt/pack.h"
#include "sandbox/sweep.h"
#include "sandbox/zygote_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define CODE_TIMEOUT  124
#define CODE_NOT_RUN  127
#define CODE_STOPPED  137 /* 128 + SIGKILL */
#define AGENT_GRACE_MS 1000

static int64_t mono_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- the two peers ---- */

/* The monitor's channel blocks: it is trusted, and nothing may be lost there. */
int zygote_tell_monitor(struct zygote *z, enum wire_type type, struct buf *body, struct err *err)
{
	TRY(pack_ok(body, err));
	return chan_send(z->monitor, type, buf_str(body), NULL, 0, err);
}

static int on_timeout(void *self, uint32_t events, struct err *err);

static int on_agent_overdue(void *self, uint32_t events, struct err *err)
{
	struct zygote *z = self;

	(void)events;
	(void)err;
	if (z->agent_up)
		worker_kill(&z->agent);
	return 0;
}

static int on_servers_overdue(void *self, uint32_t events, struct err *err)
{
	struct zygote *z = self;

	(void)events;
	(void)err;
	loop_quit(z->loop); /* what is left is killed there */
	return 0;
}

/* An MCP server whose run is over is told by the end of its input, and may write down what it has not yet. False: there
 * is none. */
static bool say_farewell(struct zygote *z)
{
	bool any = false;

	for (size_t i = 0; i < ZYGOTE_JOBS_MAX; i++)
		if (z->jobs[i].state == JOB_RUNNING && z->jobs[i].rq.class == JOB_MCP) {
			say_hang_up(z, &z->jobs[i]);
			any = true;
		}
	return any;
}

/* The asker is gone: its jobs die, and with them all reason to be here. An agent that has just closed its
 * channel is about to end and gets a moment to say how; on_agent tells the monitor, then we end. */
static int drop_asker(struct zygote *z, int64_t grace_ms, struct err *err)
{
	if (z->asker < 0)
		return 0;
	loop_unwatch(z->loop, z->asker);
	if (z->agent_up && grace_ms == 0) /* before it can see that it was hung up on */
		worker_kill(&z->agent);
	base_close_fd(&z->asker);
	if (grace_ms > 0 && say_farewell(z))
		return loop_after(z->loop, grace_ms, on_servers_overdue, z, err);
	for (size_t i = 0; i < ZYGOTE_JOBS_MAX; i++)
		if (z->jobs[i].state == JOB_RUNNING) {
			z->jobs[i].killed = JOB_STOPPED;
			worker_kill(&z->jobs[i].worker);
		}
	if (z->agent_up && grace_ms > 0)
		return loop_after(z->loop, grace_ms, on_agent_overdue, z, err);
	if (!z->agent_up)
		loop_quit(z->loop);
	return 0;
}

/* The asker's channel does not block: who does not read its answers is dropped. */
static int tell_asker(struct zygote *z, enum wire_type type, struct buf *body, const int *fds, size_t nfds,
	struct err *err)
{
	if (z->asker < 0)
		return 0;
	if (pack_ok(body, ERR_DISCARD) == 0 && chan_send(z->asker, type, buf_str(body), fds, nfds, ERR_DISCARD) == 0)
		return 0;
	return drop_asker(z, 0, err);
}

int zygote_drop_asker(struct zygote *z, struct err *err)
{
	return drop_asker(z, 0, err);
}

int zygote_works(struct zygote *z, struct err *err)
{
	auto_buf struct buf nothing = BUF_MAX(1);

	if (z->worked)
		return 0;
	z->worked = true;
	return zygote_tell_monitor(z, WIRE_WORKED, &nothing, err);
}

int zygote_tell_end(struct zygote *z, const struct zygote_end *end, bool told, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(2048), up = BUF_MAX(64);

	pack_u32(&b, end->number);
	pack_u32(&b, end->code);
	pack_u8(&b, (uint8_t)end->why);
	pack_u64(&b, end->wall_us);
	pack_str(&b, str_head(end->note, utf8_head(end->note, 1024)));
	TRY(tell_asker(z, WIRE_EXIT, &b, NULL, 0, err));
	if (!told)
		return 0;
	pack_u32(&up, end->number);
	pack_u8(&up, (uint8_t)end->class);
	pack_u32(&up, end->code);
	pack_u8(&up, (uint8_t)end->why);
	return zygote_tell_monitor(z, WIRE_JOB_END, &up, err);
}

/* Of one that was refused the monitor never heard. */
static int tell_end(struct zygote *z, const struct request *rq, uint32_t code, enum job_end why, uint64_t wall_us,
	struct str note, struct err *err)
{
	const struct zygote_end end = { rq->job, rq->class, code, why, wall_us, note };

	return zygote_tell_end(z, &end, why != JOB_REFUSED, err);
}

/* ---- jobs ---- */

static void free_job(struct job *j)
{
	say_hang_up(j->z, j);
	request_fini(&j->rq);
	*j = (struct job){ .state = JOB_FREE };
}

static bool anything_runs(const struct zygote *z)
{
	for (size_t i = 0; i < ZYGOTE_JOBS_MAX; i++)
		if (z->jobs[i].state == JOB_RUNNING)
			return true;
	return false;
}

static int finish(struct job *j, uint32_t code, enum job_end why, struct str note, struct err *err)
{
	struct zygote *z = j->z;
	uint64_t wall = j->started_us > 0 ? (uint64_t)(mono_us() - j->started_us) : 0;
	int r = tell_end(z, &j->rq, code, why, wall, note, err);

	loop_cancel(z->loop, on_timeout, j);
	free_job(j);
	if (z->asker < 0 && !z->agent_up && !anything_runs(z)) /* the last of those that had a moment to end by themselves */
		loop_quit(z->loop);
	return r;
}

/* The jail's first process passes a signal on as 128 + its number, as shells do. */
static bool was_signal(const struct worker_end *end)
{
	return end->signal != 0 || (end->code > 128 && end->code < 128 + 32);
}

/* Without a sandbox no namespace ends with the job: whom it left in sessions of their own came to us, as a subreaper.
 * While another job runs nobody can tell whose they are; they are found when it has ended, or at the end of all. */
static void sweep_plain(const struct zygote *z)
{
	pid_t agent = z->agent_up ? z->agent.proc.pid : 0;

	for (size_t i = 0; i < ZYGOTE_JOBS_MAX; i++)
		if (z->jobs[i].state == JOB_RUNNING)
			return;
	autoclose int children = sweep_open();
	sweep_all(children, &agent, agent > 0 ? 1 : 0);
}

static int on_job(void *self, uint32_t events, struct err *err)
{
	struct job *j = self;
	struct worker_end end;
	enum job_end killed = j->killed;
	auto_buf struct buf note = BUF_MAX(4096);

	(void)events;
	loop_unwatch(j->z->loop, j->worker.pidfd);
	TRY(worker_reap(&j->worker, &end, err));
	bool plain = j->worker.plain;
	j->state = JOB_REAPED; /* its number may be another's from here on: dropping the asker must not kill it */
	/* A kill that came too late for a job that had ended changes nothing. */
	if (killed != 0 && end.signal != SIGKILL)
		killed = 0;
	if (plain)
		sweep_plain(j->z);
	TRY(look_for_git(j->z, &note, err));
	if (look_may_write(j->rq.class))
		TRY(look_at_git(j->z, true, &note, err));
	TRY(zygote_tell_kills(j->z, &note, err));
	struct str what = str_trim_suffix(buf_str(&note), STR("; "));
	if (killed == JOB_TIMEOUT)
		return finish(j, CODE_TIMEOUT, JOB_TIMEOUT, what, err);
	if (killed == JOB_STOPPED)
		return finish(j, CODE_STOPPED, JOB_STOPPED, what, err);
	return finish(j, (uint32_t)end.code, was_signal(&end) ? JOB_SIGNALED : JOB_EXITED, what, err);
}

static int on_timeout(void *self, uint32_t events, struct err *err)
{
	struct job *j = self;

	(void)events;
	(void)err;
	j->killed = JOB_TIMEOUT;
	worker_kill(&j->worker);
	return 0;
}

struct pipes {
	int out_r, out_w, err_r, err_w;
	int in_w; /* of a server: the way to its stdin */
};

static void pipes_fini(struct pipes *p)
{
	base_close_fd(&p->out_r);
	base_close_fd(&p->out_w);
	base_close_fd(&p->err_r);
	base_close_fd(&p->err_w);
	base_close_fd(&p->in_w);
}

static int pipes_open(struct pipes *p, struct request *rq, struct err *err)
{
	int out[2], errs[2], in[2];

	if (pipe2(out, O_CLOEXEC) < 0)
		return err_sys(err, errno, "make a pipe");
	p->out_r = out[0];
	p->out_w = out[1];
	if (pipe2(errs, O_CLOEXEC) < 0)
		return err_sys(err, errno, "make a pipe");
	p->err_r = errs[0];
	p->err_w = errs[1];
	if (!rq->server)
		return 0;
	if (pipe2(in, O_CLOEXEC) < 0)
		return err_sys(err, errno, "make a pipe");
	rq->in_fd = in[0];
	p->in_w = in[1];
	return fcntl(p->in_w, F_SETFL, O_NONBLOCK) < 0 ? err_sys(err, errno, "make a pipe") : 0;
}

static int tell_started(struct job *j, const struct pipes *p, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(8);
	const int fds[] = { p->out_r, p->err_r, p->in_w };

	pack_u32(&b, j->rq.job);
	return tell_asker(j->z, WIRE_STARTED, &b, fds, p->in_w >= 0 ? 3 : 2, err);
}

static int start(struct job *j, struct err *err)
{
	CLEANUP(pipes_fini) struct pipes p = { -1, -1, -1, -1, -1 };
	struct zygote *z = j->z;
	struct err why = { 0 };
	int exec_errno = 0, r;

	if (look_may_write(j->rq.class))
		TRY(look_mark(z, err));
	j->started_us = mono_us();
	r = pipes_open(&p, &j->rq, &why);
	struct work w = { .class = j->rq.class, .argv = j->rq.argv, .env = j->rq.env, .cwd = j->rq.cwd,
		.in_fd = j->rq.in_fd, .out_fd = p.out_w, .err_fd = p.err_w,
		.exe_fd = j->rq.own_program ? z->index_exe : -1, .memory_limit_mb = z->spec.policy.memory_limit_mb };

	r = r < 0 ? r : worker_start(z->jails, &w, &j->worker, &exec_errno, &why);
	if (r < 0)
		return finish(j, 0, JOB_LOST, str_from(why.msg), err);
	if (r > 0) {
		char note[512];

		snprintf(note, sizeof(note), "%.400s: %s", j->rq.argv[0], strerror(exec_errno));
		return finish(j, CODE_NOT_RUN, JOB_UNRUNNABLE, str_from(note), err);
	}
	j->state = JOB_RUNNING;
	base_close_fd(&j->rq.in_fd);
	TRY(loop_watch(z->loop, j->worker.pidfd, EPOLLIN, on_job, j, err));
	if (j->rq.server && j->rq.server->composed) /* the asker gets no way to it but what it may ask us to say */
		j->speech = (struct speech){ take_fd(&p.in_w), BUF_MAX(2 * MCP_LINE_MAX), false };
	TRY(tell_started(j, &p, err));
	return j->rq.timeout_ms > 0 ? loop_after(z->loop, j->rq.timeout_ms, on_timeout, j, err) : 0;
}

static int ask_monitor(struct job *j, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(CHAN_BODY);
	auto_arena struct arena *tmp = arena_new();
	size_t n = 0;

	while (j->rq.argv[n])
		n++;
	struct str *argv = arena_array(tmp, n + 1, sizeof(*argv));

	for (size_t i = 0; i < n; i++)
		argv[i] = str_from(j->rq.argv[i]);
	pack_u32(&b, j->rq.job);
	pack_u8(&b, (uint8_t)j->rq.class);
	pack_str(&b, str_trim_prefix(str_trim_prefix(str_from(j->rq.cwd), str_from(j->z->spec.policy.cwd)), STR("/")));
	pack_strs(&b, argv, n);
	if (pack_ok(&b, ERR_DISCARD) < 0) /* its head made it outgrow a message */
		return finish(j, 0, JOB_REFUSED, STR("the command is too long to be shown"), err);
	j->state = JOB_ASKED;
	return zygote_tell_monitor(j->z, WIRE_APPROVE, &b, err);
}

struct job *zygote_job(struct zygote *z, uint32_t number)
{
	for (size_t i = 0; i < ZYGOTE_JOBS_MAX; i++)
		if (z->jobs[i].state != JOB_FREE && z->jobs[i].rq.job == number)
			return &z->jobs[i];
	return NULL;
}

static struct job *job_free(struct zygote *z)
{
	for (size_t i = 0; i < ZYGOTE_JOBS_MAX; i++)
		if (z->jobs[i].state == JOB_FREE)
			return &z->jobs[i];
	return NULL;
}

/* Ends a job whatever it is waiting for. One that ended already is no error: the word was on its way. */
static int stop_job(struct zygote *z, uint32_t number, struct err *err)
{
	struct job *j = zygote_job(z, number);

	if (!j)
		return say_withdraw(z, number, err);
	if (j->state == JOB_ASKED)
		return finish(j, CODE_STOPPED, JOB_STOPPED, STR(""), err);
	if (j->killed == 0)
		j->killed = JOB_STOPPED;
	worker_kill(&j->worker);
	return 0;
}

/* ---- from the asker ---- */

static int refuse(struct zygote *z, struct request *rq, const char *why, struct err *err)
{
	int r = tell_end(z, rq, 0, JOB_REFUSED, 0, str_from(why), err);

	request_fini(rq);
	return r;
}

static size_t count_class(const struct zygote *z, enum job_class class)
{
	size_t n = 0;

	for (size_t i = 0; i < ZYGOTE_JOBS_MAX; i++)
		n += z->jobs[i].state != JOB_FREE && z->jobs[i].rq.class == class;
	return n;
}

static bool server_runs(const struct zygote *z, const struct zygote_server *s)
{
	for (size_t i = 0; i < ZYGOTE_JOBS_MAX; i++)
		if (z->jobs[i].state != JOB_FREE && z->jobs[i].rq.server == s)
			return true;
	return false;
}

/* Takes rq. Numbers that do not grow end the asker: a verdict must never meet another command. */
static int accept_request(struct zygote *z, struct request *rq, struct err *err)
{
	const struct zygote_limit *l = zygote_limit_of(&z->spec, rq->class);
	struct job *j = job_free(z);

	if (!j)
		return refuse(z, rq, "16 jobs are running already", err);
	if (rq->class == JOB_BACKGROUND && count_class(z, rq->class) >= ZYGOTE_BACKGROUND_MAX)
		return refuse(z, rq, "8 commands run in the background already", err);
	if (rq->server && server_runs(z, rq->server))
		return refuse(z, rq, "this server runs already", err);
	if (rq->own_program && z->index_exe < 0)
		return refuse(z, rq, "this zygote has no agent6-index to run", err);
	if (rq->leaves)
		TRY(zygote_works(z, err));
	*j = (struct job){ .state = JOB_ASKED, .z = z, .rq = *rq, .speech = { .fd = -1 } };
	*rq = (struct request){ .in_fd = -1 };
	return l->ask ? ask_monitor(j, err) : start(j, err);
}

static int on_request(struct zygote *z, struct err *err)
{
	struct err why = { 0 };
	struct request rq;
	int r = z->msg->type == WIRE_GIT ? request_read_git(&z->spec, &z->git, z->msg, &rq, &why)
		: z->msg->type == WIRE_SERVE ? request_read_serve(&z->spec, z->msg, &rq, &why)
					     : request_read_run(&z->spec, z->msg, &rq, &why);

	if (r == -ERR_PROTOCOL || rq.job <= z->last_job) {
		request_fini(&rq);
		return drop_asker(z, 0, err);
	}
	z->last_job = rq.job;
	return r < 0 ? refuse(z, &rq, why.msg, err) : accept_request(z, &rq, err);
}

static int on_kill(struct zygote *z, struct err *err)
{
	struct unpack u = unpack_from(z->msg->body);
	uint32_t number = unpack_u32(&u);

	return unpack_done(&u) ? stop_job(z, number, err) : drop_asker(z, 0, err);
}

static int on_asker(void *self, uint32_t events, struct err *err)
{
	struct zygote *z = self;
	int r;

	(void)events;
	r = chan_recv(z->asker, z->msg, ERR_DISCARD);
	if (r == -ERR_BUSY)
		return 0;
	if (r == -ERR_CLOSED)
		return drop_asker(z, AGENT_GRACE_MS, err);
	if (r < 0 ||
		wire_check(LINK_ZYGOTE_AGENT, WIRE_UP, z->msg->type, z->msg->body.n, z->msg->nfds, ERR_DISCARD) < 0)
		r = drop_asker(z, 0, err);
	else
		r = z->msg->type == WIRE_KILL ? on_kill(z, err)
			: z->msg->type == WIRE_SAY ? say_accept(z, err)
						   : on_request(z, err);
	chan_msg_fini(z->msg);
	return r;
}

/* ---- from the monitor ---- */

static int on_verdict(struct zygote *z, struct err *err)
{
	struct unpack u = unpack_from(z->msg->body);
	uint32_t number = unpack_u32(&u);
	bool allowed = unpack_u8(&u) == 1;
	struct str reason = unpack_str(&u);
	struct job *j = zygote_job(z, number);

	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_VERDICT does not decode");
	if (!j)
		return say_verdict(z, number, allowed, reason, err);
	if (j->state != JOB_ASKED)
		return 0; /* stopped meanwhile */
	return allowed ? start(j, err) : finish(j, 0, JOB_DENIED, reason, err);
}

static int on_kill_job(struct zygote *z, struct err *err)
{
	struct unpack u = unpack_from(z->msg->body);
	uint32_t number = unpack_u32(&u);

	if (!unpack_done(&u))
		return err_set(err, ERR_PROTOCOL, "WIRE_KILL_JOB does not decode");
	return stop_job(z, number, err);
}

static int on_stop_all(struct zygote *z, struct err *err)
{
	for (size_t i = 0; i < ZYGOTE_JOBS_MAX; i++)
		if (z->jobs[i].state != JOB_FREE)
			TRY(stop_job(z, z->jobs[i].rq.job, err));
	return 0;
}

static int end_jobs(struct zygote *z, struct err *err)
{
	struct worker_end end;

	for (size_t i = 0; i < ZYGOTE_JOBS_MAX; i++) {
		struct job *j = &z->jobs[i];

		if (j->state == JOB_RUNNING) {
			loop_unwatch(z->loop, j->worker.pidfd);
			worker_kill(&j->worker);
			TRY(worker_reap(&j->worker, &end, err));
		}
		if (j->state != JOB_FREE) {
			loop_cancel(z->loop, on_timeout, j);
			free_job(j);
		}
	}
	return 0;
}

/* The agent is dead. When everything that could write is, what it left behind is looked at, and the monitor hears
 * of both before anybody else may look. */
static int leave(struct zygote *z, struct err *err)
{
	auto_buf struct buf b = BUF_MAX(16), nobody = BUF_MAX(4096);
	struct worker_end end;

	loop_unwatch(z->loop, z->agent.pidfd);
	TRY(worker_reap(&z->agent, &end, err));
	z->agent_up = false;
	bool ran = look_commands_run(z);
	TRY(end_jobs(z, err));
	TRY(look_for_git(z, &nobody, err));
	TRY(look_at_git(z, ran, &nobody, err));
	pack_u32(&b, (uint32_t)end.code);
	pack_u32(&b, (uint32_t)end.signal);
	TRY(zygote_tell_monitor(z, WIRE_AGENT_EXIT, &b, err));
	loop_quit(z->loop);
	return 0;
}

static int on_agent(void *self, uint32_t events, struct err *err)
{
	(void)events;
	return leave(self, err);
}

static int on_finish(struct zygote *z, struct err *err)
{
	if (!z->agent_up)
		return 0; /* its end was told, and ours follows */
	worker_kill(&z->agent);
	return leave(z, err);
}

static int agent_words(struct zygote *z, struct arena *mem, const char *const **out, struct err *err)
{
	struct unpack u = unpack_from(z->msg->body);
	size_t n;
	const struct str *list = unpack_strs(&u, mem, 64, &n);
	const char **argv = arena_array(mem, n + 1, sizeof(*argv));

	if (!unpack_done(&u) || n == 0)
		return err_set(err, ERR_PROTOCOL, "WIRE_START_AGENT does not decode");
	for (size_t i = 0; i < n; i++)
		argv[i] = str_dup(mem, list[i]).p;
	*out = argv;
	return 0;
}

static int on_start_agent(struct zygote *z, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();
	static const char *const no_env[] = { NULL };
	auto_buf struct buf b = BUF_MAX(16);
	struct work w = { .class = JOB_AGENT, .env = no_env, .cwd = z->spec.policy.cwd, .in_fd = -1, .out_fd = -1,
		.err_fd = -1, .fds = z->msg->fds, .nfds = z->msg->nfds, .exe_fd = z->exe };
	int exec_errno = 0, r;

	if (z->agent_up || z->exe < 0 || z->spec.kind != ZYGOTE_COMMAND)
		return err_set(err, ERR_PROTOCOL, "no agent can be started here");
	TRY(agent_words(z, tmp, &w.argv, err));
	r = worker_start(z->jails, &w, &z->agent, &exec_errno, err);
	TRY(r);
	if (r > 0)
		return err_sys(err, exec_errno, "execute the agent");
	z->agent_up = true;
	TRY(loop_watch(z->loop, z->agent.pidfd, EPOLLIN, on_agent, z, err));
	return zygote_tell_monitor(z, WIRE_AGENT_UP, &b, err);
}

static const struct {
	enum wire_type type;
	int (*serve)(struct zygote *z, struct err *err);
} orders[] = {
	{ WIRE_START_AGENT, on_start_agent },
	{ WIRE_VERDICT, on_verdict },
	{ WIRE_KILL_JOB, on_kill_job },
	{ WIRE_STOP_ALL, on_stop_all },
	{ WIRE_FINISH, on_finish },
};

static int obey(struct zygote *z, struct err *err)
{
	TRY(wire_check(LINK_MONITOR_ZYGOTE, WIRE_DOWN, z->msg->type, z->msg->body.n, z->msg->nfds, err));
	for (size_t i = 0; i < COUNT(orders); i++)
		if (orders[i].type == z->msg->type)
			return orders[i].serve(z, err);
	return err_set(err, ERR_PROTOCOL, "%s comes too late", wire_name(z->msg->type));
}

static int on_monitor(void *self, uint32_t events, struct err *err)
{
	struct zygote *z = self;
	int r;

	(void)events;
	TRY(chan_recv(z->monitor, z->msg, err)); /* its end is ours */
	r = obey(z, err);
	chan_msg_fini(z->msg);
	return r;
}

/* ---- */

static int in_silence(void *self, const char *dir, const char *name, const char *moved_to, const char *why, struct err *err)
{
	(void)self, (void)dir, (void)name, (void)moved_to, (void)why, (void)err;
	return 0;
}

static void kill_all(struct zygote *z)
{
	struct worker_end end;
	int r = end_jobs(z, ERR_DISCARD);

	if (z->agent_up) {
		worker_kill(&z->agent);
		r |= worker_reap(&z->agent, &end, ERR_DISCARD);
	}
	r |= newgit_look(&z->newgit, in_silence, NULL, ERR_DISCARD); /* the monitor may be gone */
	(void)r; /* we end, and as process 1 of a cell take with us what is left */
}

static int on_keeper(void *self, uint32_t events, struct err *err)
{
	const struct zygote *z = self;

	(void)events;
	(void)err;
	loop_quit(z->loop);
	return 0;
}

int zygote_serve(struct zygote *z, struct err *err)
{
	int r;

	TRY(loop_open(&z->loop, err));
	z->msg = mem_alloc(sizeof(*z->msg));
	r = chan_nonblock(z->asker, err);
	r = r < 0 ? r : loop_watch(z->loop, z->monitor, EPOLLIN, on_monitor, z, err);
	r = r < 0 ? r : loop_watch(z->loop, z->asker, EPOLLIN, on_asker, z, err);
	if (z->keeper >= 0)
		r = r < 0 ? r : loop_watch(z->loop, z->keeper, EPOLLIN, on_keeper, z, err);
	r = r < 0 ? r : loop_run(z->loop, err);
	kill_all(z);
	say_forget(z);
	loop_close(z->loop);
	free(z->msg);
	return r;
}
