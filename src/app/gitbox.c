/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/gitbox.h"
#include "fmt/pack.h"
#include "git/githost.h"
#include "sys/chan.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#define GIT_TIMEOUT_MS (120 * 1000)

struct gitbox {
	struct git_zygote git;
	int monitor, asker; /* our ends */
	struct proc proc;
};

static void add_identity(const struct gitbox_spec *spec, struct arena *mem, struct policy_list *env)
{
	const struct {
		const char *var, *value;
	} vars[] = { { "GIT_AUTHOR_NAME", spec->name }, { "GIT_COMMITTER_NAME", spec->name },
		{ "GIT_AUTHOR_EMAIL", spec->email }, { "GIT_COMMITTER_EMAIL", spec->email } };

	for (size_t i = 0; i < COUNT(vars); i++)
		if (vars[i].value && vars[i].value[0])
			policy_list_add(env, mem, str_printf(mem, "%s=%s", vars[i].var, vars[i].value).p);
}

int gitbox_cell(const struct gitbox_spec *spec, struct arena *mem, struct zygote_spec *out, struct err *err)
{
	const struct discovered *d = spec->repo;
	const char *const dirs[] = { d->common_dir, d->git_dir };
	struct zygote_spec z = { .kind = ZYGOTE_GIT, .git_dir = d->git_dir, .common_dir = d->common_dir,
		.run_id = spec->run_id ? spec->run_id : "", .may_merge = spec->may_merge, .nlimits = 1,
		.limits = { { .class = JOB_GIT, .timeout_ms = GIT_TIMEOUT_MS } },
		.policy = { .profile = spec->profile, .cwd = d->top, .git_cell = true,
			.root_as_uid = spec->root_as_uid > 0 ? spec->root_as_uid : POLICY_ROOT_UID } };
	const char *last = d->top;

	(void)err;
	for (size_t i = 0; i < COUNT(dirs); i++) {
		if (path_is_within(dirs[i], d->top) || path_is_within(dirs[i], last))
			continue;
		policy_list_add(&z.policy.extra_rw_paths, mem, dirs[i]);
		last = dirs[i];
	}
	add_identity(spec, mem, &z.policy.env);
	*out = z;
	return 0;
}

static int spawn(struct gitbox *b, const char *jail_bin, struct err *err)
{
	const char *const argv[] = { "agent6-jail", "--zygote", NULL };
	int up[2], side[2], r;

	autoclose int exe = open(jail_bin, O_PATH | O_CLOEXEC);
	if (exe < 0)
		return err_sys(err, errno, "%s", jail_bin);
	TRY(chan_pair(up, err));
	b->monitor = up[0];
	autoclose int theirs_up = up[1];
	TRY(chan_pair(side, err));
	b->asker = side[0];
	autoclose int theirs_side = side[1];
	const int fds[] = { theirs_up, theirs_side };
	const struct proc_spec spec = { .argv = argv, .exe_fd = exe, .fds = fds, .nfds = 2, .own_session = true,
		.die_with_parent = true };

	r = proc_spawn(&spec, &b->proc, err);
	if (r < 0)
		b->proc = (struct proc){ 0, -1 };
	return r;
}

static int send_ceiling(struct gitbox *b, const struct gitbox_spec *spec, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	auto_buf struct buf text = BUF_MAX(ZYGOTE_BYTES_MAX);
	autoclose int fd = -1;
	struct zygote_spec z;

	TRY(gitbox_cell(spec, mem, &z, err));
	if (!spec->may_merge)
		z.run_id = ""; /* a reader may meet the run at work */
	TRY(zygote_spec_encode(&z, &text, err));
	TRY(memfd_seal("ceiling", buf_str(&text), &fd, err));
	return chan_send(b->monitor, WIRE_CEILING, STR(""), &fd, 1, err);
}

static int await_ready(struct gitbox *b, struct err *err)
{
	struct chan_msg *m = b->git.client.msg;
	struct unpack u;
	int r;

	if (chan_recv(b->monitor, m, err) < 0)
		return err_wrap(err, "the git cell did not start");
	r = wire_check(LINK_MONITOR_ZYGOTE, WIRE_UP, m->type, m->body.n, m->nfds, err);
	if (r == 0 && m->type != WIRE_CELL_READY) {
		u = unpack_from(m->body);
		struct str msg = unpack_str(&u), hint = unpack_str(&u);

		r = err_set(err, ERR_UNSUPPORTED, "the git cell cannot be built: " STR_FMT, STR_ARG(msg));
		err_hint(err, STR_FMT, STR_ARG(hint));
	}
	chan_msg_fini(m);
	return r;
}

/* The zygote reports every job's end to us as its monitor; nobody needs them here, but its channel must
 * never fill. */
static int drain_monitor(void *self, struct err *err)
{
	struct gitbox *b = self;
	struct chan_msg *m = b->git.client.msg;
	int r;

	while ((r = chan_recv(b->monitor, m, err)) == 0)
		chan_msg_fini(m);
	return r == -ERR_BUSY ? 0 : r;
}

int gitbox_open(const struct gitbox_spec *spec, struct gitbox **out, struct err *err)
{
	struct gitbox *b = mem_alloc(sizeof(*b));
	int r;

	*b = (struct gitbox){ .monitor = -1, .asker = -1, .proc = { 0, -1 } };
	r = spawn(b, spec->jail_bin, err);
	git_zygote_init(&b->git, b->asker);
	b->git.after = drain_monitor;
	b->git.after_self = b;
	r = r < 0 ? r : send_ceiling(b, spec, err);
	r = r < 0 ? r : await_ready(b, err);
	r = r < 0 ? r : chan_nonblock(b->monitor, err);
	if (r < 0) {
		gitbox_close(b);
		return r;
	}
	*out = b;
	return 0;
}

const struct git_host *gitbox_host(struct gitbox *b)
{
	return &b->git.host;
}

void gitbox_close(struct gitbox *b)
{
	struct proc_status st;

	if (!b)
		return;
	base_close_fd(&b->asker);
	base_close_fd(&b->monitor);
	if (b->proc.pid > 0) {
		proc_kill(&b->proc, SIGKILL);
		if (proc_wait(&b->proc, &st, ERR_DISCARD) < 0)
			base_close_fd(&b->proc.pidfd);
	}
	git_zygote_fini(&b->git);
	free(b);
}
