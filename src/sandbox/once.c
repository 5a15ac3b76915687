/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/once.h"
#include "base/time.h"
#include "fmt/jsonr.h"
#include "sandbox/bare.h"
#include "sandbox/guard.h"
#include "sandbox/jail.h"
#include "sandbox/namespace.h"
#include "sandbox/once_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define READ_STEP 65536

void once_unexecutable(struct once_result *r, const char *name, int sys)
{
	r->exec_failed = true;
	r->code = ONCE_NOEXEC_CODE;
	snprintf(r->note, sizeof(r->note), "child execution failed: %.512s: %s", name, strerror(sys));
}

static int cell_main(const struct cell *cell, void *self)
{
	const struct once *o = self;
	struct jail_spec spec = {
		.class = jail_class_find(JOB_COMMAND),
		.argv = o->policy->argv.p,
		.env = o->policy->env.p,
		.cwd = o->policy->cwd,
		.in_fd = -1,
		.out_fd = o->out[1],
		.err_fd = o->errs[1],
		.memory_limit_mb = o->policy->memory_limit_mb,
	};
	struct once_verdict v = { 0 };
	struct jails *jails = NULL;
	long child = -1;

	snprintf(v.covered, sizeof(v.covered), "%s", cell->covered);
	v.r = jails_open(cell, &jails, &v.err);
	if (v.r == 0)
		v.r = jail_start_here(jails, &spec, &child, &v.exec_errno, &v.err);
	if (write(o->verdict[1], &v, sizeof(v)) != (ssize_t)sizeof(v) || child < 0)
		return ONCE_NOEXEC_CODE;
	jail_wait_here(child);
}

static int open_pipes(struct once *o, struct err *err)
{
	int *const pipes[] = { o->out, o->errs, o->verdict };

	for (size_t i = 0; i < COUNT(pipes); i++)
		if (pipe2(pipes[i], O_CLOEXEC) < 0)
			return err_sys(err, errno, "pipe");
	return 0;
}

static void close_pipes(struct once *o)
{
	for (int i = 0; i < 2; i++) {
		base_close_fd(&o->out[i]);
		base_close_fd(&o->errs[i]);
		base_close_fd(&o->verdict[i]);
	}
	base_close_fd(&o->life);
	free(o->step);
}

static int read_verdict(const struct sandbox_policy *p, int fd, int report, struct once_result *out, struct err *err)
{
	struct once_verdict v;
	ssize_t n;

	do
		n = read(fd, &v, sizeof(v));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(v) && report >= 0)
		return cell_failed(report, err);
	if (n != (ssize_t)sizeof(v))
		return err_set(err, ERR_SYS, "the guardian died before the command started");
	if (v.r < 0) {
		*err = v.err;
		return v.r;
	}
	if (v.covered[0])
		snprintf(out->note, sizeof(out->note), "[agent6-jail] %.*s\n", (int)sizeof(out->note) - 20, v.covered);
	if (v.exec_errno != 0)
		once_unexecutable(out, p->argv.p[0], v.exec_errno);
	return 0;
}

/* On the heap, where what is not written to costs nothing: most commands say little. */
static void drain(struct once *o, int *fd, struct capture *into)
{
	if (!o->step)
		o->step = mem_alloc(READ_STEP);
	ssize_t n = read(*fd, o->step, READ_STEP);

	if (n > 0)
		capture_feed(into, str_of(o->step, (size_t)n));
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		base_close_fd(fd);
}

/* Hung up without anything in it there is nothing to read. */
static void hear(struct once *o, int revents, int *fd, struct capture *into)
{
	if (revents == POLLHUP)
		base_close_fd(fd);
	else if (revents)
		drain(o, fd, into);
}

/* Its end counts, not the pipes': what is in them then is read, and nobody is waited for. */
static void drain_rest(struct once *o, int *fd, struct capture *into)
{
	size_t left = 1 << 20; /* a pipe's largest size for an ordinary user */

	while (*fd >= 0 && left > 0) {
		struct pollfd p = { *fd, POLLIN, 0 };
		size_t before = (size_t)into->total;

		if (poll(&p, 1, 0) <= 0)
			return;
		drain(o, fd, into);
		size_t got = (size_t)into->total - before;
		left -= got < left ? got : left;
	}
}

/* The first process of a pid namespace takes all others along; the guardian kills them and then ends itself. */
static void end_command(struct once *o, int pidfd)
{
	if (o->life >= 0)
		base_close_fd(&o->life);
	else
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

static int watch(struct once *o, int pidfd, int64_t timeout_ms, struct once_result *out, struct err *err)
{
	int64_t end = timeout_ms > 0 ? time_mono_ms() + timeout_ms : 0;

	for (;;) {
		struct pollfd p[3] = { { o->out[0], POLLIN, 0 }, { o->errs[0], POLLIN, 0 }, { pidfd, POLLIN, 0 } };
		int64_t left = end > 0 ? end - time_mono_ms() : -1;

		if (end > 0 && left <= 0 && !out->timed_out) {
			out->timed_out = true;
			end_command(o, pidfd);
		}
		if (out->timed_out || left > INT32_MAX)
			left = out->timed_out ? -1 : INT32_MAX;
		if (poll(p, 3, (int)left) < 0) {
			if (errno != EINTR)
				return err_sys(err, errno, "poll");
			continue; /* nothing of p was filled in */
		}
		hear(o, p[0].revents, &o->out[0], &out->out);
		hear(o, p[1].revents, &o->errs[0], &out->errs);
		if (p[2].revents)
			break;
	}
	drain_rest(o, &o->out[0], &out->out);
	drain_rest(o, &o->errs[0], &out->errs);
	return 0;
}

static int reap(const struct cell_proc *cell, struct once_result *out, struct err *err)
{
	int st;
	pid_t r;

	do
		r = waitpid(cell->pid, &st, 0);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_sys(err, errno, "wait for the cell");
	if (out->timed_out)
		out->code = ONCE_TIMEOUT_CODE;
	else if (!out->exec_failed)
		out->code = WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
	return 0;
}

static int start_cell(struct once *o, struct cell_proc *out, struct err *err)
{
	struct cell_spec spec;
	const int keep[] = { o->out[1], o->errs[1], o->verdict[1] };

	TRY(cell_spec_from_policy(o->policy, &spec, err));
	spec.root.mask_proc = true;
	spec.hold_mounts = spec.late = true;
	spec.keep_fds = keep;
	spec.nkeep = COUNT(keep);
	return cell_start(&spec, cell_main, o, out, err);
}

static int run_confined(struct once *o, struct once_result *out, struct err *err)
{
	CLEANUP(ns_release) struct ns_held held = { -1, -1 };
	struct cell_proc cell;

	if (o->policy->profile == PROFILE_STRICT)
		TRY(start_cell(o, &cell, err));
	else
		TRY(guard_start(o, &cell, &o->life, err));
	base_close_fd(&o->out[1]);
	base_close_fd(&o->errs[1]);
	base_close_fd(&o->verdict[1]);

	autoclose int pidfd = cell.pidfd;
	autoclose int report = cell.report;
	int r = read_verdict(o->policy, o->verdict[0], report, out, err);
	ns_hold(&cell.mounts, &held); /* while the command runs */
	if (r == 0)
		r = watch(o, pidfd, o->policy->timeout_ms, out, err);
	if (r < 0)
		end_command(o, pidfd);
	int w = reap(&cell, out, r < 0 ? ERR_DISCARD : err);
	return r < 0 ? r : w;
}

void once_fini(struct once_result *r)
{
	capture_fini(&r->out);
	capture_fini(&r->errs);
}

int once_run(const struct sandbox_policy *p, struct once_result *out, struct err *err)
{
	CLEANUP(close_pipes) struct once o = { .policy = p, .out = { -1, -1 }, .errs = { -1, -1 },
		.verdict = { -1, -1 }, .life = -1 };
	struct once_result res = { 0 };
	int r;

	capture_init(&res.out);
	capture_init(&res.errs);
	r = open_pipes(&o, err);
	if (r == 0)
		r = p->profile == PROFILE_NONE ? bare_run(p, &res, err) : run_confined(&o, &res, err);
	if (r < 0)
		once_fini(&res);
	else
		*out = res;
	return r;
}

int once_encode(const struct once_result *r, struct buf *out, struct err *err)
{
	auto_buf struct buf text = BUF_MAX(2 * (CAPTURE_HEAD + CAPTURE_TAIL));

	TRY(buf_addf(out, err, "{\"returncode\":%d,\"stdout\":", r->code));
	TRY(capture_add(&r->out, &text, err));
	TRY(jsonw_quoted(out, buf_str(&text), err));
	buf_clear(&text);
	TRY(buf_addz(out, ",\"stderr\":", err));
	TRY(capture_add(&r->errs, &text, err));
	TRY(buf_addz(&text, r->note, err));
	if (r->timed_out)
		TRY(buf_addz(&text, "\n[agent6-jail] timeout", err));
	TRY(jsonw_quoted(out, buf_str(&text), err));
	return buf_addf(out, err, ",\"exec_failed\":%s,\"timed_out\":%s}\n", r->exec_failed ? "true" : "false",
		r->timed_out ? "true" : "false");
}
