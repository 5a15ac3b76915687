/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/broker_priv.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>

static void set_v4(struct dial_addr *a, uint32_t addr, uint16_t port)
{
	struct sockaddr_in *in = (void *)&a->sa;

	*a = (struct dial_addr){ .len = sizeof(*in) };
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = addr;
	in->sin_port = htons(port);
}

static void set_v6(struct dial_addr *a, const struct in6_addr *addr, uint16_t port)
{
	struct sockaddr_in6 *in = (void *)&a->sa;

	*a = (struct dial_addr){ .len = sizeof(*in) };
	in->sin6_family = AF_INET6;
	in->sin6_addr = *addr;
	in->sin6_port = htons(port);
}

size_t resolver_known(const struct route *r, struct dial_addr out[DIAL_ADDRS])
{
	char host[256];
	struct in_addr v4;
	struct in6_addr v6;

	if (r->host.n >= sizeof(host))
		return 0;
	memcpy(host, r->host.p, r->host.n);
	host[r->host.n] = '\0';
	if (inet_pton(AF_INET, host, &v4) == 1) {
		set_v4(&out[0], v4.s_addr, r->port);
		return 1;
	}
	if (inet_pton(AF_INET6, host, &v6) == 1) {
		set_v6(&out[0], &v6, r->port);
		return 1;
	}
	if (host_is_loopback(r->host)) { /* RFC 6761, 6.3: never asked of a server */
		set_v4(&out[0], htonl(INADDR_LOOPBACK), r->port);
		set_v6(&out[1], &in6addr_loopback, r->port);
		return 2;
	}
	return 0;
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

/* Runs in the thread. The host was checked when the table was unpacked, so it fits. */
static void look_up(const struct route *r, struct resolver_answer *a)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP };
	struct addrinfo *list = NULL;
	char host[256];

	BUG_IF(r->host.n >= sizeof(host));
	memcpy(host, r->host.p, r->host.n);
	host[r->host.n] = '\0';
	a->gai = getaddrinfo(host, NULL, &hints, &list);
	a->sys = errno;
	for (const struct addrinfo *i = list; a->gai == 0 && i && a->n < DIAL_ADDRS; i = i->ai_next) {
		struct dial_addr *d = &a->addrs[a->n];

		if (i->ai_family == AF_INET)
			set_v4(d, ((struct sockaddr_in *)i->ai_addr)->sin_addr.s_addr, r->port);
		else if (i->ai_family == AF_INET6)
			set_v6(d, &((struct sockaddr_in6 *)i->ai_addr)->sin6_addr, r->port);
		else
			continue;
		a->n++;
	}
	if (list)
		freeaddrinfo(list);
}

static void *thread_main(void *self)
{
	const struct resolver *r = self;
	int fd = r->thread_fd;
	struct resolver_question q;
	struct err err = { 0 };

	if (r->confine(r->self, &err) < 0 || send(fd, &err, sizeof(err), MSG_NOSIGNAL) < 0) {
		(void)send(fd, &err, sizeof(err), MSG_NOSIGNAL);
		close(fd);
		return NULL;
	}
	while (recv(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q)) {
		struct resolver_answer a = { .link = q.link, .turn = q.turn };

		look_up(&r->routes->p[q.route], &a);
		if (send(fd, &a, sizeof(a), MSG_NOSIGNAL) < 0)
			break;
	}
	close(fd);
	return NULL;
}

/* glibc loads the modules of nsswitch.conf's "hosts" line at the first lookup that reaches them. Loaded
 * by their name once, they are found in memory later. Whatever is missing here is just not used. */
void resolver_preload(void)
{
#ifdef __GLIBC__
	auto_buf struct buf conf = BUF_MAX(64 * 1024);
	autoclose int fd = open("/etc/nsswitch.conf", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0 && buf_reserve(&conf, 16 * 1024, ERR_DISCARD) == 0)
		n = read(fd, conf.p, 16 * 1024);
	for (struct str rest = n > 0 ? str_of(conf.p, (size_t)n) : STR(""); rest.n > 0;) {
		struct str line = str_trim(str_line(&rest));
		struct str key = str_cut(&line, ':');

		if (!str_eq(str_trim(key), STR("hosts")))
			continue;
		while (line.n > 0) {
			struct str word = str_cut(&line, ' ');
			char name[64];

			/* No dlclose: it stays for the process's life, that is its purpose. */
			if (word.n > 0 && word.n < 32 && word.p[0] != '[' && word.p[0] != '#' &&
				snprintf(name, sizeof(name), "libnss_" STR_FMT ".so.2", STR_ARG(str_trim(word))) > 0)
				(void)dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
		}
	}
#endif
}

/* The thread's first message is what came of its confinement: an empty error, or the reason. */
static int await_thread(const struct resolver *r, struct err *err)
{
	struct err got;
	ssize_t n;

	do
		n = recv(r->fd, &got, sizeof(got), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(got))
		return err_set(err, ERR_CLOSED, "the resolver is gone");
	if (got.code != ERR_NONE) {
		*err = got;
		return -(int)got.code;
	}
	return 0;
}

int resolver_open(struct resolver *r, const struct route_table *routes, resolver_confine_fn *confine, void *self,
	struct err *err)
{
	struct dial_addr known[DIAL_ADDRS];
	pthread_attr_t attr;
	pthread_t thread;
	bool needed = false;
	int fds[2], sys;

	*r = (struct resolver){ .fd = -1, .thread_fd = -1, .routes = routes, .confine = confine,
		.self = self };
	for (size_t i = 0; i < routes->n; i++)
		needed |= resolver_known(&routes->p[i], known) == 0;
	if (!needed)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_sys(err, errno, "socketpair for the resolver");
	r->fd = fds[0];
	r->thread_fd = fds[1];
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	sys = pthread_create(&thread, &attr, thread_main, r);
	pthread_attr_destroy(&attr);
	if (sys != 0)
		return err_sys(err, sys, "start the resolver");
	return await_thread(r, err);
}

int resolver_ask(const struct resolver *r, const struct resolver_question *q, struct err *err)
{
	if (send(r->fd, q, sizeof(*q), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return err_sys(err, errno, "ask the resolver");
	return 0;
}

int resolver_take(const struct resolver *r, struct resolver_answer *out, struct err *err)
{
	ssize_t n = recv(r->fd, out, sizeof(*out), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return err_set(err, ERR_BUSY, "no answer yet");
	if (n != (ssize_t)sizeof(*out))
		return err_set(err, ERR_CLOSED, "the resolver is gone");
	return 0;
}
