/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* broker: the one process of a run with the host's network. It dials what its table lists and relays
 * bytes it cannot read.
 *
 * Shape    `agent6 --role broker`, descriptor 3 is the channel to the monitor: one WIRE_ROUTES in, one
 *          WIRE_BROKER_READY out, then it relays what the client sends an end of (WIRE_DIAL) until the channel
 *          closes. Nobody can name a destination: the client says the number of a route.
 * Memory   At most BROKER_LINKS connections, two bounded buffers each.
 *          Names are looked up by another process, whose channel comes with WIRE_ROUTES: this one opens no file.
 * Errors   A dial that fails closes the connection, after a sentence to the client
 *          (WIRE_DIAL_FAILED) that the client shows instead of a bare reset.
 * Source   docs/architecture.md, "Network". The broker is a role of agent6, not of agent6-net, so that
 *          it cannot even by accident load TLS: it sees ciphertext only.
 */
#ifndef ROLE_BROKER_H
#define ROLE_BROKER_H

#define BROKER_LINKS 64 /* more than the client has exchanges under way, and those that it keeps for the next */

int role_broker_main(void); /* exit status */

#endif
