/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/group.h"

#include "base/time.h"
#include "sys/file.h"
#include "sys/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT_MAX   (256 * 1024)
#define PREFIX     "agent6-"
#define SIBLINGS   4096
#define EMPTY_MS   2000 /* for the last process of a group that was killed */
#define NO_LIMIT   (-1)
#define FS_TYPE    "cgroup2"

/* ---- where ---- */

static int refuse(struct err *err, const char *why, const char *dir)
{
	err_set(err, ERR_UNSUPPORTED, "%s%s%s", dir, dir[0] ? " " : "", why);
	err_hint(err, "start it in a unit of your own: systemd-run --user --scope agent6 ...");
	return -ERR_UNSUPPORTED;
}

static int read_text(const char *dir, const char *name, struct buf *out, struct err *err)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s%s%s", dir, dir[0] ? "/" : "", name) >= (int)sizeof(path))
		return err_set(err, ERR_LIMIT, "a path of a control group is too long");
	return file_read(AT_FDCWD, path, out, err);
}

static bool find_mount(struct str text, struct arena *mem, struct str *root, struct str *point)
{
	struct mount m;

	while (text.n > 0)
		if (mount_decode(str_line(&text), mem, &m) && strcmp(m.type, FS_TYPE) == 0) {
			*root = str_from(m.root);
			*point = str_from(m.point);
			return true;
		}
	return false;
}

static bool find_own(struct str text, struct str *own)
{
	while (text.n > 0) {
		struct str line = str_trim_suffix(str_line(&text), STR("\n"));

		if (str_starts(line, STR("0::/"))) {
			*own = str_skip(line, 3);
			return true;
		}
	}
	return false;
}

static bool has_word(struct str text, const char *word)
{
	text = str_trim(text);
	while (text.n > 0)
		if (str_eqz(str_cut(&text, ' '), word))
			return true;
	return false;
}

/* The root of the hierarchy may hold processes and hand controllers on; anywhere else it is the group above that does. */
static int place_of(struct str point, struct str below, struct arena *mem, struct group_place *out)
{
	struct str up = str_head(below, str_rfind(below, '/'));

	out->own = str_printf(mem, STR_FMT STR_FMT, STR_ARG(point), STR_ARG(below)).p;
	out->dir = below.n == 0 ? out->own : str_printf(mem, STR_FMT STR_FMT, STR_ARG(point), STR_ARG(up)).p;
	return 0;
}

static int check_place(const struct group_place *p, struct err *err)
{
	auto_buf struct buf handed = BUF_MAX(TEXT_MAX);
	char procs[4096];

	if (read_text(p->dir, "cgroup.subtree_control", &handed, ERR_DISCARD) < 0 || !has_word(buf_str(&handed), "memory"))
		return refuse(err, "does not hand the memory controller to groups below it", p->dir);
	if (snprintf(procs, sizeof(procs), "%s/cgroup.procs", p->dir) >= (int)sizeof(procs))
		return err_set(err, ERR_LIMIT, "a path of a control group is too long");
	if (access(p->dir, W_OK) < 0 || access(procs, W_OK) < 0)
		return refuse(err, "is not delegated to this user", p->dir);
	return 0;
}

int group_find(const struct group_host *host, struct arena *mem, struct group_place *out, struct err *err)
{
	auto_buf struct buf mounts = BUF_MAX(TEXT_MAX), own = BUF_MAX(TEXT_MAX);
	struct str root, point, path;
	struct group_place p;

	TRY(read_text("", host->mountinfo, &mounts, err));
	TRY(read_text("", host->cgroup, &own, err));
	if (!find_mount(buf_str(&mounts), mem, &root, &point))
		return refuse(err, "no cgroup2 hierarchy is mounted", "");
	if (!find_own(buf_str(&own), &path))
		return refuse(err, "this process is in no group of the cgroup2 hierarchy", "");
	path = str_trim_suffix(path, STR("/"));
	root = str_trim_suffix(root, STR("/"));
	if (!str_starts(path, root) || str_find(path, STR("/..")) < path.n)
		return refuse(err, "the group of this process is not beneath what is mounted", "");
	TRY(place_of(point, str_skip(path, root.n), mem, &p));
	TRY(check_place(&p, err));
	*out = p;
	return 0;
}

/* ---- making one ---- */

static const struct limit {
	const char *name;
	enum { LIMIT_MEMORY, LIMIT_FIXED, LIMIT_KEPT } kind; /* KEPT: only what the group we are in has */
	int64_t fixed;
	bool optional;
} limits[] = {
	{ "memory.max", LIMIT_MEMORY, 0, false },
	{ "memory.swap.max", LIMIT_FIXED, 0, true }, /* a limit that swaps is none: it only makes the machine slow */
	{ "memory.high", LIMIT_KEPT, 0, true },
	{ "pids.max", LIMIT_FIXED, GROUP_PIDS_MAX, true },
};

static int64_t limit_there(const char *dir, const char *name)
{
	auto_buf struct buf text = BUF_MAX(TEXT_MAX);
	int64_t n;

	if (read_text(dir, name, &text, ERR_DISCARD) < 0 || str_to_i64(str_trim(buf_str(&text)), &n, ERR_DISCARD) < 0)
		return NO_LIMIT; /* "max", or no such controller */
	return n;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a == NO_LIMIT || (b != NO_LIMIT && b < a) ? b : a;
}

/* Where the stand-in of a test has no such file yet it is made; a hierarchy of the kernel's makes none. */
static int write_limit(int dir, const char *name, struct str value, struct err *err)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || write(fd, value.p, value.n) != (ssize_t)value.n)
		return err_sys(err, errno, "set %s", name);
	return 0;
}

static int set_limits(const struct group_place *p, int dir, int64_t *memory_mb, struct err *err)
{
	auto_arena struct arena *tmp = arena_new();

	for (size_t i = 0; i < COUNT(limits); i++) {
		const struct limit *l = &limits[i];
		int64_t ours = l->kind == LIMIT_MEMORY ? *memory_mb << 20 : l->kind == LIMIT_FIXED ? l->fixed : NO_LIMIT;
		int64_t value = smaller(ours, limit_there(p->own, l->name));

		if (value == NO_LIMIT)
			continue;
		int r = write_limit(dir, l->name, str_printf(tmp, "%lld", (long long)value), err);
		if (r < 0 && !l->optional)
			return r;
		if (l->kind == LIMIT_MEMORY)
			*memory_mb = value >> 20;
	}
	return 0;
}

/* <sys/file.h> is a header of ours here. */
static bool lock(int fd)
{
	return fd >= 0 && syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0;
}

/* What a killed run left: its keeper holds a lock for as long as it lives, and what has processes cannot be removed. */
static void remove_left(int parent)
{
	auto_arena struct arena *tmp = arena_new();
	struct dir_entry *list;
	size_t n;

	if (dir_list(parent, tmp, SIBLINGS, &list, &n, ERR_DISCARD) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (!str_starts(list[i].name, STR(PREFIX)))
			continue;
		const char *name = str_dupz(tmp, list[i].name);
		autoclose int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (lock(fd))
			(void)!unlinkat(parent, name, AT_REMOVEDIR);
	}
}

/* Between making and locking it another run's clean-up may take it for one that was left. */
static int make_locked(struct group *g, struct err *err)
{
	for (int tries = 0; tries < 16; tries++) {
		snprintf(g->name, sizeof(g->name), PREFIX "%ld-%llx", (long)getpid(), (unsigned long long)time_now_us() + (unsigned)tries);
		if (mkdirat(g->parent, g->name, 0755) < 0) {
			if (errno == EEXIST)
				continue;
			return err_sys(err, errno, "make a control group");
		}
		g->dir = openat(g->parent, g->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (lock(g->dir) && faccessat(g->parent, g->name, F_OK, 0) == 0)
			return 0;
		base_close_fd(&g->dir);
	}
	return err_set(err, ERR_BUSY, "make a control group: others take it away");
}

int group_make(const struct group_place *place, int64_t memory_mb, struct group *out, struct err *err)
{
	struct group g = GROUP_NONE;
	int r;

	TRY(dir_open(AT_FDCWD, place->dir, &g.parent, err));
	remove_left(g.parent);
	r = make_locked(&g, err);
	if (r == 0) {
		g.memory_mb = memory_mb;
		r = set_limits(place, g.dir, &g.memory_mb, err);
		if (r < 0)
			(void)!unlinkat(g.parent, g.name, AT_REMOVEDIR);
	}
	if (r < 0)
		group_close(&g);
	else
		*out = g;
	return r;
}

/* ---- being in it ---- */

int group_fork(const struct group *g, pid_t *pid, struct err *err)
{
	struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)g->dir };
	long r = syscall(SYS_clone3, &args, sizeof(args));

	if (r < 0)
		return err_sys(err, errno, "start a process in its control group");
	*pid = (pid_t)r;
	return 0;
}

void group_close(struct group *g)
{
	base_close_fd(&g->dir);
	base_close_fd(&g->parent);
}

int group_events(const struct group *g, int *out, struct err *err)
{
	*out = openat(g->dir, "memory.events", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return *out < 0 ? err_sys(err, errno, "open memory.events") : 0;
}

struct group_ooms group_ooms(int events)
{
	char text[1024];
	ssize_t n = events < 0 ? -1 : pread(events, text, sizeof(text), 0);
	struct str rest = str_of(text, n < 0 ? 0 : (size_t)n);
	struct group_ooms o = { 0 };

	while (rest.n > 0) {
		struct str value = str_line(&rest), name = str_cut(&value, ' ');
		int64_t *to = str_eqz(name, "oom") ? &o.limit : str_eqz(name, "oom_kill") ? &o.kills : NULL;

		if (to)
			(void)!str_to_i64(str_trim(value), to, ERR_DISCARD);
	}
	return o;
}

/* The limit is counted first: what was counted of it before a kill is not forgotten until that comes. */
bool group_limit_killed(struct group_ooms *was, struct group_ooms now)
{
	bool killed = now.kills > was->kills, ours = killed && now.limit > was->limit;

	if (killed)
		*was = now;
	return ours;
}

/* cgroup.events changes when the last process is gone. */
static bool wait_empty(int dir)
{
	autoclose int fd = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct pollfd p = { fd, POLLPRI, 0 };
	int64_t until = time_now_ms() + EMPTY_MS;
	char text[256];

	for (;;) {
		ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
		int64_t left = until - time_now_ms();

		if (n < 0)
			return false;
		text[n] = '\0';
		if (strstr(text, "populated 0"))
			return true;
		if (left <= 0 || (poll(&p, 1, (int)left) < 0 && errno != EINTR))
			return false;
	}
}

int group_end(struct group *g, struct err *err)
{
	int r = 0;

	if (g->parent < 0)
		return 0;
	if (unlinkat(g->parent, g->name, AT_REMOVEDIR) < 0 && errno != ENOENT &&
		(errno != EBUSY || !wait_empty(g->dir) || unlinkat(g->parent, g->name, AT_REMOVEDIR) < 0))
		r = err_sys(err, errno, "remove the control group %s", g->name);
	group_close(g);
	return r;
}
