/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/jail.h"
#include "sandbox/guards.h"
#include "sandbox/landlock.h"
#include "sandbox/launch.h"
#include "sandbox/mnt.h"
#include "sandbox/procmask.h"
#include "sandbox/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define RULES_OWN 64 /* of a class itself, at the most */

static const char *const git_exec[] = { "/usr/bin/git", "/usr/lib/git-core/git", "/usr/libexec/git-core/git",
	"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1",
	"/lib/ld-musl-aarch64.so.1", NULL };

/* Commands may read whatever the cell shows: its mounts are the ceiling, and a rule for "/" covers the /proc that
 * each jail mounts anew. The other classes see less than the cell does. */
static const struct jail_class classes[] = {
	{ .id = JOB_COMMAND, .name = "command", .filter = SECCOMP_COMMAND,
		.hardened = SECCOMP_COMMAND_HARDENED, .root = LL_RO, .system = LL_RX,
		.tools = LL_RX, .workspace = LL_RWX, .grants = LL_RWX, .tmp = LL_RWX },
	{ .id = JOB_VERIFY, .name = "verify", .filter = SECCOMP_COMMAND,
		.hardened = SECCOMP_COMMAND_HARDENED, .root = LL_RO, .system = LL_RX,
		.tools = LL_RX, .workspace = LL_RWX, .grants = LL_RWX, .tmp = LL_RWX },
	{ .id = JOB_METRIC, .name = "metric", .filter = SECCOMP_COMMAND,
		.hardened = SECCOMP_COMMAND_HARDENED, .root = LL_RO, .system = LL_RX,
		.tools = LL_RX, .workspace = LL_RWX, .grants = LL_RWX, .tmp = LL_RWX },
	{ .id = JOB_BACKGROUND, .name = "background", .filter = SECCOMP_COMMAND,
		.hardened = SECCOMP_COMMAND_HARDENED, .root = LL_RO, .system = LL_RX,
		.tools = LL_RX, .workspace = LL_RWX, .grants = LL_RWX, .tmp = LL_RWX },
	{ .id = JOB_INDEX, .name = "index", .filter = SECCOMP_INDEX, .hardened = SECCOMP_INDEX_HARDENED,
		.workspace_ro = true, .workspace_noexec = true,
		.own_network = true, .system = LL_RX, .etc = LL_RO, .tools = LL_RX, .workspace = LL_RO,
		.grants = LL_RO },
	{ .id = JOB_GIT, .name = "git", .filter = SECCOMP_GIT, .hardened = SECCOMP_GIT_HARDENED,
		.workspace_noexec = true, .system = LL_RO,
		.etc = LL_RO, .tools = LL_RO, /* a read-only cell's git directory outside the workspace */
		.workspace = LL_RW, .grants = LL_RW, .tmp = LL_RW, .exec_paths = git_exec },
	{ .id = JOB_LANGUAGE, .name = "language server", .filter = SECCOMP_COMMAND,
		.hardened = SECCOMP_COMMAND_HARDENED, .workspace_ro = true, .workspace_noexec = true, .own_network = true,
		.root = LL_RO, .system = LL_RX, .tools = LL_RX, .workspace = LL_RO, .grants = LL_RO, .tmp = LL_RWX },
	/* The only class of its cell, which shows what the operator granted this server. */
	{ .id = JOB_MCP, .name = "MCP server", .filter = SECCOMP_COMMAND,
		.hardened = SECCOMP_COMMAND_HARDENED, .root = LL_RO, .system = LL_RX,
		.tools = LL_RX, .grants = LL_RWX, .tmp = LL_RWX },
	{ .id = JOB_AGENT, .name = "agent", .filter = SECCOMP_INDEX, .hardened = SECCOMP_INDEX_HARDENED,
		.workspace_noexec = true, .own_network = true,
		.system = LL_RX, .etc = LL_RO, .tools = LL_RO, .workspace = LL_RW, .grants = LL_RW },
};

/* Where /usr is merged the others are links and get no rule. */
static const char *const system_dirs[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32" };
static const char *const shared_tmp[] = { "/tmp", "/dev/shm" };

struct jails {
	struct guards *guards; /* NULL: in a cell */
	struct cell cell;
	int ruleset[COUNT(classes)]; /* -1: not made yet */
	struct seccomp_filter *filter[COUNT(classes)]; /* NULL: not made yet */
};

const struct jail_class *jail_class_find(enum job_class id)
{
	for (size_t i = 0; i < COUNT(classes); i++)
		if (classes[i].id == id)
			return &classes[i];
	return NULL;
}

int jails_open(const struct cell *cell, struct jails **out, struct err *err)
{
	struct jails *j = mem_alloc(sizeof(*j));

	(void)err;
	j->cell = *cell;
	for (size_t i = 0; i < COUNT(classes); i++)
		j->ruleset[i] = -1;
	*out = j;
	return 0;
}

int jails_open_on(const struct ground *ground, int exe, int index_exe, struct jails **out, struct err *err)
{
	struct jails *j = mem_alloc(sizeof(*j));
	int r;

	for (size_t i = 0; i < COUNT(classes); i++)
		j->ruleset[i] = -1;
	r = guards_open(ground, exe, index_exe, &j->guards, err);
	if (r < 0)
		free(j);
	else
		*out = j;
	return r;
}

void jails_close(struct jails *j)
{
	if (!j)
		return;
	guards_close(j->guards);
	for (size_t i = 0; i < COUNT(classes); i++) {
		base_close_fd(&j->ruleset[i]);
		free(j->filter[i]);
	}
	free(j);
}

struct rules {
	size_t n, max;
	struct ll_rule rule[];
};

static void add(struct rules *r, const char *path, uint64_t access)
{
	BUG_IF(r->n == r->max);
	if (access != 0)
		r->rule[r->n++] = (struct ll_rule){ LL_PATH, .path = path, .access = access, .optional = true };
}

static void add_list(struct rules *r, const struct policy_list *l, uint64_t access)
{
	for (size_t i = 0; i < l->n; i++)
		add(r, l->p[i], access);
}

static int make_ruleset(const struct jails *j, const struct jail_class *class, int exe_fd, int *out, struct err *err)
{
	const struct root_spec *root = &j->cell.spec->root;
	size_t max = RULES_OWN + root->tool_paths.n + root->ro_paths.n + root->rw_paths.n;
	autofree struct rules *r = mem_alloc(sizeof(*r) + max * sizeof(*r->rule));

	r->max = max;
	if (!class->own_network) /* the cell's network namespace confines it; a server on loopback is fine */
		r->rule[r->n++] = (struct ll_rule){ .kind = LL_NET_FREE };
	add(r, "/", class->root);
	add(r, "/etc", class->etc);
	for (size_t i = 0; i < COUNT(system_dirs); i++)
		add(r, system_dirs[i], class->system);
	add(r, "/dev", LL_DEVICE); /* five nodes on a read-only directory; ioctls stay refused */
	for (size_t i = 0; i < COUNT(shared_tmp); i++)
		add(r, shared_tmp[i], class->tmp);
	add_list(r, &root->tool_paths, class->tools);
	add_list(r, &root->ro_paths, class->tools);
	add_list(r, &root->rw_paths, class->grants);
	if (root->workspace)
		add(r, root->workspace, root->workspace_ro ? class->workspace & LL_RX : class->workspace);
	for (size_t i = 0; class->exec_paths && class->exec_paths[i]; i++) {
		add(r, class->exec_paths[i], LL_READ_FILE | LL_EXECUTE);
		r->rule[r->n - 1].follow = true;
	}
	if (exe_fd > 0)
		r->rule[r->n++] = (struct ll_rule){ LL_FD, .fd = exe_fd, .access = LL_READ_FILE | LL_EXECUTE };
	return landlock_ruleset(r->rule, r->n, out, err);
}

/* A namespace of its own keeps the host's abstract unix sockets away; in the host's network Landlock does, where it can. */
static enum seccomp_profile filter_of(const struct jails *j, const struct jail_class *class)
{
	bool exposed = j->cell.spec->root.host_network && !class->own_network && j->cell.landlock_abi < LL_SCOPES_ABI;

	return exposed && class->filter == SECCOMP_COMMAND ? SECCOMP_COMMAND_INET : class->filter;
}

/* Everything that needs no more than the class is made once; a program given by descriptor has its own rule. */
static int take_rules(struct jails *j, const struct jail_spec *spec, int *own, struct launch *l, struct err *err)
{
	size_t at = (size_t)(spec->class - classes);

	if (!j->filter[at]) {
		autofree struct seccomp_filter *made = mem_alloc(sizeof(*made));

		TRY(seccomp_build(filter_of(j, spec->class), made, err));
		j->filter[at] = take(&made);
	}
	l->filter = j->filter[at];
	if (j->cell.landlock_abi == 0) /* the cell's notes say so; its mounts still hold */
		return 0;
	if (spec->exe_fd > 0) {
		TRY(make_ruleset(j, spec->class, spec->exe_fd, own, err));
		l->ruleset = *own;
		return 0;
	}
	if (j->ruleset[at] < 0)
		TRY(make_ruleset(j, spec->class, -1, &j->ruleset[at], err));
	l->ruleset = j->ruleset[at];
	return 0;
}

struct stub {
	struct launch launch;
	const struct cell *cell;
	const struct jail_class *class;
	int report;
};

static long own_proc(struct launch *l)
{
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY };
	long r = raw(SYS_mount, "proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);

	l->result->step = LAUNCH_PROC;
	if (r < 0)
		return r;
	l->result->step = LAUNCH_MASK;
	for (const struct procmask *m = procmasks; m->path; m++) {
		r = raw(SYS_mount, m->dir ? ROOT_MASK_DIR : ROOT_MASK_FILE, m->path, NULL, MS_BIND, NULL);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return raw(SYS_mount_setattr, AT_FDCWD, "/proc", 0, &ro, sizeof(ro));
}

/* What Landlock lets a class do in /tmp it lets it do in a grant below that too: so not the workspace alone. A grant that was
 * not there when the cell was built is no mount. */
static long narrow(const struct stub *s)
{
	const struct root_spec *root = &s->cell->spec->root;
	struct mount_attr attr = { 0 };
	long r = 0;

	attr.attr_set = (s->class->workspace_ro ? MOUNT_ATTR_RDONLY : 0) |
		(s->class->workspace_noexec ? MOUNT_ATTR_NOEXEC : 0);
	if (attr.attr_set == 0)
		return 0;
	s->launch.result->step = LAUNCH_NARROW;
	if (root->workspace)
		r = raw(SYS_mount_setattr, AT_FDCWD, root->workspace, AT_RECURSIVE, &attr, sizeof(attr));
	for (size_t i = 0; r >= 0 && i < root->rw_paths.n; i++) {
		r = raw(SYS_mount_setattr, AT_FDCWD, root->rw_paths.p[i], AT_RECURSIVE, &attr, sizeof(attr));
		if (r == -EINVAL || r == -ENOENT)
			r = 0;
	}
	/* A command may have moved what leads to a grant there, whose path then says nothing: all below, and not that itself. */
	struct mount_attr back = { .attr_clr = attr.attr_set };

	for (size_t i = 0; r >= 0 && root->rw_paths.n > 0 && i < COUNT(shared_tmp); i++) {
		r = raw(SYS_mount_setattr, AT_FDCWD, shared_tmp[i], AT_RECURSIVE, &attr, sizeof(attr));
		if (r >= 0)
			r = raw(SYS_mount_setattr, AT_FDCWD, shared_tmp[i], 0, &back, sizeof(back));
	}
	return r;
}

/* Process 1 of the jail, on a stack of its own in the memory of the process that made it, which waits for the
 * report: until then everything the launch points to is there; afterwards only the result is. */
static int stub_main(void *self)
{
	struct stub *s = self;
	struct launch_result *result = s->launch.result;
	long r = s->cell->has_proc ? own_proc(&s->launch) : 0;

	if (r >= 0)
		r = narrow(s);
	if (r < 0)
		result->sys = (int)-r;
	else
		r = launch_run(&s->launch);
	raw(SYS_write, s->report, "!", 1);
	if (r >= 0)
		launch_wait_all(result, r);
	raw(SYS_exit_group, 127);
	return 127;
}

static int wait_report(int fd)
{
	char c;
	ssize_t n;

	do
		n = read(fd, &c, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* Whatever went wrong, no process stays behind. */
static int stub_failed(struct stub *s, struct jail *j, bool reported, struct err *err)
{
	struct launch_result *result = s->launch.result;

	jail_kill(j);
	while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
		;
	base_close_fd(&j->pidfd);
	if (!reported)
		return err_set(err, ERR_SYS, "jail: its first process died before the command started");
	if (result->step != LAUNCH_EXEC)
		return launch_err(&s->launch, err);
	*j = (struct jail){ .pid = -1, .pidfd = -1, .exec_errno = result->sys };
	return 0;
}

static int start_stub(struct stub *s, struct jail *out, struct err *err)
{
	unsigned long flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_PIDFD | SIGCHLD |
		(s->class->own_network ? CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS : 0);
	sigset_t all, before;
	int report[2];

	if (pipe2(report, O_CLOEXEC) < 0)
		return err_sys(err, errno, "jail: pipe");
	autoclose int rd = report[0];
	autoclose int wr = report[1];
	s->report = wr;
	/* A handler of ours must not run on the other process's stack. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	long pid = launch_clone(stub_main, s->launch.stub_stack, flags, s, &out->pidfd);
	base_close_fd(&wr);
	bool reported = pid > 0 && wait_report(rd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return err_sys(err, (int)-pid, "jail: make its namespaces");
	out->pid = (pid_t)pid;
	if (!reported || s->launch.result->step != LAUNCH_OK)
		return stub_failed(s, out, reported, err);
	return 0;
}

int jail_spawn(struct jails *j, const struct jail_spec *spec, struct jail *out, struct err *err)
{
	struct jail made = { .pid = -1, .pidfd = -1 };
	autoclose int own_rules = -1;

	if (j->guards)
		return guards_spawn(j->guards, spec, out, err);
	struct stub s = { .cell = &j->cell, .class = spec->class };

	TRY(launch_open(&s.launch, spec, err));
	s.launch.processes_max = LAUNCH_PROCESSES_MAX;
	int r = take_rules(j, spec, &own_rules, &s.launch, err);
	if (r == 0)
		r = start_stub(&s, &made, err);
	launch_close(&s.launch);
	if (r < 0 || made.pid < 0) {
		launch_unmap(s.launch.map);
		if (r == 0)
			*out = made;
		return r;
	}
	made.map = s.launch.map;
	*out = made;
	return 0;
}

int jail_start_here(struct jails *j, const struct jail_spec *spec, long *child, int *exec_errno, struct err *err)
{
	autoclose int own_rules = -1;
	struct launch l;
	long r;

	TRY(launch_open(&l, spec, err));
	l.processes_max = LAUNCH_PROCESSES_MAX;
	TRY(take_rules(j, spec, &own_rules, &l, err));
	r = launch_run(&l);
	if (r >= 0)
		*child = r;
	else if (l.result->step == LAUNCH_EXEC)
		*exec_errno = l.result->sys;
	else
		return launch_err(&l, err);
	return 0;
}

_Noreturn void jail_wait_here(long child)
{
	struct launch_result result = { 0 };

	launch_wait_all(&result, child);
}

void jail_kill(const struct jail *j)
{
	if (j->guards)
		return guards_kill(j);
	syscall(SYS_pidfd_send_signal, j->pidfd, SIGKILL, NULL, 0);
}

static void read_status(const struct jail *j, int st, struct jail_status *out)
{
	const struct launch_result *result = launch_result_of(j->map);

	if (result->ended) /* what the command did; the stub only passes a number on */
		st = result->status;
	if (WIFSIGNALED(st))
		*out = (struct jail_status){ 128 + WTERMSIG(st), WTERMSIG(st) };
	else
		*out = (struct jail_status){ WEXITSTATUS(st), 0 };
}

int jail_reap(struct jail *j, struct jail_status *out, struct err *err)
{
	int st;
	pid_t r;

	if (j->guards)
		return guards_reap(j, out, err);
	do
		r = waitpid(j->pid, &st, 0);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_sys(err, errno, "wait for a jail");
	read_status(j, st, out);
	base_close_fd(&j->pidfd);
	launch_unmap(take(&j->map));
	return 0;
}
