/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* spawner: the one process that may start programs on the host once a run is going. It was forked
 * before anything was confined, keeps no descriptor of the run but its channels, and takes requests of
 * a few bytes: an operation and an index, never a word of a command line. What is run is fixed: a table
 * of ours, and the token commands of the operator's configuration, sent once before the run.
 *
 * Shape    role_spawner_main is the process; spawner_identity and spawner_trusted ask it,
 *          from the side that started it.
 * Memory   An identity lives in the arena.
 * Errors   An unknown operation ends the spawner.
 * Source   docs/architecture.md, "The processes of a run" and "Network".
 */
#ifndef ROLE_SPAWNER_H
#define ROLE_SPAWNER_H

#include "base/arena.h"
#include "fmt/endpoint.h"
#include "role/launch.h"

int role_spawner_main(void);

/* The PATH it gets: `path` without what is relative and what lies in `apart`, links followed. */
int spawner_path(const char *path, const struct str_list *apart, struct buf *out, struct err *err) CHECKED;
int spawner_start(const struct programs *progs, struct peer *out, struct err *err) CHECKED;

/* Tells the spawner the token commands of the endpoints that have one, and where the client will ask for
 * what they print: nobody else sees it. *to_client: the client's end; -1 when no endpoint has one. */
int spawner_tokens(int chan, const struct endpoint_table *t, int *to_client, struct err *err) CHECKED;

/* What the person's global git configuration says: user.name and user.email, and what decides which files and bytes git takes.
 * Empty when it says nothing. excludes: core.excludesFile, or where git looks when that is not set; it need not exist. */
struct spawner_identity {
	struct str name, email;
	struct str autocrlf, eol, excludes;
};
int spawner_identity(int chan, struct arena *mem, struct spawner_identity *out, struct err *err) CHECKED;
/* The two halves of it, for who has something else to do meanwhile. */
int spawner_ask_identity(int chan, struct err *err) CHECKED;
int spawner_take_identity(int chan, struct arena *mem, struct spawner_identity *out, struct err *err) CHECKED;
/* The values of safe.directory of the system's and the person's configuration, each with a NUL behind it. */
int spawner_trusted(int chan, struct arena *mem, struct str *out, struct err *err) CHECKED;

#endif
