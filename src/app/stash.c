/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What the person had not committed is set aside before a run begins: after everything that can refuse the run by then was asked, while
 * the checkout is ours, before anybody is there who reads what a model says. Who waits for the run brings it back
 * (history_unstash); without somebody who waits nothing is set aside. */
#include "app/gitbox.h"
#include "app/leash.h"
#include "app/start_priv.h"
#include "sys/file.h"

#include <fcntl.h>

static const char *or_ours(struct start *s, struct str configured, const char *ours)
{
	return configured.n > 0 ? str_dupz(s->mem, configured) : ours;
}

/* Without a name no step could be committed and the run would be refused, once everything had been set aside for it. */
static int check_identity(struct start *s, struct err *err)
{
	const struct str name = s->params.git_name, email = s->params.git_email;
	int r;

	if (!s->config->git.commit_per_step || (name.n > 0 && email.n > 0))
		return 0;
	r = err_set(err, ERR_DENIED, "git has no %s for the commits of this run, and the repository's own user.name and user.email are "
				     "not used; nothing was set aside", name.n > 0 ? "email" : email.n > 0 ? "name" : "name and no email");
	err_hint(err, "git config --global user.name \"...\" and user.email \"...\"; or agent6 config set git.commit.name \"...\" and "
		      "git.commit.email \"...\"");
	return r;
}

/* What is set aside becomes an object of git's, and those are every command's to read. */
static int keep_hidden(struct start *s, struct repo *repo, struct err *err)
{
	const struct str_list hide = s->params.hide_paths;
	struct repo_status st;
	int r;

	if (hide.n == 0)
		return 0;
	TRY(repo_status(repo, s->mem, &st, err));
	for (size_t i = 0; i < st.dirty.n * hide.n; i++) {
		const struct str name = st.dirty.p[i / hide.n];
		const struct str path = str_printf(s->mem, "%s/" STR_FMT, s->repo.top, STR_ARG(name));

		if (!path_is_within(str_dupz(s->mem, path), str_dupz(s->mem, hide.p[i % hide.n])))
			continue;
		r = err_set(err, ERR_DENIED, STR_FMT " is changed and not committed, and hidden by sandbox.hide_paths: set aside it could be "
			"read by every command, as all that git keeps can", STR_ARG(name));
		err_hint(err, "keep its content where git does not, and put the file back: git restore " STR_FMT, STR_ARG(name));
		return r;
	}
	return 0;
}

static int save(struct start *s, struct repo_stashed *out, struct err *err)
{
	struct gitbox_spec spec = { .repo = &s->repo, .jail_bin = s->programs.jail_path, .profile = s->profile,
		.config = &s->config->sandbox, .run_id = s->ref.id, .may_merge = true, .person = &s->person };
	auto_gitbox struct gitbox *box = NULL;
	autoclose int top = -1;
	struct repo *repo = NULL;
	struct repo_head head;
	int r;

	spec.name = or_ours(s, s->params.git_name, "agent6");
	spec.email = or_ours(s, s->params.git_email, "agent6@localhost");
	TRY(gitbox_open(&spec, &box, err));
	TRY(dir_open(AT_FDCWD, s->repo.top, &top, err));
	TRY(repo_open(gitbox_host(box), top, str_from(s->ref.id), &repo, err));
	r = keep_hidden(s, repo, err);
	if (r == 0)
		r = repo_head(repo, s->mem, &head, err);
	if (r == 0)
		r = repo_stash_save(repo, str_printf(s->mem, "On %s" STR_FMT ": agent6 auto-stash before run %s\n",
			head.branch.n > 0 ? "" : "(no branch)", STR_ARG(head.branch), s->ref.id), s->mem, out, err);
	repo_close(repo);
	return r;
}

int stash_before(struct start *s, struct err *err)
{
	struct repo_stashed out = { 0 };
	int r;

	if ((!s->config->git.auto_stash && !s->rq->set_aside) || !s->is_git || !s->mode->writes || s->params.resume || s->rq->rehearse ||
		s->rq->leash_fd < 0)
		return 0;
	TRY(settings_identity(s, err));
	TRY(check_identity(s, err));
	r = save(s, &out, err);
	if (r < 0) {
		err_wrap(err, s->config->git.auto_stash ? "git.auto_stash" : "set aside");
		if (!err->hint[0])
			err_hint(err, "commit or stash what is changed%s; nothing was changed",
				s->config->git.auto_stash ? ", or agent6 config set git.auto_stash false" : "");
		return r;
	}
	if (r == 0)
		return 0;
	s->stash = out.sha;
	leash_tell_stash(s->rq->leash_fd, out.sha);
	start_notice(s, str_printf(s->mem, "%zu file%s changed and not committed: set aside as " STR_FMT ", refs/agent6-stash/%s%s",
		out.names.n, out.names.n == 1 ? " was" : "s were", STR_ARG(str_head(out.sha, 12)), s->ref.id,
		s->config->git.auto_stash_pop ? "; brought back when the run has ended" : ""));
	return 0;
}
