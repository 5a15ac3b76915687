/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* leash: a run on a terminal in two processes, so that the terminal can be left. The one that the shell started
 * stays with the terminal, holds nothing and reads nothing of the run; the run itself, its monitor, is its child.
 *
 * Shape    leash_begin forks. In the child (1) run with rq->leash_fd as it was set; in the parent (0) leash_wait
 *          until the run has ended or was detached.
 * Memory   Inline; leash_wait closes what the leash holds.
 * Errors   Those of fork, poll and waitpid. How the run ended is a result.
 * Source   docs/steering.md, "Leaving the terminal".
 */
#ifndef APP_LEASH_H
#define APP_LEASH_H

#include "app/run.h"
#include "session/layout.h"
#include "sys/proc.h"

struct leash {
	struct proc run;
	int fd; /* closed by the run when it ends */
};

struct leash_end {
	int status;      /* of the run; 0 when it was detached */
	bool detached;
	bool aside;      /* nothing was begun: the person wants what is not committed set aside first */
	bool undo;       /* the person takes back what they said last */
	char run_id[SESSION_ID_MAX + 1]; /* empty: it was refused before it had one */
	char stash[65];  /* what was set aside before it began (app/stash.h); empty: nothing */
};

int leash_begin(struct run_request *rq, struct leash *out, struct err *err) CHECKED;
int leash_wait(struct leash *l, struct leash_end *out, struct err *err) CHECKED;
/* The run's side: it has this id. */
void leash_tell_id(int leash_fd, const char *run_id);
/* Before anybody is there who reads what a model says. */
void leash_tell_stash(int leash_fd, struct str sha);

#endif
