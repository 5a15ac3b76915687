/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/guards.h"
#include "fmt/pack.h"
#include "sandbox/fds.h"
#include "sandbox/guard.h"
#include "sandbox/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define CLASSES      (JOB_MCP + 1)
#define GUARDS_MAX   32
#define REQUEST_MAX  (256 * 1024)
#define SENT_MAX     (4 + JAIL_FDS_MAX)

enum word { WORD_RUN = 'r', WORD_KILL = 'k', WORD_STANDS = 's', WORD_FAILED = 'f', WORD_ENDED = 'e', WORD_LAST = 'l' };

/* What a zygote and one guardian of it say to each other, beside a byte and descriptors over their socket. The guardian
 * may have read hostile bytes: nothing it writes here is used as a size or a place. */
struct shared {
	int r, exec_errno, status;
	struct err err;
	size_t n; /* of the request */
	char bytes[REQUEST_MAX];
};

struct warden {
	pid_t pid; /* 0: none */
	int sock;
	bool busy;
	struct shared *shared;
};

struct guards {
	const struct ground *ground;
	int exe, index_exe, children;
	struct kit {
		const struct jail_class *class;
		int ruleset, own_ruleset; /* own: with the program of ours; -1: not made yet */
		struct policy_list written;
		struct seccomp_filter filter;
	} kits[CLASSES];
	struct warden warden[GUARDS_MAX];
};

/* ---- both sides ---- */

static int say(int sock, enum word w, const int *fds, size_t n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * SENT_MAX)];
	} control;
	char byte = (char)w;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t r;

	if (n > 0) {
		memset(&control, 0, sizeof(control));
		control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int) * n), .cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * n);
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n);
	}
	do
		r = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (r < 0 && errno == EINTR);
	return r == 1 ? 0 : -1;
}

/* The word, or 0 at the end. */
static int hear(int sock, int *fds, size_t *n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * SENT_MAX)];
	} control;
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = n ? &control : NULL,
		.msg_controllen = n ? sizeof(control) : 0 };
	const struct cmsghdr *c;
	ssize_t r;

	do
		r = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (r < 0 && errno == EINTR);
	if (n)
		*n = 0;
	if (r == 1 && n && (c = CMSG_FIRSTHDR(&msg)) && c->cmsg_type == SCM_RIGHTS) {
		*n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), *n * sizeof(int));
	}
	return r == 1 ? byte : 0;
}

/* ---- a guardian ---- */

struct post { /* where it stands */
	struct guards *all;
	struct shared *shared;
	int sock;
	struct guard guard;
};

static const char *const *words(struct arena *mem, struct unpack *u)
{
	size_t n;
	const struct str *list = unpack_strs(u, mem, REQUEST_MAX, &n);
	const char **out = arena_array(mem, n + 1, sizeof(*out));

	for (size_t i = 0; i < n; i++)
		out[i] = str_dupz(mem, list[i]);
	return out;
}

/* Descriptors come in this order: the rules, stdin, stdout, stderr, the program, the others. */
static int request(const struct shared *s, const int *fds, size_t nfds, struct arena *mem, struct jail_spec *out,
	struct err *err)
{
	struct unpack u = unpack_from(str_of(s->bytes, s->n < REQUEST_MAX ? s->n : REQUEST_MAX));
	int *const single[] = { &out->in_fd, &out->out_fd, &out->err_fd, &out->exe_fd };
	uint8_t class = unpack_u8(&u), have;
	size_t at = 1;

	*out = (struct jail_spec){ .class = jail_class_find(class), .memory_limit_mb = unpack_i64(&u) };
	out->cwd = str_dupz(mem, unpack_str(&u));
	out->argv = words(mem, &u);
	out->env = words(mem, &u);
	have = unpack_u8(&u);
	for (size_t i = 0; i < COUNT(single); i++)
		*single[i] = have & (1u << i) ? (at < nfds ? fds[at++] : -1) : -1;
	out->fds = fds + at;
	out->nfds = nfds > at ? nfds - at : 0;
	if (!unpack_done(&u) || !out->class || nfds < 1 || out->nfds > JAIL_FDS_MAX || !out->argv[0])
		return err_set(err, ERR_PROTOCOL, "the request of a zygote does not decode");
	return 0;
}

static long begin(struct post *p, struct shared *s, const int *fds, size_t nfds, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	struct jail_spec spec;
	struct launch l;
	long child;

	TRY(request(s, fds, nfds, mem, &spec, err));
	struct kit *kit = &p->all->kits[spec.class->id];

	p->guard.written = &kit->written;
	TRY(launch_open(&l, &spec, err));
	l.filter = &kit->filter;
	l.ruleset = fds[0];
	child = guard_launch(&p->guard, &l, err);
	if (child == 0)
		s->exec_errno = l.result->sys;
	launch_close(&l);
	launch_unmap(l.map);
	return child;
}

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

/* One command from its start to the end of everything it left. False: nobody is to hear more of this guardian. */
static bool serve(struct post *p)
{
	struct shared *s = p->shared;
	int fds[SENT_MAX], st = -1;
	size_t n = 0;
	int word = hear(p->sock, fds, &n);

	if (word != WORD_RUN) { /* a command that had ended was to be killed; or the zygote is gone */
		close_all(fds, n);
		return word != 0;
	}
	s->exec_errno = 0;
	s->status = -1;
	long child = begin(p, s, fds, n, &s->err);
	s->r = child < 0 ? (int)child : 0;
	close_all(fds, n);
	if (say(p->sock, child > 0 ? WORD_STANDS : WORD_FAILED, NULL, 0) < 0)
		st = -1;
	else if (child > 0)
		st = guard_watch(&p->guard, (pid_t)child);
	guard_sweep(&p->guard);
	s->status = st;
	if (child <= 0)
		return true;
	return say(p->sock, p->guard.read_memory ? WORD_LAST : WORD_ENDED, NULL, 0) == 0 && !p->guard.read_memory;
}

_Noreturn static void guardian(struct guards *all, struct shared *shared, int sock)
{
	struct post p = { .all = all, .shared = shared, .sock = sock,
		.guard = { .stop = sock, .listener = -1, .ended = -1, .children = -1 } };
	struct err err = { 0 };

	if (fds_keep(&sock, 1, &err) < 0 || guard_enter(&p.guard, &err) < 0)
		_exit(1);
	while (serve(&p))
		;
	_exit(0);
}

/* ---- its zygote ---- */

static int make_kit(struct guards *g, enum job_class id, struct err *err)
{
	struct kit *kit = &g->kits[id];
	const struct jail_class *class = jail_class_find(id);
	bool host = g->ground->host_network && !class->own_network && class->id != JOB_GIT;

	*kit = (struct kit){ .class = class, .ruleset = -1, .own_ruleset = -1 };
	ground_written(g->ground, class, &kit->written);
	return seccomp_build(host ? SECCOMP_COMMAND_HOSTNET : class->hardened, &kit->filter, err);
}

int guards_open(const struct ground *ground, int exe, int index_exe, struct guards **out, struct err *err)
{
	struct guards *g = mem_alloc(sizeof(*g));
	int r = 0;

	*g = (struct guards){ .ground = ground, .exe = exe, .index_exe = index_exe, .children = sweep_open() };
	for (int id = JOB_COMMAND; id < CLASSES; id++)
		g->kits[id] = (struct kit){ .ruleset = -1, .own_ruleset = -1 };
	for (int id = JOB_COMMAND; id < CLASSES && r == 0; id++)
		r = make_kit(g, id, err);
	if (r < 0)
		guards_close(g);
	else
		*out = g;
	return r;
}

static int *ruleset_of(struct guards *g, const struct jail_spec *spec, struct err *err)
{
	struct kit *kit = &g->kits[spec->class->id];
	bool own = spec->exe_fd > 0;
	int exe = kit->class->id == JOB_INDEX ? g->index_exe : g->exe;
	int *ruleset = own ? &kit->own_ruleset : &kit->ruleset;

	if (*ruleset < 0 && ground_rules(g->ground, kit->class, own ? exe : -1, ruleset, err) < 0)
		return NULL;
	return ruleset;
}

static void forget(struct warden *w)
{
	base_close_fd(&w->sock);
	if (w->shared)
		munmap(w->shared, sizeof(*w->shared));
	*w = (struct warden){ .sock = -1 };
}

/* Waits for one that ends by itself, or makes it; what it leaves is nobody's but ours. */
static void dismiss(struct guards *g, struct warden *w, bool now)
{
	pid_t keep[GUARDS_MAX];
	size_t n = 0;

	base_close_fd(&w->sock);
	if (now)
		kill(w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	forget(w);
	for (size_t i = 0; i < GUARDS_MAX; i++)
		if (g->warden[i].pid > 0)
			keep[n++] = g->warden[i].pid;
	sweep_all(g->children, keep, n);
}

static int recruit(struct guards *g, struct warden *w, struct err *err)
{
	int pair[2];

	w->shared = mmap(NULL, sizeof(*w->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->shared == MAP_FAILED) {
		w->shared = NULL;
		return err_sys(err, errno, "make room for a guardian");
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, errno, "make a socket pair");
	w->pid = fork();
	if (w->pid == 0)
		guardian(g, w->shared, pair[1]);
	close(pair[1]);
	w->sock = pair[0];
	if (w->pid < 0) {
		w->pid = 0;
		return err_sys(err, errno, "fork a guardian");
	}
	return 0;
}

static int pick(struct guards *g, struct warden **out, struct err *err)
{
	struct warden *none = NULL;

	for (size_t i = 0; i < GUARDS_MAX; i++) {
		struct warden *w = &g->warden[i];

		if (w->pid > 0 && !w->busy) {
			*out = w;
			return 0;
		}
		if (w->pid == 0 && !none)
			none = w;
	}
	if (!none)
		return err_set(err, ERR_LIMIT, "%d commands have a guardian already", GUARDS_MAX);
	int r = recruit(g, none, err);
	if (r < 0)
		forget(none);
	*out = none;
	return r;
}

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static void pack_words(struct buf *b, const char *const *list)
{
	size_t n = count(list);
	auto_arena struct arena *tmp = arena_new();
	struct str *strs = arena_array(tmp, n + 1, sizeof(*strs));

	for (size_t i = 0; i < n; i++)
		strs[i] = str_from(list[i]);
	pack_strs(b, strs, n);
}

static int ask(struct warden *w, const struct jail_spec *spec, int ruleset, struct err *err)
{
	const int single[] = { spec->in_fd, spec->out_fd, spec->err_fd, spec->exe_fd > 0 ? spec->exe_fd : -1 };
	auto_buf struct buf b = BUF_MAX(REQUEST_MAX);
	int fds[SENT_MAX] = { ruleset };
	size_t n = 1;
	uint8_t have = 0;

	for (size_t i = 0; i < COUNT(single); i++)
		if (single[i] >= 0) {
			have |= (uint8_t)(1u << i);
			fds[n++] = single[i];
		}
	BUG_IF(n + spec->nfds > SENT_MAX);
	for (size_t i = 0; i < spec->nfds; i++)
		fds[n++] = spec->fds[i];
	pack_u8(&b, (uint8_t)spec->class->id);
	pack_i64(&b, spec->memory_limit_mb);
	pack_str(&b, str_from(spec->cwd));
	pack_words(&b, spec->argv);
	pack_words(&b, spec->env);
	pack_u8(&b, have);
	if (pack_ok(&b, err) < 0)
		return err_set(err, ERR_LIMIT, "a command and its environment are longer than %d bytes", REQUEST_MAX);
	memcpy(w->shared->bytes, b.p, b.n);
	w->shared->n = b.n;
	return say(w->sock, WORD_RUN, fds, n) < 0 ? err_set(err, ERR_CLOSED, "the guardian is gone") : 0;
}

/* Its words are data: a text ends where our copy ends. */
static int failure(const struct shared *s, struct err *err)
{
	struct err told = s->err;

	told.msg[sizeof(told.msg) - 1] = told.hint[sizeof(told.hint) - 1] = '\0';
	err_set(err, ERR_SYS, "%s", told.msg);
	err->sys = told.sys;
	return -ERR_SYS;
}

static int start(struct guards *g, struct warden *w, const struct jail_spec *spec, struct jail *out, struct err *err)
{
	const int *ruleset = ruleset_of(g, spec, err);
	int word;

	if (!ruleset)
		return err->code ? -(int)err->code : -ERR_SYS;
	TRY(ask(w, spec, *ruleset, err));
	word = hear(w->sock, NULL, NULL);
	*out = (struct jail){ .pid = w->pid, .pidfd = w->sock, .guards = g };
	if (word == WORD_STANDS)
		return 0;
	if (word != WORD_FAILED)
		return err_set(err, ERR_CLOSED, "the guardian died before the command started");
	if (w->shared->r < 0)
		return failure(w->shared, err);
	*out = (struct jail){ .pid = -1, .pidfd = -1, .exec_errno = w->shared->exec_errno, .guards = g };
	return 0;
}

int guards_spawn(struct guards *g, const struct jail_spec *spec, struct jail *out, struct err *err)
{
	struct warden *w;
	int r;

	TRY(pick(g, &w, err));
	r = start(g, w, spec, out, err);
	if (r == -ERR_CLOSED) { /* somebody ended it while it had nothing to do: another one, once */
		dismiss(g, w, true);
		TRY(pick(g, &w, err));
		r = start(g, w, spec, out, err);
	}
	if (r == -ERR_CLOSED)
		dismiss(g, w, true);
	else
		w->busy = r == 0 && out->pid > 0;
	return r;
}

void guards_kill(const struct jail *j)
{
	(void)!say(j->pidfd, WORD_KILL, NULL, 0); /* one that does not hear it is found dead by guards_reap */
}

static struct warden *warden_of(struct guards *g, const struct jail *j)
{
	for (size_t i = 0; i < GUARDS_MAX; i++)
		if (g->warden[i].pid > 0 && g->warden[i].pid == j->pid)
			return &g->warden[i];
	BUG_IF(true);
}

int guards_reap(struct jail *j, struct jail_status *out, struct err *err)
{
	struct guards *g = j->guards;
	struct warden *w = warden_of(g, j);
	int word = hear(w->sock, NULL, NULL), st = w->shared->status;

	(void)err;
	if (word != WORD_ENDED && word != WORD_LAST)
		st = -1;
	if (st < 0 || WIFSIGNALED(st))
		*out = (struct jail_status){ 128 + (st < 0 ? SIGKILL : WTERMSIG(st)), st < 0 ? SIGKILL : WTERMSIG(st) };
	else
		*out = (struct jail_status){ WEXITSTATUS(st), 0 };
	w->busy = false;
	if (word != WORD_ENDED)
		dismiss(g, w, word != WORD_LAST);
	*j = (struct jail){ .pid = -1, .pidfd = -1 };
	return 0;
}

void guards_close(struct guards *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < GUARDS_MAX; i++) /* all are told first, by the end of their socket */
		if (g->warden[i].pid > 0)
			shutdown(g->warden[i].sock, SHUT_RDWR);
	for (size_t i = 0; i < GUARDS_MAX; i++)
		if (g->warden[i].pid > 0)
			dismiss(g, &g->warden[i], false);
	for (int id = JOB_COMMAND; id < CLASSES; id++) {
		base_close_fd(&g->kits[id].ruleset);
		base_close_fd(&g->kits[id].own_ruleset);
	}
	base_close_fd(&g->children);
	free(g);
}
