/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* egress: the pair of processes that reaches the network, broker and client, started by whoever stands
 * in the monitor's place.
 *
 * Shape    egress_get asks one endpoint one question through a pair of its own: the key probe of
 *          `connect`, the model listing. egress_start and egress_stop are what it is made of, and a run
 *          uses them too.
 * Memory   egress_start gives the peers and the agent's channel to the caller;
 *          egress_stop takes back whatever is still in the struct.
 * Errors   A server that answers 401 is an answer, not a failure. Otherwise a sentence for people:
 *          -ERR_REMOTE when no answer came (dead name, refused, TLS), -ERR_TIMEOUT past a deadline,
 *          -ERR_DENIED or -ERR_INVALID for an endpoint that may not be asked.
 * Units    Milliseconds.
 */
#ifndef APP_EGRESS_H
#define APP_EGRESS_H

#include "fmt/endpoint.h"
#include "fmt/wire.h"
#include "role/launch.h"

struct egress {
	struct peer broker; /* PEER_NONE when every endpoint is direct or recorded */
	struct peer resolver; /* PEER_NONE when the broker's table has no name to look up */
	struct peer client;
	struct peer spawner; /* PEER_NONE, unless egress_start needed one of its own for a token_command */
	int agent_chan;     /* the agent's end of the client's channel */
	int broker_chan;    /* the client's end of its channel to the broker; -1: none */
	int64_t deadline_ms; /* until which the client may take to stand */
};
#define EGRESS_NONE ((struct egress){ .broker = PEER_NONE, .resolver = PEER_NONE, .client = PEER_NONE, .spawner = PEER_NONE, .agent_chan = -1, .broker_chan = -1 })

struct egress_spec {
	const struct programs *progs;
	struct endpoint_table *table;   /* each endpoint's `route` is filled in */
	const struct route_table *more; /* further destinations (sandbox.allow_urls), or NULL */
	int spawner_chan;               /* who runs a token_command; used only where an endpoint has one */
	int secrets_fd, recording_fd;   /* -1: none; borrowed */
};

/* Derives the broker's table, starts both and waits until both have
 * confined themselves. */
int egress_start(const struct egress_spec *spec, struct egress *out, struct err *err) CHECKED;
/* The same in steps, for who has something else to do while libraries load; each goes on from what the one
 * before left in e, and after a failure egress_stop takes it all back. The broker may be launched as soon as the
 * endpoints are known; egress_brief does it where nobody has. */
int egress_launch_client(const struct programs *progs, struct egress *e, struct err *err) CHECKED;
int egress_launch_broker(const struct egress_spec *spec, struct egress *e, struct err *err) CHECKED; /* where one is needed */
int egress_brief(const struct egress_spec *spec, struct egress *e, struct err *err) CHECKED;        /* the broker */
int egress_brief_client(const struct egress_spec *spec, struct egress *e, struct err *err) CHECKED; /* the broker stands */
int egress_await(struct egress *e, struct err *err) CHECKED;
void egress_stop(struct egress *e); /* ends both; EGRESS_NONE is fine */

struct egress_reply {
	int status;             /* of HTTP */
	enum net_content content;
	int64_t retry_after_ms; /* -1: none */
};

/* An empty body is a GET (ROUTE_MODELS). out's max bounds the answer: a longer one is -ERR_LIMIT. deadline_ms: from when our
 * own processes stand. */
int egress_get(const struct programs *progs, const struct endpoint *e, enum net_route route, struct str body,
	int secrets_fd, int64_t deadline_ms, struct buf *out, struct egress_reply *reply, struct err *err) CHECKED;

#endif
