/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* regate: the gate once more, on what a run committed, before that is merged by itself.
 *
 * Shape    When nobody of the run is there any more: the work tree must be what the run's last commit holds, the gate's
 *          command must exit with 0 in the jail of the current configuration, and leave the tree and the repository as they
 *          were.
 *          Before that, and also where no gate was set, app_regate_reads: whether the run changed what the gate runs.
 * Errors   -ERR_DENIED with the reason when one of these does not hold. Everything that kept git or the command from
 *          running, as `agent6 exec` would say it.
 * Source   docs/git.md, "Merges".
 *
 * That the run ended green is the agent's word, and so is what its commits hold. This believes neither: whoever could
 * exchange a file between the look and the gate has ended. What git does not track lies in the work tree too, as it did
 * when the run's own gate ran.
 */
#ifndef APP_REGATE_H
#define APP_REGATE_H

#include "app/place.h"
#include "session/layout.h"

struct regate_request {
	const struct place *place;
	const struct session_ref *ref;
	struct str config;         /* --config FILE, or empty */
	struct str preset;         /* the run's, which the gate and the jail are of too; or empty */
	struct str_list argv;      /* the gate that the operator set */
	bool disable_sandbox;
	int64_t timeout_ms;
	void (*note)(void *self, const char *text);
	void *self;
};

/* A gate that the run wrote says nothing of the run: then a person looks first. */
int app_regate_reads(const struct regate_request *rq, struct err *err) CHECKED;
int app_regate(const struct regate_request *rq, struct err *err) CHECKED;

#endif
