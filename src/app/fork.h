/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fork: a run of its own that begins where another one stood.
 *
 * Shape    app_fork makes it, not started: app_run with rq.resume goes on with it. app_undo finds what to fork
 *          by itself: the newest checkpoint that does not know yet what the operator said last, here or in the
 *          runs this one came from.
 *          Nothing of the parent changes: neither its record nor its chain; the work tree is not touched.
 * Memory   Results live in the arena.
 * Errors   -ERR_NOENT no such checkpoint, or nothing to take back; -ERR_EXIST the wanted id is taken. A fork
 *          that cannot be made leaves nothing behind.
 * Source   docs/architecture.md, "Forks".
 */
#ifndef APP_FORK_H
#define APP_FORK_H

#include "app/place.h"
#include "session/fork.h"
#include "session/layout.h"

struct fork_made {
	struct session_ref ref;
	struct session_ref from; /* undo may go back to a parent of the run */
	uint32_t turn;
	struct str sha;  /* where its chain begins; empty: no step yet */
	bool branch;     /* branch agent6/<id> stands there too */
	struct str text; /* undo: what was taken back, for the operator to say again in other words */
};

/* want_id: empty, one is minted. turn: FORK_NEWEST or a turn. */
int app_fork(const struct place *place, const struct session_ref *from, struct str want_id, uint32_t turn,
	struct arena *mem, struct fork_made *out, struct err *err) CHECKED;
int app_undo(const struct place *place, const struct session_ref *from, struct arena *mem, struct fork_made *out,
	struct err *err) CHECKED;

#endif
