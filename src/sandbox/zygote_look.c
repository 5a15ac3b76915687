/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* What jobs may have made of a repository, looked at when they have ended. */
#include "fmt/pack.h"
#include "sandbox/zygote_priv.h"

/* ---- a repository where there was none ---- */

struct looking {
	struct zygote *z;
	struct buf *note; /* for who asked for the job that ended */
};

static int on_found(void *self, const char *dir, const char *name, const char *moved_to, const char *why, struct err *err)
{
	struct looking *l = self;
	auto_buf struct buf up = BUF_MAX(8192);

	pack_str(&up, str_from(dir));
	pack_str(&up, str_from(name));
	pack_str(&up, str_from(moved_to ? moved_to : ""));
	pack_str(&up, str_from(why ? why : ""));
	TRY(zygote_tell_monitor(l->z, WIRE_GIT_FOUND, &up, err));
	if (!moved_to)
		return buf_addf(l->note, err, "%s appeared in %s, where no git repository was, and cannot be renamed: %s; ", name, dir, why);
	return buf_addf(l->note, err, "%s appeared in %s, where no git repository was, and was renamed to %s: only the operator may "
				      "make one there; ", name, dir, moved_to);
}

/* Whatever could have made one has ended: nobody's git has been told to look since. */
int look_for_git(struct zygote *z, struct buf *note, struct err *err)
{
	struct looking l = { z, note };

	return newgit_look(&z->newgit, on_found, &l, err);
}

/* ---- a repository that jobs can write ---- */

bool look_may_write(enum job_class class)
{
	return class == JOB_COMMAND || class == JOB_VERIFY || class == JOB_METRIC || class == JOB_BACKGROUND;
}

bool look_commands_run(const struct zygote *z)
{
	for (size_t i = 0; i < ZYGOTE_JOBS_MAX; i++)
		if (z->jobs[i].state == JOB_RUNNING && look_may_write(z->jobs[i].rq.class))
			return true;
	return false;
}

/* The names are a command's: what is no plain letter is shown as one. */
static int tell_changed(struct zygote *z, struct buf *changed, struct buf *note, struct err *err)
{
	auto_buf struct buf up = BUF_MAX(8192);

	if (changed->n == 0)
		return 0;
	for (size_t i = 0; i < changed->n; i++)
		if (changed->p[i] != '\n' && (changed->p[i] < ' ' || changed->p[i] > '~'))
			changed->p[i] = '?';
	pack_str(&up, buf_str(changed));
	TRY(zygote_tell_monitor(z, WIRE_GIT_CHANGED, &up, err));
	return buf_addz(note, "the configuration, the hooks or the refs of the repository were changed, which no command may; ", err);
}

int look_at_git(struct zygote *z, bool refs, struct buf *note, struct err *err)
{
	auto_buf struct buf changed = BUF_MAX(4096);

	if (!z->watch)
		return 0;
	gitwatch_look(z->watch, refs, &changed);
	return tell_changed(z, &changed, note, err);
}

/* A command is about to start. What git itself or a person did to the refs in between is theirs to do. */
int look_mark(struct zygote *z, struct err *err)
{
	auto_buf struct buf nobody = BUF_MAX(1024);
	bool others = look_commands_run(z);

	if (!z->watch)
		return 0;
	TRY(look_at_git(z, others, &nobody, err));
	if (!others)
		gitwatch_mark(z->watch);
	return 0;
}
