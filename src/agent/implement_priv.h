/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* implement_priv: a plan, between the file that makes it and the one that has it carried out. */
#ifndef AGENT_IMPLEMENT_PRIV_H
#define AGENT_IMPLEMENT_PRIV_H

#include "agent/implement.h"
#include "agent/modes.h"
#include "agent/sides.h"
#include "agent/tasks.h"

#define PLAN_MAX    (256 * 1024)
#define SEAT_TOKENS 2000

struct plan_step {
	struct str title, rationale, acceptance;
	struct str_list files;
};
struct plan {
	struct str summary;
	struct obj_list steps;
};

/* The planner's, when the critic has nothing against it. -ERR_INVALID: it made none; the run may have stopped, with its reason. */
int plan_make(struct run *r, struct arena *mem, struct plan *out, struct err *err) CHECKED;
int plan_confirm(struct run *r, const struct plan *p, struct err *err) CHECKED; /* by the person; a no stops the run */
int plan_put(struct run *r, const struct plan *p, struct err *err) CHECKED;     /* on record */
int plan_read(const struct run *r, struct arena *mem, struct plan *out, struct err *err) CHECKED; /* of loop_state */
int plan_encode(const struct plan *p, struct buf *out, struct err *err) CHECKED;                 /* for it */
/* As another role is shown it. */
int plan_add(const struct plan *p, struct buf *out, struct err *err) CHECKED;
int plan_add_step(const struct plan_step *s, size_t i, struct buf *out, struct err *err) CHECKED;

#endif
