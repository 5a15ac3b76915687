/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/launch.h"
#include "sandbox/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define FIRST_FD   3
#define PAGE       4096
#define STACK      (8 * PAGE)
#define MAP_BYTES  (PAGE + 2 * STACK)
#define UMASK      022
#define NR_RESTRICT_SELF 446
#define DEFAULT_PATH "/usr/bin:/bin"

static const char *const step_names[LAUNCH_STEPS] = {
	[LAUNCH_OK] = "start", [LAUNCH_PROC] = "mount /proc", [LAUNCH_MASK] = "mask /proc",
	[LAUNCH_NARROW] = "narrow the workspace", [LAUNCH_CAPS] = "drop every capability",
	[LAUNCH_CLONE] = "make the command's process", [LAUNCH_SESSION] = "start a session",
	[LAUNCH_FDS] = "hand over descriptors", [LAUNCH_CWD] = "enter the working directory",
	[LAUNCH_LIMITS] = "set limits", [LAUNCH_LANDLOCK] = "enter the Landlock rules",
	[LAUNCH_SECCOMP] = "install the system-call filter", [LAUNCH_EXEC] = "execute",
};

#ifdef AGENT6_SANITIZED
/* The sanitizers keep books that two processes must not write at once: no memory is shared but the result's. */
#define MAP_RESULT MAP_SHARED
long launch_clone(int (*fn)(void *), char *stack, unsigned long flags, void *arg, int *pidfd)
{
	long pid = syscall(SYS_clone, flags, NULL, pidfd, NULL, NULL);

	(void)stack;
	if (pid == 0)
		_exit(fn(arg));
	return pid < 0 ? -errno : pid;
}
#else
#define MAP_RESULT MAP_PRIVATE
long launch_clone(int (*fn)(void *), char *stack, unsigned long flags, void *arg, int *pidfd)
{
	int pid = clone(fn, stack, (int)(flags | CLONE_VM), arg, pidfd);

	return pid < 0 ? -errno : pid;
}
#endif

/* The map starts with its own size, then the result, then two stacks, then text. */
struct launch_result *launch_result_of(void *map)
{
	return (struct launch_result *)((char *)map + 64);
}

int launch_lift(int fd, int *out, struct err *err)
{
	*out = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD + JAIL_FDS_MAX);
	return *out < 0 ? err_sys(err, errno, "duplicate a descriptor") : 0;
}

static int lift_all(struct launch *l, struct err *err)
{
	const struct jail_spec *s = l->spec;
	const int wanted[3] = { s->in_fd, s->out_fd, s->err_fd };
	autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return err_sys(err, errno, "open /dev/null");
	for (int i = 0; i < 3; i++)
		TRY(launch_lift(wanted[i] >= 0 ? wanted[i] : null, &l->stdio[i], err));
	BUG_IF(s->nfds > JAIL_FDS_MAX);
	for (size_t i = 0; i < s->nfds; i++)
		TRY(launch_lift(s->fds[i], &l->fds[i], err));
	if (s->exe_fd > 0)
		TRY(launch_lift(s->exe_fd, &l->exe, err));
	return 0;
}

static struct str search_path(const char *const *env)
{
	for (size_t i = 0; env && env[i]; i++)
		if (strncmp(env[i], "PATH=", 5) == 0)
			return str_from(env[i] + 5);
	return STR(DEFAULT_PATH);
}

/* Every place argv[0] may be, written after the result, so that the child only has to try them. */
static int list_tries(struct launch *l, char *room, size_t room_n, struct err *err)
{
	const char *name = l->spec->argv[0];
	struct str path = search_path(l->spec->env);
	size_t n = 0;

	if (strchr(name, '/')) {
		l->tries[0] = name;
		return 0;
	}
	while (path.n > 0 && n < LAUNCH_TRY_MAX) {
		struct str dir = str_cut(&path, ':');
		int w;

		if (dir.n == 0 || dir.p[0] != '/') /* "here" is not a place to look for programs */
			continue;
		w = snprintf(room, room_n, STR_FMT "/%s", STR_ARG(dir), name);
		if (w < 0 || (size_t)w >= room_n)
			return err_set(err, ERR_LIMIT, "search PATH for %.64s: it is too long", name);
		l->tries[n++] = room;
		room += w + 1;
		room_n -= (size_t)w + 1;
	}
	return 0;
}

int launch_open(struct launch *l, const struct jail_spec *spec, struct err *err)
{
	size_t room = strlen(spec->argv[0]) + 2;
	struct str path = search_path(spec->env);

	*l = (struct launch){ .spec = spec, .stdio = { -1, -1, -1 }, .exe = -1, .ruleset = -1, .listener_to = -1, .strip_caps = true };
	for (size_t i = 0; i < JAIL_FDS_MAX; i++)
		l->fds[i] = -1;
	room = room * (LAUNCH_TRY_MAX + 1) + path.n + PAGE;
	l->map_n = (MAP_BYTES + room + PAGE - 1) & ~(size_t)(PAGE - 1);
	l->map = mmap(NULL, l->map_n, PROT_READ | PROT_WRITE, MAP_RESULT | MAP_ANONYMOUS, -1, 0);
	if (l->map == MAP_FAILED) {
		l->map = NULL;
		return err_sys(err, errno, "make room for a jail's stack");
	}
	*(size_t *)l->map = l->map_n;
	l->result = launch_result_of(l->map);
	l->stub_stack = (char *)l->map + PAGE + STACK;
	l->child_stack = l->stub_stack + STACK;
	int r = list_tries(l, l->child_stack, l->map_n - MAP_BYTES, err);
	if (r == 0)
		r = lift_all(l, err);
	if (r < 0) {
		launch_close(l);
		launch_unmap(take(&l->map));
	}
	return r;
}

void launch_close(struct launch *l)
{
	for (int i = 0; i < 3; i++)
		base_close_fd(&l->stdio[i]);
	for (size_t i = 0; i < JAIL_FDS_MAX; i++)
		base_close_fd(&l->fds[i]);
	base_close_fd(&l->exe);
}

void launch_unmap(void *map)
{
	if (map)
		munmap(map, *(size_t *)map);
}

int launch_err(const struct launch *l, struct err *err)
{
	int step = l->result->step;

	BUG_IF(step < 0 || step >= LAUNCH_STEPS);
	return err_sys(err, l->result->sys, "jail: %s%s%s", step_names[step], step == LAUNCH_CWD ? " " : "",
		step == LAUNCH_CWD ? l->spec->cwd : "");
}

static long fail(struct launch *l, enum launch_step step, long r)
{
	l->result->step = (int)step;
	l->result->sys = (int)-r;
	return r;
}

static long set_limit(int what, uint64_t value)
{
	struct rlimit old = { 0 }, now;
	long r = raw(SYS_prlimit64, 0, what, NULL, &old);

	if (r < 0)
		return r;
	now.rlim_cur = now.rlim_max = value < old.rlim_max ? value : old.rlim_max;
	return raw(SYS_prlimit64, 0, what, &now, NULL);
}

static long set_limits(const struct launch *l)
{
	long r = set_limit(RLIMIT_CORE, 0);

	if (r >= 0 && l->spec->memory_limit_mb > 0)
		r = set_limit(RLIMIT_DATA, (uint64_t)l->spec->memory_limit_mb << 20);
	if (r >= 0 && l->processes_max > 0)
		r = set_limit(RLIMIT_NPROC, (uint64_t)l->processes_max);
	return r;
}

static long place_fds(const struct launch *l)
{
	long r = 0;

	for (int i = 0; i < 3 && r >= 0; i++)
		r = raw(SYS_dup3, l->stdio[i], i, 0);
	for (size_t i = 0; i < l->spec->nfds && r >= 0; i++)
		r = raw(SYS_dup3, l->fds[i], FIRST_FD + (long)i, 0);
	/* Not closed here: the program, the rules and the report are still needed until exec. */
	return r < 0 ? r : raw(SYS_close_range, FIRST_FD + l->spec->nfds, ~0u, CLOSE_RANGE_CLOEXEC);
}

static long exec_tries(const struct launch *l)
{
	static const char *const none[] = { NULL };
	const char *const *env = l->spec->env ? l->spec->env : none;
	long worst = -ENOENT;

	if (l->exe >= 0)
		return raw(SYS_execveat, l->exe, "", l->spec->argv, env, AT_EMPTY_PATH);
	for (size_t i = 0; l->tries[i]; i++) {
		long r = raw(SYS_execve, l->tries[i], l->spec->argv, env);

		if (r != -ENOENT && r != -ENOTDIR && r != -EACCES)
			return r;
		if (r == -EACCES)
			worst = r;
	}
	return worst;
}

static void reset_signals(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} dflt = { 0 };
	uint64_t none = 0;

	/* Everything else was reset when the program started. */
	raw(SYS_rt_sigaction, SIGPIPE, &dflt, NULL, sizeof(none));
	raw(SYS_rt_sigaction, SIGCHLD, &dflt, NULL, sizeof(none));
	raw(SYS_rt_sigaction, SIGXFSZ, &dflt, NULL, sizeof(none));
	raw(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
}

static long send_fd(int to, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	char byte = '!';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control) };

	*(int *)CMSG_DATA(&control.head) = fd;
	return raw(SYS_sendmsg, to, &msg, 0);
}

static long enter_filter(const struct launch *l)
{
	struct sock_fprog prog = { .len = l->filter->n, .filter = (struct sock_filter *)l->filter->insn };
	bool listen = l->listener_to >= 0;
	long r = raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, listen ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &prog);

	return r < 0 || !listen ? r : send_fd(l->listener_to, (int)r);
}

/* The command's own process, until it becomes the command. */
static long become(struct launch *l)
{
	long r;

	if (l->die_with > 0 && ((r = raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)) < 0 ||
				       raw(SYS_getppid) != l->die_with))
		return fail(l, LAUNCH_SESSION, r < 0 ? r : -ESRCH);
	if ((r = raw(SYS_setsid)) < 0)
		return fail(l, LAUNCH_SESSION, r);
	if ((r = place_fds(l)) < 0)
		return fail(l, LAUNCH_FDS, r);
	if ((r = raw(SYS_chdir, l->spec->cwd)) < 0)
		return fail(l, LAUNCH_CWD, r);
	if ((r = set_limits(l)) < 0)
		return fail(l, LAUNCH_LIMITS, r);
	raw(SYS_umask, UMASK);
	reset_signals();
	if (l->ruleset >= 0 && (r = raw(NR_RESTRICT_SELF, l->ruleset, 0)) < 0)
		return fail(l, LAUNCH_LANDLOCK, r);
	if (l->filter && (r = enter_filter(l)) < 0) /* last: it refuses what the steps above need */
		return fail(l, LAUNCH_SECCOMP, r);
	return fail(l, LAUNCH_EXEC, exec_tries(l));
}

static int child_main(void *self)
{
	become(self);
	raw(SYS_exit_group, 127);
	return 127;
}

static long strip(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	long r;

	raw(SYS_prctl, PR_SET_SECUREBITS,
		SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
			SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		0, 0, 0);
	if ((r = raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) < 0)
		return r;
	return raw(SYS_capset, &head, none);
}

long launch_run(struct launch *l)
{
	long r;

	/* Before the child exists, so that it never has any. */
	if (l->strip_caps && (r = strip()) < 0)
		return fail(l, LAUNCH_CAPS, r);
	l->result->step = LAUNCH_OK;
	r = launch_clone(child_main, l->child_stack, CLONE_VFORK | SIGCHLD, l, NULL);
	if (r < 0)
		return fail(l, LAUNCH_CLONE, r);
	return l->result->step == LAUNCH_OK ? r : -l->result->sys; /* it wrote there only when it failed */
}

_Noreturn void launch_wait_all(struct launch_result *result, long child)
{
	int st = 0;

	/* Not one descriptor of the cell stays in a process of the jail's pid namespace. */
	raw(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	raw(SYS_close_range, 0, ~0u, 0);
	for (;;) {
		long r = raw(SYS_wait4, -1, &st, 0, NULL);

		if (r == child || (r < 0 && r != -EINTR))
			break;
	}
	result->status = st;
	result->ended = true;
	raw(SYS_exit_group, (st & 0x7f) ? 128 + (st & 0x7f) : (st >> 8) & 0xff);
	__builtin_unreachable();
}
