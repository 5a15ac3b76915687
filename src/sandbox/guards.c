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

#define CLASSES    (JOB_MCP + 1)
#define GUARDS_MAX 32

enum word { WORD_KILL = 'k', WORD_WAITS = 'w', WORD_FAILED = 'f', WORD_ENDED = 'e', WORD_LAST = 'l' };

/* What a zygote and one guardian of it say to each other over their socket. Turns are counted, since a command may have
 * ended when the word to kill it comes. */
struct note {
	uint32_t word, turn;
	int32_t status;
};

/* And beside it. The guardian may have read hostile bytes: nothing it writes here is used as a size or a place. */
struct shared {
	uint32_t ordered;           /* the turn whose process was told what it becomes */
	struct launch_result result;
	struct err err;
	struct launch_order order;  /* the zygote's to write */
};

/* What the commands of a class are confined by. */
struct kit {
	const struct jail_class *class;
	bool once; /* its program stays: nobody waits for a second one */
	int ruleset, own_ruleset; /* own: with the program of ours; -1: not made yet */
	struct policy_list written;
	struct seccomp_filter filter;
};

struct warden {
	pid_t pid; /* 0: none */
	int sock;
	bool busy, own;
	uint32_t turn; /* of the command it has */
	const struct kit *kit;
	struct shared *shared;
};

struct guards {
	const struct ground *ground;
	int exe, index_exe, children;
	struct kit kits[CLASSES];
	struct warden warden[GUARDS_MAX];
};

/* ---- both sides ---- */

static int send_fds(int sock, const void *bytes, size_t size, const int *fds, size_t n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * LAUNCH_SENT_MAX)];
	} control;
	struct iovec iov = { (void *)bytes, size };
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
	return r == (ssize_t)size ? 0 : -1;
}

/* A word of 0 is the end. fd: the one descriptor that may come along, or -1. */
static struct note hear(int sock, int *fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct note note = { 0 };
	struct iovec iov = { &note, sizeof(note) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = fd ? &control : NULL,
		.msg_controllen = fd ? sizeof(control) : 0 };
	const struct cmsghdr *c;
	ssize_t r;

	do
		r = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (r < 0 && errno == EINTR);
	if (fd)
		*fd = -1;
	if (r > 0 && fd && (c = CMSG_FIRSTHDR(&msg)) && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(int));
	return r == (ssize_t)sizeof(note) ? note : (struct note){ 0 };
}

/* ---- a guardian ---- */

struct post { /* where it stands */
	const struct kit *kit;
	struct shared *shared;
	int sock, ruleset;
	uint32_t turn;
	void *map; /* the stack of who waits */
	struct launch launch;
	struct guard guard;
};

static int say(const struct post *p, enum word w, int status, int fd)
{
	struct note note = { w, p->turn, status };

	return send_fds(p->sock, &note, sizeof(note), &fd, fd >= 0);
}

/* The zygote is gone, or means the command of this turn. */
static bool ends(void *self)
{
	const struct post *p = self;
	struct note note = hear(p->sock, NULL);

	return note.word != WORD_KILL || note.turn == p->turn;
}

/* Makes the process that will be the next command, up to where it needs to know which. */
static int put_to_post(struct post *p, pid_t *child, struct err *err)
{
	struct launch *l = &p->launch;
	int pair[2];
	long r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, errno, "make a socket pair");
	autoclose int ours = pair[0];
	autoclose int theirs = pair[1];
	autoclose int post = -1;
	TRY(launch_lift(theirs, &post, err));
	l->post = post;
	l->ruleset = p->ruleset;
	l->stdio[0] = l->stdio[1] = l->stdio[2] = -1;
	r = guard_launch(&p->guard, l, err);
	if (r < 0)
		return (int)r;
	*child = (pid_t)r;
	base_close_fd(&post); /* its end is the command's start, or its own */
	base_close_fd(&theirs);
	return say(p, WORD_WAITS, 0, ours) < 0 ? err_set(err, ERR_CLOSED, "the zygote is gone") : 0;
}

/* One command from before it is known to the end of everything it left. False: this guardian ends. */
static bool serve(struct post *p)
{
	pid_t child = -1;
	int st;

	p->turn++;
	p->shared->result = (struct launch_result){ 0 };
	if (put_to_post(p, &child, &p->shared->err) < 0) {
		guard_sweep(&p->guard);
		say(p, WORD_FAILED, 0, -1);
		return false;
	}
	st = guard_watch(&p->guard, child);
	guard_sweep(&p->guard);
	if (p->shared->ordered != p->turn) /* it was no command yet: whoever ended it did not mean us to go on */
		return false;
	bool last = p->guard.read_memory || p->kit->once;
	return say(p, last ? WORD_LAST : WORD_ENDED, st, -1) == 0 && !last;
}

_Noreturn static void guardian(const struct kit *kit, int ruleset, struct shared *shared, int sock)
{
	struct post p = { .kit = kit, .shared = shared, .sock = sock, .ruleset = ruleset,
		.guard = { .stop = sock, .listener = -1, .ended = -1, .children = -1, .ends = ends, .self = &p,
			.written = &kit->written } };
	const int keep[] = { sock, ruleset };
	struct err err = { 0 };

	if (fds_keep(keep, COUNT(keep), &err) < 0 || guard_enter(&p.guard, &err) < 0 || launch_post(&p.launch, &err) < 0)
		_exit(1);
	p.launch.filter = &kit->filter;
	p.launch.order = &shared->order;
	p.launch.result = &shared->result;
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

	*kit = (struct kit){ .class = class, .ruleset = -1, .own_ruleset = -1,
		.once = id == JOB_AGENT || id == JOB_MCP || id == JOB_LANGUAGE };
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

/* Classes that differ in nothing that confines them share their guardians. */
static bool alike(const struct jail_class *a, const struct jail_class *b)
{
	return a->hardened == b->hardened && a->own_network == b->own_network && a->root == b->root && a->system == b->system &&
		a->etc == b->etc && a->tools == b->tools && a->workspace == b->workspace && a->grants == b->grants &&
		a->tmp == b->tmp && a->exec_paths == b->exec_paths;
}

static struct kit *kit_of(struct guards *g, const struct jail_class *class)
{
	for (int id = JOB_COMMAND; id < CLASSES; id++) {
		struct kit *kit = &g->kits[id];

		if (kit->class == class || (alike(kit->class, class) && !kit->once && !g->kits[class->id].once))
			return kit;
	}
	BUG_IF(true);
}

static int ruleset_of(struct guards *g, struct kit *kit, bool own, struct err *err)
{
	int exe = kit->class->id == JOB_INDEX ? g->index_exe : g->exe;
	int *ruleset = own ? &kit->own_ruleset : &kit->ruleset;

	if (*ruleset < 0)
		TRY(ground_rules(g->ground, kit->class, own ? exe : -1, ruleset, err));
	return *ruleset;
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

static int recruit(struct guards *g, struct warden *w, struct kit *kit, bool own, struct err *err)
{
	int pair[2], ruleset = ruleset_of(g, kit, own, err);

	TRY(ruleset);
	w->shared = mmap(NULL, sizeof(*w->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->shared == MAP_FAILED) {
		w->shared = NULL;
		return err_sys(err, errno, "make room for a guardian");
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, errno, "make a socket pair");
	w->kit = kit;
	w->own = own;
	w->pid = fork();
	if (w->pid == 0)
		guardian(kit, ruleset, w->shared, pair[1]);
	close(pair[1]);
	w->sock = pair[0];
	if (w->pid < 0) {
		w->pid = 0;
		return err_sys(err, errno, "fork a guardian");
	}
	return 0;
}

/* One that waits with what this command needs; or a place for a new one, where need be that of one which waits for others. */
static int pick(struct guards *g, const struct kit *kit, bool own, struct warden **out, struct err *err)
{
	struct warden *none = NULL, *other = NULL;

	for (size_t i = 0; i < GUARDS_MAX; i++) {
		struct warden *w = &g->warden[i];

		if (w->pid == 0)
			none = none ? none : w;
		else if (!w->busy && w->kit == kit && w->own == own) {
			*out = w;
			return 0;
		} else if (!w->busy)
			other = w;
	}
	if (!none && !other)
		return err_set(err, ERR_LIMIT, "%d commands have a guardian already", GUARDS_MAX);
	if (!none)
		dismiss(g, other, false);
	*out = none ? none : other;
	return 0;
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

static void reap(struct guards *g, struct warden *w, struct jail_status *out)
{
	struct note note = hear(w->sock, NULL);
	bool whole = (note.word == WORD_ENDED || note.word == WORD_LAST) && note.turn == w->turn;
	int st = whole ? note.status : -1;

	if (st < 0 || WIFSIGNALED(st))
		*out = (struct jail_status){ 128 + (st < 0 ? SIGKILL : WTERMSIG(st)), st < 0 ? SIGKILL : WTERMSIG(st) };
	else
		*out = (struct jail_status){ WEXITSTATUS(st), 0 };
	w->busy = false;
	if (!whole || note.word == WORD_LAST)
		dismiss(g, w, !whole);
}

/* The command cannot be executed, or could not be begun. Nothing is left of it when its guardian says that it ended. */
static int not_begun(struct guards *g, struct warden *w, const struct jail_spec *spec, const struct launch_result *told,
	struct jail *out, struct err *err)
{
	struct jail_status status;

	reap(g, w, &status);
	if (told->step != LAUNCH_EXEC)
		return launch_step_err(told->step, told->sys, spec->cwd, err);
	*out = (struct jail){ .pid = -1, .pidfd = -1, .exec_errno = told->sys, .guards = g };
	return 0;
}

/* 1: this guardian is of no use, and err says why. */
static int start(struct guards *g, struct warden *w, const struct jail_spec *spec, struct jail *out, struct err *err)
{
	autoclose int post = -1;
	int fds[LAUNCH_SENT_MAX];
	struct note note;
	struct launch_result told; /* by the process itself: what it shares with its guardian is the next turn's by now */
	size_t n;
	ssize_t r;

	TRY(launch_order_write(&w->shared->order, spec, fds, &n, err));
	w->shared->order.processes_max = guard_processes_max();
	note = hear(w->sock, &post);
	if (note.word == WORD_FAILED) {
		failure(w->shared, err);
		return 1;
	}
	w->turn = w->shared->ordered = note.turn;
	if (note.word == WORD_WAITS && post >= 0 && send_fds(post, "!", 1, fds, n) == 0)
		do
			r = recv(post, &told, sizeof(told), 0);
		while (r < 0 && errno == EINTR);
	else
		r = -1;
	if (r != 0 && r != (ssize_t)sizeof(told)) {
		err_set(err, ERR_SYS, "the guardian died before the command started");
		return 1;
	}
	if (r > 0)
		return not_begun(g, w, spec, &told, out, err);
	w->busy = true;
	*out = (struct jail){ .pid = w->pid, .pidfd = w->sock, .guards = g };
	return 0;
}

/* Who waits may have been ended by somebody, or may have found no room to wait in: then another one does it. */
int guards_spawn(struct guards *g, const struct jail_spec *spec, struct jail *out, struct err *err)
{
	struct kit *kit = kit_of(g, spec->class);
	bool own = spec->exe_fd > 0, fresh;
	struct warden *w = NULL;
	int r;

	do {
		*err = (struct err){ 0 };
		TRY(pick(g, kit, own, &w, err));
		fresh = w->pid == 0;
		r = fresh ? recruit(g, w, kit, own, err) : 0;
		if (r < 0) {
			forget(w);
			return r;
		}
		r = start(g, w, spec, out, err);
		if (r > 0)
			dismiss(g, w, true);
	} while (r > 0 && !fresh);
	return r > 0 ? -(int)err->code : r;
}

static struct warden *warden_of(struct guards *g, const struct jail *j)
{
	for (size_t i = 0; i < GUARDS_MAX; i++)
		if (g->warden[i].pid > 0 && g->warden[i].pid == j->pid)
			return &g->warden[i];
	BUG_IF(true);
}

void guards_kill(const struct jail *j)
{
	const struct warden *w = warden_of(j->guards, j);
	const struct note note = { WORD_KILL, w->turn, 0 };

	(void)!send_fds(w->sock, &note, sizeof(note), NULL, 0); /* one that does not hear it is found dead by guards_reap */
}

int guards_reap(struct jail *j, struct jail_status *out, struct err *err)
{
	(void)err;
	reap(j->guards, warden_of(j->guards, j), out);
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
