/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/gitbox.h"
#include "app/zygotes.h"
#include "git/githost.h"
#include "sys/chan.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define GIT_TIMEOUT_MS (120 * 1000)

struct gitbox {
	struct git_zygote git;
	int asker;          /* our end */
	struct peer zygote; /* we are its monitor */
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
		.policy = { .profile = spec->profile, .cwd = d->top, .git_cell = true, .read_only = spec->read_only,
			.root_as_uid = spec->root_as_uid > 0 ? spec->root_as_uid : POLICY_ROOT_UID } };
	const char *last = d->top;

	(void)err;
	for (size_t i = 0; i < COUNT(dirs); i++) {
		if (path_is_within(dirs[i], d->top) || path_is_within(dirs[i], last))
			continue;
		policy_list_add(spec->read_only ? &z.policy.extra_ro_paths : &z.policy.extra_rw_paths, mem, dirs[i]);
		last = dirs[i];
	}
	add_identity(spec, mem, &z.policy.env);
	*out = z;
	return 0;
}

static int start_cell(struct gitbox *b, const struct gitbox_spec *spec, struct err *err)
{
	auto_arena struct arena *mem = arena_new();
	autoclose int exe = open(spec->jail_bin, O_PATH | O_CLOEXEC), theirs = -1;
	struct str_list notes;
	struct zygote_spec z;
	int side[2];

	if (exe < 0)
		return err_sys(err, errno, "%s", spec->jail_bin);
	TRY(chan_pair(side, err));
	b->asker = side[0];
	theirs = side[1];
	TRY(gitbox_cell(spec, mem, &z, err));
	if (!spec->may_merge && !spec->begins_run)
		z.run_id = ""; /* a reader may meet the run at work */
	TRY(zygote_launch(exe, theirs, -1, &z, &b->zygote, err));
	base_close_fd(&theirs); /* so that its death is seen */
	if (zygote_await(&b->zygote, mem, &notes, err) < 0)
		return err_wrap(err, "git");
	return chan_nonblock(b->zygote.chan, err);
}

/* The zygote reports every job's end to us as its monitor; nobody needs them here, but its channel must
 * never fill. */
static int drain_monitor(void *self, struct err *err)
{
	struct gitbox *b = self;
	struct chan_msg *m = b->git.client.msg;
	int r;

	while ((r = chan_recv(b->zygote.chan, m, err)) == 0)
		chan_msg_fini(m);
	return r == -ERR_BUSY ? 0 : r;
}

int gitbox_open(const struct gitbox_spec *spec, struct gitbox **out, struct err *err)
{
	struct gitbox *b = mem_alloc(sizeof(*b));
	int r;

	*b = (struct gitbox){ .asker = -1, .zygote = PEER_NONE };
	r = start_cell(b, spec, err);
	git_zygote_init(&b->git, b->asker);
	b->git.after = drain_monitor;
	b->git.after_self = b;
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
	if (!b)
		return;
	base_close_fd(&b->asker);
	peer_end(&b->zygote);
	git_zygote_fini(&b->git);
	free(b);
}
