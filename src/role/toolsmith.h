/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* toolsmith: the process that speaks with MCP servers outside of a run. What they answer is a stranger's, and who asks
 * for it is an unconfined agent6 with the operator's files; so a process that holds nothing listens to them.
 *
 * Shape    role_toolsmith_main of agent/agent.h is the process; toolsmith_ask starts it, hands it the ways to the servers' zygotes, waits
 *          for its answer and for its end.
 * Memory   What was found lives in the arena. Texts are the servers': to be cleaned before they are shown.
 * Errors   -ERR_CLOSED when the process died over it. A server that cannot be had is a result.
 */
#ifndef ROLE_TOOLSMITH_H
#define ROLE_TOOLSMITH_H

#include "agent/params.h"
#include "role/launch.h"

struct found_tool {
	struct str shown, name, help;
};

struct found_server {
	bool ready;
	struct str protocol, why, stderr_tail;
	struct str_list left_out;
	struct found_tool *tools;
	size_t ntools;
};

struct toolsmith_task {
	const struct server_params *params; /* n of them; programs first, then those over HTTP */
	size_t n, programs;
	const int *askers; /* the ends of the zygotes' channels, in the order of params; borrowed */
	int client;        /* of the client's channel, where there are servers over HTTP; borrowed */
};

/* out has room for n. */
int toolsmith_ask(const struct programs *progs, const struct toolsmith_task *t, struct arena *mem, struct found_server *out,
	struct err *err) CHECKED;

#endif
