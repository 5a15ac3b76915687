/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* broker_priv: what the broker's files share.
 *
 * Shape    resolver_open starts one thread that only calls getaddrinfo; resolver_ask and resolver_answer
 *          talk to it over a socketpair that the loop watches.
 * Source   getaddrinfo(3). A thread, because a lookup may block for many seconds, a forked helper could
 *          not be started after confinement, and a resolver of our own would parse hostile packets and
 *          disagree with the host's nsswitch.conf. It is made while the process is unconfined and
 *          confines itself before its first lookup, so neither side needs the right to make threads.
 *          Lookups queue behind each other; relays never wait for one.
 */
#ifndef ROLE_BROKER_PRIV_H
#define ROLE_BROKER_PRIV_H

#include "fmt/endpoint.h"

#include <sys/socket.h>

#define DIAL_ADDRS 8

struct dial_addr {
	socklen_t len;
	struct sockaddr_storage sa;
};

struct resolver_question {
	uint32_t link, turn; /* come back in the answer: a link may have been reused meanwhile */
	uint32_t route;
};

struct resolver_answer {
	uint32_t link, turn;
	int gai, sys; /* what getaddrinfo said; errno with EAI_SYSTEM */
	uint32_t n;
	struct dial_addr addrs[DIAL_ADDRS];
};

typedef int resolver_confine_fn(void *self, struct err *err);

struct resolver {
	int fd;        /* our end; -1: no name in the table needs a lookup */
	int thread_fd; /* the thread's end, its own */
	const struct route_table *routes; /* borrowed, never changes once the thread runs */
	resolver_confine_fn *confine;     /* called in the thread, before anything else */
	void *self;                       /* borrowed, for confine */
};

/* Loads what a later lookup would load, so that it needs no right to open libraries. */
void resolver_preload(void);
/* Returns when the thread has confined itself, with its error when it could not. r must stay in place. */
int resolver_open(struct resolver *r, const struct route_table *routes, resolver_confine_fn *confine, void *self,
	struct err *err) CHECKED;
int resolver_ask(const struct resolver *r, const struct resolver_question *q, struct err *err) CHECKED;
int resolver_take(const struct resolver *r, struct resolver_answer *out, struct err *err) CHECKED; /* -ERR_BUSY: none yet */

/* Addresses that need no lookup: literals and localhost. 0 when the host is a name. */
size_t resolver_known(const struct route *r, struct dial_addr out[DIAL_ADDRS]);
/* Whether the route may be dialled at this address. */
bool route_allows(const struct route *r, const struct sockaddr *sa);

#endif
