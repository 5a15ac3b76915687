/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* client: answers the agent's requests {endpoint, route, body} with what a provider says. Only it knows
 * hosts, paths and keys.
 *
 * Shape    client_open reads everything that needs files or sockets; then the process confines itself;
 *          then client_serve and the loop. WIRE_REQ and WIRE_CANCEL in; for each request WIRE_HEAD (when
 *          there was an answer), WIRE_DATA, and always one WIRE_END.
 * Memory   At most CLIENT_LIVE requests of models at once, and CLIENT_POSTS for each MCP server beside them; of each answer no more than one message is held. When the
 *          agent does not read, the server is not read either.
 * Errors   A request that cannot be served ends with a sentence for people that names the host. An agent
 *          that breaks the channel's rules loses the channel.
 * Source   docs/architecture.md, "Network"; reference for the times: docs/config.md, http_timeout_s.
 */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include "fmt/endpoint.h"
#include "net/recording.h"
#include "sys/loop.h"

#define CLIENT_LIVE       4 /* requests of models */
#define CLIENT_POSTS      4 /* exchanges with one MCP server: none of them takes a place of a model's or another server's */
#define CLIENT_LISTENS    1 /* and the stream of what it says by itself */
#define CLIENT_BODY_MAX   (64 * 1024 * 1024) /* of one request */
#define CLIENT_ANSWER_MAX (64 * 1024 * 1024) /* of one answer */

struct client;

struct client_spec {
	const struct endpoint_table *table; /* borrowed; keys resolved: KEY_INLINE or KEY_NONE */
	int agent_fd; /* taken */
	int monitor_fd; /* borrowed: who is asked about calls of MCP servers' tools; 0: nobody */
	int tokens_fd; /* taken: the spawner; -1: no endpoint has a token_command */
	int broker_fd; /* taken: the channel to the broker; -1 when every endpoint is direct or recorded */
	struct str recording; /* borrowed; empty: none */
};

int client_open(const struct client_spec *spec, struct loop *loop, struct client **out, struct err *err) CHECKED;
void client_close(struct client *c);
/* WIRE_VERDICT_POST from the monitor. */
struct chan_msg;
int client_verdict(struct client *c, const struct chan_msg *m, struct err *err) CHECKED;
int client_serve(struct client *c, struct err *err) CHECKED; /* starts watching the agent */

#endif
