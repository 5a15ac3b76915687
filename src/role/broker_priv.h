/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* broker_priv: what the broker's files share.
 *
 * Shape    resolver_ask and resolver_take talk to the process that looks names up (src/resolver/main.c) over a channel that
 *          the loop watches. Lookups queue behind each other there; relays never wait for one.
 * Errors   -ERR_CLOSED when it is gone, -ERR_PROTOCOL when it broke a rule: it has read packets of strangers, so nothing
 *          it says is believed but addresses, and these only where route_allows.
 */
#ifndef ROLE_BROKER_PRIV_H
#define ROLE_BROKER_PRIV_H

#include "fmt/endpoint.h"
#include "fmt/lookup.h"

#include <sys/socket.h>

#define DIAL_ADDRS LOOKUP_ADDRS

struct dial_addr {
	socklen_t len;
	struct sockaddr_storage sa;
};

int resolver_ask(int chan, const struct lookup_question *q, struct err *err) CHECKED; /* -ERR_BUSY: it does not read */
int resolver_take(int chan, struct lookup_answer *out, struct err *err) CHECKED;      /* -ERR_BUSY: none yet */

/* Where a route leads when somebody was asked. */
size_t dial_answered(const struct lookup_answer *a, uint16_t port, struct dial_addr out[DIAL_ADDRS]);
/* Where it leads when nobody needs to be asked: literals and localhost. 0 when the host is a name. */
size_t dial_known(const struct route *r, struct dial_addr out[DIAL_ADDRS]);
/* Whether the route may be dialled at this address. */
bool route_allows(const struct route *r, const struct sockaddr *sa);

#endif
