/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* gitbox: git for host-side commands (`runs diff`, `runs commits`, `runs merge`), in a git cell of its own.
 *
 * Shape    gitbox_open starts agent6-jail --zygote for one repository; gitbox_host for git/repo.h;
 *          gitbox_close ends it and everything in it.
 * Memory   gitbox_cell: what it fills in lives in the arena or in the spec. The host dies with its box, and a box keeps nothing
 *          of the spec.
 * Errors   What the cell said, with its hint. -ERR_DENIED when the repository has objects where nothing was granted.
 */
#ifndef APP_GITBOX_H
#define APP_GITBOX_H

#include "config/config.h"
#include "git/discover.h"
#include "git/repo.h"
#include "role/spawner.h"

struct gitbox_spec {
	const struct discovered *repo;
	const char *jail_bin;      /* path of agent6-jail */
	enum policy_profile profile;
	const struct config_sandbox *config; /* root_as_uid; what was granted: objects that are elsewhere must be in it */
	const struct policy_list *hide; /* of ours, what a git cell would show (grants_shown); NULL: it is looked for */
	const char *name, *email;  /* identity for commits; NULL: none, commits then fail */
	const struct spawner_identity *person; /* what else their git says; NULL: nothing, which will do for who only reads commits */
	const char *run_id;        /* whose refs may be moved (gitbox_open: only with may_merge); NULL: none */
	bool may_merge;
	bool begins_run;           /* run_id is a run that has not begun: its refs may be made, nothing else moved */
	bool read_only;            /* nothing of the repository is written */
};

struct gitbox;

/* What a git cell for this repository looks like; the monitor uses it for the run's own git zygote too. */
int gitbox_cell(const struct gitbox_spec *spec, struct arena *mem, struct zygote_spec *out, struct err *err) CHECKED;
int gitbox_open(const struct gitbox_spec *spec, struct gitbox **out, struct err *err) CHECKED;
const struct git_host *gitbox_host(struct gitbox *b);
void gitbox_close(struct gitbox *b);
static inline void gitbox_close_ptr(struct gitbox **b)
{
	gitbox_close(*b);
}
#define auto_gitbox CLEANUP(gitbox_close_ptr)

#endif
