/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/guard.h"
#include "sandbox/caps.h"
#include "sandbox/fds.h"
#include "sandbox/ground.h"
#include "sandbox/once.h"
#include "sys/file.h"
#include "sys/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The one command's guardian, and what it works for. */
struct warden {
	struct guard guard;
	const struct sandbox_policy *policy;
	const struct once *o;
	struct arena *mem;
	struct ground ground;
	char tmp[64];
	struct policy_list written, env;
};

static int make_tmp(struct warden *w, struct err *err)
{
	char real[PATH_MAX];

	snprintf(w->tmp, sizeof(w->tmp), "/tmp/agent6-XXXXXX");
	if (!mkdtemp(w->tmp))
		return err_sys(err, errno, "make a private directory in /tmp");
	if (!realpath(w->tmp, real))
		return err_sys(err, errno, "find %s", w->tmp);
	w->ground.tmp = str_dupz(w->mem, str_from(real));
	for (size_t i = 0; i < w->policy->env.n; i++)
		if (strncmp(w->policy->env.p[i], "TMPDIR=", 7) != 0)
			policy_list_add(&w->env, w->mem, w->policy->env.p[i]);
	policy_list_add(&w->env, w->mem, str_printf(w->mem, "TMPDIR=%s", real).p);
	return 0;
}

static int start(struct warden *w, long *child, int *exec_errno, struct err *err)
{
	const struct jail_class *class = jail_class_find(JOB_COMMAND);
	struct jail_spec spec = { .argv = w->policy->argv.p, .env = w->env.p, .cwd = w->policy->cwd, .in_fd = -1,
		.out_fd = w->o->out[1], .err_fd = w->o->errs[1], .memory_limit_mb = w->policy->memory_limit_mb };
	autofree struct seccomp_filter *filter = mem_alloc(sizeof(*filter));
	autoclose int ruleset = -1;
	struct launch l;

	TRY(seccomp_build(w->ground.host_network ? SECCOMP_COMMAND_HOSTNET : class->hardened, filter, err));
	TRY(ground_rules(&w->ground, class, -1, &ruleset, err));
	ground_written(&w->ground, class, &w->written);
	w->guard.written = &w->written;
	TRY(launch_open(&l, &spec, err));
	l.filter = filter;
	l.ruleset = ruleset;
	l.processes_max = guard_processes_max();
	*child = guard_launch(&w->guard, &l, err);
	launch_close(&l);
	if (*child == 0)
		*exec_errno = l.result->sys;
	return *child < 0 ? (int)*child : 0;
}

/* What is granted to be read, under none of its names where writing is granted: the rules are of whole directories. */
static int refuse_readonly(const struct warden *w, struct err *err)
{
	const struct sandbox_policy *p = w->policy;
	struct mounts mounts;

	if (p->extra_ro_paths.n > 0)
		TRY(mounts_load(w->mem, &mounts, err));
	for (size_t i = 0; i < p->extra_ro_paths.n; i++) {
		const struct mount_names names = mounts_names(&mounts, p->extra_ro_paths.p[i], w->mem);

		for (size_t k = 0; k < names.n * (1 + p->extra_rw_paths.n); k++) {
			const char *name = names.p[k % names.n], *dir = k < names.n ? p->cwd : p->extra_rw_paths.p[k / names.n - 1];

			if (!path_is_within(name, dir))
				continue;
			err_set(err, ERR_UNSUPPORTED, "extra_ro_paths: profile \"hardened\" cannot keep %s%s%s read-only: it lies in %s, which is writable, and "
				"Landlock grants a directory whole", p->extra_ro_paths.p[i], k % names.n > 0 ? ", mounted at " : "",
				k % names.n > 0 ? name : "", dir);
			err_hint(err, "use profile \"strict\", or take it out of extra_ro_paths: it can be read there anyway");
			return -ERR_UNSUPPORTED;
		}
	}
	return 0;
}

static int prepare(struct warden *w, struct err *err)
{
	const int keep[] = { w->o->out[1], w->o->errs[1], w->o->verdict[1], w->guard.stop };

	/* Only what it needs: the descriptors of whoever called are not its to hold. */
	TRY(fds_keep(keep, COUNT(keep), err));
	TRY(guard_enter(&w->guard, err));
	TRY(caps_drop_all(err));
	TRY(caps_undumpable(err));
	/* A keyring of its own, or none where the kernel has no keys. */
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	TRY(refuse_readonly(w, err));
	TRY(ground_open(w->policy, NULL, w->mem, &w->ground, err));
	return make_tmp(w, err);
}

static void remove_tmp(const struct warden *w)
{
	if (w->tmp[0] && dir_remove_tree(AT_FDCWD, w->tmp, ERR_DISCARD) < 0)
		fprintf(stderr, "agent6-jail: %s could not be removed\n", w->tmp);
}

_Noreturn static void guard_main(struct warden *w)
{
	struct once_verdict v = { 0 };
	long child = -1;
	int st = -1;

	v.r = prepare(w, &v.err);
	if (v.r == 0)
		v.r = start(w, &child, &v.exec_errno, &v.err);
	bool told = write(w->o->verdict[1], &v, sizeof(v)) == (ssize_t)sizeof(v);
	/* The ends of its pipes are the command's now. */
	close(w->o->out[1]);
	close(w->o->errs[1]);
	close(w->o->verdict[1]);
	if (told && v.r == 0 && child > 0)
		st = guard_watch(&w->guard, (pid_t)child);
	guard_sweep(&w->guard);
	remove_tmp(w);
	_exit(st < 0 ? ONCE_NOEXEC_CODE : WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st));
}

int guard_start(const struct once *o, struct cell_proc *out, int *life, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct warden w = { .policy = o->policy, .o = o, .mem = mem,
		.guard = { .listener = -1, .ended = -1, .children = -1 } };
	int pipes[2], pidfd, r;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	autoclose int mine = pipes[1];
	autoclose int theirs = pipes[0];
	w.guard.stop = theirs;
	pid = fork();
	if (pid == 0)
		guard_main(&w);
	if (pid < 0)
		return err_sys(err, errno, "fork the guardian");
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		r = err_sys(err, errno, "hold the guardian");
		base_close_fd(&mine);
		waitpid(pid, NULL, 0);
		return r;
	}
	fcntl(pidfd, F_SETFD, FD_CLOEXEC);
	*out = (struct cell_proc){ pid, pidfd, -1, -1 };
	*life = take_fd(&mine);
	return 0;
}
