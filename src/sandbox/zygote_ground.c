/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* A zygote where no namespace is: profile "hardened". Two processes stand in for the cell's first one. The inner serves,
 * under Landlock and a filter; the outer does nothing but wait, and cleans up when the inner was killed. */
#include "sandbox/caps.h"
#include "sandbox/namespace.h"
#include "sandbox/sweep.h"
#include "sandbox/zygote_priv.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define GRACE_MS 2000 /* for the inner process, once whoever started us is gone */

int ground_owner(const char *workspace, uid_t *uid, gid_t *gid, struct err *err)
{
	struct stat st;

	if (stat(workspace, &st) < 0)
		return err_sys(err, errno, "%s", workspace);
	if (st.st_uid == 0) {
		err_set(err, ERR_UNSUPPORTED, "profile \"hardened\" as root becomes the workspace's owner, and %s is root's",
			workspace);
		err_hint(err, "run agent6 as an ordinary user, or in a workspace that one owns; \"strict\" maps ids where it is possible");
		return -ERR_UNSUPPORTED;
	}
	*uid = st.st_uid;
	*gid = st.st_gid;
	return 0;
}

/* Whoever started us as root wants the workspace's owner to do the work: without namespaces no id can be mapped. */
static int take_identity(const struct zygote *z, pid_t parent, struct err *err)
{
	uid_t uid;
	gid_t gid;

	if (ns_is_real_root()) {
		TRY(ground_owner(z->spec.policy.cwd, &uid, &gid, err));
		TRY(caps_drop_bounding(err)); /* while it may be emptied */
		TRY(caps_become(uid, gid, err));
		TRY(caps_die_with_parent(parent, err)); /* the change of id untied us */
	}
	/* A keyring of its own, or none where the kernel has no keys. */
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(err, errno, "become a subreaper");
	TRY(caps_drop_all(err));
	return caps_undumpable(err);
}

/* In a cell a mount protects it. */
static int watch(struct zygote *z, struct arena *mem, struct cell *cell, struct err *err)
{
	struct gitwatch_spec spec = { .git_dir = z->spec.git_dir, .common_dir = z->spec.common_dir, .run_id = z->spec.run_id,
		.inner = &z->spec.inner_git, .digest = z->digest,
		.dot_git = str_printf(mem, "%s/.git", z->spec.policy.cwd).p };
	bool partial = false;

	if (z->spec.kind != ZYGOTE_COMMAND || (z->spec.git_dir[0] == '\0' && z->spec.inner_git.n == 0))
		return 0;
	if (z->spec.git_dir[0] == '\0')
		spec.dot_git = NULL;
	TRY(gitwatch_open(&spec, &z->watch, &partial, err));
	if (partial)
		cell->notes[cell->nnotes++] = "this repository has too many refs to compare them around each command: a change of "
					      "its configuration and hooks alone is noticed";
	return 0;
}

static int inner(struct zygote *z, struct ground *ground)
{
	struct cell cell = { .landlock_abi = landlock_abi() };
	struct err err = { 0 };
	int r;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return 2;
	if (watch(z, ground->mem, &cell, &err) < 0)
		return zygote_fail(z, &err);
	r = zygote_run_in(z, &cell);
	gitwatch_close(z->watch);
	if (dir_remove_tree(AT_FDCWD, ground->tmp, &err) < 0)
		fprintf(stderr, "agent6-jail: %s\n", err.msg);
	return r;
}

/* It waits for the inner one to end by itself, which it does when its channels do. Whoever started us may be gone without
 * that being seen, or say that it is enough: then it is ended. */
static int wait_inner(pid_t pid, pid_t parent)
{
	sigset_t term;
	int st = 0;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	struct pollfd p[3] = { { (int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0 },
		{ (int)syscall(SYS_pidfd_open, parent, 0), POLLIN, 0 }, { signalfd(-1, &term, SFD_CLOEXEC), POLLIN, 0 } };
	int r, left = -1;

	do {
		for (size_t i = 0; i < COUNT(p); i++)
			p[i].revents = 0;
		r = poll(p, COUNT(p), left);
		if (p[2].revents || (r == 0 && left >= 0))
			kill(pid, SIGKILL);
		if (p[1].revents) {
			p[1].fd = -1;
			left = GRACE_MS;
		}
	} while (p[0].fd >= 0 && !p[0].revents && !p[2].revents && r != 0);
	while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
		;
	return st;
}

static int outer(pid_t pid, pid_t parent, const char *tmp)
{
	int st, children;

	for (int fd = 3; fd <= 5; fd++) /* the channels: their end is to be seen by both peers */
		close(fd);
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0); /* there is something to be cleaned up first */
	children = sweep_open();
	st = wait_inner(pid, parent);
	/* Killed: guardians see its end and end their commands; what lost its guardian too is ours. */
	sweep_all(children, NULL, 0);
	if (!WIFEXITED(st) && dir_remove_tree(AT_FDCWD, tmp, ERR_DISCARD) < 0)
		fprintf(stderr, "agent6-jail: %s could not be removed\n", tmp);
	return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

static int fork_both(struct zygote *z, struct ground *ground, pid_t parent, struct err *err)
{
	int life[2], status;
	pid_t pid;

	if (pipe2(life, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	pid = fork();
	if (pid == 0) {
		close(life[1]);
		z->keeper = life[0];
		status = inner(z, ground);
		ground_close(ground);
		_exit(status);
	}
	close(life[0]);
	status = pid < 0 ? err_sys(err, errno, "fork the zygote") : outer(pid, parent, ground->tmp);
	close(life[1]);
	return status;
}

int zygote_on_ground(struct zygote *z, struct arena *mem, struct err *err)
{
	CLEANUP(ground_close) struct ground ground = { .mem = mem };
	pid_t parent = getppid();
	const char *tmp;
	int r;

	TRY(take_identity(z, parent, err));
	TRY(ground_open(&z->spec.policy, NULL, mem, &ground, err));
	TRY(zygote_own_dir(z, mem, &tmp, err));
	ground.tmp = tmp;
	policy_list_add(&z->spec.policy.env, mem, str_printf(mem, "TMPDIR=%s", tmp).p);
	z->ground = &ground;
	r = fork_both(z, &ground, parent, err);
	if (r < 0)
		(void)!dir_remove_tree(AT_FDCWD, tmp, ERR_DISCARD);
	return r;
}
