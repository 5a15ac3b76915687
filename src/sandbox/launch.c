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

static const char *const step_names[LAUNCH_STEPS] = {
	[LAUNCH_OK] = "start", [LAUNCH_PROC] = "mount /proc", [LAUNCH_MASK] = "mask /proc",
	[LAUNCH_NARROW] = "narrow the workspace", [LAUNCH_CAPS] = "drop every capability",
	[LAUNCH_WAIT] = "wait for its command",
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

static void init(struct launch *l)
{
	*l = (struct launch){ .stdio = { -1, -1, -1 }, .exe = -1, .ruleset = -1, .listener_to = -1, .post = -1, .strip_caps = true };
	for (size_t i = 0; i < JAIL_FDS_MAX; i++)
		l->fds[i] = -1;
}

static int map(struct launch *l, size_t room, struct err *err)
{
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
	return 0;
}

int launch_post(struct launch *l, struct err *err)
{
	init(l);
	return map(l, 0, err);
}

int launch_open(struct launch *l, const struct jail_spec *spec, struct err *err)
{
	int r;

	init(l);
	l->spec = spec;
	TRY(map(l, launch_tries_room(spec), err));
	r = launch_tries(spec, l->tries, l->child_stack, l->map_n - MAP_BYTES, err);
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

int launch_step_err(int step, int sys, const char *cwd, struct err *err)
{
	bool known = step >= 0 && step < LAUNCH_STEPS;

	return err_sys(err, sys, "jail: %s%s%s", step_names[known ? step : LAUNCH_OK], step == LAUNCH_CWD ? " " : "",
		step == LAUNCH_CWD ? cwd : "");
}

int launch_err(const struct launch *l, struct err *err)
{
	return launch_step_err(l->result->step, l->result->sys, l->spec ? l->spec->cwd : "", err);
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
	long r = 0;

	if (l->spec->memory_limit_mb > 0)
		r = set_limit(RLIMIT_DATA, (uint64_t)l->spec->memory_limit_mb << 20);
	if (r >= 0 && l->processes_max > 0)
		r = set_limit(RLIMIT_NPROC, (uint64_t)l->processes_max);
	return r;
}

static long place_fds(const struct launch *l)
{
	long r = 0;

	for (int i = 0; i < 3 && r >= 0; i++)
		if (l->stdio[i] >= 0)
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

static long null_stdio(struct launch *l)
{
	long null = raw(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC), r = null;

	for (int i = 0; i < 3 && r >= 0; i++)
		r = null == i ? raw(SYS_fcntl, i, F_SETFD, 0) : raw(SYS_dup3, null, i, 0);
	return r < 0 ? fail(l, LAUNCH_FDS, r) : 0;
}

/* How many, or minus an errno; 0: whoever would have ordered something is gone. */
static long receive_fds(int from, int *fds)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * LAUNCH_SENT_MAX)];
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control) };
	const struct cmsghdr *c;
	long r;

	do
		r = raw(SYS_recvmsg, from, &msg, MSG_CMSG_CLOEXEC);
	while (r == -EINTR);
	if (r <= 0)
		return r == 0 ? -EPIPE : r;
	c = CMSG_FIRSTHDR(&msg);
	if (!c)
		return 0;
	long n = (long)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(fds, CMSG_DATA(c), (size_t)n * sizeof(int));
	return n;
}

/* Those of the standard streams are above what they become already. */
static long sort_fds(struct launch *l, const int *fds, long n)
{
	const int wanted[] = { l->spec->in_fd, l->spec->out_fd, l->spec->err_fd };
	long at = 0, r = 0;

	for (int i = 0; i < 3; i++)
		if (wanted[i] >= 0 && at < n)
			l->stdio[i] = fds[at++];
	if (l->spec->exe_fd > 0 && at < n)
		l->exe = (int)(r = raw(SYS_fcntl, fds[at++], F_DUPFD_CLOEXEC, FIRST_FD + JAIL_FDS_MAX));
	for (size_t i = 0; i < l->spec->nfds && r >= 0 && at < n; i++)
		l->fds[i] = (int)(r = raw(SYS_fcntl, fds[at++], F_DUPFD_CLOEXEC, FIRST_FD + JAIL_FDS_MAX));
	return r < 0 ? r : 0;
}

/* Nothing of whoever made it stays with it but the way its order comes. */
static long stand_by(struct launch *l)
{
	int fds[LAUNCH_SENT_MAX];
	long r = raw(SYS_close_range, FIRST_FD, l->post - 1, 0);

	if (r >= 0)
		r = raw(SYS_close_range, l->post + 1, ~0u, 0);
	if (r < 0 || (r = receive_fds(l->post, fds)) < 0)
		return fail(l, LAUNCH_WAIT, r);
	l->spec = &l->order->spec;
	l->processes_max = l->order->processes_max;
	memcpy(l->tries, l->order->tries, sizeof(l->tries));
	r = sort_fds(l, fds, r);
	return r < 0 ? fail(l, LAUNCH_FDS, r) : 0;
}

/* Its own session, limits, signals: what no command has a say in. */
static long detach(struct launch *l)
{
	long r;

	if (l->die_with > 0 && ((r = raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)) < 0 ||
				       raw(SYS_getppid) != l->die_with))
		return fail(l, LAUNCH_SESSION, r < 0 ? r : -ESRCH);
	if ((r = raw(SYS_setsid)) < 0)
		return fail(l, LAUNCH_SESSION, r);
	if ((r = set_limit(RLIMIT_CORE, 0)) < 0)
		return fail(l, LAUNCH_LIMITS, r);
	raw(SYS_umask, UMASK);
	reset_signals();
	return 0;
}

static long settle(struct launch *l)
{
	long r;

	if ((r = place_fds(l)) < 0)
		return fail(l, LAUNCH_FDS, r);
	if ((r = raw(SYS_chdir, l->spec->cwd)) < 0)
		return fail(l, LAUNCH_CWD, r);
	if ((r = set_limits(l)) < 0)
		return fail(l, LAUNCH_LIMITS, r);
	return 0;
}

static long confine(struct launch *l)
{
	long r;

	if (l->ruleset >= 0 && (r = raw(NR_RESTRICT_SELF, l->ruleset, 0)) < 0)
		return fail(l, LAUNCH_LANDLOCK, r);
	if (l->filter && (r = enter_filter(l)) < 0)
		return fail(l, LAUNCH_SECCOMP, r);
	return 0;
}

/* The command's own process, until it becomes the command. What its filter refuses comes before it; what needs to know
 * the command comes before it too, unless it stands at a post: no filter that has one refuses any of that. */
static long become(struct launch *l)
{
	long r = detach(l);

	if (r >= 0 && l->post < 0)
		r = settle(l);
	if (r >= 0 && l->post >= 0)
		r = null_stdio(l);
	if (r >= 0)
		r = confine(l);
	if (r >= 0 && l->post >= 0 && (r = stand_by(l)) >= 0)
		r = settle(l);
	return r < 0 ? r : fail(l, LAUNCH_EXEC, exec_tries(l));
}

static int child_main(void *self)
{
	const struct launch *l = self;

	become(self);
	if (l->post >= 0)
		raw(SYS_write, l->post, l->result, sizeof(*l->result));
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
	r = launch_clone(child_main, l->child_stack, (l->post < 0 ? CLONE_VFORK : 0) | SIGCHLD, l, NULL);
	if (r < 0)
		return fail(l, LAUNCH_CLONE, r);
	return l->post >= 0 || l->result->step == LAUNCH_OK ? r : -l->result->sys; /* it wrote there only when it failed */
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
