/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* sandbox.protect_git: what of repositories is read-only for commands, and where no repository may appear. */
#include "app/start_priv.h"
#include "sandbox/newgit.h"
#include "sys/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The repository's own directories: read-only in the command cell, whatever .git is. */
static void protect_repo(struct start *s, struct sandbox_policy *p)
{
	const char *dirs[] = { s->repo.git_dir, s->repo.common_dir };

	bool mounts = s->profile == PROFILE_STRICT; /* elsewhere nothing inside the workspace can be taken out of it */

	if (!s->is_git)
		return;
	if (mounts)
		policy_list_add(&p->extra_protect_paths, s->mem, s->repo.dot_git);
	for (size_t i = 0; i < COUNT(dirs); i++) {
		if (i > 0 && strcmp(dirs[i], dirs[0]) == 0)
			continue;
		if (!path_is_within(dirs[i], s->workspace))
			policy_list_add(&p->extra_ro_paths, s->mem, dirs[i]);
		else if (mounts && strcmp(dirs[i], s->repo.dot_git) != 0)
			policy_list_add(&p->extra_protect_paths, s->mem, dirs[i]);
	}
}

/* No repository at the top: none may appear, whatever lies there. Nothing is made to keep the name, since that would be seen.
 * A .git that is no repository stays as it is. A directory that needs no more than the right words in files that are there
 * to be a repository cannot be told from one that has become it. */
static int guard_no_git(struct start *s, struct zygote_spec *z, struct err *err)
{
	const char *dot_git = str_printf(s->mem, "%s/.git", strcmp(s->workspace, "/") == 0 ? "" : s->workspace).p;
	bool mounts = s->profile == PROFILE_STRICT;
	struct stat st;

	if (s->is_git)
		return 0;
	if (s->mode->writes && (newgit_is_like(s->workspace) || (!mounts && newgit_is_like(dot_git)))) {
		err_set(err, ERR_UNSUPPORTED, "%s is no repository, but looks like one to git: HEAD lies beside objects and refs, or commondir",
			newgit_is_like(s->workspace) ? s->workspace : dot_git);
		err_hint(err, "rename its HEAD, or work in another directory; or agent6 config set sandbox.protect_git false");
		return -ERR_UNSUPPORTED;
	}
	policy_list_add(&z->no_git, s->mem, s->workspace);
	if (mounts && lstat(dot_git, &st) == 0)
		policy_list_add(&z->policy.extra_protect_paths, s->mem, dot_git);
	return 0;
}

static void protect_dot_git(struct start *s, struct zygote_spec *z, const char *dot_git, bool *more)
{
	if (s->profile == PROFILE_STRICT)
		policy_list_add(&z->policy.extra_protect_paths, s->mem, dot_git);
	else if (z->inner_git.n < NEWGIT_DIRS_MAX)
		policy_list_add(&z->inner_git, s->mem, dot_git);
	else
		*more = true;
}

/* Work trees inside that the repository knows of, submodules above all: git enters them when it is used at the top, and runs
 * what their .git says. It is read-only where it is, or watched where nothing can be; and none may appear where it is not. */
static int protect_inner(struct start *s, struct zygote_spec *z, struct err *err)
{
	const struct repo_facts *facts;
	struct stat st;

	if (!s->is_git || s->profile == PROFILE_NONE)
		return 0;
	TRY(settings_repo_facts(s, &facts, err));
	struct discovered_inner in = facts->inner;

	for (size_t i = 0; i < in.n; i++) {
		const char *dot_git = str_printf(s->mem, "%s/.git", in.dirs[i]).p;
		autofree char *real = realpath(in.dirs[i], NULL); /* git enters no link, but a command may put a directory there */

		if (real && strcmp(real, in.dirs[i]) == 0 && lstat(dot_git, &st) == 0)
			protect_dot_git(s, z, dot_git, &in.more);
		else if (z->no_git.n < NEWGIT_DIRS_MAX)
			policy_list_add(&z->no_git, s->mem, in.dirs[i]);
		else
			in.more = true;
	}
	if (in.more)
		start_notice(s, STR("more submodules and work trees than can be watched, or an index that agent6 cannot read: use no git in "
				    "them, nor at the top, before you looked at their .git"));
	return 0;
}

/* A place that was granted for writing may be a repository of its own. One without a .git is the operator's to know. */
static void protect_granted(struct start *s, struct zygote_spec *z)
{
	const struct policy_list *granted = &z->policy.extra_rw_paths;
	bool more = false;
	struct stat st;

	for (size_t i = 0; s->profile != PROFILE_NONE && i < granted->n; i++) {
		const char *dot_git = str_printf(s->mem, "%s/.git", granted->p[i]).p;

		if (lstat(dot_git, &st) == 0)
			protect_dot_git(s, z, dot_git, &more);
	}
	if (more)
		start_notice(s, STR("more repositories in sandbox.extra_write_paths than can be watched: look at their .git before you use "
				    "git there"));
}

int settings_ask_repo(struct start *s, struct err *err)
{
	return s->is_git && s->reader.proc.pid == 0 ? reader_start_repo(&s->repo, &s->reader, err) : 0;
}

int settings_repo_facts(struct start *s, const struct repo_facts **out, struct err *err)
{
	if (!s->repo_facts) {
		struct repo_facts *f = arena_alloc(s->mem, sizeof(*f));

		TRY(settings_ask_repo(s, err));
		TRY(reader_take_repo(&s->reader, &s->repo, s->mem, f, err));
		s->repo_facts = f;
	}
	*out = s->repo_facts;
	return 0;
}

int settings_protect(struct start *s, struct zygote_spec *z, struct err *err)
{
	protect_repo(s, &z->policy);
	protect_granted(s, z);
	TRY(guard_no_git(s, z, err));
	TRY(protect_inner(s, z, err));
	s->looks = z->no_git.n > 0;
	return 0;
}
