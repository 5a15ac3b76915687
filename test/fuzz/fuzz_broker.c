/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The broker: what a client and a resolver that were taken over say to it, in any order, and what hosts do meanwhile. Nothing is dialled
 * but rows of its table, and a name leads into a private network or this machine only where the table says so; no byte of a relay is
 * lost, doubled or another's. */
#include "role/broker.c"

#include "test/fuzz/steps.h"
#include "test/fuzz/unconfined.h"

#include <signal.h>
#include <sys/ioctl.h>

#define STREAMS (2 * BROKER_LINKS)
#define ASKED   16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { CLIENT, RESOLVER, MONITOR, CHANNELS };

/* The end of a relay that is ours. What is written there counts upward, so what is read there has to. */
struct stream {
	int fd;
	uint8_t out, in;
	bool begun;
};

static int ends[CHANNELS];
static struct stream streams[STREAMS];
static struct lookup_question asked[ASKED];
static size_t nasked;
static uint8_t luck; /* how the next connection goes */
static struct chan_msg heard;

static const struct {
	const char *host;
	uint16_t port;
	bool inside; /* may lead into a private network or this machine */
} hosts[] = {
	{ "127.0.0.1", 80, true },
	{ "localhost", 81, true },
	{ "api.example.com", 82, false },
	{ "box.lan", 83, true },
	{ "::1", 84, true },
	{ "8.8.8.8", 85, false },
	{ "other.example.com", 86, false },
};

/* ---- in the place of the kernel's ---- */

static struct stream *stream_free(void)
{
	for (size_t i = 0; i < STREAMS; i++)
		if (streams[i].fd < 0)
			return &streams[i];
	return NULL;
}

static int stream_open(int *theirs)
{
	struct stream *s = stream_free();
	int pair[2];

	if (!s)
		return -1;
	BUG_IF(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0);
	*s = (struct stream){ .fd = pair[0], .out = (uint8_t)((s - streams) * 16) };
	*theirs = pair[1];
	return 0;
}

int socket(int domain, int type, int protocol)
{
	int fd = -1;

	BUG_IF((domain != AF_INET && domain != AF_INET6) || !(type & SOCK_STREAM) || protocol != IPPROTO_TCP);
	errno = EMFILE;
	return stream_open(&fd) < 0 ? -1 : fd;
}

static bool is_inside_v4(const uint8_t *a)
{
	return a[0] == 127 || a[0] == 10 || (a[0] == 172 && a[1] >> 4 == 1) || (a[0] == 192 && a[1] == 168) || (a[0] == 169 && a[1] == 254) ||
		a[0] == 0;
}

/* What stands for an IPv4 address: compatible (:: and ::1 among them), mapped, translated, NAT64 with each length that its prefixes may
 * have, 6to4, Teredo, ISATAP. One that can be read in several ways is inside in any of them. */
static bool leads_inside_v4(const uint8_t *a)
{
	static const struct {
		uint8_t from, n, bytes[12]; /* what tells one */
		uint8_t at[4], turned;      /* where the other address is, and the bits of it that are */
	} ways[] = {
		{ 0, 12, { 0 }, { 12, 13, 14, 15 }, 0 }, { 0, 12, { [10] = 0xff, [11] = 0xff }, { 12, 13, 14, 15 }, 0 },
		{ 0, 12, { [8] = 0xff, [9] = 0xff }, { 12, 13, 14, 15 }, 0 }, { 0, 12, { 0, 0x64, 0xff, 0x9b }, { 12, 13, 14, 15 }, 0 },
		{ 0, 2, { 0x20, 0x02 }, { 2, 3, 4, 5 }, 0 }, { 0, 4, { 0x20, 0x01 }, { 12, 13, 14, 15 }, 0xff },
		{ 8, 4, { 0, 0, 0x5e, 0xfe }, { 12, 13, 14, 15 }, 0 }, { 8, 4, { 2, 0, 0x5e, 0xfe }, { 12, 13, 14, 15 }, 0 },
	};
	static const uint8_t nat64[] = { 0, 0x64, 0xff, 0x9b, 0, 1 };
	bool inside = false;

	for (size_t i = 0; i < COUNT(ways); i++) {
		uint8_t v4[4];

		for (size_t k = 0; k < sizeof(v4); k++)
			v4[k] = a[ways[i].at[k]] ^ ways[i].turned;
		inside |= memcmp(a + ways[i].from, ways[i].bytes, ways[i].n) == 0 && is_inside_v4(v4);
	}
	for (size_t prefix = 6; prefix <= 12 && memcmp(a, nat64, sizeof(nat64)) == 0; prefix += prefix == 8 ? 4 : 1) {
		uint8_t v4[4];

		for (size_t k = 0; k < sizeof(v4); k++) /* octet 8 is stepped over */
			v4[k] = a[prefix + k + (prefix <= 8 && prefix + k >= 8)];
		inside |= is_inside_v4(v4) && v4[0] != 0; /* nothing is translated to 0/8 */
	}
	return inside;
}

static bool is_inside(const struct sockaddr *sa)
{
	const uint8_t *a;

	if (sa->sa_family == AF_INET)
		return is_inside_v4((const uint8_t *)&((const struct sockaddr_in *)sa)->sin_addr);
	a = (const uint8_t *)&((const struct sockaddr_in6 *)sa)->sin6_addr;
	return (a[0] & 0xfe) == 0xfc || (a[0] == 0xfe && a[1] >> 6 == 2) || leads_inside_v4(a);
}

int connect(int fd, const struct sockaddr *sa, socklen_t n)
{
	uint16_t port = ntohs(sa->sa_family == AF_INET ? ((const struct sockaddr_in *)sa)->sin_port : ((const struct sockaddr_in6 *)sa)->sin6_port);
	static const char full[4096];
	size_t i = 0;

	BUG_IF(n != (sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)));
	while (i < COUNT(hosts) && hosts[i].port != port)
		i++;
	BUG_IF(i == COUNT(hosts) || (is_inside(sa) && !hosts[i].inside));
	switch (luck & 3) {
	case 0:
		return 0;
	case 1:
		errno = ECONNREFUSED;
		return -1;
	case 2: /* no answer, ever */
		while (send(fd, full, sizeof(full), MSG_DONTWAIT) > 0)
			;
		break;
	default:
		break;
	}
	errno = EINPROGRESS;
	return -1;
}

/* ---- what is heard ---- */

static void read_stream(struct stream *s)
{
	uint8_t block[4096];
	ssize_t n;

	while (s->fd >= 0 && (n = recv(s->fd, block, sizeof(block), MSG_DONTWAIT)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (block[i] == 0 && !s->begun)
				continue; /* what filled one that never answered */
			BUG_IF(s->begun && block[i] != (uint8_t)(s->in + 1));
			s->begun = true;
			s->in = block[i];
		}
}

static void hear(void)
{
	struct err err;

	while (ends[CLIENT] >= 0 && chan_recv(ends[CLIENT], &heard, ERR_DISCARD) == 0)
		BUG_IF(wire_check(LINK_BROKER_CLIENT, WIRE_DOWN, heard.type, heard.body.n, heard.nfds, &err) < 0);
	while (ends[RESOLVER] >= 0 && chan_recv(ends[RESOLVER], &heard, ERR_DISCARD) == 0) {
		struct lookup_question q;

		BUG_IF(wire_check(LINK_BROKER_RESOLVER, WIRE_DOWN, heard.type, heard.body.n, heard.nfds, &err) < 0);
		BUG_IF(lookup_ask_unpack(heard.body, &q, &err) < 0 || q.route >= COUNT(hosts));
		asked[nasked++ % ASKED] = q;
	}
}

/* ---- steps ---- */

static void dial_one(struct in *in)
{
	uint8_t route = in_u8(in), kind = in_u8(in);
	int pair[2] = { -1, -1 }, theirs = -1;

	if (kind < 240 && stream_open(&theirs) < 0)
		return;
	if (kind >= 240)
		BUG_IF(kind & 1 ? pipe2(pair, O_CLOEXEC) < 0 : socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0);
	if (kind >= 240)
		theirs = take_fd(&pair[0]);
	if (ends[CLIENT] >= 0)
		(void)!chan_send(ends[CLIENT], WIRE_DIAL, str_of(&route, 1), &theirs, 1, ERR_DISCARD);
	close(theirs);
	base_close_fd(&pair[1]);
}

/* Kinds of address, and their first bytes; the others are the input's. */
static void add_address(struct in *in, struct lookup_addr *a)
{
	static const struct {
		bool v6;
		uint8_t n, bytes[16];
	} starts[] = {
		{ false, 4, { 8, 8, 4, 4 } }, { false, 1, { 127 } }, { false, 1, { 10 } }, { false, 2, { 192, 168 } }, { false, 2, { 169, 254 } },
		{ false, 1, { 172 } }, { true, 2, { 0xfe, 0x80 } }, { true, 1, { 0xfd } }, { true, 16, { [15] = 1 } },
		{ true, 12, { [10] = 0xff, [11] = 0xff } }, { true, 2, { 0x20, 0x01 } }, { true, 0, { 0 } }, { false, 0, { 0 } },
		{ true, 12, { 0, 0x64, 0xff, 0x9b } }, { true, 4, { 0x20, 0x01 } }, { true, 2, { 0x20, 0x02 } },
		{ true, 12, { 0x2a, [10] = 0x5e, [11] = 0xfe } }, { true, 12, { 0x20, 0x02, 8, 8, 8, 8, [10] = 0x5e, [11] = 0xfe } },
		{ true, 6, { 0, 0x64, 0xff, 0x9b, 0, 1 } },
	};
	uint8_t kind = in_u8(in) % COUNT(starts);

	a->v6 = starts[kind].v6;
	memcpy(a->bytes, starts[kind].bytes, sizeof(a->bytes));
	for (size_t i = starts[kind].n; i < (a->v6 ? 16U : 4U); i++)
		a->bytes[i] = in_u8(in);
}

static void answer(struct in *in)
{
	auto_buf struct buf body = BUF_MAX(256);
	uint8_t which = in_u8(in), how = in_u8(in);
	struct lookup_answer a = { .gai = how >= 240 ? -(how & 15) : 0, .sys = how >= 240 ? ENOENT : 0, .n = how % 9 };

	if (which < 128 && nasked > 0) {
		a.link = asked[which % (nasked < ASKED ? nasked : ASKED)].link;
		a.turn = asked[which % (nasked < ASKED ? nasked : ASKED)].turn;
	} else {
		a.link = (uint32_t)in_number(in);
		a.turn = (uint32_t)in_number(in);
	}
	for (size_t i = 0; i < a.n && i < LOOKUP_ADDRS; i++)
		add_address(in, &a.addrs[i]);
	a.n = a.n < LOOKUP_ADDRS ? a.n : LOOKUP_ADDRS;
	BUG_IF(lookup_answer_pack(&a, &body, ERR_DISCARD) < 0);
	if (ends[RESOLVER] >= 0)
		(void)!chan_send(ends[RESOLVER], WIRE_LOOKED_UP, buf_str(&body), NULL, 0, ERR_DISCARD);
}

static void say_anything(struct in *in)
{
	size_t who = in_u8(in) % CHANNELS;
	uint16_t type = in_u8(in);
	struct str body = in_str(in);

	if (ends[who] >= 0)
		(void)!chan_send(ends[who], type, body, NULL, 0, ERR_DISCARD);
}

static void write_stream(struct in *in)
{
	struct stream *s = &streams[in_u8(in) % STREAMS];
	size_t n = (size_t)in_u8(in) * 256;
	uint8_t block[65536];

	for (size_t i = 0; i < n; i++)
		block[i] = (uint8_t)(s->out + i + 1);
	if (s->fd < 0)
		return;
	ssize_t done = send(s->fd, block, n, MSG_DONTWAIT | MSG_NOSIGNAL);

	s->out = (uint8_t)(s->out + (done > 0 ? done : 0));
}

static bool step(struct in *in)
{
	uint8_t what = in_u8(in);
	struct stream *s = &streams[what % 8];

	if (steps.over) {
		base_close_fd(&ends[MONITOR]);
		return false;
	}
	if (what < 64)
		dial_one(in);
	else if (what < 112)
		answer(in);
	else if (what < 120)
		say_anything(in);
	else if (what < 168)
		write_stream(in);
	else if (what < 208)
		read_stream(s);
	else if (what < 216)
		base_close_fd(&s->fd);
	else if (what < 224)
		(void)!shutdown(s->fd, SHUT_WR);
	else if (what < 240)
		luck = what;
	else if (what < 248)
		for (int64_t end = time_mono_ms() + (what & 1 ? ATTEMPT_MS : DIAL_MS); time_mono_ms() < end;)
			;
	else if (what < 254)
		base_close_fd(&ends[what % CHANNELS]);
	return true;
}

/* ---- one broker ---- */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < STREAMS; i++)
		streams[i].fd = -1;
	autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	BUG_IF(null < 0 || (null != CHANNEL_FD && dup2(null, CHANNEL_FD) < 0));
	if (null == CHANNEL_FD)
		take_fd(&null);
	return 0;
}

static void send_routes(const int theirs[CHANNELS])
{
	auto_buf struct buf table = BUF_MAX(ENDPOINT_TABLE_BYTES);
	struct route routes[COUNT(hosts)];
	struct err err;
	int fds[3] = { -1, theirs[CLIENT], theirs[RESOLVER] };

	for (size_t i = 0; i < COUNT(hosts); i++)
		route_set_host(&routes[i], str_from(hosts[i].host), hosts[i].port);
	BUG_IF(routes_pack(&(struct route_table){ routes, COUNT(hosts) }, &table, &err) < 0);
	BUG_IF(memfd_seal("routes", buf_str(&table), &fds[0], &err) < 0);
	BUG_IF(chan_send(ends[MONITOR], WIRE_ROUTES, STR(""), fds, theirs[RESOLVER] >= 0 ? 3 : 2, &err) < 0);
	close(fds[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct broker b;
	int theirs[CHANNELS];
	struct err err = { 0 };

	if (size < 1)
		return 0;
	steps_begin(data + 1, size - 1, step, hear);
	b = (struct broker){ .mem = arena_new(), .client = -1, .resolver = -1 };
	for (size_t i = 0; i < BROKER_LINKS; i++)
		b.links[i] = (struct link){ .b = &b, .client = -1, .remote = -1 };
	nasked = luck = 0;
	for (size_t i = 0; i < CHANNELS; i++) {
		int pair[2];

		BUG_IF(chan_pair(pair, &err) < 0 || chan_nonblock(pair[0], &err) < 0);
		ends[i] = pair[0];
		theirs[i] = pair[1];
	}
	if (data[0] & 1)
		base_close_fd(&theirs[RESOLVER]);
	BUG_IF(dup2(theirs[MONITOR], CHANNEL_FD) < 0);
	send_routes(theirs);
	for (size_t i = 0; i < CHANNELS; i++)
		base_close_fd(&theirs[i]);
	BUG_IF(serve(&b, &err) < 0);
	for (size_t i = 0; i < BROKER_LINKS; i++)
		link_close(&b.links[i]);
	loop_close(b.loop);
	arena_free(b.mem);
	base_close_fd(&b.client);
	base_close_fd(&b.resolver);
	for (size_t i = 0; i < CHANNELS; i++)
		base_close_fd(&ends[i]);
	for (size_t i = 0; i < STREAMS; i++) {
		read_stream(&streams[i]);
		base_close_fd(&streams[i].fd);
	}
	BUG_IF(dup2(STDIN_FILENO, CHANNEL_FD) < 0);
	steps_end();
	return 0;
}
