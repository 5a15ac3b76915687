/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/pack.h"
#include "sandbox/caps.h"
#include "sandbox/sweep.h"
#include "sandbox/zygote_priv.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { FD_MONITOR = 3, FD_ASKER = 4, FD_PROGRAM = 5, FD_INDEX = 6, FDS = 4 };

static int send_fail(int fd, const struct err *err)
{
	auto_buf struct buf b = BUF_MAX(4096);

	pack_str(&b, str_from(err->msg));
	pack_str(&b, str_from(err->hint));
	return chan_send(fd, WIRE_CELL_FAIL, buf_str(&b), NULL, 0, ERR_DISCARD);
}

static int send_ready(int fd, const struct cell *cell, struct err *err)
{
	struct str notes[CELL_NOTES_MAX];
	auto_buf struct buf b = BUF_MAX(16384);

	for (size_t i = 0; i < cell->nnotes; i++)
		notes[i] = str_from(cell->notes[i]);
	pack_u32(&b, (uint32_t)cell->landlock_abi);
	pack_strs(&b, notes, cell->nnotes);
	TRY(pack_ok(&b, err));
	return chan_send(fd, WIRE_CELL_READY, buf_str(&b), NULL, 0, err);
}

/* The run's own index starts as a copy of the person's: what git knows there about unchanged files saves
 * reading them. The time stamp comes along, since git compares entries with it. */
static int copy_index(const struct zygote *z, struct err *err)
{
	char path[4096];
	char block[65536];
	struct stat st;
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/index", z->spec.git_dir) >= (int)sizeof(path))
		return err_set(err, ERR_LIMIT, "the path of the index is too long");
	autoclose int from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return 0; /* a fresh one then */
	autoclose int to = open(z->git.index, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return err_sys(err, errno, "make %s", z->git.index);
	while ((n = read(from, block, sizeof(block))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || write(to, block, (size_t)n) != n) {
			unlink(z->git.index);
			return 0;
		}
	}
	const struct timespec times[2] = { st.st_atim, st.st_mtim };

	return futimens(to, times) < 0 ? err_sys(err, errno, "set the time of %s", z->git.index) : 0;
}

static int write_config(const struct zygote *z, struct err *err)
{
	const char *text = z->spec.git_config ? z->spec.git_config : "";
	size_t n = strlen(text);

	if (n == 0)
		return 0;
	autoclose int to = open(z->git.config, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0 || write(to, text, n) != (ssize_t)n)
		return err_sys(err, errno, "write %s", z->git.config);
	return 0;
}

static int remove_lock(int common, const char *dir, const char *name, struct err *err)
{
	autoclose int fd = file_openat2(common, dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);

	if (fd >= 0 && unlinkat(fd, name, 0) < 0 && errno != ENOENT)
		return err_sys(err, errno, "remove %s/%s", dir, name);
	return 0;
}

/* A kill in the middle of a step leaves git's lock beside the run's own refs, and no later step could be
 * recorded. Nobody else moves these refs, and who starts a run's own cell holds the run. */
static int remove_stale_locks(const struct zygote *z, struct err *err)
{
	char chain[128], branch[128];
	autoclose int common = -1;

	if (z->spec.run_id[0] == '\0' || z->spec.may_merge)
		return 0;
	TRY(dir_open(AT_FDCWD, z->spec.common_dir, &common, err));
	snprintf(chain, sizeof(chain), "refs/agent6/%s", z->spec.run_id);
	snprintf(branch, sizeof(branch), "%s.lock", z->spec.run_id);
	TRY(remove_lock(common, chain, "head.lock", err));
	return remove_lock(common, "refs/heads/agent6", branch, err);
}

static int prepare(struct zygote *z, struct err *err)
{
	if (z->spec.kind == ZYGOTE_GIT) {
		TRY(remove_stale_locks(z, err));
		TRY(write_config(z, err));
		return copy_index(z, err);
	}
	if (z->spec.policy.profile == PROFILE_STRICT && mkdir(ZYGOTE_HOME, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "make %s", ZYGOTE_HOME);
	return 0;
}

/* What making jails needs and no more. In a cell it has no Landlock domain: one that handles files would refuse every mount, and
 * one that does not refuses what is moved between directories, to all commands. Theirs keeps abstract unix sockets away. */
static int confine(enum seccomp_profile profile, struct err *err)
{
	autofree struct seccomp_filter *f = mem_alloc(sizeof(*f));

	TRY(caps_no_new_privs(err));
	TRY(seccomp_build(profile, f, err));
	return seccomp_enter(f, err);
}

static int open_jails(struct zygote *z, const struct cell *cell, struct err *err)
{
	static const enum job_class classes[] = { [ZYGOTE_COMMAND] = JOB_COMMAND, [ZYGOTE_GIT] = JOB_GIT,
		[ZYGOTE_SERVER] = JOB_MCP };
	enum job_class most = classes[z->spec.kind];
	const int own[] = { z->exe, z->index_exe };

	switch (z->spec.policy.profile) {
	case PROFILE_NONE:
		return 0;
	case PROFILE_HARDENED:
		TRY(jails_open_on(z->ground, z->exe, z->index_exe, &z->jails, err));
		TRY(ground_enter(z->ground, most, own, COUNT(own), err));
		return confine(z->spec.policy.network == NETWORK_HOST ? SECCOMP_ZYGOTE_HOSTNET : SECCOMP_ZYGOTE_HARDENED,
			err);
	case PROFILE_STRICT:
		break;
	}
	TRY(jails_open(cell, &z->jails, err));
	return confine(SECCOMP_ZYGOTE, err);
}

static int serve_in(struct zygote *z, const struct cell *cell, struct err *err)
{
	TRY(prepare(z, err));
	TRY(newgit_open(&z->spec.no_git, &z->newgit, err));
	TRY(open_jails(z, cell, err));
	TRY(send_ready(z->monitor, cell, err));
	return zygote_serve(z, err);
}

int zygote_fail(const struct zygote *z, const struct err *err)
{
	return send_fail(z->monitor, err) < 0 ? 3 : 2;
}

int zygote_run_in(struct zygote *z, const struct cell *cell)
{
	struct err err = { 0 };
	int r = serve_in(z, cell, &err);

	jails_close(z->jails);
	if (r < 0 && r != -ERR_CLOSED && send_fail(z->monitor, &err) < 0)
		return 3;
	return r < 0 && r != -ERR_CLOSED ? 2 : 0;
}

static int cell_main(const struct cell *cell, void *self)
{
	return zygote_run_in(self, cell);
}

static int wait_for(struct cell_proc *p)
{
	int st;
	pid_t r;

	do
		r = waitpid(p->pid, &st, 0);
	while (r < 0 && errno == EINTR);
	close(p->pidfd);
	return r < 0 ? 2 : WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

/* Without a cell there is no private /tmp: HOME of the commands and git's own index get a directory of their own, since
 * whoever is first may have the fixed names. */
int zygote_own_dir(struct zygote *z, struct arena *mem, const char **out, struct err *err)
{
	struct policy_list env = { 0 };
	char dir[] = "/tmp/agent6-XXXXXX", real[PATH_MAX];

	if (!mkdtemp(dir))
		return err_sys(err, errno, "make %s", dir);
	if (!realpath(dir, real))
		return err_sys(err, errno, "find %s", dir);
	z->git.index = str_printf(mem, "%s/index", real).p;
	z->git.config = str_printf(mem, "%s/gitconfig", real).p;
	for (size_t i = 0; i < z->spec.policy.env.n; i++) {
		bool home = strcmp(z->spec.policy.env.p[i], "HOME=" ZYGOTE_HOME) == 0;

		policy_list_add(&env, mem, home ? str_printf(mem, "HOME=%s", real).p : z->spec.policy.env.p[i]);
	}
	z->spec.policy.env = env;
	*out = str_dupz(mem, str_from(real));
	return 0;
}

static int run_plain(struct zygote *z, struct arena *mem, struct err *err)
{
	static const struct cell nothing = { .landlock_abi = 0, .nnotes = 1,
		.notes = { "the sandbox is off: nothing confines what runs" } };
	const char *dir;
	int r;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(err, errno, "adopt what the commands leave");
	TRY(zygote_own_dir(z, mem, &dir, err));
	r = zygote_run_in(z, &nothing);
	int children = sweep_open();
	sweep_all(children, NULL, 0);
	base_close_fd(&children);
	if (dir_remove_tree(AT_FDCWD, dir, err) < 0)
		fprintf(stderr, "agent6-jail: %s\n", err->msg);
	return r;
}

static int run_cell(struct zygote *z, struct err *err)
{
	/* fds_keep passes over what is not there */
	const int keep[] = { FD_MONITOR, FD_ASKER, z->events, z->exe, z->index_exe };
	struct cell_spec spec;
	struct cell_proc proc;

	TRY(cell_spec_from_policy(&z->spec.policy, &spec, err));
	spec.lock = true;
	spec.keep_fds = keep;
	spec.nkeep = COUNT(keep);
	TRY(cell_start(&spec, cell_main, z, &proc, err));
	/* Only the cell holds the channels from here on: its end is then seen by both peers. */
	close(FD_MONITOR);
	close(FD_ASKER);
	if (z->exe >= 0)
		close(FD_PROGRAM);
	if (z->index_exe >= 0)
		close(FD_INDEX);
	return wait_for(&proc);
}

static int read_ceiling(struct zygote *z, struct arena *mem, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	auto_buf struct buf text = BUF_MAX(ZYGOTE_BYTES_MAX);
	int r;

	TRY(chan_recv(z->monitor, m, err));
	r = wire_check(LINK_MONITOR_ZYGOTE, WIRE_DOWN, m->type, m->body.n, m->nfds, err);
	if (r == 0 && m->type != WIRE_CEILING)
		r = err_set(err, ERR_PROTOCOL, "%s comes before WIRE_CEILING", wire_name(m->type));
	r = r < 0 ? r : memfd_read(m->fds[0], &text, err);
	chan_msg_fini(m);
	TRY(r);
	return zygote_spec_decode(buf_str(&text), mem, &z->spec, err);
}

static int stand(struct zygote *z, struct arena *mem, struct err *err)
{
	int status, r;

	TRY(proc_sanitize(FDS, err));
	TRY(caps_die_with_parent(getppid(), err));
	if (fcntl(FD_PROGRAM, F_GETFD) >= 0)
		z->exe = FD_PROGRAM;
	if (z->exe >= 0 && fcntl(FD_INDEX, F_GETFD) >= 0)
		z->index_exe = FD_INDEX;
	TRY(read_ceiling(z, mem, err));
	r = zygote_in_group(z, &status, err);
	if (r != 0)
		return r < 0 ? r : status;
	switch (z->spec.policy.profile) {
	case PROFILE_NONE:
		return run_plain(z, mem, err);
	case PROFILE_HARDENED:
		return zygote_on_ground(z, mem, err);
	case PROFILE_STRICT:
		break;
	}
	return run_cell(z, err);
}

int zygote_main(zygote_git_fn *git, gitwatch_digest_fn *digest)
{
	autofree struct zygote *z = mem_alloc(sizeof(*z));
	auto_arena struct arena *mem = arena_new();
	struct err err = { 0 };
	int r;

	*z = (struct zygote){ .git = { .words = git, .index = ZYGOTE_GIT_INDEX, .config = ZYGOTE_GIT_CONFIG }, .monitor = FD_MONITOR,
		.asker = FD_ASKER, .exe = -1, .index_exe = -1, .keeper = -1, .events = -1, .digest = digest };
	r = stand(z, mem, &err);
	if (r >= 0)
		return r;
	return send_fail(FD_MONITOR, &err) < 0 ? 3 : 2;
}
