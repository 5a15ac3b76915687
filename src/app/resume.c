/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* resume: a run of the past made ready to go on: found, locked, its leftovers of asking removed. */
#include "app/start_priv.h"

#include "role/reader.h"
#include "session/ending.h"
#include "session/journal.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLAN_MAX      (512 * 1024)
#define UNTRACKED_MAX (8 * 1024 * 1024)

static int check_unfinished(const struct start *s, struct str reason, struct err *err)
{
	if (ending_is_final(reason) && s->rq->steer.n == 0 && s->rq->context.n == 0) {
		int r = err_set(err, ERR_DENIED, "run %s is finished (" STR_FMT "): there is nothing left to do", s->ref.id,
			STR_ARG(reason));

		err_hint(err, "agent6 resume %s --steer \"what to do next\"", s->ref.id);
		return r;
	}
	return 0;
}

/* A run that recorded steps does not go on without a word where nothing can record them any more. */
static int check_repository(const struct start *s, const struct manifest *m, struct err *err)
{
	if (s->is_git || s->rq->force || (m->base_sha.n == 0 && m->base_branch.n == 0))
		return 0;
	err_set(err, ERR_DENIED, "run %s began in a git repository, and %s is in none now", s->ref.id, s->workspace);
	err_hint(err, "bring the repository back; or agent6 resume --force %s, without steps", s->ref.id);
	return -ERR_DENIED;
}

/* Answers to questions of the last leg would be taken for answers to this one's. */
static int forget_answers(const struct start *s, struct err *err)
{
	autoclose int fd = -1;
	struct dir_entry *list;
	size_t n;

	TRY(dir_open(AT_FDCWD, session_path(s->repo_dir, &s->ref, "answers", s->mem), &fd, err));
	TRY(dir_list(fd, s->mem, 4096, &list, &n, err));
	for (size_t i = 0; i < n; i++)
		if (unlinkat(fd, list[i].name.p, 0) < 0)
			return err_sys(err, errno, "remove the old answer %s", list[i].name.p);
	return 0;
}

/* A plan that the person has changed by hand since it was handed in: the planner would write it anew from what it knows. */
static int read_edited(struct start *s, int record, struct err *err)
{
	auto_buf struct buf was = BUF_MAX(PLAN_MAX), now = BUF_MAX(PLAN_MAX);
	int r;

	if (s->ref.kind != SESSION_PLAN)
		return 0;
	r = file_read(record, "result.md", &was, err);
	if (r == 0)
		r = file_read(record, "plan.md", &now, err);
	if (r == -ERR_NOENT)
		return 0;
	TRY(r);
	/* An empty one: the last leg did not hand a plan in. */
	if (str_trim(buf_str(&was)).n > 0 && !str_eq(str_trim(buf_str(&was)), str_trim(buf_str(&now)))) {
		s->params.context = str_printf(s->mem, "The person has changed the plan by hand since you handed it in. Begin from theirs:\n" STR_FMT
			"\n" STR_FMT, STR_ARG(str_trim(buf_str(&now))), STR_ARG(s->params.context));
		s->params.plan_reread = (int64_t)now.n;
	}
	return 0;
}

static int read_untracked(struct start *s, int record, struct err *err)
{
	struct buf *bytes = arena_alloc(s->mem, sizeof(*bytes));
	struct str_list *l = &s->params.untracked;
	int r;

	*bytes = BUF_MAX(UNTRACKED_MAX);
	r = file_read(record, "untracked-at-start", bytes, err);
	if (r < 0) {
		buf_fini(bytes);
		return r == -ERR_NOENT ? 0 : r;
	}
	struct str rest = str_dup(s->mem, buf_str(bytes));
	size_t n = 0;

	buf_fini(bytes);
	for (size_t i = 0; i < rest.n; i++)
		n += rest.p[i] == '\0';
	l->p = arena_array(s->mem, n + 1, sizeof(*l->p));
	while (rest.n > 0)
		l->p[l->n++] = str_cut(&rest, '\0');
	return 0;
}

/* As with a run that is parked: it waits under its id, nothing of it was changed. */
static int take_checkout(struct start *s, struct err *err)
{
	int r = repo_lock(s->repo_dir, s->ref.id, &s->repo_lock, err);

	if (r == -ERR_BUSY && session_is_live(s->repo_dir, &s->ref)) {
		err_hint(err, "agent6 watch %s shows it and takes your words; agent6 runs stop %s ends it", s->ref.id, s->ref.id);
	} else if (r == -ERR_BUSY) {
		err_wrap(err, "the checkout is in use, and %s waits", s->ref.id);
		err_hint(err, "when the checkout is free: agent6 resume %s", s->ref.id);
	}
	return r;
}

int resume_hear(struct start *s, struct err *err)
{
	TRY(dir_open(AT_FDCWD, session_path(s->repo_dir, &s->ref, "record", s->mem), &s->record_fd, err));
	return reader_start_facts(s->record_fd, false, &s->record_reader, err);
}

int resume_lock(struct start *s, struct err *err)
{
	s->kept = true;
	if (s->mode->writes)
		TRY(take_checkout(s, err));
	TRY(session_lock(s->repo_dir, &s->ref, &s->run_lock, err));
	return resume_hear(s, err);
}

int resume_session(struct start *s, struct err *err)
{
	const struct facts *f = &s->facts;
	autoclose int journal = -1;

	if (f->manifest.mode.n > 0 && !str_eqz(f->manifest.mode, s->mode->word))
		return err_set(err, ERR_INVALID, "the record of %s says it is a " STR_FMT ", but it lies among the %s", s->ref.id,
			STR_ARG(str_head(f->manifest.mode, 16)), session_bucket(s->ref.kind));
	if (f->manifest.parked_task.n > 0 && file_open(s->record_fd, JOURNAL_NAME, true, &journal, ERR_DISCARD) == -ERR_NOENT) {
		s->params.parked = 1;
		s->params.task = f->manifest.parked_task;
		return 0;
	}
	TRY(check_repository(s, &f->manifest, err));
	TRY(check_unfinished(s, f->reason, err));
	TRY(forget_answers(s, err));
	TRY(read_untracked(s, s->record_fd, err));
	TRY(read_edited(s, s->record_fd, err));
	s->params.force = s->rq->force;
	s->params.resume = 1;
	s->params.base = f->manifest.base_sha;
	s->params.task = f->manifest.user_task;
	return 0;
}
