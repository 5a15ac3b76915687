/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fork: a new record that begins where a checkpoint of another one stands.
 *
 * Shape    fork_record copies the conversation up to a checkpoint, its state, the manifest and the list of files
 *          that are the person's; the state says that it is a fork's. Everything it reads was written for an agent and may be hostile: only a
 *          confined process (role/forker.h) calls it.
 * Memory   Results live in the arena.
 * Errors   -ERR_NOENT when there is no such checkpoint, naming those there are; the new record may then hold a
 *          part and is to be removed.
 * Source   docs/architecture.md, "Forks".
 */
#ifndef SESSION_FORK_H
#define SESSION_FORK_H

#include "base/arena.h"
#include "base/err.h"

#define FORK_NEWEST UINT32_MAX
/* How what the operator says in the middle of a run stands in the conversation. */
#define FORK_STEER  "The person who started this run says:\n"

struct fork_ask {
	uint32_t turn;  /* FORK_NEWEST: the newest checkpoint */
	bool undo;      /* instead: the newest one that does not know yet what the operator said last */
	uint32_t below; /* undo: fewer words of the operator than this many; 0: than the conversation has now */
	struct str parent_id, new_id;
};
struct fork_done {
	bool found;    /* undo: false when every checkpoint knows it already: one of the parent's may not */
	uint32_t turn; /* of the checkpoint */
	uint32_t said; /* undo: what the operator said so far, the task included */
	struct str sha; /* the chain's tip there; empty: no step yet */
	struct str grandparent; /* the run the parent was forked from; or empty */
	struct str text;        /* undo: what the operator said last, if the monitor wrote down that they did; or empty */
};

int fork_record(int from_record, int to_record, const struct fork_ask *ask, struct arena *mem, struct fork_done *out,
	struct err *err) CHECKED;

#endif
