/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* forker: the process that makes a new record out of an old one. It reads what an agent wrote, so it holds
 * two directories and nothing else: the old record to read, the new one to write.
 *
 * Shape    role_forker_main is the process; forker_ask starts it, asks once and waits for its end.
 * Memory   Results live in the arena.
 * Errors   What it said. An answer whose parts are not what they must be (an object name, an id) is
 *          -ERR_PROTOCOL.
 * Source   session/fork.h; docs/architecture.md, "Forks".
 */
#ifndef ROLE_FORKER_H
#define ROLE_FORKER_H

#include "role/launch.h"
#include "session/fork.h"

int role_forker_main(void); /* exit status */

int forker_ask(const struct programs *progs, int from_record, int to_record, const struct fork_ask *ask, struct arena *mem,
	struct fork_done *out, struct err *err) CHECKED;

#endif
