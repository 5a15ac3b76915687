/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* spawner: the one process that may start programs on the host once a run is going. It was forked
 * before anything was confined, keeps no descriptor of the run but its channel, and takes requests of
 * a few bytes: an operation and an index, never a word of a command line.
 *
 * Shape    role_spawner_main is the process; spawner_identity asks it, from the monitor's side.
 * Errors   An unknown operation ends the spawner.
 * Source   docs/architecture.md, "The spawner".
 */
#ifndef ROLE_SPAWNER_H
#define ROLE_SPAWNER_H

#include "base/arena.h"
#include "role/launch.h"

int role_spawner_main(void);

int spawner_start(const struct programs *progs, struct peer *out, struct err *err) CHECKED;

/* user.name and user.email of the person's global git configuration; empty when they have none. */
struct spawner_identity {
	struct str name, email;
};
int spawner_identity(int chan, struct arena *mem, struct spawner_identity *out, struct err *err) CHECKED;
/* The two halves of it, for who has something else to do meanwhile. */
int spawner_ask_identity(int chan, struct err *err) CHECKED;
int spawner_take_identity(int chan, struct arena *mem, struct spawner_identity *out, struct err *err) CHECKED;

#endif
