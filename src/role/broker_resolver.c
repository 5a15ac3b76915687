/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/broker_priv.h"

#include "fmt/wire.h"
#include "sys/chan.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static void set_v4(struct dial_addr *a, const void *addr, uint16_t port)
{
	struct sockaddr_in *in = (void *)&a->sa;

	*a = (struct dial_addr){ .len = sizeof(*in) };
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	memcpy(&in->sin_addr, addr, sizeof(in->sin_addr));
}

static void set_v6(struct dial_addr *a, const void *addr, uint16_t port)
{
	struct sockaddr_in6 *in = (void *)&a->sa;

	*a = (struct dial_addr){ .len = sizeof(*in) };
	in->sin6_family = AF_INET6;
	in->sin6_port = htons(port);
	memcpy(&in->sin6_addr, addr, sizeof(in->sin6_addr));
}

size_t dial_known(const struct route *r, struct dial_addr out[DIAL_ADDRS])
{
	const struct in_addr loopback = { htonl(INADDR_LOOPBACK) };
	char host[256];
	struct in_addr v4;
	struct in6_addr v6;

	if (r->host.n >= sizeof(host))
		return 0;
	memcpy(host, r->host.p, r->host.n);
	host[r->host.n] = '\0';
	if (inet_pton(AF_INET, host, &v4) == 1) {
		set_v4(&out[0], &v4, r->port);
		return 1;
	}
	if (inet_pton(AF_INET6, host, &v6) == 1) {
		set_v6(&out[0], &v6, r->port);
		return 1;
	}
	if (host_is_loopback(r->host)) { /* RFC 6761, 6.3: never asked of a server */
		set_v4(&out[0], &loopback, r->port);
		set_v6(&out[1], &in6addr_loopback, r->port);
		return 2;
	}
	return 0;
}

size_t dial_answered(const struct lookup_answer *a, uint16_t port, struct dial_addr out[DIAL_ADDRS])
{
	BUG_IF(a->n > DIAL_ADDRS);
	for (size_t i = 0; i < a->n; i++)
		(a->addrs[i].v6 ? set_v6 : set_v4)(&out[i], a->addrs[i].bytes, port);
	return a->n;
}

bool route_allows(const struct route *r, const struct sockaddr *sa)
{
	const void *addr = sa->sa_family == AF_INET ? (const void *)&((const struct sockaddr_in *)sa)->sin_addr
						    : (const void *)&((const struct sockaddr_in6 *)sa)->sin6_addr;

	switch (host_range_of(sa->sa_family, addr)) {
	case HOST_PUBLIC:
		return true;
	case HOST_LOOPBACK:
		return r->loopback_ok;
	case HOST_PRIVATE:
		return r->private_ok;
	case HOST_LOCAL:
		return r->local_ok;
	case HOST_NAME:
		break;
	}
	return false;
}

int resolver_ask(int chan, const struct lookup_question *q, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(64);

	TRY(lookup_ask_pack(q, &body, err));
	return chan_send(chan, WIRE_LOOK_UP, buf_str(&body), NULL, 0, err);
}

int resolver_take(int chan, struct lookup_answer *out, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	int r;

	TRY(chan_recv(chan, m, err));
	r = wire_check(LINK_BROKER_RESOLVER, WIRE_UP, m->type, m->body.n, m->nfds, err);
	if (r == 0)
		r = lookup_answer_unpack(m->body, out, err);
	chan_msg_fini(m);
	return r;
}
