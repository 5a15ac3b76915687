/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* egress: the pair of processes that reaches the network, started by whoever stands in the monitor's
 * place.
 *
 * Shape    egress_get asks one endpoint one question through a broker and a client of its own: the key
 *          probe of `connect`, the model listing. egress_start is what it and a run are made of.
 * Memory   The endpoint is borrowed for the call; its `route` is filled in by the callee.
 * Errors   A server that answers 401 is an answer, not a failure. -ERR_REMOTE with a sentence for
 *          people when no answer came (dead name, refused, TLS); -ERR_TIMEOUT past deadline_ms.
 * Units    Milliseconds.
 */
#ifndef APP_EGRESS_H
#define APP_EGRESS_H

#include "fmt/endpoint.h"
#include "fmt/wire.h"
#include "sys/proc.h"

/* Both processes, ready and confined. All descriptors are the caller's. */
struct egress {
	struct proc broker, client; /* pid 0: none was needed */
	int broker_fd, client_fd;   /* the monitor's ends; -1 when there is none */
	int agent_fd;               /* the agent's end of the client's channel */
	char dir[64];               /* private directory of the sockets; empty: none */
};

/* Derives the broker's table from the endpoints (filling their `route`) and the further routes, makes
 * the directory, starts both and waits until they are ready. secrets_fd and recording_fd may be -1. */
int egress_start(struct endpoint_table *t, const struct route_table *more, int secrets_fd, int recording_fd,
	struct egress *out, struct err *err) CHECKED;
void egress_stop(struct egress *e); /* closes, waits, removes the directory */

struct egress_reply {
	int status;               /* of HTTP */
	enum net_content content;
	int64_t retry_after_ms;   /* -1: none */
};

/* An empty body is a GET. At most out's max is kept; a longer answer is -ERR_LIMIT. */
int egress_get(const struct endpoint *e, enum net_route route, struct str body, int secrets_fd,
	int64_t deadline_ms, struct buf *out, struct egress_reply *reply, struct err *err) CHECKED;

#endif
