/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/zygote_priv.h"

#include <errno.h>
#include <signal.h>

static int start_jail(struct jails *jails, const struct work *w, struct worker *out, int *exec_errno, struct err *err)
{
	struct jail_spec spec = { .class = jail_class_find(w->class), .argv = w->argv, .env = w->env, .cwd = w->cwd,
		.in_fd = w->in_fd, .out_fd = w->out_fd, .err_fd = w->err_fd, .fds = w->fds, .nfds = w->nfds,
		.exe_fd = w->exe_fd, .memory_limit_mb = w->memory_limit_mb };
	struct jail jail = { 0 };

	if (!spec.class)
		return err_set(err, ERR_INVALID, "class %d is unknown", (int)w->class);
	TRY(jail_spawn(jails, &spec, &jail, err));
	*exec_errno = jail.exec_errno;
	if (jail.exec_errno != 0)
		return 1;
	*out = (struct worker){ .jail = jail, .pidfd = jail.pidfd };
	return 0;
}

static int start_plain(const struct work *w, struct worker *out, int *exec_errno, struct err *err)
{
	struct proc_spec spec = { .argv = w->argv, .env = w->env, .exe_fd = w->exe_fd, .cwd = w->cwd, .fds = w->fds,
		.nfds = w->nfds, .own_session = true, .die_with_parent = true, .in_fd = w->in_fd,
		.out_fd = w->out_fd, .err_fd = w->err_fd };
	struct proc proc;
	int r = proc_spawn(&spec, &proc, err);

	*exec_errno = err->sys;
	if (r < 0 && (err->sys == ENOENT || err->sys == EACCES || err->sys == ENOEXEC || err->sys == ENOTDIR))
		return 1;
	TRY(r);
	*out = (struct worker){ .plain = true, .proc = proc, .pidfd = proc.pidfd };
	return 0;
}

int worker_start(struct jails *jails, const struct work *w, struct worker *out, int *exec_errno, struct err *err)
{
	return jails ? start_jail(jails, w, out, exec_errno, err) : start_plain(w, out, exec_errno, err);
}

void worker_kill(const struct worker *w)
{
	if (!w->plain)
		jail_kill(&w->jail);
	else if (kill(-w->proc.pid, SIGKILL) < 0)
		proc_kill(&w->proc, SIGKILL); /* its group is not there yet, or any more */
}

int worker_reap(struct worker *w, struct worker_end *out, struct err *err)
{
	struct jail_status js = { 0, 0 };
	struct proc_status ps = { 0, 0 };

	if (!w->plain) {
		TRY(jail_reap(&w->jail, &js, err));
		*out = (struct worker_end){ js.code, js.signal };
		return 0;
	}
	kill(-w->proc.pid, SIGKILL); /* what it left in its group; its number is ours until we wait */
	TRY(proc_wait(&w->proc, &ps, err));
	*out = (struct worker_end){ ps.code, ps.signal };
	return 0;
}
