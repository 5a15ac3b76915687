/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "role/broker.h"
#include "role/broker_priv.h"

#include "base/time.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "sandbox/confine.h"
#include "sys/chan.h"
#include "sys/loop.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define CHANNEL_FD    3
#define DIAL_MS       20000             /* name and connect together, as the client's limit */
#define ATTEMPT_MS    5000              /* one address, while another one is left */
#define IDLE_MS       (2 * 3600 * 1000) /* above every time limit of a provider: a backstop */
#define RELAY_BYTES   (16 * 1024)
#define RELAY_ROUNDS  64                /* reads in one go, then the other connections get a turn */

#define FILES_WANTED  (2 * BROKER_LINKS + 64)

#define RESOLVER_GONE "the process that looks names up is gone"

enum link_state { LINK_FREE, LINK_RESOLVING, LINK_DIALLING, LINK_RELAYING };

/* One direction of a relay: bytes read from one side and not yet written to the other. */
struct half {
	char *bytes; /* owned by the broker's pool, RELAY_BYTES */
	size_t off, n;
	bool eof, shut;
};

struct link {
	struct broker *b;
	enum link_state state;
	uint32_t turn; /* grows with each use, so that a late answer finds nobody */
	size_t route;
	int client, remote; /* owned */
	struct dial_addr addrs[DIAL_ADDRS];
	size_t naddrs, at;
	int last_sys; /* why the last address failed */
	int64_t started_ms, active_ms;
	struct half up, down;
};

struct broker {
	struct loop *loop;
	struct arena *mem;
	struct route_table routes;
	int resolver;     /* the channel to it; -1: no name is looked up, or it is gone */
	int client;       /* the channel to it; -1: it is gone */
	struct link links[BROKER_LINKS];
	struct ll_rule *rules;
	size_t nrules;
};

/* --- telling the client why --- */

/* It died, or said what it may not: it dials nothing more. What is relayed goes on until its ends are closed. */
static void client_lost(struct broker *b)
{
	loop_unwatch(b->loop, b->client);
	close(take_fd(&b->client));
}

static void tell_failure(struct broker *b, size_t route, enum net_outcome what, const char *fmt, ...) FORMAT(4, 5);

static void tell_failure(struct broker *b, size_t route, enum net_outcome what, const char *fmt, ...)
{
	auto_buf struct buf body = BUF_MAX(1024);
	char text[900];
	va_list ap;

	if (b->client < 0)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pack_u8(&body, (uint8_t)route);
	pack_u8(&body, (uint8_t)what);
	pack_str(&body, str_from(text));
	/* A client that does not read its notes sees a plain reset instead; nothing waits for it. */
	if (chan_send(b->client, WIRE_DIAL_FAILED, buf_str(&body), NULL, 0, ERR_DISCARD) == -ERR_CLOSED)
		client_lost(b);
}

static struct str host_of(const struct link *l)
{
	return l->b->routes.p[l->route].host;
}

/* --- a link's end --- */

static loop_fn on_link_timer, pump_again;

static void link_close(struct link *l)
{
	struct broker *b = l->b;

	loop_cancel(b->loop, on_link_timer, l);
	loop_cancel(b->loop, pump_again, l);
	for (int i = 0; i < 2; i++) {
		int *fd = i == 0 ? &l->client : &l->remote;

		if (*fd >= 0) {
			loop_unwatch(b->loop, *fd);
			close(*fd);
		}
		*fd = -1;
	}
	free(l->up.bytes);
	free(l->down.bytes);
	l->up = l->down = (struct half){ 0 };
	l->state = LINK_FREE;
	l->turn++;
}

/* --- relaying --- */

enum pumped { PUMP_WAIT, PUMP_MORE, PUMP_READ_FAILED, PUMP_WRITE_FAILED };

/* Moves bytes until one side has none or takes none. */
static enum pumped pump_half(struct half *h, int from, int to, int64_t *active_ms)
{
	for (int round = 0; round < RELAY_ROUNDS && !h->shut; round++) {
		ssize_t n;

		if (h->n > 0) {
			n = send(to, h->bytes + h->off, h->n, MSG_NOSIGNAL | MSG_DONTWAIT);
			if (n < 0)
				return errno == EAGAIN ? PUMP_WAIT : errno == EINTR ? PUMP_MORE : PUMP_WRITE_FAILED;
			h->off += (size_t)n;
			h->n -= (size_t)n;
			*active_ms = time_mono_ms();
			continue;
		}
		if (h->eof) {
			h->shut = true;
			return shutdown(to, SHUT_WR) < 0 ? PUMP_WRITE_FAILED : PUMP_WAIT;
		}
		n = recv(from, h->bytes, RELAY_BYTES, MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN ? PUMP_WAIT : errno == EINTR ? PUMP_MORE : PUMP_READ_FAILED;
		h->off = 0;
		h->n = (size_t)n;
		h->eof = n == 0;
	}
	return h->shut ? PUMP_WAIT : PUMP_MORE;
}

static int pump(struct link *l, struct err *err)
{
	enum pumped up = pump_half(&l->up, l->client, l->remote, &l->active_ms), down;

	if (up == PUMP_WRITE_FAILED) /* a server may answer and close before it has read everything */
		l->up.shut = true;
	down = up == PUMP_READ_FAILED ? up : pump_half(&l->down, l->remote, l->client, &l->active_ms);
	if (down >= PUMP_READ_FAILED || l->down.shut) { /* after the server's end nobody reads what is left */
		link_close(l);
		return 0;
	}
	if (up == PUMP_MORE || down == PUMP_MORE) /* watched by edges: nobody else would call again */
		return loop_after(l->b->loop, 0, pump_again, l, err);
	return 0;
}

static int pump_again(void *self, uint32_t events, struct err *err)
{
	(void)events;
	return pump(self, err);
}

static int on_remote(void *self, uint32_t events, struct err *err)
{
	struct link *l = self;

	(void)events;
	return l->state == LINK_RELAYING ? pump(l, err) : 0;
}

static int on_client(void *self, uint32_t events, struct err *err)
{
	struct link *l = self;

	if (events & EPOLLHUP) { /* it closed: a cancelled request must reach the server at once, and nobody dials for it */
		link_close(l);
		return 0;
	}
	return l->state == LINK_RELAYING ? pump(l, err) : 0;
}

static int start_relay(struct link *l, struct err *err)
{
	struct broker *b = l->b;
	int one = 1, idle_s = 60;

	loop_unwatch(b->loop, l->remote);
	l->state = LINK_RELAYING;
	l->active_ms = time_mono_ms();
	l->up.bytes = mem_alloc(RELAY_BYTES);
	l->down.bytes = mem_alloc(RELAY_BYTES);
	/* Best effort: a kernel without them relays as well. */
	(void)setsockopt(l->remote, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(l->remote, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	(void)setsockopt(l->remote, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	TRY(loop_watch(b->loop, l->remote, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, on_remote, l, err));
	TRY(loop_after(b->loop, IDLE_MS, on_link_timer, l, err));
	return pump(l, err);
}

/* --- dialling --- */

static void dial_failed(struct link *l, int sys)
{
	const struct route *r = &l->b->routes.p[l->route];

	if (sys == ETIMEDOUT)
		tell_failure(l->b, l->route, NET_TIMEOUT, STR_FMT ":%u did not accept a connection within %d s",
			STR_ARG(r->host), r->port, DIAL_MS / 1000);
	else
		tell_failure(l->b, l->route, NET_CONNECT, "connect to " STR_FMT ":%u: %s", STR_ARG(r->host), r->port,
			strerror(sys));
	link_close(l);
}

static int dial_next(struct link *l, struct err *err);

static int attempt_failed(struct link *l, int sys, struct err *err)
{
	loop_unwatch(l->b->loop, l->remote);
	close(take_fd(&l->remote));
	l->last_sys = sys;
	return dial_next(l, err);
}

static int on_dialled(void *self, uint32_t events, struct err *err)
{
	struct link *l = self;
	int sys = 0;
	socklen_t n = sizeof(sys);

	(void)events;
	if (l->state != LINK_DIALLING)
		return 0;
	if (getsockopt(l->remote, SOL_SOCKET, SO_ERROR, &sys, &n) < 0)
		sys = errno;
	return sys == 0 ? start_relay(l, err) : attempt_failed(l, sys, err);
}

static int64_t dial_left_ms(const struct link *l)
{
	int64_t left = l->started_ms + DIAL_MS - time_mono_ms();

	return left > 0 ? left : 0;
}

static int dial_next(struct link *l, struct err *err)
{
	while (l->at < l->naddrs) {
		const struct dial_addr *a = &l->addrs[l->at++];
		int64_t left = dial_left_ms(l);
		int rc;

		if (left == 0) {
			l->last_sys = ETIMEDOUT;
			break;
		}
		l->remote = socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
		if (l->remote < 0) {
			l->last_sys = errno;
			continue;
		}
		rc = connect(l->remote, (const struct sockaddr *)&a->sa, a->len);
		if (rc < 0 && errno != EINPROGRESS) {
			l->last_sys = errno;
			close(take_fd(&l->remote));
			continue;
		}
		TRY(loop_watch(l->b->loop, l->remote, EPOLLOUT, on_dialled, l, err));
		return loop_after(l->b->loop, l->at < l->naddrs && left > ATTEMPT_MS ? ATTEMPT_MS : left,
			on_link_timer, l, err);
	}
	dial_failed(l, l->last_sys);
	return 0;
}

static int dial(struct link *l, const struct dial_addr *addrs, size_t n, struct err *err)
{
	const struct route *r = &l->b->routes.p[l->route];
	size_t refused = 0;

	l->naddrs = l->at = 0;
	l->last_sys = EHOSTUNREACH;
	for (size_t i = 0; i < n; i++)
		if (route_allows(r, (const struct sockaddr *)&addrs[i].sa))
			l->addrs[l->naddrs++] = addrs[i];
		else
			refused++;
	if (l->naddrs == 0 && refused > 0) {
		tell_failure(l->b, l->route, NET_REFUSED,
			"the name " STR_FMT " leads to an address inside a private network or this machine, "
			"which the configuration does not name; refused", STR_ARG(r->host));
		link_close(l);
		return 0;
	}
	l->state = LINK_DIALLING;
	return dial_next(l, err);
}

/* ---- names ---- */

static void name_failed(struct link *l, const char *why)
{
	tell_failure(l->b, l->route, NET_DNS, "look up " STR_FMT ": %s", STR_ARG(host_of(l)), why);
	link_close(l);
}

/* It died, or said what it may not: nobody is asked again. What is relayed goes on. */
static void resolver_lost(struct broker *b)
{
	loop_unwatch(b->loop, b->resolver);
	close(take_fd(&b->resolver));
	for (size_t i = 0; i < BROKER_LINKS; i++)
		if (b->links[i].state == LINK_RESOLVING)
			name_failed(&b->links[i], RESOLVER_GONE);
}

static int resolved(struct link *l, const struct lookup_answer *a, struct err *err)
{
	struct dial_addr addrs[DIAL_ADDRS];

	if (a->gai == EAI_SYSTEM)
		name_failed(l, strerror(a->sys));
	else if (a->gai != 0)
		name_failed(l, gai_strerror(a->gai));
	else if (a->n == 0)
		name_failed(l, "no address");
	else
		return dial(l, addrs, dial_answered(a, l->b->routes.p[l->route].port, addrs), err);
	return 0;
}

static int on_resolved(void *self, uint32_t events, struct err *err)
{
	struct broker *b = self;
	struct lookup_answer a;
	int r = resolver_take(b->resolver, &a, err);

	(void)events;
	if (r == -ERR_BUSY)
		return 0;
	if (r < 0 || a.link >= BROKER_LINKS) {
		*err = (struct err){ 0 };
		resolver_lost(b);
		return 0;
	}
	if (b->links[a.link].state != LINK_RESOLVING || b->links[a.link].turn != a.turn)
		return 0; /* the client went away, or its time was up */
	return resolved(&b->links[a.link], &a, err);
}

static int on_link_timer(void *self, uint32_t events, struct err *err)
{
	struct link *l = self;
	int64_t idle = time_mono_ms() - l->active_ms;
	char why[64];

	(void)events;
	switch (l->state) {
	case LINK_RESOLVING:
		snprintf(why, sizeof(why), "no answer within %d s", DIAL_MS / 1000);
		name_failed(l, why);
		return 0;
	case LINK_DIALLING:
		return attempt_failed(l, ETIMEDOUT, err);
	case LINK_RELAYING:
		if (idle < IDLE_MS)
			return loop_after(l->b->loop, IDLE_MS - idle, on_link_timer, l, err);
		link_close(l);
		return 0;
	case LINK_FREE:
		break;
	}
	return 0;
}

/* --- what the client asks for --- */

static struct link *free_link(struct broker *b)
{
	for (size_t i = 0; i < BROKER_LINKS; i++)
		if (b->links[i].state == LINK_FREE)
			return &b->links[i];
	return NULL;
}

static int link_start(struct link *l, size_t route, int client, struct err *err)
{
	struct broker *b = l->b;
	struct dial_addr known[DIAL_ADDRS];
	size_t n = dial_known(&b->routes.p[route], known);
	struct lookup_question q = { .link = (uint32_t)(l - b->links), .turn = l->turn, .route = (uint8_t)route };
	int r;

	l->route = route;
	l->client = client;
	l->started_ms = l->active_ms = time_mono_ms();
	TRY(loop_watch(b->loop, l->client, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, on_client, l, err));
	if (n > 0)
		return dial(l, known, n, err);
	l->state = LINK_RESOLVING;
	TRY(loop_after(b->loop, DIAL_MS, on_link_timer, l, err));
	r = b->resolver < 0 ? -ERR_CLOSED : resolver_ask(b->resolver, &q, ERR_DISCARD);
	if (r < 0)
		name_failed(l, r == -ERR_BUSY ? "too many lookups wait already" : RESOLVER_GONE);
	return 0;
}

/* A descriptor of the client's is a unix stream socket, whoever else still holds it: relays wait for nothing. */
static bool is_stream(int fd)
{
	int domain = 0, type = 0;
	socklen_t n = sizeof(domain), m = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX &&
		getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &m) == 0 && type == SOCK_STREAM;
}

/* 1: nothing is there. */
static int take_dial(struct broker *b, size_t *route, int *fd, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	int r = chan_recv(b->client, m, err);
	struct unpack u;

	if (r == -ERR_BUSY)
		return 1;
	if (r == 0)
		r = wire_check(LINK_BROKER_CLIENT, WIRE_UP, m->type, m->body.n, m->nfds, err);
	if (r == 0) {
		u = unpack_from(m->body);
		*route = unpack_u8(&u);
		*fd = chan_take_fd(m, 0);
		if (!unpack_done(&u) || *route >= b->routes.n || !is_stream(*fd))
			r = err_set(err, ERR_PROTOCOL, "a dial is malformed");
	}
	chan_msg_fini(m);
	return r;
}

static int on_dial(void *self, uint32_t events, struct err *err)
{
	struct broker *b = self;
	autoclose int fd = -1;
	size_t route = 0;
	struct link *l;
	int r = take_dial(b, &route, &fd, err);

	(void)events;
	if (r == 1)
		return 0;
	if (r < 0) {
		*err = (struct err){ 0 };
		client_lost(b);
		return 0;
	}
	l = free_link(b);
	if (!l) {
		tell_failure(b, route, NET_REFUSED, "more than %d connections at once", BROKER_LINKS);
		return 0;
	}
	return link_start(l, route, take_fd(&fd), err);
}

/* --- confinement --- */

static void list_rules(struct broker *b)
{
	struct ll_rule *r = arena_array(b->mem, ROUTES_MAX, sizeof(*r));
	size_t n = 0;

	for (size_t i = 0; i < b->routes.n; i++)
		r[n++] = (struct ll_rule){ .kind = LL_CONNECT, .port = b->routes.p[i].port };
	b->rules = r;
	b->nrules = n;
}

static int confine(const struct broker *b, struct err *err)
{
	return confine_self(SECCOMP_BROKER, b->rules, b->nrules, err);
}

/* --- the channel to the monitor --- */

static int take_routes(struct broker *b, struct err *err)
{
	autofree struct chan_msg *m = mem_alloc(sizeof(*m));
	auto_buf struct buf bytes = BUF_MAX(ENDPOINT_TABLE_BYTES);
	autoclose int table = -1;

	TRY(chan_recv(CHANNEL_FD, m, err));
	/* A message that breaks a rule ends this process, so its descriptors need no closing. */
	TRY(wire_check(LINK_MONITOR_BROKER, WIRE_DOWN, m->type, m->body.n, m->nfds, err));
	table = chan_take_fd(m, 0);
	b->client = chan_take_fd(m, 1);
	b->resolver = chan_take_fd(m, 2);
	TRY(memfd_read(table, &bytes, err));
	return routes_unpack(str_dup(b->mem, buf_str(&bytes)), b->mem, &b->routes, err);
}

static int set_up(struct broker *b, struct err *err)
{
	TRY(take_routes(b, err));
	TRY(loop_open(&b->loop, err));
	TRY(chan_nonblock(b->client, err));
	TRY(loop_watch(b->loop, b->client, EPOLLIN, on_dial, b, err));
	list_rules(b);
	if (b->resolver >= 0) {
		TRY(chan_nonblock(b->resolver, err));
		TRY(loop_watch(b->loop, b->resolver, EPOLLIN, on_resolved, b, err));
	}
	return confine(b, err);
}

static int tell_ready(int r, const struct err *why, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(4096);

	pack_u8(&body, (uint8_t)-r);
	pack_str(&body, str_from(r == 0 ? "" : why->msg));
	pack_str(&body, str_from(r == 0 ? "" : why->hint));
	TRY(pack_ok(&body, err));
	return chan_send(CHANNEL_FD, WIRE_BROKER_READY, buf_str(&body), NULL, 0, err);
}

/* The monitor has nothing more to say: whatever happens on its channel is the end. */
static int on_monitor(void *self, uint32_t events, struct err *err)
{
	struct broker *b = self;

	(void)events;
	(void)err;
	loop_quit(b->loop);
	return 0;
}

static int serve(struct broker *b, struct err *err)
{
	int r = set_up(b, err);
	struct err why = *err;

	TRY(tell_ready(r, &why, err));
	if (r < 0)
		return r;
	TRY(loop_watch(b->loop, CHANNEL_FD, EPOLLIN | EPOLLRDHUP, on_monitor, b, err));
	return loop_run(b->loop, err);
}

int role_broker_main(void)
{
	autofree struct broker *b = mem_alloc(sizeof(*b));
	struct rlimit files = { 0 };
	struct err err = { 0 };
	int r;

	if (proc_sanitize(1, &err) < 0)
		return 1;
	/* Two for each link; where the hard limit is lower, what does not come through ends a dial. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_WANTED) {
		files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	b->mem = arena_new();
	b->client = b->resolver = -1;
	for (size_t i = 0; i < BROKER_LINKS; i++)
		b->links[i] = (struct link){ .b = b, .client = -1, .remote = -1 };
	r = serve(b, &err);
	_exit(r < 0);
}
