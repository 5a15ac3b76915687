/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/proc.h"
#include "sys/crash.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FIRST_FD     3
#define STACK_NEEDED (512 * 1024)

enum step { STEP_STDIO, STEP_FDS, STEP_CWD, STEP_DEATH, STEP_EXEC };
static const char *const step_names[] = { "set up its stdio", "hand over descriptors", "chdir", "tie its life to ours",
	"execute" };

struct failure {
	enum step step;
	int sys;
};

struct plan {
	const struct proc_spec *spec;
	int report; /* where the child tells what failed; above every target */
	int null;
	int exe;
	int high[PROC_FDS_MAX];
	int stdio[3];
	pid_t parent;
};

/* The child shares our memory until it executes: system calls only, nothing here allocates or takes a lock. */
_Noreturn static void child_fail(const struct plan *p, enum step step)
{
	struct failure f = { step, errno };
	ssize_t n = write(p->report, &f, sizeof(f));

	_exit(n == (ssize_t)sizeof(f) ? 127 : 126);
}

static void reset_signals(void)
{
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void child_run(const struct plan *p)
{
	const struct proc_spec *spec = p->spec;
	static char *const no_env[] = { NULL };
	char *const *env = spec->env ? (char *const *)spec->env : no_env;

	reset_signals();
	if (spec->own_session)
		setsid();
	for (int i = 0; i < 3; i++)
		if (p->stdio[i] >= 0 && dup2(p->stdio[i], i) < 0)
			child_fail(p, STEP_STDIO);
	for (size_t i = 0; i < spec->nfds; i++)
		if (dup2(p->high[i], FIRST_FD + (int)i) < 0)
			child_fail(p, STEP_FDS);
	/* What our own parent leaked to us ends here; the report pipe and the program are closed by exec too. */
	if (syscall(SYS_close_range, FIRST_FD + (unsigned)spec->nfds, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		child_fail(p, STEP_FDS);
	if (spec->cwd && chdir(spec->cwd) < 0)
		child_fail(p, STEP_CWD);
	if (spec->die_with_parent && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		child_fail(p, STEP_DEATH);
	if (spec->die_with_parent && getppid() != p->parent) { /* it died before we asked */
		errno = ESRCH;
		child_fail(p, STEP_DEATH);
	}
	if (spec->exe_fd > 0)
		syscall(SYS_execveat, p->exe, "", spec->argv, env, AT_EMPTY_PATH);
	else if (strchr(spec->argv[0], '/'))
		execve(spec->argv[0], (char *const *)spec->argv, env);
	else
		execvpe(spec->argv[0], (char *const *)spec->argv, env);
	child_fail(p, STEP_EXEC);
}

/* A function of its own, so that no variable of ours lives on a stack frame that two processes use. */
static __attribute__((noinline)) pid_t start_child(const struct plan *p)
{
#ifdef AGENT6_SANITIZED
	pid_t pid = fork();
#else
	pid_t pid = vfork();
#endif

	if (pid == 0)
		child_run(p);
	return pid;
}

/* A copy above every number the child will overwrite. */
static int lift(int fd, int *out, struct err *err)
{
	int up = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD + PROC_FDS_MAX);

	if (up < 0)
		return err_sys(err, errno, "duplicate a descriptor");
	*out = up;
	return 0;
}

static void close_plan(struct plan *p)
{
	for (size_t i = 0; i < PROC_FDS_MAX; i++)
		if (p->high[i] >= 0)
			close(p->high[i]);
	for (int i = 0; i < 3; i++)
		if (p->stdio[i] >= 0)
			close(p->stdio[i]);
	if (p->exe >= 0)
		close(p->exe);
	if (p->null >= 0)
		close(p->null);
}

static int prepare(const struct proc_spec *spec, struct plan *p, struct err *err)
{
	const int wanted[3] = { spec->in_fd, spec->out_fd, spec->err_fd };

	BUG_IF(spec->nfds > PROC_FDS_MAX);
	p->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (p->null < 0)
		return err_sys(err, errno, "open /dev/null");
	for (size_t i = 0; i < spec->nfds; i++)
		TRY(lift(spec->fds[i], &p->high[i], err));
	if (spec->exe_fd > 0)
		TRY(lift(spec->exe_fd, &p->exe, err));
	for (int i = 0; i < 3; i++)
		if (wanted[i] > 0)
			TRY(lift(wanted[i], &p->stdio[i], err));
		else if (!spec->keep_stdio)
			TRY(lift(p->null, &p->stdio[i], err));
	return 0;
}

static int read_failure(int fd, const struct proc_spec *spec, struct err *err)
{
	struct failure f;
	ssize_t n;

	do
		n = read(fd, &f, sizeof(f));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return 0; /* exec closed it */
	if (n != (ssize_t)sizeof(f) || (size_t)f.step >= COUNT(step_names))
		return err_set(err, ERR_SYS, "run %s: it died before it started", spec->argv[0]);
	return err_sys(err, f.sys, "run %s: %s%s%s", spec->argv[0], step_names[f.step],
		f.step == STEP_CWD ? " " : "", f.step == STEP_CWD ? spec->cwd : "");
}

int proc_spawn(const struct proc_spec *spec, struct proc *out, struct err *err)
{
	CLEANUP(close_plan) struct plan p = { .spec = spec, .report = -1, .null = -1, .exe = -1,
		.high = { -1, -1, -1, -1, -1, -1, -1, -1 }, .stdio = { -1, -1, -1 }, .parent = getpid() };
	int report[2], pidfd;
	sigset_t all, before;

	TRY(prepare(spec, &p, err));
	if (pipe2(report, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	autoclose int rd = report[0];
	autoclose int wr = report[1];
	int r = lift(wr, &p.report, err);
	if (r < 0)
		return r;

	/* No handler of ours may run in the child before it has reset them. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = start_child(&p);
	int sys = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(p.report);
	close(take_fd(&wr));
	if (pid < 0)
		return err_sys(err, sys, "fork");
	r = read_failure(rd, spec, err);
	if (r < 0) {
		waitpid(pid, NULL, 0);
		return r;
	}
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		sys = errno;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return err_sys(err, sys, "pidfd_open");
	}
	fcntl(pidfd, F_SETFD, FD_CLOEXEC);
	*out = (struct proc){ pid, pidfd };
	return 0;
}

int proc_fork(struct proc *out, struct err *err)
{
	pid_t pid = fork();
	int pidfd;

	if (pid < 0)
		return err_sys(err, errno, "fork");
	if (pid == 0)
		return 1;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		int sys = errno;

		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return err_sys(err, sys, "pidfd_open");
	}
	fcntl(pidfd, F_SETFD, FD_CLOEXEC);
	*out = (struct proc){ pid, pidfd };
	return 0;
}

int proc_wait(struct proc *p, struct proc_status *out, struct err *err)
{
	int st;
	pid_t r;

	do
		r = waitpid(p->pid, &st, 0);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_sys(err, errno, "wait for process %d", (int)p->pid);
	close(p->pidfd);
	p->pidfd = -1;
	if (WIFSIGNALED(st))
		*out = (struct proc_status){ 128 + WTERMSIG(st), WTERMSIG(st) };
	else
		*out = (struct proc_status){ WEXITSTATUS(st), 0 };
	return 0;
}

int proc_kill(const struct proc *p, int sig)
{
	return (int)syscall(SYS_pidfd_send_signal, p->pidfd, sig, NULL, 0);
}

void proc_kill_session(const struct proc *p)
{
	kill(-p->pid, SIGKILL);
	proc_kill(p, SIGKILL);
}

/* What does not fit is read and dropped, so that the program is never held up. */
static bool drain(int *fd, struct buf *into)
{
	char step[16384];
	ssize_t n = read(*fd, step, sizeof(step));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return false;
	size_t room = into->max - into->n;
	return buf_add(into, str_head(str_of(step, (size_t)n), room), ERR_DISCARD) == 0;
}

/* A program that ends without reading its input has a result; the signal would end us before we saw it. */
static int feed(int *fd, struct str *in)
{
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	ssize_t n = write(*fd, in->p, in->n);
	int sys = errno;

	signal(SIGPIPE, before);
	if (n < 0)
		return sys == EINTR || sys == EAGAIN ? 0 : -1;
	*in = str_skip(*in, (size_t)n);
	return in->n > 0 ? 0 : -1;
}

static int pump(const struct proc *p, int *in_fd, struct str in, int *out_fd, int *err_fd, int64_t deadline_ms,
	struct buf *out, struct buf *errs, struct err *err)
{
	int64_t end = deadline_ms > 0 ? time_mono_ms() + deadline_ms : 0;

	/* Until the program ends, also when it has closed its own output: the deadline holds for that too. */
	for (;;) {
		struct pollfd fds[4] = { { *out_fd, POLLIN, 0 }, { *err_fd, POLLIN, 0 },
			{ *in_fd, POLLOUT, 0 }, { p->pidfd, POLLIN, 0 } };
		int64_t left = end > 0 ? end - time_mono_ms() : -1;

		if (end > 0 && left <= 0) {
			proc_kill_session(p);
			return err_set(err, ERR_TIMEOUT, "it took longer than %lld ms", (long long)deadline_ms);
		}
		if (poll(fds, 4, left > INT_MAX ? INT_MAX : (int)left) < 0 && errno != EINTR)
			return err_sys(err, errno, "poll");
		if (fds[0].revents && !drain(out_fd, out))
			base_close_fd(out_fd);
		if (fds[1].revents && !drain(err_fd, errs))
			base_close_fd(err_fd);
		if (fds[2].revents && feed(in_fd, &in) < 0)
			base_close_fd(in_fd);
		/* The program's end counts, not the pipe's: a daemon it left may hold the pipe for ever. */
		if (fds[3].revents && !(fds[0].revents & POLLIN) && !(fds[1].revents & POLLIN))
			return 0;
	}
}

static int pipe_for(int *mine, int *theirs, bool i_read, struct err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	*mine = fds[i_read ? 0 : 1];
	*theirs = fds[i_read ? 1 : 0];
	fcntl(*mine, F_SETFL, O_NONBLOCK);
	return 0;
}

int proc_run(const struct proc_spec *spec, struct str in, int64_t deadline_ms, struct buf *out, struct buf *errs,
	struct proc_status *st, struct err *err)
{
	autoclose int in_w = -1, in_r = -1, out_r = -1, out_w = -1, err_r = -1, err_w = -1;
	struct proc_spec s = *spec;
	struct proc p;
	int r, w;

	if (in.n > 0) {
		TRY(pipe_for(&in_w, &in_r, false, err));
		s.in_fd = in_r;
	}
	TRY(pipe_for(&out_r, &out_w, true, err));
	TRY(pipe_for(&err_r, &err_w, true, err));
	s.out_fd = out_w;
	s.err_fd = err_w;
	s.own_session = true;
	TRY(proc_spawn(&s, &p, err));
	base_close_fd(&in_r);
	base_close_fd(&out_w);
	base_close_fd(&err_w);
	r = pump(&p, &in_w, in, &out_r, &err_r, deadline_ms, out, errs, err);
	if (r < 0)
		proc_kill(&p, SIGKILL);
	w = proc_wait(&p, st, r < 0 ? ERR_DISCARD : err);
	return r < 0 ? r : w;
}

int proc_pipes_open(struct proc_pipes *out, struct err *err)
{
	int ask[2], tell[2];

	if (pipe2(ask, O_CLOEXEC) < 0)
		return err_sys(err, errno, "make a pipe");
	if (pipe2(tell, O_CLOEXEC) < 0) {
		int sys = errno;

		close(ask[0]);
		close(ask[1]);
		return err_sys(err, sys, "make a pipe");
	}
	*out = (struct proc_pipes){ .child_in = ask[0], .to = ask[1], .from = tell[0], .child_out = tell[1] };
	return 0;
}

void proc_pipes_close(struct proc_pipes *p)
{
	base_close_fd(&p->child_in);
	base_close_fd(&p->child_out);
	base_close_fd(&p->to);
	base_close_fd(&p->from);
}

int proc_self_exe(int *out, struct err *err)
{
	int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, errno, "open our own program");
	*out = fd;
	return 0;
}

int proc_need_stack(struct err *err)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_STACK, &l) < 0)
		return err_sys(err, errno, "read the stack limit");
	if (l.rlim_cur >= STACK_NEEDED)
		return 0;
	if (l.rlim_max < STACK_NEEDED) {
		err_set(err, ERR_UNSUPPORTED, "the limit of the stack's size is %llu KiB here, and %d KiB are needed",
			(unsigned long long)l.rlim_max / 1024, STACK_NEEDED / 1024);
		err_hint(err, "start it where ulimit -s says more");
		return -ERR_UNSUPPORTED;
	}
	l.rlim_cur = STACK_NEEDED;
	return setrlimit(RLIMIT_STACK, &l) < 0 ? err_sys(err, errno, "raise the stack limit") : 0;
}

int proc_sanitize(unsigned keep_fds, struct err *err)
{
	struct rlimit none = { 0, 0 };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd)
			return err_sys(err, errno, "open /dev/null for descriptor %d", fd);
	if (syscall(SYS_close_range, FIRST_FD + keep_fds, ~0u, 0) < 0)
		return err_sys(err, errno, "close inherited descriptors");
	for (unsigned i = 0; i < keep_fds; i++)
		fcntl(FIRST_FD + (int)i, F_SETFD, FD_CLOEXEC);
	reset_signals();
	crash_watch(keep_fds > 0 ? FIRST_FD : -1); /* the first of them is the channel to the monitor */
	signal(SIGXFSZ, SIG_IGN); /* past a file size limit a write says EFBIG, which somebody can report */
	signal(SIGPIPE, SIG_IGN); /* and EPIPE where who reads is gone: a server in its jail, say */
	umask(077);
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_sys(err, errno, "forbid core dumps");
	return 0;
}
