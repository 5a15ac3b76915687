/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/gitbox.h"
#include "app/start_priv.h"
#include "app/zygotes.h"
#include "git/alternates.h"
#include "git/githost.h"
#include "sys/chan.h"
#include "sys/file.h"
#include "sys/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* Words of git's that stand for themselves; anything else is left out. */
static int add_word(struct buf *b, const char *key, struct str value, const char *const *words, struct err *err)
{
	for (; *words; words++)
		if (str_eqz(value, *words))
			return buf_addf(b, err, "\t%s = %s\n", key, *words);
	return 0;
}

/* The person's file of what git is to ignore: the cell may read it, and git is told where it is. */
static int add_excludes(const struct gitbox_spec *spec, struct arena *mem, struct sandbox_policy *p, struct buf *b,
	struct err *err)
{
	autofree char *real = realpath(str_dupz(mem, spec->person->excludes), NULL);
	struct stat st;

	if (!real || strchr(real, '\n') || stat(real, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (!path_is_within(real, spec->repo->top))
		policy_list_add(&p->extra_ro_paths, mem, str_dup(mem, str_from(real)).p);
	TRY(buf_addz(b, "\texcludesFile = \"", err));
	for (const char *c = real; *c; c++) {
		if (*c == '"' || *c == '\\')
			TRY(buf_addc(b, '\\', err));
		TRY(buf_addc(b, *c, err));
	}
	return buf_addz(b, "\"\n", err);
}

/* What the person's git would do with the bytes of a file is done here as well. A repository may say otherwise. */
static int add_person(const struct gitbox_spec *spec, struct arena *mem, struct zygote_spec *z, struct err *err)
{
	static const char *const crlf[] = { "true", "false", "input", NULL }, *const eol[] = { "lf", "crlf", "native", NULL };
	auto_buf struct buf b = BUF_MAX(16384);

	if (!spec->person)
		return 0;
	TRY(buf_addz(&b, "[core]\n", err));
	TRY(add_word(&b, "autocrlf", spec->person->autocrlf, crlf, err));
	TRY(add_word(&b, "eol", spec->person->eol, eol, err));
	TRY(add_excludes(spec, mem, &z->policy, &b, err));
	z->git_config = str_dupz(mem, buf_str(&b));
	return 0;
}

static bool is_granted(const char *path, const struct config_sandbox *c, struct arena *mem)
{
	const struct str_list *lists[] = { &c->extra_read_paths, &c->extra_write_paths };

	for (size_t k = 0; k < COUNT(lists); k++)
		for (size_t i = 0; i < lists[k]->n; i++) {
			autofree char *real = realpath(str_dupz(mem, lists[k]->p[i]), NULL);

			if (real && path_is_within(path, real))
				return true;
		}
	return false;
}

/* Objects that are elsewhere. Whoever made the directory could have named any repository of this person, so the person has to
 * say that it is meant. */
static int add_alternates(const struct gitbox_spec *spec, struct arena *mem, struct sandbox_policy *p, struct err *err)
{
	const struct discovered *d = spec->repo;
	struct str_list found;

	TRY(alternates_find(d->common_dir, mem, &found, err));
	for (size_t i = 0; i < found.n; i++) {
		const char *path = found.p[i].p;

		if (path_is_within(path, d->top) || path_is_within(path, d->common_dir))
			continue;
		if (!is_granted(path, spec->config, mem)) {
			err_set(err, ERR_DENIED, "the repository has objects in %s (objects/info/alternates), which it may not read", path);
			err_hint(err, "agent6 config add sandbox.extra_read_paths '%s'; or have all objects here: git repack -ad && "
				"rm %s/objects/info/alternates", path, d->common_dir);
			return -ERR_DENIED;
		}
		policy_list_add(&p->extra_ro_paths, mem, path);
	}
	return 0;
}

static int add_hidden(const struct gitbox_spec *spec, struct arena *mem, struct policy_list *hide, struct err *err)
{
	struct mounts mounts;
	struct paths paths;

	if (spec->hide) {
		*hide = *spec->hide;
		return 0;
	}
	TRY(paths_find(paths_env, mem, &paths, err));
	TRY(mounts_load(mem, &mounts, err));
	return grants_shown(&(struct grants_ask){ &paths, &mounts, spec->profile }, mem, hide, err);
}

int gitbox_cell(const struct gitbox_spec *spec, struct arena *mem, struct zygote_spec *out, struct err *err)
{
	const struct discovered *d = spec->repo;
	const char *const dirs[] = { d->common_dir, d->git_dir };
	struct zygote_spec z = { .kind = ZYGOTE_GIT, .git_dir = d->git_dir, .common_dir = d->common_dir,
		.run_id = spec->run_id ? spec->run_id : "", .may_merge = spec->may_merge, .nlimits = 1,
		.limits = { { .class = JOB_GIT, .timeout_ms = GIT_TIMEOUT_MS } },
		.policy = { .profile = spec->profile, .cwd = d->top, .git_cell = true, .read_only = spec->read_only,
			.root_as_uid = spec->config->root_as_uid, .memory_limit_mb = GIT_MEMORY_MB } };
	const char *last = d->top;

	TRY(add_hidden(spec, mem, &z.policy.hide_paths, err));
	TRY(add_alternates(spec, mem, &z.policy, err));
	for (size_t i = 0; i < COUNT(dirs); i++) {
		if (path_is_within(dirs[i], d->top) || path_is_within(dirs[i], last))
			continue;
		policy_list_add(spec->read_only ? &z.policy.extra_ro_paths : &z.policy.extra_rw_paths, mem, dirs[i]);
		last = dirs[i];
	}
	add_identity(spec, mem, &z.policy.env);
	TRY(add_person(spec, mem, &z, err));
	*out = z;
	return 0;
}

static int launch_cell(struct gitbox *b, const struct gitbox_spec *spec, struct err *err)
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
	TRY(zygote_launch(exe, theirs, NULL, &z, &b->zygote, err));
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
	r = launch_cell(b, spec, err);
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
