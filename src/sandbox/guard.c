/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/guard.h"
#include "sandbox/caps.h"
#include "sandbox/landlock.h"
#include "sandbox/launch.h"
#include "sandbox/meta.h"
#include "sandbox/once.h"
#include "sandbox/root_priv.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LANDLOCK_MIN 3
#define RULES_MAX    (4 * POLICY_PATHS_MAX + 128)

static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom" };

struct guard {
	const struct sandbox_policy *policy;
	struct root *root;
	struct arena *mem;
	const struct once *o;
	int life, listener, children; /* children: a signalfd of SIGCHLD */
	char tmp[64];
	struct policy_list written; /* beneath these, metadata may change */
	struct policy_list env;
};

static int refuse(const char *what, const char *path, struct err *err)
{
	err_set(err, ERR_UNSUPPORTED, "%s %s: profile \"hardened\" cannot: Landlock grants a directory whole", what, path);
	err_hint(err, "use profile \"strict\"");
	return -ERR_UNSUPPORTED;
}

static int pin(struct guard *g, struct err *err)
{
	const struct sandbox_policy *p = g->policy;
	struct root_spec spec = { .workspace = p->cwd, .ro_paths = p->extra_ro_paths, .rw_paths = p->extra_rw_paths,
		.tool_paths = p->tool_paths, .hide_paths = p->hide_paths, .protect_paths = p->extra_protect_paths };

	TRY(root_pin(&spec, g->mem, &g->root, err));
	for (size_t i = 0; i < g->root->covers.n; i++) {
		const struct grant *c = &g->root->covers.p[i];

		if (c->kind != GRANT_PIN)
			return refuse(c->kind == GRANT_HIDE ? "hide" : "protect", c->path, err);
	}
	if (landlock_abi() < LANDLOCK_MIN)
		return err_set(err, ERR_UNSUPPORTED, "profile \"hardened\" needs Landlock ABI %d, this kernel has %d",
			LANDLOCK_MIN, landlock_abi());
	return 0;
}

static int make_tmp(struct guard *g, struct err *err)
{
	char real[PATH_MAX];

	snprintf(g->tmp, sizeof(g->tmp), "/tmp/agent6-XXXXXX");
	if (!mkdtemp(g->tmp))
		return err_sys(err, errno, "make a private directory in /tmp");
	if (!realpath(g->tmp, real))
		return err_sys(err, errno, "find %s", g->tmp);
	policy_list_add(&g->written, g->mem, real);
	for (size_t i = 0; i < g->policy->env.n; i++)
		if (strncmp(g->policy->env.p[i], "TMPDIR=", 7) != 0)
			policy_list_add(&g->env, g->mem, g->policy->env.p[i]);
	policy_list_add(&g->env, g->mem, str_printf(g->mem, "TMPDIR=%s", real).p);
	return 0;
}

struct rules {
	size_t n;
	struct ll_rule rule[RULES_MAX];
};

static void add(struct rules *r, struct ll_rule rule)
{
	BUG_IF(r->n == RULES_MAX);
	r->rule[r->n++] = rule;
}

/* From the object that was pinned, never through a link planted meanwhile. */
static int add_grant(struct guard *g, struct rules *r, const struct grant *gr, struct err *err)
{
	bool written = gr->kind == GRANT_RW || gr->kind == GRANT_WORKSPACE;
	struct stat st;

	if (S_ISLNK(gr->st.st_mode))
		return 0;
	int fd = file_openat2(AT_FDCWD, gr->path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0,
		RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		return err_sys(err, errno, "open %s", gr->path);
	add(r, (struct ll_rule){ .kind = LL_FD, .fd = fd, .access = written ? LL_RWX : LL_RX });
	if (fstat(fd, &st) < 0 || st.st_dev != gr->st.st_dev || st.st_ino != gr->st.st_ino)
		return err_set(err, ERR_CONFLICT, "open %s: it was exchanged for something else", gr->path);
	if (written)
		policy_list_add(&g->written, g->mem, gr->path);
	return 0;
}

/* Not the whole of /etc: root, who keeps its id here, could read every secret in it. */
static void add_etc(struct guard *g, struct rules *r)
{
	/* gitconfig: git complains on every call about one that is there and does not open. */
	static const char *const accounts[] = { "passwd", "group", "nsswitch.conf", "hosts", "resolv.conf", "gitconfig",
		NULL };
	const char *const *const lists[] = { etc_names, etc_nested, accounts };

	for (size_t i = 0; i < COUNT(lists); i++)
		for (const char *const *name = lists[i]; *name; name++)
			add(r, (struct ll_rule){ .kind = LL_PATH, .path = str_printf(g->mem, "/etc/%s", *name).p,
				       .access = LL_RO, .optional = true, .follow = true });
}

static int make_rules(struct guard *g, struct rules *r, int *out, struct err *err)
{
	if (g->policy->network == NETWORK_HOST)
		add(r, (struct ll_rule){ .kind = LL_NET_FREE });
	add_etc(g, r);
	add(r, (struct ll_rule){ .kind = LL_PATH, .path = "/proc", .access = LL_RO, .optional = true });
	add(r, (struct ll_rule){ .kind = LL_PATH, .path = g->tmp, .access = LL_RWX });
	for (size_t i = 0; i < COUNT(devices); i++)
		add(r, (struct ll_rule){ .kind = LL_PATH, .path = devices[i], .access = LL_DEVICE });
	for (size_t i = 0; i < g->root->mounts.n; i++)
		TRY(add_grant(g, r, &g->root->mounts.p[i], err));
	return landlock_ruleset(r->rule, r->n, out, err);
}

static int landlock_of(struct guard *g, int *out, struct err *err)
{
	autofree struct rules *r = mem_alloc(sizeof(*r));
	int got = make_rules(g, r, out, err);

	for (size_t i = 0; i < r->n; i++)
		if (r->rule[i].kind == LL_FD)
			close(r->rule[i].fd);
	return got;
}

static int take_listener(int from, int *out, struct err *err)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c;

	if (recvmsg(from, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1 || !(c = CMSG_FIRSTHDR(&msg)) ||
		c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
		return err_set(err, ERR_SYS, "the command's filter gave no listener");
	memcpy(out, CMSG_DATA(c), sizeof(int));
	return 0;
}

static int start(struct guard *g, long *child, int *exec_errno, struct err *err)
{
	struct jail_spec spec = { .argv = g->policy->argv.p, .env = g->env.p, .cwd = g->policy->cwd, .in_fd = -1,
		.out_fd = g->o->out[1], .err_fd = g->o->errs[1], .memory_limit_mb = g->policy->memory_limit_mb };
	autofree struct seccomp_filter *filter = mem_alloc(sizeof(*filter));
	autoclose int ruleset = -1;
	int pair[2];
	struct launch l;

	TRY(seccomp_build(g->policy->network == NETWORK_HOST ? SECCOMP_COMMAND_HOSTNET : SECCOMP_COMMAND_HARDENED, filter,
		err));
	TRY(landlock_of(g, &ruleset, err));
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, errno, "make a socket pair");
	autoclose int mine = pair[0];
	autoclose int theirs = pair[1];
	TRY(launch_open(&l, &spec, err));
	l.filter = filter;
	l.ruleset = ruleset;
	l.listener_to = theirs;
	l.die_with = getpid();
	*child = launch_run(&l);
	launch_close(&l);
	if (*child >= 0)
		return take_listener(mine, &g->listener, err);
	if (l.result->step != LAUNCH_EXEC)
		return launch_err(&l, err);
	*exec_errno = l.result->sys;
	return 0;
}

/* Everybody whose parent died is a child of the guardian, so children are all there is to find, again and again.
 * One piece of the list at a time: a number that its end cuts would be somebody else's. */
static void kill_children(void)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)syscall(SYS_gettid));
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));
	struct str rest = str_of(text, n > 0 ? (size_t)n : 0);

	while (str_find(rest, STR(" ")) < rest.n) {
		int64_t pid;

		if (str_to_i64(str_cut(&rest, ' '), &pid, ERR_DISCARD) == 0 && pid > 1)
			kill((pid_t)pid, SIGKILL);
	}
}

static void sweep(void)
{
	for (;;) {
		kill_children();
		if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD)
			return;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

/* The command's wait status, or -1 when it had to be ended. */
static int watch(struct guard *g, pid_t command)
{
	struct pollfd p[3] = { { g->life, POLLIN, 0 }, { g->children, POLLIN, 0 }, { g->listener, POLLIN, 0 } };
	struct signalfd_siginfo info;
	int st;

	for (;;) {
		pid_t pid;

		while ((pid = waitpid(-1, &st, WNOHANG)) > 0)
			if (pid == command)
				return st;
		if (poll(p, COUNT(p), -1) < 0 && errno != EINTR)
			return -1;
		if (p[0].revents)
			return -1;
		if (p[1].revents && read(g->children, &info, sizeof(info)) < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		if (p[2].revents & POLLIN && meta_serve(g->listener, &g->written, ERR_DISCARD) < 0)
			return -1;
		if (p[2].revents & (POLLHUP | POLLERR | POLLNVAL))
			p[2].fd = -1; /* nobody is left under the filter */
	}
}

static int prepare(struct guard *g, struct err *err)
{
	sigset_t chld;

	if (setsid() < 0)
		return err_sys(err, errno, "start a session");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(err, errno, "become a subreaper");
	TRY(caps_drop_all(err));
	TRY(caps_undumpable(err));
	/* A keyring of its own, or none where the kernel has no keys. */
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &chld, NULL) < 0)
		return err_sys(err, errno, "block SIGCHLD");
	g->children = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (g->children < 0)
		return err_sys(err, errno, "watch for children");
	return make_tmp(g, err);
}

static void remove_tmp(const struct guard *g)
{
	if (g->tmp[0] && dir_remove_tree(AT_FDCWD, g->tmp, ERR_DISCARD) < 0)
		fprintf(stderr, "agent6-jail: %s could not be removed\n", g->tmp);
}

/* Only what it needs: the descriptors of whoever called are not its to hold. */
static void close_others(const struct guard *g)
{
	const int keep[] = { g->o->out[1], g->o->errs[1], g->o->verdict[1], g->life };
	int top = 2;

	for (size_t i = 0; i < COUNT(keep); i++)
		top = keep[i] > top ? keep[i] : top;
	for (int fd = 3; fd <= top; fd++) {
		bool kept = false;

		for (size_t i = 0; i < COUNT(keep); i++)
			kept |= keep[i] == fd;
		if (!kept)
			close(fd);
	}
	syscall(SYS_close_range, top + 1, ~0u, 0);
}

_Noreturn static void guard_main(struct guard *g)
{
	struct once_verdict v = { 0 };
	long child = -1;
	int st = -1;

	close_others(g);
	v.r = prepare(g, &v.err);
	if (v.r == 0)
		v.r = start(g, &child, &v.exec_errno, &v.err);
	bool told = write(g->o->verdict[1], &v, sizeof(v)) == (ssize_t)sizeof(v);
	/* The ends of its pipes are the command's now. */
	close(g->o->out[1]);
	close(g->o->errs[1]);
	close(g->o->verdict[1]);
	if (told && v.r == 0 && child > 0)
		st = watch(g, (pid_t)child);
	base_close_fd(&g->listener);
	sweep();
	remove_tmp(g);
	_exit(st < 0 ? ONCE_NOEXEC_CODE : WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st));
}

static void free_root(struct guard *g)
{
	root_free(g->root);
}

int guard_start(const struct once *o, struct cell_proc *out, int *life, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	CLEANUP(free_root) struct guard g = { .policy = o->policy, .o = o, .mem = mem, .listener = -1, .children = -1 };
	int pipes[2], pidfd, r;
	pid_t pid;

	TRY(pin(&g, err));
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	autoclose int mine = pipes[1];
	autoclose int theirs = pipes[0];
	g.life = theirs;
	pid = fork();
	if (pid == 0)
		guard_main(&g);
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
	*out = (struct cell_proc){ pid, pidfd };
	*life = take_fd(&mine);
	return 0;
}
