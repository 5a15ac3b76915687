/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sandbox/cell.h"
#include "sandbox/caps.h"
#include "sandbox/fds.h"
#include "sandbox/landlock.h"
#include "sandbox/namespace.h"
#include "sandbox/probe.h"
#include "sandbox/procmask.h"
#include "sandbox/side.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define HOSTNAME "cell"

struct report {
	int r;
	bool early; /* before anything of ours was built: the host refused */
	struct err err;
};

/* The cell's ends of what lies between it and the process that wants it. */
struct line {
	int report; /* its other end is held by who wants the cell alone */
	struct side side;
};

int cell_spec_from_policy(const struct sandbox_policy *p, struct cell_spec *out, struct err *err)
{
	bool root = ns_is_real_root();

	if (root && (p->root_as_uid <= 0 || p->root_as_uid >= UINT32_MAX))
		return err_set(err, ERR_INVALID, "root_as_uid: root needs an unprivileged id to become");
	struct stat st = { 0 };
	bool as_owner = root && p->git_cell;

	if (as_owner && stat(p->cwd, &st) < 0)
		return err_sys(err, errno, "look at %s", p->cwd);
	*out = (struct cell_spec){ .as_owner = as_owner, .owner = st.st_uid, .owners_group = st.st_gid, .root = {
		.workspace = p->bare ? NULL : p->cwd,
		.ro_paths = p->extra_ro_paths,
		.rw_paths = p->extra_rw_paths,
		.tool_paths = p->tool_paths,
		.hide_paths = p->hide_paths,
		.protect_paths = p->extra_protect_paths,
		.workspace_noexec = p->git_cell,
		.workspace_ro = p->read_only,
		.host_network = p->network == NETWORK_HOST,
		.uid = root ? (uid_t)p->root_as_uid : geteuid(),
		.gid = root ? (gid_t)p->root_as_uid : getegid(),
		.idmap = root,
	} };
	return 0;
}

static int parent_lives(int report, struct err *err)
{
	struct pollfd p = { .fd = report }; /* POLLERR comes unasked when nobody reads */

	TRY(caps_die_with_parent(0, err));
	if (poll(&p, 1, 0) != 0)
		return err_set(err, ERR_CLOSED, "the process that wanted the cell is gone");
	return 0;
}

static int close_others(const struct cell_spec *spec, int report, struct err *err)
{
	int keep[CELL_KEEP_MAX + 1] = { report };

	BUG_IF(spec->nkeep > CELL_KEEP_MAX);
	for (size_t i = 0; i < spec->nkeep; i++)
		keep[i + 1] = spec->keep_fds[i];
	return fds_keep(keep, spec->nkeep + 1, err);
}

static int take_identity(const struct cell_spec *spec, struct err *err)
{
	if (!spec->root.idmap)
		TRY(ns_map_self(spec->root.uid, spec->root.gid, err));
	if (sethostname(HOSTNAME, sizeof(HOSTNAME) - 1) < 0)
		return err_sys(err, errno, "name the cell");
	return 0;
}

/* Root built with the host's power; from here on it is an id without any, in a user namespace of its own. */
static int leave_root(const struct cell_spec *spec, int report, struct err *err)
{
	TRY(caps_become(spec->root.uid, spec->root.gid, err));
	/* The change of id made it undumpable, which closes its own uid_map, and untied it from its parent. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return err_sys(err, errno, "become dumpable");
	return parent_lives(report, err);
}

static void note(struct cell *c, const char *text)
{
	BUG_IF(c->nnotes == CELL_NOTES_MAX);
	c->notes[c->nnotes++] = text;
}

/* In the user namespace that owns it: before the cell has one of its own over that. */
static int enter(const struct side *side, int kind, const char *name, struct err *err)
{
	autoclose int ns = -1;

	TRY(side_take(side, &ns, err));
	if (setns(ns, kind) < 0)
		return side_not_entered(errno, name, err);
	return 0;
}

static int enter_net(const struct line *line, bool *early, struct err *err)
{
	*early = true;
	TRY(enter(&line->side, CLONE_NEWNET, "the network", err));
	TRY(enter(&line->side, CLONE_NEWIPC, "the IPC", err));
	*early = false;
	return 0;
}

/* What is mounted stays for good. Beneath the cell of a zygote there are mount namespaces of younger user namespaces, so its
 * mounts are locked; a cell for one command that root built keeps its mount namespace in the host's user namespace, where
 * nobody in the cell has any right. proc: one that can be written to, -1 when that is /proc. */
static int shut(const struct cell_spec *spec, int proc, const struct line *line, struct err *err)
{
	struct ns_ids ids = { spec->root.uid, spec->root.gid, spec->as_owner ? spec->owner : spec->root.uid,
		spec->as_owner ? spec->owners_group : spec->root.gid };

	if (spec->root.idmap)
		TRY(leave_root(spec, line->report, err));
	if (spec->lock)
		TRY(ns_lock(proc, &ids, err));
	else if (spec->root.idmap)
		TRY(ns_own_users(proc, &ids, err));
	ns_no_more_users(proc);
	return 0;
}

/* Locked mounts can be covered later as well; those of a cell for one command are not ours to cover once it is shut. What the
 * side makes meanwhile takes as long as all of this, so whatever can be done is done before it is waited for. */
static int close_up(const struct cell_spec *spec, bool has_proc, int outer, const struct line *line, bool *early, struct err *err)
{
	bool mask = has_proc && spec->root.mask_proc;
	autoclose int beneath = -1;

	TRY(root_let_go(err));
	if (mask && !spec->lock)
		TRY(procmask_lock(&beneath, err));
	if (!spec->root.host_network)
		TRY(enter_net(line, early, err));
	TRY(parent_lives(line->report, err)); /* nobody else holds it from here on */
	TRY(shut(spec, has_proc ? beneath : outer, line, err));
	return mask && spec->lock ? procmask_lock(NULL, err) : 0;
}

static int set_up(const struct cell_spec *spec, struct root *root, const struct line *line, struct cell *c, bool *early,
	struct err *err)
{
	autoclose int outer = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC); /* gone before anything but us runs here */

	*early = true;
	TRY(parent_lives(line->report, err));
	TRY(take_identity(spec, err));
	*early = false;
	TRY(root_build(root, &line->side, err));
	TRY(close_up(spec, root_has_proc(root), outer, line, early, err));
	*c = (struct cell){ .spec = spec, .uid = spec->root.uid, .gid = spec->root.gid,
		.landlock_abi = landlock_abi(), .has_proc = root_has_proc(root) };
	if (!c->has_proc)
		note(c, CELL_NO_PROC);
	root_notice(root, c->covered, sizeof(c->covered));
	if (c->covered[0])
		note(c, c->covered);
	if (c->landlock_abi == 0)
		note(c, "this kernel has no Landlock: the cell's mounts hold alone");
	TRY(caps_drop_bounding(err));
	TRY(side_end(&line->side, err));
	return caps_undumpable(err);
}

_Noreturn static void cell_child(const struct cell_spec *spec, struct root *root, const struct line *line,
	cell_main_fn *main_fn, void *self)
{
	struct report rep = { 0 };
	struct cell c = { 0 };

	rep.r = set_up(spec, root, line, &c, &rep.early, &rep.err);
	if (rep.r == 0)
		rep.r = close_others(spec, line->report, &rep.err);
	if ((rep.r < 0 || !spec->late) && write(line->report, &rep, sizeof(rep)) != (ssize_t)sizeof(rep))
		_exit(2);
	if (rep.r < 0)
		_exit(2);
	close(line->report);
	_exit(main_fn(&c, self));
}

/* Where the host refused, say what about it and what helps. */
static int explain(int r, struct err *err)
{
	struct probe p;

	if (probe_host(&p, ERR_DISCARD) < 0 || probe_reason(&p)[0] == '\0')
		return r;
	err_wrap(err, "%s", probe_reason(&p));
	err_hint(err, "%s", probe_remedy(&p));
	err->code = ERR_UNSUPPORTED;
	return -ERR_UNSUPPORTED;
}

static int read_report(int fd, struct err *err)
{
	struct report rep;
	ssize_t n;

	do
		n = read(fd, &rep, sizeof(rep));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(rep))
		return err_set(err, ERR_SYS, "the cell's first process died before it was ready");
	if (rep.r == 0)
		return 0;
	*err = rep.err;
	return rep.early || rep.err.sys == EPERM ? explain(rep.r, err) : rep.r;
}

static unsigned long cell_flags(const struct cell_spec *spec)
{
	/* The network namespace comes later, from the side, and with it that for IPC, which takes a quarter of such a clone. */
	return CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWCGROUP | (spec->root.host_network ? CLONE_NEWIPC : 0) |
		(spec->root.idmap ? 0 : CLONE_NEWUSER);
}

struct gifts {
	const struct cell_spec *spec;
	struct root *root;
	int cell; /* a pidfd */
};

/* The cell's user namespace is entered before its first process is given what it needs to go on: so far that one is who it was,
 * and may be joined. */
static int give_rest(const struct gifts *g, const struct side *side, struct err *err)
{
	autoclose int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), sockets = -1;

	TRY(root_find_sockets(g->root, &sockets, err));
	if (!g->spec->root.idmap)
		TRY(side_enter_users(g->cell, err));
	TRY(side_give(side, sockets, err));
	return g->spec->root.host_network ? 0 : side_give_net(side, proc, err);
}

/* Beside the cell's first process, which works on its root meanwhile. */
static int give(const struct side *side, void *self, struct err *err)
{
	const struct gifts *g = self;
	int r = root_give_maps(g->root, side, err);

	if (r == 0)
		r = give_rest(g, side, err);
	root_reap_maps(g->root); /* late: whoever waits may find its processor taken by the cell */
	return r;
}

static int start(const struct cell_spec *spec, struct root *root, cell_main_fn *main_fn, void *self, struct cell_proc *made,
	struct err *err)
{
	struct side side;
	int report[2], r;

	if (pipe2(report, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	autoclose int report_r = report[0];
	autoclose int report_w = report[1];
	TRY(side_open(&side, err));
	autoclose int give_w = side.give;
	autoclose int take_r = side.take;

	r = ns_clone(cell_flags(spec), &made->pid, &made->pidfd, err);
	if (r < 0)
		return explain(r, err);
	if (r == 0) {
		const struct line line = { .report = report_w, .side = { .give = -1, .take = take_r } };

		close(report_r);
		close(give_w);
		cell_child(spec, root, &line, main_fn, self);
	}
	base_close_fd(&report_w);
	base_close_fd(&take_r);
	if (spec->hold_mounts) /* before the cell has what the side gives it: then it is still open to us */
		made->mounts = ns_mounts_of(made->pidfd);
	struct gifts gifts = { .spec = spec, .root = root, .cell = made->pidfd };
	TRY(side_run(&side, report_r, give, &gifts, err));
	base_close_fd(&give_w);
	if (!spec->late)
		return read_report(report_r, err);
	made->report = take_fd(&report_r);
	return 0;
}

int cell_failed(int report, struct err *err)
{
	int r = read_report(report, err);

	BUG_IF(r == 0); /* who is late says nothing when it succeeds */
	return r;
}

int cell_start(const struct cell_spec *spec, cell_main_fn *main_fn, void *self, struct cell_proc *out, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_root struct root *root = NULL;
	struct cell_proc made = { .pid = -1, .pidfd = -1, .mounts = -1, .report = -1 };
	int r;

	TRY(root_pin(&spec->root, mem, &root, err));
	r = start(spec, root, main_fn, self, &made, err);
	if (r < 0 && made.pid > 0) {
		syscall(SYS_pidfd_send_signal, made.pidfd, SIGKILL, NULL, 0);
		waitpid(made.pid, NULL, 0);
		close(made.pidfd);
		base_close_fd(&made.mounts);
	}
	if (r == 0)
		*out = made;
	return r;
}
