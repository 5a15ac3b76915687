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
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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
		TRY(caps_become(uid, gid == 0 ? uid : gid, err));
		TRY(caps_die_with_parent(parent, err)); /* the change of id untied us */
	}
	/* A keyring of its own, or none where the kernel has no keys. */
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(err, errno, "become a subreaper");
	TRY(caps_drop_all(err));
	return caps_undumpable(err);
}

static int inner(struct zygote *z, struct ground *ground)
{
	struct cell cell = { .landlock_abi = landlock_abi() };
	struct err err = { 0 };
	int r;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return 2;
	r = zygote_run_in(z, &cell);
	if (dir_remove_tree(AT_FDCWD, ground->tmp, &err) < 0)
		fprintf(stderr, "agent6-jail: %s\n", err.msg);
	return r;
}

static int outer(pid_t pid, const char *tmp)
{
	int st = 0, children;

	for (int fd = 3; fd <= 5; fd++) /* the channels: their end is to be seen by both peers */
		close(fd);
	children = sweep_open();
	while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
		;
	/* Killed: guardians see its end and end their commands; what lost its guardian too is ours. */
	sweep_all(children, NULL, 0);
	if (!WIFEXITED(st) && dir_remove_tree(AT_FDCWD, tmp, ERR_DISCARD) < 0)
		fprintf(stderr, "agent6-jail: %s could not be removed\n", tmp);
	return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

static int fork_both(struct zygote *z, struct ground *ground, struct err *err)
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
	status = pid < 0 ? err_sys(err, errno, "fork the zygote") : outer(pid, ground->tmp);
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
	r = fork_both(z, &ground, err);
	if (r < 0)
		(void)!dir_remove_tree(AT_FDCWD, tmp, ERR_DISCARD);
	return r;
}
