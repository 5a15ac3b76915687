/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "app/fork.h"

#include "app/gitbox.h"
#include "app/owner.h"
#include "app/profile.h"
#include "config/config.h"
#include "role/forker.h"
#include "session/lineage.h"
#include "sys/file.h"

#include <fcntl.h>
#include <stdio.h>

#define GENERATIONS_MAX 64 /* forks of forks that undo looks through */

struct making {
	const struct place *place;
	struct arena *mem;
	struct programs programs;
	struct config config;
	struct session_ref ref;
	int run_lock, record;
	bool made, kept; /* its directory stands; it is whole */
};

static void making_fini(struct making *m)
{
	if (m->made && !m->kept)
		(void)!dir_remove_tree(AT_FDCWD, session_path(m->place->repo_dir, &m->ref, NULL, m->mem), ERR_DISCARD);
	base_close_fd(&m->run_lock);
	base_close_fd(&m->record);
	programs_close(&m->programs);
}

static int set_id(struct making *m, enum session_kind kind, struct str want, struct err *err)
{
	struct session_ref other;

	if (want.n == 0)
		return session_mint(m->place->repo_dir, kind, &m->ref, err);
	if (!session_id_ok(want))
		return err_set(err, ERR_INVALID,
			"\"" STR_FMT "\" is not a run id: letters, digits, '_' and '-' only, at most %d", STR_ARG(want),
			SESSION_ID_MAX);
	if (session_resolve(m->place->repo_dir, want, SESSION_ANY, &other, ERR_DISCARD) == 0 &&
		str_eqz(want, other.id))
		return err_set(err, ERR_EXIST, "there is a %s %s already", session_word(other.kind), other.id);
	m->ref.kind = kind;
	snprintf(m->ref.id, sizeof(m->ref.id), STR_FMT, STR_ARG(want));
	return 0;
}

static int begin(struct making *m, enum session_kind kind, struct str want, struct err *err)
{
	TRY(programs_open(&m->programs, err));
	TRY(config_load(&m->place->files, m->mem, &m->config, err));
	TRY(owner_check_place(m->place, &m->config, m->mem, err));
	TRY(set_id(m, kind, want, err));
	TRY(session_create(m->place->repo_dir, &m->ref, err));
	m->made = true;
	TRY(session_lock(m->place->repo_dir, &m->ref, &m->run_lock, err));
	return dir_open(AT_FDCWD, session_path(m->place->repo_dir, &m->ref, "record", m->mem), &m->record, err);
}

static int ask(struct making *m, const struct session_ref *from, const struct fork_ask *what, struct fork_done *out,
	struct err *err)
{
	autoclose int record = -1;
	struct fork_ask a = *what;

	a.parent_id = str_from(from->id);
	a.new_id = str_from(m->ref.id);
	TRY(dir_open(AT_FDCWD, session_path(m->place->repo_dir, from, "record", m->mem), &record, err));
	if (forker_ask(&m->programs, record, m->record, &a, m->mem, out, err) < 0)
		return err_wrap(err, "%s %s", session_word(from->kind), from->id);
	return 0;
}

/* The chain of the fork begins at the parent's step; the step itself is shared. */
static int begin_chain(struct making *m, struct fork_made *f, struct err *err)
{
	auto_buf struct buf notice = BUF_MAX(1024);
	struct gitbox_spec spec = { .run_id = m->ref.id, .begins_run = true,
		.config = &m->config.sandbox, .jail_bin = m->programs.jail_path };
	auto_gitbox struct gitbox *box = NULL;
	autoclose int workspace = -1;
	struct repo *repo = NULL;
	struct discovered where;
	struct probe probe;
	bool branch = m->config.git.branch_per_run, kept = false;
	int r;

	if (f->sha.n == 0 || !m->place->is_repo)
		return 0;
	TRY(discover_repo(m->place->workspace, m->mem, &where, err));
	TRY(profile_probe(&probe, err));
	TRY(probe_resolve(&probe, profile_wish(&m->config), &spec.profile, &notice, err));
	spec.repo = &where;
	TRY(gitbox_open(&spec, &box, err));
	TRY(dir_open(AT_FDCWD, where.top, &workspace, err));
	TRY(repo_open(gitbox_host(box), workspace, str_from(m->ref.id), &repo, err));
	r = repo_begin_chain(repo, f->sha, branch, &kept, err);
	repo_close(repo);
	f->branch = branch && !kept;
	return r;
}

static int finish(struct making *m, const struct fork_done *d, struct fork_made *f, struct err *err)
{
	f->ref = m->ref;
	f->turn = d->turn;
	f->sha = d->sha;
	TRY(begin_chain(m, f, err));
	TRY(lineage_add(m->place->repo_dir,
		&(struct lineage){ .child = str_from(m->ref.id), .parent = str_from(f->from.id), .sha = d->sha,
			.turn = d->turn }, err));
	m->kept = true;
	return 0;
}

#define MAKING(place_, mem_)                                                                                 \
	{ .place = (place_), .mem = (mem_), .programs = PROGRAMS_NONE, .run_lock = -1, .record = -1 }

int app_fork(const struct place *place, const struct session_ref *from, struct str want_id, uint32_t turn,
	struct arena *mem, struct fork_made *out, struct err *err)
{
	CLEANUP(making_fini) struct making m = MAKING(place, mem);
	struct fork_made f = { .from = *from };
	struct fork_done d;

	TRY(begin(&m, from->kind, want_id, err));
	TRY(ask(&m, from, &(struct fork_ask){ .turn = turn }, &d, err));
	TRY(finish(&m, &d, &f, err));
	*out = f;
	return 0;
}

/* Where this run cannot go back far enough, the one it came from can. */
static int find_before(struct making *m, struct fork_made *f, struct fork_done *d, struct err *err)
{
	struct fork_ask what = { .undo = true };
	struct str text = STR("");

	for (int i = 0; i < GENERATIONS_MAX; i++) {
		TRY(ask(m, &f->from, &what, d, err));
		if (i == 0)
			text = d->text;
		f->text = text.n > 0 ? text : d->text;
		if (d->found)
			return 0;
		if (d->grandparent.n == 0)
			break;
		what.below = d->said;
		f->from.kind = m->ref.kind;
		snprintf(f->from.id, sizeof(f->from.id), STR_FMT, STR_ARG(d->grandparent));
	}
	return err_set(err, ERR_NOENT, "there is nothing to take back: the run has not gone on since");
}

int app_undo(const struct place *place, const struct session_ref *from, struct arena *mem, struct fork_made *out,
	struct err *err)
{
	CLEANUP(making_fini) struct making m = MAKING(place, mem);
	struct fork_made f = { .from = *from };
	struct fork_done d;

	TRY(begin(&m, from->kind, STR(""), err));
	TRY(find_before(&m, &f, &d, err));
	TRY(finish(&m, &d, &f, err));
	*out = f;
	return 0;
}
