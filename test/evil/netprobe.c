/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "netprobe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define WAIT_MS  3000

struct net_target {
	char text[96];
};

static int value_of(const char *targets, const char *name, struct net_target *out)
{
	size_t n = strlen(name);

	for (const char *p = targets; *p; p += strspn(p, " \n")) {
		size_t len = strcspn(p, " \n");

		if (len > n && strncmp(p, name, n) == 0 && p[n] == '=' && len - n - 1 < sizeof(out->text)) {
			memcpy(out->text, p + n + 1, len - n - 1);
			out->text[len - n - 1] = '\0';
			return 0;
		}
		p += len;
	}
	errno = ENODATA; /* the test forgot it: no refusal says so */
	return -1;
}

static int with_timeout(int fd)
{
	const struct timeval tv = { WAIT_MS / 1000, 0 };

	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	}
	return fd;
}

/* 0, or -1 with what refused it. */
static int close_with(int fd, int r)
{
	int sys = errno;

	if (fd >= 0)
		close(fd);
	errno = sys;
	return r < 0 ? -1 : 0;
}

static int inet_target(const char *targets, const char *name, struct sockaddr_storage *sa, socklen_t *len)
{
	struct net_target t;

	if (value_of(targets, name, &t) < 0)
		return -1;
	memset(sa, 0, sizeof(*sa));
	if (strchr(name, '6')) {
		struct sockaddr_in6 *in = (void *)sa;

		*in = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)atoi(t.text)),
			.sin6_addr = IN6ADDR_LOOPBACK_INIT };
		*len = sizeof(*in);
	} else {
		struct sockaddr_in *in = (void *)sa;

		*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(t.text)),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		*len = sizeof(*in);
	}
	return 0;
}

static int try_tcp(const char *targets, const char *name)
{
	struct sockaddr_storage sa;
	socklen_t len;

	if (inet_target(targets, name, &sa, &len) < 0)
		return -1;
	int fd = with_timeout(socket(sa.ss_family, SOCK_STREAM, 0));
	return close_with(fd, fd < 0 ? -1 : connect(fd, (void *)&sa, len));
}

/* Reached is who answers. */
static int try_udp(const char *targets, const char *name)
{
	struct sockaddr_storage sa;
	socklen_t len;
	char answer[16];

	if (inet_target(targets, name, &sa, &len) < 0)
		return -1;
	int fd = with_timeout(socket(sa.ss_family, SOCK_DGRAM, 0));
	int r = fd < 0 ? -1 : connect(fd, (void *)&sa, len);

	if (r == 0)
		r = send(fd, "hello", 5, 0) < 0 || recv(fd, answer, sizeof(answer), 0) < 0 ? -1 : 0;
	return close_with(fd, r);
}

/* Somebody of this world listens on its loopback, and is reached there. */
static int try_own(const char *targets, const char *name)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = -1;

	(void)targets;
	(void)name;
	int r = listener < 0 ? -1 : bind(listener, (void *)&sa, len);

	if (r == 0)
		r = listen(listener, 1) < 0 || getsockname(listener, (void *)&sa, &len) < 0 ? -1 : 0;
	if (r == 0) {
		fd = with_timeout(socket(AF_INET, SOCK_STREAM, 0));
		r = fd < 0 ? -1 : connect(fd, (void *)&sa, len);
	}
	r = close_with(fd, r);
	return close_with(listener, r);
}

/* A question for the name server of this world, or for one of the documentation's where it has none; sent is sent. */
static int try_dns(const char *targets, const char *name)
{
	static const unsigned char question[] = { 0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 7, 'i', 'n', 'v', 'a', 'l', 'i', 'd', 0,
		0, 1, 0, 1 };
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(53) };
	FILE *f = fopen("/etc/resolv.conf", "re");
	char line[256], server[64] = "192.0.2.1";

	(void)targets;
	(void)name;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "nameserver %63[0-9.]", server) == 1)
			break;
	if (f)
		fclose(f);
	inet_pton(AF_INET, server, &sa.sin_addr);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int r = fd < 0 ? -1 : connect(fd, (void *)&sa, sizeof(sa));

	if (r == 0)
		r = send(fd, question, sizeof(question), 0) < 0 ? -1 : 0;
	return close_with(fd, r);
}

static int unix_target(const char *targets, const char *name, struct sockaddr_un *sa, socklen_t *len)
{
	int abstract = strncmp(name, "abstract", 8) == 0;
	struct net_target t;

	if (value_of(targets, name, &t) < 0)
		return -1;
	*sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(sa->sun_path + abstract, t.text, strlen(t.text));
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(t.text) + 1);
	return 0;
}

static int try_unix(const char *targets, const char *name)
{
	struct sockaddr_un sa;
	socklen_t len;

	if (unix_target(targets, name, &sa, &len) < 0)
		return -1;
	int fd = with_timeout(socket(AF_UNIX, SOCK_STREAM, 0));
	return close_with(fd, fd < 0 ? -1 : connect(fd, (void *)&sa, len));
}

/* No socket is asked for: a pair is there, and is turned to somebody else. */
static int try_pair(const char *targets, const char *name)
{
	static const int types[] = { SOCK_DGRAM, SOCK_SEQPACKET, SOCK_STREAM };
	struct sockaddr_un sa;
	socklen_t len;
	int first = 0;

	if (unix_target(targets, name, &sa, &len) < 0)
		return -1;
	for (size_t i = 0; i < COUNT(types); i++) {
		int pair[2];

		if (socketpair(AF_UNIX, types[i], 0, pair) == 0) {
			int done = sendto(pair[0], "x", 1, 0, (void *)&sa, len) == 1 && types[i] == SOCK_DGRAM;

			done = done || connect(pair[0], (void *)&sa, len) == 0;
			int sys = errno;
			close(pair[0]);
			close(pair[1]);
			errno = sys;
			if (done)
				return 0;
		}
		first = first ? first : errno;
	}
	errno = first;
	return -1;
}

static int try_socketpair(const char *targets, const char *name)
{
	int pair[2] = { -1, -1 };
	int r = socketpair(AF_UNIX, SOCK_STREAM, 0, pair);

	(void)targets;
	(void)name;
	close_with(pair[1], 0);
	return close_with(pair[0], r);
}

static int try_io_uring(const char *targets, const char *name)
{
	char params[256] = { 0 };
	long fd = syscall(SYS_io_uring_setup, 8, params);

	(void)targets;
	(void)name;
	return close_with((int)fd, fd < 0 ? -1 : 0);
}

static const struct {
	const char *name;
	int family, type, protocol;
} sockets[] = {
	{ "netlink", AF_NETLINK, SOCK_RAW, NETLINK_ROUTE },
	{ "netlink-uevent", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT },
	{ "netlink-generic", AF_NETLINK, SOCK_RAW, NETLINK_GENERIC },
	{ "netlink-audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT },
	{ "netlink-netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
	{ "raw", AF_INET, SOCK_RAW, IPPROTO_ICMP },
	{ "raw6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 },
	{ "ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
	{ "sctp", AF_INET, SOCK_STREAM, 132 },
	{ "mptcp", AF_INET, SOCK_STREAM, 262 },
	{ "udplite", AF_INET, SOCK_DGRAM, 136 },
	{ "packet", AF_PACKET, SOCK_RAW, 0x0300 },
	{ "packet-dgram", AF_PACKET, SOCK_DGRAM, 0x0300 },
	{ "vsock", 40, SOCK_STREAM, 0 },
	{ "alg", 38, SOCK_SEQPACKET, 0 },
	{ "tipc", 30, SOCK_SEQPACKET, 0 },
	{ "bluetooth", 31, SOCK_RAW, 1 },
	{ "can", 29, SOCK_RAW, 1 },
	{ "rds", 21, SOCK_SEQPACKET, 0 },
	{ "xdp", 44, SOCK_RAW, 0 },
	{ "smc", 43, SOCK_STREAM, 0 },
};

static const struct {
	const char *name, *target;
	int (*go)(const char *targets, const char *target);
} ways[] = {
	{ "tcp4", "tcp4", try_tcp }, { "tcp6", "tcp6", try_tcp }, { "udp", "udp", try_udp },
	{ "udp6", "udp6", try_udp }, { "dns", "", try_dns }, { "own", "", try_own },
	{ "path", "path", try_unix }, { "abstract", "abstract", try_unix }, { "pair-path", "path.d", try_pair },
	{ "pair-abstract", "abstract.d", try_pair }, { "socketpair", "", try_socketpair }, { "io_uring", "", try_io_uring },
};

static void tell(netprobe_say_fn *say, void *self, const char *name, int r)
{
	int sys = errno;
	char line[128];

	if (r < 0)
		snprintf(line, sizeof(line), "%s refused %s", name, strerrorname_np(sys));
	else
		snprintf(line, sizeof(line), "%s reached", name);
	say(self, line);
}

void netprobe_run(const char *targets, netprobe_say_fn *say, void *self)
{
	for (size_t i = 0; i < COUNT(ways); i++)
		tell(say, self, ways[i].name, ways[i].go(targets, ways[i].target));
	for (size_t i = 0; i < COUNT(sockets); i++) {
		int fd = socket(sockets[i].family, sockets[i].type, sockets[i].protocol);

		tell(say, self, sockets[i].name, close_with(fd, fd));
	}
}
