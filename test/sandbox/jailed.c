/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "test/sandbox/jailed.h"
#include "sandbox/namespace.h"
#include "sandbox/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct answer {
	int r, code, signal, exec_errno;
	struct err err;
};

struct plan {
	enum job_class class;
	const char *const *argv;
	int out, answer, abi;
	const char *first; /* a command's script that ran before, or NULL */
};

void jailed_fini(struct jailed *j)
{
	buf_fini(&j->out);
}

bool jailed_possible(void)
{
	struct probe p;

	if (probe_host(&p, ERR_DISCARD) == 0 && p.userns && p.landlock > 0)
		return true;
	test_skip("this host cannot make a cell", __FILE__, __LINE__);
	return false;
}

struct cell_spec jailed_cell(const struct test_dir *ws)
{
	bool root = ns_is_real_root();

	return (struct cell_spec){ .lock = true,
		.root = { .workspace = ws->path,
			.uid = root ? POLICY_ROOT_UID : geteuid(),
			.gid = root ? POLICY_ROOT_UID : getegid(),
			.idmap = root } };
}

static int in_cell(const struct cell *cell, void *self)
{
	static const char *const env[] = { "PATH=/usr/bin:/bin:.:bin:", "SAID=so", NULL };
	const struct plan *p = self;
	struct jail_spec spec = { .class = jail_class_find(p->class), .argv = p->argv, .env = env,
		.cwd = cell->spec->root.workspace, .in_fd = -1, .out_fd = p->out, .err_fd = p->out };
	struct answer a = { 0 };
	struct jails *jails = NULL;
	struct jail jail = { .pid = -1 };
	struct jail_status st = { 0 };
	struct cell here = *cell;
	int left = open("/dev/null", O_RDONLY); /* one that somebody forgot to mark: no command gets it */

	umask(0); /* nor these two */
	for (int sig = SIGHUP; sig <= SIGQUIT; sig++) /* as a zygote begins, whatever who runs the tests ignores (nohup) */
		signal(sig, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	here.landlock_abi = p->abi > 0 ? p->abi : cell->landlock_abi;
	a.r = left < 0 ? -1 : jails_open(&here, &jails, &a.err);
	if (a.r == 0 && p->first) {
		const char *const first[] = { "/bin/sh", "-ec", p->first, NULL };
		struct jail_spec before = spec;

		before.class = jail_class_find(JOB_COMMAND);
		before.argv = first;
		a.r = jail_spawn(jails, &before, &jail, &a.err);
		if (a.r == 0)
			a.r = jail_reap(&jail, &st, &a.err);
		if (a.r == 0 && st.code != 0)
			a.r = err_set(&a.err, ERR_INVALID, "what runs first ended with %d", st.code);
	}
	if (a.r == 0)
		a.r = jail_spawn(jails, &spec, &jail, &a.err);
	close(p->out);
	if (a.r == 0 && jail.exec_errno == 0)
		a.r = jail_reap(&jail, &st, &a.err);
	a.code = st.code;
	a.signal = st.signal;
	a.exec_errno = jail.exec_errno;
	jails_close(jails);
	return write(p->answer, &a, sizeof(a)) == (ssize_t)sizeof(a) ? 0 : 1;
}

static struct jailed run(const struct cell_spec *given, enum job_class class, const char *const *argv, int abi, const char *first)
{
	struct jailed j = { .out = BUF_MAX(1 << 20), .code = -1 };
	struct cell_spec spec = *given;
	struct answer a = { 0 };
	struct cell_proc cell;
	int out[2], answer[2], keep[2];

	CHECK(pipe2(out, O_CLOEXEC) == 0 && pipe2(answer, O_CLOEXEC) == 0);
	keep[0] = out[1];
	keep[1] = answer[1];
	spec.keep_fds = keep;
	spec.nkeep = 2;
	struct plan plan = { class, argv, out[1], answer[1], abi, first };
	int r = cell_start(&spec, in_cell, &plan, &cell, &j.err);
	close(out[1]);
	close(answer[1]);
	while (r == 0 && buf_reserve(&j.out, 4096, ERR_DISCARD) == 0) {
		ssize_t n = read(out[0], j.out.p + j.out.n, 4096);

		if (n <= 0)
			break;
		j.out.n += (size_t)n;
		j.out.p[j.out.n] = '\0';
	}
	if (r == 0 && read(answer[0], &a, sizeof(a)) == (ssize_t)sizeof(a)) {
		j.err = a.err;
		j.code = a.r < 0 ? -1 : a.code;
		j.signal = a.signal;
		j.exec_errno = a.exec_errno;
	}
	close(out[0]);
	close(answer[0]);
	if (r == 0) {
		CHECK(waitpid(cell.pid, NULL, 0) == cell.pid);
		close(cell.pidfd);
	}
	return j;
}

struct jailed jailed_argv(const struct cell_spec *spec, enum job_class class, const char *const *argv)
{
	return run(spec, class, argv, 0, NULL);
}

struct jailed jailed_under(const struct cell_spec *spec, int abi, const char *script)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };

	return run(spec, JOB_COMMAND, argv, abi, NULL);
}

struct jailed jailed_after(const struct cell_spec *spec, const char *first, enum job_class class, const char *script)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };

	return run(spec, class, argv, 0, first);
}

struct jailed jailed_sh(const struct cell_spec *spec, enum job_class class, const char *script)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };

	return jailed_argv(spec, class, argv);
}
