/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* agent6-resolver: looks up the names of the broker's table and answers with addresses. It holds what a lookup needs, the
 * host's files about names and a way to name servers, and nothing else: no key, no connection of the run, no exec.
 *
 * Shape    Descriptor 3 is its channel to the monitor: one WIRE_NAMES in, one WIRE_RESOLVER_READY out. Descriptor 4 is that
 *          of the broker: indices of the table in, addresses out, one after another, until either channel closes.
 * Source   getaddrinfo(3). A process of its own, because a lookup may block for many seconds, and because libc loads modules
 *          for it that nobody who dials should hold; and not a resolver of ours, which would disagree with the host's
 *          nsswitch.conf. So this program is linked against the host's libc, where agent6 brings its own. */
#include "base/arena.h"
#include "fmt/endpoint.h"
#include "fmt/lookup.h"
#include "fmt/pack.h"
#include "fmt/wire.h"
#include "sandbox/confine.h"
#include "sandbox/resolver_files.h"
#include "sys/chan.h"
#include "sys/proc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define MONITOR_FD 3
#define BROKER_FD  4

#define NSSWITCH_BYTES (16 * 1024)

#ifdef AGENT6_SANITIZED
/* The leak finder needs system calls that the filter refuses. */
const char *__asan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

struct names {
	struct arena *mem;
	struct route_table table;
	struct chan_msg *msg;
};

/* ---- set-up ---- */

static int take_table(struct names *n, struct err *err)
{
	auto_buf struct buf bytes = BUF_MAX(ENDPOINT_TABLE_BYTES);
	autoclose int table = -1;

	TRY(chan_recv(MONITOR_FD, n->msg, err));
	/* A message that breaks a rule ends this process, so its descriptors need no closing. */
	TRY(wire_check(LINK_MONITOR_RESOLVER, WIRE_DOWN, n->msg->type, n->msg->body.n, n->msg->nfds, err));
	table = chan_take_fd(n->msg, 0);
	TRY(memfd_read(table, &bytes, err));
	TRY(routes_unpack(str_dup(n->mem, buf_str(&bytes)), n->mem, &n->table, err));
	for (size_t i = 0; i < n->table.n; i++) /* once: who connects again and again has it looked up as often */
		n->table.p[i].host = str_from(str_dupz(n->mem, n->table.p[i].host));
	return 0;
}

#ifdef __GLIBC__
static void load_module(struct str word)
{
	char name[64];

	/* No dlclose: it stays for the process's life, that is its purpose. */
	if (word.n > 0 && word.n < 32 && word.p[0] != '[' && word.p[0] != '#' &&
		snprintf(name, sizeof(name), "libnss_" STR_FMT ".so.2", STR_ARG(word)) > 0)
		(void)dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
}

/* The modules of nsswitch.conf's "hosts" line are loaded at the first lookup that reaches them, and no library can be loaded
 * then. Loaded by their name once, they are found in memory. Whatever is missing here is just not used. */
static void load_modules(void)
{
	auto_buf struct buf conf = BUF_MAX(64 * 1024);
	autoclose int fd = open("/etc/nsswitch.conf", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0 && buf_reserve(&conf, NSSWITCH_BYTES, ERR_DISCARD) == 0)
		n = read(fd, conf.p, NSSWITCH_BYTES);
	for (struct str rest = n > 0 ? str_of(conf.p, (size_t)n) : STR(""); rest.n > 0;) {
		struct str line = str_trim(str_line(&rest));
		struct str key = str_cut(&line, ':');

		while (str_eq(str_trim(key), STR("hosts")) && line.n > 0) {
			size_t end = str_find_any(line, STR(" \t"));

			load_module(str_head(line, end));
			line = str_skip(line, end + 1);
		}
	}
}
#else
static void load_modules(void)
{
}
#endif

static int set_up(struct names *n, struct err *err)
{
	struct ll_rule rules[RESOLVER_RULES + 1];

	TRY(take_table(n, err));
	load_modules();
	memcpy(rules, resolver_rules, sizeof(resolver_rules));
	rules[RESOLVER_RULES] = (struct ll_rule){ .kind = LL_CONNECT, .port = 53 };
	return confine_self(SECCOMP_RESOLVER, rules, COUNT(rules), err);
}

static int tell_ready(int r, const struct err *why, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(4096);

	pack_u8(&body, (uint8_t)-r);
	pack_str(&body, str_from(r == 0 ? "" : why->msg));
	pack_str(&body, str_from(r == 0 ? "" : why->hint));
	TRY(pack_ok(&body, err));
	return chan_send(MONITOR_FD, WIRE_RESOLVER_READY, buf_str(&body), NULL, 0, err);
}

/* ---- lookups ---- */

static void add_addr(struct lookup_answer *a, const struct addrinfo *i)
{
	struct lookup_addr *to = &a->addrs[a->n];

	if (i->ai_family == AF_INET)
		memcpy(to->bytes, &((const struct sockaddr_in *)i->ai_addr)->sin_addr, sizeof(struct in_addr));
	else if (i->ai_family == AF_INET6)
		memcpy(to->bytes, &((const struct sockaddr_in6 *)i->ai_addr)->sin6_addr, sizeof(to->bytes));
	else
		return;
	to->v6 = i->ai_family == AF_INET6;
	a->n++;
}

static void look_up(const struct route *r, struct lookup_answer *a)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP };
	struct addrinfo *list = NULL;

	a->gai = getaddrinfo(r->host.p, NULL, &hints, &list);
	a->sys = errno;
	for (const struct addrinfo *i = list; a->gai == 0 && i && a->n < LOOKUP_ADDRS; i = i->ai_next)
		add_addr(a, i);
	if (list)
		freeaddrinfo(list);
}

static int answer(const struct names *n, struct err *err)
{
	auto_buf struct buf body = BUF_MAX(256);
	struct lookup_question q = { 0 };
	struct lookup_answer a = { 0 };

	TRY(chan_recv(BROKER_FD, n->msg, err));
	TRY(wire_check(LINK_BROKER_RESOLVER, WIRE_DOWN, n->msg->type, n->msg->body.n, n->msg->nfds, err));
	TRY(lookup_ask_unpack(n->msg->body, &q, err));
	if (q.route >= n->table.n)
		return err_set(err, ERR_PROTOCOL, "there is no route %u", q.route);
	a.link = q.link;
	a.turn = q.turn;
	look_up(&n->table.p[q.route], &a);
	TRY(lookup_answer_pack(&a, &body, err));
	return chan_send(BROKER_FD, WIRE_LOOKED_UP, buf_str(&body), NULL, 0, err);
}

/* The monitor has nothing more to say: whatever happens on its channel is the end, and so is the broker's. */
static int serve(struct names *n, struct err *err)
{
	struct pollfd p[] = { { MONITOR_FD, POLLIN, 0 }, { BROKER_FD, POLLIN, 0 } };
	int r = set_up(n, err);
	struct err why = *err;

	TRY(tell_ready(r, &why, err));
	while (r == 0) {
		if (poll(p, COUNT(p), -1) < 0 && errno != EINTR)
			return err_sys(err, errno, "poll");
		if (p[0].revents)
			return 0;
		if (p[1].revents)
			r = answer(n, err);
	}
	return r == -ERR_CLOSED ? 0 : r;
}

int main(void)
{
	struct names n = { 0 };
	struct err err = { 0 };
	int r;

	/* RES_OPTIONS, LOCALDOMAIN and the like would be obeyed by libc. */
	if (clearenv() != 0 || proc_sanitize(2, &err) < 0)
		return 1;
	n.mem = arena_new();
	n.msg = mem_alloc(sizeof(*n.msg));
	r = serve(&n, &err);
	free(n.msg);
	arena_free(n.mem);
	return r < 0;
}
